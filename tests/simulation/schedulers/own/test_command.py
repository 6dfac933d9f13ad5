"""module:Class on the command line: one class in run, compare, sweep and the kit, and bad names in one line."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.sweep.processes import ENTER, rows
from tests.simulation.sweep.small import as_csv, made_up

COMMAND = [sys.executable, "-c", ENTER]
ROOT = Path(__file__).parents[4]
SHELL = shutil.which("sh") or ""
JOBS = made_up(60, seed=4, days=2)

MINE = """
class BestFit:
    def reset(self, nodes):
        self.free, self.jobs = [8] * nodes, {}

    def arrive(self, job):
        free, homes = list(self.free), []
        for _ in range(job.instances):
            hosts = [node for node, room in enumerate(free) if room >= job.gpus]
            if not hosts:
                return False
            homes.append(min(hosts, key=lambda node: free[node]))
            free[homes[-1]] -= job.gpus
        self.free = free
        self.jobs[job.name] = job.gpus, homes
        return True

    def depart(self, name):
        gpus, homes = self.jobs.pop(name)
        for node in homes:
            self.free[node] += gpus

    def placement(self):
        return {name: homes for name, (_, homes) in self.jobs.items()}


class AllOnZero(BestFit):
    def arrive(self, job):
        self.jobs[job.name] = job.gpus, [0] * job.instances
        return True


class WithArguments(BestFit):
    def __init__(self, rule):
        pass


class ThreeMethods:
    def reset(self, nodes): ...
    def arrive(self, job): ...
    def placement(self): ...


class TwoMethods:
    def __init__(self, nodes): ...
    def arrive(self, job, now): ...
    def depart(self, job, now): ...


a_function = print
"""

OF_THE_REPLAY = """
from simulation.schedulers.greedy import GreedyScheduler, best_fit

class BestFit(GreedyScheduler):
    def __init__(self, nodes):
        super().__init__("exact", nodes, best_fit)

class NothingPartial(BestFit):
    partial_nodes = 0

class TwoNodes(BestFit):
    def __init__(self, nodes):
        super().__init__(2)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a trace and modules that are nowhere else."""
    (tmp_path / "trace.csv").write_text(as_csv(JOBS))
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "of_the_replay.py").write_text(OF_THE_REPLAY)
    (tmp_path / "broken.py").write_text("import json\njson.loads('no')\n")
    (tmp_path / "needs.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)\n")
    return tmp_path


def run(folder: Path, *arguments: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    command = COMMAND if code is None else [sys.executable, "-c", code]
    # The folder is the one in which the command is called, which `python -c` would look into anyway.
    search = {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(sys.path)} if code is None else {}
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=os.environ | search, capture_output=True, text=True, check=False
    )


def without(row: dict[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in {"wall_s", "scheduler", *names}}


def test_one_class_in_compare_and_in_the_kit(folder: Path) -> None:
    names = "mine:BestFit,gfs,of_the_replay:BestFit"
    done = run(folder, "compare", "trace.csv", "--nodes", "7", "--schedulers", names, "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    results: list[dict[str, object]] = json.loads(done.stdout)
    assert [result["scheduler"] for result in results] == names.split(",")
    assert without(results[0]) == without(results[1]) == without(results[2])

    kit = (
        "from mine import BestFit\nfrom proofs.conformance import Promise, check_scheduler\n"
        "print(check_scheduler(BestFit(), Promise(avoidable_nodes=2)))"
    )
    told = run(folder, code=kit).stdout
    assert told.startswith("BestFit: FAILED")
    assert told.count("BROKEN") == 1
    assert "on 3 nodes: 4x1, 2x6" in told


def test_in_run(folder: Path) -> None:
    done = run(folder, "run", "trace.csv", "--nodes", "7", "--schedulers", "mine:BestFit")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mine:BestFit" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("how", [("--processes", "1"), ("--processes", "2"), ("--processes", "2", "--dask", "local")])
def test_in_a_sweep(folder: Path, how: tuple[str, ...]) -> None:
    if "--dask" in how:
        pytest.importorskip("distributed")
    done = run(folder, *SWEEP, "--schedulers", "mine:BestFit,gfs", *how)
    assert (done.returncode, done.stderr) == (0, "")
    cells = rows(done.stdout)
    assert [cell.pop("scheduler") for cell in cells] == ["mine:BestFit", "gfs"] * 2
    assert cells[::2] == cells[1::2]


SWEEP = ("sweep", "trace.csv", "--eta", "1", "--out", "out", "-o", "csv")


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "out" / "cells").glob("[!.]*")}


def test_cells_tell_classes_and_their_versions_apart(folder: Path) -> None:
    """Of one name, of one class name in two modules, of one file before and after a change."""
    schedulers = ("--schedulers", "mine:BestFit,of_the_replay:BestFit")
    first = run(folder, *SWEEP, *schedulers)
    assert first.returncode == 0
    before = kept(folder)
    assert len(before) == 4
    assert run(folder, *SWEEP, *schedulers).stdout == first.stdout  # times, too: nothing was run again
    assert kept(folder) == before

    (folder / "mine.py").write_text(MINE.replace("min(hosts", "max(hosts"))
    changed = run(folder, *SWEEP, *schedulers)
    assert changed.returncode == 0
    assert kept(folder).items() > before.items()
    assert len(kept(folder)) == 6
    assert rows(changed.stdout)[1::2] == rows(first.stdout)[1::2]
    assert rows(changed.stdout)[::2] != rows(first.stdout)[::2]

    (folder / "mine.py").write_text(MINE)
    assert run(folder, *SWEEP, *schedulers).stdout == first.stdout


def test_a_worker_with_another_version_is_refused(folder: Path) -> None:
    """As on a machine on which the file was not renewed: the module changes itself once it is imported."""
    (folder / "mine.py").write_text(MINE + "open('mine.py', 'a').write('#')\n")
    done = run(folder, *SWEEP, "--schedulers", "mine:BestFit,gfs", "--processes", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "compass-sim: mine:BestFit: expected the file of the machine that runs the sweep, found another here\n"
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("nowhere:BestFit", "nowhere:BestFit: expected a module nowhere in {folder} or on Python's path, found none"),
        ("nowhere.at_all:X", "expected a module nowhere.at_all in {folder} or on Python's path, found none"),
        ("mine:Nothing", "mine:Nothing: expected a class Nothing in module mine ({folder}/mine.py)"),
        ("mine:a_function", "mine:a_function: expected a class a_function in module mine ({folder}/mine.py)"),
        ("mine:", "mine:: expected module:Class, such as mine:BestFit"),
        (":BestFit", ":BestFit: expected module:Class, such as mine:BestFit"),
        ("mine:Best:Fit", "mine:Best:Fit: expected module:Class, such as mine:BestFit"),
        (".mine:BestFit", ".mine:BestFit: expected module:Class, such as mine:BestFit"),
        ("mine.py:BestFit", "expected a module mine.py in {folder} or on Python's path, found none"),
        (
            "mine:ThreeMethods",
            "expected the methods reset, arrive, depart, placement, or those of simulation.schedulers",
        ),
        ("broken:X", "broken:X: module broken cannot be imported; it raised JSONDecodeError: Expecting value"),
        ("needs:X", "module needs cannot be imported; it raised ModuleNotFoundError: No module named 'nowhere_to_be"),
        ("leaves:X", "leaves:X: module leaves cannot be imported; it raised SystemExit: 0 (leaves.py:1)"),
        ("mine:TwoMethods", "simulation.schedulers.protocol; it has no name"),
        ("mine:WithArguments", "expected a class to be called without arguments; it raised TypeError: "),
        ("of_the_replay:TwoNodes", " nodes, it has 2"),
        ("mine:AllOnZero", "mine:AllOnZero: arrival of job 'j0000"),
        ("of_the_replay:NothingPartial", "expected that Φ is the number of nodes in use in part, but 0 is reported"),
        ("mine:BestFit,mine:BestFit", "expected each scheduler once, got 'mine:BestFit,mine:BestFit'"),
    ],
)
def test_bad_names_and_bad_schedulers_in_one_line(folder: Path, name: str, seen: str) -> None:
    done = run(folder, "compare", "trace.csv", "--nodes", "7", "--schedulers", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert seen.format(folder=folder) in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.parametrize("command", [("run",), ("sweep", "--out", "out", "--processes", "2", "--eta", ".8,1")])
@pytest.mark.parametrize(
    ("name", "seen"),
    [("nowhere:X", "argument --schedulers: nowhere:X: expected a mod"), ("mine:AllOnZero", "arrival of")],
)
def test_so_in_the_other_commands(folder: Path, command: tuple[str, ...], name: str, seen: str) -> None:
    done = run(folder, *command, "trace.csv", "--schedulers", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert seen in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.skipif(not SHELL, reason="the commands are for a shell")
def test_the_commands_of_the_page_run_as_they_stand(tmp_path: Path) -> None:
    """What they print has the lines of the page; figures hang on the version of NumPy and on the machine."""
    page = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    block = re.search(
        r"<!-- these commands are run by the tests -->\n```sh\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL
    )
    assert block
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [SHELL, "-eu", "-c", block[1]],
        cwd=tmp_path,
        env=os.environ | {"PATH": search, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [words(line) for line in done.stdout.splitlines()] == [words(line) for line in block[2].splitlines()]


def words(line: str) -> list[str]:
    return re.sub(r"[\d.,]+", "N", line.replace("─", "")).split()


def test_csv_holds_the_name(folder: Path) -> None:
    done = run(folder, "compare", "trace.csv", "--nodes", "7", "--schedulers", "mine:BestFit", "-o", "csv")
    assert [row["scheduler"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["mine:BestFit"]
