"""How far the paper's procedure is above Φ*, how often, and what it costs: the tables of docs/paper-procedure.md.

Random workloads are seeded; traces are replayed on unlimited capacity, and cases are what runs after every k-th start
or end. Takes about a minute. A trace that is not in DIR/traces is left out, with a line on standard error.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import platform
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.cp_sat import solve_by_cp_sat
from benchmarks.pattern_model import PatternModel
from oracle.optimum.closed_form import closed_form_with_witness, fewest_partial_nodes
from oracle.optimum.node_classes import NodeClass
from oracle.optimum.reductions import uniform_problem
from proofs.combining import Reading, paper_procedure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Counts: TypeAlias = "tuple[int, ...]"

RANDOM_CASES = 400
TRACE_CASES = 2_000
TIMED = 40
EXHAUSTIVE_GPUS = 24
COMMON = (0.35, 0.2, 0.04, 0.2, 0.03, 0.05, 0.03, 0.1)  # many fillers
AWKWARD = (0.02, 0.1, 0.2, 0.05, 0.2, 0.18, 0.2, 0.05)  # few fillers

COLUMNS = (
    "workloads",
    "reading",
    "cases",
    "WCC holds",
    "not optimal",
    "where WCC fails",
    "where WCC holds",
    "mean excess",
    "mean excess if not optimal",
    "max excess",
    "mean Φ*",
    "more nodes than fewest",
    "instances in U, median / max",
)
TIME_COLUMNS = (
    "workloads",
    "reading",
    "program used",
    "procedure, ms",
    "closed form, ms",
    "closed form with witness, ms",
    "pattern model, ms",
    "÷ closed form",
    "÷ with witness",
    "÷ pattern model",
)


@dataclass(frozen=True, slots=True)
class Start:
    """One job of a trace; seconds. A job is `instances` times `gpus`."""

    begin: float
    end: float
    instances: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Row:
    """One case: the workload, Φ*, fewest nodes, and what the procedure makes of it."""

    counts: Counts
    optimum: int
    fewest_nodes: int
    partial: int
    nodes: int
    residual: int
    without_program: int

    @property
    def excess(self) -> int:
        return self.partial - self.optimum


def has_wcc(counts: Counts) -> bool:
    return counts[2] + 3 * counts[4] + 2 * counts[5] + counts[6] <= counts[0]


# Random workloads


def drawn(rng: random.Random, weights: tuple[float, ...], most: int = 400) -> Counts:
    demands = Counter(rng.choices(range(1, 9), weights, k=rng.randint(1, most)))
    return tuple(demands[gpus] for gpus in range(1, 9))


def small_counts(rng: random.Random) -> Counts:
    return tuple(rng.randint(0, 12) for _ in range(8))


def log_uniform(rng: random.Random) -> Counts:
    return tuple(0 if rng.random() < 0.2 else int(10_000 ** rng.random()) for _ in range(8))


def no_fillers(rng: random.Random) -> Counts:
    return (0, *small_counts(rng)[1:])


def twos_and_threes(rng: random.Random) -> Counts:
    return (rng.randint(0, 3), rng.randint(0, 100), rng.randint(0, 100), rng.randint(0, 3), 0, 0, 0, 0)


def twos_and_fives(rng: random.Random) -> Counts:
    return (rng.randint(0, 3), rng.randint(0, 100), 0, rng.randint(0, 3), rng.randint(0, 100), 0, 0, 0)


def under_wcc(rng: random.Random) -> Counts:
    _, *others = log_uniform(rng)
    need = others[1] + 3 * others[3] + 2 * others[4] + others[5]
    return (need + int(1_000 * rng.random() ** 3), *others)


RANDOM: dict[str, Callable[[random.Random], Counts]] = {
    "each count 0–12": small_counts,
    "each count 0–12, no 1s": no_fillers,
    "each count log-uniform, 0–10⁴": log_uniform,
    "as before, 1s added until WCC holds": under_wcc,
    "1–400 instances, many 1s": lambda rng: drawn(rng, COMMON),
    "1–400 instances, few 1s": lambda rng: drawn(rng, AWKWARD),
    "2s and 3s 0–100, 1s and 4s 0–3": twos_and_threes,
    "2s and 5s 0–100, 1s and 4s 0–3": twos_and_fives,
}


def every_workload(total: int, largest: int = 8) -> Iterator[Counts]:
    """Yield every workload of at most so many GPUs."""
    if largest == 0:
        yield ()
        return
    for count in range(total // largest + 1):
        for smaller in every_workload(total - largest * count, largest - 1):
            yield (*smaller, count)


# Traces


def instances_of(total: int) -> tuple[int, int]:
    """Return (w, g) of a job of which only the total is known: an assumption, stated on the page."""
    gpus = max(divisor for divisor in range(1, 9) if total % divisor == 0)
    return total // gpus, gpus


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def venus(path: Path) -> Iterator[Start]:
    for row in rows_of(path):
        total, begin = int(row["gpu_count"]), float(row["arrival_s"])
        if total > 0:
            yield Start(begin, begin + float(row["service_sec"]), *instances_of(total))


def philly(path: Path) -> Iterator[Start]:
    for row in rows_of(path):
        total = int(row["num_gpus"])
        begin = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC).timestamp()
        if total > 0:
            yield Start(begin, begin + float(row["duration"]), *instances_of(total))


def openb(path: Path) -> Iterator[Start]:
    """Yield whole-GPU pods; the others share a GPU or have none."""
    for row in rows_of(path):
        if int(row["num_gpu"]) >= 1 and int(row["gpu_milli"]) == 1_000:
            yield Start(float(row["creation_time"]), float(row["deletion_time"]), 1, int(row["num_gpu"]))


def alibaba(path: Path) -> Iterator[Start]:
    for row in rows_of(path):
        gpus, begin = float(row["g"]), float(row["submit_s"])
        if gpus in range(1, 9):
            yield Start(begin, begin + float(row["duration_s"]), int(float(row["w"])), int(gpus))


TRACES: dict[str, tuple[str, Callable[[Path], Iterator[Start]]]] = {
    "Helios Venus": ("helios_venus.csv.gz", venus),
    "Philly": ("philly.csv.gz", philly),
    "OpenB, whole-GPU pods": ("openb_pods.csv.gz", openb),
    "Alibaba spot 2026, sample": ("alibaba_spot2026_sample.csv.gz", alibaba),
}


def running(starts: Iterable[Start]) -> list[Counts]:
    """Return what runs after each start and end, if each job starts when it is submitted."""
    events: list[tuple[float, int, int]] = []
    for start in starts:
        if start.end > start.begin:
            events += ((start.begin, start.gpus, start.instances), (start.end, start.gpus, -start.instances))
    events.sort(key=lambda event: (event[0], event[2]))  # at one moment ends come first
    counts = [0] * 8
    states: list[Counts] = []
    for _, gpus, change in events:
        counts[gpus - 1] += change
        states.append(tuple(counts))
    return states


# Measuring


def settle(counts: Counts, reading: Reading) -> Row:
    best = closed_form_with_witness(counts)
    found = paper_procedure(counts, reading=reading)
    assert found.partial_nodes >= best.partial_nodes, counts
    return Row(
        counts=counts,
        optimum=best.partial_nodes,
        fewest_nodes=best.nodes_in_use,
        partial=found.partial_nodes,
        nodes=found.nodes_in_use,
        residual=sum(found.stages.combination.unfriendly),
        without_program=paper_procedure(counts, reading=reading, delta=0).partial_nodes,
    )


def share(part: int, whole: int) -> str:
    if not whole:
        return "–"
    percent = 100 * part / whole
    return f"{percent:.1f} %" if not part or percent >= 0.05 else f"{percent:.2g} %"


def spelled(counts: Counts) -> str:
    return ", ".join(f"{n}×{gpus}" for gpus, n in enumerate(counts, start=1) if n)


def report_line(name: str, reading: Reading, rows: list[Row]) -> str:
    off = [row for row in rows if row.excess]
    wcc = [row for row in rows if has_wcc(row.counts)]
    off_under_wcc = sum(has_wcc(row.counts) for row in off)
    return line(
        name,
        reading.name,
        f"{len(rows):,}",
        share(len(wcc), len(rows)),
        share(len(off), len(rows)),
        share(len(off) - off_under_wcc, len(rows) - len(wcc)),
        share(off_under_wcc, len(wcc)),
        f"{fmean(row.excess for row in rows):.2f}",
        f"{fmean(row.excess for row in off):.2f}" if off else "–",
        f"{max(row.excess for row in rows):,}",
        f"{fmean(row.optimum for row in rows):,.1f}",
        share(sum(row.nodes > row.fewest_nodes for row in rows), len(rows)),
        f"{median(row.residual for row in rows):,g} / {max(row.residual for row in rows):,}",
    )


def trace_line(name: str, states: list[Counts]) -> str:
    """Return how every state of a trace fares; only those without WCC are packed (with it, see the tests)."""
    without = Counter(counts for counts in states if not has_wcc(counts))
    cells = [f"{len(states):,}", f"{sum(without.values()):,}"]
    for reading in Reading:
        off = (times for counts, times in without.items() if settle(counts, reading).excess)
        cells.append(f"{sum(off):,}")
    return line(name, *cells)


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def header(*cells: str, words: int) -> str:
    return f"{line(*cells)}\n{'|---' * words}{'|--:' * (len(cells) - words)}|"


def by_pattern_model(counts: Counts) -> int:
    model = PatternModel(uniform_problem(counts))
    answer = solve_by_cp_sat(model.program(NodeClass.is_partial))
    return sum(answer.values[i] for i, _ in model.counting_where(NodeClass.is_partial))


def seconds(call: Callable[[Counts], object], counts: Counts, repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        call(counts)
    return (time.perf_counter() - begin) / repeats


def time_lines(name: str, cases: list[Counts]) -> Iterator[str]:
    timed = random.Random(0).sample(cases, min(TIMED, len(cases)))
    closed = median(seconds(fewest_partial_nodes, counts, 100) for counts in timed)
    witness = median(seconds(closed_form_with_witness, counts, 10) for counts in timed)
    model = median(seconds(by_pattern_model, counts, 1) for counts in timed)
    for reading in Reading:
        procedure = median(seconds(partial(paper_procedure, reading=reading), counts, 1) for counts in timed)
        used = sum(paper_procedure(counts, reading=reading).stages.used_integer_program for counts in timed)
        yield line(
            name,
            reading.name,
            share(used, len(timed)),
            f"{1e3 * procedure:.2f}",
            f"{1e3 * closed:.4f}",
            f"{1e3 * witness:.3f}",
            f"{1e3 * model:.1f}",
            f"{procedure / closed:,.0f}",
            f"{procedure / witness:,.1f}",
            f"{procedure / model:.3f}",
        )


def print_smallest(reading: Reading, rows: list[Row]) -> None:
    """Print the counterexamples with the fewest GPUs, if there are any."""
    off = [row for row in rows if row.excess]
    sizes = {id(row): sum(gpus * n for gpus, n in enumerate(row.counts, start=1)) for row in off}
    least = min(sizes.values(), default=0)
    for row in off:
        if sizes[id(row)] == least:
            print(f"- {reading.name}: {least} GPUs, {spelled(row.counts)}: {row.partial} instead of {row.optimum}")
    if not off:
        print(f"- {reading.name}: none")


def random_cases() -> dict[str, list[Counts]]:
    cases: dict[str, list[Counts]] = {}
    for seed, (name, draw) in enumerate(RANDOM.items()):
        rng = random.Random(seed)
        cases[name] = [draw(rng) for _ in range(RANDOM_CASES)]
    return cases


def trace_states(data: Path) -> dict[str, list[Counts]]:
    """Return what runs after every event, by trace."""
    states: dict[str, list[Counts]] = {}
    for name, (file, read) in TRACES.items():
        path = data / "traces" / file
        if path.exists():
            states[name] = running(read(path))
        else:
            print(f"{path} is not there: {name} is left out", file=sys.stderr)
    return states


def thinned(states: list[Counts]) -> list[Counts]:
    """Return states at equal distances."""
    every = -(-len(states) // TRACE_CASES)
    return states[every - 1 :: every]


def main() -> None:
    default = Path(os.environ.get("COMPASS_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=default, metavar="DIR", help="folder that has traces/")
    states = trace_states(parser.parse_args().data)
    cases = random_cases() | {name: thinned(all_of_it) for name, all_of_it in states.items()}
    every_small = f"every one of 1–{EXHAUSTIVE_GPUS} GPUs"
    groups = {every_small: list(every_workload(EXHAUSTIVE_GPUS))[1:]} | cases
    settled = {
        (name, reading): [settle(counts, reading) for counts in counted]
        for name, counted in groups.items()
        for reading in Reading
    }

    print(f"Python {platform.python_version()}, OR-Tools {version('ortools')}.\n")
    print(header(*COLUMNS, words=2))
    for (name, reading), rows in settled.items():
        print(report_line(name, reading, rows))
    with_residual = [row for rows in settled.values() for row in rows if row.residual]
    better = sum(row.without_program > row.partial for row in with_residual)
    print(
        f"\nThe program did better than Best-Fit-Decreasing on U in {better} of {len(with_residual):,} cases with U.\n"
    )
    for reading in Reading:
        print_smallest(reading, settled[every_small, reading])
    if states:
        names = (f"not optimal, {reading.name}" for reading in Reading)
        print("\n" + header("trace", "states", "WCC fails", *names, words=1))
        for name, all_of_it in states.items():
            print(trace_line(name, all_of_it))
    print("\n" + header(*TIME_COLUMNS, words=2))
    for name, counted in cases.items():
        for text in time_lines(name, counted):
            print(text, flush=True)


if __name__ == "__main__":
    main()
