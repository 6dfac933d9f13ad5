"""The published traces themselves, against figures of them that others state."""

from __future__ import annotations

import csv
import math
from collections import Counter
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

import pytest

from simulation.demand import peak_demand
from simulation.traces import Exclusion, Fractions, ReadOptions, Selection, Shape, load_trace, select
from simulation.traces.marginals import JOBS_A_DAY, LOG_DEVIATION, LOG_MEAN_S, WORKER_COUNTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real_data


def test_venus(real_data: Path) -> None:
    loaded = load_trace(real_data / "traces" / "helios_venus.csv.gz", strict=True)
    assert (loaded.report.rows, loaded.report.jobs, loaded.report.shapes) == (
        125_303,
        125_303,
        {Shape.BY_TOTAL: 125_303},
    )
    assert max(job.duration_s for job in loaded.trace) == 48 * 3600
    week = select(loaded.trace, Selection(days=(168, 174))).trace
    assert (len(week), peak_demand(week)) == (6_506, 929)


def test_the_published_durations_and_rate(real_data: Path) -> None:
    """What made-up traces take from Venus, to the digits in which it is carried."""
    trace = load_trace(real_data / "traces" / "helios_venus.csv.gz").trace
    logs = [math.log(job.duration_s) for job in trace]
    assert fmean(logs) == pytest.approx(LOG_MEAN_S, abs=0.005)
    assert pstdev(logs) == pytest.approx(LOG_DEVIATION, abs=0.005)
    assert len(trace) / (trace.jobs[-1].submit_s / 86_400) == pytest.approx(JOBS_A_DAY, abs=0.5)


def test_philly(real_data: Path) -> None:
    loaded = load_trace(real_data / "traces" / "philly.csv.gz", strict=True)
    assert (loaded.report.rows, loaded.report.jobs) == (82_247, 82_247)
    assert loaded.report.day_zero == "2017-09-04"
    assert len({job.pool for job in loaded.trace}) == 15


def test_openb(real_data: Path) -> None:
    """8,152 pods, of which 1,088 ask for no GPU; 1,213 nodes with 6,212 GPUs."""
    files = [real_data / "traces" / name for name in ("openb_pods.csv.gz", "openb_nodes.csv.gz")]
    loaded = load_trace(*files, strict=True)
    left_out = {kind: len(places) for kind, places in loaded.report.excluded.items()}
    assert loaded.report.rows == 8_152 == loaded.report.jobs + sum(left_out.values())
    assert left_out[Exclusion.NO_GPU] == 1_088
    assert left_out[Exclusion.FRACTION] == 3_078
    assert sum(group.nodes for group in loaded.nodes) == 1_213
    assert sum(group.nodes * group.gpus for group in loaded.nodes) == 6_212
    whole = load_trace(*files, options=ReadOptions(fractions=Fractions.ROUND_UP)).report
    assert Exclusion.FRACTION not in whole.excluded
    assert set(whole.shapes) == {Shape.GIVEN}


def test_spot_sample(real_data: Path) -> None:
    loaded = load_trace(real_data / "traces" / "alibaba_spot2026_sample.csv.gz", strict=True)
    assert loaded.report.rows == 1_392
    assert {kind: len(places) for kind, places in loaded.report.excluded.items()} == {Exclusion.FRACTION: 4}
    assert Counter(job.gpus for job in loaded.trace) == {1: 709, 8: 663, 4: 16}


def test_the_published_numbers_of_instances(real_data: Path) -> None:
    with (real_data / "traces" / "alibaba_spot2026_worker_counts.csv").open(encoding="utf-8") as lines:
        published = {int(row["worker_num"]): int(row["jobs"]) for row in csv.DictReader(lines)}
    for least, most, jobs in WORKER_COUNTS:
        assert sum(published.get(w, 0) for w in range(least, most + 1)) == jobs
