"""An order of moves in which no node is ever over-booked, with few stops and few steps.

The relocations are given; which instances move, and where to, is settled elsewhere. With checkpoint and restart every
set of relocations that fits in the end has an order; if it has one without stops, all its moves are live.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.moves.move import Move, MoveError, MoveOrder, Stop
from oracle.moves.move_problem import MoveProblem, NoOrderError
from oracle.moves.replay import Occupancy, replay
from oracle.moves.stopping import find_sequence
from oracle.moves.timetable import Timetable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.moves.move import Relocated
    from oracle.moves.move_problem import Event
    from oracle.moves.replay import Key
    from oracle.snapshots.model import Snapshot

__all__ = ["NoOrderError", "order_moves"]


def order_moves(
    snapshot: Snapshot,
    relocations: Iterable[Relocated],
    *,
    max_per_job_at_once: int | None = None,
) -> MoveOrder:
    """Return the relocations as moves in steps, replayed on the snapshot.

    Safe moves come first; an instance is stopped only where nothing else can move. So few stop, not always the fewest
    that some order has.

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
    if max_per_job_at_once is not None and max_per_job_at_once < 1:
        raise ValueError(f"max_per_job_at_once: expected at least 1 instance, got {max_per_job_at_once}")
    transfers = _Transfers(snapshot, relocations)
    events = find_sequence(transfers.problem, limit=max_per_job_at_once)
    if max_per_job_at_once is not None and _stopped(events):
        order = transfers.one_after_another(events, max_per_job_at_once)
    else:
        order = transfers.side_by_side(events, max_per_job_at_once)
    replay(snapshot, order.moves, order.stops, max_per_job_at_once=max_per_job_at_once)
    return order


class _Transfers:
    """Checked relocations, with nodes and jobs by number where a problem is to be solved."""

    def __init__(self, snapshot: Snapshot, relocations: Iterable[Relocated]) -> None:
        occupancy = Occupancy(snapshot)
        self.moves = tuple(
            Move(0, item.job, item.instance, item.gpus, item.source, item.destination) for item in relocations
        )
        self.free = occupancy.free
        _check(self.moves, occupancy)
        number = {node: n for n, node in enumerate(self.free)}
        jobs = {job: j for j, job in enumerate(dict.fromkeys(move.job for move in self.moves))}
        self.problem = MoveProblem(
            sizes=tuple(move.gpus for move in self.moves),
            sources=tuple(number[move.source] for move in self.moves),
            targets=tuple(number[move.destination] for move in self.moves),
            jobs=tuple(jobs[move.job] for move in self.moves),
            free={number[node]: free for node, free in self.free.items()},
        )

    def side_by_side(self, events: Sequence[Event], limit: int | None) -> MoveOrder:
        """Return the sequence with every move as early as possible and every stop as late as possible."""
        table = Timetable(self.free, limit)
        stopped = _stopped(events)
        for i in sorted(stopped):
            table.release(self.moves[i].source, self.moves[i].gpus)
        for event in events:
            if not event.stops:
                table.put(self.moves[event.move], stopped=event.move in stopped)
        put = {(move.job, move.instance): move for move in table.moves}
        stops: list[Stop] = []
        for i in sorted(stopped):
            move = put[self.moves[i].job, self.moves[i].instance]
            step = table.delay_stop(move)
            if step is not None:
                stops.append(_stop(move, step))
        return MoveOrder(moves=tuple(sorted(table.moves)), stops=tuple(sorted(stops)))

    def one_after_another(self, events: Sequence[Event], limit: int) -> MoveOrder:
        """Return the sequence cut into steps without a change of order, so that its stops keep to the limit."""
        step = _Step(self.free, limit)
        moves: list[Move] = []
        stops: list[Stop] = []
        for event in events:
            move = self.moves[event.move]
            if event.stops:
                step.close()
                step.stop(move)
                stops.append(_stop(move, step.number))
            else:
                if not step.takes(move):
                    step.close()
                moves.append(step.put(move))
        return MoveOrder(moves=tuple(sorted(moves)), stops=tuple(sorted(stops)))


class _Step:
    """The step being filled: what was free when it began, and which instances are down in it."""

    def __init__(self, free: Mapping[str, int], limit: int) -> None:
        self.number = 1
        self._free = Counter(free)
        self._limit = limit
        self._left: Counter[str] = Counter()  # GPUs that are given back when the step ends
        self._down: Counter[str] = Counter()  # instances stopped or moving, by job
        self._stopped: set[Key] = set()
        self._moving: list[Move] = []

    def stop(self, move: Move) -> None:
        """Stop an instance before this step, in which nothing has moved yet."""
        self._free[move.source] += move.gpus
        self._down[move.job] += 1
        self._stopped.add((move.job, move.instance))

    def takes(self, move: Move) -> bool:
        """Whether the move can be made in this step too."""
        down = self._down[move.job] + ((move.job, move.instance) not in self._stopped)
        return move.gpus <= self._free[move.destination] and down <= self._limit

    def put(self, move: Move) -> Move:
        """Make the move in this step."""
        key = move.job, move.instance
        self._free[move.destination] -= move.gpus
        if key not in self._stopped:
            self._left[move.source] += move.gpus
            self._down[move.job] += 1
        self._stopped.discard(key)
        self._moving.append(replace(move, step=self.number))
        return self._moving[-1]

    def close(self) -> None:
        """Begin the next step, if anything moves in this one."""
        if self._moving:
            self.number += 1
            self._free.update(self._left)
            self._down.subtract(move.job for move in self._moving)
            self._left.clear()
            self._moving.clear()


def _check(moves: Sequence[Move], occupancy: Occupancy) -> None:
    """Check that each relocation is possible in itself and that all of them together fit."""
    free = Counter(occupancy.free)
    seen: set[Key] = set()
    for move in moves:
        occupancy.check_relocation(move)
        if (move.job, move.instance) in seen:
            raise MoveError(f"instance {move.instance} of {move.job!r} is relocated twice")
        seen.add((move.job, move.instance))
        free[move.source] += move.gpus
        free[move.destination] -= move.gpus
    for node in sorted({move.destination for move in moves}):
        if free[node] < 0:
            raise MoveError(f"node {node!r} would end over-booked by {-free[node]}")


def _stopped(events: Iterable[Event]) -> frozenset[int]:
    """Return the moves whose instance is stopped first."""
    return frozenset(event.move for event in events if event.stops)


def _stop(move: Move, step: int) -> Stop:
    return Stop(step, move.job, move.instance, move.gpus, move.source)
