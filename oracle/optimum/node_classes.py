"""What a pool's nodes may hold: nodes grouped into classes, and the packing problem that is left.

Nodes that may hold the same things are one class with a multiplicity, so the size of everything that follows depends
on how many *kinds* of node there are, not on how many nodes. Instances never leave their pool: every pool is a
problem of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from oracle.snapshots.kinds import FREE, Rules, gpus_of, total_gpus
from oracle.snapshots.model import MAX_GPUS_PER_NODE, Pattern, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.snapshots.model import NodeContent, Snapshot

# The movable GPUs on a node are told apart up to this number; more count as so many. Far above what a node can offer,
# so only over-committed nodes get there, and only by misread demands whose sums would otherwise have no end.
MAX_LOAD = 4 * MAX_GPUS_PER_NODE


@dataclass(frozen=True, slots=True, order=True)
class NodeClass:
    """All nodes that may hold the same patterns.

    One rule covers every kind of node: a pattern is legal if its GPUs are at most `room`, *or* if it is a part of
    `own`, the instances the node has already.

    - An ordinary node: `room` is what its immovable instances leave; `own` is empty.
    - A node that takes nothing new (cordoned, or holding more than it offers): `room` is 0, `own` its movable
      instances: they may stay or leave.
    - An over-committed node in the ideal problem: `room` is its capacity (it may be repacked), `own` all it has (it
      may keep too much, so that a packing exists whatever the others hold).

    Attributes
    ----------
    capacity
        GPUs the node offers.
    held
        GPUs of instances that cannot move. They are on top of every pattern.
    room
        GPUs that any movable instances may take.
    own
        Movable instances the node may keep although they exceed `room`.
    rules
        What else it keeps; not of its own instances, which may stay.
    """

    capacity: int
    held: int
    room: int
    own: Pattern = ()
    rules: Rules = FREE

    def allows(self, pattern: Pattern) -> bool:
        """Whether a node of this class may hold `pattern` on top of what cannot move."""
        if total_gpus(pattern) <= self.room and (self.rules == FREE or self.rules.allow(pattern)):
            return True
        return not Counter(pattern) - Counter(self.own)

    def is_partial(self, load: int) -> bool:
        """Whether some but not all GPUs are in use with `load` movable GPUs. A node of 0 GPUs never is partial."""
        return 0 < self.held + load < self.capacity

    def is_full(self, load: int) -> bool:
        """Whether all GPUs are in use with `load` movable GPUs, or more are held than the node offers."""
        return self.held + load >= self.capacity > 0

    def is_empty(self, load: int) -> bool:
        """Whether the node offers GPUs and has none in use with `load` movable GPUs."""
        return self.held + load == 0 < self.capacity


LEAVING = NodeClass(0, 0, 0)
"""A node that offers nothing. What it holds now, if anything, has to leave it: instances that wait for a place, or
those of a node that is drained."""


@dataclass(frozen=True, slots=True)
class PackingProblem:
    """Node classes with multiplicities, and the movable instances to be packed on them.

    Equal problems are equal values: classes are sorted and distinct, demands descend, nothing has count 0.

    Attributes
    ----------
    classes
        The node classes.
    nodes
        How many nodes each class has, in the order of `classes`.
    demands
        Pairs of a demand in GPUs and how many movable instances have it.
    """

    classes: tuple[NodeClass, ...]
    nodes: tuple[int, ...]
    demands: tuple[tuple[int, int], ...]

    @classmethod
    def build(cls, nodes: Mapping[NodeClass, int], demands: Mapping[int, int]) -> PackingProblem:
        """Return the problem in its canonical form; entries of count 0 are dropped."""
        kinds = sorted(kind for kind, count in nodes.items() if count)
        return cls(
            classes=tuple(kinds),
            nodes=tuple(nodes[kind] for kind in kinds),
            demands=tuple((demand, demands[demand]) for demand in sorted(demands, reverse=True) if demands[demand]),
        )

    @property
    def movable_gpus(self) -> int:
        """GPUs of all movable instances."""
        return sum(gpus_of(demand) * count for demand, count in self.demands)


@dataclass(frozen=True, slots=True, order=True)
class PackedNodes:
    """So many nodes of one class (an index into `PackingProblem.classes`) that hold one pattern."""

    node_class: int
    pattern: Pattern
    nodes: int


Packing: TypeAlias = tuple[PackedNodes, ...]
"""What every node holds, sorted, no class and pattern twice."""


def packing(nodes: Mapping[tuple[int, Pattern], int]) -> Packing:
    """Return the packing in which `nodes[c, p]` nodes of class c hold pattern p."""
    return tuple(PackedNodes(c, pattern, nodes[c, pattern]) for c, pattern in sorted(nodes) if nodes[c, pattern])


def count_partial(problem: PackingProblem, packed: Packing) -> int:
    """Partial nodes of a packing."""
    return sum(
        group.nodes for group in packed if problem.classes[group.node_class].is_partial(total_gpus(group.pattern))
    )


def count_empty(problem: PackingProblem, packed: Packing) -> int:
    """Nodes of a packing that offer GPUs and have none in use."""
    return sum(group.nodes for group in packed if problem.classes[group.node_class].is_empty(total_gpus(group.pattern)))


@dataclass(frozen=True, slots=True)
class PlacedProblem:
    """A packing problem together with what nodes hold now. Instances that none holds wait for a place."""

    problem: PackingProblem
    current: Packing

    @classmethod
    def unplaced(cls, problem: PackingProblem) -> PlacedProblem:
        """Return the problem with nodes that hold only what they alone may keep; all else waits."""
        nodes = zip(problem.classes, problem.nodes, strict=True)
        return cls(problem, packing({(c, kind.own): count for c, (kind, count) in enumerate(nodes)}))


def contents_after(start: Snapshot, after: Snapshot) -> dict[str, tuple[NodeContent, ...]]:
    """Return every node with what it holds after moves from `start`, by pool; what was closed there is closed still."""
    before = start.contents
    closed = {node.name for nodes in before.values() for node in nodes if not node.takes_instances}
    return {
        pool: tuple(replace(node, schedulable=False) if node.name in closed else node for node in nodes)
        for pool, nodes in after.contents.items()
    }


def constrained_class(content: NodeContent) -> NodeClass:
    """Return what the node may hold when cordons and immovable instances are respected (Φ*, the inherent value)."""
    held = sum(content.immovable)
    if content.takes_instances:
        return NodeClass(content.capacity, held, content.capacity - held, (), content.rules)
    return NodeClass(content.capacity, held, 0, content.movable)


def ideal_class(content: NodeContent) -> NodeClass:
    """Return what the node may hold when only pools are kept: cordons and immovability are ignored."""
    return NodeClass(content.capacity, 0, content.capacity, _everything(content) if content.overcommitted else ())


def constrained_problem(contents: Iterable[NodeContent]) -> PlacedProblem:
    """Return the problem whose optimum is a pool's inherent number of partial nodes (theory §4)."""
    return _placed((constrained_class(content), content.movable) for content in contents)


def ideal_problem(contents: Iterable[NodeContent]) -> PlacedProblem:
    """Return the problem whose optimum is a pool's ideal number of partial nodes: never above the inherent one."""
    return _placed((ideal_class(content), _everything(content)) for content in contents)


def _placed(nodes: Iterable[tuple[NodeClass, Pattern]]) -> PlacedProblem:
    placed = Counter(nodes)
    kinds: Counter[NodeClass] = Counter()
    demands: Counter[int] = Counter()
    for (kind, pattern), count in placed.items():
        kinds[kind] += count
        for demand in pattern:
            demands[demand] += count
    problem = PackingProblem.build(kinds, demands)
    index = {kind: c for c, kind in enumerate(problem.classes)}
    return PlacedProblem(problem, packing({(index[kind], held): count for (kind, held), count in placed.items()}))


def _everything(content: NodeContent) -> Pattern:
    return pattern_of((*content.immovable, *map(gpus_of, content.movable)))
