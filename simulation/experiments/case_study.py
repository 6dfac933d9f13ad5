"""One window over time: avoidable partial nodes, GPUs in use, empty nodes (paper, Figs. 5 to 7)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from simulation.demand import GPUS_PER_NODE, nodes_for
from simulation.engine import ReplayOptions, replay
from simulation.experiments.frame import HOUR_S, Finding
from simulation.plots.model import Figure, Line, Lines
from simulation.schedulers.registry import make_scheduler
from simulation.traces.selection import DAY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulation.experiments.frame import Lab
    from simulation.metrics import Sample

COLUMNS = ("scheduler", "day", "avoidable_partial_nodes", "used_gpus", "empty_nodes", "waiting_jobs")
FEW = ("exact", "compass", "gfs", "fgd")
"""Those shown, of the ones asked for; all if none of them was."""


class Average(NamedTuple):
    """Time averages from `time_s` for one step."""

    time_s: float
    avoidable_partial_nodes: float
    used_gpus: float
    empty_nodes: float
    waiting: float


def averaged(series: Sequence[Sample], step_s: float) -> list[Average]:
    """Return the time averages of each step from the first sample to the last; steps begin at multiples of `step_s`.

    A value holds from its sample to the next. The last step may be cut short; it is averaged over what there is of it.
    """
    sums: dict[int, list[float]] = {}
    for sample, following in pairwise(series):
        begin = sample.time_s
        while begin < following.time_s:
            step = int(begin // step_s)
            end = min(following.time_s, (step + 1) * step_s)
            values = (sample.avoidable_partial_nodes, sample.used_gpus, sample.empty_nodes, sample.waiting, 1)
            held = sums.setdefault(step, [0.0] * 5)
            for place, value in enumerate(values):
                held[place] += value * (end - begin)
            begin = end
    return [
        Average(step * step_s, *(total / seconds for total in totals))
        for step, (*totals, seconds) in sorted(sums.items())
        if seconds > 0
    ]


def case_study(lab: Lab) -> Iterator[Finding]:
    """Yield the three measures over time, averaged over each hour."""
    names = [name for name in lab.schedulers if name in FEW] or list(lab.schedulers)
    nodes = nodes_for(lab.trace, lab.at)
    found: dict[str, list[Average]] = {}
    for name in names:
        scheduler = make_scheduler(name, nodes, lab.trace.jobs, seed=lab.seed)
        found[name] = averaged(replay(lab.trace, scheduler, ReplayOptions(series=True)).series, HOUR_S)

    def panel(title: str, value: Callable[[Average], float]) -> list[Lines]:
        lines = [
            Line(name=name, xs=[of.time_s / DAY_S for of in steps], ys=[value(of) for of in steps])
            for name, steps in found.items()
        ]
        return [Lines(title=title, x_label="day", lines=lines, steps=True)]

    first, last = lab.days
    yield Finding(
        name="case-study",
        title=f"Days {first} to {last} on {nodes} nodes (η = {lab.at:g}), hour by hour.",
        paper="Counterpart of Figs. 5 to 7 of the paper",
        columns=COLUMNS,
        rows=tuple(
            (name, of.time_s / DAY_S, of.avoidable_partial_nodes, of.used_gpus, of.empty_nodes, of.waiting)
            for name, steps in found.items()
            for of in steps
        ),
        figure=Figure(
            title=f"Days {first} to {last} on {nodes} nodes",
            rows=[
                panel("N·SIF: avoidable partial nodes", lambda of: of.avoidable_partial_nodes),
                panel("GPUs in use, %", lambda of: 100 * of.used_gpus / (nodes * GPUS_PER_NODE)),
                panel("empty nodes", lambda of: of.empty_nodes),
            ],
        ),
        notes=("Exact time averages of each hour, up to the last completion.",),
    )
