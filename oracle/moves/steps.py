"""From a sequence of moves to steps: each move as early as the room on its node and the limit on its job allow.

A sequence is valid if every move fits when they are played one by one. Here they are put side by side without ever
counting on room that another move of the same step gives back. Stops come as late as they can, or not at all where the
steps have made them needless.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.moves.move import Move, MoveOrder, Stop

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.moves.replay import Key


def in_steps(moves: Iterable[Move], free: Mapping[str, int], limit: int | None = None) -> tuple[Move, ...]:
    """Return a valid sequence of moves into free space in steps, sorted; an instance may move several times."""
    return stops_and_steps(moves, free, limit).moves


def stops_and_steps(sequence: Iterable[Move | Stop], free: Mapping[str, int], limit: int | None) -> MoveOrder:
    """Return a valid sequence of moves and stops in steps.

    Parameters
    ----------
    sequence
        An instance that is stopped moves later, once.
    free
        GPUs that nobody has, by node, before the first step.
    limit
        At most so many instances of one job may be stopped or moving in one step, which the sequence keeps to; None
        for any number.
    """
    sequence = tuple(sequence)
    order = _put_together(sequence, free, limit)
    if order.live or limit is not None:
        return order
    # All stops first make room for moves that come before them: that takes fewer steps at times, and more stops.
    stops_first = sorted(sequence, key=lambda item: isinstance(item, Move))
    return min(order, _put_together(stops_first, free, limit), key=lambda one: (len(one.stops), one.steps))


def _put_together(sequence: Iterable[Move | Stop], free: Mapping[str, int], limit: int | None) -> MoveOrder:
    table = _Timetable(free, limit)
    for item in sequence:
        if isinstance(item, Stop):
            table.stop(item)
        else:
            table.put(item)
    return MoveOrder(moves=tuple(sorted(table.moves)), stops=tuple(sorted(table.late_stops())))


class _Taken:
    """How much is taken (given back, if negative) in each step, by name, from step 1 on; the last holds for ever."""

    def __init__(self) -> None:
        self._steps: defaultdict[str, list[int]] = defaultdict(lambda: [0])

    def add(self, name: str, step: int, amount: int) -> None:
        """Take so much from this step on."""
        taken = self._steps[name]
        taken += taken[-1:] * (step - len(taken))
        for t in range(step - 1, len(taken)):
            taken[t] += amount

    def at(self, name: str, step: int) -> int:
        """Return what is taken in this step."""
        taken = self._steps[name]
        return taken[min(step, len(taken)) - 1]

    def earliest(self, name: str, most: int) -> int:
        """Return the first step from which on never more than this is taken."""
        taken = self._steps[name]
        step = len(taken)
        while step > 1 and taken[step - 2] <= most:
            step -= 1
        return step


class _Timetable:
    """Moves and stops put into steps one by one; what was put stays possible at every step."""

    def __init__(self, free: Mapping[str, int], limit: int | None) -> None:
        self._free = free
        self._limit = limit
        self._gpus = _Taken()
        self._down = _Taken()  # instances, by job, if they are limited
        self._stops: dict[Key, Stop] = {}
        self._last: dict[Key, Move] = {}
        self.moves: list[Move] = []

    def stop(self, stop: Stop) -> None:
        """Stop an instance as early as the limit allows: its GPUs count as free from then on."""
        step = 1 if self._limit is None else self._down.earliest(stop.job, self._limit - 1)
        self._down.add(stop.job, step, 1)
        self._gpus.add(stop.node, step, -stop.gpus)
        self._stops[stop.job, stop.instance] = replace(stop, before_step=step)

    def put(self, move: Move) -> None:
        """Put a move into its earliest step."""
        key = move.job, move.instance
        step = self._gpus.earliest(move.destination, self._free[move.destination] - move.gpus)
        if key in self._stops:
            step = max(step, self._stops[key].before_step)
        else:
            if key in self._last:
                step = max(step, self._last[key].step + 1)
            while self._limit is not None and self._down.at(move.job, step) >= self._limit:
                step += 1
            self._gpus.add(move.source, step + 1, -move.gpus)
            self._down.add(move.job, step, 1)
        self._down.add(move.job, step + 1, -1)
        self._gpus.add(move.destination, step, move.gpus)
        self._last[key] = replace(move, step=step)
        self.moves.append(self._last[key])

    def late_stops(self) -> list[Stop]:
        """Let every stop wait as long as it can and return those that are needed at all."""
        late: list[Stop] = []
        for key, stop in self._stops.items():
            moved = self._last[key].step
            self._gpus.add(stop.node, stop.before_step, stop.gpus)
            steps = range(stop.before_step, moved + 1)
            needed = next((step for step in steps if self._gpus.at(stop.node, step) > self._free[stop.node]), None)
            self._gpus.add(stop.node, moved + 1 if needed is None else needed, -stop.gpus)
            if needed is not None:
                late.append(replace(stop, before_step=needed))
        return late
