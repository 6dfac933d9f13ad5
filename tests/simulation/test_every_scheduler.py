"""What every scheduler owes, whatever its rule: nothing is over-booked, nothing is lost, the same again is the same."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from compass_core import CompassError
from simulation.engine import replay
from simulation.jobs import TraceJob
from simulation.options import ReplayOptions
from simulation.pauses import Pauses
from simulation.schedulers.registry import SCHEDULERS, make_scheduler
from tests.simulation.recording import as_moves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_core import Migration
    from simulation.engine import Replay
    from simulation.schedulers.protocol import Left, Placed

NODES = 12
PAUSE_S = 16.0

close = pytest.approx


def trace(seed: int) -> list[TraceJob]:
    """A few hundred jobs on a cluster that is too small for them now and then, over some hours."""
    rng = random.Random(seed)
    jobs: list[TraceJob] = []
    clock = 0
    for i in range(320):
        clock += rng.choice((0, 16, 32, 64, 128, 256))
        duration = rng.choice((0, 32, 512, 1_024, 4_096))
        instances, gpus = rng.choice(((1, rng.randint(1, 8)), (1, 1), (1, 8), (3, 2), (2, 5)))
        jobs.append(TraceJob(f"j{i:03}", float(clock), float(duration), instances, gpus))
    return jobs


@dataclass
class Auditor:
    """Follows what the engine says it did, and checks each step."""

    where: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    gpus: dict[str, int] = field(default_factory=dict[str, int])
    order: list[str] = field(default_factory=list[str])

    def free(self) -> list[int]:
        left = [8] * NODES
        for name, nodes in self.where.items():
            for node in nodes:
                left[node] -= self.gpus[name]
        return left

    def move(self, migrations: Sequence[Migration]) -> None:
        for name, instance, source, destination in as_moves(migrations):
            assert self.where[name][instance] == source != destination
            self.where[name][instance] = destination
        assert min(self.free()) >= 0

    def started(self, job: TraceJob, now: float, placed: Placed) -> None:
        assert job.submit_s <= now
        self.move(placed.migrations)
        assert job.name not in self.where
        assert len(placed.nodes) == job.instances
        self.where[job.name], self.gpus[job.name] = list(placed.nodes), job.gpus
        assert min(self.free()) >= 0
        self.order.append(job.name)

    def departed(self, job: TraceJob, now: float, left: Left) -> None:
        del now
        del self.where[job.name]
        self.move(left.migrations)

    def round_started(self, now: float, migrations: Sequence[Migration]) -> None:
        del now
        self.move(migrations)


def replayed(name: str, seed: int, auditor: Auditor | None = None) -> Replay:
    jobs = trace(seed)
    options = ReplayOptions(pauses=Pauses(seconds=PAUSE_S), series=True)
    return replay(jobs, make_scheduler(name, NODES, jobs, seed=seed), options, observer=auditor)


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("seed", [1, 2])
class TestConservation:
    def test_no_node_is_over_booked_and_all_is_given_back(self, name: str, seed: int) -> None:
        auditor = Auditor()
        done = replayed(name, seed, auditor)
        assert auditor.where == {}
        assert len(auditor.order) == done.result.completed_jobs == 320
        if name != "mcg":  # which has an order of its own
            assert auditor.order == sorted(auditor.order)

    @pytest.mark.long
    def test_every_job_runs_its_duration_plus_pauses(self, name: str, seed: int) -> None:
        done = replayed(name, seed)
        durations = {job.name: job.duration_s for job in trace(seed)}
        assert {record.name for record in done.records} == durations.keys()
        for record in done.records:
            assert record.finish_s - record.start_s == durations[record.name] + record.paused_s
            assert record.paused_s % PAUSE_S == 0
            assert record.start_s >= record.submit_s

    @pytest.mark.long
    def test_gpu_seconds_add_up(self, name: str, seed: int) -> None:
        result = replayed(name, seed).result
        worked = sum(job.total_gpus * job.duration_s for job in trace(seed))
        assert result.agu * 8 * NODES * result.span_s == close(worked + result.paused_gpu_s)
        assert result.paused_s == PAUSE_S * result.pauses
        assert result.pauses <= result.migrations

    @pytest.mark.long
    def test_the_series_adds_up_to_the_averages(self, name: str, seed: int) -> None:
        done = replayed(name, seed)
        spans = [later.time_s - sample.time_s for sample, later in zip(done.series, done.series[1:], strict=False)]
        avoidable = sum(s.avoidable_partial_nodes * t for s, t in zip(done.series, spans, strict=False))
        assert avoidable / (NODES * done.result.span_s) == close(done.result.afr)
        assert min(s.avoidable_partial_nodes for s in done.series) >= 0

    @pytest.mark.long
    def test_the_same_again_is_the_same(self, name: str, seed: int) -> None:
        assert replayed(name, seed) == replayed(name, seed)


def test_the_seed_is_the_only_chance() -> None:
    jobs = trace(1)
    results = [replay(jobs, make_scheduler("random", NODES, seed=seed)).result for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]


def test_exact_and_sifopt_leave_nothing_avoidable() -> None:
    """Under the condition for EXACT, always for SIFOpt."""
    assert replayed("sifopt", 1).result.max_avoidable_partial_nodes == 0
    satisfied = [job for job in trace(1) if job.gpus in {1, 2, 4, 8}]
    exact = replay(satisfied, make_scheduler("exact", NODES)).result
    assert (exact.wcc_coverage, exact.max_avoidable_partial_nodes, exact.fragmentation_blocked_s) == (1, 0, 0)


def test_rounds_are_held_once_an_hour_while_something_runs() -> None:
    jobs = [TraceJob("a", 0, 8_000, 1, 4), TraceJob("b", 20_000, 3_000, 1, 4)]
    result = replay(jobs, make_scheduler("drr", 2)).result
    assert result.rounds == 3  # at 3,600, 7,200 and 21,600


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(CompassError, match=r"'best'.* exact, .*best-fit"):
        make_scheduler("best", 2)
    assert make_scheduler("best-fit", 2).name == "gfs"
