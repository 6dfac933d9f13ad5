"""D1: the lemmas beside the code and beside random events, and lemmas that must fall."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import ClusterState, Job, Variant, arrive
from compass_core.draft import every_move_counts_one
from compass_core.hierarchy import tier_condition
from compass_core.hierarchy.tighten import arrive_tight, settle_tight
from compass_core.model import slot_width
from proofs.claim import Effort, Status
from proofs.hierarchy import (
    block_kinds,
    blocks_beside_code,
    bound_lemma,
    d1,
    exchange_pairs,
    merge_pairs,
    not_best,
    papers_example,
    row,
    shortest_failure,
    table,
    too_many,
)
from proofs.smt import Verdict, prove
from proofs.strategies import Arrival, Departure, event_lists, parse_events
from proofs.terms import every, holds

DOCS = Path(__file__).parents[2] / "docs"
POWERS = (1, 2, 4, 8)
OTHERS = (3, 5, 6, 7, 9)


class TestKinds:
    def test_as_many_as_binary_partitions(self) -> None:
        """Partitions into powers of two (OEIS A018819): 1, 2, 2, 4, 4, 6, 6, 10, 10 of 1 to 9."""
        partitions = [1, 2, 2, 4, 4, 6, 6, 10, 10]
        for size in (3, 5, 6, 7, 9):
            assert len(block_kinds(size)) == sum(partitions[:size])

    def test_a_host_of_one_unit_has_none(self) -> None:
        assert block_kinds(1) == ()

    @given(st.sampled_from([3, 4, 6, 7, 9]), st.data())
    def test_the_formula_is_the_condition(self, size: int, data: st.DataObject) -> None:
        kinds = block_kinds(size)
        chosen = data.draw(st.lists(st.sampled_from(kinds), max_size=8))
        blocks = Counter(block for kind in chosen for block in kind)
        lemma = bound_lemma(size, frozenset(), at_most=1)
        numbers = {"n" + "_".join(map(str, kind)): chosen.count(kind) for kind in kinds}
        counts = [blocks[units] for units in range(1, size + 1)]
        assert holds(every(lemma.given), numbers) == tier_condition(counts).holds


class TestLemmas:
    @pytest.mark.parametrize("size", [*POWERS, *OTHERS])
    def test_proved(self, size: int) -> None:
        assert prove(bound_lemma(size, exchange_pairs(size), at_most=1)).verdict is Verdict.PROVED

    @pytest.mark.parametrize("size", OTHERS)
    def test_merging_alone_is_not_enough(self, size: int) -> None:
        assert prove(bound_lemma(size, merge_pairs(size, Variant.EXACT), at_most=1)).verdict is Verdict.REFUTED
        # COMPASS: slots and ones stay apart, and the panels that no slot can use stay idle
        lemma = bound_lemma(size, merge_pairs(size, Variant.COMPASS), at_most=2, unmixed=True)
        assert prove(lemma).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("size", [2, 3, 6, 9])
    def test_no_lemma_without_exchanges(self, size: int) -> None:
        assert prove(bound_lemma(size, frozenset(), at_most=1)).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("size", range(1, 7))
    def test_blocks_are_the_codes(self, size: int) -> None:
        assert not list(blocks_beside_code(size))


@pytest.mark.parametrize("size", OTHERS)
@settings(max_examples=settings().max_examples // 3)
@given(data=st.data())
def test_no_exchange_is_left_after_an_event(size: int, data: st.DataObject) -> None:
    """After every event at most one host is open, or no two hosts look like a pair that the rule changes."""
    state = ClusterState.empty(4, size)
    for event in data.draw(event_lists(capacity=size, max_events=20)):
        match event:
            case Arrival(job):
                state = arrive_tight(state, job, every_move_counts_one).state
            case Departure(name) if name in state.jobs:
                state = settle_tight(state.without_job(name), every_move_counts_one).state
            case _:
                continue
        shapes = [node.shape for node in state.nodes if node.used and node.shape.demands[0] < size]
        if sum(shape.open for shape in shapes) < 2 or any(shape.vacancy for shape in shapes):
            continue
        looks = [
            tuple(sorted([slot_width(g, size) for g in s.demands if g > 1] + [1] * s.ones, reverse=True))
            for s in shapes
        ]
        assert not any((looks[a], looks[b]) in exchange_pairs(size) for a, b in product(range(len(looks)), repeat=2)
                       if a != b and shapes[a].open)  # fmt: skip


class TestRefuted:
    """The rules of the panels over K panels, K no power of two: the shortest lists under which they fail."""

    @pytest.mark.parametrize("size", OTHERS)
    def test_lists_fail_when_replayed(self, size: int) -> None:
        found = row(size)
        for text, variant, fails in (
            (found.compass, Variant.COMPASS, too_many),
            (found.exact, Variant.EXACT, not_best),
        ):
            assert text is not None
            events, hosts = text.split(", N = ")
            state = ClusterState.empty(int(hosts), size)
            for event in parse_events(events):
                assert isinstance(event, Arrival)
                state = arrive(state, event.job, variant=variant).state
            assert fails(state)
        assert found.tier is Verdict.PROVED

    def test_powers_of_two_keep_the_bounds(self) -> None:
        for size in POWERS:
            assert (row(size).compass, row(size).compass_avoidable, row(size).exact) == (None, None, None)

    def test_none_for_four_panels(self) -> None:
        assert shortest_failure(4, Variant.EXACT, not_best) is None

    def test_the_papers_nine_panels(self) -> None:
        """Nine 8-panel and nine 1-panel jobs: Φ = 9 as printed, Φ* = 0."""
        assert papers_example() == (
            "K = 9, 9x8, 9x1 on 10 domains: Φ* = 0; Φ = 9 as printed, 0 where ones may join slots"
        )

    @pytest.mark.parametrize(
        ("variant", "events", "partial", "inherent"),
        [(Variant.COMPASS, ((2, 64), (16, 1)), 3, 0), (Variant.EXACT, ((72, 1), (2, 64)), 2, 1)],
    )
    def test_flat_hosts_of_72(
        self, variant: Variant, events: tuple[tuple[int, int], ...], partial: int, inherent: int
    ) -> None:
        state = ClusterState.empty(3, 72)
        for number, (instances, units) in enumerate(events):
            state = arrive(state, Job(str(number), instances, units), variant=variant).state
        condition = tier_condition(state.counts)
        assert (condition.holds, condition.inherent, state.partial_nodes) == (True, inherent, partial)

    def test_one_event_is_never_enough(self) -> None:
        for size, hosts in product(OTHERS, (2, 3)):
            for gpus, instances in product(range(1, size + 1), range(1, 2 * size)):
                out = arrive(ClusterState.empty(hosts, size), Job("a", instances, gpus), variant=Variant.EXACT)
                assert not out.admitted or not not_best(out.state)


class TestClaim:
    def test_is_proved(self) -> None:
        found = d1(Effort.QUICK)
        assert found.status is Status.PROVED
        assert "proved for K = 1 to 9; K = 72 as 8 hosts of 9" in found.details

    def test_the_table_is_in_the_docs(self) -> None:
        text = (DOCS / "hierarchy.md").read_text(encoding="utf-8")
        for line in table(range(1, 8)).splitlines():
            assert line in text
