"""WCC, the closed form under it, and SIF, against the definitions spelt out."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import ClusterState, InherentUnknownError, Job, closed_form, sif
from compass_core.condition import reserved_gpus, wcc_holds, wcc_need, wcc_supply

counts_of_eight = st.tuples(*[st.integers(0, 20)] * 8)


@given(counts_of_eight)
def test_wcc_as_in_the_paper(counts: tuple[int, ...]) -> None:
    n1, _, n3, _, n5, n6, n7, _ = counts
    assert wcc_need(counts) == n3 + 3 * n5 + 2 * n6 + n7
    assert wcc_supply(counts) == n1
    assert wcc_holds(counts) == (n3 + 3 * n5 + 2 * n6 + n7 <= n1)


@given(counts_of_eight)
def test_reserved_gpus_are_the_used_ones_and_the_open_vacancies(counts: tuple[int, ...]) -> None:
    used = sum(g * n for g, n in enumerate(counts, start=1))
    assert reserved_gpus(counts) == used + max(0, wcc_need(counts) - wcc_supply(counts))


@cache
def slow_inherent(counts: tuple[int, ...], capacity: int) -> int:
    """Return Φ* by filling one node at a time in every possible way."""
    if not any(counts):
        return 0
    best = sum(counts)

    def fill(rest: tuple[int, ...], largest: int, room: int) -> None:
        nonlocal best
        if rest != counts:
            partial = 1 if room else 0
            if partial < best:
                best = min(best, partial + slow_inherent(rest, capacity))
        for g in range(min(largest, room), 0, -1):
            if rest[g - 1]:
                fill((*rest[: g - 1], rest[g - 1] - 1, *rest[g:]), g, room - g)

    fill(counts, capacity, capacity)
    return best


@pytest.mark.parametrize("capacity", [2, 4, 8])
def test_closed_form_against_exhaustive_packing(capacity: int) -> None:
    """Claim C8 on every workload of at most six instances that satisfies WCC."""
    checked = 0

    def walk(counts: tuple[int, ...], left: int) -> None:
        nonlocal checked
        if len(counts) == capacity:
            if wcc_holds(counts):
                checked += 1
                assert closed_form(counts) == slow_inherent(counts, capacity)
            return
        for n in range(left + 1):
            walk((*counts, n), left - n)

    walk((), 6)
    assert checked > 20


def test_closed_form_needs_the_condition() -> None:
    with pytest.raises(InherentUnknownError, match="ask for 1 fillers, there are 0"):
        closed_form((0, 0, 1, 0, 0, 0, 0, 0))


class TestSif:
    def test_counts_avoidable_partial_nodes(self) -> None:
        state = ClusterState.from_placement([(Job("a", 2, 4), [0, 1])], nodes=4)
        assert state.partial_nodes == 2
        assert sif(state) == 2 / 4

    def test_takes_any_oracle(self) -> None:
        state = ClusterState.from_placement([(Job("a", 2, 4), [0, 1]), (Job("b", 2, 3), [0, 1])], nodes=4)
        assert sif(state, inherent=lambda counts: 2 if counts == (0, 0, 2, 2, 0, 0, 0, 0) else 0) == 0.0

    def test_a_cluster_without_nodes_is_not_fragmented(self) -> None:
        assert sif(ClusterState.empty(0)) == 0.0
