"""Every way to divide the instances of two nodes between them, found by trying all."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from tests.core.naive import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Demands = tuple[int, ...]
"""The demands on a node, descending."""


@cache
def open_contents(capacity: int) -> tuple[Demands, ...]:
    """Return the demands of every kind of open node of Σ⁺."""
    return tuple(c for total in range(1, capacity) for c in partitions(total, total) if Facts.of(c, capacity).open)


def partitions(total: int, largest: int) -> Iterator[Demands]:
    if not total:
        yield ()
    for gpus in range(min(total, largest), 0, -1):
        for rest in partitions(total - gpus, gpus):
            yield (gpus, *rest)


def parts(items: Demands) -> set[Demands]:
    """Return every part of a multiset, grown item by item."""
    found: set[Demands] = {()}
    for item in items:
        found |= {tuple(sorted((*part, item), reverse=True)) for part in found}
    return found


def what_moves(first: Demands, left: Demands) -> tuple[Demands, Demands]:
    """Return what leaves the first node, and what comes, when it is to hold `left`."""
    before, after = Counter(first), Counter(left)
    return tuple((before - after).elements()), tuple((after - before).elements())


@cache
def can_be_carried_out(first_free: int, second_free: int, leaving: Demands, coming: Demands) -> bool:
    """Whether some order of these moves over-books neither node."""
    if not leaving and not coming:
        return True
    for at, gpus in enumerate(leaving):
        rest = leaving[:at] + leaving[at + 1 :]
        if gpus <= second_free and can_be_carried_out(first_free + gpus, second_free - gpus, rest, coming):
            return True
    for at, gpus in enumerate(coming):
        rest = coming[:at] + coming[at + 1 :]
        if gpus <= first_free and can_be_carried_out(first_free - gpus, second_free + gpus, leaving, rest):
            return True
    return False


def disorder(contents: Iterable[Demands], capacity: int, *, apart: bool) -> tuple[int, int, int]:
    """Return what a merge lowers: mixed nodes, open ones that are not mixed, open ones; EXACT minds no mixed node."""
    facts = [Facts.of(demands, capacity) for demands in contents]
    opened = sum(f.open for f in facts)
    if not apart:
        return 0, opened, opened
    return sum(f.mixed for f in facts), sum(f.open and not f.mixed for f in facts), opened


@cache
def all_merges(first: Demands, second: Demands, capacity: int, *, apart: bool) -> dict[tuple[Demands, Demands], int]:
    """Return every division that can be carried out, adds no vacancy and leaves the least disorder, if less than now.

    What moves from the first node and what from the second, and how many instances that is.
    """
    vacancy = Facts.of(first, capacity).vacancy + Facts.of(second, capacity).vacancy
    least = disorder((first, second), capacity, apart=apart)
    found: dict[tuple[Demands, Demands], int] = {}
    everything = Counter(first + second)
    for left in parts(first + second):
        right = tuple((everything - Counter(left)).elements())
        facts = [Facts.of(part, capacity) for part in (left, right)]
        if any(f.reserved > capacity or f.used > capacity for f in facts) or sum(f.vacancy for f in facts) > vacancy:
            continue
        left_over = disorder((left, right), capacity, apart=apart)
        if left_over > least or (left_over == least and not found):
            continue
        leaving, coming = what_moves(first, left)
        if can_be_carried_out(capacity - sum(first), capacity - sum(second), leaving, coming):
            if left_over < least:
                least, found = left_over, {}
            found[leaving, coming] = len(leaving) + len(coming)
    return found


@cache
def candidates(capacity: int) -> tuple[Demands, ...]:
    """Return what COMPASS divides: open nodes, mixed nodes, an idle one."""
    contents = (c for total in range(capacity + 1) for c in partitions(total, total))
    facts = ((c, Facts.of(c, capacity)) for c in contents)
    return tuple(c for c, f in facts if f.reserved <= capacity and (f.open or f.mixed or not c))
