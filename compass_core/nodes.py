"""The nodes of a cluster as one immutable value: what stands on each, which are offline, which have the same shape.

Who the instances belong to, and that each stands on one node only, is for `state.ClusterState` to say.

Slots, fillers and kinds follow from the instances on a node (see `model.NodeShape`). One index is kept beside them, the
nodes of each shape; every question an operator asks ("the fullest slotted node with room for 4", "a vacancy", "the
sparsest node that has ones") is answered by looking at the shapes present, of which there are at most 67 on 8-GPU
nodes however many nodes there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, overload

from immutables import Map

from compass_core.errors import InvariantViolation, PlacementError
from compass_core.index_set import IndexSet
from compass_core.model import Node, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compass_core.model import Instance, NodeShape


@dataclass(frozen=True, slots=True)
class Nodes(Sequence[Node]):
    """The nodes by index, offline ones as idle nodes. Compared by value; an edit returns a successor in O(log N)."""

    # Each field says what holds of it, and how the edits keep that; `check` recomputes by_shape from the nodes.

    capacity: int
    """GPUs of every node."""

    length: int
    """Node indexes given out so far. Only a new node raises it, by one; so an index means one node for ever."""

    offline: IndexSet
    """Nodes that left: they hold nothing and have no shape. A node has to be idle to be taken here, and none of these
    is ever a host."""

    in_use: Map[int, Node]
    """Nodes that hold something, and only those: the edit that takes the last instance off a node drops its entry, so
    that nodes emptied and nodes never used are the same."""

    by_shape: Map[NodeShape, IndexSet]
    """Every online node is in exactly one set, that of its shape; no set is empty. An edit moves the nodes that it
    changes from set to set, and drops a set that it empties."""

    @classmethod
    def idle(cls, count: int, capacity: int) -> Nodes:
        """Return so many idle nodes of `capacity` GPUs."""
        by_shape = {_idle(capacity).shape: IndexSet.first(count)} if count else {}
        return cls(capacity, count, IndexSet.empty(), Map(), Map(by_shape))

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, index: int | slice) -> Node | tuple[Node, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self.length)))
        at = index + self.length if index < 0 else index
        if not 0 <= at < self.length:
            raise IndexError(f"expected a node index below {self.length}, got {index}")
        return self.in_use.get(at) or _idle(self.capacity)

    def occupied(self) -> Iterator[tuple[int, Node]]:
        """Yield index and node of the nodes that hold something, in no particular order."""
        yield from self.in_use.items()

    def is_online(self, index: int) -> bool:
        """Whether there is a node of that index, and it is online."""
        return 0 <= index < self.length and index not in self.offline

    def hosting(self, instance: Instance, index: int) -> Node:
        """Return what node `index` is with `instance` on it.

        Raises
        ------
        PlacementError
            The node is unknown, offline, or has too few free GPUs.
        """
        if not self.is_online(index):
            raise PlacementError(f"no online node has the index {index}")
        node = self[index]
        hosting = node.with_instance(instance)
        if hosting is None:
            raise PlacementError(f"node {index} has {node.free} GPUs free, {instance} needs {instance.gpus}")
        return hosting

    def replaced(self, changed: Mapping[int, Node]) -> Nodes:
        """Return the nodes with those in place of what had their indexes, all of which are online."""
        in_use, by_shape = self.in_use, self.by_shape
        for index, node in changed.items():
            before = in_use.get(index) or _idle(self.capacity)
            by_shape = _regrouped(by_shape, index, before.shape, node.shape)
            if node.instances:
                in_use = in_use.set(index, node)
            elif before.instances:
                in_use = in_use.delete(index)
        return Nodes(self.capacity, self.length, self.offline, in_use, by_shape)

    def with_node(self) -> Nodes:
        """Return the nodes and an idle one more, of the lowest index that was never given out."""
        by_shape = _regrouped(self.by_shape, self.length, None, _idle(self.capacity).shape)
        return Nodes(self.capacity, self.length + 1, self.offline, self.in_use, by_shape)

    def with_node_offline(self, index: int) -> Nodes:
        """Return the nodes with that one offline, which must hold nothing.

        Raises
        ------
        PlacementError
            The node is unknown, already offline, or holds instances.
        """
        if not self.is_online(index):
            raise PlacementError(f"no online node has the index {index}")
        if index in self.in_use:
            raise PlacementError(f"node {index} still holds {len(self.in_use[index].instances)} instances")
        by_shape = _regrouped(self.by_shape, index, _idle(self.capacity).shape, None)
        return Nodes(self.capacity, self.length, self.offline.add(index), self.in_use, by_shape)

    def with_node_online(self, index: int) -> Nodes:
        """Return the nodes with that one, which is offline, back.

        Raises
        ------
        PlacementError
            No offline node has that index.
        """
        if index not in self.offline:
            raise PlacementError(f"no offline node has the index {index}")
        by_shape = _regrouped(self.by_shape, index, None, _idle(self.capacity).shape)
        return Nodes(self.capacity, self.length, self.offline.remove(index), self.in_use, by_shape)

    def check(self) -> None:
        """Check that every node is one of Σ⁺, in canonical form, and where it belongs; O(N).

        Raises
        ------
        InvariantViolation
            Names the node and the clause that is broken.
        """
        by_shape: defaultdict[NodeShape, set[int]] = defaultdict(set)
        for index, node in enumerate(self):
            shape = node.shape
            if shape.reserved > node.capacity:
                problem = f"slots and ones reserve {shape.reserved} of {node.capacity} GPUs"
                raise InvariantViolation(f"node {index}: {problem} ({list(shape.demands)})")
            if node != Node.of(node.capacity, node.instances):
                raise InvariantViolation(f"node {index}: its instances are out of order or its shape is not theirs")
            if index not in self.offline:
                by_shape[shape].add(index)
            elif node.instances:
                raise InvariantViolation(f"node {index} is offline and holds instances")
        if {shape: set(indexes) for shape, indexes in self.by_shape.items()} != dict(by_shape):
            raise InvariantViolation("the index of nodes by shape differs from the nodes")
        if any(not node.instances for node in self.in_use.values()):
            raise InvariantViolation("a node that holds nothing is kept as if it were in use")


@cache
def _idle(capacity: int) -> Node:
    return Node((), shape_of(capacity, ()))


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
