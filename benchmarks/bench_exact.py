"""How long Φ* and `measure` take, by size and by kind of cluster; run with ``make bench``."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import pytest

from oracle.measurement.measure import measure
from oracle.optimum.certificate import Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from oracle.measurement.measure import Measurement
    from oracle.optimum.exact import PoolOptimum

SIZES = [100, 1_000, 12_500]
COMMON = [0.35, 0.2, 0.04, 0.2, 0.03, 0.05, 0.03, 0.1]  # many fillers, as real clusters have
AWKWARD = [0.02, 0.1, 0.2, 0.05, 0.2, 0.18, 0.2, 0.05]  # few fillers: WCC fails


def cluster(kind: str, nodes: int) -> Snapshot:
    """Return a cluster at about 85 % use, placed at random."""
    rng = random.Random(nodes)
    made: list[SnapshotNode] = []
    jobs: list[RunningJob] = []
    for n in range(nodes):
        gpus = rng.choice([4, 8, 8, 16]) if kind == "mixed capacities" else 8
        restricted = kind == "cordons and immovable"
        made.append(SnapshotNode(name=f"n{n}", gpus=gpus, schedulable=not restricted or rng.random() > 0.02))
        free = gpus
        while free and rng.random() < 0.9:
            demand = rng.choices(range(1, 9), AWKWARD if kind == "awkward demands" else COMMON)[0]
            if demand <= free:
                instance = RunningInstance(node=f"n{n}", gpus=demand, movable=not restricted or rng.random() > 0.03)
                jobs.append(RunningJob(name=f"j{len(jobs)}", instances=(instance,)))
                free -= demand
    return Snapshot.build(nodes=made, jobs=jobs)


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("kind", ["common demands", "awkward demands", "mixed capacities", "cordons and immovable"])
def bench_measure(benchmark: BenchmarkFixture, kind: str, nodes: int) -> None:
    snapshot = cluster(kind, nodes)
    measured = cast("Measurement", benchmark(measure, snapshot))
    assert measured.status is Status.OPTIMAL


@pytest.mark.parametrize("nodes", SIZES)
def bench_measure_without_solver(benchmark: BenchmarkFixture, nodes: int) -> None:
    snapshot = cluster("cordons and immovable", nodes)
    benchmark(measure, snapshot, time_limit=0)


@pytest.mark.parametrize("times", [1, 10, 1_000])
def bench_gap_that_needs_a_tree(benchmark: BenchmarkFixture, times: int) -> None:
    """Neither remainder nor dual weights suffice: CP-SAT answers and a branch tree proves it."""
    demands = {8: 2, 3: 1, 4: 2 * times, 6: 2 * times, 2: 5 * times}
    problem = PackingProblem.build({NodeClass(8, 0, 8): 20 * times}, demands)
    optimum = cast("PoolOptimum", benchmark(solve_pool, problem))
    assert optimum.certificate.holds()


def bench_verify(benchmark: BenchmarkFixture) -> None:
    certificate = measure(cluster("cordons and immovable", 12_500)).pools[0].certificate
    benchmark(certificate.verify)


def bench_start(benchmark: BenchmarkFixture) -> None:
    """Import everything, OR-Tools included, and solve once, in a new process."""
    code = "from oracle.optimum.exact import inherent_partial_nodes as f; assert f((0, 5, 1, 2, 0, 2, 0, 2)) == 2"
    benchmark(subprocess.run, [sys.executable, "-c", code], check=True)
