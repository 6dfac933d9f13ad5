"""What can stand in the way of a job that cannot start, what is plainly missing of it, and how it is without it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from immutables import Map

from oracle.admission.fitting import free_gpus
from oracle.snapshots.node_sets import NodeSets
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from oracle.admission.areas import Area
    from oracle.admission.question import AskedJob, Waiting
    from oracle.snapshots.model import NodeContent, NodeSet, Snapshot, SnapshotNode

# Nodes listed as the ones that lack the fewest GPUs.
MAX_NODES_LISTED = 3


class BlockerKind(StrEnum):
    """What a blocker is."""

    DEMAND = "demand"
    CAPACITY = "capacity"
    NODE = "node"
    CORDON = "cordon"
    IMMOVABLE = "immovable"
    OUTSIDE = "outside"
    DISTINCT = "distinct"
    RESOURCE = "resource"
    OVERCOMMITTED = "overcommitted"


LIFTED = frozenset(
    {
        BlockerKind.CORDON,
        BlockerKind.IMMOVABLE,
        BlockerKind.OUTSIDE,
        BlockerKind.DISTINCT,
        BlockerKind.RESOURCE,
    }
)
"""Those that are named only if the job could start without them."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that stands in a job's way in one pool.

    Attributes
    ----------
    kind
        DEMAND: no node offers so many GPUs. CAPACITY: too few are free in all. NODE: one of the nodes that lack the
        fewest for one instance more. CORDON, IMMOVABLE: without it the job could start. OUTSIDE: it could if it might
        use a node that is outside its node sets. DISTINCT: if its instances might share a node. RESOURCE: if the node
        had enough of a further resource. OVERCOMMITTED: a node that holds more than it offers takes nothing.
    gpus
        The GPUs that are missing; of an immovable instance its demand, of an over-committed node those held beyond what
        it offers, of any other node those free on it; 0 for DISTINCT.
    pool, node, job, instance
        Where, as far as the kind has it.
    alone
        Whether lifting this one is enough. Otherwise all of its kind have to be lifted together.
    sets
        The node sets that the node is outside of.
    resource, amount, wanted
        The further resource, how much of it is free, and what an instance takes; of DISTINCT the different nodes that
        have room as it is, and how many it takes.
    """

    kind: BlockerKind
    gpus: int
    pool: str
    node: str | None = None
    job: str | None = None
    instance: int | None = None
    alone: bool = True
    sets: tuple[str, ...] = ()
    resource: str | None = None
    amount: int | None = None
    wanted: int | None = None

    def __str__(self) -> str:  # noqa: PLR0911 - a sentence for each kind
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
            case BlockerKind.OUTSIDE:
                return f"node {self.node} with {gpus} free is outside {' and '.join(self.sets)}{together}"
            case BlockerKind.DISTINCT:
                nodes = f"{self.wanted} different nodes {'has' if self.amount == 1 else 'have'} room as it is"
                return f"only {self.amount} of {nodes}, and no two instances may be on one{together}"
            case BlockerKind.RESOURCE:
                free = f"{self.amount} of {self.resource} free beside {gpus}"
                return f"node {self.node} has {free}, and an instance takes {self.wanted}{together}"
            case BlockerKind.OVERCOMMITTED:
                return f"node {self.node} holds {gpus} more than it offers and takes nothing"

    def to_json(self) -> dict[str, object]:
        """Return the blocker as data for JSON."""
        data = {**asdict(self), "sets": list(self.sets) or None, "kind": self.kind.value, "text": str(self)}
        return {key: value for key, value in data.items() if value is not None}


def shortages(area: Area) -> Iterator[Blocker]:
    """Yield what is missing in an area in which a job cannot start."""
    waiting = area.waiting
    each = max(waiting.part_gpus) if waiting.together else min(waiting.part_gpus)
    largest = max(area.usable, key=lambda content: content.capacity, default=None)
    lacking = 0 if largest is None else each - largest.capacity
    if largest is not None and lacking > 0:
        yield Blocker(BlockerKind.DEMAND, lacking, waiting.pool, largest.name)
    missing = waiting.least_gpus - free_gpus(area.contents)
    if missing > 0:
        yield Blocker(BlockerKind.CAPACITY, missing, waiting.pool)
    if lacking <= 0:
        yield from _nearest(area.usable, waiting, each)


def _nearest(contents: Iterable[NodeContent], waiting: Waiting, each: int) -> Iterator[Blocker]:
    """Yield the nodes that lack the fewest GPUs for one instance more; only large enough ones, if there are any."""
    takes = [one for one in contents if one.takes_instances and one.capacity]
    if waiting.distinct_nodes:
        # A node that has room for one instance is not short: it takes no second one.
        short = [(each - free_gpus([content]), content) for content in takes if free_gpus([content]) < each]
    else:
        short = [(each - free_gpus([content]) % each, content) for content in takes]
    possible = [(gpus, content) for gpus, content in short if free_gpus([content]) + gpus <= content.capacity]
    for gpus, content in sorted(possible or short, key=lambda pair: (pair[0], pair[1].name))[:MAX_NODES_LISTED]:
        yield Blocker(BlockerKind.NODE, gpus, waiting.pool, content.name)


def overcommitted(area: Area) -> Iterator[Blocker]:
    """Yield the nodes that hold more than they offer."""
    for content in area.contents:
        if content.overcommitted:
            beyond = content.used - content.capacity
            yield Blocker(BlockerKind.OVERCOMMITTED, beyond, area.pool, content.name)


def restrictions(area: Area, fitting: int) -> list[list[Blocker]]:
    """Return what may keep a job out of an area and could be lifted, by kind, cordons first.

    So many of its instances have room as it is.
    """
    found = (_cordons(area), _distinct(area, fitting), _outside(area), _scarce(area), _pins(area))
    return [list(of_kind) for of_kind in found]


def _cordons(area: Area) -> Iterator[Blocker]:
    for content in area.contents:
        if not content.schedulable and not content.overcommitted:
            yield Blocker(BlockerKind.CORDON, content.capacity - content.used, area.pool, content.name)


def _pins(area: Area) -> Iterator[Blocker]:
    takes = {content.name for content in area.contents if content.takes_instances}
    for job in area.snapshot.jobs:
        for i, instance in enumerate(job.instances):
            if instance.node in takes and not instance.movable:
                where = area.pool, instance.node, job.name, i
                yield Blocker(BlockerKind.IMMOVABLE, instance.gpus, *where)


def _distinct(area: Area, fitting: int) -> Iterator[Blocker]:
    if area.waiting.distinct_nodes:
        yield Blocker(BlockerKind.DISTINCT, 0, area.pool, amount=fitting, wanted=area.waiting.size)


def _outside(area: Area) -> Iterator[Blocker]:
    names = list(dict.fromkeys(name for part in area.waiting.parts for name in part.within))
    sets = {one.name: one.nodes for one in area.snapshot.node_sets}
    for content in area.contents:
        missing = tuple(name for name in names if content.name not in sets[name])
        if missing and content.takes_instances:
            free = content.capacity - content.used
            yield Blocker(BlockerKind.OUTSIDE, free, area.pool, content.name, sets=missing)


def _scarce(area: Area) -> Iterator[Blocker]:
    wanted: dict[str, int] = {}
    for part in area.waiting.parts:
        for name, amount in part.resources.items():
            wanted[name] = max(amount, wanted.get(name, 0))
    if not wanted:
        return
    held = area.snapshot.used_resources
    has = {node.name: node.resources for node in area.snapshot.nodes}
    for content in area.usable:
        for name, amount in wanted.items():
            if content.takes_instances and name in has[content.name]:
                free = has[content.name][name] - held[content.name, name]
                if free < amount:
                    gpus = content.capacity - content.used
                    yield Blocker(
                        BlockerKind.RESOURCE,
                        gpus,
                        area.pool,
                        content.name,
                        resource=name,
                        amount=free,
                        wanted=amount,
                    )


def without(snapshot: Snapshot, job: AskedJob, blockers: Sequence[Blocker]) -> tuple[Snapshot, AskedJob]:
    """Return the cluster and the job without some of what stands in its way, of the kinds that can be lifted."""
    open_ = {one.node for one in blockers if one.kind is BlockerKind.CORDON}
    plenty: defaultdict[str | None, set[str | None]] = defaultdict(set)
    for one in blockers:
        if one.kind is BlockerKind.RESOURCE:
            plenty[one.node].add(one.resource)
    if open_ or plenty:
        nodes = (_without_on(node, plenty[node.name], opened=node.name in open_) for node in snapshot.nodes)
        snapshot = replace(snapshot, nodes=tuple(nodes))
    free = {(one.job, one.instance) for one in blockers if one.kind is BlockerKind.IMMOVABLE}
    if free:
        jobs = (
            replace(
                one,
                instances=tuple(
                    replace(instance, movable=True) if (one.name, i) in free else instance
                    for i, instance in enumerate(one.instances)
                ),
            )
            for one in snapshot.jobs
        )
        snapshot = replace(snapshot, jobs=tuple(jobs))
    if any(one.kind is BlockerKind.DISTINCT for one in blockers):
        job = replace(job, distinct_nodes=False, more_of=None)
    return _let_outside(snapshot, job, [one for one in blockers if one.kind is BlockerKind.OUTSIDE])


def _without_on(node: SnapshotNode, plenty: Collection[str | None], *, opened: bool) -> SnapshotNode:
    """Return a node that is open, if it is opened, and has as much as anyone wants of some resources."""
    resources = Map({name: amount for name, amount in node.resources.items() if name not in plenty})
    return replace(node, resources=resources, schedulable=node.schedulable or opened)


def _let_outside(snapshot: Snapshot, job: AskedJob, blockers: Sequence[Blocker]) -> tuple[Snapshot, AskedJob]:
    """Return cluster and job with node sets of the job's own, which have nodes that are outside of the others."""
    more: defaultdict[str, set[str]] = defaultdict(set)
    for blocker in blockers:
        for name in blocker.sets:
            more[name].add(blocker.node or "")
    if not more:
        return snapshot, job
    sets = NodeSets(snapshot.node_sets)
    wider = {one.name: _wider(sets, one, more[one.name]) for one in snapshot.node_sets if one.name in more}

    def renamed(within: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(wider.get(name, name) for name in within)

    parts = tuple(replace(part, within=renamed(part.within)) for part in job.further_parts)
    within, one_of = renamed(job.within), renamed(job.within_one_of)
    job = replace(job, within=within, further_parts=parts, within_one_of=one_of)
    return replace(snapshot, node_sets=sets.all()), job


def _wider(sets: NodeSets, one: NodeSet, more: Collection[str]) -> str:
    return sets.name_of("wider", one.name, f"{one.name} and more", lambda: one.nodes.union(more))
