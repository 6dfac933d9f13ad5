"""What settles C1 to C11: for each claim the lemmas that make it up, and what is checked of the code beside them."""

from __future__ import annotations

from functools import cache
from itertools import chain, product
from typing import TYPE_CHECKING

from compass_core import Variant
from oracle.optimum.closed_form import Surplus
from proofs.claim import Counterexample, Effort, Finding, Status
from proofs.smt import Proof, prove_all
from proofs.soundness import REPAIRED, faulty_rules, left_mixed, node_shapes, steps_beyond_rules, surely_merged
from proofs.terms import value
from proofs.tightness import tightness
from proofs.unbounded_admission import admission
from proofs.unbounded_apart import admission_apart, rules_that_mix
from proofs.unbounded_closed_form import COUNTS, attained, fewest_partial_nodes, lower_bounds, under_the_condition
from proofs.unbounded_compaction import (
    no_filler_needed,
    one_open_node,
    saturation,
    separation,
    two_open_nodes,
    witness,
    witness_is_inevitable,
)
from proofs.unbounded_migrations import HEIGHTS, BoundExceededError, bound, measured, rests, short_merges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.smtlib import Lemma

SURPLUS = {Effort.QUICK: 6, Effort.FULL: 14}
"""How far the formula of C8 is compared with the code in each of its three unbounded arguments."""

EVENTS = {Effort.QUICK: 1_000, Effort.FULL: 20_000}
"""Random events behind the measured maximum of C10."""


@cache
def _faults() -> tuple[str, ...]:
    """Return where rules and code part: nothing may be said of the code then."""
    return tuple(chain(faulty_rules(), *(steps_beyond_rules(variant) for variant in REPAIRED)))


def _settled(lemmas: Iterable[Lemma], method: str, *details: str) -> Finding:
    if _faults():
        return Finding(
            status=Status.UNKNOWN,
            method="the rules of the abstraction are not the steps of the code",
            details=_faults()[:3],
        )
    return prove_all(lemmas).finding(method, *details)


def c1(effort: Effort) -> Finding:
    """Settle C1: Σ⁺ is kept by every step, Σ is left only where slots and ones do not fit apart."""
    del effort
    return _settled(
        separation(),
        "each step over all things one or two nodes can hold, exhaustively; what is left after an event over unbounded "
        "counters of 44 kinds of node, by z3",
        f"{len(node_shapes())} things a node of Σ⁺ can hold",
        "mixed nodes a departure under COMPASS may leave: "
        + ", ".join(f"slots of {list(kind.widths)} and {kind.ones} one" for kind in sorted(left_mixed())),
    )


def c2(effort: Effort) -> Finding:
    """Settle C2: invariant I holds at the start and after every event."""
    del effort
    return _settled(saturation(), "every rule that moves instances keeps it, over unbounded counters, by z3")


def c3(effort: Effort) -> Finding:
    """Settle C3: two open nodes at most after an event of COMPASS."""
    del effort
    pairs = len(surely_merged(Variant.COMPASS))
    return _settled(
        two_open_nodes(),
        "while the bound fails there is a pair that the code merges, over unbounded counters, by z3; every merge "
        "lowers a rank",
        f"{pairs} pairs of kinds that COMPASS merges, whatever stands on them",
    )


def c4(effort: Effort) -> Finding:
    """Settle C4: SIF ≤ 2/N under WCC, and for every N ≥ 2 a state that reaches it."""
    reached = tightness(effort)
    if reached.status is not Status.PROVED:
        return reached
    return _settled(
        chain(two_open_nodes(), witness(), witness_is_inevitable()),
        "C3, as Φ* is not negative; {4}, {1, 1, 1, 1} is what COMPASS makes of these jobs on two nodes or more, over "
        "unbounded counters, by z3",
        *reached.details,
    )


def c5(effort: Effort) -> Finding:
    """Settle C5: with demands of 2, 4 and 8 GPUs COMPASS has SIF = 0."""
    del effort
    return _settled(no_filler_needed(), "as C3; no placement does better than the remainder of T modulo 8")


def c6(effort: Effort) -> Finding:
    """Settle C6: EXACT has Φ = Φ* under WCC."""
    del effort
    pairs = len(surely_merged(Variant.EXACT))
    return _settled(
        one_open_node(),
        "as C3, with one class of open nodes; no placement does better than the remainder of T modulo 8",
        f"{pairs} pairs of kinds that EXACT merges, whatever stands on them",
    )


def c7(effort: Effort) -> Finding:
    """Settle C7: EXACT admits by what is reserved, under WCC by the free GPUs."""
    del effort
    return _settled(
        admission(), "Place step by step: where no node may take an instance that fits, the exchange makes room; by z3"
    )


@cache
def _closed_form() -> Proof:
    """Return the induction behind C8 and C9, done once."""
    return prove_all(chain(lower_bounds(), attained()))


def c8(effort: Effort) -> Finding:
    """Settle C8: the closed form of Φ* under WCC and for every workload, and `oracle.optimum.reductions`."""
    wrong = _formula_beside_code(SURPLUS[effort])
    if wrong is not None:
        return Finding(status=Status.REFUTED, method="compared with the code", counterexample=wrong)
    proof = _closed_form()
    if proof.failed is None:
        condition = prove_all(under_the_condition())
        proof = Proof(proof.asked + condition.asked, condition.failed, condition.answer)
    return proof.finding(
        "induction over the nodes: no node saves a partial one, and some node costs none; eight unbounded counts, "
        "by z3",
        f"the formula is the code's for surpluses of ones, twos and threes up to ±{SURPLUS[effort]}",
    )


def _formula_beside_code(reach: int) -> Counterexample | None:
    formula = fewest_partial_nodes(COUNTS)
    for ones, twos, threes, odd in product(*[range(-reach, reach + 1)] * 3, range(2)):
        counts = (
            max(0, ones), max(0, twos), max(0, threes), odd, max(0, -threes), max(0, -twos), max(0, -ones), 0
        )  # fmt: skip
        numbers = {variable.name: count for variable, count in zip(COUNTS, counts, strict=True)}
        if value(formula, numbers) != Surplus.of(counts).partial_nodes:
            return Counterexample(text=f"counts {counts}: formula and code differ")
    return None


def c9(effort: Effort) -> Finding:
    """Settle C9: one placement has both the fewest partial nodes and the fewest nodes in use."""
    del effort
    return _closed_form().finding(
        "the induction of C8 with both numbers at once: the node set aside costs neither, by z3",
        "the fewest nodes in use: the largest of five shares, rounded up",
    )


def c10(effort: Effort) -> Finding:
    """Settle C10: the moves of an event are bounded by the instances that came or left."""
    for variant in REPAIRED:
        short = next(short_merges(variant, HEIGHTS[variant]), None)
        if short is not None:
            return Finding(status=Status.UNKNOWN, method="the heights do not pay for every merge", details=(short,))
    details: list[str] = []
    for variant in REPAIRED:
        most = {instances: max(bound(variant, g, instances) for g in range(1, 9)) for instances in (1, 2)}
        try:
            single, each = measured(variant, events=EVENTS[effort])
        except BoundExceededError as event:
            return Finding(
                status=Status.REFUTED, method="random events", counterexample=Counterexample(text=str(event))
            )
        details.append(
            f"{variant.value}: at most {most[1]} moves for one instance and {most[2] - most[1]} for each further one "
            f"(less for most demands); measured over {EVENTS[effort]} random events: {single} for one instance, "
            f"{each:g} an instance of any event"
        )
    return _settled(
        chain(*(rests(variant) for variant in REPAIRED)),
        "a potential that every merge lowers by what it moves, checked over all pairs of nodes; what it comes to after "
        "an event by z3",
        *details,
    )


def c11(effort: Effort) -> Finding:
    """Settle C11: COMPASS admits by what slots and ones need on nodes of their own."""
    del effort
    mixing = next(rules_that_mix(), None)
    if mixing is not None:
        return Finding(status=Status.UNKNOWN, method="a step that should keep nodes apart does not", details=(mixing,))
    return _settled(
        admission_apart(),
        "Place instance by instance: one that fits apart has a host, and where a 3 has none it goes beside the fillers "
        "of the next; by z3",
    )
