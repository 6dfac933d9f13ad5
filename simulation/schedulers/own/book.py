"""The replay's own book of what runs where, against which a scheduler's answers are held.

It is kept from the answers alone and shares nothing with the scheduler. An event costs as many steps as it starts, ends
and moves instances, however large the cluster is.
"""

from __future__ import annotations

import traceback
from enum import Enum
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

from compass_core import CompassError
from simulation.demand import GPUS_PER_NODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from compass_core import Migration
    from simulation.jobs import TraceJob


class Clause(Enum):
    """What every scheduler owes a replay."""

    ANSWERS = "every call is answered as the protocol says"
    NODES = "every instance stands on a node of the cluster"
    CAPACITY = "no node holds more than 8 GPUs"
    GANG = "a job starts whole, once, or not at all"
    REFUSED = "nothing changes for a job that is refused"
    NOTHING_LOST = "a job that started runs until it departs, and no other does"
    MOVES = "what migrates is a running instance, from where it stands to another node"
    CAUSE = "a job is refused for want of capacity only where fewer GPUs are free than it demands"
    PARTIAL_NODES = "Φ is the number of nodes in use in part"
    EMPTY_NODES = "the empty nodes are those that hold nothing"


class SchedulerError(CompassError):
    """A scheduler did what none may.

    Attributes
    ----------
    scheduler, event
        Who, and at which event.
    clause, detail
        What was broken, and what was seen.
    """

    def __init__(self, scheduler: str, event: str, clause: Clause, detail: str) -> None:
        super().__init__(scheduler, event, clause, detail)  # all of them, so that it can be sent to another process
        self.scheduler = scheduler
        self.event = event
        self.clause = clause
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.scheduler}: {self.event}: expected that {self.clause.value}, but {self.detail}"


def raised(error: BaseException) -> str:
    """Return what was raised, and where: a complaint is one line, and who wrote the scheduler has to find the fault."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"it raised {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"


class Book:
    """Which instances run on which node.

    Attributes
    ----------
    scheduler
        Its name, for complaints.
    nodes
        N, number of nodes.
    where
        By name of a running job, the node of each of its instances.
    """

    __slots__ = ("_event", "_jobs", "_loads", "_nodes_by_load", "_started", "nodes", "scheduler", "where")

    def __init__(self, scheduler: str, nodes: int) -> None:
        self.scheduler = scheduler
        self.nodes = nodes
        self.where: dict[str, list[int]] = {}
        self._jobs: dict[str, TraceJob] = {}
        self._started: set[str] = set()
        self._loads = [0] * nodes
        self._nodes_by_load = [nodes] + [0] * GPUS_PER_NODE
        self._event: tuple[str, TraceJob | None, float | None] = ("the start", None, None)

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing."""
        return self._nodes_by_load[0]

    @property
    def partial_nodes(self) -> int:
        """Φ: nodes in use in part."""
        return self.nodes - self._nodes_by_load[0] - self._nodes_by_load[GPUS_PER_NODE]

    @property
    def free_gpus(self) -> int:
        """GPUs that no job holds."""
        return sum((GPUS_PER_NODE - load) * nodes for load, nodes in enumerate(self._nodes_by_load))

    def fits(self, job: TraceJob) -> bool:
        """Whether the free GPUs lie so that all instances of a job fit."""
        rooms = ((GPUS_PER_NODE - load) // job.gpus * nodes for load, nodes in enumerate(self._nodes_by_load))
        return sum(rooms) >= job.instances

    def runs(self, name: str) -> TraceJob | None:
        """Return the running job of that name, or None."""
        return self._jobs.get(name)

    def turn_to(self, what: str, job: TraceJob | None, now: float | None) -> None:
        """Note at which event what follows happens."""
        self._event = what, job, now

    def refuse(self, clause: Clause, detail: str) -> NoReturn:
        """Raise that a clause is broken at the present event."""
        what, job, now = self._event
        whose = "" if job is None else f" of job {job.name!r} ({job.instances}x{job.gpus})"
        when = "" if now is None else f" at {now:.15g} s"
        raise SchedulerError(self.scheduler, f"{what}{whose}{when}", clause, detail)

    def __enter__(self) -> None:
        """Begin to ask the scheduler: whatever it raises in the block becomes a broken clause that says where."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, SchedulerError):
            self.refuse(Clause.ANSWERS, raised(error))

    def start(self, job: TraceJob, nodes: Sequence[int], moves: Iterable[Migration]) -> None:
        """Note a job that starts after moves were made for it."""
        if job.name in self._started:
            self.refuse(Clause.GANG, "it started before")
        self.move(moves)
        if len(nodes) != job.instances:
            self.refuse(Clause.GANG, f"{len(nodes)} of its {job.instances} instances were placed")
        where = [self.node(node) for node in nodes]
        changes: dict[int, int] = {}
        for node in where:
            changes[node] = changes.get(node, 0) + job.gpus
        self._change(changes)
        self._started.add(job.name)
        self._jobs[job.name] = job
        self.where[job.name] = where

    def end(self, job: TraceJob, moves: Iterable[Migration]) -> None:
        """Note a job that departs, and moves that are made then."""
        changes: dict[int, int] = {}
        for node in self.where.pop(job.name):
            changes[node] = changes.get(node, 0) - job.gpus
        del self._jobs[job.name]
        self._change(changes)
        self.move(moves)

    def move(self, moves: Iterable[Migration]) -> None:
        """Note moves, made one after the other or all at once: what counts is where they lead to."""
        changes: dict[int, int] = {}
        for move in moves:
            instance = move.instance
            job, where = self._jobs.get(instance.job), self.where.get(instance.job, ())
            if job is None or not 0 <= instance.index < len(where):
                self.refuse(Clause.MOVES, f"instance {instance.index} of job {instance.job!r} does not run")
            source, destination = self.node(move.source), self.node(move.destination)
            if instance.gpus != job.gpus or source != where[instance.index] or source == destination:
                self.refuse(
                    Clause.MOVES,
                    f"instance {instance.index} of job {instance.job!r} ({job.gpus} GPUs, on node "
                    f"{where[instance.index]}) was moved from {source} to {destination} ({instance.gpus} GPUs)",
                )
            self.where[instance.job][instance.index] = destination
            changes[source] = changes.get(source, 0) - job.gpus
            changes[destination] = changes.get(destination, 0) + job.gpus
        self._change(changes)

    def node(self, number: object) -> int:
        """Return the number of a node of the cluster."""
        # First the usual case: to ask for the protocol takes longer than all the rest.
        node = index(number) if type(number) is int or isinstance(number, SupportsIndex) else -1
        if not 0 <= node < self.nodes:
            self.refuse(Clause.NODES, f"{number!r} was named; the nodes are 0 to {self.nodes - 1}")
        return node

    def _change(self, changes: dict[int, int]) -> None:
        for node, gpus in changes.items():
            before = self._loads[node]
            after = before + gpus
            if after > GPUS_PER_NODE:
                self.refuse(Clause.CAPACITY, f"node {node} would hold {after}")
            self._loads[node] = after
            self._nodes_by_load[before] -= 1
            self._nodes_by_load[after] += 1
