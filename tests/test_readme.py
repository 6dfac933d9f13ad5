"""The README shows what really happens: its output is the demo's, its code runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oracle.cli.main import main

ROOT = Path(__file__).parents[1]
SHELL = shutil.which("sh") or ""
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block_after(marker: str) -> str:
    """Return the fenced block that follows the comment `marker`."""
    match = re.search(rf"<!-- {re.escape(marker)} -->\n```\w*\n(.*?)```\n", README, re.DOTALL)
    assert match, f"no block follows the comment {marker!r}"
    return match[1]


def test_the_output_is_that_of_make_demo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = re.search(r"^demo:.*\n\t@\$\(BIN\)/sifopt (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(recipe[1])) == 0
    assert capsys.readouterr().out == block_after("the output of make demo")


def test_the_code_runs() -> None:
    code = block_after("this code is run by the tests")
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = result.stdout.splitlines()
    assert re.fullmatch(r"\d+ partial nodes, \d+ of them inherent", lines[0])
    assert lines[-1] == "2"
    assert result.stderr == ""


def test_the_code_of_the_scheduler_runs() -> None:
    code = block_after("the scheduler's code is run by the tests")
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("[0, 0, 0] ()\n", "")


@pytest.mark.skipif(not SHELL, reason="the commands are for a shell")
def test_the_commands_run_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        [SHELL, "-eu", "-c", block_after("these commands are run by the tests")],
        cwd=tmp_path,
        env=os.environ | {"PATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "can start after" in result.stdout
    assert (tmp_path / "plan.svg").exists()


def test_every_link_leads_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("command", re.findall(r"sifopt (\w+)", README))
def test_every_command_named_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert command in capsys.readouterr().out
