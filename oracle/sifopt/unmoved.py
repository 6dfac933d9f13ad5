"""Arriving instances of one demand on the free GPUs of a cluster where nothing moves: the fewest partial nodes.

An instance that arrives on a partial node fills it or leaves it partial; on an empty node it opens a partial one, if
others like it do not fill that up. So it only matters how many instances the partial nodes take, and how many nodes
those fill: the fullest need the fewest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_core.model import NodeShape
    from compass_core.state import ClusterState


@dataclass(frozen=True, slots=True)
class _Rooms:
    """What the free GPUs are worth for one demand: instances that each node takes.

    Attributes
    ----------
    fillable
        Partial nodes that the last instance they take fills: pairs of the instances and the shape, fewest first.
    others
        The same for partial nodes that stay partial.
    idle, per_idle
        Empty nodes, and what each takes.
    exact
        Whether that fills an empty node.
    """

    fillable: list[tuple[int, NodeShape]]
    others: list[tuple[int, NodeShape]]
    idle: int
    per_idle: int
    exact: bool

    @classmethod
    def of(cls, state: ClusterState, gpus: int) -> _Rooms:
        fillable: list[tuple[int, NodeShape]] = []
        others: list[tuple[int, NodeShape]] = []
        for shape in state.shapes:
            if shape.partial and shape.free >= gpus:
                takes, left = divmod(shape.free, gpus)
                (others if left else fillable).append((takes, shape))
        fillable.sort(key=_takes_then_demands)
        others.sort(key=_takes_then_demands)
        per_idle, left = divmod(state.capacity, gpus)
        return cls(fillable, others, state.empty_nodes, per_idle, not left)

    def beside(self, instances: int, room: int) -> tuple[int, int] | None:
        """Return how many of these instances go to partial nodes, and how many empty nodes the others make partial.

        At most `room` go to partial nodes; of the splits that make the fewest nodes partial, the one in which most do.
        None if the empty nodes cannot take the rest.
        """
        most = min(instances, room)
        if instances - most > self.idle * self.per_idle:
            return None
        if not self.exact:
            return most, -(-(instances - most) // self.per_idle)
        even = most - (most - instances) % self.per_idle
        if even >= max(0, instances - self.idle * self.per_idle):
            return even, 0
        return most, 1


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
    rooms = _Rooms.of(state, gpus)
    room = sum(takes * len(state.shapes[shape]) for part in (rooms.fillable, rooms.others) for takes, shape in part)
    filled = used = 0
    quotas = (takes for takes, shape in rooms.fillable for _ in range(len(state.shapes[shape])))
    while used <= instances:
        split = rooms.beside(instances - used, room - used)
        if split is not None and split[1] - filled <= more_partial:
            return _assigned(state, rooms, filled, split[0], instances - used - split[0])
        takes = next(quotas, None)
        if takes is None:
            break
        filled, used = filled + 1, used + takes
    return None


def _assigned(state: ClusterState, rooms: _Rooms, filled: int, beside: int, on_idle: int) -> dict[int, int]:
    """Return the instances on each node: so many nodes filled first, then others used up, then empty ones."""
    where: dict[int, int] = {}
    fillable = _nodes(state, rooms.fillable)
    for _ in range(filled):
        takes, index = next(fillable)
        where[index] = takes
    for nodes in (_nodes(state, rooms.others), fillable):
        while beside:
            takes, index = next(nodes, (0, -1))
            if not takes:
                break
            where[index] = min(takes, beside)
            beside -= where[index]
    idle = (index for shape, nodes in state.shapes.items() if not shape.used for index in nodes)
    while on_idle:
        index = next(idle)
        where[index] = min(rooms.per_idle, on_idle)
        on_idle -= where[index]
    return where


def _nodes(state: ClusterState, part: Iterable[tuple[int, NodeShape]]) -> Iterator[tuple[int, int]]:
    return ((takes, index) for takes, shape in part for index in state.shapes[shape])


def _takes_then_demands(room: tuple[int, NodeShape]) -> tuple[int, tuple[int, ...]]:
    return room[0], room[1].demands
