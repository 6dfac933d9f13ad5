"""A persistent ordered set, against Python's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core.index_set import IndexSet

# Around the chunk boundaries, where an off-by-one would hide.
elements = st.one_of(st.integers(0, 5000), st.sampled_from([0, 1, 1022, 1023, 1024, 1025, 2047, 2048, 999_999]))


@given(st.lists(st.tuples(st.booleans(), elements), max_size=60))
def test_behaves_as_a_set(steps: list[tuple[bool, int]]) -> None:
    ours, model = IndexSet.empty(), set[int]()
    for adding, element in steps:
        before, listed = ours, list(ours)
        if adding:
            ours = ours.add(element)
            model.add(element)
        elif element in model:
            ours = ours.remove(element)
            model.remove(element)
        else:
            with pytest.raises(KeyError, match=f"^{element}$"):
                ours.remove(element)
        assert list(ours) == sorted(model)
        assert len(ours) == len(model)
        assert (element in ours) == (element in model)
        assert list(before) == listed
        if model:
            assert ours.lowest == min(model)


@given(st.sets(elements), st.randoms(use_true_random=False))
def test_equal_sets_are_equal_values(model: set[int], random: object) -> None:
    del random
    forward, backward = IndexSet.empty(), IndexSet.empty().add(7)
    for element in sorted(model):
        forward = forward.add(element)
    for element in sorted(model, reverse=True):
        backward = backward.add(element)
    if 7 not in model:
        backward = backward.remove(7)
    assert forward == backward
    assert hash(forward) == hash(backward)


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 5000])
def test_first(count: int) -> None:
    assert list(IndexSet.first(count)) == list(range(count))
    assert len(IndexSet.first(count)) == count
    assert count not in IndexSet.first(count)
    one_by_one = IndexSet.empty()
    for element in range(count):
        one_by_one = one_by_one.add(element)
    assert IndexSet.first(count) == one_by_one


def test_an_empty_set_has_no_lowest() -> None:
    with pytest.raises(ValueError, match="empty"):
        _ = IndexSet.empty().lowest


def test_knows_only_integers() -> None:
    assert "a" not in IndexSet.first(3)
    assert -1 not in IndexSet.first(3)
