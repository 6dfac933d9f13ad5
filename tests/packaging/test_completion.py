"""Shell completion: what bash offers when Tab is pressed, and that the scripts for the other shells name the same."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import oracle.cli.main
import proofs.cli
import simulation.cli.main
from oracle.cli.completion import SHELLS
from oracle.cli.main import SIFOPT
from simulation.cli.main import COMPASS_SIM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from oracle.cli.program import Program

BASH = shutil.which("bash") or ""
needs_bash = pytest.mark.skipif(not BASH, reason="bash is not installed")


@dataclass(frozen=True)
class Case:
    """A program, and how it is asked for its script."""

    main: Callable[[Sequence[str]], int]
    ask: str


CASES = {
    "sifopt": Case(oracle.cli.main.main, "completion"),
    "compass-sim": Case(simulation.cli.main.main, "completion"),
    "compass-prove": Case(proofs.cli.main, "completion"),
}


def script(program: str, shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the script that a program prints."""
    case = CASES[program]
    assert case.main([case.ask, shell]) == 0
    return capsys.readouterr().out


@needs_bash
class TestBash:
    """The script, sourced by bash, and its function called as `complete` calls it."""

    @pytest.mark.parametrize(
        ("line", "offered"),
        [
            ("sifopt ", {"measure", "plan", "admit", "verify", "convert", "schema", "completion"}),
            ("sifopt me", {"measure"}),
            ("sifopt measure --ex", {"--exit-code"}),
            ("sifopt measure -o ", {"table", "json", "csv"}),
            ("sifopt plan cluster.json --moves l", {"live"}),
            ("sifopt completion ", set(SHELLS)),
            ("sifopt measure clu", {"cluster.json"}),
            ("sifopt plan --plot clu", {"cluster.json"}),
            ("sifopt measure --pool ", set[str]()),
            ("compass-sim sy", {"synthesize"}),
            ("compass-sim run clu", {"cluster.json"}),
            ("compass-prove --qu", {"--quick"}),
            ("compass-prove comp", {"completion"}),
            ("compass-prove completion f", {"fish"}),
            ("compass-prove --smt2 fol", {"folder"}),
            ("compass-prove --smt2 clu", set[str]()),
        ],
    )
    def test_what_tab_offers(
        self, line: str, offered: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = line.split(" ")
        path = tmp_path / "script.bash"
        path.write_text(script(words[0], "bash", capsys), encoding="utf-8")
        (tmp_path / "cluster.json").touch()
        (tmp_path / "folder").mkdir()
        press = f"""
            source script.bash
            COMP_WORDS=({" ".join(map(shlex.quote, words))})
            COMP_CWORD={len(words) - 1}
            function=$(complete -p {words[0]} | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
            "$function" {words[0]} {shlex.quote(words[-1])} {shlex.quote(words[-2])}
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        result = subprocess.run([BASH, "-c", press], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert set(result.stdout.split()) == offered

    @pytest.mark.parametrize("program", CASES)
    def test_the_script_parses(self, program: str, capsys: pytest.CaptureFixture[str]) -> None:
        text = script(program, "bash", capsys)
        subprocess.run([BASH, "-n"], input=text, text=True, check=True)


def options(program: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Return the long options that the help of a program and of its commands names."""
    commands = {"sifopt": SIFOPT.commands, "compass-sim": COMPASS_SIM.commands}.get(program, ())
    found: set[str] = set()
    for words in [[], *([command.name] for command in commands)]:
        with contextlib.suppress(SystemExit):  # compass-prove leaves argparse's exit to its caller
            CASES[program].main([*words, "--help"])
        found |= set(re.findall(r"^  (?:-\w(?: \S+)?, )?(--[a-z0-9-]+)", capsys.readouterr().out, re.MULTILINE))
    return found


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("program", CASES)
def test_every_option_of_the_help_is_in_the_script(
    program: str, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = options(program, capsys)
    assert {"--help"} < named
    text = script(program, shell, capsys)
    names = {option.removeprefix("--") if shell == "fish" else option for option in named}
    assert not {name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}


@pytest.mark.parametrize("program", [SIFOPT, COMPASS_SIM], ids=lambda program: program.name)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_commands_are_explained_in_the_words_of_the_help(
    program: Program, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = script(program.name, shell, capsys)
    assert not [command.name for command in program.commands if command.help not in text]


@pytest.mark.parametrize(("program", "interpreter"), [(p, s) for p in CASES for s in ("zsh", "fish")])
def test_the_other_shells_parse_theirs(
    program: str, interpreter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(interpreter) is None:
        pytest.skip(f"{interpreter} is not installed")
    path = tmp_path / "script"
    path.write_text(script(program, interpreter, capsys), encoding="utf-8")
    subprocess.run([interpreter, "-n", path], check=True)


@pytest.mark.parametrize("program", CASES)
def test_an_unknown_shell_is_one_line_and_status_2(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[program]
    assert case.main([case.ask, "tcsh"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "invalid choice: 'tcsh'" in captured.err
    assert captured.err.count("\n") == 1
