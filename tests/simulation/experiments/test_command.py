"""`compass-sim plot`: the files of every experiment, captions with the command, and bad input."""

from __future__ import annotations

import csv
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from simulation.cli.main import main
from simulation.experiments.registry import EXPERIMENTS
from tests.simulation.experiments.naive import DAYS, JOBS, replayed
from tests.simulation.sweep.small import as_csv

if TYPE_CHECKING:
    from pathlib import Path

close = pytest.approx
FINDINGS = {*EXPERIMENTS} - {"coverage"} | {"coverage-buckets", "top-1"}
OPTIONS = ["--schedulers", "exact,compass,gfs", "--eta", ".6,.9", "--at", ".6", "--processes", "1"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COMPASS_SIM_TRACEBACK", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text(as_csv(JOBS))


def plot(*arguments: str) -> int:
    return main(["plot", *arguments])


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plot("all", "trace.csv", *OPTIONS, "--out", "out") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {f"{name}.{kind}" for name in FINDINGS for kind in ("csv", "svg", "png", "md")}
    assert all(f"out/{name}" in printed.out for name in written)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "trace.csv"]

    for name in FINDINGS:
        caption = (tmp_path / "out" / f"{name}.md").read_text("utf-8")
        assert f"Trace: trace.csv, days 0 to {DAYS - 1}, {len(JOBS):,} jobs." in caption
        assert re.search(r"(Counterpart of .* of the paper|No counterpart in the paper)\.", caption)
        assert len(table(tmp_path / "out" / f"{name}.csv")) > 0


def test_the_smallest_trace(tmp_path: Path) -> None:
    """One job: nothing waits, nothing moves, nothing is fragmented."""
    (tmp_path / "one.csv").write_text(as_csv(JOBS[:1]))
    assert plot("all", "one.csv", *OPTIONS, "--out", "out") == 0
    assert {float(row["afr"]) for row in table(tmp_path / "out" / "overall.csv")} == {0}
    assert len(table(tmp_path / "out" / "trace-composition.csv")) == 1


def test_the_command_of_a_caption_makes_the_same_table(tmp_path: Path) -> None:
    assert plot("overall", "trace.csv", *OPTIONS, "--out", "one two") == 0
    caption = (tmp_path / "one two" / "overall.md").read_text("utf-8")
    match = re.search(r"```sh\n(.*)\n```", caption)
    assert match
    program, *arguments = shlex.split(match[1])
    assert program == "compass-sim"
    before = (tmp_path / "one two" / "overall.csv").read_text("utf-8")
    (tmp_path / "one two" / "overall.csv").unlink()
    assert main(arguments) == 0
    assert (tmp_path / "one two" / "overall.csv").read_text("utf-8") == before


def test_a_bad_row_is_said_without_asking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "trace.csv").open("a") as file:
        file.write("oops,much,1,1,1,\n")
    assert plot("trace-composition", "trace.csv", *OPTIONS, "--out", "out") == 0
    assert "much" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_said_before_the_replays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a cell was run")

    monkeypatch.setattr("simulation.sweep.local.run_cell", fail)
    assert plot("overall", "trace.csv", *OPTIONS, "--out", "trace.csv") == 2
    assert "trace.csv: cannot be written: File exists" in capsys.readouterr().err


def test_days_and_samples(tmp_path: Path) -> None:
    assert plot("overall,coverage", "trace.csv", *OPTIONS, "--days", "1-2", "--sample", "1", "--out", "out") == 0
    for row in table(tmp_path / "out" / "overall.csv"):
        assert float(row["afr"]) == close(replayed((1, 2), 0.6, row["scheduler"]).afr)
    assert {row["replays"] for row in table(tmp_path / "out" / "top-1.csv")} == {"2"}


def test_cells_of_a_sweep_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sweep has finished is not run again; what was missing is kept for the next one."""
    sweep = ["trace.csv", "--eta", ".6,.9", "--schedulers", "exact,compass,gfs", "--processes", "1"]
    assert main(["sweep", *sweep, "--out", "cells"]) == 0
    kept = {path.name for path in (tmp_path / "cells" / "cells").iterdir()}

    def fail(*_: object) -> None:
        raise AssertionError("a finished cell was run again")

    with monkeypatch.context() as patched:
        patched.setattr("simulation.sweep.local.run_cell", fail)
        assert plot("coverage", "trace.csv", *OPTIONS, "--out", "out", "--cells", "cells") == 0
    assert plot("overall", "trace.csv", *OPTIONS, "--out", "out", "--cells", "cells") == 0
    assert len({path.name for path in (tmp_path / "cells" / "cells").iterdir()} - kept) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig7", "trace.csv", "--out", "o"], "expected all or some of trace-composition, overall, eta"),
        (["overall", "trace.csv"], "the following arguments are required: --out"),
        (["overall", "--out", "o"], "the following arguments are required: TRACE"),
        (["overall", "trace.csv", "--out", "o", "--at", "0"], "--at: expected a share above 0, such as 0.9, got '0'"),
        (["overall", "nowhere.csv", "--out", "o"], "nowhere.csv: cannot be read"),
        (["overall", "trace.csv", "--out", "o", "--days", "9-9"], "no job to replay on days 9-9, expected at least"),
        (["variants", "trace.csv", "--out", "o", "--schedulers", "gfs"], "variants: expected some of printed, compass"),
        (["trace-composition", "trace.csv", "--out", "trace.csv"], "trace.csv: cannot be written: "),
    ],
)
def test_one_line_and_status_2(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert plot(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
