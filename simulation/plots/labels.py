"""Where labels stand that would lie upon one another, and lines that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.plots.model import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DIGITS = 9


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return heights from 0 to 1 in the order of those wanted, at least `gap` apart, and near to them.

    Where there are too many for that gap they are spread evenly. Labels that collide form a block, which stands where
    the mean of its members wants to be, as far as the edges allow.
    """
    count = len(wanted)
    if count > 1 and gap * (count - 1) > 1:
        gap = 1 / (count - 1)
    order = sorted(range(count), key=lambda i: wanted[i])
    blocks: list[tuple[float, int]] = []  # lowest height and number of members
    for i in order:
        start, members = min(max(wanted[i], 0.0), 1.0), 1
        while blocks and blocks[-1][0] + blocks[-1][1] * gap > start:
            below, others = blocks.pop()
            # Each member's wish for the start of the block is its height less the gaps below it: the mean of wishes.
            start = (below * others + (start - others * gap) * members) / (others + members)
            members += others
            start = min(max(start, 0.0), max(0.0, 1 - (members - 1) * gap))
        blocks.append((start, members))
    heights = [start + step * gap for start, members in blocks for step in range(members)]
    placed = [0.0] * count
    for i, height in zip(order, heights, strict=True):
        placed[i] = height
    return placed


def merged(lines: Iterable[Line]) -> list[Line]:
    """Return the lines with those that coincide as one, named after all of them."""
    found: dict[tuple[tuple[float, ...], tuple[float, ...]], Line] = {}
    for line in lines:
        place = (tuple(line.xs), tuple(float(f"{y:.{_DIGITS}g}") for y in line.ys))
        before = found.get(place)
        name = line.name if before is None else f"{before.name}, {line.name}"
        found[place] = Line(name=name, xs=line.xs, ys=line.ys)
    return list(found.values())
