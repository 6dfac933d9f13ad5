"""The schedulers on clusters of several sizes, η of the peak demand (paper, Fig. 2)."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from simulation.experiments.frame import HOUR_S, Finding, number
from simulation.plots.model import Figure, Line, Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from simulation.experiments.frame import Lab
    from simulation.sweep.cells import Row

COLUMNS = (
    "eta",
    "nodes",
    "scheduler",
    "afr",
    "ajct_s",
    "agu",
    "fragmentation_blocked_s",
    "capacity_blocked_s",
    "max_avoidable_partial_nodes",
    "migrations",
)


def etas(lab: Lab) -> Iterator[Finding]:
    """Yield AFR, AJCT and blocked time against η, the tightest cluster on the right, where the lines part."""
    sizes = tuple(sorted(lab.etas, reverse=True))
    places = tuple(map(float, range(len(sizes))))
    rows = lab.results([lab.cell(name, eta=eta) for eta, name in product(sizes, lab.schedulers)])
    ticks = [(place, f"{eta:g}") for place, eta in zip(places, sizes, strict=True)]

    def panel(title: str, value: Callable[[Row], float]) -> Lines:
        lines = [
            Line(name=name, xs=places, ys=[value(row) for row in rows if row["scheduler"] == name])
            for name in lab.schedulers
        ]
        return Lines(title=title, x_label="η (tighter →)", lines=lines, x_ticks=ticks, markers=True)

    conclusion = what_is_seen(
        {
            name: [number(row, "fragmentation_blocked_s") for row in rows if row["scheduler"] == name]
            for name in lab.schedulers
        }
    )
    yield Finding(
        name="eta",
        title=f"{conclusion}.",
        paper="Counterpart of Fig. 2 of the paper",
        columns=COLUMNS,
        rows=tuple(tuple(row[column] for column in COLUMNS) for row in rows),
        figure=Figure(
            title=conclusion,
            rows=[
                [
                    panel("AFR, %", lambda row: 100 * number(row, "afr")),
                    panel("fragmentation-blocked, h", lambda row: number(row, "fragmentation_blocked_s") / HOUR_S),
                    panel("mean completion time, h", lambda row: number(row, "ajct_s") / HOUR_S),
                ]
            ],
        ),
        notes=("N = ⌈η·D/8⌉, D being the peak demand under unlimited capacity.",),
    )


def what_is_seen(blocked: Mapping[str, Sequence[float]]) -> str:
    """Return what fragmentation does on ever tighter clusters, from the blocked time of each scheduler on them."""
    longer = sum(of[0] < of[-1] and all(a <= b for a, b in pairwise(of)) for of in blocked.values())
    if not longer:
        return "Fragmentation on clusters of several sizes"
    return f"The tighter the cluster, the longer fragmentation blocks {longer} of {len(blocked)} schedulers"
