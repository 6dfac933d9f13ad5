"""Ours: the algorithm as printed, repaired, and exact, beside the optimum, on clusters of several sizes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from simulation.experiments.frame import HOUR_S, ExperimentError, Finding, number
from simulation.plots.model import Bars, Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulation.experiments.frame import Lab
    from simulation.sweep.cells import Row

VARIANTS = ("printed", "compass", "exact", "sifopt")
COLUMNS = (
    "eta",
    "nodes",
    "scheduler",
    "afr",
    "max_avoidable_partial_nodes",
    "ajct_s",
    "wcc_coverage",
    "fragmentation_blocked_s",
    "structure_blocked_s",
    "undefined_blocked_s",
    "undefined_arrivals",
    "undefined_departures",
    "stuck_gpu_s",
    "unstarted_jobs",
    "migrations",
)


def variants(lab: Lab) -> Iterator[Finding]:
    """Yield the comparison of the variants."""
    names = [name for name in VARIANTS if name in lab.schedulers]
    if not names:
        raise ExperimentError(f"variants: expected some of {', '.join(VARIANTS)} among the schedulers")
    sizes = tuple(sorted(lab.etas))
    rows = lab.results([lab.cell(name, eta=eta) for eta, name in product(sizes, names)])

    def bars(eta: float) -> list[Bars]:
        of = [row for row in rows if row["eta"] == eta]

        def panel(title: str, value: Callable[[Row], float], form: str) -> Bars:
            values = [value(row) for row in of]
            texts = [format(each, form) for each in values]
            return Bars(title=title, names=names, values=values, texts=texts, most=max(map(value, rows)))

        return [
            panel(f"η = {eta:g}: AFR, %", lambda row: 100 * number(row, "afr"), ".2f"),
            panel("avoidable nodes at most", lambda row: number(row, "max_avoidable_partial_nodes"), ".0f"),
            panel("fragmentation-blocked, h", lambda row: number(row, "fragmentation_blocked_s") / HOUR_S, ".1f"),
            panel("undefined events", _undefined, ",.0f"),
        ]

    yield Finding(
        name="variants",
        title="The algorithm as printed, repaired and exact, beside the optimum.",
        paper="No counterpart in the paper",
        columns=COLUMNS,
        rows=tuple(tuple(row[column] for column in COLUMNS) for row in rows),
        figure=Figure(title="Printed, repaired, exact", rows=[bars(eta) for eta in sizes]),
        notes=(
            "Undefined: the printed operators do not say what to do; the job waits, or keeps its GPUs after its end.",
            "Structure: the free GPUs lie well, but the slots asked for do not fit.",
            "The bounds (2 avoidable nodes for compass, 0 for exact) hold where the composition condition does.",
        ),
    )


def _undefined(row: Row) -> float:
    return number(row, "undefined_arrivals") + number(row, "undefined_departures")
