"""Figures of a replay against cases worked out by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from compass_core import Variant
from simulation.engine import Replay, replay
from simulation.jobs import TraceError, TraceJob
from simulation.metrics import Quantiles
from simulation.options import QueueOrder, ReplayOptions
from simulation.pauses import Pauses
from simulation.schedulers.core_variants import CoreScheduler
from simulation.schedulers.greedy import GreedyScheduler, best_fit, worst_fit
from simulation.schedulers.protocol import Cause, Refused
from tests.simulation.recording import Recorder, jobs_of

if TYPE_CHECKING:
    from simulation.schedulers.protocol import Answer

close = pytest.approx


class TestThreeJobsOfWhichOneIsKeptWaiting:
    """Two nodes. a: 4 GPUs from 0 for 10 s; b: 4 GPUs from 2 for 4 s; c: 8 GPUs, submitted at 4, for 8 s.

    Worst fit puts a and b on different nodes. So c waits until b leaves at 6, and runs until 14.
    """

    @staticmethod
    def replayed() -> Replay:
        jobs = jobs_of((0, 10, 1, 4), (2, 4, 1, 4), (4, 8, 1, 8))
        return replay(jobs, GreedyScheduler("worst", 2, worst_fit), ReplayOptions(series=True))

    def test_time_averages(self) -> None:
        result = self.replayed().result
        assert result.span_s == 14
        # Φ* is 1 beside one 4, 0 beside two. Φ − Φ*: 0 until 2, 2 until 6, 0 until the end.
        assert result.afr == close(2 * 4 / (2 * 14))
        assert result.partial_share == close((1 * 2 + 2 * 4 + 1 * 4) / (2 * 14))
        assert result.inherent_share == close((1 * 2 + 1 * 4) / (2 * 14))
        assert result.mean_empty_nodes == close((1 * 2 + 1 * 4) / 14)
        assert result.wcc_coverage == 1
        assert result.max_avoidable_partial_nodes == 2

    def test_utilisation_over_both_spans(self) -> None:
        result = self.replayed().result
        assert result.agu == close((4 * 10 + 4 * 4 + 8 * 8) / (16 * 14))
        assert result.submission_span_s == 4
        assert result.agu_submission == close((4 * 4 + 4 * 2) / (16 * 4))

    def test_waiting(self) -> None:
        result = self.replayed().result
        assert result.fragmentation_blocked_s == 2
        assert result.capacity_blocked_s == 0
        assert (result.fragmentation_blocked_jobs, result.capacity_blocked_jobs) == (1, 0)
        assert result.delay_s.mean == close(2 / 3)
        assert result.jct_s.mean == close((10 + 4 + 10) / 3)

    def test_the_series(self) -> None:
        series = self.replayed().series
        assert [(s.time_s, s.avoidable_partial_nodes, s.used_gpus, s.empty_nodes, s.waiting) for s in series] == [
            (0, 0, 4, 1, 0),
            (2, 2, 8, 0, 0),
            (4, 2, 8, 0, 1),
            (6, 0, 12, 0, 0),
            (10, 0, 8, 1, 0),
            (14, 0, 0, 2, 0),
        ]


class TestThreeJobsOfWhichOneMoves:
    """Two nodes. a: 5 GPUs from 0 for 4 s; b: 4 GPUs from 0 for 10 s; c: 4 GPUs from 2 for 10 s.

    Slots of 8 and 4. c joins b, so nothing moves until then; with a gone at 4 nothing is left to merge. The condition
    fails while the 5, whose slot asks for three fillers, runs: until 4.
    """

    JOBS = ((0, 4, 1, 5), (0, 10, 1, 4), (2, 10, 1, 4))

    def test_the_condition_holds_after_the_five(self) -> None:
        result = replay(jobs_of(*self.JOBS), CoreScheduler(Variant.EXACT, 2)).result
        assert result.span_s == 12
        assert result.wcc_coverage == close(8 / 12)
        assert result.migrations == 0


class TestPauses:
    """Two nodes under EXACT, three jobs of 4 GPUs: a and b share a node. b leaves at 2, and a or c joins the other."""

    JOBS = ((0, 10, 1, 4), (0, 2, 1, 4), (0, 10, 1, 4))

    @pytest.mark.parametrize("per_instance", [False, True])
    def test_a_move_puts_off_the_end(self, *, per_instance: bool) -> None:
        options = ReplayOptions(pauses=Pauses(seconds=3.0, per_instance=per_instance))
        done = replay(jobs_of(*self.JOBS), CoreScheduler(Variant.EXACT, 2), options)
        assert done.result.migrations == done.result.pauses == 1
        assert sorted((r.finish_s, r.paused_s) for r in done.records) == [(2, 0), (10, 0), (13, 3)]
        assert done.result.paused_s == 3
        assert done.result.paused_gpu_s == 12
        # GPUs are held during the pause
        assert done.result.agu == close((4 * 10 + 4 * 2 + 4 * 13) / (16 * 13))

    def test_who_departs_at_the_same_instant_is_not_moved(self) -> None:
        """All end at 2: as a goes, b joins c or c joins b, on paper only."""
        options = ReplayOptions(pauses=Pauses(seconds=3.0))
        recorder = Recorder()
        jobs = jobs_of((0, 2, 1, 4), (0, 2, 1, 4), (0, 2, 1, 4))
        done = replay(jobs, CoreScheduler(Variant.EXACT, 2), options, observer=recorder)
        assert len(recorder.moves) == 1
        assert done.result.migrations == done.result.pauses == 0
        assert done.result.span_s == 2

    def test_the_pause_may_depend_on_the_job(self) -> None:
        options = ReplayOptions(pauses=Pauses(seconds=lambda job: job.total_gpus / 2))
        done = replay(jobs_of(*self.JOBS), CoreScheduler(Variant.EXACT, 2), options)
        assert done.result.paused_s == 2

    def test_once_a_job_or_once_an_instance(self) -> None:
        moved = TraceJob("m", 0, 10, 2, 2)
        assert Pauses(seconds=3.0).of(moved, 2) == 3
        assert Pauses(seconds=3.0, per_instance=True).of(moved, 2) == 6

    def test_a_pause_is_not_negative(self) -> None:
        with pytest.raises(TraceError, match="0 s or more"):
            Pauses(seconds=-1.0)
        with pytest.raises(TraceError, match="'m'"):
            Pauses(seconds=lambda _job: -1.0).of(TraceJob("m", 0, 10, 2, 2), 1)


class TestCapacity:
    """One node. a: 8 GPUs from 0 for 10 s; b: 2 GPUs submitted at 1; c: 9 instances of 1 GPU, which no node holds."""

    JOBS = ((0, 10, 1, 8), (1, 5, 1, 2), (2, 5, 9, 1))

    def test_a_job_larger_than_the_cluster_is_refused_up_front(self) -> None:
        done = replay(jobs_of(*self.JOBS), GreedyScheduler("best", 1, best_fit))
        assert [job.name for job in done.refused] == ["c"]
        assert (done.result.jobs, done.result.refused_jobs, done.result.completed_jobs) == (2, 1, 2)
        # and is not the last submission either
        assert done.result.submission_span_s == 1

    def test_instances_that_nodes_cannot_hold_are_too_large_although_their_gpus_are_there(self) -> None:
        done = replay(jobs_of((0, 5, 3, 5)), GreedyScheduler("best", 2, best_fit))
        assert done.result.refused_jobs == 1

    def test_waiting_for_capacity(self) -> None:
        result = replay(jobs_of(*self.JOBS), GreedyScheduler("best", 1, best_fit)).result
        assert result.capacity_blocked_s == 9
        assert result.fragmentation_blocked_s == 0
        assert result.capacity_blocked_jobs == 1


class TestStructure:
    """COMPASS keeps slots and ones apart: a one on the only node bars a 4, though seven GPUs are free."""

    def test_is_counted_apart_and_as_a_part_of_fragmentation(self) -> None:
        result = replay(jobs_of((0, 10, 1, 1), (4, 5, 1, 4)), CoreScheduler(Variant.COMPASS, 1)).result
        assert result.structure_blocked_s == result.fragmentation_blocked_s == 6
        assert (result.structure_blocked_jobs, result.fragmentation_blocked_jobs) == (1, 0)

    def test_exact_has_no_such_refusal(self) -> None:
        result = replay(jobs_of((0, 10, 1, 1), (4, 5, 1, 4)), CoreScheduler(Variant.EXACT, 1)).result
        assert result.fragmentation_blocked_s == 0


class TestPrintedUndefined:
    """P5, N = 1: `1x3, 1x3, 2x1, -1`. The orphaned filler of the first slot has no legal home."""

    def test_the_job_keeps_its_gpus_until_it_can_depart(self) -> None:
        jobs = jobs_of((0, 2, 1, 3), (0, 7, 1, 3), (0, 6, 2, 1))
        recorder = Recorder()
        done = replay(jobs, CoreScheduler(Variant.PRINTED, 1), observer=recorder)
        assert done.result.undefined_departures == 1
        assert recorder.ends == [("c", 6), ("a", 6), ("b", 7)]
        assert done.result.stuck_gpu_s == 3 * 4
        # it has completed all the same, and what is stuck is not used
        assert {r.name: r.finish_s for r in done.records} == {"a": 2, "b": 7, "c": 6}
        assert done.result.agu == close((3 * 2 + 3 * 7 + 2 * 6) / (8 * 7))

    def test_it_departs_as_soon_as_an_arrival_makes_a_home(self) -> None:
        """On the second node a 4 stands alone; the 3 that joins it at 5 has a vacancy for the orphan."""
        jobs = jobs_of((0, 2, 1, 3), (0, 20, 1, 3), (0, 20, 2, 1), (0, 20, 1, 4), (5, 20, 1, 3))
        recorder = Recorder()
        done = replay(jobs, CoreScheduler(Variant.PRINTED, 2), observer=recorder)
        assert dict(recorder.ends)["a"] == 5
        assert done.result.stuck_gpu_s == 3 * 3

    def test_an_undefined_arrival_waits(self) -> None:
        """P12: a one on the only node leaves no empty node for a 4."""
        result = replay(jobs_of((0, 10, 1, 1), (4, 5, 1, 4)), CoreScheduler(Variant.PRINTED, 1)).result
        assert result.undefined_arrivals == 1
        assert result.undefined_blocked_s == result.fragmentation_blocked_s == 6
        assert result.completed_jobs == 2


class TestQueueOrders:
    """One node, full until 10; then waiting jobs start by their order."""

    JOBS = ((0, 10, 1, 8), (1, 5, 1, 2), (2, 5, 1, 8), (3, 5, 1, 2), (4, 2, 1, 1))

    @staticmethod
    def starts(options: ReplayOptions) -> dict[str, float]:
        recorder = Recorder()
        replay(jobs_of(*TestQueueOrders.JOBS), GreedyScheduler("best", 1, best_fit), options, observer=recorder)
        return recorder.times

    def test_first_come_first_served_behind_a_strict_head(self) -> None:
        # c, which needs the whole node, bars d and e though they would fit beside b
        assert self.starts(ReplayOptions()) == {"a": 0, "b": 10, "c": 15, "d": 20, "e": 20}

    def test_the_largest_demand_first(self) -> None:
        assert self.starts(ReplayOptions(queue=QueueOrder.LARGEST_FIRST)) == {
            "a": 0,
            "c": 10,
            "b": 15,
            "d": 15,
            "e": 15,
        }

    def test_backfill_lets_past_who_is_gone_in_time(self) -> None:
        # c cannot start before b ends at 15: d (5 s) and e (2 s) are gone by then
        assert self.starts(ReplayOptions(backfill=True)) == {"a": 0, "b": 10, "c": 15, "d": 10, "e": 10}


class _TakesOneJob(GreedyScheduler):
    """Starts the first job and refuses every other one."""

    def __init__(self) -> None:
        super().__init__("once", 2, best_fit)
        self.taken = False

    def arrive(self, job: TraceJob, now: float) -> Answer:
        if self.taken:
            return Refused(Cause.STRUCTURE)
        self.taken = True
        return super().arrive(job, now)


def test_jobs_that_never_start_wait_until_the_last_submission() -> None:
    """a: 4 GPUs from 0 to 10. b waits from 5, c from 40; the time is 0 to 40, and no share of it can exceed 1."""
    result = replay(jobs_of((0, 10, 1, 4), (5, 1, 1, 1), (40, 1, 1, 1)), _TakesOneJob()).result
    assert (result.completed_jobs, result.unstarted_jobs) == (1, 2)
    assert result.span_s == result.submission_span_s == 40
    assert result.wcc_coverage == 1
    assert result.structure_blocked_s == 35
    assert result.agu == result.agu_submission == close(40 / (16 * 40))
    assert result.mean_empty_nodes == close((1 * 10 + 2 * 30) / 40)


def test_jobs_out_of_order_make_no_trace() -> None:
    with pytest.raises(TraceError, match="submitted before"):
        replay(jobs_of((5, 1, 1, 1), (4, 1, 1, 1)), GreedyScheduler("best", 1, best_fit))


class TestOverNoTime:
    def test_no_jobs(self) -> None:
        result = replay([], GreedyScheduler("best", 2, best_fit)).result
        assert (result.jobs, result.events, result.afr, result.agu, result.span_s) == (0, 0, 0, 0, 0)
        assert result.jct_s == Quantiles(0, 0, 0, 0)

    def test_jobs_that_last_no_time(self) -> None:
        result = replay(jobs_of((5, 0, 1, 8), (5, 0, 1, 8)), GreedyScheduler("best", 1, best_fit)).result
        assert (result.completed_jobs, result.span_s, result.afr) == (2, 0, 0)


class TestQuantiles:
    def test_percentiles_are_interpolated(self) -> None:
        assert tuple(Quantiles.of([4.0, 1.0, 2.0, 3.0])) == close((2.5, 2.5, 3.85, 3.97))

    def test_of_one_value(self) -> None:
        assert Quantiles.of([7.0]) == Quantiles(7, 7, 7, 7)


def test_json_has_the_agreed_keys() -> None:
    result = replay(jobs_of((0, 10, 1, 4)), GreedyScheduler("best", 2, best_fit)).result
    data = json.loads(json.dumps(result.to_json()))
    assert data["schema"] == "compass-abs/replay/1"
    assert {
        "scheduler",
        "nodes",
        "jobs",
        "ajct_s",
        "afr",
        "agu",
        "max_avoidable_partial_nodes",
        "fragmentation_blocked_s",
        "capacity_blocked_s",
        "migrations",
        "wcc_coverage",
        "events",
        "wall_s",
    } <= data.keys()
    assert (data["ajct_s"], data["jct_p95_s"], data["delay_mean_s"], data["events"]) == (10, 10, 0, 2)
