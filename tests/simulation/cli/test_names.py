"""Names of jobs and pools are whatever a trace says: none steers a terminal, none is a formula."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle.safe_text import csv_name
from simulation.traces.loader import load_trace
from tests.oracle.test_safe_text import PLAIN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.simulation.cli.conftest import CompassSim

HEADER = ("job_id", "submit_s", "duration_s", "instances", "gpus_per_instance", "pool")
NAMES = PLAIN.filter(lambda name: name.strip() and "\n" not in name and "\r" not in name)


def clean(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def written(folder: Path, rows: list[tuple[object, ...]]) -> Path:
    path = folder / "trace.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return path


@given(NAMES, NAMES, st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
def test_every_form_of_output(tmp_path: Path, compass_sim: CompassSim, job: str, pool: str, bad: bool) -> None:
    second = "x" if bad else "4"
    path = written(tmp_path, [(job, 0, 100, 1, 4, pool), (f"{job}2", 0, 200, 1, second, pool)])
    for form in ("table", "json", "csv"):
        found = compass_sim("run", path, "--nodes", "2", "--schedulers", "exact", "-o", form, "-v")
        assert found.status == 0
        assert clean(found.out), found.out
        assert clean(found.err), found.err
        if form == "json":
            assert json.loads(found.out)["trace"] == str(path)
    for refused in (["--strict", "--demand", "9"], ["--pool", f"{pool}2"], ["--trace-format", job]):
        found = compass_sim("run", path, "--nodes", "2", "--schedulers", "exact", *refused)
        assert found.status == 2
        assert clean(found.err), found.err


@given(NAMES, NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_a_trace_that_is_converted(tmp_path: Path, compass_sim: CompassSim, job: str, pool: str) -> None:
    path = written(tmp_path, [(job, 0, 100, 1, 4, pool)])
    (read,) = load_trace(path).trace.jobs
    found = compass_sim("convert", path)
    assert found.status == 0
    assert clean(found.out)
    header, row = csv.reader(io.StringIO(found.out, newline=""))
    assert tuple(header) == HEADER
    assert row == [csv_name(read.name), "0", "100", "1", "4", csv_name(read.pool or "")]


def test_files_have_names_too(tmp_path: Path, compass_sim: CompassSim) -> None:
    path = written(tmp_path, [("a", 0, 100, 1, 4, "")]).rename(tmp_path / "\x1b[31m\u202e.csv")
    found = compass_sim("compare", path, "--nodes", "2", "--schedulers", "exact,gfs", "-o", "csv")
    assert clean(found.out)
    assert "\\x1b[31m\\u202e.csv" in found.out
    assert compass_sim("run", path, "--nodes", "2", "--max-input", "1K", "--schedulers", "exact").status == 0
    refused = compass_sim("run", path, "--nodes", "2", "--max-input", "10")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.endswith(": more than 10 bytes unpacked; a larger limit can be set with --max-input\n")
