"""Whose instances move: against every placement of small clusters; every plan is replayed; limits are kept."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pytest

import oracle.planning.whose
import oracle.planning.whose_model
from oracle.optimum.certificate import Status
from oracle.optimum.exact import InfeasibleError, UndecidedError
from oracle.optimum.solver import Deadline, IntegerAnswer, Outcome, Program, Row
from oracle.optimum.solver import solve_integers as solve_by_branching
from oracle.planning.planner import plan
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from tests.oracle import brute_force
from tests.oracle.every_placement import Outcome as Placement
from tests.oracle.every_placement import outcomes
from tests.oracle.small_pools import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.moves.move import Move
    from oracle.planning.planner import Plan

MAX_PLACEMENTS = 20_000

Best: TypeAlias = tuple[int, int, int, int]
"""Partial nodes, migrations, weight of the jobs disturbed, GPUs copied."""


@dataclass(frozen=True)
class Limits:
    """What a plan must keep; None for no limit."""

    max_partial_nodes: int | None = None
    max_migrations: int | None = None
    max_jobs_disturbed: int | None = None


@dataclass(frozen=True)
class Small:
    """A small cluster whose instances belong to jobs, some of them protected, some with weights."""

    snapshot: Snapshot
    placements: set[Placement]
    protected: tuple[str, ...]
    weights: dict[str, int]

    def best(self, limits: Limits) -> Best:
        """Return what the best placement within the limits on moves and jobs comes to."""
        goal = limits.max_partial_nodes or 0
        return min(
            (
                max(found.partial_nodes, goal),
                found.migrations,
                sum(self.weights.get(job, 1) for job in found.jobs),
                found.gpus,
            )
            for found in self.placements
            if limits.max_migrations is None or found.migrations <= limits.max_migrations
            if limits.max_jobs_disturbed is None or len(found.jobs) <= limits.max_jobs_disturbed
        )

    def can_be_kept(self, limits: Limits) -> bool:
        """Whether a placement keeps all limits."""
        return limits.max_partial_nodes is None or self.best(limits)[0] <= limits.max_partial_nodes

    def plan(self, limits: Limits, *, time_limit: float | None = None) -> tuple[Plan, Best]:
        """Return the plan within the limits, carried out, and what it comes to."""
        found = plan(
            self.snapshot,
            max_partial_nodes=limits.max_partial_nodes,
            max_migrations=limits.max_migrations,
            max_jobs_disturbed=limits.max_jobs_disturbed,
            protected=self.protected,
            weights=self.weights,
            time_limit=time_limit,
        )
        assert replayed(self.snapshot, found.moves, self.protected) == found.partial_nodes_after
        assert found.disturbance == sum(self.weights.get(job, 1) for job in found.jobs_disturbed)
        assert limits.max_partial_nodes is None or found.partial_nodes_after <= limits.max_partial_nodes
        assert limits.max_migrations is None or found.migrations <= limits.max_migrations
        assert limits.max_jobs_disturbed is None or len(found.jobs_disturbed) <= limits.max_jobs_disturbed
        partial_nodes = max(found.partial_nodes_after, limits.max_partial_nodes or 0)
        return found, (partial_nodes, found.migrations, found.disturbance, found.gpus_copied)

    def plan_as_far_as_known(self, limits: Limits, *, time_limit: float | None = None) -> tuple[Plan, Best] | None:
        """Return the plan if one is found; what is called impossible has to be so, and what is proved to be true."""
        best = self.best(limits)
        try:
            found, values = self.plan(limits, time_limit=time_limit)
        except InfeasibleError:
            assert not self.can_be_kept(limits)
            return None
        except UndecidedError:
            return None
        assert values >= best
        assert found.partial_nodes_lower_bound <= best[0]
        assert values[0] > best[0] or found.migrations_lower_bound <= best[1]
        assert values[:2] > best[:2] or found.disturbance_lower_bound <= best[2]
        assert found.status is Status.UNKNOWN or values[:2] == best[:2]
        assert found.disturbance_status is Status.UNKNOWN or values[:2] > best[:2] or values[2] == best[2]
        return found, values


def small(rng: random.Random, *, extras: bool = True) -> Small:
    cluster = brute_force.random_cluster(rng)
    while len(cluster.nodes) ** len(cluster.instances) > MAX_PLACEMENTS:
        cluster = brute_force.random_cluster(rng)
    count = rng.randint(1, max(1, len(cluster.instances)))
    jobs = [f"j{rng.randrange(count)}" for _ in cluster.instances]
    names = sorted(set(jobs))
    protected = tuple(job for job in names if extras and rng.random() < 0.15)
    weights = {job: rng.randint(0, 5) for job in names if extras and rng.random() < 0.3}
    fixed = tuple(
        brute_force.Instance(item.home, item.gpus, item.movable and job not in protected)
        for item, job in zip(cluster.instances, jobs, strict=True)
    )
    placements = outcomes(brute_force.Cluster(cluster.nodes, fixed), jobs)
    return Small(snapshot_of(cluster, jobs), placements, protected, weights)


def random_limits(rng: random.Random, cluster: Small) -> Limits:
    reachable = sorted({found.partial_nodes for found in cluster.placements})
    return Limits(
        max_partial_nodes=rng.choice([None, rng.randint(reachable[0], reachable[-1])]),
        max_migrations=rng.choice([None, None, rng.randint(0, 4)]),
        max_jobs_disturbed=rng.choice([None, None, rng.randint(0, 3)]),
    )


def snapshot_of(cluster: brute_force.Cluster, jobs: list[str]) -> Snapshot:
    instances: dict[str, list[RunningInstance]] = {job: [] for job in jobs}
    for item, job in zip(cluster.instances, jobs, strict=True):
        instances[job].append(RunningInstance(node=f"n{item.home}", gpus=item.gpus, movable=item.movable))
    return Snapshot.build(
        nodes=[
            SnapshotNode(name=f"n{n}", gpus=node.gpus, pool=node.pool, schedulable=node.schedulable)
            for n, node in enumerate(cluster.nodes)
        ],
        jobs=[RunningJob(name=job, instances=tuple(found)) for job, found in instances.items()],
    )


def random_snapshot(nodes: int, seed: int, *, pools: int = 1) -> Snapshot:
    """Return nodes of 8 GPUs, filled at random with jobs of 1 to 8 instances that stay in one pool each."""
    rng = random.Random(seed)
    free = [8] * nodes
    jobs: list[RunningJob] = []
    for j in range(nodes):
        gpus = rng.choices(range(1, 9), (35, 20, 10, 20, 8, 8, 8, 5))[0]
        pool = rng.randrange(pools)
        instances: list[RunningInstance] = []
        for _ in range(rng.choice([1, 1, 2, 4, 8])):
            n = rng.randrange(nodes)
            if free[n] >= gpus and n % pools == pool:
                free[n] -= gpus
                instances.append(RunningInstance(node=f"n{n}", gpus=gpus, movable=rng.random() < 0.97))
        jobs += [RunningJob(name=f"j{j}", instances=tuple(instances))] if instances else []
    made = [SnapshotNode(name=f"n{n}", gpus=8, pool=f"p{n % pools}", schedulable=n % 30 != 5) for n in range(nodes)]
    return Snapshot.build(nodes=made, jobs=jobs)


def replayed(snapshot: Snapshot, moves: tuple[Move, ...], protected: tuple[str, ...] = ()) -> int:
    """Make the moves, check every rule, and return the partial nodes they leave."""
    where = {(job.name, i): instance for job in snapshot.jobs for i, instance in enumerate(job.instances)}
    nodes = {node.name: node for node in snapshot.nodes}
    before, after = snapshot.used_gpus(), snapshot.used_gpus()
    assert len({(move.job, move.instance) for move in moves}) == len(moves), "an instance moves once"
    for move in moves:
        instance = where[move.job, move.instance]
        assert (instance.node, instance.gpus, instance.movable) == (move.source, move.gpus, True)
        assert move.job not in protected
        assert nodes[move.source].pool == nodes[move.destination].pool
        assert nodes[move.destination].schedulable
        assert before[move.destination] <= nodes[move.destination].gpus, "what is over-committed takes nothing"
        after[move.source] -= move.gpus
        after[move.destination] += move.gpus
    leaving, arriving = ({(getattr(m, end), m.gpus) for m in moves} for end in ("source", "destination"))
    assert not leaving & arriving, "no instance leaves a node that an equal one arrives at"
    assert all(after[name] <= max(before[name], node.gpus) for name, node in nodes.items()), "no node is over-booked"
    return sum(0 < after[name] < node.gpus for name, node in nodes.items())


def cases(count: int, seed: int) -> Iterator[tuple[Small, Limits]]:
    rng = random.Random(seed)
    for _ in range(count):
        cluster = small(rng)
        for _ in range(3):
            yield cluster, random_limits(rng, cluster)


def assert_best(cluster: Small, limits: Limits) -> None:
    if not cluster.can_be_kept(limits):
        with pytest.raises(InfeasibleError):
            cluster.plan(limits)
        return
    found, values = cluster.plan(limits)
    assert values == cluster.best(limits), (cluster, limits)
    assert found.status is Status.OPTIMAL
    assert found.disturbance_status is Status.OPTIMAL
    assert found.jobs_disturbed_lower_bound <= len(found.jobs_disturbed)
    plans = [pool.migrations for pool in found.evidence]
    for one in plans:
        one.verify()
    assert sum(one.migrations for one in plans) == found.migrations
    assert sum(one.partial_nodes for one in plans) == found.partial_nodes_after


class TestAgainstEveryPlacement:
    """Partial nodes, then migrations, then the weight of the jobs, then GPUs: as by trying every placement."""

    @pytest.mark.long
    def test_200_small_clusters(self) -> None:
        for cluster, limits in cases(200, seed=1):
            assert_best(cluster, limits)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(100, 105))
    def test_1_000_small_clusters(self, seed: int) -> None:
        for cluster, limits in cases(1_000, seed):
            assert_best(cluster, limits)


class TestTooLargeForExactChoice:
    """Where no integer program is tried, what is found keeps the limits, and the bounds are true."""

    def test_bounds_enclose_the_best(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.planning.whose, "MAX_COLUMNS", -1)
        settled = total = 0
        for cluster, limits in cases(150, seed=3):
            if cluster.can_be_kept(limits):
                known = cluster.plan_as_far_as_known(limits)
                settled += known is not None and known[1] == cluster.best(limits)
                total += 1
        assert settled > 0.8 * total

    def test_without_time(self) -> None:
        for cluster, limits in cases(60, seed=4):
            cluster.plan_as_far_as_known(limits, time_limit=0)


class TestLargerClusters:
    """Plans of some hundred nodes can be carried out, disturb few jobs, and come out the same every time."""

    @pytest.mark.long
    def test_plans_are_replayed(self) -> None:
        for seed in range(4):
            snapshot = random_snapshot(120, seed, pools=1 + seed % 2)
            found = plan(snapshot)
            assert replayed(snapshot, found.moves) == found.partial_nodes_after < found.partial_nodes_before
            assert found.status is Status.OPTIMAL
            assert found.disturbance_lower_bound <= found.disturbance == len(found.jobs_disturbed) < found.migrations
            assert found.gpus_copied == sum(move.gpus for move in found.moves)

    def test_quick_choices_are_replayed_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.planning.whose, "MAX_COLUMNS", -1)
        snapshot = random_snapshot(120, seed=1, pools=2)
        found = plan(snapshot)
        assert replayed(snapshot, found.moves) == found.partial_nodes_after
        most = len(found.jobs_disturbed) // 2
        few = plan(snapshot, max_jobs_disturbed=most)
        assert len(few.jobs_disturbed) <= most
        assert few.partial_nodes_after < few.partial_nodes_before
        assert replayed(snapshot, few.moves) == few.partial_nodes_after >= found.partial_nodes_after

    def test_equal_snapshots_get_equal_plans(self) -> None:
        assert plan(random_snapshot(80, 3)) == plan(random_snapshot(80, 3))

    def test_limits_and_protection(self) -> None:
        snapshot = random_snapshot(100, seed=6)
        free = plan(snapshot)
        half = plan(snapshot, max_migrations=free.migrations // 2)
        assert half.migrations <= free.migrations // 2
        assert half.status is Status.OPTIMAL
        assert half.partial_nodes_after > free.partial_nodes_after
        jobs = sorted({move.job for move in free.moves})[::2]
        held = plan(snapshot, protected=jobs)
        assert not {move.job for move in held.moves} & set(jobs)
        replayed(snapshot, held.moves, tuple(jobs))

    @pytest.mark.long
    def test_heavy_jobs_stay_if_others_can_move_instead(self) -> None:
        snapshot = random_snapshot(100, seed=7)
        light = plan(snapshot)
        heavy = {move.job: 1_000 for move in light.moves}
        found = plan(snapshot, weights=heavy)
        assert found.migrations == light.migrations
        assert found.disturbance <= sum(heavy[move.job] for move in light.moves)
        assert {move.job for move in found.moves} != {move.job for move in light.moves}


class TestOneJobInTwoPools:
    """A job pauses once, in however many pools its instances move."""

    def test_the_shared_job_moves(self) -> None:
        """In each pool one of two instances has to move; of job a there is one in either."""
        nodes = [SnapshotNode(name=f"{pool}{i}", gpus=2, pool=pool) for pool in "xy" for i in range(2)]
        alone = [RunningJob(name=f"b{pool}", instances=(RunningInstance(node=f"{pool}1", gpus=1),)) for pool in "xy"]
        shared = RunningJob(name="z", instances=tuple(RunningInstance(node=f"{pool}0", gpus=1) for pool in "xy"))
        found = plan(Snapshot.build(nodes=nodes, jobs=[*alone, shared]))
        assert sorted((move.job, move.destination) for move in found.moves) == [("z", "x1"), ("z", "y1")]
        assert len(found.jobs_disturbed) == found.jobs_disturbed_lower_bound == 1


class TestRefusals:
    """What cannot be is refused with the reason."""

    SNAPSHOT = Snapshot.build(
        nodes=[SnapshotNode(name="n0", gpus=8)],
        jobs=[RunningJob(name="a", instances=(RunningInstance(node="n0", gpus=3),))],
    )

    def test_too_few_partial_nodes(self) -> None:
        with pytest.raises(InfeasibleError, match="at least 1"):
            plan(self.SNAPSHOT, max_partial_nodes=0)

    def test_too_few_to_be_found_without_time(self) -> None:
        jobs = [
            RunningJob(name=f"j{demand}-{i}", instances=(RunningInstance(node=f"n{demand}-{i}", gpus=2 * demand),))
            for demand, count in GAP.items()
            for i in range(count)
        ]
        nodes = [SnapshotNode(name=job.instances[0].node, gpus=16) for job in jobs]
        with pytest.raises(UndecidedError, match="there may be one"):
            plan(Snapshot.build(nodes=nodes, jobs=jobs), max_partial_nodes=1, time_limit=0)

    def test_an_empty_cluster(self) -> None:
        found = plan(Snapshot.build(nodes=[]))
        assert (found.moves, found.status, found.disturbance_status) == ((), Status.OPTIMAL, Status.OPTIMAL)


class TestBranchAndCut:
    """What SCIP returns is rounded and checked; stopping early is not failing."""

    # 24 items of odd sizes that cannot add up to an even half, though real numbers can
    ODD = Program((1,) * 24, (1,) * 24, (Row(25, 25, tuple((i, 2) for i in range(24))),))

    def test_outcomes(self) -> None:
        easy = Program((3, 2), (4, 4), (Row(5, None, ((0, 1), (1, 1))),))
        answer = solve_by_branching(easy, Deadline())
        assert (answer.outcome, answer.values, answer.bound) == (Outcome.OPTIMAL, (1, 4), 11)
        assert solve_by_branching(self.ODD, Deadline()).outcome is Outcome.INFEASIBLE
        assert solve_by_branching(easy, Deadline(0)).outcome is Outcome.GAVE_UP

    def test_the_limit_of_nodes(self) -> None:
        rng = random.Random(1)
        rows = tuple(
            Row(500, 500, tuple((i, rng.randint(10, 99)) for i in range(30))) for _ in range(4)
        )  # a market split: next to impossible without branching
        answer = solve_by_branching(Program((0,) * 30, (1,) * 30, rows), Deadline(), max_nodes=1)
        assert answer.outcome is Outcome.GAVE_UP

    def test_giving_up_leaves_the_quick_choice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def gave_up(*_args: object, **_options: object) -> IntegerAnswer:
            return IntegerAnswer(Outcome.GAVE_UP, (), None, "a solver")

        monkeypatch.setattr(oracle.planning.whose_model, "solve_integers", gave_up)
        settled: Counter[Status] = Counter()
        for cluster, limits in cases(40, seed=5):
            if (known := cluster.plan_as_far_as_known(limits)) is not None:
                settled[known[0].disturbance_status] += 1
        assert settled[Status.OPTIMAL] > 0
