"""Exchanges of blocks between two hosts, which suit hosts of any size.

A block is what moves as one: a slot with its fillers, or a one outside slots. Widths of blocks divide one another, so
taking the widest that fit always fills what can be filled. There are a few simple ways of exchanging; one is an
exchange here if it leaves the two hosts less loose. They depend on the shapes of the hosts alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING

from compass_core.model import slot_vacancy, slot_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_core.merging import Step
    from compass_core.model import NodeShape

Looseness = tuple[int, ...]
"""What every exchange lowers, the first number first: open hosts; minus the blocks on them, for every width from 1 on;
minus the squares of their room; minus room times the blocks beside it, for every width from 1 on."""


@dataclass(frozen=True, slots=True)
class Block:
    """What moves as one: a slot's anchor with its fillers, or a one outside slots."""

    width: int
    units: int
    fillers: int = 0

    @property
    def demands(self) -> tuple[int, ...]:
        """Demands of its instances, the anchor first."""
        return (self.units, *[1] * self.fillers)


Way = tuple[tuple[bool, Block], ...]
"""Moves of blocks between two hosts, in order: whether a block starts on the first, and the block."""


@lru_cache(maxsize=1 << 14)
def blocks_of(shape: NodeShape) -> tuple[Block, ...]:
    """Return the blocks on a host, widest first, of one width those of fewest instances first."""
    singles = shape.singles
    blocks: list[Block] = []
    for units in shape.demands[: len(shape.demands) - singles]:
        fillers = min(singles, slot_vacancy(units, shape.capacity))
        singles -= fillers
        blocks.append(Block(slot_width(units, shape.capacity), units, fillers))
    blocks += [Block(1, 1)] * singles
    return tuple(sorted(blocks, key=lambda block: (-block.width, block.fillers)))


def widest_that_fit(blocks: Iterable[Block], room: int) -> tuple[Block, ...]:
    """Return the blocks that fill `room` as far as any of them can; `blocks` are given widest first.

    Taking the widest that fits is best, and takes the fewest blocks, because widths divide one another.
    """
    taken: list[Block] = []
    for block in blocks:
        if block.width <= room:
            taken.append(block)
            room -= block.width
    return tuple(taken)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Moves between two hosts that leave them less loose, in an order that over-books neither."""

    steps: tuple[Step, ...]
    closes: int
    """How many hosts fewer are open afterwards."""


@lru_cache(maxsize=1 << 16)
def exchanges(first: NodeShape, second: NodeShape) -> tuple[Exchange, ...]:
    """Return the ways between an open host and another that leave them less loose.

    Ways are `pour` in both directions, `pour_for_ones` into the first, and `swap` of a block of the first. No vacancy
    is added, so invariant I is kept.
    """
    widths = sorted({block.width for block in blocks_of(first)})
    ways = (
        pour(first, second),
        reverse(pour(second, first)),
        reverse(pour_for_ones(second, first)),
        *(way for width in widths for way in swap(first, second, width)),
    )
    return tuple(Exchange(_steps(way), closes) for way in ways if (closes := closed(first, second, way)) is not None)


def closed(first: NodeShape, second: NodeShape, way: Way) -> int | None:
    """Return how many hosts fewer are open after these moves, or None where the two are not less loose then.

    Hosts are taken for the widths of their blocks, which is all that matters where no one stands outside a slot while
    another has a vacancy (invariant I).
    """
    size, left, right = first.capacity, widths_on(first), widths_on(second)
    before = _sum(looseness(left, size), looseness(right, size))
    for from_first, block in way:
        left[block.width] += -1 if from_first else 1
        right[block.width] += 1 if from_first else -1
    after = _sum(looseness(left, size), looseness(right, size))
    return before[0] - after[0] if after < before else None


def widths_on(shape: NodeShape) -> Counter[int]:
    """Return how many blocks of each width stand on a host."""
    return Counter(block.width for block in blocks_of(shape))


def looseness(blocks: Counter[int], size: int) -> Looseness:
    """Return how loose a host of that size is, given how many blocks of each width stand on it; 0 where it is not open.

    Several hosts are as loose as they are together. In words: little of it is few open hosts, on them the narrow
    blocks, and the room on one of them, beside the narrowest.
    """
    counts = [blocks[1 << j] for j in range(size.bit_length())]
    room = size - sum(count << j for j, count in enumerate(counts))
    if not 0 < room < size:
        return (0,) * (2 * len(counts) + 2)
    return (1, *(-count for count in counts), -(room**2), *(-room * count for count in counts))


def _sum(first: Looseness, second: Looseness) -> Looseness:
    return tuple(map(add, first, second))


def pour(source: NodeShape, target: NodeShape) -> Way:
    """Return the moves that fill the target's room with blocks of the source as far as they reach."""
    return _moved(widest_that_fit(blocks_of(source), target.room))


def pour_for_ones(source: NodeShape, target: NodeShape) -> Way:
    """Return the moves that fill the place of the target's ones, too, with wider blocks; the ones go to the source."""
    wider = widest_that_fit((block for block in blocks_of(source) if block.width > 1), target.room + target.ones)
    at_once = widest_that_fit(wider, target.room)
    later = tuple((Counter(wider) - Counter(at_once)).elements())
    back = _width(wider) - target.room
    if not later or back > _width(at_once):
        return ()
    return (*_moved(at_once), *[(False, Block(1, 1))] * back, *_moved(later))


def swap(source: NodeShape, target: NodeShape, width: int) -> Iterator[Way]:
    """Yield the moves that give the target a block for narrower ones: for as much, or for what room it lacks."""
    given = next(block for block in blocks_of(source) if block.width == width)
    narrower = [block for block in blocks_of(target) if block.width < width]
    for amount in {width, width - target.room}:
        taken = widest_that_fit(narrower, amount)
        if taken and width - target.room <= _width(taken) <= source.room:
            yield (*reverse(_moved(taken)), (True, given))


def _width(blocks: Iterable[Block]) -> int:
    return sum(block.width for block in blocks)


def _moved(blocks: Iterable[Block]) -> Way:
    return tuple((True, block) for block in blocks)


def reverse(way: Way) -> Way:
    """Return the moves as seen from the other host."""
    return tuple((not from_first, block) for from_first, block in way)


def _steps(way: Way) -> tuple[Step, ...]:
    return tuple((from_first, units) for from_first, block in way for units in block.demands)
