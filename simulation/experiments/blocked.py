"""Ours: jobs that had to wait although as many GPUs were free as they demand, under each scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.experiments.frame import HOUR_S, Finding, number
from simulation.plots.model import Bars, Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.experiments.frame import Lab
    from simulation.sweep.cells import Row

CAUSES = {
    "bad places": "fragmentation_blocked_jobs",
    "structure": "structure_blocked_jobs",
    "held back": "held_jobs",
    "undefined": "undefined_arrivals",
}
"""Causes other than capacity, and the column that counts the jobs kept at the head of the queue by each."""

COLUMNS = (
    "scheduler",
    "nodes",
    "jobs",
    "feasible_blocked_jobs",
    *CAUSES.values(),
    "capacity_blocked_jobs",
    "fragmentation_blocked_s",
)


def blocked(lab: Lab) -> Iterator[Finding]:
    """Yield the counts, fewest first."""
    rows = sorted(lab.results([lab.cell(name) for name in lab.schedulers]), key=lambda row: (_jobs(row), _hours(row)))
    names = [str(row["scheduler"]) for row in rows]
    most = max((*map(_jobs, rows), 1.0))

    def panel(title: str, column: str) -> Bars:
        values = [number(row, column) for row in rows]
        return Bars(title=title, names=names, values=values, texts=[f"{value:,.0f}" for value in values], most=most)

    causes = [panel(cause, column) for cause, column in CAUSES.items() if any(row[column] for row in rows)]
    hours = [_hours(row) for row in rows]
    time = Bars(title="hours in all", names=names, values=hours, texts=[f"{value:,.1f}" for value in hours])
    yield Finding(
        name="blocked",
        title="Jobs that waited at the head of the queue although as many GPUs were free as they demand, by cause.",
        paper="No counterpart in the paper",
        columns=COLUMNS,
        rows=tuple(tuple(row[column] for column in COLUMNS) for row in rows),
        figure=Figure(
            title=f"Jobs that waited although enough GPUs were free ({rows[0]['nodes']} nodes)",
            rows=[[panel("jobs in all", "feasible_blocked_jobs"), *causes, time]],
        ),
        notes=(
            "A job is counted once for every cause it met, and once in all: what is free changes while it waits.",
            "Structure: the free GPUs lie well, but the slots asked for do not fit.",
            "Held back: it fitted, and the scheduler waited for a better place.",
        ),
    )


def _jobs(row: Row) -> float:
    return number(row, "feasible_blocked_jobs")


def _hours(row: Row) -> float:
    return number(row, "fragmentation_blocked_s") / HOUR_S
