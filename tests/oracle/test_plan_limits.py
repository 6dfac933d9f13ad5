"""Plans within limits on jobs and pools, and what they spare, against every placement of small clusters."""

from __future__ import annotations

import random

import pytest

from compass_core.errors import UnknownJobError
from oracle.moves.replay import replay
from oracle.optimum.certificate import Status
from oracle.optimum.exact import InfeasibleError
from oracle.planning.planner import plan
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode, UnknownPoolError
from tests.oracle import brute_force
from tests.oracle.every_placement import NEVER, fewest_migrations
from tests.oracle.test_planning import TWO_POOLS, holds
from tests.oracle.test_whose import small
from tests.oracle.test_whose import snapshot_of as snapshot_with_jobs


def _jobs_of(*nodes: dict[str, list[int]]) -> Snapshot:
    """Return 8-GPU nodes n0, n1, ..., each given as what it holds: demands by the name of their job."""
    held: dict[str, list[RunningInstance]] = {}
    for n, jobs in enumerate(nodes):
        for name, demands in jobs.items():
            held.setdefault(name, []).extend(RunningInstance(node=f"n{n}", gpus=gpus) for gpus in demands)
    return Snapshot.build(
        nodes=[SnapshotNode(name=f"n{n}", gpus=8) for n in range(len(nodes))],
        jobs=[RunningJob(name=name, instances=tuple(instances)) for name, instances in held.items()],
    )


def _crowded(rng: random.Random) -> Snapshot:
    """Return a few nodes, nearly full of the instances of one or two jobs."""
    nodes = [SnapshotNode(name=f"n{n}", gpus=rng.choice([5, 6, 7, 8])) for n in range(rng.randint(3, 5))]
    free = {node.name: node.gpus for node in nodes}
    held: list[RunningInstance] = []
    for _ in range(30):
        name, gpus = rng.choice(nodes).name, rng.choice([1, 2, 3, 3, 4, 4, 5])
        if free[name] >= gpus and sum(free.values()) - gpus >= rng.choice([1, 2]):
            free[name] -= gpus
            held.append(RunningInstance(node=name, gpus=gpus))
    jobs = rng.choice([1, 1, 2])
    return Snapshot.build(
        nodes=nodes,
        jobs=[RunningJob(name=f"j{j}", instances=tuple(held[j::jobs])) for j in range(jobs) if held[j::jobs]],
    )


class TestWhatIsSpared:
    # One move of a or of b empties a node.
    EITHER = _jobs_of({"team/a": [4]}, {"b": [4]})

    @pytest.mark.parametrize(("heavy", "moved"), [("team/a", "b"), ("b", "team/a")])
    @pytest.mark.parametrize("mode", ["checkpoint", "live"])
    def test_a_heavy_job_stays(self, heavy: str, moved: str, mode: str) -> None:
        found = plan(self.EITHER, weights={heavy: 7}, moves=mode)
        assert (found.jobs_disturbed, found.disturbance) == ((moved,), 1)
        holds(found, self.EITHER)

    def test_a_heavy_job_moves_if_it_must(self) -> None:
        found = plan(self.EITHER, weights={"b": 7}, protected=["team/a"])
        assert (found.jobs_disturbed, found.disturbance, found.disturbance_lower_bound) == (("b",), 7, 7)
        assert found.disturbance_status is Status.OPTIMAL

    @pytest.mark.parametrize("name", ["team", "team/*", "team/a", "team/a:0"])
    def test_the_names_of_what_is_protected(self, name: str) -> None:
        assert plan(self.EITHER, protected=[name]).jobs_disturbed == ("b",)

    @pytest.mark.parametrize("name", ["tea", "team/", "*", "team/a:1", "team/a:", "team/a:x", "team:0", ""])
    def test_names_that_stand_for_nothing(self, name: str) -> None:
        with pytest.raises(UnknownJobError, match="cannot be protected"):
            plan(self.EITHER, protected=[name])

    def test_an_instance_is_not_its_whole_job(self) -> None:
        snapshot = _jobs_of({"a": [4]}, {"a": [4], "b": [2]}, {"b": [2]})
        found = plan(snapshot, protected=["a:0", "b:1"])
        assert {(move.job, move.instance) for move in found.moves} <= {("a", 1), ("b", 0)}
        assert found.moves

    @pytest.mark.parametrize(("weights", "error"), [({"c": 1}, UnknownJobError), ({"b": -1}, ValueError)])
    def test_bad_weights(self, weights: dict[str, int], error: type[Exception]) -> None:
        with pytest.raises(error, match=next(iter(weights))):
            plan(self.EITHER, weights=weights)


class TestFewJobs:
    # Without a limit, three moves of three jobs empty three nodes.
    SNAPSHOT = _jobs_of({"a": [4]}, {"b": [4]}, {"c": [4]}, {"d": [4]}, {"e": [4]}, {"f": [4]})

    @pytest.mark.parametrize("mode", ["checkpoint", "live"])
    def test_the_limit_is_kept(self, mode: str) -> None:
        found = [plan(self.SNAPSHOT, max_jobs_disturbed=d, moves=mode) for d in range(5)]
        assert [one.partial_nodes_after for one in found] == [6, 4, 2, 0, 0]
        assert [len(one.jobs_disturbed) for one in found] == [0, 1, 2, 3, 3]
        for one in found:
            holds(one, self.SNAPSHOT)

    def test_what_cannot_be_kept(self) -> None:
        with pytest.raises(InfeasibleError, match="2 disturbed jobs leave at least 2 partial nodes, not 1"):
            plan(self.SNAPSHOT, max_jobs_disturbed=2, max_partial_nodes=1)

    @pytest.mark.parametrize("mode", ["checkpoint", "live"])
    def test_one_instance_of_a_job_at_a_time(self, mode: str) -> None:
        snapshot = _jobs_of({"a": [2], "b": [2]}, {"a": [2], "b": [2]}, {"c": [4]}, {"d": [4]})
        free, one = plan(snapshot, moves=mode), plan(snapshot, moves=mode, max_per_job_at_once=1)
        assert (one.partial_nodes_after, one.migrations) == (free.partial_nodes_after, free.migrations)
        replay(snapshot, one.moves, one.stops, max_per_job_at_once=1)
        holds(one, snapshot)

    @pytest.mark.long
    def test_the_limit_is_kept_on_crowded_nodes(self) -> None:
        rng = random.Random(1)
        fewer = 0
        for _ in range(50):
            snapshot = _crowded(rng)
            free, one = plan(snapshot), plan(snapshot, max_per_job_at_once=1)
            replay(snapshot, one.moves, one.stops, max_per_job_at_once=1)
            assert free.partial_nodes_after <= one.partial_nodes_after <= one.partial_nodes_before
            assert one.partial_nodes_lower_bound <= free.partial_nodes_after
            if one.partial_nodes_after > free.partial_nodes_after:
                fewer += 1
                assert one.status is Status.UNKNOWN
            holds(one, snapshot)
        assert fewer > 0

    def test_at_least_one_at_a_time(self) -> None:
        with pytest.raises(ValueError, match="max_per_job_at_once: expected at least 1 instance, got 0"):
            plan(self.SNAPSHOT, max_per_job_at_once=0)


def test_one_pool_of_two() -> None:
    found = plan(TWO_POOLS, pool="p1")
    assert (found.partial_nodes_before, found.partial_nodes_after) == (3, 1)
    assert [one.pool for one in found.evidence] == ["p1"]
    assert {move.destination for move in found.moves} <= {"d", "e", "f"}
    points = found.frontier()
    assert (points[0].partial_nodes, points[-1].partial_nodes) == (3, 1)
    holds(found, TWO_POOLS)
    with pytest.raises(UnknownPoolError, match="no node is in a pool named 'p2'; pools: 'p0', 'p1'"):
        plan(TWO_POOLS, pool="p2")


def test_progress_is_told() -> None:
    told: list[str] = []
    plan(TWO_POOLS, on_progress=told.append)
    assert any("4 moves to 1 partial node" in line for line in told)


@pytest.mark.parametrize("seed", range(6))
def test_limits_against_every_placement(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        cluster = small(rng)
        most_jobs, most_moves = rng.choice([None, 0, 1, 2]), rng.choice([None, None, 0, 1, 3])
        found = plan(
            cluster.snapshot,
            max_jobs_disturbed=most_jobs,
            max_migrations=most_moves,
            protected=cluster.protected,
            weights=cluster.weights,
        )
        replay(cluster.snapshot, found.moves, found.stops)
        assert most_jobs is None or len(found.jobs_disturbed) <= most_jobs
        assert most_moves is None or found.migrations <= most_moves
        best = min(
            (placed.partial_nodes, placed.migrations)
            for placed in cluster.placements
            if most_jobs is None or len(placed.jobs) <= most_jobs
            if most_moves is None or placed.migrations <= most_moves
        )
        assert found.partial_nodes_lower_bound <= best[0] <= found.partial_nodes_after
        if found.status is Status.OPTIMAL:
            assert (found.partial_nodes_after, found.migrations) == best
        assert found.disturbance == sum(cluster.weights.get(job, 1) for job in found.jobs_disturbed)
        holds(found, cluster.snapshot)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["checkpoint", "live"])
def test_bounds_on_jobs_against_every_placement(mode: str) -> None:
    rng = random.Random(11)
    compared = 0
    for _ in range(100):
        cluster = small(rng)
        if len(cluster.snapshot.pools) > 1:
            continue
        found = plan(cluster.snapshot, moves=mode, protected=cluster.protected, weights=cluster.weights)
        as_good = [
            placed
            for placed in cluster.placements
            if placed.partial_nodes <= found.partial_nodes_after and placed.migrations <= found.migrations
        ]
        compared += found.migrations > 0
        assert found.jobs_disturbed_lower_bound <= min(len(placed.jobs) for placed in as_good)
        assert found.disturbance_lower_bound <= min(
            sum(cluster.weights.get(job, 1) for job in placed.jobs) for placed in as_good
        )
    assert compared > 10


@pytest.mark.parametrize("mode", ["checkpoint", "live"])
def test_pools_against_every_placement(mode: str) -> None:
    rng = random.Random(7)
    for _ in range(40):
        cluster = brute_force.random_cluster(rng)
        names = [f"j{rng.randrange(2)}" for _ in cluster.instances]
        snapshot = snapshot_with_jobs(cluster, names)
        for pool in snapshot.pools:
            found = plan(snapshot, pool=pool, moves=mode)
            replay(snapshot, found.moves, found.stops)
            costs = fewest_migrations(cluster, pool)
            fewest = next(k for k, cost in enumerate(costs) if cost < NEVER)
            if mode == "checkpoint":
                assert (found.partial_nodes_after, found.migrations) == (fewest, costs[fewest])
            assert fewest <= found.partial_nodes_after <= found.partial_nodes_before
            holds(found, snapshot)
