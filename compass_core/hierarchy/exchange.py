"""Exchanges of blocks between two hosts, which suit hosts of any size.

A block is what moves as one: a slot with its fillers, or a one outside slots. Widths of blocks divide one another, so
taking the widest that fit always fills what can be filled. There are a few simple ways of exchanging; one is an
exchange here if it leaves the two hosts less loose. They depend on the shapes of the hosts alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from compass_core.model import shape_of, slot_vacancy, slot_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compass_core.merging import Step
    from compass_core.model import NodeShape

Looseness = tuple[int, ...]
"""Open hosts; less the units of blocks on them that are narrower than a slot to come; less the blocks on them by width,
narrow ones first; less the squares of their room; less their room times the blocks beside it, again by width."""


def looseness(shapes: Iterable[NodeShape], awaited: int = 1) -> Looseness:
    """Return what every exchange lowers, the first number first.

    In words: few open hosts, with the narrow blocks on them, the room on one of them, and there beside narrow blocks.
    It depends on slots and on ones outside them, not on what fills a slot.

    Parameters
    ----------
    awaited
        Width of a slot that is to be placed: narrower blocks gather on open hosts, to become its fillers or to leave.
    """
    opened = [shape for shape in shapes if shape.open]
    counts = [Counter(block.width for block in blocks_of(shape)) for shape in opened]
    widths = [1 << j for j in range(opened[0].capacity.bit_length())] if opened else []
    return (
        len(opened),
        -sum(width * count[width] for count in counts for width in widths if width < awaited),
        *(-sum(count[width] for count in counts) for width in widths),
        -sum(shape.room**2 for shape in opened),
        *(-sum(s.room * count[width] for s, count in zip(opened, counts, strict=True)) for width in widths),
    )


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


# The table of exchanges, bounded because hosts of 72 units come in more shapes than memory holds.
@lru_cache(maxsize=1 << 16)
def exchanges(first: NodeShape, second: NodeShape, awaited: int = 1) -> tuple[Exchange, ...]:
    """Return the ways between an open host and another that leave them less loose.

    Ways are `pour` in both directions, `pour_for_ones` into the first, and `swap` of a block of the first. No vacancy
    is added, so invariant I is kept.

    Parameters
    ----------
    awaited
        Width of a slot that is to be placed (`looseness`).
    """
    widths = sorted({block.width for block in blocks_of(first)})
    ways = (
        pour(first, second),
        reverse(pour(second, first)),
        reverse(pour_for_ones(second, first)),
        *(way for width in widths for way in swap(first, second, width)),
    )
    return tuple(Exchange(way, closes) for way in ways if (closes := closed(first, second, way, awaited)) is not None)


def closed(first: NodeShape, second: NodeShape, way: Sequence[Step], awaited: int = 1) -> int | None:
    """Return how many hosts fewer are open after these moves, or None where the two are not less loose then."""
    left, right = Counter(first.demands), Counter(second.demands)
    for from_first, units in way:
        left[units] += -1 if from_first else 1
        right[units] += 1 if from_first else -1
    before = looseness((first, second), awaited)
    after = looseness((_shape(first.capacity, left), _shape(second.capacity, right)), awaited)
    return before[0] - after[0] if after < before else None


def _shape(capacity: int, demands: Counter[int]) -> NodeShape:
    return shape_of(capacity, tuple(sorted(demands.elements(), reverse=True)))


def pour(source: NodeShape, target: NodeShape) -> tuple[Step, ...]:
    """Return the steps that fill the target's room with blocks of the source as far as they reach."""
    return _moved(widest_that_fit(blocks_of(source), target.room))


def pour_for_ones(source: NodeShape, target: NodeShape) -> tuple[Step, ...]:
    """Return the steps that fill the place of the target's ones, too, with wider blocks; the ones go to the source."""
    wider = widest_that_fit((block for block in blocks_of(source) if block.width > 1), target.room + target.ones)
    at_once = widest_that_fit(wider, target.room)
    later = tuple((Counter(wider) - Counter(at_once)).elements())
    back = _width(wider) - target.room
    if not later or back > _width(at_once):
        return ()
    return (*_moved(at_once), *[(False, 1)] * back, *_moved(later))


def swap(source: NodeShape, target: NodeShape, width: int) -> Iterator[tuple[Step, ...]]:
    """Yield the steps that give the target a block for narrower ones: for as much, or for what room it lacks."""
    given = next(block for block in blocks_of(source) if block.width == width)
    narrower = [block for block in blocks_of(target) if block.width < width]
    for amount in {width, width - target.room}:
        taken = widest_that_fit(narrower, amount)
        if taken and width - target.room <= _width(taken) <= source.room:
            yield (*reverse(_moved(taken)), *_moved((given,)))


def _width(blocks: Iterable[Block]) -> int:
    return sum(block.width for block in blocks)


def _moved(blocks: Sequence[Block]) -> tuple[Step, ...]:
    return tuple((True, units) for block in blocks for units in block.demands)


def reverse(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps as seen from the other host."""
    return tuple((not from_first, units) for from_first, units in steps)
