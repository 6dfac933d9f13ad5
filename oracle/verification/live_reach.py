"""What single moves into free space reach, by trying all of them in small pools: shares no code with the searches.

Nodes that hold the same things are one, so that what is reached is a multiset of contents.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from oracle.optimum.interruption import break_off_if_requested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.snapshots.model import NodeContent, Pattern

# Nodes of all placements visited in one pool together: some seconds. 10,000 placements of ten nodes.
MAX_NODES = 100_000


@dataclass(frozen=True, slots=True, order=True)
class Held:
    """A node: GPUs it offers, those of what cannot move, whether it takes instances, and what may leave it."""

    capacity: int
    held: int
    takes: bool
    movable: Pattern

    @property
    def free(self) -> int:
        """GPUs that instances can have."""
        return self.capacity - self.held - sum(self.movable) if self.takes else 0

    @property
    def is_partial(self) -> bool:
        """Whether some but not all GPUs are in use."""
        return 0 < self.held + sum(self.movable) < self.capacity


Nodes: TypeAlias = tuple[Held, ...]
"""The nodes of a pool, sorted."""


def nodes_of(contents: Sequence[NodeContent]) -> Nodes:
    """Return the nodes of a pool as they are now."""
    return tuple(
        sorted(Held(node.capacity, sum(node.immovable), node.takes_instances, node.movable) for node in contents)
    )


def count_partial(nodes: Nodes) -> int:
    """Return how many nodes are partial."""
    return sum(node.is_partial for node in nodes)


def fewest_moves(start: Nodes, measure: Callable[[Nodes], int], *, max_nodes: int = MAX_NODES) -> dict[int, int] | None:
    """Return the fewest live moves to a placement with each value of a measure; values that none has are left out.

    None if more placements can be reached than are visited: at most as many as have `max_nodes` nodes together.
    """
    best = {measure(start): 0}
    layer, seen, moves = {start}, {start}, 0
    while layer:
        moves += 1
        following: set[Nodes] = set()
        for nodes in layer:
            break_off_if_requested()
            for after in _next(nodes):
                if after in seen:
                    continue
                if len(seen) * len(start) >= max_nodes:
                    return None
                seen.add(after)
                following.add(after)
                best.setdefault(measure(after), moves)
        layer = following
    return best


def _next(nodes: Nodes) -> Iterator[Nodes]:
    """Yield what one move of one instance into free space makes of the nodes."""
    kinds = Counter(nodes)
    for source in kinds:
        for gpus in set(source.movable):
            left = list(source.movable)
            left.remove(gpus)
            without = Held(source.capacity, source.held, source.takes, tuple(left))
            for target, count in kinds.items():
                if target.free >= gpus and (target != source or count > 1):
                    movable = tuple(sorted((*target.movable, gpus), reverse=True))
                    rest = list(nodes)
                    rest.remove(source)
                    rest.remove(target)
                    added = Held(target.capacity, target.held, target.takes, movable)
                    yield tuple(sorted((*rest, without, added)))
