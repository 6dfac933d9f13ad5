"""The cluster as one immutable value, and the only edits it knows: add, remove, move an instance; nodes come and go.

A state is the map from instances to nodes, beside the jobs it knows; all that is read off it follows from these.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from immutables import Map

from compass_core.condition import wcc_holds
from compass_core.errors import (
    DuplicateJobError,
    InvalidJobError,
    InvariantViolation,
    PlacementError,
    UnknownInstanceError,
    UnknownJobError,
)
from compass_core.model import Instance, Job, Node, NodeShape, shape_of
from compass_core.nodes import Nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compass_core.index_set import IndexSet

DEFAULT_CAPACITY = 8
"""GPUs of a node, as in the paper."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterState:
    """A cluster of equal nodes and the instances on them. Immutable, hashable, compared by value.

    Make one with `empty` or `from_placement`, a successor with the operators of `compass_core`. Old states stay
    valid for ever and share all but a few small objects with their successors: an edit costs O(log N) time and memory.
    """

    nodes: Nodes
    """The nodes by index, offline ones as idle nodes."""

    # What an edit has to keep of the private fields and of counts is said here; `check` recomputes it from the nodes.

    # The inverse of the nodes: an edit that changes where an instance stands passes on both.
    _where: Map[Instance, int]

    # Every job that has not departed, also when a node failure took its instances. Only a job known here has instances
    # placed, and a job departs together with those that it still has.
    _jobs: Map[str, Job]

    counts: tuple[int, ...]
    """(n1, ..., nG): running instances of each demand."""

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
        return cls(Nodes.idle(nodes, capacity), Map(), Map(), (0,) * capacity)

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
        return ClusterState(self.nodes, self._where, self._jobs.set(job.name, job), self.counts)

    def without_job(self, name: str) -> ClusterState:
        """Return the state without that job and its instances, everything else where it was."""
        changed: dict[int, Node] = {}
        where = self._where
        counts = self.counts
        for instance in self.instances_of(name):
            index = where[instance]
            changed[index] = (changed.get(index) or self.nodes[index]).without(instance)
            where = where.delete(instance)
            counts = _counted(counts, instance.gpus, -1)
        return ClusterState(self.nodes.replaced(changed), where, self._jobs.delete(name), counts)

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
        return ClusterState(
            self.nodes.replaced({index: self.nodes.hosting(instance, index)}),
            self._where.set(instance, index),
            self._jobs,
            _counted(self.counts, instance.gpus, +1),
        )

    def remove(self, instance: Instance) -> ClusterState:
        """Return the state without `instance`; its job stays known.

        Raises
        ------
        UnknownInstanceError
            It is not running.
        """
        index = self.node_of(instance)
        return ClusterState(
            self.nodes.replaced({index: self.nodes[index].without(instance)}),
            self._where.delete(instance),
            self._jobs,
            _counted(self.counts, instance.gpus, -1),
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
        changed = {
            source: self.nodes[source].without(instance),
            destination: self.nodes.hosting(instance, destination),
        }
        where = self._where.set(instance, destination)
        return ClusterState(self.nodes.replaced(changed), where, self._jobs, self.counts)

    def with_node(self) -> tuple[ClusterState, int]:
        """Return the state with one more idle node, and its index."""
        return self._with(self.nodes.with_node()), len(self.nodes)

    def with_node_offline(self, index: int) -> ClusterState:
        """Return the state without that node, which must hold nothing; its index stays reserved for its return.

        Raises
        ------
        PlacementError
            The node is unknown, already offline, or holds instances.
        """
        return self._with(self.nodes.with_node_offline(index))

    def with_node_online(self, index: int) -> ClusterState:
        """Return the state in which that offline node is back, idle.

        Raises
        ------
        PlacementError
            No offline node has that index.
        """
        return self._with(self.nodes.with_node_online(index))

    @property
    def capacity(self) -> int:
        """GPUs of every node."""
        return self.nodes.capacity

    @property
    def node_count(self) -> int:
        """N: nodes online."""
        return len(self.nodes) - len(self.nodes.offline)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs that have arrived and not departed, sorted by name; O(J log J), `jobs_by_name` is O(1)."""
        return tuple(sorted(self._jobs.values(), key=lambda job: job.name))

    @property
    def jobs_by_name(self) -> Map[str, Job]:
        """The same jobs by name, in no particular order."""
        return self._jobs

    @property
    def offline_nodes(self) -> IndexSet:
        """Indexes of the nodes that were drained or failed and have not returned."""
        return self.nodes.offline

    @property
    def shapes(self) -> Map[NodeShape, IndexSet]:
        """The online nodes by shape: at most 67 shapes on 8-GPU nodes."""
        return self.nodes.by_shape

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
        return sum(len(indexes) for shape, indexes in self.shapes.items() if shape.partial)

    @property
    def empty_nodes(self) -> int:
        """Online nodes that hold nothing."""
        return len(self.shapes.get(shape_of(self.capacity, ()), ()))

    @property
    def largest_free_block(self) -> int:
        """The most GPUs free on one node."""
        return max((shape.free for shape in self.shapes), default=0)

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
        return self.nodes.is_online(index)

    def check(self) -> None:
        """Check that the state is in Σ⁺ and that its indexes say what its nodes say, recomputing them; O(N).

        Raises
        ------
        InvariantViolation
            Names the node and the clause that is broken.
        """
        self.nodes.check()
        where: dict[Instance, int] = {}
        for index, node in self.nodes.occupied():
            for instance in node.instances:
                job = self._jobs.get(instance.job)
                if job is None or instance.gpus != job.gpus or not 0 <= instance.index < job.instances:
                    raise InvariantViolation(f"node {index} holds {instance}, of no such job")
                where[instance] = index
        demands = Counter(instance.gpus for instance in where)
        counts = tuple(demands[gpus] for gpus in range(1, self.capacity + 1))
        if dict(self._where) != where:
            raise InvariantViolation("the index of instances differs from the nodes")
        if self.counts != counts:
            raise InvariantViolation(f"the counts {self.counts} differ from those of the nodes, {counts}")

    def _with(self, nodes: Nodes) -> ClusterState:
        """Return the state after an idle node came or went: no instance is concerned."""
        return ClusterState(nodes, self._where, self._jobs, self.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClusterState):
            return NotImplemented
        return self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def _value(self) -> tuple[int, int, IndexSet, Map[str, Job], Map[Instance, int]]:
        # Nodes, shapes and counts follow from these. Maps remember their hash.
        return self.capacity, len(self.nodes), self.nodes.offline, self._jobs, self._where

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {self.node_count} nodes of {self.capacity} GPUs, {len(self._jobs)} jobs, "
            f"{self.used_gpus} GPUs used, {self.partial_nodes} partial nodes>"
        )


def _counted(counts: tuple[int, ...], gpus: int, by: int) -> tuple[int, ...]:
    return (*counts[: gpus - 1], counts[gpus - 1] + by, *counts[gpus:])
