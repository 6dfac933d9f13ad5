"""Solves that show how they go and can be interrupted."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

import pytest

import oracle.cli.solving
from oracle.cli.solving import solve
from oracle.optimum.interruption import current
from tests.processes import ended

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt


def wait_for_the_interruption() -> None:
    interruption = current()
    assert interruption is not None
    while not interruption.requested:
        threading.Event().wait(0.001)


class TestSolve:
    def test_returns_what_the_work_returns(self) -> None:
        solved = solve(lambda _: 7)
        assert (solved.value, solved.interrupted) == (7, False)

    @pytest.mark.parametrize("error", [ValueError("no"), MemoryError(), KeyError("x")])
    def test_raises_what_the_work_raises(self, error: Exception) -> None:
        def work(_: Callable[[str], None]) -> NoReturn:
            raise error

        with pytest.raises(type(error)) as caught:
            solve(work)
        assert caught.value is error

    @pytest.mark.signals
    def test_the_first_interrupt_asks_the_work_to_end(self) -> None:
        def work(_: Callable[[str], None]) -> str:
            os.kill(os.getpid(), signal.SIGINT)
            wait_for_the_interruption()
            return "so far"

        before = signal.getsignal(signal.SIGINT)
        solved = solve(work)
        assert (solved.value, solved.interrupted) == ("so far", True)
        assert signal.getsignal(signal.SIGINT) is before

    @pytest.mark.signals
    def test_signals_that_are_ignored_stay_ignored(self) -> None:
        def work(_: Callable[[str], None]) -> bool:
            os.kill(os.getpid(), signal.SIGINT)
            return signal.getsignal(signal.SIGINT) is signal.SIG_IGN

        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            solved = solve(work)
        finally:
            signal.signal(signal.SIGINT, before)
        assert (solved.value, solved.interrupted) == (True, False)

    def test_works_in_a_thread_too(self) -> None:
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(solve(lambda _: 7).value))
        thread.start()
        thread.join()
        assert found == [7]


class Terminal(io.StringIO):
    """Standard error as a terminal; it sets `written` when something is written."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        written = super().write(text)
        if "looking" in text:
            self.written.set()
        return written


class TestProgress:
    def test_a_terminal_shows_what_goes_on_and_forgets_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = Terminal(terminal=True)
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(oracle.cli.solving, "_QUIET_SECONDS", 0.0)
        monkeypatch.setenv("TERM", "xterm")

        def work(tell: Callable[[str], None]) -> bool:
            tell("looking at [red] \x1b[31m")
            return terminal.written.wait(30)

        assert solve(work).value
        assert "looking at [red] \\x1b[31m" in terminal.getvalue()
        assert terminal.getvalue().endswith("\x1b[2K")

    def test_a_pipe_shows_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pipe = Terminal(terminal=False)
        monkeypatch.setattr(sys, "stderr", pipe)
        monkeypatch.setattr(oracle.cli.solving, "_QUIET_SECONDS", 0.0)

        def work(tell: Callable[[str], None]) -> bool:
            tell("looking")
            return pipe.written.wait(0.3)

        assert not solve(work).value
        assert pipe.getvalue() == ""

    def test_what_is_over_soon_shows_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = Terminal(terminal=True)
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(oracle.cli.solving, "_QUIET_SECONDS", 1000.0)
        assert not solve(lambda _: terminal.written.wait(0.3)).value
        assert terminal.getvalue() == ""


# Choosing instances is replaced by a problem that no solver settles in hours; then the real choice is made.
STUCK = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from oracle.planning.whose import WhoseSearch
from oracle.cli.main import entry_point
from oracle.optimum.solver import solve_integers
from tests.oracle.test_interruption import endless

choose = WhoseSearch.choose

def stuck(search, plan):
    print("stuck", file=sys.stderr, flush=True)
    solve_integers(endless(), search._deadline)
    return choose(search, plan)

WhoseSearch.choose = stuck
entry_point()
"""

STUCK_ADMISSION = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import oracle.admission.jobs
from oracle.cli.main import entry_point
from oracle.optimum.solver import solve_integers
from tests.oracle.test_interruption import endless

make_room = oracle.admission.jobs.make_room

def stuck(groups, waiting, deadline):
    print("stuck", file=sys.stderr, flush=True)
    solve_integers(endless(), deadline)
    return make_room(groups, waiting, deadline)

oracle.admission.jobs.make_room = stuck
entry_point()
"""

# The fewest moves are found, and it is the proof that does not end.
STUCK_PROOF = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from dataclasses import replace
import oracle.admission.jobs
from oracle.cli.main import entry_point
from oracle.optimum.solver import Outcome, solve_integers
from tests.oracle.test_interruption import endless

make_room = oracle.admission.jobs.make_room

def stuck(groups, waiting, deadline):
    room = make_room(groups, waiting, deadline)
    print("stuck", file=sys.stderr, flush=True)
    solve_integers(endless(), deadline)
    return replace(room, outcome=Outcome.FOUND, lower_bound=1)

oracle.admission.jobs.make_room = stuck
entry_point()
"""

# What can start alone is found, and what can start together is not.
STUCK_QUEUE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import oracle.admission.queues
from oracle.cli.main import entry_point
from oracle.optimum.solver import solve_integers
from tests.oracle.test_interruption import endless

make_joint_room = oracle.admission.queues.make_joint_room

def stuck(snapshot, jobs, deadline):
    print("stuck", file=sys.stderr, flush=True)
    solve_integers(endless(), deadline)
    return make_joint_room(snapshot, jobs, deadline)

oracle.admission.queues.make_joint_room = stuck
entry_point()
"""

# Not even that the search is to end is looked at.
DEAF = """
import sys, time
from oracle.planning.whose import WhoseSearch
from oracle.cli.main import entry_point
from oracle.optimum.interruption import current

def deaf(search, plan):
    interruption = current()
    print("stuck", file=sys.stderr, flush=True)
    while not interruption.requested:
        time.sleep(0.001)
    print("deaf", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.001)

WhoseSearch.choose = deaf
entry_point()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    rng = random.Random(1)
    nodes = [{"name": f"n{i}", "gpus": 8} for i in range(12)]
    jobs = [
        {"name": f"j{i}", "gpus_per_instance": rng.randint(1, 4), "instances": [{"node": f"n{i % 12}"}]}
        for i in range(24)
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"schema": "compass-abs/snapshot/1", "nodes": nodes, "jobs": jobs}))
    return path


def start(program: str, *arguments: str | Path) -> AbstractContextManager[subprocess.Popen[str]]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def told(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


@pytest.mark.signals
class TestProcess:
    def test_an_interrupt_prints_the_best_plan_so_far(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, pytestconfig: pytest.Config
    ) -> None:
        with start(STUCK, pytestconfig.rootpath, "plan", cluster, "-o", "json") as process:
            assert told(process) == "stuck\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 3
        assert err.startswith("sifopt plan: interrupted; this is the best plan found so far: ")
        assert err.count("\n") == 1
        data = json.loads(out)
        assert (data["interrupted"], data["migrations"] > 0) == (True, True)
        stored = tmp_path / "plan.json"
        stored.write_text(out)
        assert sifopt("verify", stored, "--snapshot", cluster).status == 0

    def test_an_interrupted_admission_is_not_settled(self, cluster: Path, pytestconfig: pytest.Config) -> None:
        arguments = ("admit", cluster, "--job", "4x5", "-o", "json")
        with start(STUCK_ADMISSION, pytestconfig.rootpath, *arguments) as process:
            assert told(process) == "stuck\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (3, "sifopt admit: interrupted; whether it can start is not known\n")
        data = json.loads(out)
        assert (data["verdict"], data["interrupted"]) == ("unknown", True)

    @pytest.mark.parametrize("mode", ["checkpoint", "live"])
    def test_an_interrupt_prints_the_best_admission_so_far(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, pytestconfig: pytest.Config, mode: str
    ) -> None:
        arguments = ("admit", cluster, "--job", "2x8", "--moves", mode, "-o", "json")
        with start(STUCK_PROOF, pytestconfig.rootpath, *arguments) as process:
            assert told(process) == "stuck\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        data = json.loads(out)
        assert 1 <= data["lower_bound"] < data["migrations"]
        best = f"the best way found so far takes {data['migrations']} moves (at least {data['lower_bound']})"
        assert (process.returncode, err) == (3, f"sifopt admit: interrupted; {best}\n")
        assert (data["verdict"], data["status"], data["interrupted"]) == ("fits_after", "unknown", True)
        stored = tmp_path / "admission.json"
        stored.write_text(out)
        assert sifopt("verify", stored, "--snapshot", cluster).status == 0

    @pytest.mark.parametrize("mode", ["checkpoint", "live"])
    def test_an_interrupted_queue_keeps_the_first_job(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, pytestconfig: pytest.Config, mode: str
    ) -> None:
        waiting = [{"name": f"w{i}", "instances": 2, "gpus_per_instance": 8} for i in range(2)]
        cluster.write_text(json.dumps({**json.loads(cluster.read_text()), "pending": waiting}))
        arguments = ("admit", cluster, "--moves", mode, "-o", "json")
        with start(STUCK_QUEUE, pytestconfig.rootpath, *arguments) as process:
            assert told(process) == "stuck\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        data = json.loads(out)
        together = data["together"]
        assert (together["jobs"], together["moves"]) == (["w0"], data["first"]["moves"])
        assert together["migrations"] > 1
        most = (
            f"the most found so far to start together: 1 job (at most 2), {together['migrations']} moves (at least 0)"
        )
        assert (process.returncode, err) == (3, f"sifopt admit: interrupted; {most}\n")
        assert (together["status"], data["interrupted"]) == ("unknown", True)
        stored = tmp_path / "admission.json"
        stored.write_text(out)
        assert sifopt("verify", stored, "--snapshot", cluster).status == 0

    def test_a_second_interrupt_ends_at_once(self, cluster: Path) -> None:
        with start(DEAF, "plan", cluster) as process:
            assert told(process) == "stuck\n"
            process.send_signal(signal.SIGINT)
            assert told(process) == "deaf\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (-signal.SIGINT, "", "")
