"""Which demands have arrived lately: sliding windows, each arrival in constant time."""

from __future__ import annotations

from collections import deque

from simulation.demand import GPUS_PER_NODE


class Window:
    """The demands of the last arrivals, each job counted once.

    Attributes
    ----------
    counts
        By demand 0..8, arrivals in the window.
    """

    __slots__ = ("_demands", "_positions", "_size", "counts")

    def __init__(self, size: int) -> None:
        self._size = size
        self._demands: deque[int] = deque()
        self.counts = [0] * (GPUS_PER_NODE + 1)
        self._positions = [0] * (GPUS_PER_NODE + 1)  # by demand, the sum of positions; the oldest arrival has 0

    def add(self, gpus: int) -> None:
        """Count an arrival; the oldest one drops out of a full window."""
        if len(self._demands) == self._size:
            self.counts[self._demands.popleft()] -= 1
            for demand, count in enumerate(self.counts):
                self._positions[demand] -= count
        self._positions[gpus] += len(self._demands)
        self.counts[gpus] += 1
        self._demands.append(gpus)

    def __len__(self) -> int:
        return len(self._demands)

    def favouring_newer(self) -> tuple[float, ...]:
        """Return the counts with the newest arrival three times as heavy as the oldest, linearly in between."""
        steps = len(self._demands) - 1
        if steps < 1:
            return tuple(self.counts)
        return tuple(count + 2 * position / steps for count, position in zip(self.counts, self._positions, strict=True))
