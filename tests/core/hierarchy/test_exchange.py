"""Exchanges of blocks between two hosts: what they keep, what they lower, and which there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from compass_core.hierarchy.exchange import (
    Block,
    Exchange,
    blocks_of,
    exchanges,
    looseness,
    pour_for_ones,
    swap,
    widest_that_fit,
    widths_on,
)
from compass_core.model import shape_of
from proofs.strategies import node_contents
from tests.core.hierarchy.naive import width_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_core.model import NodeShape


ONE = Block(1, 1)


def together(shapes: Iterable[NodeShape]) -> tuple[int, ...]:
    """Return how loose hosts are, all of them taken together."""
    each = [looseness(widths_on(shape), shape.capacity) for shape in shapes]
    return tuple(map(sum, zip(*each, strict=True)))


class TestBlocks:
    def test_anchors_take_their_fillers_along(self) -> None:
        shape = shape_of(9, (5, 1, 1, 1, 1))
        assert blocks_of(shape) == (Block(8, 5, 3), Block(1, 1, 0))
        assert blocks_of(shape)[0].demands == (5, 1, 1, 1)

    def test_fillers_that_are_not_there_are_not_dealt(self) -> None:
        assert blocks_of(shape_of(12, (5, 3, 1, 1))) == (Block(8, 5, 2), Block(4, 3, 0))

    @given(st.lists(st.sampled_from([1, 2, 4, 8, 16]), max_size=9), st.integers(0, 40))
    def test_widest_that_fit_fill_most(self, widths: list[int], room: int) -> None:
        blocks = [Block(width, width) for width in sorted(widths, reverse=True)]
        taken = sum(block.width for block in widest_that_fit(blocks, room))
        totals = {0}
        for width in widths:
            totals |= {total + width for total in totals}
        assert taken == max(total for total in totals if total <= room)


class TestLooseness:
    """Open hosts; then, negated, blocks on them by width, squares of their room, room beside blocks."""

    @pytest.mark.parametrize("size", [3, 5, 7, 8, 9, 12])
    @given(data=st.data())
    def test_is_what_it_is_said_to_be(self, size: int, data: st.DataObject) -> None:
        contents = data.draw(st.lists(node_contents(capacity=size), min_size=1, max_size=3))
        hosts: list[tuple[list[int], int]] = []
        for content in contents:
            slots = [(width_of(units, size), units) for units in content if units > 1]
            ones = content.count(1) - sum(width - units for width, units in slots)
            blocks = [*(width for width, _ in slots), *[1] * ones]
            if 0 < sum(blocks) < size:
                hosts.append((blocks, size - sum(blocks)))
        widths = [width for width in (1, 2, 4, 8) if width <= size]
        assert together(shape_of(size, content) for content in contents) == (
            len(hosts),
            *(-sum(blocks.count(width) for blocks, _ in hosts) for width in widths),
            -sum(room * room for _, room in hosts),
            *(-sum(room * blocks.count(width) for blocks, room in hosts) for width in widths),
        )


class TestExchange:
    @pytest.mark.parametrize("size", [3, 5, 6, 7, 9, 12, 72])
    @given(data=st.data())
    def test_keeps_instances_and_lowers_looseness(self, size: int, data: st.DataObject) -> None:
        first, second = (shape_of(size, data.draw(node_contents(capacity=size))) for _ in range(2))
        assume(not (first.vacancy + second.vacancy and first.ones + second.ones))  # invariant I
        for found in exchanges(first, second) if first.open else ():
            left, right = Counter(first.demands), Counter(second.demands)
            for from_first, units in found.steps:
                source, destination = (left, right) if from_first else (right, left)
                source[units] -= 1
                assert source[units] >= 0
                destination[units] += 1
                assert sum(destination.elements()) <= size
            after = [shape_of(size, tuple(sorted(host.elements(), reverse=True))) for host in (left, right)]
            assert left + right == Counter(first.demands) + Counter(second.demands)
            assert all(shape.room >= 0 for shape in after)
            assert together(after) < together((first, second))
            assert sum(shape.vacancy for shape in after) == first.vacancy + second.vacancy
            assert sum(shape.open for shape in after) == first.open + second.open - found.closes

    def test_the_ninth_panel(self) -> None:
        """{8} takes one of nine 1-panel instances off a full domain, which is open then: the ones are where room is."""
        assert exchanges(shape_of(9, (8,)), shape_of(9, (1,) * 9)) == (Exchange(((False, 1),), 0),)

    def test_room_is_made_for_a_wide_block(self) -> None:
        """{4} goes to {1, 1, 1, 1, 1} once one of the ones has left it: two moves, where taking them all is five."""
        found = exchanges(shape_of(8, (4,)), shape_of(8, (1,) * 5))
        assert Exchange(((False, 1), (True, 4)), 1) in found

    def test_the_lighter_of_two_moves(self) -> None:
        """Either of two open hosts may give all it has."""
        found = exchanges(shape_of(9, (1,)), shape_of(9, (1,)))
        assert set(found) == {Exchange(((True, 1),), 1), Exchange(((False, 1),), 1)}

    def test_ones_are_not_given_for_ones(self) -> None:
        """Beside four ones there is room for the 4, and for the 2 once two of them have left; the one stays."""
        way = pour_for_ones(shape_of(8, (4, 2, 1)), shape_of(8, (1,) * 4))
        assert way == ((True, Block(4, 4)), (False, ONE), (False, ONE), (True, Block(2, 2)))

    def test_as_many_ones_come_back_as_what_left_has_made_room_for(self) -> None:
        way = pour_for_ones(shape_of(12, (4, 4)), shape_of(12, (1,) * 8))
        assert way == ((True, Block(4, 4)), *[(False, ONE)] * 4, (True, Block(4, 4)))
        assert not pour_for_ones(shape_of(12, (8,)), shape_of(12, (1,) * 8))

    @pytest.mark.parametrize("giving", [(4,), (4, 1)], ids=str)
    def test_a_block_is_given_for_as_much(self, giving: tuple[int, ...]) -> None:
        """Also where the other host has room for it, and where what comes just fits."""
        ways = list(swap(shape_of(9, giving), shape_of(9, (2, 2)), 4))
        assert ways == [((False, Block(2, 2)), (False, Block(2, 2)), (True, Block(4, 4)))]

    def test_nothing_between_full_hosts(self) -> None:
        full = shape_of(9, (8, 1)), shape_of(9, (1,) * 9)
        assert not exchanges(*full)

    def test_ones_gather_beside_room(self) -> None:
        """{2, 1} gives the 2 to a full host for two ones, which can be fillers of a slot of 5 then, with the third."""
        opened, full = shape_of(8, (2, 1)), shape_of(8, (1,) * 8)
        assert {(False, 1): 2, (True, 2): 1} in [Counter(found.steps) for found in exchanges(opened, full)]
