"""Moves into free space alone: shortest sequences, parking, what no sequence reaches, and what was not settled."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, TypedDict, cast

import pytest

import oracle.sequencing.live_search
from oracle.certificate import Status
from oracle.moves import Move
from oracle.node_classes import contents_by_pool
from oracle.ordering import order_moves
from oracle.replay import Occupancy
from oracle.sequencing.live_moves import NamedNodes, park_instead_of_stopping, partial_counts, without_stops
from oracle.sequencing.live_plan import LivePlan, Target, live_plan
from oracle.sequencing.live_search import AtMostPartial, Holding, LiveSpace, RoomFor, search_live
from oracle.sequencing.timetable import in_steps
from oracle.snapshots.document import Document
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.snapshots.native import read_native
from oracle.solver import Deadline
from tests.oracle import brute_moves
from tests.oracle.brute_moves import Instance, Node, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from oracle.sequencing.live_search import Goal, LiveSearch
    from tests.oracle.brute_moves import Places


class Case(TypedDict):
    id: str
    snapshot: dict[str, object]
    expected: dict[str, object]


def world(*nodes: list[int], gpus: int = 8, jobs: bool = False) -> World:
    """Return nodes that hold these demands; each instance is a job, or all of them are one."""
    instances: list[Instance] = []
    for n, demands in enumerate(nodes):
        instances += [Instance(n, demand, 0 if jobs else 100 * n + i) for i, demand in enumerate(demands)]
    return World(tuple(Node(gpus) for _ in nodes), tuple(instances))


def search(snapshot: Snapshot, goal: Goal, **options: int) -> LiveSearch:
    space = LiveSpace()
    start = space.state(map(Holding.of, contents_by_pool(snapshot)["a"]))
    return search_live(space, start, goal, deadline=Deadline(), **options)


def found_by_hand(cluster: World) -> Callable[[str, int], Target | None]:
    """Return what knows the fewest relocations of each pool, by trying every placement."""
    every = list(brute_moves.placements(cluster))

    def find(pool: str, partial_nodes: int) -> Target | None:
        best: tuple[int, Places] | None = None
        for places, moves in every:
            moved = [home for place, home in zip(places, cluster.start, strict=True) if place != home]
            used = cluster.used(places)
            partial = sum(0 < used[n] < node.gpus for n, node in enumerate(cluster.nodes) if node.pool == pool)
            inside = all(cluster.nodes[home].pool == pool for home in moved)
            if inside and partial <= partial_nodes and (best is None or moves < best[0]):
                best = moves, places
        return None if best is None else Target(tuple(moves_to(cluster, best[1])), best[0])

    return find


def moves_to(cluster: World, places: Places) -> Iterator[Move]:
    for i, (home, place) in enumerate(zip(cluster.start, places, strict=True)):
        if home != place:
            yield Move(0, *cluster.key(i), cluster.instances[i].gpus, f"n{home}", f"n{place}")


def played(cluster: World, plan: LivePlan, limit: int | None = None) -> int:
    """Play a live plan and return the partial nodes it leaves."""
    end = brute_moves.play(cluster.snapshot(), plan.moves, limit=limit)
    keys = [(job.name, i) for job in cluster.snapshot().jobs for i in range(len(job.instances))]
    at = dict(zip(keys, end, strict=True))
    return cluster.partial(tuple(at[cluster.key(i)] for i in range(len(cluster.instances))))


class TestSmallestExamples:
    """Theory §4, order of moves."""

    def test_the_fewest_partial_nodes_that_no_live_move_reaches(self) -> None:
        cluster = world([4, 3], [4, 3], [3, 3])
        plan = live_plan(cluster.snapshot())
        assert (plan.moves, plan.partial_nodes, plan.status) == ((), 3, Status.OPTIMAL)
        assert plan.partial_nodes_lower_bound == 3
        target = found_by_hand(cluster)("a", 2)
        assert target is not None
        assert len(target.relocations or ()) == 2
        assert live_plan(cluster.snapshot(), find_target=found_by_hand(cluster)) == plan

    def test_more_moves_than_instances_that_change_node(self) -> None:
        cluster = world([5, 2], [5, 2], [3, 3])
        plan = live_plan(cluster.snapshot())
        assert (len(plan.moves), plan.partial_nodes, plan.status) == (4, 1, Status.OPTIMAL)
        assert played(cluster, plan) == 1
        target = found_by_hand(cluster)("a", 1)
        assert target is not None
        assert target.lower_bound == 3

    @pytest.mark.parametrize("nodes", [([4, 2], [4, 3]), ([4, 3], [4, 3])])
    def test_two_nodes_are_enough_for_the_first(self, nodes: tuple[list[int], ...]) -> None:
        # No three instances can do it: the smallest there is, by trying all.
        plan = live_plan(world(*nodes).snapshot())
        assert (plan.moves, plan.partial_nodes, plan.status) == ((), 2, Status.OPTIMAL)
        target = found_by_hand(world(*nodes))("a", 1)
        assert target is not None
        assert target.lower_bound == 2

    @pytest.mark.parametrize("nodes", [([5], [4, 1, 1, 1]), ([], [4, 2], [4, 3])])
    def test_two_nodes_or_four_instances_are_enough_for_the_second(self, nodes: tuple[list[int], ...]) -> None:
        plan = live_plan(world(*nodes).snapshot())
        assert (len(plan.moves), plan.partial_nodes, plan.status) == (3, 1, Status.OPTIMAL)
        target = found_by_hand(world(*nodes))("a", 1)
        assert target is not None
        assert target.lower_bound == 2

    def test_one_move_makes_room_although_nothing_is_avoidable(self) -> None:
        cluster = world([3], [4, 2])
        assert live_plan(cluster.snapshot()).moves == ()
        found = search(cluster.snapshot(), RoomFor(1, 6))
        assert found.hops is not None
        assert len(found.hops) == 1


class TestPlans:
    def test_at_most_so_many(self) -> None:
        cluster = world([1], [1], [1], [1], [1])
        for partial_nodes, moves in ((5, 0), (4, 1), (2, 3), (1, 4)):
            plan = live_plan(cluster.snapshot(), max_partial_nodes=partial_nodes)
            assert (plan.partial_nodes, len(plan.moves), plan.status) == (partial_nodes, moves, Status.OPTIMAL)
        fewest = live_plan(cluster.snapshot())
        assert live_plan(cluster.snapshot(), max_partial_nodes=0).moves == fewest.moves

    def test_moves_of_a_step(self) -> None:
        cluster = world([1], [1], [1], jobs=True)
        assert {move.step for move in live_plan(cluster.snapshot()).moves} == {1}
        one_by_one = live_plan(cluster.snapshot(), max_per_job_at_once=1)
        assert [move.step for move in one_by_one.moves] == [1, 2]
        played(cluster, one_by_one, 1)

    def test_partial_nodes_are_shared_out_among_pools(self) -> None:
        # One of two is avoided by one move in pool a and by two in pool b.
        cluster = World(
            (Node(8), Node(8), Node(8, "b"), Node(8, "b")),
            (
                Instance(0, 4, 0),
                Instance(1, 4, 1),
                *(Instance(n, 2, job) for job, n in enumerate((2, 2, 3, 3), start=2)),
            ),
        )
        snapshot = cluster.snapshot()
        assert [len(live_plan(snapshot, max_partial_nodes=k).moves) for k in (4, 3, 2, 1, 0)] == [0, 1, 1, 3, 3]
        # Alone, pool b cannot do without a partial node if one of its instances is odd.
        assert live_plan(snapshot).partial_nodes == 0

    def test_a_pool_that_cannot_and_one_that_can(self) -> None:
        stuck = world([4, 3], [4, 3], [3, 3])
        cluster = World(
            (*stuck.nodes, Node(8, "b"), Node(8, "b")),
            (*stuck.instances, Instance(3, 4, 900), Instance(4, 4, 901)),
        )
        plan = live_plan(cluster.snapshot())
        assert (plan.partial_nodes, len(plan.moves), plan.status) == (3, 1, Status.OPTIMAL)
        assert played(cluster, plan) == 3

    def test_cordoned_and_over_committed_nodes_take_nothing(self) -> None:
        cluster = World((Node(8), Node(8, schedulable=False), Node(3)), (Instance(0, 2, 0), Instance(1, 6, 1)))
        plan = live_plan(cluster.snapshot())
        assert [(move.source, move.destination) for move in plan.moves] == [("n1", "n0")]
        cluster = World((Node(8), Node(3)), (Instance(0, 6, 0), Instance(1, 2, 1), Instance(1, 2, 2)))
        assert live_plan(cluster.snapshot(), max_partial_nodes=0).partial_nodes == 1
        assert [move.source for move in live_plan(cluster.snapshot(), max_partial_nodes=0).moves] == []

    def test_a_target_that_can_be_ordered_needs_no_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.sequencing.live_search, "MAX_ENTRIES", 0)
        cluster = world([8], [7], [3, 3], [3, 1], [])
        plan = live_plan(cluster.snapshot(), find_target=found_by_hand(cluster))
        assert plan.status is Status.OPTIMAL
        played(cluster, plan)

    def test_a_target_that_no_placement_has(self) -> None:
        cluster = world([1], [1])

        def nothing(_pool: str, _partial_nodes: int) -> Target | None:
            return None

        plan = live_plan(cluster.snapshot(), find_target=nothing)
        assert plan.moves == ()

    def test_a_target_that_does_not_lead_there(self) -> None:
        cluster = world([4], [4], [1])
        wrong = Target(tuple(moves_to(cluster, (0, 1, 0))), 1)
        plan = live_plan(cluster.snapshot(), max_partial_nodes=1, find_target=lambda _pool, _k: wrong)
        assert (plan.partial_nodes, len(plan.moves), plan.status) == (1, 1, Status.OPTIMAL)
        assert plan.moves[0].gpus == 4


class TestNotSettled:
    """Where the search gives up, nothing is claimed that was not proved."""

    CLUSTER = world([5, 2], [5, 2], [3, 3])

    def hurried(self, cluster: World, target: Target | None = None, **options: int) -> LivePlan:
        return live_plan(
            cluster.snapshot(),
            find_target=None if target is None else lambda _pool, _k: target,
            time_limit=0,
            **options,
        )

    def test_without_a_target(self) -> None:
        plan = self.hurried(self.CLUSTER)
        assert (plan.moves, plan.partial_nodes, plan.status) == ((), 3, Status.UNKNOWN)
        assert plan.partial_nodes_lower_bound <= 1

    def test_parking_is_found_and_not_proved(self) -> None:
        target = found_by_hand(self.CLUSTER)("a", 1)
        assert target is not None
        plan = self.hurried(self.CLUSTER, target, max_partial_nodes=1)
        assert plan.partial_nodes <= 1 or plan.status is Status.UNKNOWN
        assert plan.moves_lower_bound <= 4
        played(self.CLUSTER, plan)

    def test_parking(self) -> None:
        # Two full nodes exchange 4 for 3 and 1; a third has room to spare.
        cluster = world([4, 4], [3, 1, 4], [1])
        moves = list(moves_to(cluster, (1, 0, 0, 0, 1, 2)))
        order = order_moves(cluster.snapshot(), moves)
        assert len(order.stops) == 1
        parked = park_instead_of_stopping(order, Occupancy(cluster.snapshot()))
        assert parked is not None
        assert len(parked) == len(moves) + 1
        end = brute_moves.play(cluster.snapshot(), in_steps(parked, Occupancy(cluster.snapshot()).free))
        assert end == (1, 0, 0, 0, 1, 2)

    def test_no_room_to_park(self) -> None:
        cluster = world([4, 4], [3, 1, 4])
        order = order_moves(cluster.snapshot(), moves_to(cluster, (1, 0, 0, 0, 1)))
        assert park_instead_of_stopping(order, Occupancy(cluster.snapshot())) is None
        assert without_stops(order, Occupancy(cluster.snapshot())) == ()

    def test_what_can_be_done_is_done(self) -> None:
        # The exchange of a and b waits for ever; c and d can be merged all the same.
        cluster = world([5, 3], [5, 3], [4], [4])
        moves = [*moves_to(cluster, (1, 0, 0, 1, 2, 2))]
        plan = self.hurried(cluster, Target(tuple(moves), len(moves)), max_partial_nodes=0)
        assert plan.partial_nodes == 0
        order = order_moves(cluster.snapshot(), moves)
        left = without_stops(order, Occupancy(cluster.snapshot()))
        assert [move.source for move in left if move.destination == "n2"] == ["n3"]

    def test_the_bound_of_a_search_that_gives_up(self) -> None:
        given_up = search(self.CLUSTER.snapshot(), AtMostPartial(1), max_entries=5)
        assert (given_up.hops, given_up.exhausted) == (None, False)
        assert 1 <= given_up.lower_bound <= 4
        known = search(self.CLUSTER.snapshot(), AtMostPartial(1), upper_bound=4)
        assert (known.hops, known.exhausted, known.lower_bound) == (None, False, 4)
        assert search(self.CLUSTER.snapshot(), AtMostPartial(0)).exhausted


class TestPaths:
    def test_a_path_is_carried_out_by_few_jobs(self) -> None:
        cluster = World(
            (Node(8), Node(8), Node(8)), tuple(Instance(n, 1, j) for n, j in ((0, 0), (1, 1), (1, 0), (2, 0)))
        )
        snapshot = cluster.snapshot()
        holding = NamedNodes(snapshot, "a").holding("n1")
        assert holding == Holding(8, 0, is_open=True, movable=(1, 1))
        plan = live_plan(snapshot)
        assert played(cluster, plan) == 1

    def test_partial_nodes_after_each_move(self) -> None:
        cluster = world([4], [4], [8])
        contents = contents_by_pool(cluster.snapshot())["a"]
        moves = [Move(1, *cluster.key(0), 4, "n0", "n1"), Move(2, *cluster.key(0), 4, "n1", "n0")]
        assert partial_counts(moves, contents) == [2, 0, 2]

    def test_interchangeable_nodes_are_one(self) -> None:
        space = LiveSpace()
        holding = Holding(8, 0, is_open=True, movable=(4,))
        state = space.state([holding] * 50)
        assert len(list(space.moves(state))) == 1
        assert search_live(space, state, AtMostPartial(0), deadline=Deadline()).hops is not None


def check_plans(seed: int, count: int, most_instances: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        cluster = brute_moves.random_world(rng, most_instances=most_instances)
        frontier = brute_moves.live_frontier(cluster)
        attainable = min(cluster.partial(places) for places, _ in brute_moves.placements(cluster))
        asked = rng.choice([None, *range(attainable, cluster.partial(cluster.start) + 1)])
        goal = attainable if asked is None else asked
        plan = live_plan(
            cluster.snapshot(),
            max_partial_nodes=asked,
            find_target=found_by_hand(cluster) if rng.random() < 0.5 else None,
        )
        within = [moves for partial, moves in frontier.items() if partial <= goal]
        assert plan.status is Status.OPTIMAL, (cluster, asked)
        assert len(plan.moves) == (min(within) if within else frontier[min(frontier)]), (cluster, asked)
        assert plan.partial_nodes == played(cluster, plan)
        assert plan.partial_nodes <= goal or (not within and plan.partial_nodes == min(frontier)), (cluster, asked)


class TestAgainstEverySequence:
    def test_shortest_sequences(self) -> None:
        check_plans(seed=1, count=200, most_instances=5)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(10))
    def test_shortest_sequences_of_many(self, seed: int) -> None:
        check_plans(seed=100 + seed, count=500, most_instances=6)

    @pytest.mark.parametrize("lower_bound", [0, 1])
    def test_distances_are_never_too_long(self, lower_bound: int) -> None:
        rng = random.Random(3)
        for _ in range(50):
            cluster = brute_moves.random_world(rng, most_instances=5)
            cluster = World(tuple(Node(node.gpus, "a", node.schedulable) for node in cluster.nodes), cluster.instances)
            frontier = brute_moves.live_frontier(cluster)
            for partial_nodes in range(cluster.partial(cluster.start)):
                within = [moves for partial, moves in frontier.items() if partial <= partial_nodes]
                found = search(cluster.snapshot(), AtMostPartial(partial_nodes), lower_bound=lower_bound)
                assert (None if found.hops is None else len(found.hops)) == min(within, default=None)
                assert found.exhausted == (not within)


@pytest.mark.real_data
def test_every_case_has_the_expected_live_migrations(real_data: Path) -> None:
    cases = cast("list[Case]", json.loads((real_data / "cases.json").read_bytes()))
    assert cases
    for case in cases:
        snapshot = read_native(Document(case["id"], json.dumps(case["snapshot"]).encode()))
        plan = live_plan(snapshot)
        brute_moves.play(snapshot, plan.moves)
        assert plan.status is Status.OPTIMAL
        expected = case["expected"]["live_migrations"]
        attained = plan.partial_nodes == case["expected"]["inherent_partial_nodes"]
        # Null stands for "none exists" and for "not asked".
        assert attained or expected is None, case["id"]
        assert expected in {None, len(plan.moves)}, case["id"]


def test_a_large_cluster_has_few_different_holdings() -> None:
    rng = random.Random(4)
    nodes = [SnapshotNode(name=f"n{n}", gpus=8) for n in range(400)]
    demands = [rng.choice([(8,), (4, 4), (4, 2), (2, 2, 2), (4,)]) for _ in nodes]
    jobs = [
        RunningJob(name=f"j{n}-{i}", instances=(RunningInstance(node=f"n{n}", gpus=gpus),))
        for n, held in enumerate(demands)
        for i, gpus in enumerate(held)
    ]
    snapshot = Snapshot.build(nodes=nodes, jobs=jobs)
    partial = sum(0 < sum(held) < 8 for held in demands)
    plan = live_plan(snapshot, max_partial_nodes=partial - 4)
    assert (len(plan.moves), plan.status) == (2, Status.OPTIMAL)
