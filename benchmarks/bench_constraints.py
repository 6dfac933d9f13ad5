"""Plans of clusters whose nodes do not all take everything, by size: ``python -m benchmarks.bench_constraints``.

Beside each plan stands a repack from nothing in the same run: first fit decreasing within the same rules. That is what
a plan would be if moves were free, and nothing proved.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from immutables import Map

from oracle.measurement.measure import measure
from oracle.planning.planner import plan
from oracle.snapshots.model import NodeSet, RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.typed_fixture import Benchmark
    from oracle.planning.planner import Plan

SIZES = (150, 1_250, 12_500)
KINDS = ("partitions", "apart", "resources", "all")
POOLS = ("a100", "h100", "l40")
PARTITIONS = 8

# GPUs of an instance, and instances of a job, with how often they come.
DEMANDS = ((1, 2, 4, 8, 3, 5, 6, 7), (30, 15, 20, 25, 2, 2, 3, 3))
SHAPES = ((1, 2, 4, 8), (70, 15, 10, 5))


def cluster(nodes: int, kind: str, seed: int) -> Snapshot:
    """Return a cluster with three kinds of GPU and overlapping partitions, some two thirds in use.

    "apart": instances of a job stand on different nodes. "resources": CPUs and memory are short on a tenth of the
    nodes. "all": both.
    """
    rng = random.Random(seed)
    apart, scarce = kind in {"apart", "all"}, kind in {"resources", "all"}
    names = [f"n{n:05d}" for n in range(nodes)]
    member: dict[int, set[str]] = {p: set() for p in range(PARTITIONS)}
    left: dict[str, list[int]] = {}
    for name in names:
        left[name] = [8, *((64, 512) if rng.random() < 0.1 else (128, 2048))]
        for p in rng.sample(range(PARTITIONS), rng.randint(1, 3)):
            member[p].add(name)
    made = [
        SnapshotNode(
            name=name,
            gpus=8,
            pool=POOLS[n % 3],
            schedulable=rng.random() > 0.02,
            resources=Map({"cpu": left[name][1], "memory": left[name][2]}) if scarce else Map(),
        )
        for n, name in enumerate(names)
    ]
    jobs: list[RunningJob] = []
    misses = 0
    while misses < 200 and sum(free for free, _, _ in left.values()) > 2 * nodes:
        gpus, size = (rng.choices(*table)[0] for table in (DEMANDS, SHAPES))
        partition, pool = rng.randrange(PARTITIONS), rng.randrange(3)
        takes = (gpus, min(60, gpus * rng.choice([4, 8, 8, 8, 12, 16])), gpus * rng.choice([32, 64, 64, 100]))
        seen = [name for name in rng.sample(names[pool::3], min(60, nodes // 3)) if name in member[partition]]
        held: list[str] = []
        while len(held) < size:
            room = [
                name
                for name in seen
                if name not in held and all(a <= b for a, b in zip(takes, left[name], strict=True))
            ]
            if not room:
                break
            held.append(min(room, key=lambda name: left[name][0]) if rng.random() > 0.35 else rng.choice(room))
        misses += len(held) < size
        if len(held) < size:
            continue
        for name in held:
            left[name] = [a - b for a, b in zip(left[name], takes, strict=True)]
        jobs.append(
            RunningJob(
                name=f"job{len(jobs)}",
                distinct_nodes=apart and size > 1,
                instances=tuple(
                    RunningInstance(
                        node=name,
                        gpus=gpus,
                        movable=rng.random() > 0.03,
                        within=(f"partition p{partition}",),
                        resources=Map({"cpu": takes[1], "memory": takes[2]}) if scarce else Map(),
                    )
                    for name in held
                ),
            )
        )
    sets = [NodeSet(name=f"partition p{p}", kind="partition", nodes=frozenset(own)) for p, own in member.items()]
    # Some jobs have ended since.
    return Snapshot.build(nodes=made, jobs=[job for job in jobs if rng.random() > 0.12], node_sets=sets)


def later(snapshot: Snapshot, seed: int) -> Snapshot:
    """Return the cluster a moment later: one job in fifty has ended, some nodes are cordoned."""
    rng = random.Random(seed)
    return replace(
        snapshot,
        jobs=tuple(job for job in snapshot.jobs if rng.random() > 0.02),
        nodes=tuple(replace(node, schedulable=node.schedulable and rng.random() > 0.003) for node in snapshot.nodes),
    )


def first_fit_decreasing(snapshot: Snapshot) -> tuple[int, int]:
    """Repack everything that can move; return the partial nodes, and the instances that found no place."""
    stocks = snapshot.stocks
    free, without = stocks.free(), 0
    keys = [key for key, one in stocks.instances.items() if one.movable]
    for key in keys:
        free.give(stocks.taken(key, stocks.instances[key].node))
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for name, pool in stocks.pools.items():
        nodes[pool].append(name)
    for key in sorted(keys, key=lambda key: -stocks.instances[key].gpus):
        home = stocks.instances[key].node
        fits = (
            name
            for name in nodes[stocks.pools[home]]
            if not stocks.why_shut(key, name) and free.fits(stocks.taken(key, name))
        )
        place = next(fits, None)
        without += place is None
        if place is not None:
            free.take(stocks.taken(key, place))
    gpus: Mapping[str, int] = {stock.node: left for stock, left in free.items() if not stock.resource and not stock.job}
    return sum(0 < gpus[node.name] < node.gpus for node in snapshot.nodes), without


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def bench_plan_within_five_seconds(benchmark: Benchmark, kind: str, nodes: int) -> None:
    snapshot = cluster(nodes, kind, 1)
    found = benchmark.pedantic(lambda: plan(replace(snapshot), time_limit=5), rounds=1)
    assert found.partial_nodes_lower_bound <= found.partial_nodes_after < found.partial_nodes_before / 2


@pytest.mark.parametrize("nodes", SIZES)
def bench_plan_again(benchmark: Benchmark, nodes: int) -> None:
    snapshot = cluster(nodes, "all", 1)
    first, now = plan(snapshot, time_limit=5), later(snapshot, 1)
    found = benchmark.pedantic(lambda: plan(replace(now), start_from=first, time_limit=0.06), rounds=5)
    assert found.partial_nodes_after < found.partial_nodes_before


def timed(snapshot: Snapshot, limit: float, start: Plan | None = None) -> tuple[Plan, float]:
    # A new value, so that what is read from a snapshot once is part of the time.
    fresh = replace(snapshot)
    started = time.perf_counter()
    found = plan(fresh, time_limit=limit, start_from=start)
    return found, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=5, metavar="SECONDS", help="for each plan")
    parser.add_argument(
        "--again", type=float, default=0.05, metavar="MS", help="a node, for a plan that starts from one"
    )
    parser.add_argument("--nodes", type=int, nargs="+", metavar="N", default=SIZES)
    parser.add_argument("--repack", type=int, default=1_250, metavar="N", help="largest cluster that is repacked")
    options = parser.parse_args()
    # What is loaded once is loaded now.
    measure(cluster(30, "all", 1), time_limit=1)
    plan(cluster(30, "all", 1), time_limit=1)
    print("| nodes | kind | Φ → attained (bound) | moves (bound) | s | again: Φ → attained, s | first fit: Φ, times |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    for nodes in options.nodes:
        for kind in KINDS:
            snapshot = cluster(nodes, kind, 1)
            found, seconds = timed(snapshot, options.limit)
            again, took = timed(later(snapshot, 1), max(0.05, options.again * nodes / 1000), found)
            peer = "–"
            if nodes <= options.repack:
                started = time.perf_counter()
                partial, without = first_fit_decreasing(snapshot)
                spent = time.perf_counter() - started
                peer = f"{partial:,}" + (f", {without} without a place" if without else "")
                peer += f"; {spent / seconds:.2f}"
            print(
                f"| {nodes:,} | {kind} | {found.partial_nodes_before:,} → {found.partial_nodes_after:,} "
                f"({found.partial_nodes_lower_bound:,}) | {found.migrations:,} ({found.migrations_lower_bound:,}) "
                f"| {seconds:.2f} | {again.partial_nodes_before:,} → {again.partial_nodes_after:,}, {took:.2f} "
                f"| {peer} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
