"""Φ* of equal 8-GPU nodes by other means: how far they are from it, and how many times as long they take.

``python -m benchmarks.bench_peers`` prints the table. All rows of one size solve the same workload in the same run:
heuristics (first and best fit decreasing, the package ``binpacking``), an arc-flow model, the pattern model without the
closed form, the plain assignment of instances to nodes; the last three as integer programs by CP-SAT, and by HiGHS
where ``highspy`` can be imported.
"""

from __future__ import annotations

import argparse
import importlib
import random
import time
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol, cast

import pytest

from benchmarks import highs
from benchmarks.cp_sat import solve_by_cp_sat
from benchmarks.pattern_model import PatternModel
from oracle.optimum.closed_form import closed_form_with_witness, fewest_partial_nodes
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.solver import Deadline, Outcome, Program, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.typed_fixture import Benchmark

GPUS = 8
SIZES = (20, 100, 1_000, 12_500)
DEMANDS = {
    "common": (0.35, 0.2, 0.04, 0.2, 0.03, 0.05, 0.03, 0.1),  # many fillers, as real clusters have
    "awkward": (0.02, 0.1, 0.2, 0.05, 0.2, 0.18, 0.2, 0.05),  # few fillers: WCC fails
    "twos and threes": (0.0, 0.4, 0.5, 0.1, 0.0, 0.0, 0.0, 0.0),  # nodes fill up in more than one way
}

# Sizes above which a peer is not tried: it would take hours, or more memory than there is.
MOST_NODES = {"assignment": 100, "binpacking": 1_000}


def workload(nodes: int, demands: str) -> tuple[int, ...]:
    """Return (n1, ..., n8) of instances that use some 85 % of the GPUs."""
    rng = random.Random(nodes)
    counts = [0] * GPUS
    used = 0
    while used < 0.85 * GPUS * nodes:
        gpus = rng.choices(range(1, GPUS + 1), DEMANDS[demands])[0]
        counts[gpus - 1] += 1
        used += gpus
    return tuple(counts)


def first_fit_decreasing(counts: Sequence[int]) -> int:
    """Return the partial nodes it leaves; by free GPUs, the nodes in their order."""
    free: list[list[int]] = [[] for _ in range(GPUS + 1)]
    opened = 0
    for gpus in range(GPUS, 0, -1):
        for _ in range(counts[gpus - 1]):
            room = min(
                (size for size in range(gpus, GPUS + 1) if free[size]), key=lambda size: free[size][0], default=0
            )
            if room:
                node = heappop(free[room])
            else:
                room, node, opened = GPUS, opened, opened + 1
            heappush(free[room - gpus], node)
    return sum(map(len, free[1:]))


def best_fit_decreasing(counts: Sequence[int]) -> int:
    """Return the partial nodes it leaves."""
    free = [0] * (GPUS + 1)
    for gpus in range(GPUS, 0, -1):
        for _ in range(counts[gpus - 1]):
            room = next((size for size in range(gpus, GPUS + 1) if free[size]), 0)
            if room:
                free[room] -= 1
            free[(room or GPUS) - gpus] += 1
    return sum(free[1:GPUS])


class _BinPacking(Protocol):
    """What is used of the package ``binpacking``, which has no types."""

    def to_constant_volume(self, d: list[int], V_max: int) -> list[list[int]]: ...  # noqa: N803 - its name


def by_binpacking(counts: Sequence[int]) -> int | None:
    """Return the partial nodes that the package leaves, or None if it is not installed."""
    try:
        package = cast("_BinPacking", importlib.import_module("binpacking"))
    except ImportError:
        return None
    items = [gpus for gpus, count in enumerate(counts, start=1) for _ in range(count)]
    return sum(sum(node) < GPUS for node in package.to_constant_volume(items, V_max=GPUS))


def problem_of(counts: Sequence[int], nodes: int) -> PackingProblem:
    return PackingProblem.build({NodeClass(GPUS, 0, GPUS): nodes}, dict(enumerate(counts, start=1)))


def by_patterns(counts: Sequence[int], nodes: int) -> Program:
    """Return the pattern model: one column for each of 66 patterns."""
    return PatternModel(problem_of(counts, nodes)).program(NodeClass.is_partial)


def by_arcs(counts: Sequence[int], nodes: int) -> Program:
    """Return the arc-flow model: a node is a path over its loads, demands descending along it."""
    arcs = [(load, load + gpus, gpus) for gpus in range(GPUS, 0, -1) for load in range(GPUS - gpus + 1)]
    size, ends = len(arcs), range(1, GPUS)
    rows = [Row(None, nodes, tuple((i, 1) for i, (tail, _, _) in enumerate(arcs) if tail == 0))]
    for load in ends:
        into = [(i, 1) for i, (_, head, _) in enumerate(arcs) if head == load]
        out = [(i, -1) for i, (tail, _, _) in enumerate(arcs) if tail == load]
        rows.append(Row(0, 0, (*into, *out, (size + load - 1, -1))))
    for gpus, count in enumerate(counts, start=1):
        rows.append(Row(count, count, tuple((i, 1) for i, arc in enumerate(arcs) if arc[2] == gpus)))
    most = sum(counts)
    return Program((0,) * size + (1,) * len(ends), (most,) * size + (nodes,) * len(ends), tuple(rows))


def by_assignment(counts: Sequence[int], nodes: int) -> Program:
    """Return the plain model: a column for each instance and node, two more a node (in use, full)."""
    items = [gpus for gpus, count in enumerate(counts, start=1) for _ in range(count)]
    used, full = len(items) * nodes, len(items) * nodes + nodes
    rows = [Row(1, 1, tuple((i * nodes + n, 1) for n in range(nodes))) for i in range(len(items))]
    for n in range(nodes):
        load = tuple((i * nodes + n, gpus) for i, gpus in enumerate(items))
        rows.append(Row(None, 0, (*load, (used + n, -GPUS))))
        rows.append(Row(0, None, (*load, (full + n, -GPUS))))
    costs = (0,) * used + (1,) * nodes + (-1,) * nodes
    return Program(costs, (1,) * len(costs), tuple(rows))


@dataclass(frozen=True)
class Run:
    """What a peer found (None: nothing in time) and how long it took."""

    partial_nodes: int | None
    seconds: float


def timed(method: Callable[[], int | None]) -> Run:
    """Repeat what is quick, and take the shortest."""
    best, repeats, found = float("inf"), 0, None
    began = time.perf_counter()
    while not repeats or (time.perf_counter() - began < 0.2 and repeats < 10_000):
        started = time.perf_counter()
        found = method()
        best = min(best, time.perf_counter() - started)
        repeats += 1
    return Run(found, best)


def cp_sat(asked: Program, seconds: float) -> Run:
    started = time.perf_counter()
    answer = solve_by_cp_sat(asked, Deadline(seconds))
    return Run(answer.bound if answer.outcome is Outcome.OPTIMAL else None, time.perf_counter() - started)


def runs(counts: tuple[int, ...], nodes: int, seconds: float) -> dict[str, Run]:
    """Return every method that is installed and not too slow for so many nodes."""
    found = {
        "closed form": timed(lambda: fewest_partial_nodes(counts)),
        "closed form, packing and proof": timed(lambda: closed_form_with_witness(counts).partial_nodes),
        "first fit decreasing": timed(lambda: first_fit_decreasing(counts)),
        "best fit decreasing": timed(lambda: best_fit_decreasing(counts)),
    }
    if nodes <= MOST_NODES["binpacking"]:
        packed = timed(lambda: by_binpacking(counts))
        found |= {} if packed.partial_nodes is None else {"`binpacking`": packed}
    models = {"patterns": by_patterns, "arc flow": by_arcs, "assignment": by_assignment}
    for name, model in models.items():
        if nodes <= MOST_NODES.get(name, nodes):
            asked = model(counts, nodes)
            found[f"{name}, CP-SAT"] = cp_sat(asked, seconds)
            if (other := highs.solve(asked, seconds)) is not None:
                found[f"{name}, HiGHS"] = Run(*other)
    return found


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("demands", DEMANDS)
def bench_closed_form(benchmark: Benchmark, demands: str, nodes: int) -> None:
    counts = workload(nodes, demands)
    assert benchmark(lambda: fewest_partial_nodes(counts)) == benchmark.extra_info.get(
        "none", fewest_partial_nodes(counts)
    )


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("model", [by_patterns, by_arcs])
def bench_models(benchmark: Benchmark, model: Callable[[Sequence[int], int], Program], nodes: int) -> None:
    counts = workload(nodes, "awkward")
    answer = benchmark(lambda: solve_by_cp_sat(model(counts, nodes)))
    assert answer.bound == fewest_partial_nodes(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=10, metavar="SECONDS", help="for each integer program")
    options = parser.parse_args()
    solve_by_cp_sat(by_patterns(workload(20, "awkward"), 20))  # the first solve loads OR-Tools
    print("| nodes | demands | instances | method | times the closed form | partial nodes above Φ* | time |")
    print("|--:|---|--:|---|--:|--:|--:|")
    for nodes in SIZES:
        for demands in DEMANDS:
            counts = workload(nodes, demands)
            found = runs(counts, nodes, options.limit)
            fewest, unit = found["closed form"].partial_nodes, found["closed form"].seconds
            assert fewest is not None
            for name, run in found.items():
                gap = "not settled" if run.partial_nodes is None else f"{run.partial_nodes - fewest} of {fewest}"
                print(
                    f"| {nodes:,} | {demands} | {sum(counts):,} | {name} | {run.seconds / unit:,.0f} | {gap} "
                    f"| {1e3 * run.seconds:,.4f} ms |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
