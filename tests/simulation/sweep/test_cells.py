"""The cells of a sweep, their jobs and their rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.demand import nodes_for
from simulation.engine import replay
from simulation.jobs import Trace, TraceJob
from simulation.schedulers.registry import make_scheduler
from simulation.sweep.cells import Assumptions, Cell, Task, fingerprint, grid, run_cell, sampled, windows_of
from tests.simulation.sweep.small import DAY_S, made_up

CELL = Cell(days=(0, 1), eta=0.9, scheduler="exact")


@given(
    st.lists(st.tuples(st.floats(-5 * DAY_S, 30 * DAY_S), st.integers(0, 2)), max_size=20),
    st.integers(1, 9),
    st.none() | st.tuples(st.integers(-3, 10), st.integers(0, 15)).map(lambda pair: (pair[0], pair[0] + pair[1])),
)
def test_windows_share_out_the_jobs(drawn: list[tuple[float, int]], length: int, days: tuple[int, int] | None) -> None:
    jobs = [TraceJob(str(i), time, float(lasts), 1, 1) for i, (time, lasts) in enumerate(sorted(drawn))]
    found = windows_of(jobs, days, length=length)
    spans = list(found)
    assert spans == sorted(spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    for (first, last), trace in found.items():
        assert last - first + 1 == length or (days is not None and last == days[1])
        assert all(first * DAY_S <= job.submit_s < (last + 1) * DAY_S for job in trace)
        assert any(job.duration_s for job in trace)
    held = {job.name for trace in found.values() for job in trace}
    for job in jobs:
        asked = days is None or days[0] * DAY_S <= job.submit_s < (days[1] + 1) * DAY_S
        assert (job.name in held) <= asked
        if asked and job.duration_s:
            assert job.name in held


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 5))
def test_a_sample(days: int, number: int, seed: int) -> None:
    windows = [(day, day) for day in range(days)]
    found = sampled(windows, number, seed)
    assert found == sampled(windows, number, seed)
    assert list(found) == sorted(set(found))
    assert set(found) <= set(windows)
    assert len(found) == min(number, days)


def test_every_day_may_be_in_a_sample() -> None:
    windows = [(day, day) for day in range(4)]
    assert {days for seed in range(60) for days in sampled(windows, 1, seed)} == set(windows)
    assert sampled(windows, None, 0) == tuple(windows)


def test_names_tell_cells_apart() -> None:
    cells = grid([(0, 0), (0, 1), (-1, 1), (1, 1)], [0.5, 0.55, 1, 10], ["exact", "gfs"], [0, 0.1, 1])
    assert len(cells) == 4 * 4 * 2 * 3
    assert len({cell.name for cell in cells}) == len(cells)
    assert all("/" not in cell.name for cell in cells)
    assert replace(CELL, eta=1).name == replace(CELL, eta=1.0).name


def test_a_row_is_what_the_engine_gives() -> None:
    jobs = made_up(80, seed=1)
    row = run_cell(Task(CELL, jobs, Assumptions()))
    nodes = nodes_for(jobs, 0.9)
    result = replay(jobs, make_scheduler("exact", nodes, jobs)).result
    assert (row["first_day"], row["last_day"], row["eta"], row["cost_s"]) == (0, 1, 0.9, 0.0)
    assert (row["scheduler"], row["nodes"]) == ("exact", nodes)
    assert (row["afr"], row["ajct_s"], row["migrations"]) == (result.afr, result.jct_s.mean, result.migrations)


def test_assumptions_matter() -> None:
    jobs = made_up(120, seed=2)
    tight = replace(CELL, eta=0.5)

    def ajct(cell: Cell, assumptions: Assumptions) -> object:
        return run_cell(Task(cell, jobs, assumptions))["ajct_s"]

    fifo = ajct(tight, Assumptions())
    assert ajct(tight, Assumptions()) == fifo
    assert ajct(tight, Assumptions(queue="backfill")) != fifo
    assert ajct(tight, Assumptions(queue="largest-first")) != fifo
    assert ajct(replace(tight, cost_s=100.0), Assumptions()) != fifo
    chance = replace(tight, scheduler="random")
    assert ajct(chance, Assumptions(seed=1)) != ajct(chance, Assumptions(seed=2))


@pytest.mark.parametrize(
    "changed",
    [
        TraceJob("c", 0.0, 1.0, 1, 2),
        TraceJob("a", 1.0, 1.0, 1, 2),
        TraceJob("a", 0.0, 2.0, 1, 2),
        TraceJob("a", 0.0, 1.0, 2, 2),
        TraceJob("a", 0.0, 1.0, 1, 4),
    ],
)
def test_a_fingerprint_sees_every_figure(changed: TraceJob) -> None:
    jobs = [TraceJob("a", 0.0, 1.0, 1, 2), TraceJob("b", 5.0, 1.0, 1, 2)]
    assert fingerprint([changed, jobs[1]]) != fingerprint(jobs)
    assert fingerprint(Trace(tuple(jobs), source="elsewhere")) == fingerprint(jobs)
