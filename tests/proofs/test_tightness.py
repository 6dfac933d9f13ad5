"""SIF = 2/N is reached by COMPASS on every cluster of two nodes or more, and the paper's example does not reach it."""

from __future__ import annotations

import pytest

from compass_core import ClusterState, sif
from oracle import inherent_partial_nodes
from proofs import tightness
from proofs.canonical import contents_of
from proofs.claim import Effort, Status
from proofs.smt import Verdict, prove
from proofs.smtlib import Lemma
from proofs.terms import equal, variable
from proofs.tightness import lemmas, reached, witness, witness_events


@pytest.mark.parametrize("nodes", [2, 3, 7, 20, 5_000])
@pytest.mark.parametrize("idle", [True, False])
def test_the_witness(nodes: int, *, idle: bool) -> None:
    state = witness(nodes, 0 if idle else nodes - 2)
    state.check()
    assert state.wcc
    assert state.partial_nodes == 2
    assert inherent_partial_nodes(state.counts, nodes=nodes) == 0
    assert sif(state) == 2 / nodes
    assert sorted(map(sum, contents_of(state)))[-2:] == (
        [4, 4] if idle or nodes == 2 else [8, 8] if nodes > 3 else [4, 8]
    )


def test_the_events_lead_there() -> None:
    for nodes in range(2, 21):
        assert sif(reached(nodes, nodes - 2)) == 2 / nodes


def test_no_witness_without_two_nodes() -> None:
    for nodes, full in ((1, 0), (2, 1), (3, -1)):
        with pytest.raises(ValueError, match="full nodes"):
            witness_events(nodes, full)


def test_every_lemma_is_proved_and_their_denials_are_not() -> None:
    for lemma in lemmas():
        assert prove(lemma).verdict is Verdict.PROVED
        assert prove(Lemma("denied", ~lemma.claim, lemma.given)).verdict is Verdict.REFUTED


def test_settled() -> None:
    assert tightness.tightness(Effort.QUICK).status is Status.PROVED


def idle(nodes: int, full: int) -> ClusterState:
    del full
    return ClusterState.empty(nodes)


def test_a_scheduler_that_merges_more_is_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tightness, "reached", idle)
    assert tightness.tightness(Effort.QUICK).status is Status.REFUTED


def test_a_false_lemma_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = variable("nodes")
    monkeypatch.setattr(tightness, "lemmas", lambda: iter([Lemma("false", equal(nodes, 2), (nodes >= 2,))]))
    assert tightness.tightness(Effort.QUICK).status is Status.REFUTED
