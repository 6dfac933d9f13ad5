"""Labels that would collide are moved apart, and no further than that takes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.plots.labels import merged, spread
from simulation.plots.model import Line

HEIGHTS = st.lists(st.floats(0, 1), max_size=25)
TINY = 1e-9


@given(HEIGHTS, st.floats(0.01, 0.2))
def test_they_stand_apart_inside_and_in_order(wanted: list[float], gap: float) -> None:
    placed = spread(wanted, gap)
    assert len(placed) == len(wanted)
    assert all(-TINY <= height <= 1 + TINY for height in placed)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    room = gap if gap * (len(wanted) - 1) <= 1 else 1 / (len(wanted) - 1)
    assert all(placed[b] - placed[a] >= room - TINY for a, b in pairwise(order))


@given(HEIGHTS, st.floats(0.01, 0.2))
def test_who_collides_with_nobody_stays(wanted: list[float], gap: float) -> None:
    ordered = sorted(wanted)
    if all(b - a >= gap for a, b in pairwise(ordered)):
        assert spread(wanted, gap) == pytest.approx(wanted)


def test_two_at_one_place_part_evenly() -> None:
    assert spread([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert spread([0.0, 0.0, 0.9], 0.1) == pytest.approx([0.0, 0.1, 0.9])
    assert spread([1.0, 1.0], 0.1) == pytest.approx([0.9, 1.0])


def test_lines_upon_one_another_share_a_label() -> None:
    def line(name: str, *ys: float) -> Line:
        return Line(name=name, xs=(0.0, 1.0), ys=ys)

    found = merged([line("a", 0.3, 1), line("b", 0.3, 2), line("c", 0.1 + 0.2, 1), line("d", 5, 5)])
    assert [each.name for each in found] == ["a, c", "b", "d"]
