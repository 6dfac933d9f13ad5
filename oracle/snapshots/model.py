"""A cluster at one moment, as the oracle sees it: nodes, running jobs, waiting jobs, and what was left out.

Every reader (native, Kubernetes, Slurm) ends in a `Snapshot`; everything after it starts from one. The values are
immutable and validated by `Snapshot.build`, the only way readers make one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from immutables import Map

from compass_core.errors import CompassError
from oracle.snapshots import checks
from oracle.snapshots.contents import Held, Ruled, ruled
from oracle.snapshots.entries import (
    DEFAULT_POOL,
    Guest,
    NodeSet,
    PendingJob,
    PendingPart,
    RunningInstance,
    RunningJob,
    Skipped,
    SnapshotNode,
    why_closed,
)
from oracle.snapshots.faults import MAX_COUNT, MAX_GPUS_PER_NODE, MAX_NODES, SnapshotError, shown
from oracle.snapshots.kinds import FREE, Rules, total_gpus
from oracle.snapshots.stocks import Stocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from compass_core.state import ClusterState
    from oracle.snapshots.kinds import Kind

__all__ = [
    "DEFAULT_POOL",
    "MAX_COUNT",
    "MAX_GPUS_PER_NODE",
    "MAX_NODES",
    "Guest",
    "NodeContent",
    "NodeSet",
    "Pattern",
    "PendingJob",
    "PendingPart",
    "RunningInstance",
    "RunningJob",
    "Skipped",
    "Snapshot",
    "SnapshotError",
    "SnapshotNode",
    "UnknownPoolError",
    "check_pool",
    "pattern_of",
    "shown",
    "why_closed",
]

_NO_BUDGETS: Map[str, int] = Map()

Pattern: TypeAlias = tuple[int, ...]
"""Instances on one node: their demands in GPUs, in descending order, such as ``(4, 2, 1)``."""


class UnknownPoolError(CompassError):
    """No node of the snapshot is in this pool; the message lists the pools there are."""

    def __init__(self, pool: str, snapshot: Snapshot) -> None:
        known = ", ".join(map(repr, snapshot.pools)) or "none"
        super().__init__(f"no node is in a pool named {pool!r}; pools: {known}")


@dataclass(frozen=True, slots=True)
class NodeContent:
    """One node of a snapshot with what runs on it, demands in descending order.

    Attributes
    ----------
    name, capacity, schedulable
        The node: its name, the GPUs it offers, whether it takes new instances.
    immovable, movable
        Demands of the instances on it that must stay, and of those that may leave.
    rules
        What else it keeps.
    exhausted
        A further resource of which none is free, and of which every instance of the pool and all that waits take some:
        until something has left the node, nothing can start there. Empty where there is none.
    used
        GPUs held by all of them; more than `capacity` on an over-committed node.
    """

    name: str
    capacity: int
    schedulable: bool
    immovable: Pattern
    movable: Pattern
    rules: Rules = FREE
    exhausted: str = ""
    used: int = field(init=False)

    def __post_init__(self) -> None:
        # Kept, not computed each time: it is asked for several times on each of many thousand nodes.
        object.__setattr__(self, "used", sum(self.immovable) + total_gpus(self.movable))

    @property
    def overcommitted(self) -> bool:
        """Whether more is held than the node offers, as when a GPU broke under a running job."""
        return self.used > self.capacity

    @property
    def takes_instances(self) -> bool:
        """Whether instances may come to the node: it is not cordoned and holds no more than it offers."""
        return not why_closed(schedulable=self.schedulable, gpus=self.capacity, used=self.used)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A whole cluster. Node names are unique, job names are unique, every instance is on a known node.

    Attributes
    ----------
    nodes, jobs, pending
        The nodes, the jobs that run and those that wait for room.
    node_sets
        The sets of nodes that instances name.
    budgets
        By name, how many instances that count in a disruption budget may be down at a time.
    skipped
        What a reader left out, or kept with a word about it.
    guests
        Instances of waiting jobs that a search looks for room for: the kinds and rules are made with regard to them.
    not_looked_at
        Constraints that the input has and the snapshot does not: the reason says which, the items are the jobs.
    """

    nodes: tuple[SnapshotNode, ...]
    jobs: tuple[RunningJob, ...] = ()
    pending: tuple[PendingJob, ...] = ()
    node_sets: tuple[NodeSet, ...] = ()
    budgets: Map[str, int] = field(default_factory=Map[str, int])
    skipped: tuple[Skipped, ...] = field(default=(), compare=False)
    not_looked_at: tuple[Skipped, ...] = ()
    guests: tuple[Guest, ...] = field(default=(), compare=False)

    @classmethod
    def build(
        cls,
        *,
        nodes: Iterable[SnapshotNode],
        jobs: Iterable[RunningJob] = (),
        pending: Iterable[PendingJob] = (),
        node_sets: Iterable[NodeSet] = (),
        budgets: Mapping[str, int] = _NO_BUDGETS,
        skipped: Iterable[Skipped] = (),
        not_looked_at: Iterable[Skipped] = (),
    ) -> Snapshot:
        """Return a checked snapshot.

        Raises
        ------
        SnapshotError
            Two nodes, node sets, jobs or instances of a job of one name, an empty name, an instance on an unknown node
            or within an unknown set, an unknown budget, or a number out of range. The path is that of the native
            format (``jobs[2].instances[0].node``); readers of other formats check these things themselves first where
            they can name a better place.
        """
        snapshot = cls(
            nodes=tuple(nodes),
            jobs=tuple(jobs),
            pending=tuple(pending),
            node_sets=tuple(node_sets),
            budgets=Map(budgets),
            skipped=tuple(skipped),
            # Whoever is named there is in the snapshot.
            not_looked_at=tuple(replace(group, kept=True) for group in not_looked_at),
        )
        checks.check_all(
            nodes=snapshot.nodes,
            node_sets=snapshot.node_sets,
            budgets=snapshot.budgets,
            jobs=snapshot.jobs,
            pending=snapshot.pending,
            not_looked_at=snapshot.not_looked_at,
        )
        return snapshot

    @classmethod
    def from_state(cls, state: ClusterState) -> Snapshot:
        """Return the snapshot of a cluster as `compass_core` schedules it, to be measured, planned or admitted to.

        A node is named by its index (``"3"``), and only those online are there. Jobs keep their names. Instances keep
        their order; where a failed node took some of a job, those that run are numbered anew, from 0. Jobs of which
        none runs are listed in `skipped`. All nodes are in the one pool `DEFAULT_POOL`, and everything can move.

        Raises
        ------
        SnapshotError
            A job's name is empty, or the nodes have more GPUs than any machine: `compass_core` allows both.
        """
        placed = {job.name: state.instances_of(job.name) for job in state.jobs}
        lost = tuple(name for name, instances in placed.items() if not instances)
        return cls.build(
            nodes=[
                SnapshotNode(name=str(index), gpus=node.capacity)
                for index, node in enumerate(state.nodes)
                if state.is_online(index)
            ],
            jobs=[
                RunningJob(
                    name=name,
                    instances=tuple(
                        RunningInstance(node=str(state.node_of(instance)), gpus=instance.gpus) for instance in instances
                    ),
                )
                for name, instances in placed.items()
                if instances
            ],
            skipped=[Skipped(reason="jobs of which no instance runs", items=lost)] if lost else (),
        )

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that have a node, sorted."""
        return tuple(sorted({node.pool for node in self.nodes}))

    @cached_property
    def contents(self) -> Mapping[str, tuple[NodeContent, ...]]:
        """Every node with what it holds, by pool: pools sorted, nodes in their order. Made once.

        Linear in nodes and instances, but for sorting the instances of each node; with rules, in nodes times groups.
        """
        return {pool: self._contents_of(nodes) for pool, nodes in self._nodes_of.items()}

    @cached_property
    def _nodes_of(self) -> Mapping[str, Sequence[SnapshotNode]]:
        """The nodes of each pool: pools sorted, nodes in their order."""
        pools: dict[str, list[SnapshotNode]] = {pool: [] for pool in self.pools}
        for node in self.nodes:
            pools[node.pool].append(node)
        return pools

    @cached_property
    def priority_ranks(self) -> Mapping[str, int]:
        """How high the priority of each job is: 0 for the lowest that a job has; the highest if it is not known."""
        known = sorted({job.priority for job in self.jobs if job.priority is not None})
        ranks: dict[int | None, int] = {priority: rank for rank, priority in enumerate(known)}
        return {job.name: ranks.get(job.priority, len(known)) for job in self.jobs}

    @cached_property
    def kinds(self) -> Mapping[tuple[str, int], Kind]:
        """The kind of each movable instance, by job and number."""
        return {key: kind for book in self._books.values() for key, kind in book.kinds.items()}

    def guest_kinds(self, pool: str) -> Mapping[Guest, Kind]:
        """Return the kind of each of the guests that may be in a pool."""
        return self._books[pool].guests

    def kinds_are_exact(self, pool: str) -> bool:
        """Whether the kinds of a pool tell all that matters apart, as `oracle.snapshots.contents.Ruled` says."""
        return self._books[pool].exact

    @cached_property
    def _books(self) -> Mapping[str, Ruled]:
        return {
            pool: ruled(
                nodes, self._held[pool], self.node_sets, [guest for guest in self.guests if guest.pool in {None, pool}]
            )
            for pool, nodes in self._nodes_of.items()
        }

    @cached_property
    def _held(self) -> Mapping[str, Sequence[Held]]:
        """The instances that each pool holds."""
        pools = {node.name: node.pool for node in self.nodes}
        held: dict[str, list[Held]] = {pool: [] for pool in self.pools}
        for job in self.jobs:
            for i, instance in enumerate(job.instances):
                held[pools[instance.node]].append(Held(job, i, instance))
        return held

    def _contents_of(self, nodes: Sequence[SnapshotNode]) -> tuple[NodeContent, ...]:
        """Return what the nodes of one pool hold."""
        pool = nodes[0].pool
        book = self._books[pool]
        movable: dict[str, list[Kind]] = {node.name: [] for node in nodes}
        immovable: dict[str, list[int]] = {node.name: [] for node in nodes}
        exhausted = self._exhausted(nodes)
        for job, i, instance in self._held[pool]:
            if instance.movable:
                movable[instance.node].append(book.kinds[job.name, i])
            else:
                immovable[instance.node].append(instance.gpus)
        return tuple(
            NodeContent(
                node.name,
                node.gpus,
                node.schedulable,
                pattern_of(immovable[node.name]),
                pattern_of(movable[node.name]),
                book.rules.get(node.name, FREE),
                exhausted.get(node.name, ""),
            )
            for node in nodes
        )

    def _exhausted(self, nodes: Sequence[SnapshotNode]) -> dict[str, str]:
        """Return which nodes of a pool have none left of what everything takes, and of what.

        Of a pool that nothing runs in or waits for, what runs elsewhere tells.
        """
        if not any(node.resources for node in nodes):
            return {}
        asked = [held.instance.resources for held in self._held[nodes[0].pool]]
        for job in self.pending:
            asked += [job.resources, *(part.resources for part in job.further_parts)]
        asked = asked or [one.resources for job in self.jobs for one in job.instances]
        takes = [{name for name, n in one.items() if n} for one in asked]
        always = set[str].intersection(*takes) if takes else set[str]()
        return {
            node.name: name
            for node in nodes
            for name in sorted(always & set(node.resources))
            if self.used_resources[node.name, name] >= node.resources[name]
        }

    @cached_property
    def stocks(self) -> Stocks:
        """What the nodes have, and what the instances take of them."""
        return Stocks(self.nodes, self.jobs, self.node_sets)

    def used_gpus(self) -> dict[str, int]:
        """GPUs held by running instances, by node name; every node has an entry."""
        used = dict.fromkeys((node.name for node in self.nodes), 0)
        for job in self.jobs:
            for instance in job.instances:
                used[instance.node] += instance.gpus
        return used

    @cached_property
    def used_resources(self) -> Counter[tuple[str, str]]:
        """What running instances hold of further resources, by node and resource. Made once; not to be changed."""
        used: Counter[tuple[str, str]] = Counter()
        for job in self.jobs:
            for instance in job.instances:
                for name, amount in instance.resources.items():
                    used[instance.node, name] += amount
        return used

    @cached_property
    def as_held(self) -> Snapshot:
        """The snapshot in which nodes have at least as much of everything as is held: so much is held for ever."""
        held = self.used_resources

        def enough(node: SnapshotNode) -> SnapshotNode:
            if all(have >= held[node.name, name] for name, have in node.resources.items()):
                return node
            resources = {name: max(have, held[node.name, name]) for name, have in node.resources.items()}
            return replace(node, resources=Map(resources))

        nodes = tuple(map(enough, self.nodes))
        return self if nodes == self.nodes else replace(self, nodes=nodes)

    def partial_and_empty(self, pool: str | None = None) -> tuple[int, int]:
        """Return how many nodes are partial, and how many offer GPUs and have none in use: of one pool, or of all."""
        used = self.used_gpus()
        nodes = [(used[node.name], node.gpus) for node in self.nodes if pool in {None, node.pool}]
        return sum(0 < held < gpus for held, gpus in nodes), sum(held == 0 < gpus for held, gpus in nodes)


def check_pool(pool: str | None, snapshot: Snapshot) -> None:
    """Check that a node of the snapshot is in this pool; None is no pool, and stands for all.

    Raises
    ------
    UnknownPoolError
        None is.
    """
    if pool is not None and pool not in snapshot.pools:
        raise UnknownPoolError(pool, snapshot)


def pattern_of(demands: Iterable[int]) -> Pattern:
    """Return demands in the order of a pattern."""
    return tuple(sorted(demands, reverse=True))
