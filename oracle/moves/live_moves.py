"""An order of relocations as a sequence of moves into free space.

Where a plan has to stop instances and only live moves are allowed, a stopped instance can wait on a node with room
to spare instead: it is parked, which takes one move more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.moves.move import Move
from oracle.moves.rematching import order_interchangeably
from oracle.moves.replay import Occupancy, by_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.moves.move import MoveOrder, Relocated
    from oracle.moves.replay import Key
    from oracle.snapshots.model import Snapshot


def live_sequence(snapshot: Snapshot, relocations: Iterable[Relocated]) -> tuple[Move, ...] | None:
    """Return these relocations as a sequence of moves into free space, instances being parked where that helps.

    None if none was found. That does not mean that there is none.
    """
    order = order_interchangeably(snapshot, relocations)
    return order.moves if order.live else park_instead_of_stopping(order, Occupancy(snapshot))


def live_start(snapshot: Snapshot, relocations: Iterable[Relocated]) -> tuple[Move, ...]:
    """Return what of these relocations can be made live, up to where the fewest nodes are partial."""
    moves = without_stops(order_interchangeably(snapshot, relocations), Occupancy(snapshot))
    counts = partial_counts(snapshot, moves)
    return moves[: counts.index(min(counts))]


def park_instead_of_stopping(order: MoveOrder, occupancy: Occupancy) -> tuple[Move, ...] | None:
    """Return the order as a live sequence without steps, every stop replaced by a move to a node with room to spare.

    None if at some moment no node has room to spare, beside all that is still to arrive there. That does not mean
    that no live sequence exists.
    """
    free = Counter(occupancy.free)
    arriving = Counter[str]()
    for move in order.moves:
        arriving[move.destination] += move.gpus
    parked: dict[Key, str] = {}
    sequence: list[Move] = []
    for moves, stops in by_steps(order.moves, order.stops):
        for stop in stops:
            room = {
                node: free[node] - arriving[node] - stop.gpus
                for node, pool in occupancy.pools.items()
                if pool == occupancy.pools[stop.node] and node != stop.node and occupancy.is_open(node)
            }
            # The tightest node that will do leaves the others for larger instances.
            node = min((node for node in room if room[node] >= 0), key=lambda node: (room[node], node), default=None)
            if node is None:
                return None
            sequence.append(Move(0, stop.job, stop.instance, stop.gpus, stop.node, node))
            parked[stop.job, stop.instance] = node
            free[stop.node] += stop.gpus
            free[node] -= stop.gpus
        for move in moves:
            sequence.append(replace(move, step=0, source=parked.get((move.job, move.instance), move.source)))
            free[move.destination] -= move.gpus
            free[sequence[-1].source] += move.gpus
            arriving[move.destination] -= move.gpus
    return tuple(move for move in sequence if move.source != move.destination)


def without_stops(order: MoveOrder, occupancy: Occupancy) -> tuple[Move, ...]:
    """Return what is left of an order, as a live sequence without steps, if what must be stopped stays where it is."""
    free = Counter(occupancy.free)
    staying = {(stop.job, stop.instance) for stop in order.stops}
    made: list[Move] = []
    for move in order.moves:
        if (move.job, move.instance) not in staying and move.gpus <= free[move.destination]:
            free[move.destination] -= move.gpus
            free[move.source] += move.gpus
            made.append(replace(move, step=0))
    return tuple(made)


def partial_counts(snapshot: Snapshot, sequence: Sequence[Move]) -> list[int]:
    """Return how many nodes are partial at the start and after each of the moves."""
    capacity = {node.name: node.gpus for node in snapshot.nodes}
    used = Counter(snapshot.used_gpus())
    counts = [sum(0 < used[name] < gpus for name, gpus in capacity.items())]
    for move in sequence:
        ends = (move.source, move.destination)
        before = sum(0 < used[name] < capacity[name] for name in ends)
        used[move.source] -= move.gpus
        used[move.destination] += move.gpus
        counts.append(counts[-1] - before + sum(0 < used[name] < capacity[name] for name in ends))
    return counts
