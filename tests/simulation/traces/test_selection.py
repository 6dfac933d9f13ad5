"""Filters: what is left, and how many each took away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.jobs import Trace, TraceError, TraceJob
from simulation.traces import Selection, select

DAY_S = 86_400

TRACE = Trace(
    (
        TraceJob("a", 0, 1, 1, 1, "x"),
        TraceJob("b", DAY_S - 0.5, 1, 2, 8, "y"),
        TraceJob("c", DAY_S, 1, 1, 3, "x"),
        TraceJob("d", 2 * DAY_S, 1, 1, 1),
        TraceJob("e", 3 * DAY_S - 1, 1, 100, 1, "x"),
    ),
    source="a file",
    rule="a rule",
)


@pytest.mark.parametrize(
    ("selection", "left", "removed"),
    [
        (Selection(), "abcde", {}),
        (Selection(pools=frozenset({"x"})), "ace", {"pool": 2}),
        (Selection(pools=frozenset({"x", "y"})), "abce", {"pool": 1}),
        (Selection(days=(0, 0)), "ab", {"days": 3}),
        (Selection(days=(1, 2)), "cde", {"days": 2}),
        (Selection(days=(-3, -1)), "", {"days": 5}),
        (Selection(demands=frozenset({1, 8})), "abde", {"demand": 1}),
        (Selection(max_total_gpus=16), "abcd", {"size": 1}),
        (
            Selection(pools=frozenset({"x"}), days=(1, 9), demands=frozenset({1})),
            "e",
            {"pool": 2, "days": 1, "demand": 1},
        ),
    ],
)
def test_filters(selection: Selection, left: str, removed: dict[str, int]) -> None:
    selected = select(TRACE, selection)
    assert "".join(job.name for job in selected.trace) == left
    assert selected.removed == removed
    assert (selected.trace.source, selected.trace.rule) == ("a file", "a rule")


@given(
    days=st.none() | st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda ends: (min(ends), max(ends))),
    demands=st.none() | st.frozensets(st.sampled_from([1, 3, 8])),
    most=st.none() | st.integers(0, 120),
)
def test_nothing_is_lost(days: tuple[int, int] | None, demands: frozenset[int] | None, most: int | None) -> None:
    selected = select(TRACE, Selection(days=days, demands=demands, max_total_gpus=most))
    assert len(selected.trace) + sum(selected.removed.values()) == len(TRACE)
    for job in TRACE:
        wanted = (
            (days is None or days[0] * DAY_S <= job.submit_s < (days[1] + 1) * DAY_S)
            and (demands is None or job.gpus in demands)
            and (most is None or job.instances * job.gpus <= most)
        )
        assert (job in selected.trace.jobs) is wanted


def test_an_unknown_pool() -> None:
    with pytest.raises(TraceError, match="no job asks for pool 'z'; expected one of: x, y"):
        select(TRACE, Selection(pools=frozenset({"x", "z"})))


def test_a_pool_of_a_trace_without_any() -> None:
    with pytest.raises(TraceError, match="expected one of: the trace has none"):
        select(Trace((TRACE.jobs[3],)), Selection(pools=frozenset({"x"})))


def test_many_pools_are_not_all_named() -> None:
    trace = Trace(tuple(TraceJob(f"{i}", 0, 1, 1, 1, f"p{i:02}") for i in range(99)))
    with pytest.raises(TraceError, match=r"p10, p11, \.\.\.$"):
        select(trace, Selection(pools=frozenset({"z"})))


def test_days_that_run_backwards() -> None:
    with pytest.raises(TraceError, match="expected days from the first to the last, got 3-1"):
        select(TRACE, Selection(days=(3, 1)))
