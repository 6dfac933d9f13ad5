"""The bound of COMPASS is reached: a state with Φ = 2 and Φ* = 0 on every cluster of two nodes or more (C4, P8).

The witness is a node that holds one 4-GPU instance, a pool node of four ones, and any number of full nodes. Slots and
ones keep to nodes of their own under COMPASS, so nothing is left to merge; on one node the two would be full. The
paper's own example has six ones: then two GPUs stand in a partial node in every placement, and SIF is 1/N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, Variant, arrive, compact
from proofs.canonical import contents_of
from proofs.claim import Counterexample, Finding, Status
from proofs.events import Arrival, parse_events
from proofs.laws import Measures
from proofs.smt import prove_all
from proofs.smtlib import Lemma
from proofs.terms import equal, indicator, variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.claim import Effort

REACHED_UP_TO = 20
"""Nodes of the largest cluster on which the events are played."""

METHOD = "z3 for every N and every number of full nodes; the events are played on the code for N = 2..20"


def witness_events(nodes: int, full: int) -> str:
    """Return events that lead to the witness: `full` nodes of 8, one of {4}, one of four ones, the others idle.

    Raises
    ------
    ValueError
        Fewer than two nodes are left beside the full ones.
    """
    if not 0 <= full <= nodes - 2:
        raise ValueError(f"expected 0 to {nodes - 2} full nodes of {nodes}, got {full}")
    return f"{full}x8, 1x4, 4x1" if full else "1x4, 4x1"


def witness(nodes: int, full: int = 0) -> ClusterState:
    """Return the witness, built without any operator.

    Raises
    ------
    ValueError
        Fewer than two nodes are left beside the full ones.
    """
    witness_events(nodes, full)  # for its check
    placement = [(Job("four", 1, 4), (full,)), (Job("ones", 4, 1), (full + 1,) * 4)]
    if full:
        placement.append((Job("full", full, 8), tuple(range(full))))
    return ClusterState.from_placement(placement, nodes=nodes)


def reached(nodes: int, full: int) -> ClusterState:
    """Return the state that the events lead to under COMPASS."""
    state = ClusterState.empty(nodes)
    for event in parse_events(witness_events(nodes, full)):
        if isinstance(event, Arrival):
            state = arrive(state, event.job, variant=Variant.COMPASS).state
    return state


def lemmas() -> Iterator[Lemma]:
    """Yield the arithmetic, for every number of nodes and of full ones.

    Φ counts the loads that are neither 0 nor 8; Φ* is the closed form under the workload composition condition (C8),
    which holds as only 1, 4 and 8 GPUs are asked for.
    """
    nodes, full = variable("nodes"), variable("full")
    given = (nodes >= 2, full >= 0, full <= nodes - 2)
    for label, ones, avoidable in (("the witness has 2/N", 4, 2), ("the paper's example has 1/N", 6, 1)):
        total = 8 * full + 4 + ones
        inherent = indicator(~equal(total % 8, 0))
        yield Lemma(f"{label}: 2 - inherent is {avoidable}", equal(2 - inherent, avoidable), given)
        yield Lemma(f"{label}: it fits", total <= 8 * nodes, given)
    first, second = variable("first"), variable("second")
    loads = (first >= 1, first <= 7, second >= 1, second <= 7)
    none_inherent = equal((8 * full + first + second) % 8, 0)
    eight = equal(first + second, 8)
    yield Lemma("two partial nodes of eight GPUs in all are avoidable", none_inherent, (*given, *loads, eight))
    yield Lemma(
        "two partial nodes are both avoidable only with eight GPUs in all", eight, (*given, *loads, none_inherent)
    )


def tightness(effort: Effort) -> Finding:
    """Settle that SIF = 2/N is reached under COMPASS for every N ≥ 2."""
    del effort
    for nodes in range(2, REACHED_UP_TO + 1):
        for full in {0, nodes - 2}:
            problem = _not_a_witness(nodes, full)
            if problem:
                text = Counterexample(text=problem, nodes=nodes, events=witness_events(nodes, full))
                return Finding(status=Status.REFUTED, method=METHOD, counterexample=text)
    return prove_all(lemmas()).finding(METHOD, f"witness reached by events for N = 2..{REACHED_UP_TO}: 1x4, 4x1")


def _not_a_witness(nodes: int, full: int) -> str | None:
    state = reached(nodes, full)
    measures = Measures.of(contents_of(state))
    if sorted(contents_of(state)) != sorted(contents_of(witness(nodes, full))):
        return f"the events lead elsewhere: {contents_of(state)}"
    if (measures.partial_nodes, measures.inherent, measures.wcc) != (2, 0, True):
        return f"not a witness: {measures}"
    if compact(state, variant=Variant.COMPASS).state != state:
        return "Compact changes it"
    return None
