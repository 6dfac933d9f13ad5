"""What is owed to a head that others pass: without pauses its GPUs are free as early as if none had passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.engine import replay
from simulation.jobs import TraceJob
from simulation.options import DEFAULT_OPTIONS, ReplayOptions
from simulation.pauses import Pauses
from simulation.schedulers.registry import SCHEDULERS, make_scheduler
from tests.simulation.recording import Recorder, traces

if TYPE_CHECKING:
    from collections.abc import Sequence

BACKFILL = ReplayOptions(backfill=True)
NEVER = float("inf")

# mcg has an order of its own, in which the head is now one job and now another. A departure that printed leaves
# undefined keeps its GPUs, which nobody can know before.
QUEUING = [name for name in SCHEDULERS if name not in {"mcg", "printed"}]
# These place a job that finds room by what runs alone; others look at where it stands, and those that pass change that.
# A round of fft, say, takes place only while something runs.
UNMOVED = ["gfs", "first-fit", "worst-fit", "fgd", "sifopt"]


def start_times(name: str, jobs: Sequence[TraceJob], nodes: int, options: ReplayOptions) -> dict[str, float]:
    recorder = Recorder()
    replay(jobs, make_scheduler(name, nodes, jobs), options, observer=recorder)
    return recorder.times


def first_to_wait(jobs: Sequence[TraceJob], starts: dict[str, float]) -> TraceJob | None:
    """Return the first job that does not start as it comes; it is the same one whether or not others may pass."""
    return next((job for job in jobs if job.name in starts and starts[job.name] > job.submit_s), None)


def gpus_of(jobs: Sequence[TraceJob], starts: dict[str, float], now: float) -> int:
    """Return the GPUs that are held at a time before anything starts then, taken from starts and durations alone."""
    return sum(
        job.total_gpus for job in jobs if starts.get(job.name, NEVER) < now and starts[job.name] + job.duration_s > now
    )


@pytest.mark.parametrize("name", QUEUING)
@given(jobs=traces(most_jobs=20), nodes=st.integers(1, 2))
def test_gpus_are_free_for_the_head_as_early_as_if_none_had_passed(name: str, jobs: list[TraceJob], nodes: int) -> None:
    strict = start_times(name, jobs, nodes, DEFAULT_OPTIONS)
    head = first_to_wait(jobs, strict)
    if head is None:
        return
    before = jobs[: jobs.index(head)]
    ends = sorted({head.submit_s, *(strict[job.name] + job.duration_s for job in before if job.name in strict)})
    enough = 8 * nodes - head.total_gpus
    first = next(end for end in ends if end >= head.submit_s and gpus_of(before, strict, end) <= enough)
    assert gpus_of(jobs, start_times(name, jobs, nodes, BACKFILL), first) <= enough


@pytest.mark.parametrize("name", UNMOVED)
@given(jobs=traces(most_jobs=20), nodes=st.integers(1, 2))
def test_the_head_starts_no_later(name: str, jobs: list[TraceJob], nodes: int) -> None:
    strict = start_times(name, jobs, nodes, DEFAULT_OPTIONS)
    head = first_to_wait(jobs, strict)
    if head is not None:
        assert start_times(name, jobs, nodes, BACKFILL)[head.name] <= strict[head.name]


def test_with_a_migration_cost_it_may_start_later() -> None:
    """d (17 s) passes c, which waits for a to end at 41 s; an instance of a moves for it, and a ends at 61 s."""
    rows = ((8.0, 33.0, 3, 3), (13.0, 10.0, 1, 1), (13.0, 40.0, 3, 6), (20.0, 17.0, 1, 4))
    jobs = [TraceJob(name, *row) for name, row in zip("abcd", rows, strict=True)]
    pauses = Pauses(seconds=20.0)
    starts = [start_times("sifopt", jobs, 3, ReplayOptions(pauses=pauses, backfill=on))["c"] for on in (False, True)]
    assert starts == [41.0, 61.0]
