"""Every scheduler, event by event, against a second engine that searches lists and recomputes everything."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import Variant
from simulation.engine import replay
from simulation.jobs import TraceJob
from simulation.options import QueueOrder, ReplayOptions
from simulation.pauses import Pauses
from simulation.schedulers.cafgd import CafgdScheduler
from simulation.schedulers.drr import DrrScheduler
from simulation.schedulers.fft import FftScheduler
from simulation.schedulers.greedy import best_fit, worst_fit
from simulation.schedulers.protocol import Cause
from simulation.schedulers.registry import make_scheduler
from tests.core.naive import fewest_partial_nodes
from tests.oracle.brute_force import Cluster, Instance, Node
from tests.oracle.every_placement import fewest_migrations
from tests.simulation.recording import Recorder, traces
from tests.simulation.slow_engine import SlowEngine
from tests.simulation.slow_policies import (
    Follower,
    SlowCafgd,
    SlowCore,
    SlowDrr,
    SlowFgd,
    SlowGreedy,
    SlowMcg,
    SlowSifOpt,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulation.engine import Replay
    from simulation.schedulers.protocol import Scheduler
    from tests.simulation.slow_engine import Move, Policy

POLICIES: dict[str, Callable[[int, Sequence[TraceJob]], Policy]] = {
    "compass": lambda nodes, _jobs: SlowCore(Variant.COMPASS, nodes),
    "exact": lambda nodes, _jobs: SlowCore(Variant.EXACT, nodes),
    "printed": lambda nodes, _jobs: SlowCore(Variant.PRINTED, nodes),
    "sifopt": lambda nodes, _jobs: SlowSifOpt(nodes),
    "gfs": lambda _nodes, _jobs: SlowGreedy(lambda free, _node: free),
    "best-fit": lambda _nodes, _jobs: SlowGreedy(lambda free, _node: free),
    "first-fit": lambda _nodes, _jobs: SlowGreedy(lambda _free, node: node),
    "worst-fit": lambda _nodes, _jobs: SlowGreedy(lambda free, _node: -free),
    "fgd": lambda _nodes, jobs: SlowFgd(job for job in jobs if job.gpus <= 8),
    "mcg": lambda _nodes, _jobs: SlowMcg(),
    "cafgd": lambda _nodes, _jobs: SlowCafgd(wait=True),
}

DEFAULTS = ReplayOptions()

# There are many schedulers and options, and the slow engine tries every packing after each event.
fewer_examples = settings(max_examples=settings().max_examples // 4)

close = pytest.approx


def compare(fast: Replay, recorder: Recorder, slow: SlowEngine) -> None:
    """Check that both engines started the same jobs on the same nodes at the same time, and measured the same."""
    slow.run()
    assert recorder.starts == slow.starts
    records = [(r.name, Fraction(r.start_s), Fraction(r.finish_s), Fraction(r.paused_s)) for r in fast.records]
    assert records == slow.done
    result = fast.result
    assert result.jobs == len(slow.jobs)
    assert result.unstarted_jobs == len(slow.waiting)
    assert result.migrations == slow.moves
    assert result.pauses == len(slow.pauses)
    assert result.paused_s == close(float(sum(seconds for seconds, _ in slow.pauses)))
    assert result.paused_gpu_s == close(float(sum(seconds * gpus for seconds, gpus in slow.pauses)))
    assert result.max_avoidable_partial_nodes == max(slow.avoidable, default=0)
    for cause in Cause:
        counted = {
            Cause.CAPACITY: result.capacity_blocked_jobs,
            Cause.FRAGMENTATION: result.fragmentation_blocked_jobs,
            Cause.STRUCTURE: result.structure_blocked_jobs,
            Cause.HELD: result.held_jobs,
            Cause.UNDEFINED: result.undefined_arrivals,
        }[cause]
        assert counted == sum(why == cause.value for _, why in slow.blocked_jobs), cause
    assert result.feasible_blocked_jobs == len({name for name, why in slow.blocked_jobs if why != Cause.CAPACITY.value})
    if slow.done:
        compare_integrals(fast, slow)


def compare_integrals(fast: Replay, slow: SlowEngine) -> None:
    """Check every time average against sums of fractions over all periods."""
    result = fast.result
    span = slow.span()
    nodes = slow.nodes
    blocked = {cause: blocked_by(slow, cause) for cause in Cause}
    assert result.capacity_blocked_s == close(blocked[Cause.CAPACITY])
    assert result.structure_blocked_s == close(blocked[Cause.STRUCTURE])
    assert result.held_s == close(blocked[Cause.HELD])
    assert result.undefined_blocked_s == close(blocked[Cause.UNDEFINED])
    assert result.fragmentation_blocked_s == close(sum(blocked.values()) - blocked[Cause.CAPACITY])
    assert result.stuck_gpu_s == close(float(slow.over_time(lambda period: period.stuck)))
    assert result.span_s == span
    if not span:
        assert result.afr == result.agu == 0
        return
    assert result.afr == close(float(slow.over_time(lambda p: p.partial - p.inherent) / (nodes * span)))
    assert result.partial_share == close(float(slow.over_time(lambda p: p.partial) / (nodes * span)))
    assert result.inherent_share == close(float(slow.over_time(lambda p: p.inherent) / (nodes * span)))
    assert result.agu == close(float(slow.over_time(lambda p: p.used) / (8 * nodes * span)))
    assert result.mean_empty_nodes == close(float(slow.over_time(lambda p: p.empty) / span))
    assert result.wcc_coverage == close(float(slow.over_time(lambda p: p.wcc) / span))
    submitting = Fraction(slow.jobs[-1].submit_s) - Fraction(slow.jobs[0].submit_s)
    if submitting:
        used = slow.used_until(slow.jobs[-1].submit_s)
        assert result.agu_submission == close(float(used / (8 * nodes * submitting)))


def blocked_by(slow: SlowEngine, cause: Cause) -> float:
    return float(slow.over_time(lambda period: period.blocked == cause.value))


def both(
    jobs: Sequence[TraceJob],
    scheduler: Scheduler,
    policy: Policy,
    options: ReplayOptions = DEFAULTS,
    pause: Callable[[TraceJob, int], Fraction] = lambda _job, _moved: Fraction(0),
) -> Replay:
    recorder = Recorder()
    fast = replay(jobs, scheduler, options, observer=recorder)
    slow = SlowEngine(
        jobs,
        scheduler.nodes,
        policy,
        pause,
        largest_first=options.queue is QueueOrder.LARGEST_FIRST,
        backfill=options.backfill,
    )
    compare(fast, recorder, slow)
    return fast


@pytest.mark.parametrize("name", POLICIES)
@fewer_examples
@given(jobs=traces(), nodes=st.integers(1, 4))
def test_first_come_first_served(name: str, jobs: list[TraceJob], nodes: int) -> None:
    both(jobs, make_scheduler(name, nodes, jobs), POLICIES[name](nodes, jobs))


@pytest.mark.parametrize("name", ["gfs", "exact", "compass"])
@fewer_examples
@given(jobs=traces(), nodes=st.integers(1, 4), backfill=st.booleans())
def test_the_largest_first_and_backfill(name: str, jobs: list[TraceJob], nodes: int, *, backfill: bool) -> None:
    options = ReplayOptions(queue=QueueOrder.LARGEST_FIRST, backfill=backfill)
    both(jobs, make_scheduler(name, nodes, jobs), POLICIES[name](nodes, jobs), options)


@pytest.mark.parametrize("name", ["gfs", "exact", "printed", "mcg"])
@fewer_examples
@given(jobs=traces(), nodes=st.integers(1, 4))
def test_backfill(name: str, jobs: list[TraceJob], nodes: int) -> None:
    both(jobs, make_scheduler(name, nodes, jobs), POLICIES[name](nodes, jobs), ReplayOptions(backfill=True))


@pytest.mark.parametrize("name", ["exact", "compass", "printed", "sifopt"])
@fewer_examples
@given(jobs=traces(), nodes=st.integers(1, 4), per_instance=st.booleans(), by_size=st.booleans())
def test_pauses(name: str, jobs: list[TraceJob], nodes: int, *, per_instance: bool, by_size: bool) -> None:
    def seconds(job: TraceJob) -> float:
        return float(job.total_gpus) if by_size else 2.0

    def slow(job: TraceJob, moved: int) -> Fraction:
        return Fraction(seconds(job)) * (moved if per_instance else 1)

    pauses = Pauses(seconds=seconds if by_size else 2.0, per_instance=per_instance)
    both(jobs, make_scheduler(name, nodes, jobs), POLICIES[name](nodes, jobs), ReplayOptions(pauses=pauses), slow)


@fewer_examples
@given(jobs=traces(), nodes=st.integers(1, 6), interval=st.integers(1, 5), spread=st.booleans())
def test_drr_drains_nodes(jobs: list[TraceJob], nodes: int, interval: int, *, spread: bool) -> None:
    """Worst fit instead of best fit spreads the jobs, and leaves more nodes to drain."""
    pauses = ReplayOptions(pauses=Pauses(seconds=1.0))
    scheduler = DrrScheduler(nodes, worst_fit if spread else best_fit, interval_s=float(interval))
    policy = SlowDrr(interval, lambda free, _node: -free if spread else free)
    both(jobs, scheduler, policy, pauses, lambda _job, _moved: Fraction(1))


def check_round(limit: int | None) -> Callable[[SlowEngine, list[Move]], None]:
    """Return a check of the moves of one round of fft: as few partial nodes as they may reach, and no move too many."""

    def check(slow: SlowEngine, moves: list[Move]) -> None:
        costs = fewest_migrations(as_cluster(slow), "p")  # by the number of partial nodes
        if limit is None:
            reached = fewest_partial_nodes(slow.counts(), 8, slow.nodes)
        else:
            reached = next(partial for partial, cost in enumerate(costs) if cost <= limit)
        assert len(moves) == costs[reached]
        free = slow.free()
        for name, _, source, destination in moves:
            free[source] += slow.holders[name].gpus
            free[destination] -= slow.holders[name].gpus
        assert sum(0 < left < 8 for left in free) <= reached

    return check


def as_cluster(slow: SlowEngine) -> Cluster:
    held = [(node, slow.holders[name].gpus) for name, nodes in slow.where.items() for node in nodes]
    instances = tuple(Instance(node, gpus, movable=True) for node, gpus in held)
    return Cluster(tuple(Node("p", 8, schedulable=True) for _ in range(slow.nodes)), instances)


@pytest.mark.parametrize("limit", [None, 0, 1, 2])
@fewer_examples
@given(jobs=traces(most_jobs=9), nodes=st.integers(2, 3), interval=st.integers(2, 6))
def test_fft_re_places_with_the_fewest_moves(
    limit: int | None, jobs: list[TraceJob], nodes: int, interval: int
) -> None:
    jobs = [job for job in jobs if job.instances <= 2 and job.gpus > 1]
    recorder = Recorder()
    scheduler = FftScheduler(nodes, interval_s=float(interval), max_moves=limit)
    fast = replay(jobs, scheduler, observer=recorder)
    slow = SlowEngine(jobs, nodes, Follower(interval, recorder.rounds, check_round(limit)))
    compare(fast, recorder, slow)


@pytest.mark.long
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_cafgd_beyond_its_first_arrivals(seed: int, *, wait: bool) -> None:
    rng = random.Random(seed)
    jobs: list[TraceJob] = []
    clock = 0
    for i in range(520):
        clock += rng.choice((0, 0, 60, 200, 900, 2_000))
        duration = rng.choice((30, 300, 499, 500, 700, 1_500, 4_000, 12_000))
        jobs.append(TraceJob(f"j{i:03}", float(clock), float(duration), rng.choice((1, 1, 1, 2)), rng.randint(1, 8)))
    fast = both(jobs, CafgdScheduler(4, wait_for_peak=wait), SlowCafgd(wait=wait))
    assert (fast.result.held_jobs > 0) is wait


@pytest.mark.parametrize("seed", [1, 2])
def test_mcg_over_hours(seed: int) -> None:
    """Long waits, so that the term for waiting hours decides now and then."""
    rng = random.Random(seed)
    jobs: list[TraceJob] = []
    clock = 0
    for i in range(60):
        clock += rng.choice((0, 600, 1_800))
        jobs.append(TraceJob(f"j{i:03}", float(clock), float(rng.choice((600, 7_200, 20_000))), 1, rng.randint(1, 8)))
    fast = both(jobs, make_scheduler("mcg", 2), SlowMcg())
    assert fast.result.delay_s.p50 > 3_600
