"""Our own format: what is written reads back as the same jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.safe_text import csv_name
from simulation.jobs import Trace, TraceError, TraceJob
from simulation.traces import load_trace, write_trace

if TYPE_CHECKING:
    from pathlib import Path

# Any text on one line that UTF-8 can hold: quotes, commas, spaces at the ends, other alphabets.
_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=8)
_TIMES = st.floats(0, 1e9)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    names = draw(st.lists(_NAMES, unique=True, max_size=8))
    submitted = sorted(draw(st.lists(st.floats(-1e9, 1e9), min_size=len(names), max_size=len(names))))
    pools = st.none() | _NAMES
    return Trace(
        tuple(
            TraceJob(name, at, draw(_TIMES), draw(st.integers(1, 100_000)), draw(st.integers(1, 1024)), draw(pools))
            for name, at in zip(names, submitted, strict=True)
        )
    )


@given(trace=traces())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, trace: Trace) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.csv"
    path.write_text(write_trace(trace), encoding="utf-8", newline="")
    shown = (
        replace(job, name=csv_name(job.name), pool=None if job.pool is None else csv_name(job.pool)) for job in trace
    )
    assert load_trace(path, strict=True).trace.jobs == tuple(shown)


def test_names_that_would_be_written_alike() -> None:
    with pytest.raises(TraceError, match="expected a name that is written unlike that of job "):
        write_trace(Trace((TraceJob("a\x1b", 0, 1, 1, 1), TraceJob("a\\x1b", 0, 1, 1, 1))))


def test_what_is_written() -> None:
    trace = Trace((TraceJob("a", 0.0, 1.5, 2, 4, "h100"), TraceJob("b, c", 10.25, 3.0, 1, 1)))
    assert write_trace(trace) == (
        'job_id,submit_s,duration_s,instances,gpus_per_instance,pool\na,0,1.5,2,4,h100\n"b, c",10.25,3,1,1,\n'
    )


def test_the_column_of_pools_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("job_id,submit_s,duration_s,instances,gpus_per_instance\na,0,1,2,4\n")
    assert load_trace(path).trace.jobs == (TraceJob("a", 0.0, 1.0, 2, 4),)


@pytest.mark.parametrize("job", [TraceJob("", 0, 1, 1, 1), TraceJob("a\nb", 0, 1, 1, 1), TraceJob("a", 0, 1, 1, 1, "")])
def test_names_the_format_cannot_hold(job: TraceJob) -> None:
    with pytest.raises(TraceError, match="expected the name of a job or a pool on one line"):
        write_trace(Trace((job,)))
