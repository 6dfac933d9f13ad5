"""What the engine asks of a scheduler, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from compass_core import Migration
    from simulation.jobs import TraceJob
    from simulation.queues import JobQueue


class Cause(Enum):
    """Why a job was not started, or its departure not carried out."""

    CAPACITY = "capacity"
    """Fewer GPUs are free than it demands."""

    FRAGMENTATION = "fragmentation"
    """Enough are free, but they lie where too few of its instances fit."""

    STRUCTURE = "structure"
    """The instances would fit as they lie, but not the slots that the algorithm asks for."""

    HELD = "held"
    """It would fit; the scheduler prefers to wait for a better place."""

    UNDEFINED = "undefined"
    """The algorithm does not say what to do (only PRINTED)."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A job was started.

    Attributes
    ----------
    nodes
        The node of each of its instances, in order of their number.
    migrations
        Running instances that moved for it, to be carried out in this order before it starts.
    """

    nodes: tuple[int, ...]
    migrations: tuple[Migration, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """A job has departed; then running instances moved, in this order."""

    migrations: tuple[Migration, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing changed, and why.

    The head of the queue is asked again after the next change of the cluster, or at the next event if it is held.
    """

    cause: Cause


Answer: TypeAlias = Placed | Refused
Farewell: TypeAlias = Left | Refused

LEFT = Left()
"""The departure after which nothing moves."""


class Scheduler(Protocol):
    """Decides where jobs run. The engine decides when it is asked.

    Calls come in order of time. The engine calls `arrive` for the head of the queue only (and for jobs let past it),
    and only if as many GPUs are free as the job demands. The measures are read at every event, so they have to be at
    hand: to count nodes for them would make every event cost O(N).
    """

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    @property
    def nodes(self) -> int:
        """N, number of 8-GPU nodes. Read before the first event; it does not change."""
        ...

    @property
    def partial_nodes(self) -> int:
        """Φ at present. Read after each start, each departure and each round in which something moved."""
        ...

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present. Read at each instant at which anything happens."""
        ...

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, all of its instances or none.

        Called until the job is placed: for a head that waits after each change of the cluster, or at every event if it
        is held; for a job behind a head that lacks GPUs, where such are let past, at every event.
        """
        ...

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a running job.

        Called once a job, when it ends. A job that is refused keeps its GPUs, and is tried again at every event until
        it is let go.
        """
        ...


@runtime_checkable
class WorksInRounds(Protocol):
    """A scheduler that also acts by the clock."""

    @property
    def interval_s(self) -> float:
        """Seconds between two rounds; the first starts so long after the first submission. It does not change."""
        ...

    def tick(self, now: float) -> tuple[Migration, ...]:
        """Start a round: return the instances that move, all at the same time.

        Called at most once an interval: rounds in which no job runs are passed over.
        """
        ...


@runtime_checkable
class WatchesSubmissions(Protocol):
    """A scheduler that learns from what is submitted."""

    def submitted(self, job: TraceJob, now: float) -> None:
        """Note a job that joins the queue; it may be started at once. Called once a job, before `arrive` is."""
        ...


@runtime_checkable
class OrdersQueue(Protocol):
    """A scheduler with an order of its own in which waiting jobs are served."""

    def make_queue(self) -> JobQueue:
        """Return an empty queue in that order. Called once a replay."""
        ...
