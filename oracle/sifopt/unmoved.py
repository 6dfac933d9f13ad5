"""Arriving instances of one demand on the free GPUs of a cluster where nothing moves: the fewest partial nodes.

An instance that arrives on a partial node fills it or leaves it partial; on an empty node it opens a partial one, if
others like it do not fill that up. So first some empty nodes are filled up, then partial nodes that the instances can
fill, those that take the fewest first, then other partial nodes, and last empty ones. How many come first is tried.
"""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_core.state import ClusterState


def place_unmoved(state: ClusterState, gpus: int, instances: int, more_partial: int) -> dict[int, int] | None:
    """Return how many of the instances go to each node so that few nodes become partial, or None if that cannot be.

    Parameters
    ----------
    state
        The cluster; nothing on it moves.
    gpus, instances
        The demand of each instance, and how many arrive.
    more_partial
        Partial nodes that there may be more than now; negative if there have to be fewer.
    """
    open_ = (shape for shape in state.shapes if shape.partial and shape.free >= gpus)
    shapes = sorted(open_, key=lambda shape: (shape.free % gpus > 0, shape.free // gpus, shape.demands))
    partial = [(shape.free // gpus, index) for shape in shapes for index in state.shapes[shape]]
    ends = list(accumulate(takes for takes, _ in partial))
    fillable = ends[: sum(len(state.shapes[shape]) for shape in shapes if not shape.free % gpus)]
    per_idle, left = divmod(state.capacity, gpus)
    for filled in range(1 if left else instances // per_idle + 1):
        rest = instances - filled * per_idle
        opened = -(-max(0, rest - (ends[-1] if ends else 0)) // per_idle)
        if filled + opened <= state.empty_nodes and opened - bisect(fillable, rest) <= more_partial:
            idle = ((per_idle, i) for shape, indexes in state.shapes.items() if not shape.used for i in indexes)
            return _filled(chain(islice(idle, filled), partial, idle), instances)
    return None


def _filled(nodes: Iterable[tuple[int, int]], instances: int) -> dict[int, int]:
    """Return how many go to each of these nodes, one node after the other up to what it takes."""
    where: dict[int, int] = {}
    for takes, index in nodes:
        if not instances:
            break
        where[index] = min(takes, instances)
        instances -= where[index]
    return where
