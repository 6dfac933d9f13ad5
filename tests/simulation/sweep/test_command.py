"""`compass-sim sweep`: figures, forms of output, and bad input that becomes one line and status 2."""

from __future__ import annotations

import csv
import io
import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from simulation.cli.main import main
from simulation.demand import nodes_for
from simulation.engine import replay
from simulation.jobs import TraceJob
from simulation.schedulers.registry import make_scheduler
from tests.simulation.sweep.small import DAY_S, as_csv, made_up

if TYPE_CHECKING:
    from pathlib import Path

close = pytest.approx
JOBS = made_up(150, seed=8, days=5)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An exception that the command did not expect fails the test instead of becoming a line."""
    monkeypatch.setenv("COMPASS_SIM_TRACEBACK", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.csv"
    path.write_text(as_csv(JOBS))
    return str(path)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["sweep", "--processes", "1", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_cells(capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path) -> None:
    options = ("--eta", ".5,1", "--schedulers", "exact,gfs", "--out", str(tmp_path / "out"), "-o", "csv")
    status, out, err = call(capsys, trace, "--days", "1-3", "--window", "2", *options)
    assert (status, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(r["first_day"], r["last_day"], r["eta"], r["scheduler"]) for r in rows] == [
        (first, last, eta, name)
        for first, last in (("1", "2"), ("3", "3"))
        for eta in ("0.5", "1.0")
        for name in ("exact", "gfs")
    ]
    for row in rows:
        days = range(int(row["first_day"]), int(row["last_day"]) + 1)
        jobs = [job for job in JOBS if int(job.submit_s // DAY_S) in days]
        nodes = nodes_for(jobs, float(row["eta"]))
        result = replay(jobs, make_scheduler(row["scheduler"], nodes)).result
        assert float(row["afr"]) == close(result.afr)
        assert float(row["ajct_s"]) == close(result.jct_s.mean)
        assert int(row["nodes"]) == nodes


def test_a_grid_that_grows(capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "out"), "--schedulers", "gfs,exact")
    small = call(capsys, trace, "--days", "0-1", "--eta", ".9", *out)[1]
    assert "4 cells: 2 windows of up to 1 days x 1 η x 1 costs x 2 schedulers; 4 run now, 0 were finished." in small
    more = call(capsys, trace, "--days", "0-1", "--eta", ".9,2", *out)[1]
    assert "8 cells: 2 windows of up to 1 days x 2 η x 1 costs x 2 schedulers; 4 run now, 4 were finished." in more


def test_the_summary_is_that_of_the_cells(capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path) -> None:
    options = [trace, "--sample", "3", "--eta", ".6", "--schedulers", "gfs,exact", "--out", str(tmp_path / "out")]
    options += ["--migration-cost", "0,30"]
    cells = list(csv.DictReader(io.StringIO(call(capsys, *options, "-o", "csv")[1])))
    assert len(cells) == 3 * 2 * 2
    data = json.loads(call(capsys, *options, "-o", "json")[1])
    assert data["schema"] == "compass-abs/sweep/1"
    assert len(data["windows"]) == 3
    assert [(row["scheduler"], row["cost_s"]) for row in data["schedulers"]] == [
        ("gfs", 0),
        ("exact", 0),
        ("gfs", 30),
        ("exact", 30),
    ]
    for row in data["schedulers"]:
        of = [r for r in cells if r["scheduler"] == row["scheduler"] and float(r["cost_s"]) == row["cost_s"]]
        assert row["afr"] == close(sum(float(r["afr"]) for r in of) / 3)
        assert row["migrations"] == sum(int(r["migrations"]) for r in of)
    table = call(capsys, *options)[1]
    assert all(f"{row['afr']:.4f}" in table for row in data["schedulers"])


def test_what_printed_leaves_undefined_is_said(capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path) -> None:
    options = (trace, "--eta", ".5", "--schedulers", "printed", "--out", str(tmp_path / "out"))
    cells = list(csv.DictReader(io.StringIO(call(capsys, *options, "-o", "csv")[1])))
    undefined = sum(int(r["undefined_arrivals"]) + int(r["undefined_departures"]) for r in cells)
    assert undefined > 0
    said = f"printed at η = 0.5: its rules say nothing about {undefined:,} arrivals and departures."
    assert said in call(capsys, *options)[1]


def test_a_cluster_holds_its_largest_job(capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path) -> None:
    """At η = 0.1 a day would have a node or two, and jobs of three instances of 8 would be refused."""
    options = (trace, "--eta", ".1,9", "--schedulers", "gfs,exact", "--out", str(tmp_path / "out"))
    cells = list(csv.DictReader(io.StringIO(call(capsys, *options, "-o", "csv")[1])))
    raised = 0
    for cell in cells:
        jobs = [job for job in JOBS if int(job.submit_s // DAY_S) == int(cell["first_day"])]
        largest = max(-(-job.instances // (8 // job.gpus)) for job in jobs)
        by_share = max(1, math.ceil(Fraction(cell["eta"]) * int(cell["peak_demand_gpus"]) / 8))
        assert int(cell["nodes"]) == max(largest, by_share)
        assert cell["refused_jobs"] == "0"
        raised += largest > by_share and cell["scheduler"] == "gfs"
    assert raised > 0
    table = call(capsys, *options)[1]
    assert table.count("as the largest job needs") == 1
    assert f"η = 0.1: as many nodes as the largest job needs, more than η gives, in {raised} windows." in table


def test_jobs_larger_than_any_cluster_are_said(capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path) -> None:
    """Those of more GPUs an instance than a node has. Said once for each η, for all schedulers."""
    with (tmp_path / "trace.csv").open("a") as file:
        file.write("wide,430000,10,1,9,\n")
    options = (trace, "--eta", ".1,9", "--schedulers", "gfs,exact", "--out", str(tmp_path / "out"))
    cells = list(csv.DictReader(io.StringIO(call(capsys, *options, "-o", "csv")[1])))
    refused = sum(int(r["refused_jobs"]) for r in cells if (r["scheduler"], r["eta"]) == ("gfs", "0.1"))
    assert refused == 1
    data = json.loads(call(capsys, *options, "-o", "json")[1])
    assert [row["refused_jobs"] for row in data["schedulers"] if row["eta"] == 0.1] == [refused, refused]
    table = call(capsys, *options)[1]
    assert table.count(": refused ") == 2
    assert "η = 0.1: refused 1 job for which the idle cluster of the window has no room." in table


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_bad_row_is_said_without_asking(
    capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path, output: str
) -> None:
    options = ("--eta", "1", "--schedulers", "gfs", "--out", str(tmp_path / "out"), "-o", output)
    clean = call(capsys, trace, *options)
    assert clean[0] == 0
    assert "much" not in clean[1] + clean[2]
    with (tmp_path / "trace.csv").open("a") as file:
        file.write("oops,much,1,1,1,\n")
    status, out, err = call(capsys, trace, *options)
    assert status == 0
    assert "much" in (out if output == "table" else err)


def test_another_name_of_a_scheduler_is_the_same_cell(
    capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path
) -> None:
    options = (trace, "--eta", "1", "--out", str(tmp_path / "out"))
    first = call(capsys, *options, "--schedulers", "gfs", "-o", "csv")[1]
    assert call(capsys, *options, "--schedulers", "best-fit", "-o", "csv")[1] == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: --out"),
        (["--out", "x", "--eta", ".9,.90"], "--eta: expected each value once, got '.9,.90'"),
        (["--out", "x", "--eta", ".9,much"], "--eta: expected a share above 0, such as 0.9, got 'much'"),
        (["--out", "x", "--schedulers", "slurm"], "--schedulers: expected names out of compass, exact"),
        (["--out", "x", "--window", "0"], "--window: expected a whole number, 1 or more, got '0'"),
        (["--out", "x", "--sample", "0"], "--sample: expected a whole number, 1 or more, got '0'"),
        (["--out", "x", "--migration-cost", "1,-1"], "--migration-cost: expected a number of seconds, 0 or more"),
        (["--out", "x", "--queue", "lifo"], "--queue: invalid choice: 'lifo'"),
        (["--out", "x", "--days", "70-80"], "no job to replay on days 70-80, expected at least one"),
        (["--out", "x", "--pool", "z"], "no job asks for pool 'z'"),
        (["--out", "/dev/null"], "/dev/null: cannot be used: "),
    ],
)
def test_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], trace: str, arguments: list[str], message: str
) -> None:
    status, out, err = call(capsys, trace, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_jobs_that_last_no_time_ask_for_no_cluster(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text(as_csv((TraceJob("a", 0.0, 0.0, 1, 4),)))
    status, out, err = call(capsys, "short.csv", "--out", "x")
    assert (status, out) == (2, "")
    assert "on any day, expected at least one that runs for more than 0 s" in err


def test_another_trace_in_the_same_folder(capsys: pytest.CaptureFixture[str], trace: str, tmp_path: Path) -> None:
    options = ("--eta", "1", "--schedulers", "gfs", "--out", str(tmp_path / "out"))
    assert call(capsys, trace, *options)[0] == 0
    other = tmp_path / "other.csv"
    other.write_text(as_csv(JOBS[:-1]))
    status, out, err = call(capsys, str(other), *options)
    assert (status, out) == (2, "")
    assert "this folder holds another sweep (trace_sha256 is" in err
    assert err.count("\n") == 1
