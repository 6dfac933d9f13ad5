"""`compass-sim synthesize` and `compass-sim convert`."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from simulation.jobs import TraceJob
from simulation.traces import SyntheticSpec, load_trace, synthesize, write_trace
from tests.simulation.cli.conftest import SMALL

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.simulation.cli.conftest import CompassSim


def test_synthesize(compass_sim: CompassSim, tmp_path: Path) -> None:
    result = compass_sim("synthesize", "--jobs", "300", "--seed", "5", "--max-total-gpus", "64")
    path = tmp_path / "trace.csv"
    path.write_text(result.out)
    jobs = load_trace(path, strict=True).trace.jobs
    assert (result.status, len(jobs)) == (0, 300)
    assert max(job.total_gpus for job in jobs) <= 64
    assert result.err == ("300 jobs; if none waits, the workload composition condition holds for 100.0% of the time.\n")


def test_the_options_reach_the_generator(compass_sim: CompassSim) -> None:
    arguments = "--jobs 50 --days 3 --arrivals poisson --demands 1:1,3:2,5:1 --wcc-margin 0.5 --median-duration 1 "
    arguments += "--log-deviation 0.5 --max-duration 99 --daily-swing 0.2 --peak-hour 4 --seed 8"
    spec = SyntheticSpec(
        jobs=50,
        days=3,
        arrivals=type(SyntheticSpec().arrivals)("poisson"),
        demands={1: 1, 3: 2, 5: 1},
        wcc_margin=0.5,
        log_mean_s=0,
        log_deviation=0.5,
        max_duration_s=99,
        daily_swing=0.2,
        peak_hour=4,
    )
    assert compass_sim("synthesize", *arguments.split()).out == write_trace(synthesize(spec, 8))


def test_figures_out_of_range_are_one_line(compass_sim: CompassSim) -> None:
    for arguments, message in (
        ("--days 0", "compass-sim: expected days above 0, up to 1.15741e+07, got 0.0\n"),
        ("--median-duration 0", "compass-sim: expected a median duration above 0 s, got 0\n"),
        ("--wcc-margin 1", "compass-sim: expected a demand of 3, 5, 6 or 7 GPUs with a WCC margin"),
    ):
        result = compass_sim("synthesize", *arguments.split())
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith(message)
        assert result.err.count("\n") == 1


def test_convert(compass_sim: CompassSim, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("job_id,arrival_s,service_sec,gpu_count\nb,86400,10,12\na,5.5,10,3\nc,86401,x,1\n")
    result = compass_sim("convert", path)
    assert result.out == (
        "job_id,submit_s,duration_s,instances,gpus_per_instance,pool\na,5.5,10,1,3,\nb,86400,10,2,6,\n"
    )
    assert "by-total for 2 jobs" in result.err
    assert f"{path}:4: service_sec: expected a number of at most 1e+12, got 'x'" in result.err
    assert compass_sim("convert", path, "--days", "0").out.splitlines()[1:] == ["a,5.5,10,1,3,"]


def test_convert_reads_standard_input(compass_sim: CompassSim, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SMALL.encode())))
    path = tmp_path / "again.csv"
    path.write_text(compass_sim("convert", "-", "--pool", "y").out)
    assert load_trace(path).trace.jobs == (TraceJob("c", 10.0, 50.0, 1, 8, "y"),)
