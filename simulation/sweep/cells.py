"""What a sweep is made of: cells, each the replay of some days of a trace under one scheduler on one cluster size."""

from __future__ import annotations

import random
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from compass_core import CompassError
from simulation.demand import nodes_for, peak_demand
from simulation.engine import QueueOrder, ReplayOptions, replay
from simulation.jobs import Trace
from simulation.pauses import Pauses
from simulation.schedulers.own.loading import find, is_own
from simulation.schedulers.registry import make_scheduler
from simulation.traces.selection import DAY_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simulation.jobs import TraceJob

Row: TypeAlias = "dict[str, str | int | float]"
"""What a cell gave: the columns that name it, then the figures of the replay."""

Days: TypeAlias = "tuple[int, int]"
"""First and last day, both included; day d goes from d·86,400 s to (d+1)·86,400 s."""


class SweepError(CompassError):
    """A sweep that cannot go on; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One replay of a sweep.

    Attributes
    ----------
    days
        The jobs submitted on these days; the replay goes on until they have ended.
    eta
        η: N = ⌈η·D/8⌉, D being the peak demand of these jobs.
    scheduler
        Its name; that of one's own is module:Class.
    cost_s
        Seconds a job stands still when instances of it move.
    """

    days: Days
    eta: float
    scheduler: str
    cost_s: float = 0.0

    @property
    def name(self) -> str:
        """What tells it from the other cells; fit for a file name.

        A scheduler of one's own changes: its file is part of what tells it, so that another version is another cell.
        """
        code = code_of(self.scheduler)
        scheduler = f"{self.scheduler.replace(':', '-')}-{code}" if code else self.scheduler
        first, last = self.days
        return f"days{first}to{last}_eta{float(self.eta)!r}_c{float(self.cost_s)!r}_{scheduler}"

    def columns(self) -> Row:
        """Return the columns that name it."""
        first, last = self.days
        return {"first_day": first, "last_day": last, "eta": float(self.eta), "cost_s": float(self.cost_s)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What all cells of a sweep have in common.

    Attributes
    ----------
    queue
        "fifo", "backfill" or "largest-first".
    seed
        Of random placement.
    """

    queue: str = "fifo"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """A cell with all that is needed to run it anywhere: it is sent to another process, or another machine."""

    cell: Cell
    jobs: tuple[TraceJob, ...]
    assumptions: Assumptions
    code: str = ""
    """Of a scheduler of one's own: the version for which the cell is kept."""


def code_of(scheduler: str) -> str:
    """Return what tells versions of a scheduler of one's own apart; nothing for ours, told by the package's."""
    return find(scheduler).code if is_own(scheduler) else ""


def run_cell(task: Task) -> Row:
    """Replay a cell and return its row. Nothing but its argument goes in: run twice, it gives the same but for time."""
    cell, assumptions = task.cell, task.assumptions
    if code_of(cell.scheduler) != task.code:
        raise SweepError(f"{cell.scheduler}: expected the file of the machine that runs the sweep, found another here")
    trace = Trace(task.jobs)
    nodes = nodes_for(trace, cell.eta)
    options = ReplayOptions(
        pauses=Pauses(seconds=cell.cost_s),
        queue=QueueOrder.LARGEST_FIRST if assumptions.queue == "largest-first" else QueueOrder.FIFO,
        backfill=assumptions.queue == "backfill",
    )
    result = replay(trace, make_scheduler(cell.scheduler, nodes, trace.jobs, seed=assumptions.seed), options).result
    row = cell.columns() | {"peak_demand_gpus": peak_demand(trace)}
    for name, value in result.to_json().items():
        if name != "schema" and isinstance(value, (str, int, float)):
            row[name] = value
    return row


def windows_of(jobs: Iterable[TraceJob], days: Days | None = None, *, length: int = 1) -> dict[Days, Trace]:
    """Return the jobs by window of `length` days, counted from the first day asked for (day 0 if none is named).

    Windows in which no job needs a GPU for any time are left out: no cluster size follows from them.
    """
    found: dict[Days, list[TraceJob]] = {}
    origin = 0 if days is None else days[0]
    for job in jobs:
        day = int(job.submit_s // DAY_S)
        if days is not None and not days[0] <= day <= days[1]:
            continue
        first = day - (day - origin) % length
        last = first + length - 1
        found.setdefault((first, last if days is None else min(last, days[1])), []).append(job)
    return {window: Trace(tuple(of)) for window, of in sorted(found.items()) if any(job.duration_s > 0 for job in of)}


def sampled(windows: Sequence[Days], number: int | None, seed: int) -> tuple[Days, ...]:
    """Return so many of the windows, each equally likely, in order of time; all of them if None or more are asked."""
    if number is None or number >= len(windows):
        return tuple(windows)
    rng = random.Random(seed)  # noqa: S311 - a sample must be repeatable, not secret
    return tuple(sorted(rng.sample(list(windows), number)))


def grid(
    windows: Iterable[Days], etas: Iterable[float], schedulers: Iterable[str], costs: Iterable[float] = (0.0,)
) -> tuple[Cell, ...]:
    """Return all cells of a grid: by window, then η, then cost, then scheduler."""
    return tuple(
        Cell(days=days, eta=eta, scheduler=scheduler, cost_s=cost)
        for days, eta, cost, scheduler in product(windows, tuple(etas), tuple(costs), tuple(schedulers))
    )


def tasks_of(cells: Iterable[Cell], traces: Mapping[Days, Trace], assumptions: Assumptions) -> tuple[Task, ...]:
    """Return the cells with the jobs of their days."""
    return tuple(Task(cell, traces[cell.days].jobs, assumptions, code_of(cell.scheduler)) for cell in cells)


def fingerprint(jobs: Iterable[TraceJob]) -> str:
    """Return what tells these jobs from others: equal jobs in equal order, equal text."""
    digest = sha256()
    for job in jobs:
        digest.update(f"{job.name!r} {job.submit_s!r} {job.duration_s!r} {job.instances} {job.gpus}\n".encode())
    return digest.hexdigest()
