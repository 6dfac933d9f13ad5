"""What can be read off a cluster: its nodes, its jobs, its measures, and whether its indexes say what its nodes say.

A state is the map from instances to nodes. Slots, fillers, kinds and counts follow from it (see `model.NodeShape`).
One index is kept beside it, the nodes of each shape; every question an operator asks ("the fullest slotted node with
room for 4", "a vacancy", "the sparsest node that has ones") is answered by looking at the shapes present, of which
there are at most 67 on 8-GPU nodes however many nodes there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compass_core.errors import InvariantViolation, UnknownInstanceError, UnknownJobError
from compass_core.fragmentation import wcc_holds
from compass_core.index_set import IndexSet
from compass_core.invariants import check_node
from compass_core.model import Instance, Job, Node, NodeShape, shape_of
from compass_core.node_view import NodeView

if TYPE_CHECKING:
    from immutables import Map


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Readings:
    """The fields of a cluster and the questions they answer; `state.ClusterState` adds the edits. Compared by value."""

    capacity: int
    """GPUs of every node."""

    # Each private field below says what holds of it, and how the edits of `state` keep that. `check` recomputes
    # _where, _by_shape and counts from the nodes.

    # Node indexes given out so far. Only a new node raises it, by one; it never shrinks, so an index means one node for
    # ever.
    _slots_in_use: int

    # Nodes that left: they hold nothing and are in no other index. A node has to be idle to be taken here, and none of
    # these is ever a host.
    _offline: IndexSet

    # Nodes that hold something, and only those: the edit that takes the last instance off a node drops its entry, so
    # that nodes emptied and nodes never used are the same.
    _nodes: Map[int, Node]

    # The inverse of _nodes: an edit that changes where an instance stands passes on both.
    _where: Map[Instance, int]

    # Every job that has not departed, also when a node failure took its instances. Only a job known here has instances
    # placed, and a job departs together with those that it still has.
    _jobs: Map[str, Job]

    # Every online node is in exactly one set, that of its shape; no set is empty. An edit moves the nodes that it
    # changes from set to set, and drops a set that it empties.
    _by_shape: Map[NodeShape, IndexSet]

    counts: tuple[int, ...]
    """(n1, ..., nG): running instances of each demand."""

    # The hash, once it was asked for. Not part of the value: every edit begins with a list of its own, since one that
    # was shared would give the successor the hash of its predecessor.
    _hash: list[int] = field(default_factory=list[int])

    @property
    def nodes(self) -> NodeView:
        """The nodes by index, offline ones as idle nodes."""
        return NodeView(self._nodes, self._slots_in_use, self.capacity)

    @property
    def node_count(self) -> int:
        """N: nodes online."""
        return self._slots_in_use - len(self._offline)

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
        if any(not node.instances for node in self._nodes.values()):
            raise InvariantViolation("a node that holds nothing is kept as if it were in use")
        if dict(self._where) != where:
            raise InvariantViolation("the index of instances differs from the nodes")
        if self.counts != counts:
            raise InvariantViolation(f"the counts {self.counts} differ from those of the nodes, {counts}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Readings):
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
            f"<{type(self).__name__}: {self.node_count} nodes of {self.capacity} GPUs, {len(self._jobs)} jobs, "
            f"{self.used_gpus} GPUs used, {self.partial_nodes} partial nodes>"
        )
