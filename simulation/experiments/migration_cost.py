"""What pauses cost: a migration stops its job for c = 0 to 10 seconds (paper, Fig. 4)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from simulation.experiments.frame import HOUR_S, Finding, number
from simulation.plots.model import Figure, Line, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.experiments.frame import Lab

COSTS_S = tuple(float(cost) for cost in range(11))
COLUMNS = ("scheduler", "cost_s", "ajct_s", "added_ajct_s", "migrations", "pauses", "paused_s", "paused_gpu_s", "afr")


def migration_cost(lab: Lab) -> Iterator[Finding]:
    """Yield AJCT against c for the schedulers that move anything, or for all if none does."""
    free = lab.results([lab.cell(name) for name in lab.schedulers])
    movers = [str(row["scheduler"]) for row in free if row["migrations"]] or list(lab.schedulers)
    rows = lab.results([lab.cell(name, cost_s=cost) for name, cost in product(movers, COSTS_S)])
    start = {row["scheduler"]: number(row, "ajct_s") for row in rows if not row["cost_s"]}
    added = [number(row, "ajct_s") - start[row["scheduler"]] for row in rows]

    def lines(values: list[float]) -> list[Line]:
        return [
            Line(
                name=name,
                xs=COSTS_S,
                ys=[value for row, value in zip(rows, values, strict=True) if row["scheduler"] == name],
            )
            for name in movers
        ]

    ticks = [(cost, f"{cost:g}") for cost in COSTS_S[::2]]
    yield Finding(
        name="migration-cost",
        title=f"What migrations cost when each stops its job for c seconds (η = {lab.at:g}).",
        paper="Counterpart of Fig. 4 of the paper",
        columns=COLUMNS,
        rows=tuple(
            (row["scheduler"], row["cost_s"], row["ajct_s"], extra, *(row[column] for column in COLUMNS[4:]))
            for row, extra in zip(rows, added, strict=True)
        ),
        figure=Figure(
            title=f"What migrations cost if each stops its job for c seconds ({rows[0]['nodes']} nodes)",
            rows=[
                [
                    Lines(
                        title="added to the mean completion time, s",
                        x_label="c, seconds a migration stops its job",
                        lines=lines(added),
                        x_ticks=ticks,
                        markers=True,
                    ),
                    Lines(
                        title="GPU-hours held by paused jobs",
                        x_label="c, seconds a migration stops its job",
                        lines=lines([number(row, "paused_gpu_s") / HOUR_S for row in rows]),
                        x_ticks=ticks,
                        markers=True,
                    ),
                ]
            ],
        ),
        notes=(
            "All moves of one event stop a job once. A paused job keeps its GPUs.",
            "A pause shifts later events, so the mean may also fall with c.",
            "Schedulers that move nothing are left out, unless none moves anything.",
        ),
    )
