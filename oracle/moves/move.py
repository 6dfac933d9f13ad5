"""Moves of instances between nodes: the values that plans, their replay and their renderers share.

A plan is carried out in steps. Before a step its stops take effect; then all its moves may run at the same time; what
leaves a node in a step is free for others in the next step, not before. So no node is over-booked in whatever order
the arrivals and departures of one step happen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from immutables import Map

from compass_core.errors import CompassError, UnknownJobError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot


class MoveMode(StrEnum):
    """What a move may do.

    CHECKPOINT: an instance may be stopped before its destination is free. LIVE: every move goes into free space; an
    instance may be parked on the way.
    """

    CHECKPOINT = "checkpoint"
    LIVE = "live"


class MoveError(CompassError):
    """A move that cannot be made: the message says which one, in which step, and what stands against it."""


class Relocated(Protocol):
    """An instance that is to change its node; any value with these attributes will do."""

    @property
    def job(self) -> str:
        """Name of the job."""
        ...

    @property
    def instance(self) -> int:
        """Number of the instance in its job."""
        ...

    @property
    def gpus(self) -> int:
        """Demand in GPUs."""
        ...

    @property
    def source(self) -> str:
        """The node it leaves."""
        ...

    @property
    def destination(self) -> str:
        """The node it goes to."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """One instance goes to another node in one step. Steps count from 1; 0 stands for a move without an order yet.

    `name` is the name of the instance, where it has one; moves are equal whatever it is.
    """

    step: int
    job: str
    instance: int
    gpus: int
    source: str
    destination: str
    name: str | None = field(default=None, compare=False)

    @property
    def called(self) -> str:
        """The instance as sentences name it."""
        return called(self.job, self.instance, self.name)

    def to_json(self) -> dict[str, object]:
        """Return the move as it stands in the JSON of plans and admissions."""
        return {
            "step": self.step,
            "job": self.job,
            "instance": self.instance,
            **name_json(self.name),
            "gpus": self.gpus,
            "from": self.source,
            "to": self.destination,
        }


@dataclass(frozen=True, slots=True, order=True)
class Stop:
    """One instance is stopped so that others can have its GPUs; its own move, in a later step, restarts it.

    Attributes
    ----------
    before_step
        It must have stopped when this step begins. To stop it earlier does no harm but to itself.
    job, instance, gpus
        The instance and its demand.
    node
        The node it is stopped on.
    name
        The name of the instance, where it has one; stops are equal whatever it is.
    """

    before_step: int
    job: str
    instance: int
    gpus: int
    node: str
    name: str | None = field(default=None, compare=False)

    @property
    def called(self) -> str:
        """The instance as sentences name it."""
        return called(self.job, self.instance, self.name)

    def to_json(self) -> dict[str, object]:
        """Return the stop as it stands in `stopped_first` of a plan."""
        return {
            "job": self.job,
            "instance": self.instance,
            **name_json(self.name),
            "gpus": self.gpus,
            "from": self.node,
            "before_step": self.before_step,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOrder:
    """Moves in an order that has been replayed on the snapshot they start from.

    Attributes
    ----------
    moves
        Sorted by step. An instance moves once, unless it is parked on the way.
    stops
        Instances stopped before their destination is free, sorted; none if every move goes into free space.
    """

    moves: tuple[Move, ...] = ()
    stops: tuple[Stop, ...] = ()

    @property
    def live(self) -> bool:
        """Whether every move goes into free space."""
        return not self.stops

    @property
    def steps(self) -> int:
        """Number of steps."""
        return max((move.step for move in self.moves), default=0)

    def named(self, snapshot: Snapshot) -> MoveOrder:
        """Return the order with the names that its instances have in this snapshot."""
        return MoveOrder(moves=with_names(snapshot, self.moves), stops=with_names(snapshot, self.stops))

    def to_json(self) -> dict[str, object]:
        """Return the order as it stands in the JSON of admissions."""
        return {
            "moves": [move.to_json() for move in self.moves],
            "stopped_first": [stop.to_json() for stop in self.stops],
        }


MoveOrStop = TypeVar("MoveOrStop", Move, Stop)


def with_names(snapshot: Snapshot, items: Iterable[MoveOrStop]) -> tuple[MoveOrStop, ...]:
    """Return moves or stops with the names that their instances have in this snapshot."""
    jobs = {job.name: job.instances for job in snapshot.jobs}
    return tuple(replace(item, name=jobs[item.job][item.instance].name) for item in items)


def called(job: str, instance: int, name: str | None) -> str:
    """Return an instance as sentences name it: ``team/train[0]``, with its name where it has one."""
    return f"{job}[{instance}]" + (f" ({name})" if name else "")


def name_json(name: str | None) -> dict[str, object]:
    """Return the name of an instance as it stands in JSON: nothing where it has none."""
    return {} if name is None else {"name": name}


def protect(
    snapshot: Snapshot,
    names: Iterable[str],
    *,
    strict: bool = True,
    numbers: Mapping[tuple[str, int], int] | None = None,
    max_priority: int | None = None,
    max_per_budget: int | None = None,
) -> Snapshot:
    """Return the snapshot in which these jobs and instances cannot move, nor what a disruption budget holds for good.

    Parameters
    ----------
    snapshot
        The cluster.
    names
        Names of jobs, of namespaces and of instances. `team` and `team/*` stand for every job whose name begins with
        `team/`; `job:3` is the instance of that number, `job:pod-a` the one of that name, unless a job is called so. A
        component of a job, such as `10+1`, stands for the whole job.
    strict
        Whether a name that stands for nothing is an error. It may be a misspelt one, and what was to be protected would
        then move; of names stored earlier, it may be a job that has ended.
    numbers
        Numbers of instances, by job and position, where they are not those of their position.
    max_priority
        Jobs of a higher priority cannot move either, nor those whose priority is not known; None for all priorities.
    max_per_budget
        No disruption budget allows more instances to be down at a time; None for as many as it says.

    Raises
    ------
    UnknownJobError
        A name stands for nothing that runs.
    """
    names = set(names)
    if max_per_budget is not None:
        budgets = {budget: min(most, max_per_budget) for budget, most in snapshot.budgets.items()}
        snapshot = replace(snapshot, budgets=Map(budgets))
    held = {budget for budget, most in snapshot.budgets.items() if not most}
    if held or max_priority is not None:
        jobs = (_spared(job, held, max_priority) for job in snapshot.jobs)
        snapshot = replace(snapshot, jobs=tuple(jobs))
    if not names:
        return snapshot
    known = {name for job in snapshot.jobs for name in _names(job)}
    meant = {name: _meant(snapshot, name, numbers or {}) for name in names - known}
    instances = {key for key in meant.values() if key is not None}
    unknown = sorted(name for name, key in meant.items() if key is None)
    if unknown and strict:
        raise UnknownJobError(
            f"no running job, namespace or instance (job:number, job:name) is named {unknown[0]!r}; "
            "it cannot be protected"
        )
    jobs = (_pinned(job, instances, every=not names.isdisjoint(_names(job))) for job in snapshot.jobs)
    return replace(snapshot, jobs=tuple(jobs))


def _spared(job: RunningJob, held: Collection[str], max_priority: int | None) -> RunningJob:
    """Return a job of which nothing moves that is in a budget without room, or all if its priority is too high."""
    too_high = max_priority is not None and (job.priority is None or job.priority > max_priority)
    instances = {(job.name, i) for i, one in enumerate(job.instances) if any(name in held for name in one.budgets)}
    return _pinned(job, instances, every=too_high)


def _names(job: RunningJob) -> set[str]:
    """Return what stands for a job: it, its components, and what in it ends before a slash, with and without `/*`."""
    parts = job.name.split("/")
    namespaces = {"/".join(parts[:k]) for k in range(1, len(parts))}
    return {job.name, *job.components} | namespaces | {f"{namespace}/*" for namespace in namespaces}


def _meant(snapshot: Snapshot, name: str, numbers: Mapping[tuple[str, int], int]) -> tuple[str, int] | None:
    """Return job and position of the instance that is meant by `job:3` or `job:pod-a`, if there is one."""
    name, _, which = name.rpartition(":")
    job = next((job for job in snapshot.jobs if job.name == name), None)
    instances = () if job is None else job.instances
    numbered = [i for i in range(len(instances)) if which == f"{numbers.get((name, i), i)}"]
    found = numbered or [i for i, instance in enumerate(instances) if which == instance.name]
    return (name, found[0]) if found else None


def _pinned(job: RunningJob, instances: set[tuple[str, int]], *, every: bool) -> RunningJob:
    def pin(i: int, instance: RunningInstance) -> RunningInstance:
        return replace(instance, movable=False) if every or (job.name, i) in instances else instance

    if not every and all(name != job.name for name, _ in instances):
        return job
    return replace(job, instances=tuple(pin(i, instance) for i, instance in enumerate(job.instances)))
