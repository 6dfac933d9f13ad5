"""A sweep that is killed in the middle loses nothing that was finished, and ends as if it had never been killed."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.simulation.sweep.processes import (
    CELLS,
    PATIENCE_S,
    finished,
    is_running,
    rows,
    run,
    start,
    until,
    workers_of,
    write_trace,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes the way of Linux")


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "2"])
def test_after_a_kill(tmp_path: Path, processes: str) -> None:
    trace, killed, whole = write_trace(tmp_path), tmp_path / "killed", tmp_path / "whole"
    with start(trace, killed, "--processes", processes) as sweep:
        until(lambda: finished(killed) >= 3)
        workers = workers_of(sweep.pid)
        sweep.kill()
        sweep.communicate()
    assert sweep.returncode == -signal.SIGKILL
    assert len(workers) == (0 if processes == "1" else 2)
    until(lambda: not any(map(is_running, workers)))
    kept = {path: path.read_bytes() for path in (killed / "cells").glob("[!.]*.parquet")}
    assert 3 <= len(kept) < CELLS

    again, reference = run(trace, killed, "--processes", processes), run(trace, whole, "--processes", "1")
    assert (again.returncode, again.stderr) == (0, "")
    assert rows(again.stdout) == rows(reference.stdout)
    assert len(rows(again.stdout)) == CELLS == finished(killed)
    assert all(path.read_bytes() == content for path, content in kept.items())


@pytest.mark.slow
@pytest.mark.signals
@pytest.mark.parametrize("processes", ["1", "2"])
def test_after_an_interrupt(tmp_path: Path, processes: str) -> None:
    """Ctrl-C reaches the workers, too."""
    trace, out = write_trace(tmp_path), tmp_path / "out"
    with start(trace, out, "--processes", processes) as sweep:
        until(lambda: finished(out) >= 2)
        os.killpg(sweep.pid, signal.SIGINT)
        stdout, stderr = sweep.communicate()
    kept = finished(out)
    assert 2 <= kept < CELLS
    said = f"{kept} of {CELLS} cells are kept in {out}; the same command goes on with the others"
    assert (sweep.returncode, stdout, stderr) == (130, "", f"compass-sim: interrupted: {said}\n")


@pytest.mark.slow
@pytest.mark.signals
def test_an_interrupt_while_workers_start(tmp_path: Path) -> None:
    """They end without a word, too, while they import what they need."""
    trace, out = write_trace(tmp_path), tmp_path / "out"
    with start(trace, out, "--processes", "2") as sweep:
        until(lambda: len(workers_of(sweep.pid)) == 2)
        os.killpg(sweep.pid, signal.SIGINT)
        stdout, stderr = sweep.communicate()
    assert (sweep.returncode, stdout) == (130, "")
    assert stderr.startswith("compass-sim: interrupted: ")
    assert stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.signals
def test_in_the_background_an_interrupt_is_for_others(tmp_path: Path) -> None:
    """Where SIGINT is ignored, as for what a script starts with `&`, Ctrl-C ends neither the sweep nor its workers."""
    trace, out = write_trace(tmp_path), tmp_path / "out"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # set back by the fixture of these tests
    with start(trace, out, "--processes", "2") as sweep:
        until(lambda: finished(out) >= 2)
        os.killpg(sweep.pid, signal.SIGINT)
        stdout, stderr = sweep.communicate(timeout=PATIENCE_S)
    assert (sweep.returncode, stderr) == (0, "")
    assert len(rows(stdout)) == CELLS == finished(out)


@pytest.mark.slow
def test_a_worker_that_dies(tmp_path: Path) -> None:
    """For want of memory, say: one line, and finished cells are kept."""
    trace, out = write_trace(tmp_path), tmp_path / "out"
    with start(trace, out, "--processes", "2") as sweep:
        until(lambda: finished(out) >= 2)
        os.kill(workers_of(sweep.pid)[0], signal.SIGKILL)
        stdout, stderr = sweep.communicate()
    assert (sweep.returncode, stdout) == (2, "")
    assert stderr.startswith("compass-sim: a worker process died")
    assert stderr.endswith("finished cells are kept\n")
    assert stderr.count("\n") == 1
    assert 2 <= finished(out) < CELLS
