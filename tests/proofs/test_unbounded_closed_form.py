"""C8 and C9: the induction holds, and each of its parts can fall."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from oracle.optimum.closed_form import closed_form_with_witness
from oracle.optimum.reductions import RULES
from proofs import unbounded
from proofs.claim import Effort, Status
from proofs.smt import Verdict, prove_all
from proofs.terms import Term, equal, indicator, term, value
from proofs.unbounded_closed_form import (
    COUNTS,
    LAST_NODES,
    PATTERNS,
    SHARES,
    Counts,
    attained,
    fewest_nodes,
    fewest_partial_nodes,
    lower_bounds,
    under_the_condition,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.smtlib import Lemma


def refuted(lemmas: Iterable[Lemma], about: str = "") -> bool:
    """Whether a lemma whose label contains those words falls."""
    return prove_all(lemma for lemma in lemmas if about in lemma.label).verdict is Verdict.REFUTED


def numbers(formula: Term, counts: tuple[int, ...]) -> int:
    return value(formula, {variable.name: count for variable, count in zip(COUNTS, counts, strict=True)})


class TestFormulas:
    """The formulas that are proved are those of the code, and of placements counted one by one."""

    def test_patterns(self) -> None:
        assert len(PATTERNS) == len(set(PATTERNS)) == 66
        assert sum(sum(pattern) == 8 for pattern in PATTERNS) == 22

    def test_code_and_formula(self) -> None:
        rng = random.Random(7)
        partial, nodes = fewest_partial_nodes(COUNTS), fewest_nodes(COUNTS)
        for _ in range(1_500):
            counts = tuple(rng.choice((0, 1, 2, 3, rng.randint(0, 40))) for _ in range(8))
            found = closed_form_with_witness(counts)
            assert numbers(partial, counts) == found.partial_nodes, counts
            assert numbers(nodes, counts) == found.nodes_in_use, counts

    def test_small_workloads_one_by_one(self) -> None:
        # Both by a dynamic program over whole workloads that knows nothing of either formula.
        partial, nodes = fewest_partial_nodes(COUNTS), fewest_nodes(COUNTS)
        parts = [(tuple(pattern.count(g) for g in range(1, 9)), sum(pattern) < 8) for pattern in PATTERNS]
        best: dict[tuple[int, ...], tuple[int, int]] = {(0,) * 8: (0, 0)}
        for total in range(1, 17):
            for counts in _workloads(total):
                rests = ((tuple(a - b for a, b in zip(counts, part, strict=True)), open_) for part, open_ in parts)
                known = [(best[rest], open_) for rest, open_ in rests if min(rest) >= 0]
                fewest = min(one[0] + open_ for one, open_ in known), min(one[1] + 1 for one, _ in known)
                best[counts] = fewest
                assert (numbers(partial, counts), numbers(nodes, counts)) == fewest, counts

    def test_settled_by_comparison_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def none(counts: Counts) -> Term:
            return term(0) * len(counts)

        monkeypatch.setattr(unbounded, "fewest_partial_nodes", none)
        finding = unbounded.c8(Effort.QUICK)
        assert finding.status is Status.REFUTED
        assert finding.counterexample is not None


def _workloads(total: int, largest: int = 8) -> Iterable[tuple[int, ...]]:
    if largest == 1:
        yield (total,)
        return
    for many in range(total // largest + 1):
        for smaller in _workloads(total - many * largest, largest - 1):
            yield (*smaller, many)


def test_under_the_condition() -> None:
    assert prove_all(under_the_condition()).verdict is Verdict.PROVED


@pytest.mark.slow
def test_proved() -> None:
    assert unbounded.c8(Effort.QUICK).status is Status.PROVED
    assert unbounded.c9(Effort.QUICK).status is Status.PROVED


class TestBroken:
    """What is said a little wrong falls."""

    def test_condition_off_by_one(self) -> None:
        def one_more(counts: Counts) -> Term:
            return fewest_partial_nodes(counts) + indicator(equal(counts[0], 3))

        assert refuted(under_the_condition(one_more))

    def test_partial_nodes_one_too_many(self) -> None:
        def one_more(counts: Counts) -> Term:
            return fewest_partial_nodes(counts) + indicator(equal(counts[2], 2) & equal(counts[1], 1))

        assert refuted(lower_bounds(partial=one_more), "saves no partial node")

    def test_partial_nodes_one_too_few(self) -> None:
        def one_fewer(counts: Counts) -> Term:
            return fewest_partial_nodes(counts) - indicator(equal(counts[3], 1) & equal(counts[2], 1))

        assert refuted(attained(partial=one_fewer), "(4, 4) costs no partial")

    def test_nodes_with_a_share_too_large(self) -> None:
        shares = (*SHARES[:1], (0, 0, 4, 4, 5, 8, 8, 8), *SHARES[2:])
        assert refuted(lower_bounds(nodes=lambda counts: fewest_nodes(counts, shares)), "saves no node")

    @pytest.mark.long
    @pytest.mark.parametrize("left_out", range(len(SHARES)))
    def test_nodes_with_a_share_left_out(self, left_out: int) -> None:
        shares = (*SHARES[:left_out], *SHARES[left_out + 1 :])
        # Too few nodes are claimed for some workload, which is then packed into fewer than it needs.
        assert refuted(attained(nodes=lambda counts: fewest_nodes(counts, shares)))

    @pytest.mark.parametrize("at", [at for at, rule in enumerate(RULES) if rule.at_most])
    def test_a_rule_without_its_condition(self, at: int) -> None:
        rule = replace(RULES[at], at_most=())
        assert refuted(islice(attained(rules=(rule,)), 2))

    def test_the_last_rule_without_its_condition(self) -> None:
        assert refuted(islice(attained(rules=(replace(RULES[-1], beside=()),)), 2))

    @pytest.mark.parametrize(
        ("left_out", "present"),
        [((5, 1, 1, 1), [1, 5]), ((3, 3), [3]), ((4, 2, 2), [1, 2, 4]), ((1,) * 8, [1])],
    )
    def test_a_node_left_out(self, left_out: tuple[int, ...], present: list[int]) -> None:
        last = [pattern for pattern in LAST_NODES if pattern != left_out]
        assert refuted(attained(last=last), f"demands {present}:")
