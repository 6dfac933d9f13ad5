"""The cluster as one immutable value, and the only edits it knows: add, remove, move an instance; nodes come and go.

A state is the map from instances to nodes. Slots, fillers, kinds and counts follow from it (see `model.NodeShape`).
One index is kept beside it, the nodes of each shape; every question an operator asks ("the fullest slotted node with
room for 4", "a vacancy", "the sparsest node that has ones") is answered by looking at the shapes present, of which
there are at most 67 on 8-GPU nodes however many nodes there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from immutables import Map

from compass_core.errors import (
    DuplicateJobError,
    InvalidJobError,
    InvariantViolation,
    PlacementError,
    UnknownInstanceError,
    UnknownJobError,
)
from compass_core.fragmentation import wcc_holds
from compass_core.index_set import IndexSet
from compass_core.invariants import check_node
from compass_core.model import Instance, Job, Node, NodeShape, shape_of
from compass_core.node_view import NodeView

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEFAULT_CAPACITY = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterState:
    """A cluster of equal nodes and the instances on them. Immutable, hashable, compared by value.

    Make one with `empty` or `from_placement`, a successor with the operators of `compass_core`. Old states stay
    valid for ever and share all but a few small objects with their successors: an edit costs O(log N) time and memory.
    """

    capacity: int
    """GPUs of every node."""

    _slots_in_use: int  # node indexes given out so far; never shrinks, so an index means one node for ever
    _offline: IndexSet  # nodes that left; they hold nothing and are in no other index
    _nodes: Map[int, Node]  # nodes that hold something, and only those
    _where: Map[Instance, int]  # the inverse of _nodes
    _jobs: Map[str, Job]  # every job that has not departed, also when a node failure took its instances
    _by_shape: Map[NodeShape, IndexSet]  # every online node is in exactly one set; no set is empty
    counts: tuple[int, ...]
    """(n1, ..., nG): running instances of each demand."""

    _hash: list[int] = field(default_factory=list[int])  # filled on first use; not part of the value

    @classmethod
    def empty(cls, nodes: int, capacity: int = DEFAULT_CAPACITY) -> ClusterState:
        """Return a cluster of `nodes` idle nodes of `capacity` GPUs.

        Raises
        ------
        PlacementError
            Fewer than 0 nodes, or a capacity below 1.
        """
        if nodes < 0:
            raise PlacementError(f"expected 0 nodes or more, got {nodes}")
        if capacity < 1:
            raise PlacementError(f"expected a node capacity of at least 1 GPU, got {capacity}")
        all_nodes = IndexSet.first(nodes)
        idle = shape_of(capacity, ())
        return cls(
            capacity=capacity,
            _slots_in_use=nodes,
            _offline=IndexSet.empty(),
            _nodes=Map(),
            _where=Map(),
            _jobs=Map(),
            _by_shape=Map({idle: all_nodes}) if nodes else Map(),
            counts=(0,) * capacity,
        )

    @classmethod
    def from_placement(
        cls, placement: Iterable[tuple[Job, Sequence[int]]], *, nodes: int, capacity: int = DEFAULT_CAPACITY
    ) -> ClusterState:
        """Return the cluster in which instance i of each job stands on the i-th node index given with it.

        Any placement that over-books no node is a state, also one outside Σ⁺ (say {3, 3, 2} on one node, whose slots
        ask for 10 GPUs): `check` tells. The operators never make such a node and never add to one.

        Raises
        ------
        PlacementError
            An unknown node, a node given more than its capacity, or not one node an instance.
        DuplicateJobError
            Two jobs of one name.
        InvalidJobError
            A demand above the capacity.
        """
        state = cls.empty(nodes, capacity)
        for job, indexes in placement:
            if len(indexes) != job.instances:
                problem = f"expected {job.instances} node indexes, one an instance, got {len(indexes)}"
                raise PlacementError(f"job {job.name!r}: {problem}")
            state = state.with_job(job)
            for instance, index in zip(job.all_instances(), indexes, strict=True):
                state = state.add(instance, index)
        return state

    @property
    def nodes(self) -> NodeView:
        """The nodes by index, offline ones as idle nodes."""
        return NodeView(self._nodes, self._slots_in_use, self.capacity)

    @property
    def node_count(self) -> int:
        """N: nodes online."""
        return self._slots_in_use - len(self._offline)

    @property
    def jobs(self) -> Map[str, Job]:
        """The jobs that have arrived and not departed, by name."""
        return self._jobs

    @property
    def offline_nodes(self) -> IndexSet:
        """Indexes of the nodes that were drained or failed and have not returned."""
        return self._offline

    @property
    def shapes(self) -> Map[NodeShape, IndexSet]:
        """The online nodes by shape: at most 67 shapes on 8-GPU nodes."""
        return self._by_shape

    @property
    def used_gpus(self) -> int:
        """T: GPUs held by running instances."""
        return sum(gpus * count for gpus, count in enumerate(self.counts, start=1))

    @property
    def total_gpus(self) -> int:
        """GPUs of the online nodes."""
        return self.node_count * self.capacity

    @property
    def free_gpus(self) -> int:
        """GPUs of the online nodes that nobody holds."""
        return self.total_gpus - self.used_gpus

    @property
    def partial_nodes(self) -> int:
        """Φ: nodes of which some but not all GPUs are held."""
        return sum(len(indexes) for shape, indexes in self._by_shape.items() if shape.partial)

    @property
    def empty_nodes(self) -> int:
        """Online nodes that hold nothing."""
        return len(self._by_shape.get(shape_of(self.capacity, ()), IndexSet.empty()))

    @property
    def largest_free_block(self) -> int:
        """The most GPUs free on one node."""
        return max((shape.free for shape in self._by_shape), default=0)

    @property
    def wcc(self) -> bool:
        """Whether the running instances satisfy the workload composition condition."""
        return wcc_holds(self.counts)

    def node_of(self, instance: Instance) -> int:
        """Return the index of the node that holds `instance`.

        Raises
        ------
        UnknownInstanceError
            It is not running.
        """
        try:
            return self._where[instance]
        except KeyError:
            raise UnknownInstanceError(f"no running instance is {instance}") from None

    def job(self, name: str) -> Job:
        """Return the job of that name.

        Raises
        ------
        UnknownJobError
            None has arrived, or it has departed.
        """
        try:
            return self._jobs[name]
        except KeyError:
            raise UnknownJobError(f"no running job is named {name!r}") from None

    def instances_of(self, name: str) -> tuple[Instance, ...]:
        """Return the job's running instances: all of them, but for those a node failure took."""
        return tuple(instance for instance in self.job(name).all_instances() if instance in self._where)

    def check_instance(self, instance: Instance) -> None:
        """Check that `instance` is one of a job this state knows.

        Raises
        ------
        UnknownJobError
            Its job is not known.
        UnknownInstanceError
            Its job has no such instance.
        """
        job = self.job(instance.job)
        if not 0 <= instance.index < job.instances or instance.gpus != job.gpus:
            raise UnknownInstanceError(f"{job} has no instance {instance}")

    def is_online(self, index: int) -> bool:
        """Whether the cluster has a node of that index, and it is online."""
        return 0 <= index < self._slots_in_use and index not in self._offline

    def with_job(self, job: Job) -> ClusterState:
        """Return the state that knows `job`, none of whose instances is placed yet.

        Raises
        ------
        DuplicateJobError
            A running job has that name.
        InvalidJobError
            An instance demands more than a node has.
        """
        if job.name in self._jobs:
            raise DuplicateJobError(f"a running job is already named {job.name!r}")
        if job.gpus > self.capacity:
            problem = f"expected a demand of 1 to {self.capacity} GPUs an instance, got {job.gpus}"
            raise InvalidJobError(f"job {job.name!r}: {problem}")
        return self._edit({}, jobs=self._jobs.set(job.name, job))

    def without_job(self, name: str) -> ClusterState:
        """Return the state without that job and its instances, everything else where it was."""
        changed: dict[int, Node] = {}
        where = self._where
        counts = self.counts
        for instance in self.instances_of(name):
            index = where[instance]
            changed[index] = (changed.get(index) or self._nodes[index]).without(instance)
            where = where.delete(instance)
            counts = _counted(counts, instance.gpus, -1)
        return self._edit(changed, where=where, jobs=self._jobs.delete(name), counts=counts)

    def add(self, instance: Instance, index: int) -> ClusterState:
        """Return the state with `instance`, of a known job and not yet placed, on node `index`.

        Raises
        ------
        PlacementError
            The node is unknown or offline, has too few free GPUs, or the instance is already running.
        UnknownJobError, UnknownInstanceError
            No known job has such an instance.
        """
        self.check_instance(instance)
        if instance in self._where:
            raise PlacementError(f"{instance} already stands on node {self._where[instance]}")
        return self._edit(
            {index: self._host(instance, index)},
            where=self._where.set(instance, index),
            counts=_counted(self.counts, instance.gpus, +1),
        )

    def remove(self, instance: Instance) -> ClusterState:
        """Return the state without `instance`; its job stays known.

        Raises
        ------
        UnknownInstanceError
            It is not running.
        """
        index = self.node_of(instance)
        return self._edit(
            {index: self._nodes[index].without(instance)},
            where=self._where.delete(instance),
            counts=_counted(self.counts, instance.gpus, -1),
        )

    def move(self, instance: Instance, destination: int) -> ClusterState:
        """Return the state in which `instance` stands on node `destination` instead.

        Raises
        ------
        UnknownInstanceError
            It is not running.
        PlacementError
            The node is unknown, offline, the one it stands on, or has too few free GPUs.
        """
        source = self.node_of(instance)
        if source == destination:
            raise PlacementError(f"{instance} already stands on node {destination}")
        return self._edit(
            {source: self._nodes[source].without(instance), destination: self._host(instance, destination)},
            where=self._where.set(instance, destination),
        )

    def with_node(self) -> tuple[ClusterState, int]:
        """Return the state with one more idle node, and its index."""
        index = self._slots_in_use
        idle = shape_of(self.capacity, ())
        by_shape = self._by_shape.set(idle, self._by_shape.get(idle, IndexSet.empty()).add(index))
        return self._replace(_slots_in_use=index + 1, _by_shape=by_shape), index

    def with_node_offline(self, index: int) -> ClusterState:
        """Return the state without that node, which must hold nothing; its index stays reserved for its return.

        Raises
        ------
        PlacementError
            The node is unknown, already offline, or holds instances.
        """
        if not self.is_online(index):
            raise PlacementError(f"no online node has the index {index}")
        if index in self._nodes:
            raise PlacementError(f"node {index} still holds {len(self._nodes[index].instances)} instances")
        by_shape = _regrouped(self._by_shape, index, shape_of(self.capacity, ()), None)
        return self._replace(_offline=self._offline.add(index), _by_shape=by_shape)

    def with_node_online(self, index: int) -> ClusterState:
        """Return the state in which that offline node is back, idle.

        Raises
        ------
        PlacementError
            No offline node has that index.
        """
        if index not in self._offline:
            raise PlacementError(f"no offline node has the index {index}")
        by_shape = _regrouped(self._by_shape, index, None, shape_of(self.capacity, ()))
        return self._replace(_offline=self._offline.remove(index), _by_shape=by_shape)

    def _host(self, instance: Instance, index: int) -> Node:
        if not self.is_online(index):
            raise PlacementError(f"no online node has the index {index}")
        node = self.nodes[index]
        hosting = node.with_instance(instance)
        if hosting is None:
            raise PlacementError(f"node {index} has {node.free} GPUs free, {instance} needs {instance.gpus}")
        return hosting

    def _edit(
        self,
        changed: dict[int, Node],
        *,
        where: Map[Instance, int] | None = None,
        jobs: Map[str, Job] | None = None,
        counts: tuple[int, ...] | None = None,
    ) -> ClusterState:
        """Return the state with those nodes replaced: the only place where nodes and their index change."""
        nodes, by_shape = self._nodes, self._by_shape
        idle = shape_of(self.capacity, ())
        for index, node in changed.items():
            before = nodes.get(index)
            by_shape = _regrouped(by_shape, index, before.shape if before else idle, node.shape)
            if node.instances:
                nodes = nodes.set(index, node)
            elif before:
                nodes = nodes.delete(index)
        return ClusterState(
            self.capacity,
            self._slots_in_use,
            self._offline,
            nodes,
            self._where if where is None else where,
            self._jobs if jobs is None else jobs,
            by_shape,
            self.counts if counts is None else counts,
        )

    def _replace(
        self,
        *,
        _by_shape: Map[NodeShape, IndexSet],
        _offline: IndexSet | None = None,
        _slots_in_use: int | None = None,
    ) -> ClusterState:
        return ClusterState(
            self.capacity,
            self._slots_in_use if _slots_in_use is None else _slots_in_use,
            self._offline if _offline is None else _offline,
            self._nodes,
            self._where,
            self._jobs,
            _by_shape,
            self.counts,
        )

    def check(self) -> None:
        """Check that the state is in Σ⁺ and that its indexes say what its nodes say, recomputing them; O(N).

        Raises
        ------
        InvariantViolation
            Names the node and the clause that is broken.
        """
        by_shape: defaultdict[NodeShape, set[int]] = defaultdict(set)
        where: dict[Instance, int] = {}
        for index, node in enumerate(self.nodes):
            check_node(index, node, self._jobs)
            if index not in self._offline:
                by_shape[node.shape].add(index)
            elif node.instances:
                raise InvariantViolation(f"node {index} is offline and holds instances")
            where.update(dict.fromkeys(node.instances, index))
        demands = Counter(instance.gpus for instance in where)
        counts = tuple(demands[gpus] for gpus in range(1, self.capacity + 1))
        if {shape: set(indexes) for shape, indexes in self._by_shape.items()} != dict(by_shape):
            raise InvariantViolation("the index of nodes by shape differs from the nodes")
        if dict(self._where) != where:
            raise InvariantViolation("the index of instances differs from the nodes")
        if self.counts != counts:
            raise InvariantViolation(f"the counts {self.counts} differ from those of the nodes, {counts}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClusterState):
            return NotImplemented
        return self._value() == other._value()

    def __hash__(self) -> int:
        if not self._hash:
            self._hash.append(hash(self._value()))
        return self._hash[0]

    def _value(self) -> tuple[int, int, IndexSet, Map[str, Job], Map[Instance, int]]:
        # Nodes, shapes and counts follow from these.
        return self.capacity, self._slots_in_use, self._offline, self._jobs, self._where

    def __repr__(self) -> str:
        return (
            f"<ClusterState: {self.node_count} nodes of {self.capacity} GPUs, {len(self._jobs)} jobs, "
            f"{self.used_gpus} GPUs used, {self.partial_nodes} partial nodes>"
        )


def _counted(counts: tuple[int, ...], gpus: int, by: int) -> tuple[int, ...]:
    return (*counts[: gpus - 1], counts[gpus - 1] + by, *counts[gpus:])


def _regrouped(
    by_shape: Map[NodeShape, IndexSet], index: int, before: NodeShape | None, after: NodeShape | None
) -> Map[NodeShape, IndexSet]:
    """Return the index with node `index` taken from the shape it had and put to the one it has now."""
    if before is after:
        return by_shape
    if before is not None:
        rest = by_shape[before].remove(index)
        by_shape = by_shape.set(before, rest) if rest else by_shape.delete(before)
    if after is not None:
        by_shape = by_shape.set(after, by_shape.get(after, IndexSet.empty()).add(index))
    return by_shape
