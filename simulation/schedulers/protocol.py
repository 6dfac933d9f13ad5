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
    """Nothing changed, and why. The same question is asked again after the next change of the cluster."""

    cause: Cause


Answer: TypeAlias = Placed | Refused
Farewell: TypeAlias = Left | Refused

LEFT = Left()
"""The departure after which nothing moves."""


class Scheduler(Protocol):
    """Decides where jobs run. The engine decides when it is asked.

    Calls come in order of time. The engine calls `arrive` for the head of the queue only (and for jobs let past it),
    and only if as many GPUs are free as the job demands.
    """

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    @property
    def nodes(self) -> int:
        """N, number of 8-GPU nodes."""
        ...

    @property
    def partial_nodes(self) -> int:
        """Φ at present."""
        ...

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present."""
        ...

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, all of its instances or none."""
        ...

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a running job."""
        ...


@runtime_checkable
class WorksInRounds(Protocol):
    """A scheduler that also acts by the clock."""

    @property
    def interval_s(self) -> float:
        """Seconds between two rounds; the first starts so long after the first submission."""
        ...

    def tick(self, now: float) -> tuple[Migration, ...]:
        """Start a round: return the instances that move, all at the same time."""
        ...


@runtime_checkable
class WatchesSubmissions(Protocol):
    """A scheduler that learns from what is submitted."""

    def submitted(self, job: TraceJob, now: float) -> None:
        """Note a job that joins the queue; it may be started at once."""
        ...


@runtime_checkable
class OrdersQueue(Protocol):
    """A scheduler with an order of its own in which waiting jobs are served."""

    def make_queue(self) -> JobQueue:
        """Return an empty queue in that order."""
        ...
