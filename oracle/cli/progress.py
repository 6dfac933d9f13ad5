"""What goes on, in a line on a terminal that is renewed and in the end removed: a spinner, words, the time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from oracle.safe_text import printable


class Progress:
    """A line on standard error from now until it is stopped."""

    def __init__(self, what: str) -> None:
        self._progress = RichProgress(
            SpinnerColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            TextColumn("(Ctrl-C: the best so far)", markup=False, style="dim"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(printable(what), total=None)
        self._progress.start()

    def show(self, what: str) -> None:
        """Say something else."""
        self._progress.update(self._task, description=printable(what))

    def stop(self) -> None:
        """Remove the line."""
        self._progress.stop()
