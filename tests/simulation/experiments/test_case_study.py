"""The measures over time: exact averages of each hour, which add up to those of the whole replay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.demand import nodes_for
from simulation.experiments.case_study import averaged, case_study
from simulation.metrics import Sample
from tests.simulation.experiments.naive import JOBS, WHOLE, lab, replayed

close = pytest.approx


def sample(time: float, avoidable: int) -> Sample:
    return Sample(time, avoidable + 1, 1, 8 * avoidable, 5 - avoidable, 2 * avoidable)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), min_size=2, max_size=15), st.integers(1, 25))
def test_averages_of_whole_seconds(drawn: list[tuple[int, int]], step: int) -> None:
    """Every second by itself: the slow way to the same averages."""
    series = [sample(time, value) for time, value in sorted(drawn)]
    seconds: dict[int, list[int]] = {}
    for second in range(int(series[0].time_s), int(series[-1].time_s)):
        holds = [of for of in series if of.time_s <= second][-1]
        seconds.setdefault(second // step, []).append(holds.avoidable_partial_nodes)
    found = averaged(series, step)
    assert [of.time_s for of in found] == [key * step for key in seconds]
    for of, values in zip(found, seconds.values(), strict=True):
        mean = sum(values) / len(values)
        assert of.avoidable_partial_nodes == close(mean)
        assert (of.used_gpus, of.empty_nodes, of.waiting) == close((8 * mean, 5 - mean, 2 * mean))


def test_of_no_time() -> None:
    assert averaged([], 10) == []
    assert averaged([sample(3, 1)], 10) == []


def test_hours_add_up_to_the_replay() -> None:
    (finding,) = case_study(lab(("exact", "gfs", "drr")))
    assert list(dict.fromkeys(row[0] for row in finding.rows)) == ["exact", "gfs"]
    nodes = nodes_for(JOBS, 0.6)
    for name in ("exact", "gfs"):
        result = replayed(WHOLE, 0.6, name)
        rows = [row[1:] for row in finding.rows if row[0] == name]
        end = JOBS[0].submit_s + result.span_s
        weights = [
            min(end, float(day) * 86_400 + 3_600) - max(JOBS[0].submit_s, float(day) * 86_400) for day, *_ in rows
        ]
        assert sum(weights) == close(result.span_s)
        totals = [
            sum(float(row[place]) * weight for row, weight in zip(rows, weights, strict=True)) for place in (1, 2, 3)
        ]
        assert totals[0] == close(result.afr * nodes * result.span_s, abs=1e-6)
        assert totals[1] == close(result.agu * 8 * nodes * result.span_s)
        assert totals[2] == close(result.mean_empty_nodes * result.span_s)


def test_who_else_is_shown_where_none_of_the_few_is_asked_for() -> None:
    (finding,) = case_study(lab(("drr",)))
    assert {row[0] for row in finding.rows} == {"drr"}
