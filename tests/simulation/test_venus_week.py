"""The engine on a week of a production cluster, against the replay with a referee of ``tests/core/test_venus.py``.

That replay is another program: it follows every event in a naive model and takes Φ* from the pattern model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compass_core import Variant
from simulation.demand import nodes_for, peak_demand
from simulation.engine import replay
from simulation.jobs import TraceJob
from simulation.schedulers.core_variants import CoreScheduler
from simulation.schedulers.registry import make_scheduler
from tests.core.test_venus import replayed, week_of_venus
from tests.simulation.recording import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.core.test_venus import Request

pytestmark = pytest.mark.real_data

close = pytest.approx


def as_trace(requests: Iterable[Request]) -> list[TraceJob]:
    return [TraceJob(r.job.name, r.submit_s, r.service_s, r.job.instances, r.job.gpus) for r in requests]


def compare(requests: list[Request], variant: Variant, nodes: int) -> None:
    expected = replayed(requests, variant, nodes)
    recorder = Recorder()
    result = replay(as_trace(requests), CoreScheduler(variant, nodes), observer=recorder).result
    assert result.events == expected.events
    # the referee counts moves of jobs, too, that depart at the same instant
    assert len(recorder.moves) == expected.migrations
    assert result.migrations <= expected.migrations
    assert result.max_avoidable_partial_nodes == expected.most_avoidable
    assert result.afr == close(expected.mean_sif)
    assert result.jct_s.mean == close(expected.mean_jct_s)
    assert result.wcc_coverage == close(expected.wcc_share)
    assert result.fragmentation_blocked_s == close(expected.fragmentation_blocked_s)


@pytest.mark.parametrize("nodes", [20, 45])
@pytest.mark.parametrize("variant", Variant)
def test_a_slice(real_data: Path, variant: Variant, nodes: int) -> None:
    compare([r for r in week_of_venus(real_data)[:250] if r.job.total_gpus <= 8 * nodes], variant, nodes)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [105, 59])
@pytest.mark.parametrize("variant", Variant)
def test_the_week(real_data: Path, variant: Variant, nodes: int) -> None:
    compare(list(week_of_venus(real_data)), variant, nodes)


def test_its_size(real_data: Path) -> None:
    week = as_trace(week_of_venus(real_data))
    assert peak_demand(week) == 929
    assert nodes_for(week, 0.9) == 105


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gfs", "exact", "sifopt"])
def test_what_scarcity_does(real_data: Path, name: str) -> None:
    """At N = 59 best fit is blocked by fragmentation most of the time, EXACT and SIFOpt never, and jobs end sooner."""
    result = replay(as_trace(week_of_venus(real_data)), make_scheduler(name, 59)).result
    if name == "gfs":
        assert result.fragmentation_blocked_s > 150 * 3_600
        assert result.jct_s.mean > 105_000
    else:
        assert result.fragmentation_blocked_s == 0
        assert result.jct_s.mean < 92_000
        assert result.max_avoidable_partial_nodes == 0
