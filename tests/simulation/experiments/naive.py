"""A trace, and what experiments are made from, with replays that are run afresh each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.demand import nodes_for
from simulation.engine import ReplayOptions, replay
from simulation.experiments.frame import Lab
from simulation.jobs import Trace
from simulation.pauses import Pauses
from simulation.schedulers.registry import make_scheduler
from simulation.sweep.cells import Assumptions, run_cell, tasks_of, windows_of
from tests.simulation.sweep.small import made_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.metrics import ReplayResult
    from simulation.sweep.cells import Cell, Row

DAYS = 4
JOBS = made_up(45 * DAYS, seed=11, days=DAYS)
SCHEDULERS = ("exact", "compass", "printed", "gfs", "drr")
ETAS = (0.6, 0.9)
WHOLE = (0, DAYS - 1)


def lab(schedulers: tuple[str, ...] = SCHEDULERS, etas: tuple[float, ...] = ETAS, at: float = 0.6) -> Lab:
    """Return a laboratory with that trace."""
    daily = windows_of(JOBS)
    traces = {**daily, WHOLE: Trace(JOBS)}

    def results(cells: Sequence[Cell]) -> list[Row]:
        return [run_cell(task) for task in tasks_of(cells, traces, Assumptions())]

    return Lab(
        days=WHOLE,
        trace=Trace(JOBS),
        daily=daily,
        etas=etas,
        at=at,
        schedulers=schedulers,
        seed=0,
        results=results,
    )


def of_days(first: int, last: int) -> list[int]:
    """Return the positions of the jobs of some days."""
    return [i for i, job in enumerate(JOBS) if first * 86_400 <= job.submit_s < (last + 1) * 86_400]


def replayed(days: tuple[int, int], eta: float, scheduler: str, cost_s: float = 0.0) -> ReplayResult:
    """Replay some days without the sweep."""
    jobs = [JOBS[i] for i in of_days(*days)]
    nodes = nodes_for(jobs, eta)
    options = ReplayOptions(pauses=Pauses(seconds=cost_s))
    return replay(jobs, make_scheduler(scheduler, nodes, jobs), options).result
