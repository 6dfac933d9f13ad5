"""What single moves into free space reach, by trying all of them in small pools: shares no code with the searches.

Nodes that hold the same things are one, so that what is reached is a multiset of contents.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.model import NodeKind
from oracle.optimum.node_classes import constrained_class
from oracle.snapshots.kinds import gpus_of, total_gpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import NodeContent

# Nodes of all placements visited in one pool together: some seconds. 10,000 placements of ten nodes.
MAX_NODES = 100_000

Nodes: TypeAlias = tuple[NodeKind, ...]
"""The nodes of a pool, sorted. One that takes nothing has no room, whatever leaves it."""


def nodes_of(contents: Sequence[NodeContent]) -> Nodes:
    """Return the nodes of a pool as they are now."""
    # What a node may keep beyond its room does not matter: nothing arrives there.
    return tuple(sorted(NodeKind(replace(constrained_class(node), own=()), node.movable) for node in contents))


def count_partial(nodes: Nodes) -> int:
    """Return how many nodes are partial."""
    return sum(node.node_class.is_partial(total_gpus(node.holds)) for node in nodes)


def free(node: NodeKind) -> int:
    """Return the GPUs that instances can have."""
    return max(0, node.node_class.room - total_gpus(node.holds))


def copies(node: NodeKind, kind: Kind) -> int:
    """Return how many instances of a kind can come to the node."""
    return node.node_class.rules.most_beside(node.holds, kind, free(node) // gpus_of(kind))


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
        for gpus in set(source.holds):
            left = list(source.holds)
            left.remove(gpus)
            for target, count in kinds.items():
                if copies(target, gpus) and (target != source or count > 1):
                    added = tuple(sorted((*target.holds, gpus), reverse=True))
                    rest = list(nodes)
                    rest.remove(source)
                    rest.remove(target)
                    rest += [source._replace(holds=tuple(left)), target._replace(holds=added)]
                    yield tuple(sorted(rest))
