"""That the code has the exchanges D1 and D2 rest on: wherever one is owed between two hosts it is asked for.

`proofs.hierarchy` says when an exchange is owed. Hosts of up to 16 units are taken two by two, all there are. Larger
ones have too many. Of these one stands for all that differ in blocks as wide as the one exchanged or wider, which is
enough for ways of exchanging that leave such blocks alone and lower what stands before them in the order (`looseness`:
open hosts, and then the blocks of narrower widths). One way is settled at once: where a host has room for a block of
a roomier one, filling it from there closes a host or raises the squares of room, whatever the blocks.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

from compass_core.hierarchy.exchange import blocks_of, closed, exchanges, pour, pour_for_ones, reverse, swap
from compass_core.model import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core.hierarchy.exchange import Way
    from compass_core.model import NodeShape

Kind = tuple[int, ...]
"""The blocks on a host, widest first."""

EVERY_PAIR = 16
"""Units of a host up to which every pair of hosts is tried."""


def block_widths(size: int) -> tuple[int, ...]:
    """Return the widths of blocks narrower than a host of that size, ascending."""
    return tuple(1 << j for j in range(size.bit_length()) if 1 << j < size)


def block_kinds(size: int) -> tuple[Kind, ...]:
    """Return what blocks narrower than the host can stand on one, the idle host left out."""
    return tuple(kind for kind in _blocks_below(size, size) if kind)


@cache
def _blocks_below(width: int, units: int) -> tuple[Kind, ...]:
    """Return the blocks narrower than `width` of at most so many units together, in every number of each."""
    found: list[Kind] = [()]
    for block in reversed(block_widths(width)):
        found = [(*kind, *[block] * n) for kind in found for n in range((units - sum(kind)) // block + 1)]
    return tuple(found)


def missing_exchanges(size: int) -> Iterator[str]:
    """Yield every pair of hosts that owe each other an exchange and have none."""
    every_pair = size <= EVERY_PAIR
    for first, second, awaited in _every_pair(size) if every_pair else _telling_pairs(size):
        if not owed(size, first, second, awaited):
            continue
        left, right = shape_of(size, first), shape_of(size, second)
        if not (exchanges(left, right) if every_pair else _telling_ways(left, right, awaited)):
            yield f"K = {size}: {first} and {second} have no exchange, awaiting a slot of {awaited}"


def _telling_ways(first: NodeShape, second: NodeShape, awaited: int) -> list[Way]:
    """Return ways that leave the two less loose, whatever blocks of the exchanged one's width or more stand there."""
    exchanged = min(block.width for block in blocks_of(first) if block.width > 1 or awaited == 1)
    if second.room >= exchanged:
        ways = [pour(first, second)]
    elif first.room >= exchanged and exchanged != awaited:
        ways = [*swap(first, second, exchanged)]
    else:
        ways = [reverse(pour(second, first)), reverse(pour_for_ones(second, first))]
    return [way for way in ways if closed(first, second, way) is not None]


def owed(size: int, first: Kind, second: Kind, awaited: int = 1) -> bool:
    """Whether the proofs ask for an exchange between an open host and another.

    Parameters
    ----------
    awaited
        Width of a slot that waits for room on the first host, the only one open; 1 if none does.
    """
    room, other_room = size - sum(first), size - sum(second)
    if awaited > 1:
        return other_room == 0 and _owed_to_a_slot(size, first, second, awaited)
    narrowest = first[-1]
    narrower = _units_below(narrowest, second)
    if other_room == 0:
        return narrower >= narrowest + size % narrowest
    if (other_room, -second[-1]) > (room, -narrowest):
        return False  # the second is the roomier one
    return narrower + other_room >= narrowest


def _owed_to_a_slot(size: int, first: Kind, second: Kind, awaited: int) -> bool:
    """Whether a full host owes the only open one narrower blocks, so that the slot and its fillers have room there."""
    ones, room = first.count(1), size - sum(first)
    too_narrow = room <= block_widths(awaited)[-1]  # for an anchor of that width, which all ones as fillers do not help
    if not ones or too_narrow or room + ones >= awaited:
        return False
    between = [block for block in first if 1 < block < awaited]
    if between:
        return _units_below(between[-1], second) >= between[-1]
    return _units_below(awaited, second) >= awaited + size % awaited


def _units_below(width: int, kind: Kind) -> int:
    return sum(block for block in kind if block < width)


def _every_pair(size: int) -> Iterator[tuple[Kind, Kind, int]]:
    kinds = block_kinds(size)
    opened = [kind for kind in kinds if sum(kind) < size]
    return product(opened, kinds, (*block_widths(size), size))


def _telling_pairs(size: int) -> Iterator[tuple[Kind, Kind, int]]:
    """Yield pairs of hosts, all blocks of which are as wide as the one exchanged or narrower."""
    widths = block_widths(size)
    for width in widths:
        seconds = [
            (*[width] * n, *kind) for kind in _blocks_below(width, size) for n in range((size - sum(kind)) // width + 1)
        ]
        firsts = [(width,) * n for n in range(1, (size - 1) // width + 1)]
        yield from ((first, second, 1) for first, second in product(firsts, seconds) if second)
        full = [second for second in seconds if sum(second) == size]
        beside = [(*first, *[1] * n) for first in firsts for n in range(1, size - sum(first))]
        yield from product(beside, full, (slot for slot in (*widths, size) if slot >= width > 1))


def blocks_beside_instances(size: int) -> Iterator[str]:
    """Yield every two saturated hosts that have no exchange although their blocks have one."""
    shapes = [shape for shape in _saturated_shapes(size) if shape.demands[0] < size]
    for first, second in product(shapes, shapes):
        if not first.open:
            continue
        alike = (shape_of(size, tuple(block.width for block in blocks_of(shape))) for shape in (first, second))
        if exchanges(*alike) and not exchanges(first, second):
            yield f"K = {size}: {first.demands} and {second.demands} are left as they are"


def _saturated_shapes(size: int) -> Iterator[NodeShape]:
    for length in range(1, size + 1):
        for demands in combinations_with_replacement(range(size, 0, -1), length):
            if sum(demands) <= size:
                shape = shape_of(size, demands)
                if shape.room >= 0 and not shape.vacancy:
                    yield shape
