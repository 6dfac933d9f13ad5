"""Every pattern that a node may hold, where there are few enough of them to be listed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.optimum.node_classes import NodeClass
    from oracle.snapshots.model import Pattern


def legal_patterns(kind: NodeClass, demands: Sequence[tuple[int, int]], *, limit: int) -> tuple[Pattern, ...] | None:
    """Return every pattern a node of this class may hold of these instances, or None if more than `limit` exist.

    Parameters
    ----------
    kind
        The node class.
    demands
        Pairs of a demand in GPUs and how many instances have it, demands descending; no pattern holds more.
    limit
        Where to give up. The work done is in proportion to it.
    """
    free = _multisets(demands, kind.room, limit)
    own = _multisets(_descending_counts(kind.own), None, limit)
    if free is None or own is None:
        return None
    patterns = sorted({*free, *own})
    return tuple(patterns) if len(patterns) <= limit else None


def _descending_counts(pattern: Pattern) -> list[tuple[int, int]]:
    """Return the pairs (demand, how often) of a pattern, demands descending."""
    return sorted(Counter(pattern).items(), reverse=True)


def _multisets(items: Sequence[tuple[int, int]], room: int | None, limit: int) -> list[Pattern] | None:
    found: list[tuple[Pattern, int]] = [((), 0)]
    for demand, count in items:
        # Each multiset so far stays one with 0 copies of this demand: the list only grows, so stopping here is exact.
        longer: list[tuple[Pattern, int]] = []
        for pattern, load in found:
            copies = count if room is None else min(count, (room - load) // demand)
            longer += ((pattern + (demand,) * k, load + k * demand) for k in range(copies + 1))
            if len(longer) > limit:
                return None
        found = longer
    return [pattern for pattern, _ in found]
