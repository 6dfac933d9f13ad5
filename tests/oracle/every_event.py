"""What an event costs a small cluster of equal nodes, by trying every placement of every instance. Slow on purpose.

A table over sets of instances, as in `every_placement`: no patterns, no solver. New instances have no node yet, so
going anywhere costs them nothing.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests.oracle.every_placement import NEVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


class Best(NamedTuple):
    """The fewest partial nodes, and the fewest running instances that move for them."""

    partial_nodes: int
    migrations: int


def best(capacity: int, held: Sequence[Sequence[int]], new: Sequence[int], closed: int | None = None) -> Best | None:
    """Return the best that can be had, or None if not everything fits. Nothing stays on the `closed` node."""
    items = [(gpus, home) for home, here in enumerate(held) for gpus in here] + [(gpus, None) for gpus in new]
    table = np.full((1 << len(items), len(held) + 1), NEVER)
    table[0, 0] = 0
    sets: npt.NDArray[np.int64] = np.arange(1 << len(items))
    for n in range(len(held)):
        after = np.full_like(table, NEVER)
        for chosen in range(1 << len(items)):
            here = [item for i, item in enumerate(items) if chosen >> i & 1]
            used = sum(gpus for gpus, _ in here)
            if used > (0 if n == closed else capacity):
                continue
            moved = sum(home is not None and home != n for _, home in here)
            apart: npt.NDArray[np.int64] = sets[sets & chosen == 0]
            partial = int(0 < used < capacity)
            kept = table[apart, : table.shape[1] - partial] + moved
            after[apart | chosen, partial:] = np.minimum(after[apart | chosen, partial:], kept)
        table = after
    row = [int(cost) for cost in table[-1]]
    return next((Best(k, cost) for k, cost in enumerate(row) if cost < NEVER), None)


def fewest_opened(capacity: int, held: Sequence[Sequence[int]], gpus: int, instances: int) -> int | None:
    """Return the fewest partial nodes if what is held stays and so many instances come, or None if they do not fit."""
    free = [capacity - sum(here) for here in held]
    return min(
        (
            sum(0 < sum(here) + gpus * count < capacity for here, count in zip(held, counts, strict=True))
            for counts in product(*(range(left // gpus + 1) for left in free))
            if sum(counts) == instances
        ),
        default=None,
    )
