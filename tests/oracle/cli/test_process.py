"""The installed command as a process of its own: pipes, full disks, signals, encodings, start-up time."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ended

SIFOPT = Path(sys.executable).with_name("sifopt")
NATIVE = Path(__file__).parents[3] / "examples" / "snapshots" / "native.json"

pytestmark = pytest.mark.skipif(not SIFOPT.exists(), reason="the command is not installed in this environment")


def run(
    *arguments: str | Path, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [SIFOPT, *arguments], input=stdin, capture_output=True, check=False, env=os.environ | (environment or {})
    )


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)


def test_a_pipe_gets_plain_text() -> None:
    result = run("measure", "-", stdin=NATIVE.read_bytes())
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"\x1b" not in result.stdout
    assert "inherent" in result.stdout.decode()


def test_the_status_reaches_the_shell() -> None:
    assert run("measure", NATIVE, "--exit-code").returncode == 1
    assert run("measure", "-", stdin=b"{").returncode == 2
    assert run("--help").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", [f"{SIFOPT} convert {NATIVE} >/dev/full", f"{SIFOPT} measure {NATIVE} >/dev/full"])
def test_a_full_disk(command: str) -> None:
    result = shell(command)
    assert result.returncode == 2
    assert result.stderr == "sifopt: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("arguments", [["convert", str(NATIVE)], ["--help"], ["schema"]])
def test_a_reader_that_is_gone(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as stdout:
        result = subprocess.run([SIFOPT, *arguments], stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{SIFOPT} convert - <&-", "sifopt: standard input: cannot be read: "),
        (f"{SIFOPT} convert {NATIVE} >&-", "sifopt: cannot write the output: "),
    ],
)
def test_closed_streams(command: str, message: str) -> None:
    result = shell(command)
    assert result.returncode == 2
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


def test_closed_standard_error() -> None:
    result = shell(f"{SIFOPT} measure /nowhere 2>&-")
    assert (result.returncode, result.stdout, result.stderr) == (2, "", "")


@pytest.mark.signals
def test_an_interrupt(tmp_path: Path) -> None:
    pipe = tmp_path / "snapshot.json"
    os.mkfifo(pipe)
    with ended(subprocess.Popen([SIFOPT, "measure", pipe], stderr=subprocess.PIPE)) as process, pipe.open("wb"):
        # The pipe opens when its reader is there: start-up is over.
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"sifopt: interrupted\n")


def test_a_terminal_that_knows_only_ascii() -> None:
    result = run("measure", NATIVE, environment={"PYTHONIOENCODING": "ascii"})
    assert (result.returncode, result.stderr) == (0, b"")
    assert rb"\u03a6" in result.stdout


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_json_is_utf8_whatever_the_terminal(tmp_path: Path, unbuffered: str) -> None:
    path = tmp_path / "cluster.json"
    path.write_text('{"schema": "compass-abs/snapshot/1", "nodes": [{"name": "nœud", "gpus": 8}]}', encoding="utf-8")
    result = run("convert", path, environment={"PYTHONIOENCODING": "ascii", "PYTHONUNBUFFERED": unbuffered})
    assert "nœud" in result.stdout.decode("utf-8")


def test_a_hundred_nodes_take_less_than_a_second_of_cpu(tmp_path: Path) -> None:
    nodes = [{"name": f"n{i}", "gpus": 8, "pool": f"p{i % 3}"} for i in range(100)]
    jobs = [
        {"name": f"j{i}", "gpus_per_instance": 1 + i % 7, "instances": [{"node": f"n{i % 100}"}]} for i in range(150)
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"schema": "compass-abs/snapshot/1", "nodes": nodes, "jobs": jobs}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = run("measure", path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


def test_importing_the_oracle_loads_no_solver() -> None:
    program = "import sys, oracle, oracle.cli.main; print({'ortools', 'numpy', 'networkx', 'rich'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"
