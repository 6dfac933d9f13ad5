"""Φ* in closed form beside the pattern model: compare the rows of one group.

Neither should depend on how many instances there are. The pattern model is solved by CP-SAT alone, without the greedy
packing and the bounds that `solve_pool` tries first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from benchmarks.cp_sat import solve_by_cp_sat
from benchmarks.pattern_model import PatternModel
from oracle.optimum.closed_form import Surplus, closed_form_with_witness, fewest_partial_nodes
from oracle.optimum.exact import inherent_partial_nodes, solve_pool
from oracle.optimum.node_classes import NodeClass
from oracle.optimum.reductions import uniform_problem

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from oracle.optimum.exact import PoolOptimum
    from oracle.optimum.node_classes import PackingProblem

WORKLOADS: dict[str, tuple[int, ...]] = {
    "mixed, 30 instances": (4, 6, 3, 5, 4, 2, 5, 1),
    "mixed, 30,000 instances": (4_123, 6_456, 3_789, 5_012, 4_345, 2_678, 5_901, 1_234),
    "many fillers": (9_000, 1_200, 350, 800, 210, 400, 190, 500),
    "few fillers": (90, 1_200, 3_500, 801, 2_100, 4_000, 1_900, 500),
}
by_workload = pytest.mark.parametrize("name", WORKLOADS)


def by_pattern_model(problem: PackingProblem) -> int:
    model = PatternModel(problem)
    answer = solve_by_cp_sat(model.program(NodeClass.is_partial))
    return sum(answer.values[i] for i, _ in model.counting_where(NodeClass.is_partial))


@by_workload
def bench_closed_form(benchmark: BenchmarkFixture, name: str) -> None:
    benchmark.group = f"Φ*: {name}"
    benchmark(fewest_partial_nodes, WORKLOADS[name])


@by_workload
def bench_witness_and_argument(benchmark: BenchmarkFixture, name: str) -> None:
    benchmark.group = f"Φ*: {name}"
    benchmark(closed_form_with_witness, WORKLOADS[name])


@by_workload
def bench_verify(benchmark: BenchmarkFixture, name: str) -> None:
    benchmark.group = f"Φ*: {name}"
    settled = closed_form_with_witness(WORKLOADS[name])
    benchmark(settled.verify, WORKLOADS[name])


@by_workload
def bench_pattern_model(benchmark: BenchmarkFixture, name: str) -> None:
    benchmark.group = f"Φ*: {name}"
    solved = cast("int", benchmark(by_pattern_model, uniform_problem(WORKLOADS[name])))
    assert solved == fewest_partial_nodes(WORKLOADS[name])


@by_workload
def bench_solve_pool(benchmark: BenchmarkFixture, name: str) -> None:
    benchmark.group = f"Φ*: {name}"
    found = cast("PoolOptimum", benchmark(solve_pool, uniform_problem(WORKLOADS[name]), prefer_empty=False))
    assert found.partial_nodes == fewest_partial_nodes(WORKLOADS[name])


SIZES = pytest.mark.parametrize("size", [10, 10**5, 10**8])


@SIZES
@pytest.mark.benchmark(group="Φ* of counts alone: the same time whatever the counts")
def bench_inherent_partial_nodes(benchmark: BenchmarkFixture, size: int) -> None:
    """The public function: counts are checked, then the closed form is asked."""
    benchmark(inherent_partial_nodes, scaled(size))


@SIZES
@pytest.mark.benchmark(group="Φ* of counts alone: the same time whatever the counts")
def bench_closed_form_of_size(benchmark: BenchmarkFixture, size: int) -> None:
    benchmark(fewest_partial_nodes, scaled(size))


@SIZES
@pytest.mark.benchmark(group="Φ* of counts on as few nodes as hold them: the same time whatever the counts")
def bench_inherent_partial_nodes_on_the_fewest(benchmark: BenchmarkFixture, size: int) -> None:
    counts = scaled(size)
    benchmark(partial(inherent_partial_nodes, counts, nodes=closed_form_with_witness(counts).nodes_in_use))


def scaled(size: int) -> tuple[int, ...]:
    """Return counts of about that size, with few fillers."""
    return tuple(size * count // 4_000 for count in WORKLOADS["few fillers"])


EVENTS = [(gpus, sign) for gpus in (3, 1, 6, 2, 5, 4, 7, 8) for sign in (1, 1, -1)]


@pytest.mark.benchmark(group=f"Φ* after each of {len(EVENTS)} events")
def bench_follow_surplus(benchmark: BenchmarkFixture) -> None:
    start = Surplus.of(WORKLOADS["few fillers"])

    def follow() -> int:
        surplus, total = start, 0
        for gpus, instances in EVENTS:
            surplus = surplus.after(gpus, instances)
            total += surplus.partial_nodes
        return total

    benchmark(follow)


@pytest.mark.benchmark(group=f"Φ* after each of {len(EVENTS)} events")
def bench_recompute_from_counts(benchmark: BenchmarkFixture) -> None:
    start = WORKLOADS["few fillers"]

    def recompute() -> int:
        counts, total = start, 0
        for gpus, instances in EVENTS:
            counts = (*counts[: gpus - 1], counts[gpus - 1] + instances, *counts[gpus:])
            total += fewest_partial_nodes(counts)
        return total

    benchmark(recompute)
