"""The closed form against a dynamic program that knows no rule, against the pattern model, and its own proofs."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cp_sat import solve_by_cp_sat
from benchmarks.pattern_model import PatternModel
from oracle.optimum.closed_form import Surplus, closed_form_with_witness, fewest_partial_nodes
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.reductions import RULES, Reductions, Remainder, Removal, Rule, reductions_bound, uniform_problem
from oracle.optimum.solver import Outcome, Row
from oracle.optimum.weights import ArgumentError, Weights

if TYPE_CHECKING:
    from collections.abc import Iterable

Counts: TypeAlias = "tuple[int, ...]"
Optima: TypeAlias = "dict[Counts, tuple[int, int, int]]"

EXHAUSTIVE_GPUS = 40
NOTHING = (0,) * 8


def counts_of(*demands: int) -> Counts:
    return tuple(demands.count(gpus) for gpus in range(1, 9))


def gpus_in_use(counts: Counts) -> int:
    return sum(gpus * count for gpus, count in enumerate(counts, start=1))


def workloads(total: int, largest: int = 8) -> list[Counts]:
    """Return every workload of at most `total` GPUs and demands up to `largest`."""
    if largest == 0:
        return [NOTHING]
    found: list[Counts] = []
    for count in range(total // largest + 1):
        rest = workloads(total - count * largest, largest - 1)
        found += [(*smaller[: largest - 1], count, *smaller[largest:]) for smaller in rest]
    return found


PATTERNS = [counts for counts in workloads(8) if any(counts)]


def optima(some: Iterable[Counts]) -> Optima:
    """Return (Φ*, fewest nodes in use with Φ* partial ones, fewest nodes in use) of workloads closed under parts.

    The dynamic program: some node holds the largest instance; try every pattern for it.
    """
    by_largest: list[list[tuple[Counts, int]]] = [
        [(p, int(gpus_in_use(p) < 8)) for p in PATTERNS if p[largest] and not any(p[largest + 1 :])]
        for largest in range(8)
    ]
    best: Optima = {NOTHING: (0, 0, 0)}
    for counts in sorted(some, key=gpus_in_use):
        if not any(counts):
            continue
        options: list[tuple[int, int]] = []
        fewest = sum(counts)
        for (p1, p2, p3, p4, p5, p6, p7, p8), cost in by_largest[max(g for g in range(8) if counts[g])]:
            n1, n2, n3, n4, n5, n6, n7, n8 = counts
            rest = best.get((n1 - p1, n2 - p2, n3 - p3, n4 - p4, n5 - p5, n6 - p6, n7 - p7, n8 - p8))
            if rest is not None:
                options.append((rest[0] + cost, rest[1] + 1))
                fewest = min(fewest, rest[2] + 1)
        best[counts] = (*min(options), fewest)
    return best


def wcc(counts: Counts) -> bool:
    return counts[2] + 3 * counts[4] + 2 * counts[5] + counts[6] <= counts[0]


@pytest.fixture(scope="module")
def small() -> Optima:
    """Return the optima of all 73,056 workloads of up to 40 GPUs."""
    return optima(workloads(EXHAUSTIVE_GPUS))


def unpaired(most: int) -> Optima:
    """Return the optima of all workloads with at most one 4, one of 1|7, 2|6 and 3|5, `most` of each at most."""
    best: Optima = {}
    for a, b, c in product((1, 7), (2, 6), (3, 5)):
        box = product(range(most + 1), range(most + 1), range(most + 1), (0, 1))
        best |= optima(tuple({a: i, b: j, c: k, 4: four}.get(gpus, 0) for gpus in range(1, 9)) for i, j, k, four in box)
    return best


def check_proof(counts: Counts) -> None:
    settled = closed_form_with_witness(counts)
    settled.verify(counts)
    assert settled.partial_nodes == fewest_partial_nodes(counts)
    patterns = [pattern for pattern, _ in settled.packing]
    assert patterns == sorted({tuple(sorted(pattern, reverse=True)) for pattern in patterns}, reverse=True)


def awkward(rng: random.Random, most: int) -> Counts:
    """Return random counts up to about `most` of all sizes, nearly balanced in half of the cases."""
    counts = [0 if rng.random() < 0.2 else int((most + 1) ** rng.random()) for _ in range(8)]
    if rng.random() < 0.5:
        for low in range(3):
            counts[6 - low] = max(0, counts[low] + rng.randint(-9, 9))
    return tuple(counts)


class TestValue:
    """Theory §4.2: Φ* of every workload on 8-GPU nodes; C9: with the fewest nodes in use at once."""

    def test_every_small_workload(self, small: Optima) -> None:
        assert len(small) == 73_056
        assert [n for n in small if fewest_partial_nodes(n) != small[n][0]] == []

    def test_some_packing_attains_both_optima(self, small: Optima) -> None:
        assert [n for n, (_, nodes, fewest) in small.items() if nodes != fewest] == []

    @pytest.mark.parametrize("most", [10, pytest.param(20, marks=pytest.mark.slow)])
    def test_every_workload_without_pairs(self, most: int) -> None:
        best = unpaired(most)
        assert [n for n in best if fewest_partial_nodes(n) != best[n][0] or best[n][1] != best[n][2]] == []

    @pytest.mark.parametrize("cases", [100, pytest.param(5_000, marks=pytest.mark.slow)])
    def test_optimum_of_the_pattern_model(self, cases: int) -> None:
        rng = random.Random(0)
        for _ in range(cases):
            counts = awkward(rng, 30)
            model = PatternModel(uniform_problem(counts))
            answer = solve_by_cp_sat(model.program(NodeClass.is_partial))
            assert answer.outcome is Outcome.OPTIMAL
            solved = sum(answer.values[i] for i, _ in model.counting_where(NodeClass.is_partial))
            assert fewest_partial_nodes(counts) == solved, counts

    @pytest.mark.parametrize(
        ("seed", "cases"), [(0, 200), *(pytest.param(seed, 25_000, marks=pytest.mark.slow) for seed in range(1, 5))]
    )
    def test_pattern_model_has_nothing_better(self, seed: int, cases: int) -> None:
        """The packing attains the value; CP-SAT finds that fewer partial nodes are infeasible.

        Workloads whose value is the remainder's need no solver and are not counted.
        """
        rng = random.Random(seed)
        while cases:
            counts = awkward(rng, 10 ** rng.randint(1, 5))
            settled = closed_form_with_witness(counts)
            settled.verify(counts)
            remainder = 1 if gpus_in_use(counts) % 8 else 0
            if settled.partial_nodes > remainder:
                model = PatternModel(uniform_problem(counts))
                better = Row(remainder, settled.partial_nodes - 1, model.counting_where(NodeClass.is_partial))
                answer = solve_by_cp_sat(model.program(NodeClass.is_partial, [better]))
                assert answer.outcome is Outcome.INFEASIBLE, counts
                cases -= 1

    def test_remainder_under_wcc(self, small: Optima) -> None:
        """C8; and the condition is sufficient, not necessary."""
        by_remainder = {n for n in small if small[n][0] == (1 if gpus_in_use(n) % 8 else 0)}
        under_wcc = {n for n in small if wcc(n)}
        assert under_wcc < by_remainder
        assert counts_of(5, 3) in by_remainder - under_wcc

    @pytest.mark.parametrize(
        ("demands", "expected"),
        [
            ((4, 4, 3, 3), 1),  # claim P9: the packing {4,3},{4,3} has as few nodes, but two partial ones
            ((2, 2, 2, 2, 3, 3, 3, 3), 1),  # claim P10: combining and Best-Fit-Decreasing leave two
            ((5, 2), 1),  # a 5 without partner is a partial node, but no wall: it takes a 2
            ((3, 2, 2, 2), 2),
        ],
    )
    def test_known_values(self, demands: tuple[int, ...], expected: int) -> None:
        assert fewest_partial_nodes(counts_of(*demands)) == expected

    def test_demands_left_off(self) -> None:
        assert fewest_partial_nodes((3, 0, 1)) == fewest_partial_nodes((3, 0, 1, 0, 0, 0, 0, 0))
        assert fewest_partial_nodes(()) == 0

    @pytest.mark.parametrize("counts", [(1, -1), (0,) * 9])
    def test_refuses(self, counts: Counts) -> None:
        for entry in (fewest_partial_nodes, closed_form_with_witness, Surplus.of):
            with pytest.raises(ValueError, match="counts: expected"):
                entry(counts)


class TestProof:
    """Every value comes with a packing and an argument that meet, and both can be re-checked without a solver."""

    @pytest.mark.parametrize("total", [24, pytest.param(EXHAUSTIVE_GPUS, marks=pytest.mark.slow)])
    def test_every_small_workload(self, small: Optima, total: int) -> None:
        for counts, (partial_nodes, nodes, _) in small.items():
            if gpus_in_use(counts) <= total:
                check_proof(counts)
                settled = closed_form_with_witness(counts)
                assert (settled.partial_nodes, settled.nodes_in_use) == (partial_nodes, nodes)

    @pytest.mark.parametrize("most", [5, pytest.param(14, marks=pytest.mark.slow)])
    def test_every_surplus(self, most: int) -> None:
        span = range(-most, most + 1)
        for a, b, c, four in product(span, span, span, (0, 1)):
            unpaired_counts = (a, b, c, four, -c, -b, -a, 0)
            check_proof(tuple(max(0, count) + 1 for count in unpaired_counts))

    @given(st.tuples(*[st.integers(0, 12) | st.integers(0, 10**9)] * 8))
    def test_any_workload(self, counts: Counts) -> None:
        check_proof(counts)
        settled = closed_form_with_witness(counts)
        assert max(len(settled.packing), len(settled.argument.removals)) <= 12

    @given(st.tuples(*[st.integers(0, 12)] * 8))
    def test_corrupted_proofs_are_refused(self, counts: Counts) -> None:
        settled = closed_form_with_witness(counts)
        corrupted = [replace(settled, partial_nodes=settled.partial_nodes + by) for by in (-1, 1)]
        for i, (pattern, nodes) in enumerate(settled.packing):
            for entry in ((pattern, nodes + 1), (pattern, nodes - 1), ((*pattern, 1), nodes), ((), nodes)):
                packing = (*settled.packing[:i], entry, *settled.packing[i + 1 :])
                corrupted.append(replace(settled, packing=packing))
        for forged in corrupted:
            with pytest.raises(ArgumentError):
                forged.verify(counts)

    def test_argument_survives_json(self) -> None:
        argument = closed_form_with_witness(counts_of(7, 1, 3, 2, 2, 2, 2, 2, 2, 2)).argument
        assert argument.removals == (Removal((7, 1), 1), Removal((2, 2, 2, 2), 1))
        assert argument.rest == Weights(3, 0, (1, 1))
        assert msgspec.json.decode(msgspec.json.encode(argument), type=Reductions) == argument


class TestRules:
    """Each rule: wherever it applies, Φ* stays and the fewest nodes in use fall by one."""

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: "+".join(map(str, rule.pattern)))
    def test_wherever_it_applies(self, small: Optima, rule: Rule) -> None:
        pattern = counts_of(*rule.pattern)
        applied = 0
        for counts, (partial_nodes, _, fewest) in small.items():
            times = rule.times(counts)
            for k in range(1, times + 1):
                rest = tuple(n - k * p for n, p in zip(counts, pattern, strict=True))
                assert small[rest][::2] == (partial_nodes, fewest - k), counts
            applied += times > 0
        assert applied > 100

    @pytest.mark.parametrize(
        ("pattern", "demands"),
        [
            ((3, 3, 2), (5, 4, 3, 3, 2, 1)),
            ((5, 2, 1), (5, 3, 2, 2, 2, 2, 1)),
            ((6, 1, 1), (6, 3, 2, 2, 2, 1, 1)),
            ((4, 3, 1), (6, 4, 4, 3, 1, 1)),
            ((3, 3, 1, 1), (7, 4, 3, 3, 1, 1)),
            ((4, 2, 2), (5, 5, 4, 4, 2, 2)),
            ((2, 2, 2, 2), (3, 3, 3, 2, 2, 2, 2, 1)),
        ],
    )
    def test_conditions_are_needed(self, small: Optima, pattern: Counts, demands: Counts) -> None:
        """In these workloads removing the pattern leaves more partial nodes, and the rule refuses."""
        counts = counts_of(*demands)
        rest = tuple(n - p for n, p in zip(counts, counts_of(*pattern), strict=True))
        assert min(rest) >= 0
        assert small[rest][0] > small[counts][0]
        with pytest.raises(ArgumentError, match="allows 0 removals"):
            reductions_bound(uniform_problem(counts), Reductions((Removal(pattern, 1),), Remainder()))

    @pytest.mark.parametrize(
        ("removal", "message"),
        [
            (Removal((4, 4), 3), "allows 2 removals"),
            (Removal((4, 4), 0), "not 0"),
            (Removal((4, 4), -1), "not -1"),
            (Removal((4, 2, 1, 1), 1), "no rule"),
            (Removal((1, 7), 1), "no rule"),
        ],
    )
    def test_refuses_removals(self, removal: Removal, message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            reductions_bound(uniform_problem((9, 9, 9, 4, 9, 9, 9)), Reductions((removal,), Remainder()))

    def test_weak_weights_prove_less(self) -> None:
        """Any weights that fit are an argument, but a bound is only what they are worth."""
        problem = uniform_problem(counts_of(5, 5, 5))
        assert reductions_bound(problem, Reductions((), Weights(1, 0, (1,)))) == 3
        assert reductions_bound(problem, Reductions((), Weights(3, 0, (1,)))) == 1
        assert reductions_bound(problem, Reductions((), Weights(1, 0, (2,)))) <= 3

    def test_refuses_weights_for_other_demands(self) -> None:
        with pytest.raises(ArgumentError):
            reductions_bound(uniform_problem((1, 1)), Reductions((), Weights(1, 0, (1,))))

    @pytest.mark.parametrize("node", [NodeClass(16, 0, 16), NodeClass(8, 1, 7), NodeClass(8, 0, 0, (1,))])
    def test_refuses_other_nodes(self, node: NodeClass) -> None:
        problem = PackingProblem.build({node: 9}, {1: 1})
        with pytest.raises(ArgumentError, match="empty nodes of 8 GPUs only"):
            reductions_bound(problem, Reductions((), Remainder()))


class TestSurplus:
    """The incremental form: four numbers, changed by what comes and goes."""

    @given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 5), st.booleans()), max_size=30))
    def test_follows_a_workload(self, events: list[tuple[int, int, bool]]) -> None:
        counts: list[int] = [0] * 8
        surplus = Surplus.of(counts)
        for gpus, instances, comes in events:
            change = instances if comes else -min(instances, counts[gpus - 1])
            counts[gpus - 1] += change
            before, surplus = surplus, surplus.after(gpus, change)
            assert surplus == Surplus.of(counts)
            assert surplus.partial_nodes == fewest_partial_nodes(counts)
            assert abs(surplus.partial_nodes - before.partial_nodes) <= abs(change)

    @pytest.mark.parametrize("gpus", [0, 9, -1])
    def test_refuses_other_demands(self, gpus: int) -> None:
        with pytest.raises(ValueError, match=r"gpus: expected 1 to 8"):
            Surplus.of(()).after(gpus)
