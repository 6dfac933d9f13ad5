"""How two open nodes become one: the divisions of their instances that leave at most one node open (theory §3).

Sizes 1, 2, 4, ..., G divide one another, so any multiset of blocks of total at least G has a part of exactly G: two
open nodes can always be re-divided so that one becomes empty or full. Which division moves the fewest instances
depends on the two shapes alone; `divisions` is the specification and, through its cache, the table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from compass_core.model import NodeKind, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core.model import NodeShape

Step = tuple[bool, int]
"""One move between two nodes: whether it starts on the first, and the demand of the instance that moves."""


@dataclass(frozen=True, slots=True)
class Division:
    """Moves between a first and a second node, in an order that over-books neither."""

    steps: tuple[Step, ...]

    def demands(self, *, from_first: bool) -> Counter[int]:
        """Return how many instances of each demand leave that node."""
        return Counter(gpus for side, gpus in self.steps if side is from_first)


@cache
def divisions(first: NodeShape, second: NodeShape, *, unmixed: bool) -> tuple[Division, ...]:
    """Return the ways to merge two open nodes, fewest moves first; none moves a superset of what another moves.

    Parameters
    ----------
    unmixed
        Whether neither node may end up with slots and ones on it (COMPASS, among nodes that are not mixed).

    Notes
    -----
    No division adds a vacancy, so invariant I is kept. Never empty for two open nodes of one capacity that is a power
    of two (tested for every pair of shapes). The cache holds one entry a pair of open shapes: at most 44² for 8 GPUs.
    """
    found: list[tuple[Counter[Step], Division]] = []
    for moved in sorted(
        _moves_that_merge(first, second, unmixed=unmixed), key=lambda m: (m.total(), sorted(m.items()))
    ):
        if any(other <= moved for other, _ in found):
            continue
        order = _executable(first.free, second.free, moved)
        if order is not None:
            found.append((moved, Division(order)))
    return tuple(division for _, division in found)


def _moves_that_merge(first: NodeShape, second: NodeShape, *, unmixed: bool) -> Iterator[Counter[Step]]:
    """Yield what moves, as counted steps, for every division with at most one open node."""
    have, other = Counter(first.demands), Counter(second.demands)
    both = have + other
    vacancy = first.vacancy + second.vacancy
    demands = sorted(both, reverse=True)
    for amounts in product(*(range(both[gpus] + 1) for gpus in demands)):
        split = dict(zip(demands, amounts, strict=True))
        used = sum(gpus * n for gpus, n in split.items())
        if used > first.capacity or first.used + second.used - used > second.capacity:
            continue
        left = shape_of(first.capacity, tuple(g for g in demands for _ in range(split[g])))
        right = shape_of(second.capacity, tuple(g for g in demands for _ in range(both[g] - split[g])))
        if left.room < 0 or right.room < 0 or (left.open and right.open) or left.vacancy + right.vacancy > vacancy:
            continue
        if unmixed and NodeKind.MIXED in {left.kind, right.kind}:
            continue
        leaving = Counter({(True, g): have[g] - split[g] for g in demands if split[g] < have[g]})
        entering = Counter({(False, g): split[g] - have[g] for g in demands if split[g] > have[g]})
        yield leaving + entering


def _executable(first_free: int, second_free: int, moves: Counter[Step]) -> tuple[Step, ...] | None:
    """Return the moves in an order that over-books neither node, or None where none exists."""
    if not moves:
        return ()
    for step in sorted(moves, key=lambda s: (-s[1], s[0])):
        from_first, gpus = step
        if gpus > (second_free if from_first else first_free):
            continue
        shift = gpus if from_first else -gpus
        rest = _executable(first_free + shift, second_free - shift, moves - Counter([step]))
        if rest is not None:
            return (step, *rest)
    return None
