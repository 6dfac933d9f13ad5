"""A sweep on a Dask cluster of separate processes, one of which is killed in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.processes import ended
from tests.simulation.sweep.processes import CELLS, ENTER, finished, rows, run, start, until, write_trace

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytest.importorskip("distributed")


@contextmanager
def dask(folder: Path, kind: str, *arguments: str) -> Generator[subprocess.Popen[bytes]]:
    """Start a scheduler or a worker, and end it."""
    command = [sys.executable, "-m", "dask", kind, "--no-dashboard", "--scheduler-file", str(folder / "scheduler.json")]
    started = subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with ended(started) as process:
        yield process


@contextmanager
def worker(folder: Path) -> Generator[subprocess.Popen[bytes]]:
    with dask(folder, "worker", "--no-nanny", "--nthreads", "1", "--local-directory", str(folder)) as process:
        yield process


@contextmanager
def scheduler(folder: Path) -> Generator[str]:
    """Start a scheduler and return its address."""
    description = folder / "scheduler.json"
    with dask(folder, "scheduler", "--host", "127.0.0.1", "--port", "0"):
        until(lambda: description.exists() and description.read_text().strip().endswith("}"))
        yield str(json.loads(description.read_text())["address"])


@pytest.mark.slow
def test_a_worker_that_is_killed(tmp_path: Path) -> None:
    trace, out = write_trace(tmp_path), tmp_path / "out"
    with scheduler(tmp_path) as address, worker(tmp_path) as doomed, worker(tmp_path):
        with start(trace, out, "--dask", address) as sweep:
            until(lambda: finished(out) >= 4)
            doomed.kill()
            killed_at = finished(out)
            stdout, stderr = sweep.communicate()
        assert doomed.wait() == -signal.SIGKILL
    assert (sweep.returncode, stderr) == (0, "")
    assert killed_at < CELLS == finished(out) == len(rows(stdout))
    assert rows(stdout) == rows(run(trace, tmp_path / "whole", "--processes", "1").stdout)


@pytest.mark.slow
def test_a_local_cluster_goes_on_where_processes_stopped(tmp_path: Path) -> None:
    trace, out = write_trace(tmp_path), tmp_path / "out"
    with start(trace, out, "--processes", "1") as sweep:
        until(lambda: finished(out) >= CELLS - 6)
        sweep.kill()
    result = run(trace, out, "--dask", "local", "--processes", "2")
    assert (result.returncode, result.stderr) == (0, "")
    assert rows(result.stdout) == rows(run(trace, tmp_path / "whole", "--processes", "1").stdout)


@pytest.mark.long
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere:1:2"])
def test_no_scheduler(tmp_path: Path, address: str) -> None:
    program = f"import simulation.sweep.distributed as d; d._PATIENCE_S = 1; {ENTER}"
    trace = write_trace(tmp_path)
    result = subprocess.run(
        [sys.executable, "-c", program, "sweep", trace, "--out", tmp_path / "out", "--dask", address],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        f"compass-sim: --dask {address}: no Dask scheduler answers there, expected tcp://HOST:PORT\n"
    )


@pytest.mark.long
def test_a_scheduler_without_workers(tmp_path: Path) -> None:
    program = f"import simulation.sweep.distributed as d; d._PATIENCE_S = 2; {ENTER}"
    trace = write_trace(tmp_path)
    with scheduler(tmp_path) as address:
        result = subprocess.run(
            [sys.executable, "-c", program, "sweep", trace, "--out", tmp_path / "out", "--dask", address],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"compass-sim: --dask {address}: the scheduler has no worker, expected one in 2 s\n"
