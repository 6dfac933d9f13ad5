"""From a sequence of moves to steps: each move as early as the room on its node and the limit on its job allow.

A sequence is valid if every move fits when they are played one by one. Here they are put side by side without ever
counting on room that another move of the same step gives back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.moves.move import Move
    from oracle.moves.replay import Key


class Timetable:
    """Moves put into steps one by one, in a valid sequence; what was put stays possible at every step.

    Parameters
    ----------
    free
        GPUs that nobody has, by node, before the first step.
    limit
        At most so many instances of one job may move in one step; None for any number.
    """

    def __init__(self, free: Mapping[str, int], limit: int | None = None) -> None:
        self._free = free
        self._limit = limit
        # GPUs taken (given back, if negative) in each step, by node, from step 1 on; the last entry holds for ever.
        self._taken: defaultdict[str, list[int]] = defaultdict(lambda: [0])
        self._moving: Counter[tuple[str, int]] = Counter()
        self._last: dict[Key, int] = {}
        self.moves: list[Move] = []

    def release(self, node: str, gpus: int) -> None:
        """Give back GPUs before the first step."""
        self._take(node, 1, -gpus)

    def put(self, move: Move, *, stopped: bool = False) -> None:
        """Put a move into its earliest step; if it is of a stopped instance, what it leaves has been released."""
        key = move.job, move.instance
        step = max(self._last.get(key, 0) + 1, self._earliest(move.destination, move.gpus))
        while self._limit is not None and self._moving[move.job, step] >= self._limit:
            step += 1
        self._last[key] = step
        self._moving[move.job, step] += 1
        self._take(move.destination, step, move.gpus)
        if not stopped:
            self._take(move.source, step + 1, -move.gpus)
        self.moves.append(replace(move, step=step))

    def delay_stop(self, move: Move) -> int | None:
        """Let a stop wait as long as it can and return the step it must precede, or None if it is not needed at all.

        `move` has been put as that of a stopped instance whose GPUs were released before the first step.
        """
        self._take(move.source, 1, move.gpus)
        taken, free = self._taken[move.source], self._free[move.source]
        steps = range(1, move.step + 1)
        needed = next((step for step in steps if taken[min(step, len(taken)) - 1] > free), None)
        self._take(move.source, move.step + 1 if needed is None else needed, -move.gpus)
        return needed

    def _earliest(self, node: str, gpus: int) -> int:
        """Return the first step from which on the node always has so many GPUs free."""
        taken, free = self._taken[node], self._free[node]
        step = len(taken)
        while step > 1 and taken[step - 2] + gpus <= free:
            step -= 1
        return step

    def _take(self, node: str, step: int, gpus: int) -> None:
        taken = self._taken[node]
        taken += taken[-1:] * (step - len(taken))
        for t in range(step - 1, len(taken)):
            taken[t] += gpus


def in_steps(moves: Iterable[Move], free: Mapping[str, int], limit: int | None = None) -> tuple[Move, ...]:
    """Return a valid sequence of moves into free space in steps, sorted; an instance may move several times."""
    table = Timetable(free, limit)
    for move in moves:
        table.put(move)
    return tuple(sorted(table.moves))
