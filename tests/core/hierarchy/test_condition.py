"""The composition condition of a tier, against every arrangement of small workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core.condition import wcc_holds
from compass_core.hierarchy import tier_condition
from tests.core.hierarchy.naive import saturated_arrangement_exists
from tests.core.naive import fewest_partial_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator


def workloads(size: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield every workload of at most so many units: all counts (n1, ..., nK)."""

    def wider(units: int, left: int) -> Iterator[tuple[int, ...]]:
        if units > size:
            yield ()
            return
        for count in range(left // units + 1):
            for rest in wider(units + 1, left - units * count):
                yield (count, *rest)

    return wider(1, most)


class TestTheConditionIsExact:
    """It holds if and only if saturated slots and the other ones can be arranged with Φ = 1 or 0, as T leaves it."""

    @pytest.mark.parametrize(("size", "most"), [*((size, 18) for size in range(1, 10)), (12, 18), (18, 20)])
    def test_every_small_workload(self, size: int, most: int) -> None:
        held = 0
        for counts in workloads(size, most):
            used = sum(units * n for units, n in enumerate(counts, start=1))
            condition = tier_condition(counts)
            exists = saturated_arrangement_exists(counts, 1 if used % size else 0)
            assert condition.holds == exists, counts
            held += exists
        assert held

    @given(st.sampled_from([2, 4, 8, 16]), st.data())
    def test_is_the_papers_on_powers_of_two(self, size: int, data: st.DataObject) -> None:
        counts = tuple(data.draw(st.lists(st.integers(0, 50), min_size=size, max_size=size)))
        assert tier_condition(counts).holds == wcc_holds(counts)


@pytest.mark.parametrize(("size", "most"), [(3, 12), (5, 15), (6, 14), (9, 18)])
def test_the_closed_form_is_the_least_of_all_placements(size: int, most: int) -> None:
    for counts in workloads(size, most):
        condition = tier_condition(counts)
        if condition.holds:
            assert fewest_partial_nodes(counts, size, sum(counts)) == condition.inherent


def test_nine_panels_ask_for_a_filler_each() -> None:
    eights = (0,) * 7 + (9, 0)
    assert not tier_condition((7, *eights[1:])).holds  # 79 panels leave one domain partial at best, and two lack one
    assert tier_condition((9, *eights[1:])).holds
    # (width, asked, offered): nine slots of 8 panels want nine domains in use, and 81 panels in use are nine
    assert tier_condition((9, *eights[1:])).blocks == ((2, 36, 36), (4, 18, 18), (8, 9, 9))


@pytest.mark.parametrize(("size", "widths"), [(1, []), (2, []), (3, [2]), (4, [2]), (8, [2, 4]), (9, [2, 4, 8])])
def test_every_width_below_that_of_the_host_is_told(size: int, widths: list[int]) -> None:
    assert [width for width, _, _ in tier_condition((0,) * size).blocks] == widths
