"""From plans to moves: against every placement of small clusters; every plan is replayed; limits are kept."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import oracle.planning.choosing.choice_search
import oracle.planning.choosing.disturbance_model
from compass_core.errors import UnknownJobError
from oracle.optimum.certificate import Status
from oracle.optimum.exact import InfeasibleError, UndecidedError
from oracle.optimum.solver import Deadline, IntegerAnswer, Outcome, Program, Row
from oracle.optimum.solver import solve_integers as solve_by_branching
from oracle.planning.relocation import Limits, Relocation, plan_relocations
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from tests.oracle import brute_force
from tests.oracle.every_placement import Outcome as Placement
from tests.oracle.every_placement import outcomes
from tests.oracle.small_pools import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.planning.relocation import RelocationPlan

MAX_PLACEMENTS = 20_000

# Sizes of the programs that are tried; below 0, none is.
LIMITS = [
    name for name in vars(oracle.planning.choosing.choice_search) if name.startswith("MAX_") and "COLUMNS" in name
]


@dataclass(frozen=True)
class Small:
    """A small cluster whose instances belong to jobs, some of them protected, some with weights."""

    snapshot: Snapshot
    placements: set[Placement]
    protected: tuple[str, ...]
    weights: dict[str, int]

    def best(self, limits: Limits) -> tuple[int, int, int, int]:
        """Return partial nodes, migrations, weight and GPUs of the best placement within the limits."""
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

    def plan(self, limits: Limits) -> tuple[RelocationPlan, tuple[int, int, int, int]]:
        found = plan_relocations(self.snapshot, limits, protected=self.protected, weights=self.weights)
        assert replayed(self.snapshot, found.relocations, self.protected) == found.partial_nodes_after
        goal = limits.max_partial_nodes or 0
        partial_nodes = max(found.partial_nodes_after, goal)
        return found, (partial_nodes, found.migrations, found.disturbance, found.gpus_copied)


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


def replayed(snapshot: Snapshot, moves: tuple[Relocation, ...], protected: tuple[str, ...] = ()) -> int:
    """Make the moves, check every rule, and return the partial nodes they leave."""
    where = {(job.name, i): instance for job in snapshot.jobs for i, instance in enumerate(job.instances)}
    nodes = {node.name: node for node in snapshot.nodes}
    before, after = snapshot.used_gpus(), snapshot.used_gpus()
    assert len({(move.job, move.instance) for move in moves}) == len(moves), "an instance moves once"
    assert list(moves) == sorted(moves)
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
    found, values = cluster.plan(limits)
    assert values == cluster.best(limits), (cluster, limits)
    assert found.status is Status.OPTIMAL
    assert found.disturbance_status is Status.OPTIMAL
    assert found.jobs_disturbed_lower_bound <= found.jobs_disturbed
    for plan in found.plans.values():
        plan.verify()
    assert sum(plan.migrations for plan in found.plans.values()) == found.migrations
    assert sum(plan.partial_nodes for plan in found.plans.values()) == found.partial_nodes_after


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
        for name in LIMITS:
            monkeypatch.setattr(oracle.planning.choosing.choice_search, name, -1)
        settled = total = 0
        for cluster, limits in cases(150, seed=3):
            found, values = cluster.plan(limits)
            best = cluster.best(limits)
            assert values >= best
            assert limits.max_migrations is None or found.migrations <= limits.max_migrations
            assert limits.max_jobs_disturbed is None or found.jobs_disturbed <= limits.max_jobs_disturbed
            assert found.partial_nodes_lower_bound <= best[0]
            assert values[0] > best[0] or found.migrations_lower_bound <= best[1]
            assert values[:2] > best[:2] or found.disturbance_lower_bound <= best[2]
            assert found.status is Status.UNKNOWN or values[:2] == best[:2]
            assert found.disturbance_status is Status.UNKNOWN or values[:2] > best[:2] or values[2] == best[2]
            settled += values == best
            total += 1
        assert settled > 0.9 * total

    def test_without_time(self) -> None:
        for cluster, limits in cases(60, seed=4):
            try:
                found = plan_relocations(cluster.snapshot, limits, protected=cluster.protected, time_limit=0)
            except UndecidedError:
                continue
            assert replayed(cluster.snapshot, found.relocations, cluster.protected) == found.partial_nodes_after
            assert found.partial_nodes_lower_bound <= cluster.best(limits)[0]
            assert found.migrations_lower_bound <= found.migrations


class TestLargerClusters:
    """Plans of some hundred nodes can be carried out, disturb few jobs, and come out the same every time."""

    @pytest.mark.long
    def test_plans_are_replayed(self) -> None:
        for seed in range(4):
            snapshot = random_snapshot(120, seed, pools=1 + seed % 2)
            found = plan_relocations(snapshot)
            assert replayed(snapshot, found.relocations) == found.partial_nodes_after < found.partial_nodes_before
            assert found.status is Status.OPTIMAL
            assert found.disturbance_lower_bound <= found.disturbance == found.jobs_disturbed < found.migrations
            assert found.gpus_copied == sum(move.gpus for move in found.relocations)

    def test_quick_choices_are_replayed_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in LIMITS:
            monkeypatch.setattr(oracle.planning.choosing.choice_search, name, -1)
        snapshot = random_snapshot(120, seed=1, pools=2)
        found = plan_relocations(snapshot)
        assert replayed(snapshot, found.relocations) == found.partial_nodes_after
        few = plan_relocations(snapshot, Limits(max_jobs_disturbed=found.jobs_disturbed // 2))
        assert few.jobs_disturbed <= found.jobs_disturbed // 2
        assert replayed(snapshot, few.relocations) == few.partial_nodes_after >= found.partial_nodes_after

    def test_equal_snapshots_get_equal_plans(self) -> None:
        assert plan_relocations(random_snapshot(80, 3)) == plan_relocations(random_snapshot(80, 3))

    def test_limits_and_protection(self) -> None:
        snapshot = random_snapshot(100, seed=6)
        free = plan_relocations(snapshot)
        half = plan_relocations(snapshot, Limits(max_migrations=free.migrations // 2))
        assert half.migrations <= free.migrations // 2
        assert half.status is Status.OPTIMAL
        assert half.partial_nodes_after > free.partial_nodes_after
        jobs = sorted({move.job for move in free.relocations})[::2]
        held = plan_relocations(snapshot, protected=jobs)
        assert not {move.job for move in held.relocations} & set(jobs)
        replayed(snapshot, held.relocations, tuple(jobs))

    @pytest.mark.long
    def test_heavy_jobs_stay_if_others_can_move_instead(self) -> None:
        snapshot = random_snapshot(100, seed=7)
        light = plan_relocations(snapshot)
        heavy = {move.job: 1_000 for move in light.relocations}
        found = plan_relocations(snapshot, weights=heavy)
        assert found.migrations == light.migrations
        assert found.disturbance <= sum(heavy[move.job] for move in light.relocations)
        assert {move.job for move in found.relocations} != {move.job for move in light.relocations}


class TestOneJobInTwoPools:
    """A job pauses once, in however many pools its instances move."""

    def test_the_shared_job_moves(self) -> None:
        """In each pool one of two instances has to move; of job a there is one in either."""
        nodes = [SnapshotNode(name=f"{pool}{i}", gpus=2, pool=pool) for pool in "xy" for i in range(2)]
        alone = [RunningJob(name=f"b{pool}", instances=(RunningInstance(node=f"{pool}1", gpus=1),)) for pool in "xy"]
        shared = RunningJob(name="z", instances=tuple(RunningInstance(node=f"{pool}0", gpus=1) for pool in "xy"))
        found = plan_relocations(Snapshot.build(nodes=nodes, jobs=[*alone, shared]))
        assert [(move.job, move.destination) for move in found.relocations] == [("z", "x1"), ("z", "y1")]
        assert found.jobs_disturbed == found.jobs_disturbed_lower_bound == 1


class TestRefusals:
    """What cannot be is refused with the reason."""

    SNAPSHOT = Snapshot.build(
        nodes=[SnapshotNode(name="n0", gpus=8)],
        jobs=[RunningJob(name="a", instances=(RunningInstance(node="n0", gpus=3),))],
    )

    def test_unknown_jobs(self) -> None:
        with pytest.raises(UnknownJobError, match="'b'"):
            plan_relocations(self.SNAPSHOT, protected=["b"])
        with pytest.raises(UnknownJobError, match="'c'"):
            plan_relocations(self.SNAPSHOT, weights={"c": 1})

    def test_negative_numbers(self) -> None:
        with pytest.raises(ValueError, match="weight of job 'a'"):
            plan_relocations(self.SNAPSHOT, weights={"a": -1})
        with pytest.raises(ValueError, match="max_jobs_disturbed is -1"):
            plan_relocations(self.SNAPSHOT, Limits(max_jobs_disturbed=-1))

    def test_too_few_partial_nodes(self) -> None:
        with pytest.raises(InfeasibleError, match="at least 1"):
            plan_relocations(self.SNAPSHOT, Limits(max_partial_nodes=0))
        assert plan_relocations(self.SNAPSHOT, Limits(max_partial_nodes=0, max_migrations=0)).relocations == ()

    def test_too_few_to_be_found_without_time(self) -> None:
        jobs = [
            RunningJob(name=f"j{demand}-{i}", instances=(RunningInstance(node=f"n{demand}-{i}", gpus=2 * demand),))
            for demand, count in GAP.items()
            for i in range(count)
        ]
        nodes = [SnapshotNode(name=job.instances[0].node, gpus=16) for job in jobs]
        with pytest.raises(UndecidedError, match="not known"):
            plan_relocations(Snapshot.build(nodes=nodes, jobs=jobs), Limits(max_partial_nodes=1), time_limit=0)

    def test_an_empty_cluster(self) -> None:
        found = plan_relocations(Snapshot.build(nodes=[]))
        assert (found.relocations, found.status, found.disturbance_status) == ((), Status.OPTIMAL, Status.OPTIMAL)


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

        monkeypatch.setattr(oracle.planning.choosing.disturbance_model, "solve_integers", gave_up)
        settled: Counter[Status] = Counter()
        for cluster, limits in cases(40, seed=5):
            found, values = cluster.plan(limits)
            assert values >= cluster.best(limits)
            settled[found.disturbance_status] += 1
        assert settled[Status.OPTIMAL] > 0
