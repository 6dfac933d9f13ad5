"""Orders of moves: no node over-booked, fewest stops, fewest steps; their replay, and plans taken up again."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import oracle.moves.sequence
from compass_core.errors import UnknownJobError
from oracle.moves.move import Move, MoveError, Stop, protect
from oracle.moves.ordering import NoOrderError, order_interchangeably, order_moves
from oracle.moves.rematching import rematched
from oracle.moves.replay import replay
from oracle.moves.stored import read_moves
from oracle.planning.resumption import resume
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from tests.oracle import brute_moves

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.moves.move import MoveOrder
    from tests.oracle.brute_moves import Places, World


def cluster(
    holding: Mapping[str, Sequence[int]], *, gpus: int = 8, job_of: Mapping[str, str] | None = None
) -> Snapshot:
    """Return nodes with instances called after node and position, such as `a0`, each a job of its own."""
    instances: dict[str, list[RunningInstance]] = {}
    for node, demands in holding.items():
        for i, demand in enumerate(demands):
            name = f"{node}{i}"
            instances.setdefault((job_of or {}).get(name, name), []).append(RunningInstance(node=node, gpus=demand))
    return Snapshot.build(
        nodes=[SnapshotNode(name=node, gpus=gpus) for node in holding],
        jobs=[RunningJob(name=name, instances=tuple(of_job)) for name, of_job in instances.items()],
    )


def to(snapshot: Snapshot, **destinations: str) -> list[Move]:
    """Return relocations: the job's first instance to the node named."""
    first = {job.name: job.instances[0] for job in snapshot.jobs}
    return [Move(0, job, 0, first[job].gpus, first[job].node, destination) for job, destination in destinations.items()]


def alike(snapshot: Snapshot) -> Counter[tuple[str, RunningInstance]]:
    return Counter((job.name, instance) for job in snapshot.jobs for instance in job.instances)


def played(snapshot: Snapshot, order: MoveOrder, limit: int | None = None) -> Places:
    return brute_moves.play(snapshot, order.moves, order.stops, limit)


class TestSmallOrders:
    def test_moves_that_do_not_touch_are_one_step(self) -> None:
        snapshot = cluster({"a": [4, 3], "b": [4, 2], "c": []})
        order = order_moves(snapshot, to(snapshot, a0="c", b0="c"))
        assert [move.step for move in order.moves] == [1, 1]
        assert (order.live, order.steps) == (True, 1)

    def test_nothing_to_do(self) -> None:
        order = order_moves(cluster({"a": [1]}), [])
        assert (order.moves, order.stops, order.steps) == ((), (), 0)

    def test_room_that_a_move_gives_back_counts_from_the_next_step(self) -> None:
        snapshot = cluster({"a": [8], "b": [8], "c": []})
        order = order_moves(snapshot, to(snapshot, a0="b", b0="c"))
        assert [(move.step, move.job) for move in order.moves] == [(1, "b0"), (2, "a0")]
        assert order.live

    def test_an_exchange_without_spare_room_stops_one(self) -> None:
        snapshot = cluster({"a": [4, 1, 3], "b": [5, 3]})
        order = order_moves(snapshot, to(snapshot, a0="b", a1="b", b0="a"))
        assert len(order.stops) == 1
        played(snapshot, order)

    def test_the_exchange_of_two_whole_nodes(self) -> None:
        snapshot = cluster({"a": [8], "b": [8]})
        order = order_moves(snapshot, to(snapshot, a0="b", b0="a"))
        assert order.stops == (Stop(1, "a0", 0, 8, "a"),)
        assert [(move.step, move.job) for move in order.moves] == [(1, "b0"), (2, "a0")]

    def test_the_order_of_two_arrivals_can_matter(self) -> None:
        # b has 4 free. If a1 (2 GPUs) comes first, a0 (4) does not fit, and c0 waits for a for ever.
        snapshot = cluster({"a": [4, 2, 2], "b": [2, 2], "c": [4]})
        moves = to(snapshot, a0="b", a1="b", c0="a", b0="c")
        order = order_moves(snapshot, moves)
        assert order.live
        played(snapshot, order)

    def test_no_graph_library_is_loaded_without_a_cycle(self) -> None:
        code = "import sys, oracle.admission.jobs, oracle.admission.queues, oracle.planning.planner; "
        code += "import oracle.planning.resumption; "
        code += "sys.exit('networkx' in sys.modules or 'ortools' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestLimitPerJob:
    SNAPSHOT = cluster({"a": [2], "b": [2], "c": [2], "d": []}, job_of={"a0": "j", "b0": "j", "c0": "j"})
    MOVES = (Move(0, "j", 0, 2, "a", "d"), Move(0, "j", 1, 2, "b", "d"), Move(0, "j", 2, 2, "c", "d"))

    @pytest.mark.parametrize(("limit", "steps"), [(None, 1), (3, 1), (2, 2), (1, 3)])
    def test_steps(self, limit: int | None, steps: int) -> None:
        order = order_moves(self.SNAPSHOT, self.MOVES, max_per_job_at_once=limit)
        assert order.steps == steps
        played(self.SNAPSHOT, order, limit)

    def test_another_instance_is_stopped(self) -> None:
        # A circle of three; with two instances of j down at a time any one would do, with one it must be k.
        snapshot = cluster({"a": [5], "b": [6], "c": [7]}, job_of={"a0": "j", "c0": "j", "b0": "k"})
        moves = [Move(0, "j", 0, 5, "a", "b"), Move(0, "k", 0, 6, "b", "c"), Move(0, "j", 1, 7, "c", "a")]
        order = order_moves(snapshot, moves, max_per_job_at_once=1)
        assert [stop.job for stop in order.stops] == ["k"]
        played(snapshot, order, 1)

    def test_no_order_keeps_to_the_limit(self) -> None:
        snapshot = cluster({"a": [5], "b": [6]}, job_of={"a0": "j", "b0": "j"})
        moves = [Move(0, "j", 0, 5, "a", "b"), Move(0, "j", 1, 6, "b", "a")]
        with pytest.raises(NoOrderError, match=r"no order was found .* there may be one"):
            order_moves(snapshot, moves, max_per_job_at_once=1)
        assert len(order_moves(snapshot, moves, max_per_job_at_once=2).stops) == 1

    def test_a_limit_below_one(self) -> None:
        with pytest.raises(ValueError, match="max_per_job_at_once: expected at least 1 instance, got 0"):
            order_moves(self.SNAPSHOT, self.MOVES, max_per_job_at_once=0)


class TestRefusals:
    SNAPSHOT = Snapshot.build(
        nodes=[
            SnapshotNode(name="a", gpus=8),
            SnapshotNode(name="b", gpus=8),
            SnapshotNode(name="p", gpus=8, pool="other"),
            SnapshotNode(name="x", gpus=8, schedulable=False),
            SnapshotNode(name="y", gpus=2),
        ],
        jobs=[
            RunningJob(name="j", instances=(RunningInstance(node="a", gpus=4), RunningInstance(node="a", gpus=4))),
            RunningJob(name="k", instances=(RunningInstance(node="b", gpus=5, movable=False),)),
            RunningJob(name="l", instances=(RunningInstance(node="y", gpus=3),)),
        ],
    )

    @pytest.mark.parametrize(
        ("moves", "message"),
        [
            ([Move(0, "z", 0, 4, "a", "b")], "instance 0 of 'z' from 'a' to 'b': no such instance is running"),
            ([Move(0, "j", 2, 4, "a", "b")], "no such instance is running"),
            ([Move(0, "j", 0, 4, "a", "q")], "no node has the name of its destination"),
            ([Move(0, "j", 0, 4, "b", "p")], "it is on 'a'"),
            ([Move(0, "j", 0, 3, "a", "b")], "it has 4 GPUs, not 3"),
            ([Move(0, "j", 0, 4, "a", "a")], "it is there already"),
            ([Move(0, "j", 0, 4, "a", "p")], "it would leave its pool 'default'"),
            ([Move(0, "j", 0, 4, "a", "x")], "the node is cordoned and takes nothing"),
            ([Move(0, "j", 0, 4, "a", "y")], "the node holds more than it offers and takes nothing"),
            ([Move(0, "k", 0, 5, "b", "a")], "it cannot be moved"),
            ([Move(0, "j", 0, 4, "a", "b")], "node 'b' would end over-booked by 1"),
            ([Move(0, "l", 0, 3, "y", "b"), Move(0, "l", 0, 3, "y", "b")], "is relocated twice"),
        ],
    )
    def test_impossible_relocations(self, moves: list[Move], message: str) -> None:
        with pytest.raises(MoveError, match=message):
            order_moves(self.SNAPSHOT, moves)

    def test_instances_leave_cordoned_and_over_committed_nodes(self) -> None:
        order = order_moves(self.SNAPSHOT, [Move(0, "l", 0, 3, "y", "b")])
        assert order.steps == 1


class TestReplay:
    """Every rule that a plan must keep is checked by the replay, whoever made the plan."""

    SNAPSHOT = cluster({"a": [8], "b": [5], "c": [4], "d": []})

    @pytest.mark.parametrize(
        ("moves", "stops", "message"),
        [
            ([Move(1, "a0", 0, 8, "a", "b")], [], "needs 8 GPUs, the node has 3 free then"),
            (
                [Move(1, "a0", 0, 8, "a", "d"), Move(1, "b0", 0, 5, "b", "a")],
                [],
                "step 1: instance 0 of 'b0' from 'b' to 'a': needs 5 GPUs, the node has 0 free then",
            ),
            ([Move(1, "b0", 0, 5, "b", "d"), Move(1, "c0", 0, 4, "c", "d")], [], "the node has 3 free then"),
            ([Move(1, "b0", 0, 5, "b", "d"), Move(1, "b0", 0, 5, "d", "c")], [], "it moves twice in one step"),
            ([Move(0, "b0", 0, 5, "b", "d")], [], "steps count from 1"),
            ([Move(2, "b0", 0, 5, "c", "d")], [], "step 2: .* it is on 'b'"),
            ([], [Stop(1, "b0", 0, 5, "b")], "instance 0 of 'b0' is stopped and never restarted"),
            ([], [Stop(1, "b0", 0, 5, "c")], "it is on 'b'"),
            ([], [Stop(1, "b0", 0, 5, "b"), Stop(2, "b0", 0, 5, "b")], "it is stopped already"),
            ([], [Stop(1, "q", 0, 5, "b")], "no such instance is running"),
        ],
    )
    def test_broken_rules(self, moves: list[Move], stops: list[Stop], message: str) -> None:
        with pytest.raises(MoveError, match=message):
            replay(self.SNAPSHOT, moves, stops)

    def test_too_many_of_one_job(self) -> None:
        snapshot, moves = TestLimitPerJob.SNAPSHOT, [replace(move, step=1) for move in TestLimitPerJob.MOVES]
        replay(snapshot, moves, max_per_job_at_once=3)
        with pytest.raises(MoveError, match="step 1: 3 instances of 'j' would be down at a time, at most 2 may"):
            replay(snapshot, moves, max_per_job_at_once=2)
        stops = [Stop(1, "j", 0, 2, "a"), Stop(1, "j", 1, 2, "b")]
        with pytest.raises(MoveError, match="a stop: 2 instances"):
            replay(snapshot, [replace(move, step=2) for move in moves[:2]], stops, max_per_job_at_once=1)

    def test_the_snapshot_it_leads_to(self) -> None:
        after = replay(self.SNAPSHOT, [Move(2, "a0", 0, 8, "d", "a"), Move(1, "a0", 0, 8, "a", "d")])
        assert after == self.SNAPSHOT
        after = replay(self.SNAPSHOT, [Move(1, "b0", 0, 5, "b", "d")])
        assert after.used_gpus() == {"a": 8, "b": 0, "c": 4, "d": 5}


def relocations(world: World, goal: Places) -> list[Move]:
    return [
        Move(0, *world.key(i), world.instances[i].gpus, f"n{home}", f"n{target}")
        for i, (home, target) in enumerate(zip(world.start, goal, strict=True))
        if home != target
    ]


def random_goals(
    rng: random.Random, count: int, most_moves: int, *, rules: bool = True, budgets: bool = True
) -> Iterable[tuple[World, Places]]:
    while count:
        world = brute_moves.random_world(rng, most_nodes=5, most_instances=6)
        if rules and rng.random() < 0.5:
            world = brute_moves.with_rules(rng, world)
        if not budgets:
            world = brute_moves.without_budgets(world)
        goals = [(places, moves) for places, moves in brute_moves.placements(world) if 0 < moves <= most_moves]
        if goals:
            most = max(moves for _, moves in goals)
            yield world, rng.choice([places for places, moves in goals if moves >= most - 1])
            count -= 1


def check_orders(seed: int, count: int, most_moves: int) -> tuple[int, int]:
    """Return how many orders stop more instances than any has to, and how many there are that none was found of."""
    rng = random.Random(seed)
    more = missed = 0
    for world, goal in random_goals(rng, count, most_moves):
        limit = rng.choice([None, None, 1, 2])
        expected = brute_moves.fewest_stops_and_steps(world, goal, limit)
        try:
            order = order_moves(world.snapshot(), relocations(world, goal), max_per_job_at_once=limit)
        except NoOrderError:
            missed += expected is not None
            continue
        assert expected is not None, (world, goal, limit)
        assert len(order.stops) >= expected[0], (world, goal, limit)
        more += len(order.stops) > expected[0]
        if limit is None:
            assert_stops_are_late(world.snapshot(), order)
        end = played(world.snapshot(), order, limit)
        keys = [(job.name, i) for job in world.snapshot().jobs for i in range(len(job.instances))]
        assert dict(zip(keys, end, strict=True)) == {world.key(i): node for i, node in enumerate(goal)}
    return more, missed


def assert_stops_are_late(snapshot: Snapshot, order: MoveOrder) -> None:
    """Any stop a step later, and a node is over-booked."""
    for stop in order.stops:
        later = [replace(stop, before_step=stop.before_step + 1), *(other for other in order.stops if other != stop)]
        with pytest.raises(MoveError):
            replay(snapshot, order.moves, later)


class TestAgainstEveryOrder:
    """Orders are valid. Of few moves no order has fewer stops, and one is found within a limit if there is one."""

    @pytest.mark.long
    def test_fewest_stops(self) -> None:
        assert check_orders(seed=1, count=300, most_moves=5) == (0, 0)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(10))
    def test_fewest_stops_of_many(self, seed: int) -> None:
        assert check_orders(seed=100 + seed, count=1_000, most_moves=6) == (0, 0)

    @pytest.mark.long
    def test_rules_of_thumb(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.moves.sequence, "MAX_SEARCHED", 0)
        more, missed = check_orders(seed=1, count=300, most_moves=5)
        assert more + missed <= 9


def repacked(nodes: int, spare: int, seed: int) -> tuple[Snapshot, list[Move]]:
    """Return full nodes, some instances taken away, and the moves to another packing of all the rest.

    Powers of two, largest first, fit wherever there is room, so the other packing is a random one. Its moves are
    entangled in one large component.
    """
    rng = random.Random(seed)
    held: dict[str, list[int]] = {}
    for n in range(nodes):
        held[f"n{n}"] = []
        while left := 8 - sum(held[f"n{n}"]):
            held[f"n{n}"].append(rng.choice([demand for demand in (4, 4, 2, 1) if demand <= left]))
    for _ in range(spare):
        rng.choice([demands for demands in held.values() if demands]).pop()
    items = [(gpus, f"{node}{i}", node) for node, demands in held.items() for i, gpus in enumerate(demands)]
    room = dict.fromkeys(held, 8)
    moves: list[Move] = []
    for gpus, name, node in sorted(items, key=lambda item: (-item[0], rng.random())):
        target = rng.choice([other for other, free in room.items() if free >= gpus])
        room[target] -= gpus
        if target != node:
            moves.append(Move(0, name, 0, gpus, node, target))
    return cluster(held), moves


class TestLargeComponents:
    def test_entangled_moves(self) -> None:
        orders: list[MoveOrder] = []
        for seed in range(20):
            snapshot, moves = repacked(4 + seed % 3, seed % 3, seed)
            orders.append(order_moves(snapshot, moves))
            played(snapshot, orders[-1])
        assert any(order.stops for order in orders)

    def test_many_nodes(self) -> None:
        snapshot, moves = repacked(40, 5, 1)
        played(snapshot, order_moves(snapshot, moves))

    def test_parts_that_wait_for_other_parts(self) -> None:
        # The circle of a and b waits for itself only; c waits for it, d for c.
        snapshot = cluster({"a": [6, 2], "b": [6, 2], "c": [2, 6], "d": [2, 6], "e": [6]})
        order = order_moves(snapshot, to(snapshot, a0="b", b0="a", a1="e", c0="a", d0="c"))
        assert len(order.stops) == 1
        played(snapshot, order)


class TestExchangedDestinations:
    def test_a_free_destination_goes_to_whom_others_wait_for(self) -> None:
        # As given, a0 and b0 wait for each other while c0 takes the room on d. Exchanged, b0 goes to d and c0 to a.
        snapshot = cluster({"a": [3, 4], "b": [4, 3], "c": [4, 4], "d": [4]})
        moves = to(snapshot, a0="b", b0="a", c0="d")
        assert len(order_moves(snapshot, moves).stops) == 1
        order = order_interchangeably(snapshot, moves)
        assert order.live
        played(snapshot, order)

    def test_same_instances_and_same_loads(self) -> None:
        for seed in range(20):
            snapshot, moves = repacked(40, 8, seed)
            other = rematched(snapshot, moves)
            assert {(move.job, move.source) for move in other} <= {(move.job, move.source) for move in moves}
            plain = order_moves(snapshot, moves)
            order = order_interchangeably(snapshot, moves)
            assert len(order.stops) <= len(plain.stops)
            ends = [replay(snapshot, found.moves, found.stops).used_gpus() for found in (plain, order)]
            assert ends[0] == ends[1]

    def test_never_more_stops(self) -> None:
        rng = random.Random(7)
        for world, goal in random_goals(rng, 100, 5, budgets=False):
            moves, snapshot = relocations(world, goal), world.snapshot()
            plain = order_moves(snapshot, moves)
            order = order_interchangeably(snapshot, moves)
            played(snapshot, order)
            assert len(order.stops) <= len(plain.stops)

    def test_the_limit_is_kept(self) -> None:
        snapshot = cluster({"a": [5], "b": [6]}, job_of={"a0": "j", "b0": "j"})
        moves = [Move(0, "j", 0, 5, "a", "b"), Move(0, "j", 1, 6, "b", "a")]
        with pytest.raises(NoOrderError):
            order_interchangeably(snapshot, moves, max_per_job_at_once=1)


class TestProtect:
    SNAPSHOT = Snapshot.build(
        nodes=[SnapshotNode(name="a", gpus=8)],
        jobs=[
            RunningJob(name=name, instances=(RunningInstance(node="a", gpus=1),))
            for name in ("ml/train", "ml/eval", "ops", "ml2")
        ],
    )

    @pytest.mark.parametrize(
        ("names", "pinned"),
        [
            ([], []),
            (["ops"], ["ops"]),
            (["ml"], ["ml/train", "ml/eval"]),
            (["ml/eval", "ml2"], ["ml/eval", "ml2"]),
        ],
    )
    def test_jobs_and_namespaces(self, names: list[str], pinned: list[str]) -> None:
        protected = protect(self.SNAPSHOT, names)
        assert [job.name for job in protected.jobs if not job.instances[0].movable] == pinned

    def test_a_name_that_is_nobodys(self) -> None:
        with pytest.raises(UnknownJobError, match="named 'ml/'; it cannot be protected"):
            protect(self.SNAPSHOT, ["ops", "ml/"])


class TestResume:
    """A stored plan against a fresh snapshot: what is done, whether the rest holds, where it first fails and why."""

    SNAPSHOT = cluster({"a": [8], "b": [8], "c": [3], "d": []})
    MOVES = (Move(1, "c0", 0, 3, "c", "d"), Move(2, "b0", 0, 8, "b", "c"), Move(3, "a0", 0, 8, "a", "b"))

    def test_nothing_done_yet(self) -> None:
        found = resume(self.SNAPSHOT, self.MOVES, at_start=self.SNAPSHOT.jobs)
        assert found.holds
        assert (found.done, found.remaining, found.gone) == ((), self.MOVES, ())
        assert found.after is not None
        assert found.after.used_gpus() == {"a": 0, "b": 8, "c": 8, "d": 3}

    def test_some_of_it_done(self) -> None:
        half = replay(self.SNAPSHOT, self.MOVES[:2])
        found = resume(half, self.MOVES, at_start=self.SNAPSHOT.jobs)
        assert found.holds
        assert (found.done, found.remaining) == (self.MOVES[:2], self.MOVES[2:])

    def test_all_done(self) -> None:
        found = resume(replay(self.SNAPSHOT, self.MOVES), self.MOVES, at_start=self.SNAPSHOT.jobs)
        assert found.holds
        assert (found.done, found.remaining) == (self.MOVES, ())

    def test_a_new_job_took_the_room(self) -> None:
        new = RunningJob(name="new", instances=(RunningInstance(node="c", gpus=1),))
        half = replay(self.SNAPSHOT, self.MOVES[:1])
        found = resume(replace(half, jobs=(*half.jobs, new)), self.MOVES, at_start=self.SNAPSHOT.jobs)
        assert not found.holds
        assert found.after is None
        assert found.failure is not None
        assert found.failure.step == 2
        assert found.failure.reason.endswith("from 'b' to 'c': needs 8 GPUs, the node has 7 free then")

    def test_a_cordon_came(self) -> None:
        nodes = tuple(replace(node, schedulable=node.name != "b") for node in self.SNAPSHOT.nodes)
        found = resume(replace(self.SNAPSHOT, nodes=nodes), self.MOVES, at_start=self.SNAPSHOT.jobs)
        assert found.failure is not None
        assert (found.failure.step, "is cordoned" in found.failure.reason) == (3, True)

    def test_a_job_ended(self) -> None:
        jobs = tuple(job for job in self.SNAPSHOT.jobs if job.name != "b0")
        found = resume(replace(self.SNAPSHOT, jobs=jobs), self.MOVES, at_start=self.SNAPSHOT.jobs)
        assert found.holds
        assert (found.gone, len(found.remaining)) == (self.MOVES[1:2], 2)

    def test_an_instance_was_moved_elsewhere(self) -> None:
        found = resume(replay(self.SNAPSHOT, [Move(1, "c0", 0, 3, "c", "d"), Move(2, "b0", 0, 8, "b", "c")]), [
            Move(1, "b0", 0, 8, "b", "d"), Move(2, "a0", 0, 8, "a", "b")
        ], at_start=self.SNAPSHOT.jobs)  # fmt: skip
        assert found.failure is not None
        assert (found.failure.step, "it is on 'c'" in found.failure.reason) == (1, True)

    def test_a_node_went_away(self) -> None:
        nodes = tuple(node for node in self.SNAPSHOT.nodes if node.name != "d")
        found = resume(replace(self.SNAPSHOT, nodes=nodes), self.MOVES, at_start=self.SNAPSHOT.jobs)
        assert found.failure is not None
        assert "no node has the name of its destination" in found.failure.reason

    def test_an_instance_that_is_parked_and_comes_back(self) -> None:
        snapshot = cluster({"a": [4], "b": [], "c": [3]})
        moves = [
            Move(1, "a0", 0, 4, "a", "b"),
            Move(2, "c0", 0, 3, "c", "a"),
            Move(3, "c0", 0, 3, "a", "c"),
            Move(4, "a0", 0, 4, "b", "a"),
        ]
        assert resume(snapshot, moves, at_start=snapshot.jobs).done == ()
        assert len(resume(replay(snapshot, moves[:1]), moves, at_start=snapshot.jobs).done) == 1
        assert len(resume(replay(snapshot, moves[:2]), moves, at_start=snapshot.jobs).done) == 2
        done = resume(replay(snapshot, moves[:3]), moves, at_start=snapshot.jobs)
        assert done.holds
        # A cluster that looks as at the start may have everything before it: then nothing is lost by doing it again.
        assert resume(replay(snapshot, moves), moves, at_start=snapshot.jobs).holds

    def test_stopped_instances(self) -> None:
        snapshot = cluster({"a": [8], "b": [8]})
        order = order_moves(snapshot, to(snapshot, a0="b", b0="a"))
        found = resume(snapshot, order.moves, order.stops, at_start=snapshot.jobs)
        assert (found.holds, found.remaining_stops) == (True, order.stops)
        stopped = replace(snapshot, jobs=tuple(job for job in snapshot.jobs if job.name != "a0"))
        found = resume(stopped, order.moves, order.stops, at_start=snapshot.jobs)
        assert (found.holds, found.gone, found.remaining_stops) == (True, (), ())
        assert len(found.remaining) == 2
        found = resume(replay(stopped, order.moves[:1]), order.moves, order.stops, at_start=snapshot.jobs)
        assert (found.holds, len(found.done)) == (True, 1)
        taken = RunningJob(name="new", instances=(RunningInstance(node="b", gpus=1),))
        jobs = (*stopped.jobs, taken)
        found = resume(replace(stopped, jobs=jobs), order.moves, order.stops, at_start=snapshot.jobs)
        assert not found.holds

    def test_a_plan_from_a_file(self) -> None:
        snapshot = cluster({"a": [8], "b": [8]})
        order = order_moves(snapshot, to(snapshot, a0="b", b0="a"))
        data = json.loads(
            json.dumps(
                {
                    "schema": "compass-abs/plan/2",
                    "moves": [move.to_json() for move in order.moves],
                    "stopped_first": [stop.to_json() for stop in order.stops],
                }
            )
        )
        assert data["moves"][0] == {"step": 1, "job": "b0", "instance": 0, "gpus": 8, "from": "b", "to": "a"}
        assert read_moves(data) == (order.moves, order.stops)
        del data["moves"][1]["to"]
        with pytest.raises(MoveError, match=r"missing required field `to` - at `\$.moves\[1\]`"):
            read_moves(data)

    def test_every_beginning_of_every_plan_can_be_taken_up(self) -> None:
        for world, goal in random_goals(random.Random(5), 60, 4, rules=False):
            snapshot = world.snapshot()
            order = order_moves(snapshot, relocations(world, goal))
            if not order.live:
                continue
            for step in range(order.steps + 1):
                now = replay(snapshot, [move for move in order.moves if move.step <= step])
                found = resume(now, order.moves, at_start=snapshot.jobs)
                assert found.holds
                assert found.done == tuple(move for move in order.moves if move.step <= step)
                # Of instances that are alike it is their number on each node that counts.
                assert found.after is not None
                assert alike(found.after) == alike(replay(snapshot, order.moves))
