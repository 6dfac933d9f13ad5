"""What the report tells people, and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.traces import load_trace
from tests.simulation.traces.files import row, write

if TYPE_CHECKING:
    from pathlib import Path


def test_sentences(tmp_path: Path) -> None:
    rows = [
        row("helios", job_id="a", gpu_num="16", node_num="2"),
        row("helios", job_id="b", duration="1"),
        row("helios", job_id="c", gpu_num="0"),
        row("helios", job_id="d", end_time=""),
        row("helios", job_id="e", end_time=""),
        row("helios", job_id="f", submit_time="x"),
    ]
    path = write(tmp_path / "trace.csv", rows)
    report = load_trace(path).report
    lines = report.lines()
    assert lines[0] == f"2 jobs from 6 rows of {path} (Helios, cluster_log.csv)."
    assert lines[1].startswith("Instances and GPUs told by-nodes for 2 jobs: one instance a recorded node")
    assert lines[2:5] == [
        "Note: the duration column is not end minus start: the difference was taken (1 job).",
        "Left out: asks for no GPU (1 row).",
        "Left out: has no end: still running or waiting when the trace was taken (2 rows).",
    ]
    assert lines[5] == "Bad: 1 row, not read:"
    assert lines[6].startswith(f"  {path}:7: submit_time: expected a time such as")
    assert len(lines) == 7
    assert f"(2 rows: {path}:5, {path}:6)." in report.lines(verbose=True)[4]


def test_many_bad_rows_are_listed_on_demand(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.csv", [row("native", job_id=f"{i}", instances="x") for i in range(8)])
    report = load_trace(path).report
    assert report.lines()[1] == "Bad: 8 rows, not read:"
    assert report.lines()[-1] == "  and 3 more (-v lists them)"
    assert len(report.lines(verbose=True)) == 10


def test_data(tmp_path: Path) -> None:
    rows = [row("helios"), row("helios", job_id="c", gpu_num="0"), row("helios", job_id="f", submit_time="x")]
    path = write(tmp_path / "trace.csv", rows)
    data = load_trace(path).report.to_dict()
    bad = data.pop("bad_rows")
    assert data == {
        "format": "helios",
        "sources": [str(path)],
        "rows": 3,
        "jobs": 1,
        "shapes": {"by-nodes": 1},
        "left_out": {"no_gpu": 1},
        "notes": {},
        "states": {"FAILED": 1},
        "day_zero": "2020-06-09",
    }
    assert str(bad).startswith(f'["{path}:4: submit_time: expected a time')
