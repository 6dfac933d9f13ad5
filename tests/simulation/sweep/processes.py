"""`compass-sim sweep` as a process of its own, and what can be seen of it from outside."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.processes import ended
from tests.simulation.sweep.small import as_csv, made_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ENTER = "from simulation.cli.main import entry_point; entry_point()"
COMMAND = [sys.executable, "-c", ENTER]
DAYS, ETAS, SCHEDULERS = 5, "0.6,0.8,1", "exact,compass,gfs"
CELLS = DAYS * 3 * 3
# Far more than any run needs, even where ten others share the machine; what hangs ends here.
PATIENCE_S = 240.0


def write_trace(folder: Path) -> Path:
    """Write a trace whose cells take long enough to be caught in the middle."""
    path = folder / "trace.csv"
    path.write_text(as_csv(made_up(400 * DAYS, seed=5, days=DAYS)))
    return path


def arguments(trace: Path, out: Path, *more: str) -> list[str | Path]:
    """Return the arguments of the sweep of these tests."""
    return ["sweep", trace, "--eta", ETAS, "--schedulers", SCHEDULERS, "--out", out, "-o", "csv", *more]


def run(trace: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the sweep to its end."""
    return subprocess.run(
        [*COMMAND, *arguments(trace, out, *more)], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def start(trace: Path, out: Path, *more: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start the sweep in a process group of its own, as a shell does."""
    return ended(
        subprocess.Popen(
            [*COMMAND, *arguments(trace, out, *more)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    )


def finished(out: Path) -> int:
    """Return how many cells are kept."""
    return len(list((out / "cells").glob("[!.]*.parquet")))


def until(condition: Callable[[], bool]) -> None:
    """Wait for something."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def rows(text: str) -> list[dict[str, str]]:
    """Return a table of cells without the times it took."""
    return [
        {name: value for name, value in row.items() if name != "wall_s"} for row in csv.DictReader(io.StringIO(text))
    ]


def workers_of(pid: int) -> list[int]:
    """Return the worker processes that a process started; Linux only."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
