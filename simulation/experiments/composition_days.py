"""Days whose workloads differ most in composition, under every scheduler (paper, Fig. 3 and Table 2).

Which days the paper takes is not known here. A day is chosen here by the GPU-time of its jobs: the largest share of
1-GPU instances, of 2, 4 and 8, of 3, 5, 6 and 7, and the day nearest to the mean of all days.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from simulation.experiments.demand_classes import CLASSES, gpu_time_shares
from simulation.experiments.frame import Finding, number
from simulation.plots.model import Bars, Figure, Stack
from simulation.sweep.cells import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simulation.experiments.frame import Lab
    from simulation.jobs import Trace
    from simulation.sweep.cells import Days

COLUMNS = (
    "day",
    "chosen_for",
    "jobs",
    "share_of_gpu_s_1",
    "share_of_gpu_s_2_4_8",
    "share_of_gpu_s_3_5_6_7",
    "nodes",
    "scheduler",
    "afr",
    "ajct_s",
    "agu",
    "wcc_coverage",
    "fragmentation_blocked_s",
)

# A day of a handful of jobs has an extreme composition by chance.
FEWEST_JOBS = 100


def composition_days(lab: Lab) -> Iterator[Finding]:
    """Yield the comparison on those days."""
    chosen = choose_days(lab.daily)
    shares = {days: gpu_time_shares(lab.daily[days]) for days in chosen.values()}
    results = lab.results(
        [Cell(days=days, eta=lab.at, scheduler=name) for days, name in product(chosen.values(), lab.schedulers)]
    )
    by_cell = {(row["first_day"], row["scheduler"]): row for row in results}
    most = 100 * max(number(row, "afr") for row in results)
    bars: list[Bars] = []
    rows: list[tuple[str | int | float, ...]] = []
    for kind, days in chosen.items():
        found = [by_cell[days[0], name] for name in lab.schedulers]
        values = [100 * number(row, "afr") for row in found]
        bars.append(
            Bars(
                title=f"AFR on day {days[0]}, %",
                names=lab.schedulers,
                values=values,
                texts=[f"{value:.1f}" for value in values],
                most=most,
            )
        )
        of = shares[days]
        rows += [
            (days[0], kind, row["jobs"], *(of[name] for name in CLASSES), *(row[column] for column in COLUMNS[6:]))
            for row in found
        ]
    stack = Stack(
        title="share of GPU-time by GPUs an instance",
        names=[f"day {days[0]}: {kind}" for kind, days in chosen.items()],
        parts=[(name, [shares[days][name] for days in chosen.values()]) for name in CLASSES],
    )
    yield Finding(
        name="composition-days",
        title="The days whose workloads differ most in composition.",
        paper="Counterpart of Fig. 3 and Table 2 of the paper",
        columns=COLUMNS,
        rows=tuple(rows),
        figure=Figure(
            title=f"{what_is_seen(lab.schedulers, [bar.values for bar in bars])} (η = {lab.at:g})",
            rows=[[stack], bars],
        ),
        notes=(
            f"Each day is a replay of its own at η = {lab.at:g}.",
            f"Days of at least {FEWEST_JOBS} jobs, if there are such, are chosen by the shares of GPU-time.",
            "The paper's choice of days is not known here.",
        ),
    )


def what_is_seen(names: Sequence[str], afr: Sequence[Sequence[float]]) -> str:
    """Return under which scheduler the AFR, in per cent, differs most between the days; those are by scheduler."""
    ranges = {name: (min(of), max(of)) for name, of in zip(names, zip(*afr, strict=True), strict=True)}
    name, (low, high) = max(ranges.items(), key=lambda item: item[1][1] - item[1][0])
    if f"{low:.1f}" == f"{high:.1f}":
        return "AFR on days of different composition"
    return f"AFR differs most between the days under {name}: {low:.1f} to {high:.1f} %"


def choose_days(daily: Mapping[Days, Trace]) -> dict[str, Days]:
    """Return the days by what they are chosen for; one that is extreme twice is named for the first reason."""
    large = {days: trace for days, trace in daily.items() if len(trace) >= FEWEST_JOBS} or dict(daily)
    shares = {days: gpu_time_shares(trace) for days, trace in large.items()}
    mean = {name: sum(of[name] for of in shares.values()) / len(shares) for name in CLASSES}

    def most(name: str) -> Days:
        return max(shares, key=lambda days: (shares[days][name], -days[0]))

    def distance(days: Days) -> float:
        return sum((shares[days][name] - mean[name]) ** 2 for name in CLASSES)

    wanted = {f"most {name}": most(name) for name in CLASSES}
    wanted["nearest to the mean"] = min(shares, key=lambda days: (distance(days), days))
    chosen: dict[str, Days] = {}
    for kind, days in wanted.items():
        if days not in chosen.values():
            chosen[kind] = days
    return chosen
