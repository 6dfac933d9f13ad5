"""D1 and D2: the lemmas beside the code and beside random events, and lemmas and exchanges that must fall."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import ClusterState
from compass_core.draft import every_move_counts_one
from compass_core.hierarchy import exchange, tier_condition
from compass_core.hierarchy.exchange import blocks_of
from compass_core.hierarchy.tiers import MAX_HOST
from compass_core.hierarchy.tighten import arrive_tight, settle_tight
from compass_core.model import shape_of
from proofs import exchanges
from proofs.claim import Effort, Status
from proofs.events import Arrival, Departure
from proofs.exchanges import block_kinds, blocks_beside_instances, missing_exchanges, owed
from proofs.hierarchy import admission_lemmas, d1, d2, papers_example, tier_lemmas
from proofs.smt import Verdict, prove, prove_all
from proofs.smtlib import Lemma
from proofs.strategies import event_lists
from proofs.terms import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compass_core.steps import Migration

POWERS = (2, 4, 8, 16)
OTHERS = (3, 5, 6, 7, 9, 12, 72)


class TestKinds:
    def test_as_many_as_binary_partitions(self) -> None:
        """Partitions into powers of two (OEIS A018819): 1, 2, 2, 4, 4, 6, 6, 10, 10 of 1 to 9."""
        partitions = [1, 2, 2, 4, 4, 6, 6, 10, 10]
        for size in (3, 5, 6, 7, 9):
            assert len(block_kinds(size)) == sum(partitions[:size])

    def test_a_host_of_one_unit_has_none(self) -> None:
        assert block_kinds(1) == ()


class TestLemmas:
    @pytest.mark.parametrize("size", [1, *POWERS, *OTHERS])
    @pytest.mark.parametrize("lemmas", [tier_lemmas, admission_lemmas])
    def test_proved(self, size: int, lemmas: Callable[[int], Iterator[Lemma]]) -> None:
        assert prove_all(lemmas(size)).verdict is Verdict.PROVED

    @pytest.mark.slow
    def test_proved_for_every_size_there_may_be(self) -> None:
        for size in range(1, MAX_HOST + 1):
            assert prove_all((*tier_lemmas(size), *admission_lemmas(size))).verdict is Verdict.PROVED

    @pytest.mark.parametrize("size", OTHERS)
    def test_several_hosts_are_open_where_the_condition_fails(self, size: int) -> None:
        """Without its last premise, that there are places enough, each lemma of a width that leaves a rest falls."""
        for lemma in tier_lemmas(size):
            if "at most one" in lemma.label and size % int(lemma.label.split()[-1]):
                assert prove(Lemma(lemma.label, lemma.claim, lemma.given[:-1])).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("size", OTHERS)
    def test_slots_fit_where_there_is_room(self, size: int) -> None:
        """Without the premise that room is lacking, lemmas fall of slots that can have room beside such blocks."""
        for lemma in admission_lemmas(size):
            lacking = 4 if "ones" in lemma.label else 3
            slot, width = _numbers(lemma.label)
            given = (*lemma.given[:lacking], *lemma.given[lacking + 1 :])
            if slot + width < size:
                assert prove(Lemma(lemma.label, lemma.claim, given)).verdict is Verdict.REFUTED, lemma.label

    @given(st.sampled_from([3, 5, 6, 7, 9, 12, 72]), st.data())
    def test_the_premise_is_the_condition(self, size: int, data: st.DataObject) -> None:
        """Of hosts as the lemma has them, the formula says what `tier_condition` says of their blocks of that width."""
        lemma = data.draw(st.sampled_from([lemma for lemma in tier_lemmas(size) if "at most one" in lemma.label]))
        width = int(lemma.label.split()[-1])
        places, rest = divmod(size, width)
        full, blocks = data.draw(st.integers(0, 5)), data.draw(st.integers(1, (size - 1) // width))
        rooms = data.draw(st.lists(st.integers(1, rest), max_size=4)) if rest else []
        demands = {1: full * rest + sum(rest - room for room in rooms)}
        demands[width] = demands.get(width, 0) + places * (full + len(rooms)) + blocks
        condition = tier_condition([demands.get(units, 0) for units in range(1, size + 1)])
        numbers = {"full": full, "others": len(rooms), "left": sum(rooms), "blocks": blocks}
        assert all(holds(part, numbers) for part in lemma.given[:-1])
        there = {at: asked <= offered for at, asked, offered in condition.blocks}
        assert holds(lemma.given[-1], numbers) == there.get(width, True)


def _numbers(label: str) -> tuple[int, int]:
    """Return the width of the slot that a lemma of D2 speaks of, and that of the blocks beside it."""
    slot, blocks = label.split("slot of ")[1].split(", ")
    last = blocks.split()[-1]
    return int(slot), int(last) if last.isdigit() else int(slot)


def no_way(*_: object) -> tuple[()]:
    return ()


@pytest.fixture(autouse=True)
def fresh_table() -> Iterator[None]:
    """Forget the exchanges found by code that a test has broken."""
    exchange.exchanges.cache_clear()
    yield
    exchange.exchanges.cache_clear()


class TestExchanges:
    @pytest.mark.parametrize("size", [*range(1, 13), 17, 18, 20])
    def test_none_is_missing(self, size: int) -> None:
        assert not list(missing_exchanges(size))

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [13, 14, 15, 16, 24, 72])
    def test_none_is_missing_on_large_hosts(self, size: int) -> None:
        assert not list(missing_exchanges(size))

    @pytest.mark.parametrize("size", [5, 6, 9, 14])
    @pytest.mark.parametrize("way", ["pour", "swap", "pour_for_ones"])
    def test_the_telling_pairs_tell(self, size: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Hosts taken as if too large for all pairs: none lacks an exchange, and some do once a way is missing."""
        monkeypatch.setattr(exchanges, "EVERY_PAIR", 0)
        assert not list(missing_exchanges(size))
        monkeypatch.setattr(exchanges, way, no_way)
        # ones go back only where what is left of a host beside places of a slot's width is most of that width
        assert bool(list(missing_exchanges(size))) == (way != "pour_for_ones" or size == 14)

    @pytest.mark.parametrize(("size", "way"), [(6, "pour"), (9, "pour"), (14, "pour_for_ones")])
    def test_every_pair_tells(self, size: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchange, way, no_way)
        assert list(missing_exchanges(size))

    def test_ones_that_go_back_are_needed(self) -> None:
        """On hosts of 14, {8, 1} and seven 2s for a slot of 5: room for 5 beside a one, but no one to fill it."""
        assert owed(14, (8, 1), (2,) * 7, 8)

    @pytest.mark.parametrize("size", range(1, 7))
    def test_instances_are_exchanged_where_blocks_are(self, size: int) -> None:
        assert not list(blocks_beside_instances(size))


@pytest.mark.parametrize("size", [3, 5, 6, 7, 9, 12, 72])
@settings(max_examples=settings().max_examples // 3)
@given(data=st.data())
def test_no_exchange_is_owed_after_an_event(size: int, data: st.DataObject) -> None:
    """After every event at most one host is open, or no two saturated hosts owe each other an exchange."""
    state = ClusterState.empty(4, size)
    for event in data.draw(event_lists(capacity=size, max_events=20)):
        moves: tuple[Migration, ...] = ()
        match event:
            case Arrival(job):
                state = arrive_tight(state, job, every_move_counts_one).state
            case Departure(name) if name in state.jobs_by_name:
                outcome = settle_tight(state.without_job(name), every_move_counts_one)
                state, moves = outcome.state, outcome.migrations
            case _:
                continue
        assert len({move.instance for move in moves}) == len(moves)
        shapes = [node.shape for node in state.nodes if node.used and node.shape.demands[0] < size]
        if sum(shape.open for shape in shapes) < 2 or any(shape.vacancy for shape in shapes):
            continue
        kinds = [tuple(block.width for block in blocks_of(shape)) for shape in shapes]
        assert not any(
            owed(size, kinds[a], kinds[b])
            for a, b in product(range(len(kinds)), repeat=2)
            if a != b and shapes[a].open and shape_of(size, kinds[a]).open
        )


class TestClaims:
    def test_are_proved(self) -> None:
        for settle in (d1, d2):
            found = settle(Effort.QUICK)
            assert found.status is Status.PROVED
            assert "K = 1 to 12, one at a time" in found.details

    def test_the_papers_nine_panels(self) -> None:
        """Nine 8-panel and nine 1-panel jobs: Φ = 9 as printed, Φ* = 0."""
        assert papers_example() == (
            "K = 9, 9x8, 9x1 on 10 domains: Φ* = 0; Φ = 9 as printed, 0 where ones may join slots"
        )
