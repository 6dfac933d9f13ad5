"""The (w, g) rules: whatever the way of telling, w·g is the total, and g fits an 8-GPU node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.traces.shapes import Shape, ShapeRule, by_nodes, by_total


@given(total=st.integers(1, 100_000))
def test_by_total_keeps_the_total(total: int) -> None:
    instances, gpus = by_total(total)
    assert instances * gpus == total
    assert 1 <= gpus <= 8


@given(total=st.integers(1, 100_000))
def test_by_total_is_the_rule_as_written(total: int) -> None:
    """Up to 8: (1, total); a multiple of 8: (total / 8, 8); otherwise the largest divisor up to 8."""
    if total <= 8:
        expected = (1, total)
    elif total % 8 == 0:
        expected = (total // 8, 8)
    else:
        largest = max(divisor for divisor in (1, 2, 3, 4, 5, 6, 7, 8) if not total % divisor)
        expected = (total // largest, largest)
    assert by_total(total) == expected


@pytest.mark.parametrize(
    ("total", "expected"), [(1, (1, 1)), (8, (1, 8)), (12, (2, 6)), (14, (2, 7)), (24, (3, 8)), (11, (11, 1))]
)
def test_by_total_examples(total: int, expected: tuple[int, int]) -> None:
    assert by_total(total) == expected


@given(total=st.integers(1, 4096), nodes=st.integers(0, 600), rule=st.sampled_from(ShapeRule))
def test_by_nodes_keeps_the_total(total: int, nodes: int, rule: ShapeRule) -> None:
    instances, gpus, shape = by_nodes(total, nodes, rule)
    assert instances * gpus == total
    assert 1 <= gpus <= 8
    if shape is Shape.BY_NODES:
        assert (instances, rule) == (nodes, ShapeRule.RECORDED)
    else:
        assert (instances, gpus) == by_total(total)


def test_every_way_has_a_name_and_a_description() -> None:
    assert len({shape.label for shape in Shape}) == len(Shape)
    assert all(shape.description for shape in Shape)
    assert {rule.label for rule in ShapeRule} == {"recorded", "total"}
    assert all(rule.description for rule in ShapeRule)
