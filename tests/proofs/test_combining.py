"""The paper's procedure: what it returns is a packing, never below Φ*, and where it is above."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.optimum.closed_form import fewest_partial_nodes
from proofs.combining import PaperPacking, Reading, Threshold, combine, paper_procedure
from proofs.residual import pack_residual

if TYPE_CHECKING:
    from oracle.snapshots.model import Pattern

Counts: TypeAlias = "tuple[int, ...]"

small_or_large = st.tuples(*[st.integers(0, 12) | st.integers(0, 10**6)] * 8)
by_reading = pytest.mark.parametrize("reading", Reading, ids=lambda reading: reading.name)


def counts_of(*demands: int) -> Counts:
    return tuple(demands.count(gpus) for gpus in range(1, 9))


def demands_of(bins: tuple[tuple[Pattern, int], ...]) -> Counts:
    held: Counter[int] = Counter()
    for pattern, nodes in bins:
        for gpus in pattern:
            held[gpus] += nodes
    return tuple(held[gpus] for gpus in range(1, 9))


def added(*parts: Counts) -> Counts:
    return tuple(map(sum, zip(*parts, strict=True)))


def wcc(counts: Counts) -> bool:
    return counts[2] + 3 * counts[4] + 2 * counts[5] + counts[6] <= counts[0]


@cache
def workloads(total: int, largest: int = 8) -> list[Counts]:
    """Return every workload of at most `total` GPUs and demands up to `largest`."""
    if largest == 0:
        return [()]
    return [
        (*smaller, count)
        for count in range(total // largest + 1)
        for smaller in workloads(total - largest * count, largest - 1)
    ]


def check_packing(packed: PaperPacking, counts: Counts) -> None:
    assert demands_of(packed.packing) == counts
    assert all(nodes > 0 and 0 < sum(pattern) <= 8 for pattern, nodes in packed.packing)
    patterns = [pattern for pattern, _ in packed.packing]
    assert patterns == sorted({tuple(sorted(pattern, reverse=True)) for pattern in patterns}, reverse=True)
    assert packed.partial_nodes == sum(nodes for pattern, nodes in packed.packing if sum(pattern) < 8)
    assert packed.nodes_in_use == sum(nodes for _, nodes in packed.packing)


class TestPacking:
    """Whatever the reading and δ, exactly the instances given are packed, and Φ* is a lower bound."""

    @given(small_or_large, st.sampled_from(Reading), st.none() | st.integers(0, 20), st.sampled_from(Threshold))
    def test_any_workload(self, counts: Counts, reading: Reading, delta: int | None, threshold: Threshold) -> None:
        packed = paper_procedure(counts, reading=reading, delta=delta, threshold=threshold)
        check_packing(packed, counts)
        assert packed.partial_nodes >= fewest_partial_nodes(counts)
        assert added(demands_of(packed.stages.bins), packed.stages.combination.unfriendly) == counts

    @given(small_or_large, st.sampled_from(Reading))
    def test_the_program_is_never_worse(self, counts: Counts, reading: Reading) -> None:
        without = paper_procedure(counts, reading=reading, delta=0)
        assert not without.stages.used_integer_program
        assert paper_procedure(counts, reading=reading).partial_nodes <= without.partial_nodes

    @given(small_or_large, st.sampled_from(Reading))
    def test_closed_nodes_stay_closed(self, counts: Counts, reading: Reading) -> None:
        packed = paper_procedure(counts, reading=reading)
        full = dict(packed.packing)
        for pattern, nodes in (*packed.stages.combination.closed, *packed.stages.bins):
            assert sum(pattern) < 8 or nodes <= full[pattern]

    def test_nothing(self) -> None:
        packed = paper_procedure(())
        assert (packed.partial_nodes, packed.packing, packed.nodes_in_use) == (0, (), 0)

    @pytest.mark.parametrize("counts", [(1, -1), (0,) * 9])
    def test_refuses_counts(self, counts: Counts) -> None:
        for entry in (combine, paper_procedure):
            with pytest.raises(ValueError, match="counts: expected"):
                entry(counts)

    def test_refuses_a_negative_delta(self) -> None:
        with pytest.raises(ValueError, match=r"delta: expected .* got -1"):
            paper_procedure((1,), delta=-1)


class TestCombining:
    """The first stage: the list from the top, each entry as often as possible."""

    @given(small_or_large, st.sampled_from(Reading))
    def test_nothing_is_lost_and_nothing_can_be_added(self, counts: Counts, reading: Reading) -> None:
        combination = combine(counts, reading=reading)
        assert added(demands_of(combination.blocks), combination.residual) == counts
        for block in reading.value:
            needed = Counter(block)
            assert any(combination.residual[gpus - 1] < k for gpus, k in needed.items())

    @by_reading
    def test_every_combination_is_a_block(self, reading: Reading) -> None:
        assert {sum(block) for block in reading.value} == ({8, 4} if reading is Reading.BLOCKS else {8})
        assert len(set(reading.value)) == len(reading.value)

    def test_priority(self) -> None:
        """A 1 goes to the 7 before the 3, a 3 to the 5 before a 1."""
        combination = combine(counts_of(7, 5, 3, 3, 1, 8))
        assert combination.blocks == (((7, 1), 1), ((5, 3), 1))
        assert combination.closed == (((7, 1), 1), ((5, 3), 1), ((8,), 1))
        assert combination.unfriendly == counts_of(3)

    def test_a_block_of_four_closes_no_node(self) -> None:
        combination = combine(counts_of(3, 1))
        assert (combination.blocks, combination.closed) == ((((3, 1), 1),), ())


class TestOptimality:
    """Where the procedure is optimal and where it is not (claim P10)."""

    @by_reading
    @pytest.mark.parametrize("total", [24, pytest.param(40, marks=pytest.mark.slow)])
    def test_every_small_workload_under_wcc(self, reading: Reading, total: int) -> None:
        """Best-Fit-Decreasing alone reaches Φ*, so the program, which is never worse, does too."""
        for counts in filter(wcc, workloads(total)):
            packed = paper_procedure(counts, reading=reading, delta=0)
            assert packed.partial_nodes == fewest_partial_nodes(counts), counts

    @given(small_or_large, st.integers(0, 1_000), st.sampled_from(Reading))
    def test_under_wcc(self, counts: Counts, spare: int, reading: Reading) -> None:
        _, *others = counts
        under = (others[1] + 3 * others[3] + 2 * others[4] + others[5] + spare, *others)
        packed = paper_procedure(under, reading=reading)
        assert packed.partial_nodes == fewest_partial_nodes(under)
        if reading is Reading.BLOCKS:
            assert not any(packed.stages.combination.unfriendly)

    @by_reading
    def test_p10(self, reading: Reading) -> None:
        """The example holds if 3+3+2 is no combination, as the nodes of 2s are closed before the 3s come."""
        counts = counts_of(2, 2, 2, 2, 3, 3, 3, 3)
        expected = 2 if reading is Reading.BLOCKS else 1
        assert paper_procedure(counts, reading=reading).partial_nodes == expected
        assert fewest_partial_nodes(counts) == 1

    @pytest.mark.parametrize(
        ("reading", "least", "expected"),
        [
            (Reading.BLOCKS, 9, {counts_of(3, 3, 2, 1): (2, 1)}),
            (Reading.EIGHTS, 14, {counts_of(5, 5, 2, 2): (3, 2)}),
        ],
    )
    def test_smallest_counterexamples(
        self, reading: Reading, least: int, expected: dict[Counts, tuple[int, int]]
    ) -> None:
        found: dict[Counts, tuple[int, int]] = {}
        for counts in workloads(least):
            reached, best = paper_procedure(counts, reading=reading).partial_nodes, fewest_partial_nodes(counts)
            if reached > best:
                found[counts] = (reached, best)
        assert found == expected

    @pytest.mark.parametrize("k", [1, 10, 1_000])
    def test_the_excess_has_no_bound(self, k: int) -> None:
        counts = (0, 4 * k, 8 * k)
        assert paper_procedure(counts).partial_nodes == 4 * k
        assert fewest_partial_nodes(counts) == 0


class TestDelta:
    """Claim P11: |U| ≤ δ in one place, δ ≤ |U| in another. Both can be asked for."""

    UNFRIENDLY = (0, 1, 3)

    @pytest.mark.parametrize(
        ("threshold", "delta", "used"),
        [
            (Threshold.AT_MOST, None, True),
            (Threshold.AT_MOST, 4, True),
            (Threshold.AT_MOST, 3, True),
            (Threshold.AT_MOST, 2, False),
            (Threshold.AT_LEAST, None, True),
            (Threshold.AT_LEAST, 4, False),
            (Threshold.AT_LEAST, 3, True),
            (Threshold.AT_LEAST, 2, True),
        ],
    )
    def test_when_the_program_is_used(self, threshold: Threshold, delta: int | None, used: object) -> None:
        packed = paper_procedure(self.UNFRIENDLY, delta=delta, threshold=threshold)
        assert sum(packed.stages.combination.unfriendly) == 3
        assert packed.stages.used_integer_program is used

    @pytest.mark.parametrize("threshold", Threshold)
    def test_no_program_without_residual(self, threshold: Threshold) -> None:
        assert not paper_procedure((3, 1, 3), delta=0, threshold=threshold).stages.used_integer_program


class TestResidual:
    """The program fills up nodes that have room, leaves what stands on them, and opens others."""

    def test_fills_what_is_open(self) -> None:
        packed = pack_residual(counts_of(3, 5, 5), {(4, 1): 1, (2, 1): 2, (8,): 4})
        assert packed == {(8,): 4, (4, 3, 1): 1, (5, 2, 1): 2}

    def test_nodes_of_one_load_with_different_contents(self) -> None:
        packed = pack_residual(counts_of(3, 3, 3), {(4, 1): 1, (3, 2): 1, (5,): 1})
        assert packed == {(4, 3, 1): 1, (3, 3, 2): 1, (5, 3): 1}

    def test_opens_nodes(self) -> None:
        packed = pack_residual(counts_of(3, 5, 7), {})
        assert packed == {(5, 3): 1, (7,): 1}
