"""Every arrangement of a small workload in a small hierarchy, by trying all; nothing of the oracle is used."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Bag = tuple[int, ...]


def bag(counts: Sequence[int]) -> Bag:
    return tuple(demand for demand in range(len(counts), 0, -1) for _ in range(counts[demand - 1]))


@cache
def partial_and_used(items: Bag, size: int) -> frozenset[tuple[int, int]]:
    """Return every (partial hosts, hosts in use) that a bag can have on hosts of that size."""
    if not items:
        return frozenset({(0, 0)})
    found: set[tuple[int, int]] = set()
    for chosen in product((False, True), repeat=len(items) - 1):
        load = items[0] + sum(item for item, taken in zip(items[1:], chosen, strict=True) if taken)
        if load <= size:
            rest = tuple(item for item, taken in zip(items[1:], chosen, strict=True) if not taken)
            found |= {(partial + (load < size), used + 1) for partial, used in partial_and_used(rest, size)}
    return frozenset(found)


def pairs(inside: Sequence[int], whole: Sequence[int], *, domains: int, size: int, gpus: int) -> set[tuple[int, int]]:
    """Return every (partial panels, partial domains) of the workload."""
    left = domains * size - sum(panels * n for panels, n in enumerate(whole, start=1))
    found: set[tuple[int, int]] = set()
    for partial, opened in partial_and_used(bag(inside), gpus):
        if opened <= left:
            outer = partial_and_used(bag((whole[0] + opened, *whole[1:])), size)
            found |= {(partial, partial_domains) for partial_domains, used in outer if used <= domains}
    return found
