"""An order of moves in which no node is ever over-booked, with few stops and few steps, or without any stop.

The relocations are given; which instances move, and where to, is settled elsewhere. With checkpoint and restart every
set of relocations that fits in the end has an order; if it has one without stops, all its moves are live.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.moves.move import Move, MoveError, MoveOrder, Stop
from oracle.moves.rematching import rematched
from oracle.moves.replay import Occupancy, by_steps
from oracle.moves.sequence import NoOrderError, find_sequence
from oracle.moves.steps import stops_and_steps
from oracle.snapshots.stocks import Free, Stock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.moves.move import Relocated
    from oracle.snapshots.model import Snapshot
    from oracle.snapshots.stocks import Key

__all__ = ["NoOrderError", "live_sequence", "live_start", "order_interchangeably", "order_moves"]


def order_moves(
    snapshot: Snapshot, relocations: Iterable[Relocated], *, max_per_job_at_once: int | None = None
) -> MoveOrder:
    """Return the relocations as moves in steps. Whoever carries them out replays them (`oracle.moves.replay`).

    Safe moves come first; an instance is stopped only where nothing else can move. Few stop: the fewest that some order
    has where few moves wait for one another (`oracle.moves.sequence.MAX_SEARCHED`), not always elsewhere.

    Parameters
    ----------
    snapshot
        The cluster before the moves.
    relocations
        Which instance goes where; each instance once.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time; None for any number.

    Raises
    ------
    MoveError
        A relocation is impossible in itself, or a node would end over-booked.
    NoOrderError
        `max_per_job_at_once` rules out every order that was tried.
    ValueError
        `max_per_job_at_once` is below 1.
    """
    limit = max_per_job_at_once
    if limit is not None and limit < 1:
        raise ValueError(f"max_per_job_at_once: expected at least 1 instance, got {limit}")
    moves = [Move(0, item.job, item.instance, item.gpus, item.source, item.destination) for item in relocations]
    occupancy = Occupancy(snapshot, max_per_job_at_once=limit)
    _check(moves, occupancy)
    events = find_sequence(moves, occupancy)
    sequence = (_stop(moves[event.move]) if event.stops else moves[event.move] for event in events)
    return stops_and_steps(sequence, occupancy)


def _check(moves: Sequence[Move], occupancy: Occupancy) -> None:
    """Check that each relocation is possible in itself and that all of them together fit."""
    free = Free(occupancy.free)
    seen: set[Key] = set()
    for move in moves:
        occupancy.check_relocation(move)
        key = move.job, move.instance
        if key in seen:
            raise MoveError(f"instance {move.instance} of {move.job!r} is relocated twice")
        seen.add(key)
        free.give(occupancy.stocks.taken(key, move.source))
        free.take(occupancy.stocks.taken(key, move.destination))
    for stock in sorted(stock for stock, amount in free.items() if amount < 0 <= occupancy.free[stock]):
        raise MoveError(f"node {stock.node!r} would end {stock.over_booked(-free[stock])}")


def _stop(move: Move) -> Stop:
    return Stop(0, move.job, move.instance, move.gpus, move.source)


def order_interchangeably(
    snapshot: Snapshot, relocations: Iterable[Relocated], *, max_per_job_at_once: int | None = None
) -> MoveOrder:
    """Return the order of these relocations, or of the same with destinations exchanged if that stops fewer instances.

    Errors are those of `order_moves` on the relocations as they are.
    """
    relocations = tuple(relocations)
    orders: list[MoveOrder] = []
    first: NoOrderError | None = None
    try:
        orders.append(order_moves(snapshot, relocations, max_per_job_at_once=max_per_job_at_once))
        if orders[0].live:
            return orders[0]
    except NoOrderError as error:
        first = error
    try:
        exchanged = rematched(snapshot, relocations)
        orders.append(order_moves(snapshot, exchanged, max_per_job_at_once=max_per_job_at_once))
    except (NoOrderError, MoveError):
        # Where kinds leave something out, not all that is exchanged may stand where it goes.
        if first is not None:
            raise first from None
    return min(orders, key=lambda order: (len(order.stops), order.steps))


def live_sequence(snapshot: Snapshot, relocations: Iterable[Relocated]) -> tuple[Move, ...] | None:
    """Return these relocations as a sequence of moves into free space, instances being parked where that helps.

    None if none was found. That does not mean that there is none.
    """
    order, occupancy = order_interchangeably(snapshot, relocations), Occupancy(snapshot)
    moves, complete = _into_free_space(order, occupancy)
    return moves if complete else None


def live_start(snapshot: Snapshot, relocations: Iterable[Relocated]) -> tuple[Move, ...]:
    """Return what of these relocations can be made live, up to where the fewest nodes are partial."""
    order, occupancy = order_interchangeably(snapshot, relocations), Occupancy(snapshot)
    moves, _ = _into_free_space(order, occupancy)
    counts = _partial_counts(snapshot, moves)
    return moves[: counts.index(min(counts))]


def _into_free_space(order: MoveOrder, occupancy: Occupancy) -> tuple[tuple[Move, ...], bool]:
    """Return the order as a live sequence without steps, and whether everything reaches its destination.

    Instead of being stopped an instance is parked on a node with room to spare, beside all that is still to arrive
    there. Where no node has that it stays, and so does what then has no room.
    """
    free, taken = Free(occupancy.free), occupancy.stocks.taken
    arriving = Counter[Stock]()
    for move in order.moves:
        arriving.update(dict(taken((move.job, move.instance), move.destination)))
    pools = occupancy.stocks.pools
    parked: dict[Key, str] = {}
    staying: set[Key] = set()
    sequence: list[Move] = []

    def make(move: Move) -> None:
        if move.source != move.destination:
            sequence.append(move)
            free.give(taken((move.job, move.instance), move.source))
            free.take(taken((move.job, move.instance), move.destination))

    for moves, stops in by_steps(order.moves, order.stops):
        for stop in stops:
            key = stop.job, stop.instance
            # The tightest node that will do leaves the others for larger instances.
            place = min(
                (
                    (free[Stock(node)] - arriving[Stock(node)], node)
                    for node, pool in pools.items()
                    if pool == pools[stop.node]
                    and node != stop.node
                    and not occupancy.stocks.why_shut(key, node)
                    and all(amount <= free[stock] - arriving[stock] for stock, amount in taken(key, node))
                ),
                default=(0, None),
            )[1]
            if place is None:
                staying.add(key)
            else:
                parked[key] = place
                make(Move(0, *key, stop.gpus, stop.node, place))
        for move in moves:
            key = move.job, move.instance
            arriving.subtract(dict(taken(key, move.destination)))
            source = parked.get(key, move.source)
            if key in staying or (source != move.destination and not free.fits(taken(key, move.destination))):
                staying.add(key)
            else:
                make(replace(move, step=0, source=source))
    return tuple(sequence), not staying


def _partial_counts(snapshot: Snapshot, sequence: Sequence[Move]) -> list[int]:
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
