"""How long fewest migrations, frontiers and plans take, by size and kind of cluster; run with ``make bench``.

``python -m benchmarks.bench_migration`` prints a table against a plain integer program of the same model, solved by
CP-SAT and, where ``highspy`` can be imported, by HiGHS, all in the same run.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from benchmarks import highs
from benchmarks.cp_sat import solve_by_cp_sat
from benchmarks.pattern_model import pairs_program
from oracle.optimum.certificate import Status
from oracle.optimum.node_classes import NodeClass, PackingProblem, PlacedProblem, packing
from oracle.optimum.pools import PoolsSearch
from oracle.optimum.solver import Deadline, Outcome
from oracle.planning.frontier_search import frontier_of_pools
from oracle.planning.planner import plan
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    from benchmarks.typed_fixture import Benchmark
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.solver import Program
    from oracle.snapshots.model import Pattern

DEMANDS = {
    "common": (0.35, 0.2, 0.04, 0.2, 0.03, 0.05, 0.03, 0.1),  # many fillers, as real clusters have
    "awkward": (0.02, 0.1, 0.2, 0.05, 0.2, 0.18, 0.2, 0.05),  # few fillers: WCC fails
    "uniform": (0.125,) * 8,
}

# (nodes, demands, how they are placed): "dense" fills one node after the other with what comes, "spread" puts each
# instance on a random node that has room, up to 85 % use.
CLUSTERS = [
    (700, "uniform", "dense"),
    (700, "uniform", "spread"),
    (1_250, "common", "dense"),
    (1_250, "uniform", "dense"),
    (2_000, "uniform", "spread"),
    (4_000, "uniform", "dense"),
    (12_500, "common", "dense"),
    (12_500, "common", "spread"),
    (12_500, "awkward", "dense"),
    (20_000, "common", "dense"),
]


def held_by_nodes(nodes: int, demands: str, placed: str, seed: int) -> list[list[int]]:
    """Return what each node of 8 GPUs holds."""
    rng = random.Random(seed)
    held: list[list[int]] = [[] for _ in range(nodes)]
    if placed == "dense":
        for here in held:
            while sum(here) < 8 and rng.random() < 0.9:
                demand = rng.choices(range(1, 9), DEMANDS[demands])[0]
                if sum(here) + demand <= 8:
                    here.append(demand)
        return held
    used = 0
    while used < 0.85 * 8 * nodes:
        demand = rng.choices(range(1, 9), DEMANDS[demands])[0]
        there = next((here for here in rng.choices(held, k=30) if sum(here) + demand <= 8), None)
        if there is None:
            break
        there.append(demand)
        used += demand
    return held


def pool(nodes: int, demands: str, placed: str, seed: int) -> PlacedProblem:
    held = Counter[tuple[int, "Pattern"]](
        (0, tuple(sorted(here, reverse=True))) for here in held_by_nodes(nodes, demands, placed, seed)
    )
    counts = Counter(demand for (_, pattern), count in held.items() for demand in pattern * count)
    return PlacedProblem(PackingProblem.build({NodeClass(8, 0, 8): nodes}, counts), packing(held))


def cluster(nodes: int, demands: str, seed: int) -> Snapshot:
    """Return a spread-out cluster whose jobs have 1 to 16 instances, half of them one."""
    rng = random.Random(seed)
    jobs: list[RunningJob] = []
    left: dict[int, list[RunningInstance]] = {demand: [] for demand in range(1, 9)}
    for n, here in enumerate(held_by_nodes(nodes, demands, "spread", seed)):
        for demand in here:
            left[demand].append(RunningInstance(node=f"n{n}", gpus=demand))
    for instances in left.values():
        rng.shuffle(instances)
        while instances:
            size = rng.choice([1, 1, 1, 2, 4, 8, 16])
            jobs.append(RunningJob(name=f"j{len(jobs)}", instances=tuple(instances[:size])))
            del instances[:size]
    return Snapshot.build(nodes=[SnapshotNode(name=f"n{n}", gpus=8) for n in range(nodes)], jobs=jobs)


def fewest_migrations(problem: PlacedProblem) -> MigrationCertificate:
    search = PoolsSearch([problem], Deadline())
    return search.cheapest(search.fewest).plans[0]


@pytest.mark.parametrize(("nodes", "demands", "placed"), CLUSTERS)
def bench_fewest_migrations(benchmark: Benchmark, nodes: int, demands: str, placed: str) -> None:
    problem = pool(nodes, demands, placed, seed=1)
    found = benchmark.pedantic(lambda: fewest_migrations(problem), rounds=5)
    assert found.holds()


@pytest.mark.parametrize(("nodes", "demands"), [(100, "common"), (1_250, "common"), (12_500, "common")])
def bench_frontier(benchmark: Benchmark, nodes: int, demands: str) -> None:
    snapshot = cluster(nodes, demands, seed=1)
    found = benchmark.pedantic(lambda: frontier_of_pools(snapshot, Deadline()), rounds=1)
    assert all(point.status is Status.OPTIMAL for point in found)


@pytest.mark.parametrize("nodes", [100, 1_250])
def bench_plan(benchmark: Benchmark, nodes: int) -> None:
    snapshot = cluster(nodes, "common", 1)
    found = benchmark.pedantic(lambda: plan(snapshot), rounds=1)
    assert found.status is Status.OPTIMAL


def bench_verify(benchmark: Benchmark) -> None:
    certificate = fewest_migrations(pool(12_500, "awkward", "dense", seed=1))
    benchmark(certificate.verify)


def by_cp_sat(asked: Program, seconds: float) -> tuple[int | None, float]:
    started = time.perf_counter()
    answer = solve_by_cp_sat(asked, Deadline(seconds))
    return answer.bound if answer.outcome is Outcome.OPTIMAL else None, time.perf_counter() - started


def timed(problem: PlacedProblem) -> tuple[MigrationCertificate, float]:
    started = time.perf_counter()
    found = fewest_migrations(problem)
    return found, time.perf_counter() - started


def against(answer: tuple[int | None, float] | None, expected: int, ours: float) -> str:
    """Return how many times as long a peer took; what it found has to be the same."""
    if answer is None:
        return "-"
    value, seconds = answer
    assert value in {None, expected}, (value, expected)
    return f"{'>' if value is None else ''}{seconds / ours:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=10, metavar="SECONDS", help="for each plain program")
    parser.add_argument("--seeds", type=int, default=5, help="clusters of each kind; the plain programs get the first")
    parser.add_argument("--nodes", type=int, nargs="+", metavar="N", help="only clusters of these sizes")
    options = parser.parse_args()
    clusters = [cluster for cluster in CLUSTERS if options.nodes is None or cluster[0] in options.nodes]
    made = [[pool(*cluster, seed) for seed in range(1, options.seeds + 1)] for cluster in clusters]
    runs = [[timed(problem) for problem in pools] for pools in made]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print("| nodes | demands | placed | Φ → Φ* | migrations | CP-SAT, times | HiGHS, times | median, s | most, s |")
    print("|--:|---|---|---|--:|--:|--:|--:|--:|")
    for (nodes, demands, placed), pools, results in zip(clusters, made, runs, strict=True):
        assert all(found.holds() for found, _ in results)
        (first, ours), times = results[0], [seconds for _, seconds in results]
        asked = pairs_program(pools[0], first.partial_nodes)
        before = sum(group.nodes for group in pools[0].current if 0 < sum(group.pattern) < 8)
        print(
            f"| {nodes:,} | {demands} | {placed} | {before:,} → {first.partial_nodes:,} | {first.migrations:,} "
            f"| {against(by_cp_sat(asked, options.limit), first.migrations, ours)} "
            f"| {against(highs.solve(asked, options.limit), first.migrations, ours)} "
            f"| {statistics.median(times):.3f} | {max(times):.3f} |",
            flush=True,
        )
    print(f"\npeak memory without the plain programs: {memory} MB")


if __name__ == "__main__":
    main()
