"""Exchanges of blocks between two hosts: what they keep, what they lower, and which there are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core.hierarchy.exchange import Block, Exchange, blocks_of, exchanges, looseness, widest_that_fit
from compass_core.model import shape_of
from proofs.strategies import node_contents


class TestBlocks:
    def test_anchors_take_their_fillers_along(self) -> None:
        shape = shape_of(9, (5, 1, 1, 1, 1))
        assert blocks_of(shape) == (Block(8, 5, 3), Block(1, 1))
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


class TestExchange:
    @pytest.mark.parametrize("size", [3, 5, 6, 7, 9, 12, 72])
    @given(data=st.data())
    def test_keeps_instances_and_lowers_looseness(self, size: int, data: st.DataObject) -> None:
        contents = [data.draw(node_contents(capacity=size)) for _ in range(2)]
        awaited = data.draw(st.sampled_from([1, 2, 4, 8]))
        first, second = (shape_of(size, tuple(sorted(content, reverse=True))) for content in contents)
        for found in exchanges(first, second, awaited) if first.open else ():
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
            assert looseness(after, awaited) < looseness((first, second), awaited)
            assert sum(shape.vacancy for shape in after) <= first.vacancy + second.vacancy
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

    def test_nothing_between_full_hosts(self) -> None:
        full = shape_of(9, (8, 1)), shape_of(9, (1,) * 9)
        assert not exchanges(*full)

    def test_blocks_leave_where_fillers_are_awaited(self) -> None:
        """Room for 5 of 8 beside {2, 1}: the 2 goes, and two ones of a full host come, to be fillers with the third."""
        opened, full = shape_of(8, (2, 1)), shape_of(8, (1,) * 8)
        assert {(False, 1): 2, (True, 2): 1} in [Counter(found.steps) for found in exchanges(opened, full, 8)]
