"""Arrangements found among named instances: legal whatever kinds leave out, and honest about what is not known."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from immutables import Map

from oracle.measurement.measure import measure
from oracle.moves.consolidation import Consolidation
from oracle.optimum.certificate import Status
from oracle.optimum.solver import Deadline
from oracle.planning.planner import plan
from oracle.snapshots import contents
from oracle.snapshots.model import NodeSet, RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.verification import verify
from tests.oracle.brute_moves import World, fewest_partial, play, random_world, with_rules, without_budgets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oracle.moves.consolidation import Stage


def ruled_worlds(seed: int, count: int) -> Iterator[World]:
    rng = random.Random(seed)
    for _ in range(count):
        yield without_budgets(with_rules(rng, random_world(rng, most_nodes=5, most_instances=6)))


def searched(snapshot: Snapshot) -> dict[str, list[Stage]]:
    search = Consolidation(snapshot)
    for pool in measure(snapshot, time_limit=0).pools:
        search.empty_nodes(pool.pool, Deadline())
        search.arrange_anew(pool.pool, Deadline(), at_least=pool.inherent_lower_bound)
    return {pool: search.stages(pool) for pool in snapshot.pools}


def cluster(seed: int, nodes: int = 40) -> Snapshot:
    """Return a cluster with overlapping partitions, jobs on different nodes, CPUs, cordons, and what cannot move."""
    rng = random.Random(seed)
    names = [f"n{n}" for n in range(nodes)]
    free = {name: [8, rng.choice([16, 40])] for name in names}
    sets = [
        NodeSet(name=f"partition p{k}", kind="partition", nodes=frozenset(rng.sample(names, nodes // 2)))
        for k in range(6)
    ]
    jobs: list[RunningJob] = []
    for j in range(2 * nodes):
        gpus, cpus, where = rng.choice([1, 1, 2, 3, 4, 5]), rng.choice([0, 1, 4]), rng.choice(sets)
        apart = rng.random() < 0.5
        held: list[RunningInstance] = []
        for name in rng.sample(sorted(where.nodes), nodes // 2)[: rng.randint(1, 3)]:
            if free[name][0] >= gpus and free[name][1] >= cpus * gpus:
                free[name][0] -= gpus
                free[name][1] -= cpus * gpus
                held.append(
                    RunningInstance(
                        node=name,
                        gpus=gpus,
                        movable=rng.random() < 0.95,
                        within=(where.name,),
                        resources=Map({"cpu": cpus * gpus}),
                    )
                )
        if held:
            jobs.append(RunningJob(name=f"j{j}", instances=tuple(held), distinct_nodes=apart))
    return Snapshot.build(
        nodes=[
            SnapshotNode(
                name=name,
                gpus=8,
                pool="ab"[n % 2],
                schedulable=rng.random() < 0.95,
                resources=Map({"cpu": free[name][1] + sum(_cpus(jobs, name))}),
            )
            for n, name in enumerate(names)
        ],
        jobs=jobs,
        node_sets=sets,
    )


def _cpus(jobs: Iterable[RunningJob], node: str) -> Iterator[int]:
    return (one.resources["cpu"] for job in jobs for one in job.instances if one.node == node)


def check_legal(snapshot: Snapshot, stage: Stage, pool: str) -> None:
    """Check an arrangement by its instances alone; it starts from one that breaks no rule."""
    nodes = {node.name: node for node in snapshot.nodes}
    sets = {one.name: one.nodes for one in snapshot.node_sets}
    to = {(move.job, move.instance): move.destination for move in stage.relocations}
    gpus, cpus, jobs = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for job in snapshot.jobs:
        for i, one in enumerate(job.instances):
            node = to.pop((job.name, i), one.node)
            gpus[node] += one.gpus
            cpus[node] += one.resources["cpu"]
            jobs[job.name, node] += job.distinct_nodes
            if node != one.node:
                assert one.movable
                assert nodes[node].schedulable
                assert nodes[node].pool == nodes[one.node].pool == pool
                assert all(node in sets[name] for name in one.within)
    assert not to
    assert all(gpus[name] <= node.gpus and cpus[name] <= node.resources["cpu"] for name, node in nodes.items())
    assert max(jobs.values()) <= 1
    partial = sum(0 < gpus[name] < node.gpus for name, node in nodes.items() if node.pool == pool)
    assert partial == stage.partial_nodes


class TestArrangements:
    @pytest.mark.parametrize("seed", range(3))
    def test_every_one_on_the_way_is_legal_and_none_is_worse_than_the_one_before(self, seed: int) -> None:
        snapshot = cluster(seed)
        for pool, stages in searched(snapshot).items():
            for stage in stages:
                check_legal(snapshot, stage, pool)
            counts = [stage.partial_nodes for stage in stages]
            assert counts == sorted(counts, reverse=True)
            assert counts[0] == snapshot.partial_and_empty(pool)[0] > counts[-1]

    def test_they_are_the_same_each_time(self) -> None:
        assert searched(cluster(7)) == searched(cluster(7))

    def test_they_are_never_better_than_the_best_of_all_and_mostly_as_good(self) -> None:
        reached = 0
        for world in ruled_worlds(1, 150):
            snapshot = world.snapshot()
            found = {pool: stages[-1] for pool, stages in searched(snapshot).items()}
            to = {(one.job, one.instance): one.destination for stage in found.values() for one in stage.relocations}
            places = tuple(int(to.get(world.key(i), f"n{one.home}")[1:]) for i, one in enumerate(world.instances))
            for n in range(len(world.nodes)):
                crowd = world.on(places, n)
                assert world.can_hold(n, crowd) or {*crowd} <= {*world.on(world.start, n)}
            assert all(place in world.options(i) for i, place in enumerate(places))
            left, least = sum(stage.partial_nodes for stage in found.values()), fewest_partial(world)[0]
            assert least <= left == world.partial(places) <= world.partial(world.start)
            reached += left == least
        assert reached >= 145

    def test_a_deadline_that_is_over_leaves_all_as_it_is(self) -> None:
        search = Consolidation(cluster(1))
        search.empty_nodes("a", Deadline(0))
        search.arrange_anew("a", Deadline(0))
        assert search.best("a").relocations == ()


@pytest.fixture
def inexact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds tell nothing apart but GPUs and where instances may stand, or not even that much is exact."""
    monkeypatch.setattr(contents, "MAX_GROUPS", 1)


@pytest.mark.usefixtures("inexact")
class TestWhereKindsLeaveSomethingOut:
    def test_both_bounds_hold_and_measure_says_what_plan_does(self) -> None:
        settled = left_out = 0
        for world in ruled_worlds(2, 100):
            snapshot, (least, moves) = world.snapshot(), fewest_partial(world)
            measured, found = measure(snapshot), plan(snapshot)
            left_out += not all(map(snapshot.kinds_are_exact, snapshot.pools))
            assert measured.inherent_lower_bound <= least <= measured.inherent_partial_nodes
            assert found.partial_nodes_after == measured.inherent_partial_nodes
            assert found.partial_nodes_lower_bound == measured.inherent_lower_bound
            keys = [(job.name, i) for job in snapshot.jobs for i in range(len(job.instances))]
            end = dict(zip(keys, play(snapshot, found.moves, found.stops), strict=True))
            assert world.partial(tuple(end[world.key(i)] for i in range(len(world.instances)))) == (
                found.partial_nodes_after
            )
            if found.partial_nodes_after == least:
                assert found.migrations_lower_bound <= moves <= found.migrations
            settled += found.status is Status.OPTIMAL
            for document in (measured.to_dict(), found.to_dict()):
                assert all(check.holds is not False for check in verify(json.loads(json.dumps(document)), snapshot))
        assert left_out >= 40
        assert settled >= 50

    @pytest.mark.parametrize(("moved", "jobs", "partial"), [(4, None, None), (None, 3, None), (None, None, 8)])
    @pytest.mark.parametrize("moves", ["checkpoint", "live"])
    def test_limits_are_kept(self, moved: int | None, jobs: int | None, partial: int | None, moves: str) -> None:
        snapshot = cluster(3, nodes=24)
        found = plan(snapshot, max_migrations=moved, max_jobs_disturbed=jobs, max_partial_nodes=partial, moves=moves)
        assert found.partial_nodes_lower_bound <= found.partial_nodes_after < found.partial_nodes_before
        checks = verify(found.to_dict(found.frontier()), snapshot)
        assert [check for check in checks if check.holds is False] == []


class TestStartingFromAPlan:
    def test_what_is_wanted_still_is_kept(self) -> None:
        snapshot = cluster(4)
        first = plan(snapshot, time_limit=20)
        ended = first.jobs_disturbed[0]
        later = replace(snapshot, jobs=tuple(job for job in snapshot.jobs if job.name != ended))
        again = plan(later, start_from=first, time_limit=20)
        kept = {(move.job, move.destination) for move in first.moves} & {
            (one.job, one.destination) for one in again.moves
        }
        assert len(kept) > len(first.moves) / 2
        assert again.partial_nodes_after <= again.partial_nodes_before

    def test_a_plan_of_another_cluster_does_no_harm(self) -> None:
        snapshot = cluster(5, nodes=16)
        found = plan(snapshot, start_from=plan(cluster(6, nodes=24), time_limit=5), time_limit=5)
        assert found.partial_nodes_after <= found.partial_nodes_before
