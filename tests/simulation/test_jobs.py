"""Traces, the size of the cluster they are given, and the queues."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.demand import fits_idle_cluster, nodes_by_share, nodes_for, peak_demand
from simulation.jobs import Trace, TraceError, TraceJob
from simulation.queues import FifoQueue, LargestFirstQueue
from simulation.schedulers.mcg import McgScheduler
from tests.simulation.recording import jobs_of, traces

if TYPE_CHECKING:
    from simulation.queues import JobQueue


class TestTrace:
    def test_is_its_jobs(self) -> None:
        jobs = jobs_of((0, 1, 1, 1), (0, 1, 2, 4))
        trace = Trace(tuple(jobs))
        assert list(trace) == jobs
        assert len(trace) == 2
        assert jobs[1].total_gpus == 8

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (((1.0, 1, 1, 1), (0.0, 1, 1, 1)), "'b' was submitted before"),
            (((0.0, -1, 1, 1),), "duration of 0 s or more, got -1"),
            (((float("nan"), 1, 1, 1),), "finite time"),
            (((0.0, float("inf"), 1, 1),), "finite duration"),
            (((0.0, 1, 0, 1),), "at least 1 instance"),
            (((0.0, 1, 1, 0),), "at least 1 instance"),
        ],
    )
    def test_what_cannot_be_replayed_is_refused(
        self, rows: tuple[tuple[float, float, int, int], ...], message: str
    ) -> None:
        with pytest.raises(TraceError, match=message):
            Trace(tuple(jobs_of(*rows)))

    def test_names_are_unique(self) -> None:
        job = TraceJob("a", 0, 1, 1, 1)
        with pytest.raises(TraceError, match="two jobs"):
            Trace((job, job))


class TestDemand:
    @given(jobs=traces())
    def test_the_peak_is_the_most_at_any_submission(self, jobs: list[TraceJob]) -> None:
        expected = max(
            sum(job.total_gpus for job in jobs if job.submit_s <= at < job.submit_s + job.duration_s)
            for at in (job.submit_s for job in jobs)
        )
        assert peak_demand(jobs) == expected

    def test_what_ends_makes_room_for_what_starts(self) -> None:
        assert peak_demand(jobs_of((0, 5, 1, 8), (5, 5, 1, 8))) == 8

    def test_nodes_are_rounded_up(self) -> None:
        assert nodes_by_share(929, 0.9) == nodes_for([TraceJob(str(i), 0, 5, 1, 1) for i in range(929)], 0.9) == 105
        assert nodes_by_share(160, 0.95) == 19  # exactly: 0.95 as a float would make it 20
        assert nodes_by_share(0, 0.9) == nodes_for([], 0.9) == 1

    @given(jobs=traces(), eta=st.sampled_from((0.05, 0.5, 0.9, 1.3)))
    def test_eta_refuses_no_job_that_a_cluster_can_hold(self, jobs: list[TraceJob], eta: float) -> None:
        """N is the least number of nodes that is no fewer than ⌈η·D/8⌉ and holds each job on its own."""
        nodes = next(
            nodes
            for nodes in count(1)
            if nodes >= Fraction(str(eta)) * peak_demand(jobs) / 8
            and all(fits_idle_cluster(job, nodes) for job in jobs if job.gpus <= 8)
        )
        assert nodes_for(jobs, eta) == nodes

    def test_the_job_that_sets_the_peak_is_not_refused(self) -> None:
        job = TraceJob("a", 0, 100, 5, 5)
        assert (peak_demand([job]), nodes_by_share(25, 0.9), nodes_for([job], 0.9)) == (25, 3, 5)

    @pytest.mark.parametrize("eta", [0.0, -1.0, float("nan"), float("inf")])
    def test_eta_is_a_positive_number(self, eta: float) -> None:
        with pytest.raises(TraceError, match="eta"):
            nodes_for([], eta)

    def test_instances_have_to_fit_nodes(self) -> None:
        assert fits_idle_cluster(TraceJob("a", 0, 1, 4, 3), 2)
        assert not fits_idle_cluster(TraceJob("a", 0, 1, 5, 3), 2)
        assert not fits_idle_cluster(TraceJob("a", 0, 1, 1, 9), 2)


def queue_of(kind: str) -> JobQueue:
    if kind == "fifo":
        return FifoQueue()
    return LargestFirstQueue() if kind == "largest" else McgScheduler(4).make_queue()


@pytest.mark.parametrize("kind", ["fifo", "largest", "mcg"])
@pytest.mark.parametrize("seed", range(5))
def test_a_queue_yields_its_jobs_in_one_order(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    queue = queue_of(kind)
    waiting: list[TraceJob] = []
    for i in range(60):
        if waiting and rng.random() < 0.4:
            gone = waiting.pop(rng.randrange(len(waiting)))
            queue.remove(gone)
        job = TraceJob(f"j{i}", float(i), 1, 1, rng.randint(1, 8))
        queue.push(job, float(i))
        waiting.append(job)
        head = queue.head(float(i))
        assert head is not None
        order = [head, *queue.behind_head(float(i))]
        assert len(queue) == len(order)
        if kind == "mcg":  # its order is checked with its scheduler
            assert sorted(j.submit_s for j in order) == sorted(j.submit_s for j in waiting)
        else:
            assert order == sorted(waiting, key=lambda j: (-j.gpus if kind == "largest" else 0, j.submit_s))
