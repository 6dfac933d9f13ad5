"""The cluster as one immutable value, and the only edits it knows: add, remove, move an instance; nodes come and go.

What can be read off it is in `readings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from immutables import Map

from compass_core.errors import (
    DuplicateJobError,
    InvalidJobError,
    PlacementError,
)
from compass_core.index_set import IndexSet
from compass_core.model import Instance, Job, Node, NodeShape, shape_of
from compass_core.readings import Readings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEFAULT_CAPACITY = 8
"""GPUs of a node, as in the paper."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterState(Readings):
    """A cluster of equal nodes and the instances on them. Immutable, hashable, compared by value.

    Make one with `empty` or `from_placement`, a successor with the operators of `compass_core`. Old states stay
    valid for ever and share all but a few small objects with their successors: an edit costs O(log N) time and memory.
    """

    @classmethod
    def empty(cls, nodes: int, capacity: int = DEFAULT_CAPACITY) -> ClusterState:
        """Return a cluster of `nodes` idle nodes of `capacity` GPUs.

        Raises
        ------
        PlacementError
            Fewer than 0 nodes, a capacity below 1, or no whole numbers.
        """
        if type(nodes) is not int or type(capacity) is not int:
            # Checked in spite of the types, as those of jobs are.
            raise PlacementError(f"expected whole numbers of nodes and of GPUs a node, got {nodes!r} and {capacity!r}")
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
        """Return the state with those nodes replaced: the only place where what a node holds changes.

        It keeps what `Readings` says of _nodes and _by_shape. The caller answers for where, jobs and counts: it passes
        on what follows from the nodes it changed. An offline node is never among those (see `_host`).
        """
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
        """Return the state after an idle node came or went: no instance is concerned."""
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
