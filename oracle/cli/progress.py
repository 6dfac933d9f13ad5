"""What goes on, in a line on a terminal that is renewed and in the end removed: a spinner, words, the time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Column

from oracle.safe_text import printable


class Progress:
    """A line on standard error from now until it is stopped.

    Parameters
    ----------
    what
        What goes on.
    kept
        What Ctrl-C leaves.
    total
        How many parts there are, if that is to be shown with those that are done.
    """

    def __init__(self, what: str, *, kept: str = "the best so far", total: int | None = None) -> None:
        self._progress = RichProgress(
            SpinnerColumn(table_column=Column(no_wrap=True)),
            *([] if total is None else [MofNCompleteColumn(table_column=Column(no_wrap=True))]),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.description}", markup=False, table_column=Column()),  # where it is narrow, this one wraps
            TextColumn(f"(Ctrl-C: {kept})", markup=False, style="dim"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(printable(what), total=total)
        self._progress.start()

    def show(self, what: str, *, done: int | None = None) -> None:
        """Say something else, and how many parts are done."""
        self._progress.update(self._task, description=printable(what), completed=done)

    def stop(self) -> None:
        """Remove the line."""
        self._progress.stop()
