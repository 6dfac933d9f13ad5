"""Each proof holds, speaks of something, and falls when the model is broken."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from compass_core import ClusterState, Job, Variant, arrive
from proofs import tightness, unbounded
from proofs.abstraction import EMPTY, KINDS, Kind, Looks, filling, looks, merging
from proofs.claim import Effort, Status
from proofs.counters import COUNTED, COUNTERS, composed, enabled, nodes, opened, partial, saturated, updated
from proofs.smt import Verdict, prove, prove_all
from proofs.smtlib import Lemma
from proofs.soundness import surely_merged
from proofs.terms import equal, every
from proofs.unbounded_admission import EXCHANGED, admission, exchange_has_a_target
from proofs.unbounded_compaction import (
    WITNESS,
    inherent,
    no_filler_needed,
    one_open_node,
    other_mixed_looks,
    saturation,
    separation,
    settled,
    two_open_nodes,
    witness,
    witness_is_inevitable,
)
from proofs.unbounded_migrations import rests

if TYPE_CHECKING:
    from collections.abc import Iterable

NEVER = ~every(())


def verdict(lemmas: Iterable[Lemma]) -> Verdict:
    return prove_all(lemmas).verdict


def without(variant: Variant, *dropped: Looks) -> frozenset[Looks]:
    """Return the pairs the code merges, but for some it is made to forget."""
    pairs = surely_merged(variant)
    assert pairs.issuperset(dropped)
    return pairs - set(dropped)


@pytest.mark.parametrize("claim", ["c1", "c3", "c4", "c5", "c6", "c7"])
def test_proved(claim: str) -> None:
    finding = getattr(unbounded, claim)(Effort.QUICK)
    assert finding.status is Status.PROVED, finding


@pytest.mark.slow
def test_saturation_is_proved() -> None:
    assert unbounded.c2(Effort.QUICK).status is Status.PROVED


def test_rules_that_are_not_the_code_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbounded, "_faults", lambda: ("a step no rule allows",))
    finding = unbounded.c3(Effort.QUICK)
    assert (finding.status, finding.details) == (Status.UNKNOWN, ("a step no rule allows",))


class TestNotVacuous:
    """What is given can be met: by the idle cluster, by states with partial nodes, by states that need an exchange."""

    @pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
    def test_settled_states_exist(self, variant: Variant) -> None:
        for fact in (
            equal(nodes(COUNTERS), 5) & equal(opened(COUNTERS), 0),
            composed(COUNTERS) & (partial(COUNTERS) >= 1),
        ):
            assert prove(Lemma("none", NEVER, (*settled(variant), fact))).verdict is Verdict.REFUTED

    def test_compass_does_leave_mixed_nodes(self) -> None:
        given = (*settled(Variant.COMPASS), *other_mixed_looks(), nodes(COUNTERS, lambda kind: kind.mixed) >= 1)
        assert prove(Lemma("none", NEVER, given)).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("demand", [5, 6])
    def test_exchanges_are_needed(self, demand: int) -> None:
        stuck = next(lemma for lemma in admission() if lemma.label.startswith(f"if {demand} GPUs find no host, one"))
        assert prove(Lemma("none", NEVER, stuck.given)).verdict is Verdict.REFUTED

    def test_every_premise_can_be_met(self) -> None:
        lemmas = (
            *separation(), *two_open_nodes(), *no_filler_needed(), *one_open_node(), *witness(),
            *witness_is_inevitable(), *tightness.lemmas(), *rests(Variant.COMPASS), *rests(Variant.EXACT),
        )  # fmt: skip
        for lemma in lemmas:
            assert prove(Lemma("none", NEVER, lemma.given)).verdict is Verdict.REFUTED, lemma.label

    def test_what_no_exchange_is_needed_for(self) -> None:
        """Of C7: that a 1, 2, 4 or 8 has a host is to say that nothing meets the premise; a 3 and a 7 have one too."""
        empty = {x.label for x in admission() if prove(Lemma("none", NEVER, x.given)).verdict is Verdict.PROVED}
        assert {label for label in empty if "fits by what is reserved" in label} == {
            f"an instance of {demand} GPUs that fits by what is reserved has a host" for demand in (1, 2, 4, 8)
        }
        exchanges = {label for label in empty if "fits by" not in label}
        assert all(" 3 GPUs" in label or " 7 GPUs" in label or "n2_o1" in label for label in exchanges)
        assert not any(" 5 GPUs" in label for label in exchanges)

    def test_exchanges_have_targets(self) -> None:
        for lemma in exchange_has_a_target():
            assert prove(Lemma("none", NEVER, lemma.given)).verdict is Verdict.REFUTED


class TestSaturation:
    """C2 falls when a rule is broken."""

    def test_holds_for_the_first_rules(self) -> None:
        some = dict(islice(merging(Variant.EXACT).items(), 40))
        assert verdict(saturation(moves=some)) is Verdict.PROVED

    def test_a_merge_that_adds_a_vacancy(self) -> None:
        # {5} with a filler beside a pool node: the filler joins the pool.
        before, after = looks((Kind((8,), 2), Kind((), -1))), looks((Kind((8,), 3), Kind((), -2)))
        lemmas = list(saturation(moves={before: frozenset({after})}))
        assert verdict(lemmas) is Verdict.PROVED  # never enabled: a vacancy and a one stand there already
        before, after = looks((Kind((8,), 0), Kind((), -1))), looks((Kind((8,), 1), Kind((), -2)))
        assert verdict(saturation(moves={before: frozenset({after})})) is Verdict.REFUTED

    def test_a_filling_left_out(self) -> None:
        some = dict(filling())
        del some[looks((Kind((8,), 3), Kind((), -8)))]
        assert verdict(saturation(fills=some, moves={})) is Verdict.REFUTED


class TestCompass:
    """C1, C3, C4 and C5 fall when Compact forgets a merge."""

    def test_the_printed_fault(self) -> None:
        # P1: a node that holds one slot of width 4 is no host for a slot of width 2.
        forgotten = without(Variant.COMPASS, looks((Kind((4,), 0), Kind((2, 2, 2), 0))))
        proof = prove_all(two_open_nodes(forgotten))
        assert proof.verdict is Verdict.REFUTED
        assert proof.answer.model is not None
        assert proof.answer.model["n4_o0"] == proof.answer.model["n222_o0"] == 1
        assert verdict(no_filler_needed(forgotten)) is Verdict.REFUTED

    @pytest.mark.parametrize(
        "pair",
        [
            (Kind((), -3), Kind((), -6)),  # pools
            (Kind((4,), 1), Kind((2,), 0)),  # slots, one with a vacancy
            (Kind((2, 2), 0), Kind((2, 2), 0)),  # two nodes of one look
        ],
    )
    def test_any_other_merge(self, pair: Looks) -> None:
        assert verdict(two_open_nodes(without(Variant.COMPASS, looks(pair)))) is Verdict.REFUTED

    @pytest.mark.parametrize("partner", [EMPTY, Kind((), -3), Kind((2,), 0)])
    def test_a_mixed_node_left_alone(self, partner: Kind) -> None:
        forgotten = without(Variant.COMPASS, looks((Kind((4,), -1), partner)))
        assert verdict(separation(forgotten)) is Verdict.REFUTED

    def test_a_bound_of_one_is_too_little(self) -> None:
        wrong = Lemma("one", composed(COUNTERS) & (partial(COUNTERS) >= 2) & NEVER, ())
        assert prove(wrong).verdict is Verdict.REFUTED
        two = next(lemma for lemma in two_open_nodes() if "partial" in lemma.label)
        assert prove(Lemma("one", ~composed(COUNTERS) | (partial(COUNTERS) <= 1), two.given)).verdict is Verdict.REFUTED

    def test_two_need_the_condition(self) -> None:
        assert prove(Lemma("two", partial(COUNTERS) <= 2, settled(Variant.COMPASS))).verdict is Verdict.REFUTED

    def test_closed_mixed_nodes_could_not_be_parted(self) -> None:
        # Why C1 needs to know which mixed nodes a departure leaves: two full ones have no GPU free to move through.
        lemma = next(iter(separation()))
        assert prove(Lemma(lemma.label, lemma.claim, settled(Variant.COMPASS))).verdict is Verdict.REFUTED

    def test_the_witness(self) -> None:
        assert verdict(witness()) is Verdict.PROVED

    def test_the_witness_is_what_any_cluster_makes_of_these_jobs(self) -> None:
        assert verdict(witness_is_inevitable()) is Verdict.PROVED
        (lemma,) = witness_is_inevitable()
        assert prove(Lemma("none", NEVER, lemma.given)).verdict is Verdict.REFUTED
        # A Compact that forgets to merge pools would leave more of them partial.
        forgotten = without(Variant.COMPASS, looks((Kind((), -1), Kind((), -3))))
        assert verdict(witness_is_inevitable(forgotten)) is Verdict.REFUTED

    @pytest.mark.parametrize("other", [Kind((), -6), Kind((2,), 0), Kind((), -3)])
    def test_other_states_are_no_witness(self, other: Kind) -> None:
        # Six ones are the paper's example: T = 10 leaves a remainder.
        assert verdict(witness(looks((WITNESS[0], other)))) is Verdict.REFUTED


class TestExact:
    """C6 and C7 fall when Compact forgets a merge, when Place is asked for too much, or has fewer exchanges."""

    @pytest.mark.parametrize("pair", [(Kind((4,), 0), Kind((), -4)), (Kind((2,), -1), Kind((2, 2), 0))])
    def test_a_merge_left_out(self, pair: Looks) -> None:
        forgotten = without(Variant.EXACT, looks(pair))
        assert verdict(one_open_node(forgotten)) is Verdict.REFUTED
        assert verdict(admission(forgotten)) is Verdict.REFUTED

    def test_one_gpu_more_than_there_is(self) -> None:
        assert verdict(admission(beyond=1)) is Verdict.REFUTED

    def test_an_exchange_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("proofs.unbounded_admission.EXCHANGED", EXCHANGED[:1])
        assert verdict(admission()) is Verdict.REFUTED

    def test_a_larger_exchange(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("proofs.unbounded_admission.BLOCK", 3)
        assert verdict(admission()) is Verdict.REFUTED

    def test_no_partial_node_at_all_is_too_little(self) -> None:
        claim = ~composed(COUNTERS) | equal(partial(COUNTERS), 0)
        assert prove(Lemma("none", claim, settled(Variant.EXACT))).verdict is Verdict.REFUTED


class TestInherent:
    """The remainder of T is a lower bound for every placement, and no more than that."""

    def test_holds(self) -> None:
        assert verdict(inherent()) is Verdict.PROVED

    def test_needs_that_no_node_is_partial(self) -> None:
        first = next(iter(inherent()))
        assert prove(Lemma(first.label, first.claim, first.given[:-1])).verdict is Verdict.REFUTED


class TestCounters:
    """Counters say of all nodes what the state says."""

    def test_a_rule_changes_what_it_says(self) -> None:
        before, after = looks((Kind((4,), 0), Kind((4,), 0))), looks((Kind((4, 4), 0), EMPTY))
        later = updated(COUNTERS, before, after)
        given = (*COUNTED, enabled(COUNTERS, before))
        assert prove(Lemma("N", equal(nodes(later), nodes(COUNTERS)), given)).verdict is Verdict.PROVED
        assert prove(Lemma("counts", every(later[kind] >= 0 for kind in KINDS), given)).verdict is Verdict.PROVED
        assert prove(Lemma("two fewer", equal(opened(later), opened(COUNTERS) - 2), given)).verdict is Verdict.PROVED
        once = enabled(COUNTERS, looks((Kind((4,), 0),)))
        assert (
            prove(Lemma("one is enough", every(later[k] >= 0 for k in KINDS), (*COUNTED, once))).verdict
            is Verdict.REFUTED
        )

    def test_saturation_is_the_code_s(self) -> None:
        # {5} with room for three fillers, and a one on the next node: not saturated.
        given = tuple(equal(COUNTERS[k], 1 if k in {Kind((8,), 3), Kind((), -1)} else 0) for k in KINDS)
        assert prove(Lemma("saturated", saturated(COUNTERS), given)).verdict is Verdict.REFUTED


@pytest.mark.parametrize("nodes_", [1, 2])
def test_exact_admits_by_what_is_reserved(nodes_: int) -> None:
    """C7 on the code itself: every placement of Σ⁺ on one node, or an idle one beside it, and every job."""
    from proofs.soundness import node_shapes  # noqa: PLC0415 - the shapes of nodes, for this test alone

    for shape in node_shapes():
        placement = [(Job(f"j{at}", 1, gpus), (0,)) for at, gpus in enumerate(shape.demands)]
        state = ClusterState.from_placement(placement, nodes=nodes_)
        for gpus in range(1, 9):
            for instances in range(1, 8 * nodes_ // gpus + 1):
                held = [*shape.demands, *[gpus] * instances]
                slots = sum(2 if g == 2 else 4 if g <= 4 else 8 for g in held if g > 1)
                reserved = max(slots, sum(held))
                out = arrive(state, Job("new", instances, gpus), variant=Variant.EXACT)
                assert out.admitted == (reserved <= 8 * nodes_), (shape.demands, gpus, instances)
