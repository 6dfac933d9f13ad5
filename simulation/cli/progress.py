"""How far a replay or a sweep is, in a line on a terminal that is renewed and in the end removed."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from compass_core import Migration
    from simulation.jobs import TraceJob
    from simulation.schedulers.protocol import Left, Placed
    from simulation.sweep.cells import Cell

# What takes less is over before anybody has read that it runs.
_QUIET_S = 1.0
# Looking at the clock for every job would cost as much as some schedulers.
_EVERY = 256


class _OnTerminal:
    """A bar that ends with its block; None while it is not shown."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._wanted = sys.stderr is not None and sys.stderr.isatty()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class ReplayProgress(_OnTerminal):
    """An observer of a replay that counts departures; it shows nothing where standard error is no terminal."""

    def __init__(self, scheduler: str, jobs: int) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._jobs = jobs
        self._done = 0
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def started(self, job: TraceJob, now: float, placed: Placed) -> None:
        """Take note of nothing."""

    def departed(self, job: TraceJob, now: float, left: Left) -> None:
        """Count a job that is done."""
        del job, now, left
        self._done += 1
        if self._wanted and self._done % _EVERY == 0:
            self._show()

    def round_started(self, now: float, migrations: Sequence[Migration]) -> None:
        """Take note of nothing."""

    def _show(self) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < _QUIET_S:
                return
            self._bar = _bar("jobs")
            self._bar.add_task(self._scheduler, total=self._jobs)
            self._bar.start()
        for task in self._bar.task_ids:
            self._bar.update(task, completed=self._done)


class CellProgress(_OnTerminal):
    """Counts the cells of a sweep; it shows nothing where standard error is no terminal."""

    def __init__(self, cells: int) -> None:
        super().__init__()
        if cells and self._wanted:
            self._bar = _bar("cells", TimeRemainingColumn())
            self._task = self._bar.add_task("", total=cells)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def done(self, cell: Cell) -> None:
        """Count a finished cell, and name it."""
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=cell.name)


def _bar(unit: str, *more: ProgressColumn) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        *more,
        console=Console(stderr=True),
        transient=True,
    )
