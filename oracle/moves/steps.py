"""From a sequence of moves to steps: each move as early as the room on its node and what may be down allow.

A sequence is valid if every move fits when they are played one by one. Here they are put side by side without ever
counting on room that another move of the same step gives back. Stops come as late as they can, or not at all where the
steps have made them needless.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from oracle.moves.at_once import Group
from oracle.moves.move import Move, MoveOrder, Stop
from oracle.snapshots.stocks import Stock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oracle.moves.replay import Occupancy
    from oracle.snapshots.stocks import Key


def in_steps(moves: Iterable[Move], occupancy: Occupancy) -> tuple[Move, ...]:
    """Return a valid sequence of moves into free space in steps, sorted; an instance may move several times."""
    return stops_and_steps(moves, occupancy).moves


def stops_and_steps(sequence: Iterable[Move | Stop], occupancy: Occupancy) -> MoveOrder:
    """Return a valid sequence of moves and stops in steps.

    Parameters
    ----------
    sequence
        An instance that is stopped moves later, once. It keeps to what may be down at a time.
    occupancy
        The cluster before the first step.
    """
    sequence = tuple(sequence)
    order = _put_together(sequence, occupancy)
    if order.live or occupancy.at_once.any:
        return order
    # All stops first make room for moves that come before them: that takes fewer steps at times, and more stops.
    stops_first = sorted(sequence, key=lambda item: isinstance(item, Move))
    return min(order, _put_together(stops_first, occupancy), key=lambda one: (len(one.stops), one.steps))


def _put_together(sequence: Iterable[Move | Stop], occupancy: Occupancy) -> MoveOrder:
    table = _Timetable(occupancy)
    for item in sequence:
        if isinstance(item, Stop):
            table.stop(item)
        else:
            table.put(item)
    return MoveOrder(moves=tuple(sorted(table.moves)), stops=tuple(sorted(table.late_stops())))


_Of = TypeVar("_Of", bound=Hashable)


class _Counts(Generic[_Of]):
    """How much is taken of things (given back, if negative) in each step, from step 1 on; the last holds for ever."""

    def __init__(self) -> None:
        self._steps: defaultdict[_Of, list[int]] = defaultdict(lambda: [0])

    def add(self, what: _Of, step: int, amount: int) -> None:
        """Take so much from this step on."""
        taken = self._steps[what]
        taken += taken[-1:] * (step - len(taken))
        for t in range(step - 1, len(taken)):
            taken[t] += amount

    def at(self, what: _Of, step: int) -> int:
        """Return what is taken in this step."""
        taken = self._steps[what]
        return taken[min(step, len(taken)) - 1]

    def earliest(self, what: _Of, most: int) -> int:
        """Return the first step from which on never more than this is taken."""
        taken = self._steps[what]
        step = len(taken)
        while step > 1 and taken[step - 2] <= most:
            step -= 1
        return step


class _Timetable:
    """Moves and stops put into steps one by one; what was put stays possible at every step."""

    def __init__(self, occupancy: Occupancy) -> None:
        self._free = occupancy.free
        self._taken_of = occupancy.stocks.taken
        self._groups = occupancy.at_once.groups
        self._taken = _Counts[Stock]()
        self._down = _Counts[Group]()
        self._stops: dict[Key, Stop] = {}
        self._last: dict[Key, Move] = {}
        self.moves: list[Move] = []

    def stop(self, stop: Stop) -> None:
        """Stop an instance as early as the limits allow: what it takes counts as free from then on."""
        key = stop.job, stop.instance
        step = max((self._down.earliest(group, most - 1) for group, most in self._groups(key)), default=1)
        for group, _ in self._groups(key):
            self._down.add(group, step, 1)
        self._add(key, stop.node, step, -1)
        self._stops[key] = replace(stop, before_step=step)

    def put(self, move: Move) -> None:
        """Put a move into its earliest step."""
        key = move.job, move.instance
        taken = self._taken_of(key, move.destination)
        step = max(self._taken.earliest(stock, self._free[stock] - amount) for stock, amount in taken)
        if key in self._stops:
            step = max(step, self._stops[key].before_step)
        else:
            if key in self._last:
                step = max(step, self._last[key].step + 1)
            while any(self._down.at(group, step) >= most for group, most in self._groups(key)):
                step += 1
            self._add(key, move.source, step + 1, -1)
            for group, _ in self._groups(key):
                self._down.add(group, step, 1)
        for group, _ in self._groups(key):
            self._down.add(group, step + 1, -1)
        self._add(key, move.destination, step, 1)
        self._last[key] = replace(move, step=step)
        self.moves.append(self._last[key])

    def late_stops(self) -> list[Stop]:
        """Let every stop wait as long as it can and return those that are needed at all."""
        late: list[Stop] = []
        for key, stop in self._stops.items():
            moved = self._last[key].step
            self._add(key, stop.node, stop.before_step, 1)
            steps = range(stop.before_step, moved + 1)
            taken = self._taken_of(key, stop.node)
            needed = next((step for step in steps if any(self._is_short(stock, step) for stock, _ in taken)), None)
            self._add(key, stop.node, moved + 1 if needed is None else needed, -1)
            if needed is not None:
                late.append(replace(stop, before_step=needed))
        return late

    def _add(self, key: Key, node: str, step: int, sign: int) -> None:
        for stock, amount in self._taken_of(key, node):
            self._taken.add(stock, step, sign * amount)

    def _is_short(self, stock: Stock, step: int) -> bool:
        return self._taken.at(stock, step) > self._free[stock]
