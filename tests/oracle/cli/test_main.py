"""The way in and out: usage, help, and failures that become one line and a status."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

import pytest

import oracle.cli.convert
from oracle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.cli.command import Outcome
    from tests.oracle.cli.conftest import Sifopt

EMPTY = '{"schema": "compass-abs/snapshot/1", "nodes": []}'


class TestUsage:
    """Bad usage is status 2 and one line on standard error that says what was expected."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "sifopt: expected a command: measure, plan, admit, verify, convert, schema"),
            (["mesure"], "invalid choice: 'mesure'"),
            (["measure"], "sifopt measure: the following arguments are required: SNAPSHOT"),
            (["measure", "x", "-o", "xml"], "invalid choice: 'xml'"),
            (["measure", "x", "--format", "toml"], "invalid choice: 'toml'"),
            (["measure", "x", "--time-limit", "-1"], "--time-limit: expected a number of seconds, 0 or more, got '-1'"),
            (
                ["measure", "x", "--time-limit", "nan"],
                "--time-limit: expected a number of seconds, 0 or more, got 'nan'",
            ),
            (
                ["measure", "x", "--time-limit", "soon"],
                "--time-limit: expected a number of seconds, 0 or more, got 'soon'",
            ),
            (["measure", "x", "--exit"], "unrecognized arguments: --exit"),
            (["measure", "x", "--pool"], "argument --pool: expected one argument"),
            (["schema", "x"], "unrecognized arguments: x"),
            (["convert"], "sifopt convert: the following arguments are required: SNAPSHOT"),
            (["--exit-code"], "sifopt: "),
            (["measure", "x\n", "--no\n"], "unrecognized arguments: --no"),
        ],
    )
    def test_one_line_and_status_2(self, sifopt: Sifopt, arguments: list[str], message: str) -> None:
        result = sifopt(*arguments)
        assert result.status == 2
        assert result.out == ""
        assert message in result.err
        assert result.err.count("\n") == 1

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (["--help"], "exit status:"),
            (["measure", "--help"], "sifopt measure cluster.json.gz -o json --exit-code"),
            (["convert", "--help"], "sifopt convert - > native.json"),
            (["schema", "-h"], "sifopt schema > "),
            (["--version"], "sifopt 0."),
        ],
    )
    def test_help_and_version_go_to_standard_output(self, sifopt: Sifopt, arguments: list[str], text: str) -> None:
        result = sifopt(*arguments)
        assert result.status == 0
        assert text in result.out
        assert result.err == ""

    def test_options_may_stand_between_the_files(self, sifopt: Sifopt, tmp_path: Path) -> None:
        result = sifopt("convert", tmp_path / "a", "-v", tmp_path / "b")
        assert "unrecognized" not in result.err


class TestFailures:
    """Whatever fails, there is one line, no traceback, and a status of the contract."""

    def test_an_interrupt(self, sifopt: Sifopt, monkeypatch: pytest.MonkeyPatch) -> None:
        _make_convert_raise(monkeypatch, KeyboardInterrupt())
        result = sifopt("convert", "x")
        assert (result.status, result.err) == (130, "sifopt: interrupted\n")

    def test_too_little_memory(self, sifopt: Sifopt, monkeypatch: pytest.MonkeyPatch) -> None:
        _make_convert_raise(monkeypatch, MemoryError())
        result = sifopt("convert", "x")
        assert (result.status, result.err) == (2, "sifopt: not enough memory for this snapshot\n")

    def test_a_fault_of_the_program(self, sifopt: Sifopt, monkeypatch: pytest.MonkeyPatch) -> None:
        _make_convert_raise(monkeypatch, ZeroDivisionError("division\nby zero"))
        monkeypatch.delenv("SIFOPT_TRACEBACK")
        result = sifopt("convert", "x")
        assert result.status == 2
        assert result.err.startswith("sifopt: a fault of the program itself, please report it: ZeroDivisionError")
        assert result.err.count("\n") == 1

    def test_a_name_cannot_steer_the_terminal(self, sifopt: Sifopt, tmp_path: Path) -> None:
        result = sifopt("convert", tmp_path / "\x1b[2Jcluster\n.json")
        assert result.status == 2
        assert "\x1b" not in result.err
        assert result.err.count("\n") == 1

    def test_a_reader_that_has_seen_enough(self, snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdout", _FailingStream(BrokenPipeError()))
        assert main(["convert", str(snapshot)]) == 0

    def test_a_full_disk(
        self, snapshot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "stdout", _FailingStream(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        assert main(["convert", str(snapshot)]) == 2
        assert capsys.readouterr().err == "sifopt: cannot write the output: No space left on device\n"

    def test_closed_output(
        self, snapshot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "stdout", None)
        assert main(["convert", str(snapshot)]) == 2
        assert capsys.readouterr().err == "sifopt: cannot write the output: standard output is closed\n"

    def test_closed_standard_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stderr", None)
        assert main(["convert", "/nowhere"]) == 2

    def test_a_stand_in_for_standard_output(self, snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["convert", str(snapshot)]) == 0
        assert stream.getvalue().startswith('{"schema"')


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "empty.json"
    path.write_text(EMPTY)
    return path


class _FailingStream(io.TextIOWrapper):
    """Standard output whose other end fails with `error`."""

    def __init__(self, error: OSError) -> None:
        super().__init__(_FailingBuffer(error))

    def fileno(self) -> int:
        raise io.UnsupportedOperation


class _FailingBuffer(io.BytesIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, data: object) -> int:
        del data
        raise self.error


def _make_convert_raise(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: object) -> Outcome:
        raise error

    monkeypatch.setattr(oracle.cli.convert, "convert", fail)


def test_the_help_of_the_program_has_the_statuses_of_all_commands(sifopt: Sifopt) -> None:
    told = sifopt("--help").out.partition("exit status:")[2]
    for command in ("measure --exit-code", "plan --resume", "admit", "verify"):
        assert f"{command}: " in told
