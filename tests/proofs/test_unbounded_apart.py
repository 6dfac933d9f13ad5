"""C11 holds, speaks of something, and falls when the model or the code is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import ClusterState, Job, Variant, arrive
from proofs import unbounded, unbounded_apart
from proofs.abstraction import EMPTY, Kind, looks
from proofs.claim import Effort, Status
from proofs.counters import COUNTERS, nodes
from proofs.laws import fits_apart
from proofs.smt import Verdict, prove, prove_all
from proofs.smtlib import Lemma
from proofs.soundness import surely_merged
from proofs.terms import equal, value
from proofs.unbounded_apart import (
    NEVER,
    admission_apart,
    hosts,
    hosts_of_threes,
    need,
    need_of_a_gang,
    need_with,
    need_without_mixed_nodes,
    rules_that_mix,
)
from tests.proofs.test_abstraction import STATES, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def verdict(lemmas: Iterable[Lemma]) -> Verdict:
    return prove_all(lemmas).verdict


def can_be(lemma: Lemma) -> bool:
    return prove(Lemma("none", NEVER, lemma.given)).verdict is Verdict.REFUTED


def test_proved() -> None:
    assert list(rules_that_mix()) == []
    assert unbounded.c11(Effort.QUICK).status is Status.PROVED


class TestNotVacuous:
    """What is given can be met; only that an instance which fits has no host cannot."""

    def test_premises(self) -> None:
        for lemma in (*need_without_mixed_nodes(), *need_of_a_gang(), *hosts_of_threes()):
            assert can_be(lemma), lemma.label

    def test_instances_without_a_host(self) -> None:
        for lemma in hosts():
            assert can_be(Lemma(lemma.label, lemma.claim, lemma.given[:-1])), lemma.label


class TestFalls:
    """It falls when a job may need more than there is, when a merge is forgotten, when a lemma is asked for more."""

    def test_a_node_more_than_there_is(self) -> None:
        assert verdict(admission_apart(beyond=1)) is Verdict.REFUTED

    @pytest.mark.parametrize(
        "pair", [(Kind((4,), 0), Kind((4,), 0)), (Kind((), -3), Kind((), -6)), (Kind((4,), -1), EMPTY)]
    )
    def test_a_merge_left_out(self, pair: tuple[Kind, Kind]) -> None:
        forgotten = surely_merged(Variant.COMPASS) - {looks(pair)}
        assert verdict(admission_apart(forgotten)) is Verdict.REFUTED

    def test_the_need_does_fall_with_a_3(self) -> None:
        widths, balance = unbounded_apart.WIDTHS, unbounded_apart.BALANCE
        one = need(widths, balance) <= need(widths + 4, balance + 1)
        assert prove(Lemma("one", one, (widths >= 0,))).verdict is Verdict.REFUTED
        two = need(widths, balance) <= need(widths + 8, balance + 2)
        assert prove(Lemma("two", two, (widths >= 0,))).verdict is Verdict.PROVED

    def test_three_ones_are_not_what_a_3_goes_beside(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unbounded_apart, "TWO_ONES", Kind((), -3))
        assert verdict(hosts_of_threes()) is Verdict.REFUTED

    def test_a_3_does_need_a_place_beside_ones(self) -> None:
        stuck = next(iter(hosts_of_threes()))
        at_two = Lemma("two nodes", ~equal(nodes(COUNTERS), 1), stuck.given)
        assert prove(at_two).verdict is Verdict.REFUTED  # {1, 1} and 2x3 on one node
        state = arrive(ClusterState.empty(1), Job("ones", 2), variant=Variant.COMPASS).state
        assert arrive(state, Job("threes", 2, 3), variant=Variant.COMPASS).admitted
        assert not arrive(state, Job("three", 1, 3), variant=Variant.COMPASS).admitted

    def test_mixing_rules_are_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before, after = looks((Kind((4,), 0), Kind((), -1))), looks((Kind((4,), -1), EMPTY))
        monkeypatch.setattr(unbounded_apart, "filling", lambda: {before: frozenset({after})})
        assert len(list(rules_that_mix())) == 1


@given(state=STATES, gpus=st.integers(1, 8), instances=st.integers(1, 4))
def test_the_need_is_that_of_the_laws(state: ClusterState, gpus: int, instances: int) -> None:
    """The lemmas' need against one written down from the demands alone."""
    numbers = numbers_of(state)
    counts = tuple(n + instances * (g == gpus) for g, n in enumerate(state.counts, start=1))
    wanted = value(need_with(gpus, instances=instances), numbers)
    assert fits_apart(counts, wanted)
    assert not fits_apart(counts, wanted - 1)
