"""Overall comparison of the schedulers on one cluster (paper, Fig. 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.experiments.frame import HOUR_S, Finding, number
from simulation.plots.model import Bars, Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulation.experiments.frame import Lab, Value
    from simulation.sweep.cells import Row

COLUMNS = (
    "scheduler",
    "nodes",
    "afr",
    "max_avoidable_partial_nodes",
    "ajct_s",
    "delay_mean_s",
    "delay_p95_s",
    "agu",
    "agu_submission",
    "fragmentation_blocked_s",
    "capacity_blocked_s",
    "migrations",
    "wcc_coverage",
    "refused_jobs",
    "unstarted_jobs",
    "undefined_arrivals",
    "undefined_departures",
)


def overall(lab: Lab) -> Iterator[Finding]:
    """Yield the comparison, least fragmentation first."""
    rows = sorted(lab.results([lab.cell(name) for name in lab.schedulers]), key=lambda row: number(row, "afr"))
    first = rows[0]

    def values(row: Row) -> tuple[Value, ...]:
        return tuple(row[column] for column in COLUMNS)

    yield Finding(
        name="overall",
        title=f"All schedulers on {first['nodes']} nodes (η = {lab.at:g}).",
        paper="Counterpart of Fig. 1 of the paper",
        columns=COLUMNS,
        rows=tuple(map(values, rows)),
        figure=Figure(
            title=f"{number(first, 'jobs'):,.0f} jobs on {first['nodes']} nodes of 8 GPUs",
            rows=[
                [
                    _bars(rows, "AFR, % of nodes", lambda row: 100 * number(row, "afr"), ".2f"),
                    _bars(rows, "fragmentation-blocked, h", _blocked_h, ".1f"),
                    _bars(rows, "mean completion time, h", lambda row: number(row, "ajct_s") / HOUR_S, ".2f"),
                    _bars(rows, "GPUs in use, %", lambda row: 100 * number(row, "agu"), ".1f"),
                ]
            ],
        ),
        notes=(
            "AFR: time average of SIF = (Φ − Φ*)/N, with exact Φ* at every event.",
            "Blocked by fragmentation: time in which the head waits although as many GPUs are free as it demands.",
            "AGU is measured up to the last completion, `agu_submission` up to the last submission.",
            "Migrations cost nothing here.",
        ),
    )


def _blocked_h(row: Row) -> float:
    return number(row, "fragmentation_blocked_s") / HOUR_S


def _bars(rows: list[Row], title: str, value: Callable[[Row], float], form: str) -> Bars:
    values = [value(row) for row in rows]
    return Bars(
        title=title,
        names=[str(row["scheduler"]) for row in rows],
        values=values,
        texts=[format(value, form) for value in values],
    )
