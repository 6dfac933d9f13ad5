"""The command as a process of its own: pipes, terminals, signals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.processes import ended
from tests.simulation.cli.conftest import SMALL

if TYPE_CHECKING:
    from pathlib import Path

ENTER = "from simulation.cli.main import entry_point; entry_point()"
COMMAND = [sys.executable, "-c", ENTER]


def run(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, text=True, encoding="utf-8", check=False
    )


def test_a_pipe_from_end_to_end() -> None:
    made = run("synthesize", "--jobs", "200", "--seed", "3", "--max-total-gpus", "32")
    result = run("compare", "-", "--eta", "0.9", "--schedulers", "gfs,exact", "-o", "json", stdin=made.stdout)
    assert (made.returncode, result.returncode, result.stderr) == (0, 0, "")
    assert [entry["completed_jobs"] for entry in json.loads(result.stdout)] == [200, 200]


def test_the_status_reaches_the_shell() -> None:
    result = run("run", "-", stdin="not,a,trace\n")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("compass-sim: standard input:1: not the header of a known trace: 'not,a,trace'")
    assert result.stderr.count("\n") == 1


def test_it_needs_no_extra() -> None:
    program = f"import sys; sys.modules.update(polars=None, matplotlib=None, distributed=None, torch=None); {ENTER}"
    result = subprocess.run(
        [sys.executable, "-c", program, "run", "-", "--nodes", "2"],
        input=SMALL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_a_reader_that_is_gone() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as stdout:
        result = subprocess.run([*COMMAND, "synthesize"], stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 0
    assert b"Traceback" not in result.stderr


@pytest.mark.signals
def test_an_interrupt(tmp_path: Path) -> None:
    pipe = tmp_path / "trace.csv"
    os.mkfifo(pipe)
    with ended(subprocess.Popen([*COMMAND, "run", pipe], stderr=subprocess.PIPE)) as process, pipe.open("wb"):
        # The pipe opens when its reader is there: start-up is over.
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"compass-sim: interrupted\n")


def test_progress_is_for_terminals() -> None:
    """With the quiet time at 0 a terminal sees a line that comes and goes; a pipe sees none (above)."""
    program = f"import simulation.cli.progress as p; p._QUIET_S = 0; p._EVERY = 1; {ENTER}"
    terminal, child = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-c", program, "run", "-", "--nodes", "2", "-o", "json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=child,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    with ended(started) as process:
        os.close(child)
        stdout, _ = process.communicate(SMALL.encode(), timeout=60)
        seen = b""
        try:
            while chunk := os.read(terminal, 4096):
                seen += chunk
        except OSError:  # what Linux says at the end of a pseudo-terminal
            pass
    os.close(terminal)
    assert process.returncode == 0
    assert json.loads(stdout)["completed_jobs"] == 4
    assert b"exact" in seen
    assert b"jobs" in seen
