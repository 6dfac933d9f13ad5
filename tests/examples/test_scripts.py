"""Every script of examples/ does what its docstring shows, and ends with the status it promises."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
NATIVE = "examples/snapshots/native.json"


def run(folder: Path, *words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder in which `examples` is the one of the project."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    command = [sys.executable, "-W", "error", "-X", "utf8", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def shown(script: Path) -> tuple[list[str], list[str]]:
    """Return the words of the command in a script's docstring, and the lines it is said to print."""
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    match = re.search(r"^    \$ python (.*)\n((?:    .*\n?)+)", docstring, re.MULTILINE)
    assert match, f"{script.name} shows no command"
    return shlex.split(match[1]), [line.removeprefix("    ") for line in match[2].splitlines()]


def settled(line: str) -> str:
    """Return a line without what may differ from one version of a solver or of NumPy to another.

    Of optima of equal value any may be found: which instance moves where is not fixed, how many do is; and what follows
    from where they went is not. The random numbers of the replay are those of one version of NumPy.
    """
    line = re.sub(r"^(move first|step \d+): .* -> .*", r"a move", line)
    line = re.sub(r"^(restart: [^:]*): .*", r"\1", line)
    line = re.sub(r"-> \d+", "-> N", line) if "of them avoidable" in line else line
    line = re.sub(r"\d+ (hold|undecided)", r"N \1", line)
    return re.sub(r"[\d.]+", "N", line) if "jobs wait" in line else line


def test_there_are_five_and_they_are_short() -> None:
    assert len(SCRIPTS) == 5
    for script in SCRIPTS:
        assert len(script.read_text(encoding="utf-8").splitlines()) <= 60, script.name


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_prints_what_its_docstring_shows(script: Path, tmp_path: Path) -> None:
    words, lines = shown(script)
    assert words[0] == f"examples/{script.name}"
    result = run(tmp_path, *words)
    assert result.stderr == ""
    assert list(map(settled, result.stdout.splitlines())) == list(map(settled, lines))


@pytest.mark.long
@pytest.mark.parametrize("name", ["drain_a_node", "plan_around_protected_jobs", "replay_and_plot"])
def test_without_arguments_it_says_how_it_is_used(name: str, tmp_path: Path) -> None:
    result = run(tmp_path, f"examples/{name}.py")
    assert (result.returncode, result.stdout) == (1, "")
    assert f"$ python examples/{name}.py " in result.stderr
    assert "Traceback" not in result.stderr


class TestMeasureInCi:
    """The status says whether a pool is above the limit."""

    @pytest.mark.parametrize(("limit", "status"), [("0.599", 1), ("0.6", 0)])
    def test_the_limit_itself_is_allowed(self, tmp_path: Path, limit: str, status: int) -> None:
        assert run(tmp_path, "examples/measure_in_ci.py", NATIVE, "--max-sif", limit).returncode == status

    def test_on_github_only_pools_above_the_limit_are_annotated(self, tmp_path: Path) -> None:
        on_github = {"GITHUB_ACTIONS": "true"}
        result = run(tmp_path, "examples/measure_in_ci.py", NATIVE, "--max-sif", "0.55", environment=on_github)
        assert [line.startswith("::error::") for line in result.stdout.splitlines()] == [True, False, True]


class TestDrainANode:
    """What ran on the node is restarted elsewhere, or the status is 1."""

    def test_what_has_no_place_is_said(self, tmp_path: Path) -> None:
        full = '{"schema": "compass-abs/snapshot/1", "nodes": [{"name": "a", "gpus": 8}, {"name": "b", "gpus": 8}],'
        full += '"jobs": [{"name": "j", "gpus_per_instance": 5, "instances": [{"node": "a"}, {"node": "b"}]}]}'
        (tmp_path / "full.json").write_text(full, encoding="utf-8")
        result = run(tmp_path, "examples/drain_a_node.py", "full.json", "a")
        assert result.stdout.splitlines()[0] == "restart: j, 1x5: no place"
        assert result.returncode == 1

    def test_an_unknown_node(self, tmp_path: Path) -> None:
        result = run(tmp_path, "examples/drain_a_node.py", NATIVE, "h100-9")
        assert (result.returncode, result.stdout, result.stderr) == (1, "", "no node is named h100-9\n")


def test_protected_jobs_do_not_move(tmp_path: Path) -> None:
    result = run(tmp_path, "examples/plan_around_protected_jobs.py", NATIVE, "sweep", "speech:0")
    moved = re.findall(r"^step \d+: (.*?),", result.stdout, re.MULTILINE)
    assert moved
    assert "speech:0" not in moved
    assert not [name for name in moved if name.startswith("sweep:")]


@pytest.mark.long
def test_the_replay_draws_its_picture_and_ranks_the_schedulers(tmp_path: Path) -> None:
    result = run(tmp_path, "examples/replay_and_plot.py", "avoidable.svg")
    averages = [float(value) for value in re.findall(r": ([\d.]+) avoidable", result.stdout)]
    assert averages == sorted(averages, reverse=True)
    assert len(set(averages)) == 3
    assert (tmp_path / "avoidable.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_page_lists_every_example_and_every_link_leads_somewhere() -> None:
    examples = ROOT / "examples"
    linked = set(re.findall(r"\]\(([^)#:]+)\)", (examples / "README.md").read_text(encoding="utf-8")))
    assert all((examples / target).exists() for target in linked)
    shown_files = {path.name for path in [*SCRIPTS, *examples.glob("*.yml")]}
    assert shown_files | {f"notebooks/{path.name}" for path in (examples / "notebooks").glob("*.ipynb")} == linked
