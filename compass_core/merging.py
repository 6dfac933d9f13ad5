"""How two nodes are brought in order: the divisions of their instances that leave less disorder (theory §3.1).

Sizes 1, 2, 4, ..., G divide one another, so any multiset of blocks of total at least G has a part of exactly G: two
open nodes can always be re-divided so that one becomes empty or full, and two nodes with slots and ones on each so that
one holds no slot, or no one. Which division moves the fewest instances depends on the two shapes alone; `divisions` is
the specification and, through its cache, the table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from compass_core.model import NodeKind, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_core.model import NodeShape

Step = tuple[bool, int]
"""One move between two nodes: whether it starts on the first, and the demand of the instance that moves."""

Disorder = tuple[int, int, int]
"""Mixed nodes, open nodes that are not mixed, open nodes. Where nodes may be mixed, none counts as mixed."""


@dataclass(frozen=True, slots=True)
class Division:
    """Moves between a first and a second node, in an order that over-books neither."""

    steps: tuple[Step, ...]
    unmixes: int
    """How many nodes fewer are mixed afterwards."""

    def demands(self, *, from_first: bool) -> Counter[int]:
        """Return how many instances of each demand leave that node."""
        return Counter(gpus for side, gpus in self.steps if side is from_first)


def disorder(shapes: Iterable[NodeShape], *, apart: bool) -> Disorder:
    """Return what a merge has to lower, the first number first.

    Parameters
    ----------
    apart
        Whether slots and ones need nodes of their own (COMPASS).
    """
    mixed = opened = mixed_and_open = 0
    for shape in shapes:
        opened += shape.open
        if apart and shape.kind is NodeKind.MIXED:
            mixed += 1
            mixed_and_open += shape.open
    return mixed, opened - mixed_and_open, opened


@cache
def divisions(first: NodeShape, second: NodeShape, *, apart: bool) -> tuple[Division, ...]:
    """Return the ways to leave the least disorder on two nodes, fewest moves first; empty where none leaves less.

    None of them moves a superset of what another moves. Under `apart` (COMPASS) slots and ones part where they can, and
    no node becomes mixed to close another.

    Notes
    -----
    No division adds a vacancy, so invariant I is kept. Never empty for two open nodes of one capacity that is a power
    of two, unless one holds slots alone and the other ones alone and they have to stay apart (tested for every pair of
    shapes). The cache holds one entry a pair of shapes that were ever candidates: at most 45² for 8 GPUs.
    """
    found: list[tuple[Counter[Step], Division]] = []
    before = disorder((first, second), apart=apart)
    least: Disorder | None = None
    ways = [way for way in every_division(first, second, apart=apart) if way[0] < before]
    for after, moved in sorted(ways, key=lambda way: (way[0], way[1].total(), sorted(way[1].items()))):
        if least is not None and after > least:
            break
        if any(other <= moved for other, _ in found):
            continue
        order = executable(first.free, second.free, moved)
        if order is not None:
            least = after
            found.append((moved, Division(order, before[0] - after[0])))
    return tuple(division for _, division in found)


def every_division(first: NodeShape, second: NodeShape, *, apart: bool) -> Iterator[tuple[Disorder, Counter[Step]]]:
    """Yield the disorder left and what moves, as counted steps, for every division inside Σ⁺ that adds no vacancy."""
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
        if left.room < 0 or right.room < 0 or left.vacancy + right.vacancy > vacancy:
            continue
        leaving = Counter({(True, g): have[g] - split[g] for g in demands if split[g] < have[g]})
        entering = Counter({(False, g): split[g] - have[g] for g in demands if split[g] > have[g]})
        yield disorder((left, right), apart=apart), leaving + entering


def executable(first_free: int, second_free: int, moves: Counter[Step]) -> tuple[Step, ...] | None:
    """Return the moves in an order that over-books neither node, or None where none exists."""
    if not moves:
        return ()
    for step in sorted(moves, key=lambda s: (-s[1], s[0])):
        from_first, gpus = step
        if gpus > (second_free if from_first else first_free):
            continue
        shift = gpus if from_first else -gpus
        rest = executable(first_free + shift, second_free - shift, moves - Counter([step]))
        if rest is not None:
            return (step, *rest)
    return None
