"""What stands in the way of a job that cannot start: GPUs that are missing, cordons, instances that cannot move.

A cordon or an immovable instance is named only if lifting it has been tried and lets the job start.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from oracle.admission.room import count_fitting, make_room, open_nodes
from oracle.snapshots.model import pattern_of
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import NodeContent, Snapshot

# Nodes listed as the ones that lack the fewest GPUs.
MAX_NODES_LISTED = 3

# Cordons and immovable instances that are lifted one by one, different ones only, as each may cost a solver's run; and
# those that are listed if only all of them together help.
MAX_LIFTED = 20


class BlockerKind(StrEnum):
    """What a blocker is."""

    DEMAND = "demand"
    CAPACITY = "capacity"
    NODE = "node"
    CORDON = "cordon"
    IMMOVABLE = "immovable"
    OVERCOMMITTED = "overcommitted"


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that stands in a job's way in one pool.

    Attributes
    ----------
    kind
        DEMAND: no node offers so many GPUs. CAPACITY: too few are free in all. NODE: one of the nodes that lack the
        fewest for one instance more. CORDON, IMMOVABLE: without it the job could start. OVERCOMMITTED: a node that
        holds more than it offers takes nothing.
    gpus
        The GPUs that are missing; of a cordon those free on its node, of an immovable instance its demand, of an
        over-committed node those held beyond what it offers.
    pool, node, job, instance
        Where, as far as the kind has it.
    alone
        Whether lifting this one is enough. Otherwise all of its kind have to be lifted together.
    """

    kind: BlockerKind
    gpus: int
    pool: str
    node: str | None = None
    job: str | None = None
    instance: int | None = None
    alone: bool = True

    def __str__(self) -> str:
        gpus = count(self.gpus, "GPU")
        together = "" if self.alone else " (all such together)"
        match self.kind:
            case BlockerKind.DEMAND:
                return f"the largest node, {self.node}, offers {gpus} less than one instance needs"
            case BlockerKind.CAPACITY:
                return f"pool {self.pool} is short of {gpus}"
            case BlockerKind.NODE:
                return f"node {self.node} is short of {gpus}"
            case BlockerKind.CORDON:
                return f"node {self.node} is cordoned with {gpus} free{together}"
            case BlockerKind.IMMOVABLE:
                return f"instance {self.instance} of {self.job} on node {self.node} ({gpus}) cannot be moved{together}"
            case BlockerKind.OVERCOMMITTED:
                return f"node {self.node} holds {gpus} more than it offers and takes nothing"

    def to_json(self) -> dict[str, object]:
        """Return the blocker as data for JSON."""
        data = {**asdict(self), "kind": self.kind.value, "text": str(self)}
        return {key: value for key, value in data.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is waiting: so many instances of one demand, for one pool."""

    instances: int
    gpus: int
    pool: str


def free_gpus(contents: Iterable[NodeContent]) -> int:
    """Return the GPUs that new instances can have."""
    return sum(content.capacity - content.used for content in contents if content.takes_instances)


def find_blockers(
    snapshot: Snapshot, contents: Sequence[NodeContent], waiting: Waiting, deadline: Deadline | None
) -> tuple[Blocker, ...]:
    """Return what keeps a job out of a pool in which it cannot start, plain shortages first.

    Parameters
    ----------
    snapshot, contents
        The cluster, and the nodes of the pool.
    waiting
        The job.
    deadline
        When to stop trying what lifting a cordon or another restriction would do; None not to try that at all.
    """
    found = list(_shortages(contents, waiting))
    if not any(blocker.kind is BlockerKind.DEMAND for blocker in found):
        found += _nearest(contents, waiting)
    if deadline is not None:
        found += _lifted(snapshot, contents, waiting, deadline)
    return (*found, *_overcommitted(contents, waiting))


def _shortages(contents: Sequence[NodeContent], waiting: Waiting) -> Iterator[Blocker]:
    largest = max(contents, key=lambda content: content.capacity, default=None)
    if largest is not None and largest.capacity < waiting.gpus:
        yield Blocker(BlockerKind.DEMAND, waiting.gpus - largest.capacity, waiting.pool, largest.name)
    missing = waiting.instances * waiting.gpus - free_gpus(contents)
    if missing > 0:
        yield Blocker(BlockerKind.CAPACITY, missing, waiting.pool)


def _nearest(contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[Blocker]:
    """Yield the nodes that lack the fewest GPUs for one instance more; only large enough ones, if there are any."""
    takes = [content for content in contents if content.takes_instances and content.capacity]
    short = [(waiting.gpus - free_gpus([content]) % waiting.gpus, content) for content in takes]
    possible = [(gpus, content) for gpus, content in short if free_gpus([content]) + gpus <= content.capacity]
    for gpus, content in sorted(possible or short, key=lambda pair: (pair[0], pair[1].name))[:MAX_NODES_LISTED]:
        yield Blocker(BlockerKind.NODE, gpus, waiting.pool, content.name)


def _overcommitted(contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[Blocker]:
    for content in contents:
        if content.overcommitted:
            beyond = content.used - content.capacity
            yield Blocker(BlockerKind.OVERCOMMITTED, beyond, waiting.pool, content.name)


class _Lift(NamedTuple):
    """A restriction taken away from one node: what the node would be, and the blocker to name if that helps."""

    content: NodeContent
    blocker: Blocker


def _lifted(
    snapshot: Snapshot, contents: Sequence[NodeContent], waiting: Waiting, deadline: Deadline
) -> Iterator[Blocker]:
    """Yield the restrictions without which the job could start: single ones, else all of one kind, else all."""
    cordons = list(_cordons(contents, waiting))
    pins = list(_pins(snapshot, contents, waiting))
    # Moves make no GPU free: where too few are, only a cordon can be the reason.
    short = free_gpus(contents) < waiting.instances * waiting.gpus
    singles = _different(cordons if short else [*cordons, *pins])
    single = [lift.blocker for lift in singles if _helps(contents, [lift], waiting, deadline)]
    if single:
        yield from single
        return
    for lifts in (cordons, pins, [*cordons, *pins]):
        if lifts and _helps(contents, lifts, waiting, deadline):
            yield from (replace(lift.blocker, alone=len(lifts) == 1) for lift in lifts[:MAX_LIFTED])
            return


def _cordons(contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[_Lift]:
    for content in contents:
        if not content.schedulable and not content.overcommitted:
            free = content.capacity - content.used
            blocker = Blocker(BlockerKind.CORDON, free, waiting.pool, content.name)
            yield _Lift(replace(content, schedulable=True), blocker)


def _pins(snapshot: Snapshot, contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[_Lift]:
    takes = {content.name: content for content in contents if content.takes_instances}
    for job in snapshot.jobs:
        for i, instance in enumerate(job.instances):
            if instance.node in takes and not instance.movable:
                content = takes[instance.node]
                stuck = Counter(content.immovable) - Counter([instance.gpus])
                movable = pattern_of((*content.movable, instance.gpus))
                freed = replace(content, immovable=pattern_of(stuck.elements()), movable=movable)
                where = waiting.pool, instance.node, job.name, i
                yield _Lift(freed, Blocker(BlockerKind.IMMOVABLE, instance.gpus, *where))


def _different(lifts: Iterable[_Lift]) -> Iterator[_Lift]:
    """Yield the first of all lifts that make the same node of the same node, up to a number."""
    first = {(lift.blocker.kind, replace(lift.content, name="")): lift for lift in reversed(list(lifts))}
    return islice(reversed(first.values()), MAX_LIFTED)


def _helps(contents: Iterable[NodeContent], lifts: Iterable[_Lift], waiting: Waiting, deadline: Deadline) -> bool:
    """Whether the job is known to fit once all these restrictions are taken away."""
    changed: dict[str, NodeContent] = {}
    for content, _ in lifts:
        # Several lifts of one node are of all that cannot move there.
        movable = pattern_of(content.immovable + content.movable)
        several = content.name in changed
        changed[content.name] = replace(content, immovable=(), movable=movable) if several else content
    kinds = open_nodes(changed.get(content.name, content) for content in contents)
    fit_now = count_fitting(kinds, waiting.gpus) >= waiting.instances
    return fit_now or make_room(kinds, waiting.instances, waiting.gpus, deadline).changes is not None
