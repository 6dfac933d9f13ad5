"""Jobs a second of a replay, by scheduler and number of nodes, with exact SIF after every event.

The made-up workload keeps about 80 % of the GPUs busy whatever N is: rows of one scheduler are to be compared with one
another, and time per job must not grow with the cluster. `python -m benchmarks.bench_simulation TRACE.csv.gz` replays a
real trace in the repackaged form of Helios (job_id, arrival_s, service_sec, gpu_count) at N = ⌈0.9·D/8⌉ under every
scheduler named after it (all without any). Seconds are of processor time.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import resource
from functools import cache
from time import process_time
from typing import TYPE_CHECKING

import pytest

from simulation.demand import nodes_for
from simulation.engine import replay
from simulation.jobs import TraceJob
from simulation.schedulers.greedy import GreedyScheduler
from simulation.schedulers.registry import SCHEDULERS, make_scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.typed_fixture import Benchmark
    from simulation.cluster import Cluster
    from simulation.schedulers.protocol import Scheduler

SIZES = (100, 1_000, 10_000)
LOAD = 0.8
JOBS_AFTER_FILLING = 4_000
MEAN_DURATION_S = 10_000.0
# Satisfies WCC, as production traces do nearly always: half of the demands are 1 GPU, and slots ask for 0.3 a job.
DEMANDS = (1, 1, 1, 1, 1, 2, 3, 4, 6, 8)

# These solve a program now and then, whose size does not grow with N; they are too slow to fill 10,000 nodes here.
SOLVING = ("sifopt", "fft")


@cache
def workload(nodes: int) -> tuple[TraceJob, ...]:
    """Return jobs that fill the cluster at once, and then arrive as fast as others end."""
    rng = random.Random(1)
    mean = sum(DEMANDS) / len(DEMANDS)
    filling = int(LOAD * 8 * nodes / mean)
    gap = MEAN_DURATION_S / filling
    jobs: list[TraceJob] = []
    clock = 0.0
    for i in range(filling + JOBS_AFTER_FILLING):
        if i >= filling:
            clock += rng.expovariate(1 / gap)
        jobs.append(TraceJob(f"j{i:06}", clock, rng.expovariate(1 / MEAN_DURATION_S), 1, rng.choice(DEMANDS)))
    return tuple(jobs)


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.benchmark(group="replay of a made-up trace at 80 % load")
def bench_replay(benchmark: Benchmark, name: str, nodes: int) -> None:
    if name in SOLVING and nodes > SIZES[0]:
        pytest.skip("solves programs: measured on the smallest cluster only")
    jobs = workload(nodes)
    seconds: list[float] = []

    def run() -> None:
        began = process_time()
        replay(jobs, make_scheduler(name, nodes, jobs))
        seconds.append(process_time() - began)

    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["jobs_per_second"] = round(len(jobs) / min(seconds))


def instances_and_gpus(total: int) -> tuple[int, int]:
    """Return (w, g) by the rule for traces that give total GPUs only: an assumption."""
    if total <= 8:
        return 1, total
    gpus = max(g for g in range(1, 9) if total % g == 0)
    return total // gpus, gpus


def real_trace(path: str, days: range | None) -> list[TraceJob]:
    with gzip.open(path, mode="rt", encoding="utf-8") as lines:
        rows = sorted(csv.DictReader(lines), key=lambda row: float(row["arrival_s"]))
    return [
        TraceJob(
            f"{i:06}",
            float(row["arrival_s"]),
            float(row["service_sec"]),
            *instances_and_gpus(int(row["gpu_count"])),
        )
        for i, row in enumerate(rows)
        if days is None or int(float(row["arrival_s"]) // 86_400) in days
    ]


class BestFitAnyTie:
    """Best fit with ties broken at random, to see how much hangs on how they are broken."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, cluster: Cluster, gpus: int) -> int:
        level = next(level for level in cluster.levels[gpus:] if level)
        return self.random.choice(list(level))


def schedulers(names: Sequence[str], nodes: int, jobs: Sequence[TraceJob], ties: int) -> Iterator[Scheduler]:
    for name in names:
        yield make_scheduler(name, nodes, jobs)
    for seed in range(ties):
        yield GreedyScheduler(f"gfs, {seed}", nodes, BestFitAnyTie(seed))


class Options(argparse.Namespace):
    trace: str
    schedulers: list[str]
    days: tuple[int, int] | None
    nodes: int | None
    ties: int
    check: bool


def report(options: Options) -> None:
    """Print jobs a second and the main figures of a real trace."""
    jobs = real_trace(options.trace, range(*options.days) if options.days else None)
    nodes = options.nodes or nodes_for(jobs, 0.9)
    names = options.schedulers or (() if options.ties else SCHEDULERS)
    print(f"{len(jobs)} jobs, {nodes} nodes")
    print("scheduler   jobs/s     AFR  max   AJCT s blocked h structure undefined   moves   MiB")
    for scheduler in schedulers(names, nodes, jobs, options.ties):
        began = process_time()
        r = replay(jobs, scheduler, check=options.check).result
        seconds = process_time() - began
        mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{scheduler.name:<10} {len(jobs) / seconds:>7.0f} {r.afr:>7.4f} {r.max_avoidable_partial_nodes:>4} "
            f"{r.jct_s.mean:>8.0f} {r.fragmentation_blocked_s / 3600:>9.2f} {r.structure_blocked_s / 3600:>9.2f} "
            f"{r.undefined_arrivals:>5},{r.undefined_departures:>3} {r.migrations:>7} {mib:>5}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("schedulers", nargs="*")
    parser.add_argument("--days", type=int, nargs=2, metavar=("FIRST", "END"), help="the end is not included")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--ties", type=int, default=0, help="replays of best fit with ties at random")
    parser.add_argument("--check", action="store_true", help="hold each answer against the book of the replay")
    report(parser.parse_args(namespace=Options()))
