"""Whether a job can start, after how few moves, and what keeps it out."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, TypedDict, cast

import pytest

import oracle.admission.jobs
from compass_core.errors import InvalidJobError, UnknownJobError
from oracle.admission.answer import Verdict
from oracle.admission.blockers import BlockerKind
from oracle.admission.jobs import admit
from oracle.admission.queues import admit_queue
from oracle.moves.move import MoveMode
from oracle.moves.stored import read_moves
from oracle.optimum.certificate import Status
from oracle.snapshots.document import Document
from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode, UnknownPoolError
from oracle.snapshots.native import read_native
from tests.oracle import brute_moves
from tests.oracle.brute_moves import Instance, Node, World

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from oracle.admission.answer import Admission
    from tests.oracle.brute_moves import Places


class Case(TypedDict):
    id: str
    snapshot: dict[str, object]
    expected: dict[str, object]


def world(*nodes: Sequence[int], gpus: int = 8, stuck: Iterable[int] = (), cordoned: Iterable[int] = ()) -> World:
    """Return nodes that hold these demands, each instance a job; on nodes in `stuck` nothing can move."""
    stuck, cordoned = set(stuck), set(cordoned)
    held = [(n, demand) for n, demands in enumerate(nodes) for demand in demands]
    return World(
        tuple(Node(gpus, "a", n not in cordoned) for n in range(len(nodes))),
        tuple(Instance(n, demand, i, n not in stuck) for i, (n, demand) in enumerate(held)),
    )


def assert_carried_out(cluster: World, admission: Admission, job: tuple[int, int], limit: int | None = None) -> None:
    """Play the moves, put the job where it is said to go, and look whether everything fits."""
    instances, gpus = job
    snapshot = cluster.snapshot()
    used = used_after(cluster, brute_moves.play(snapshot, admission.moves, admission.stops, limit))
    assert [placement.instance for placement in admission.placements] == list(range(instances))
    for placement in admission.placements:
        node = int(placement.node[1:])
        assert cluster.takes[node]
        assert cluster.nodes[node].pool == admission.pool
        used[node] += gpus
        assert used[node] <= cluster.nodes[node].gpus


def used_after(cluster: World, end: Places) -> list[int]:
    """Return the GPUs in use, given the places in the order of the snapshot's jobs."""
    keys = [(job.name, i) for job in cluster.snapshot().jobs for i in range(len(job.instances))]
    at = dict(zip(keys, end, strict=True))
    return cluster.used(tuple(at[cluster.key(i)] for i in range(len(cluster.instances))))


class TestVerdicts:
    def test_fits_now(self) -> None:
        cluster = world([4], [6], [])
        answer = admit(cluster.snapshot(), instances=2, gpus=2)
        assert (answer.verdict, answer.migrations, answer.status) == (Verdict.FITS_NOW, 0, Status.OPTIMAL)
        assert [placement.node for placement in answer.placements] == ["n1", "n0"]  # the fullest first
        assert answer.reason == "2 of 2 instances fit in pool a as it is"
        assert_carried_out(cluster, answer, (2, 2))

    def test_one_move_although_no_partial_node_is_avoidable(self) -> None:
        cluster = world([3], [4, 2])  # theory §4.5
        answer = admit(cluster.snapshot(), instances=1, gpus=6)
        assert (answer.verdict, answer.migrations, answer.status) == (Verdict.FITS_AFTER, 1, Status.OPTIMAL)
        assert answer.reason == "0 of 1 instances fit in pool a as it is, it does after 1 move"
        assert_carried_out(cluster, answer, (1, 6))

    def test_no_move_although_partial_nodes_are_avoidable(self) -> None:
        answer = admit(world([1], [1], [1]).snapshot(), instances=3, gpus=7)
        assert answer.verdict is Verdict.FITS_NOW

    def test_a_gang_needs_room_for_all(self) -> None:
        cluster = world([4], [4], [4], [4])
        answer = admit(cluster.snapshot(), instances=2, gpus=8)
        assert (answer.migrations, answer.status) == (2, Status.OPTIMAL)
        assert_carried_out(cluster, answer, (2, 8))
        assert admit(cluster.snapshot(), instances=3, gpus=8).verdict is Verdict.CANNOT

    def test_too_few_free(self) -> None:
        answer = admit(world([7], [7]).snapshot(), instances=1, gpus=3)
        assert (answer.verdict, answer.migrations, answer.status) == (Verdict.CANNOT, None, Status.OPTIMAL)
        assert answer.reason == "needs 3 GPUs, and pool a has 2 free"
        assert answer.proof == "total of free GPUs"

    def test_enough_free_and_no_packing(self) -> None:
        answer = admit(world([7], [7], [7]).snapshot(), instances=1, gpus=2)
        assert answer.reason == (
            "at most 0 of 1 instances of 2 GPUs fit on the nodes of pool a that take new ones, "
            "however running instances are moved"
        )
        assert answer.proof == "weights 7 for 7 GPUs, 2 for 2 GPUs"

    def test_live_moves_cannot_where_a_stop_can(self) -> None:
        cluster = world([4, 3], [4, 3])
        stopping = admit(cluster.snapshot(), instances=1, gpus=2)
        assert (stopping.verdict, stopping.migrations, len(stopping.stops)) == (Verdict.FITS_AFTER, 2, 1)
        assert_carried_out(cluster, stopping, (1, 2))
        live = admit(cluster.snapshot(), instances=1, gpus=2, moves="live")
        assert (live.verdict, live.status) == (Verdict.CANNOT, Status.OPTIMAL)
        assert live.reason == (
            "no moves into free space make room in pool a; 2 moves make room if instances may be stopped first"
        )
        assert live.proof == "all placements that such moves reach were tried"

    def test_live_moves_by_parking(self) -> None:
        cluster = world([5, 2], [5, 2], [3, 3])
        answers = [admit(cluster.snapshot(), instances=1, gpus=4, moves=mode) for mode in MoveMode]
        assert [answer.migrations for answer in answers] == [3, 4]
        for answer in answers:
            assert_carried_out(cluster, answer, (1, 4))

    def test_no_nodes(self) -> None:
        answer = admit(Snapshot.build(nodes=[]), instances=1, gpus=1)
        assert (answer.verdict, answer.reason) == (Verdict.CANNOT, "the cluster has no node")

    @pytest.mark.parametrize(("instances", "gpus"), [(0, 1), (1, 0), (-1, 2)])
    def test_no_job(self, instances: int, gpus: int) -> None:
        with pytest.raises(InvalidJobError, match="a job has at least 1 instance of at least 1 GPU"):
            admit(world([1]).snapshot(), instances=instances, gpus=gpus)

    def test_no_such_mode(self) -> None:
        with pytest.raises(ValueError, match="'fast' is not a valid MoveMode"):
            admit(world([1]).snapshot(), instances=1, gpus=1, moves="fast")


class TestPools:
    TWO = World(
        (Node(8, "x"), Node(8, "x"), Node(8, "y"), Node(8, "y")),
        (Instance(0, 4, 0), Instance(1, 2, 1), Instance(1, 2, 2), Instance(2, 1, 3), Instance(3, 7, 4)),
    )

    def test_any_one_pool(self) -> None:
        answer = admit(self.TWO.snapshot(), instances=1, gpus=8)
        assert (answer.pool, answer.migrations, answer.status) == ("x", 1, Status.OPTIMAL)
        assert_carried_out(self.TWO, answer, (1, 8))
        assert admit(self.TWO.snapshot(), instances=1, gpus=7).pool == "y"

    def test_one_pool(self) -> None:
        assert admit(self.TWO.snapshot(), instances=1, gpus=8, pool="y").migrations == 1
        assert admit(self.TWO.snapshot(), instances=1, gpus=7, pool="x").migrations == 1

    def test_a_job_is_not_split_between_pools(self) -> None:
        answer = admit(self.TWO.snapshot(), instances=2, gpus=8)
        assert answer.verdict is Verdict.CANNOT
        assert answer.reason == "needs 16 GPUs, and pool x has 8 free; needs 16 GPUs, and pool y has 8 free"
        assert {blocker.pool for blocker in answer.blockers} == {"x", "y"}

    def test_a_pool_without_nodes(self) -> None:
        with pytest.raises(UnknownPoolError, match="no node is in a pool named 'z'; pools: 'x', 'y'"):
            admit(self.TWO.snapshot(), instances=1, gpus=1, pool="z")

    def test_a_waiting_job_whose_pool_has_no_nodes_cannot_start(self) -> None:
        waiting = PendingJob(name="w", instances=1, gpus_per_instance=1, pool="z")
        ((name, answer),) = admit_queue(self.TWO.snapshot(), [waiting]).passed_over
        assert (name, answer.verdict, answer.status) == ("w", Verdict.CANNOT, Status.OPTIMAL)
        assert answer.reason == "no node is in a pool named 'z'; pools: 'x', 'y'"


class TestBlockers:
    def kinds(self, answer: Admission) -> list[str]:
        assert answer.verdict is Verdict.CANNOT
        return [str(blocker) for blocker in answer.blockers]

    def test_no_node_is_that_large(self) -> None:
        answer = admit(world([], [], gpus=4).snapshot(), instances=1, gpus=8)
        assert self.kinds(answer) == ["the largest node, n0, offers 4 GPUs less than one instance needs"]

    def test_too_few_free_and_the_nearest_nodes(self) -> None:
        answer = admit(world([7], [5], [6], [8]).snapshot(), instances=2, gpus=4)
        assert self.kinds(answer) == [
            "pool a is short of 2 GPUs",
            "node n1 is short of 1 GPU",
            "node n2 is short of 2 GPUs",
            "node n0 is short of 3 GPUs",
        ]

    def test_the_cordon(self) -> None:
        cluster = world([8], [2], [7], cordoned=[1, 2])
        answer = admit(cluster.snapshot(), instances=1, gpus=6)
        assert "node n1 is cordoned with 6 GPUs free" in self.kinds(answer)
        assert not any("n2" in text for text in self.kinds(answer))

    def test_only_all_cordons_together(self) -> None:
        answer = admit(world([4], [4], cordoned=[0, 1]).snapshot(), instances=2, gpus=4)
        assert self.kinds(answer)[1:] == [
            "node n0 is cordoned with 4 GPUs free (all such together)",
            "node n1 is cordoned with 4 GPUs free (all such together)",
        ]

    def test_the_immovable_instance(self) -> None:
        answer = admit(world([1], [5, 2], stuck=[0, 1]).snapshot(), instances=1, gpus=8)
        assert self.kinds(answer)[2:] == ["instance 0 of j0 on node n0 (1 GPU) cannot be moved"]

    def test_only_all_immovable_instances_together(self) -> None:
        answer = admit(world([1, 1], [3, 3], stuck=[0, 1]).snapshot(), instances=1, gpus=8)
        assert [blocker.kind for blocker in answer.blockers if not blocker.alone] == [BlockerKind.IMMOVABLE] * 4
        assert answer.blockers[-1].to_json() == {
            "kind": "immovable",
            "gpus": 3,
            "pool": "a",
            "node": "n1",
            "job": "j3",
            "instance": 0,
            "alone": False,
            "text": "instance 0 of j3 on node n1 (3 GPUs) cannot be moved (all such together)",
        }

    def test_the_over_committed_node(self) -> None:
        cluster = World((Node(8), Node(4)), (Instance(0, 8, 0), Instance(1, 3, 1), Instance(1, 3, 2)))
        assert "node n1 holds 2 GPUs more than it offers and takes nothing" in self.kinds(
            admit(cluster.snapshot(), instances=1, gpus=1)
        )

    def test_what_is_named_would_help(self) -> None:
        rng = random.Random(11)
        named = 0
        for _ in range(300):
            cluster = brute_moves.random_world(rng, most_instances=5)
            instances, gpus = brute_moves.random_job(rng, cluster)
            answer = admit(cluster.snapshot(), instances=instances, gpus=gpus)
            for blocker in answer.blockers:
                if blocker.kind in {BlockerKind.CORDON, BlockerKind.IMMOVABLE} and blocker.alone:
                    lifted = admit(
                        without(cluster, blocker.node, blocker.job), instances=instances, gpus=gpus, pool=blocker.pool
                    )
                    assert lifted.verdict in {Verdict.FITS_NOW, Verdict.FITS_AFTER}, (cluster, blocker)
                    named += 1
        assert named > 5


def without(cluster: World, node: str | None, job: str | None) -> Snapshot:
    """Return the snapshot without the cordon of a node, or with every instance of a job on it movable."""
    snapshot = cluster.snapshot()
    return Snapshot.build(
        nodes=[
            SnapshotNode(
                name=n.name, gpus=n.gpus, pool=n.pool, schedulable=n.schedulable or (job is None and n.name == node)
            )
            for n in snapshot.nodes
        ],
        jobs=[
            RunningJob(
                name=j.name,
                instances=tuple(
                    RunningInstance(node=i.node, gpus=i.gpus, movable=i.movable or (j.name == job and i.node == node))
                    for i in j.instances
                ),
            )
            for j in snapshot.jobs
        ],
    )


class TestLimits:
    def test_protected_jobs_stay(self) -> None:
        cluster = world([3], [4, 2])
        assert admit(cluster.snapshot(), instances=1, gpus=6, protected=["j0"]).migrations == 1
        answer = admit(cluster.snapshot(), instances=1, gpus=6, protected=["j0", "j1"])
        assert answer.verdict is Verdict.CANNOT
        assert {blocker.job for blocker in answer.blockers if blocker.job} == {"j0", "j1"}
        with pytest.raises(UnknownJobError):
            admit(cluster.snapshot(), instances=1, gpus=6, protected=["nobody"])

    def test_instances_of_a_job_at_a_time(self) -> None:
        cluster = World((Node(8), Node(8), Node(8)), (*(Instance(0, 1, 0) for _ in range(4)), Instance(1, 4, 1)))
        for mode in MoveMode:
            for limit, steps in ((None, 1), (2, 2), (1, 4)):
                answer = admit(cluster.snapshot(), instances=2, gpus=8, moves=mode, max_per_job_at_once=limit)
                if limit is None:
                    assert answer.migrations == 1  # the 4 goes to the 1s
                    continue
                stuck = admit(
                    cluster.snapshot(), instances=2, gpus=8, moves=mode, max_per_job_at_once=limit, protected=["j1"]
                )
                assert max(move.step for move in stuck.moves) == steps
                assert_carried_out(cluster, stuck, (2, 8), limit)

    def test_a_limit_that_rules_out_the_order(self) -> None:
        cluster = World((Node(8), Node(8)), tuple(Instance(n, gpus, 0) for n in (0, 1) for gpus in (4, 3)))
        assert admit(cluster.snapshot(), instances=1, gpus=2, max_per_job_at_once=2).verdict is Verdict.FITS_AFTER
        answer = admit(cluster.snapshot(), instances=1, gpus=2, max_per_job_at_once=1)
        assert (answer.verdict, answer.status) == (Verdict.UNKNOWN, Status.UNKNOWN)
        assert "no order was found with at most 1 instance of one job at a time" in answer.reason

    def test_a_limit_below_one(self) -> None:
        with pytest.raises(ValueError, match="max_per_job_at_once: expected at least 1 instance, got 0"):
            admit(world([1]).snapshot(), instances=1, gpus=1, max_per_job_at_once=0)


class TestOutOfTime:
    """Who gave up never says impossible."""

    def test_what_needs_no_solver_is_settled(self) -> None:
        assert admit(world([4]).snapshot(), instances=1, gpus=4, time_limit=0).verdict is Verdict.FITS_NOW
        assert admit(world([7], [7]).snapshot(), instances=1, gpus=3, time_limit=0).verdict is Verdict.CANNOT

    @pytest.mark.parametrize("mode", list(MoveMode))
    def test_what_needs_one_is_unknown(self, mode: MoveMode) -> None:
        answer = admit(world([3], [4, 2]).snapshot(), instances=1, gpus=6, moves=mode, time_limit=0)
        assert (answer.verdict, answer.status, answer.migrations) == (Verdict.UNKNOWN, Status.UNKNOWN, None)
        assert answer.lower_bound == 1
        assert answer.reason.startswith("time ran out before it was known whether any moves make room in pool a")

    def test_one_pool_unknown_and_one_ruled_out(self) -> None:
        cluster = World(
            (Node(8, "x"), *(Node(8, "y") for _ in range(2))),
            (*(Instance(0, 7, 0),), *world([], [3], [4, 2]).instances),
        )
        answer = admit(cluster.snapshot(), instances=1, gpus=6, time_limit=0)
        assert answer.verdict is Verdict.UNKNOWN

    def test_too_many_placements_to_try(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def too_many(*_: object) -> None:
            """Stand in for a search that gives up."""

        monkeypatch.setattr(oracle.admission.jobs, "shortest_live", too_many)
        answer = admit(world([4, 3], [4, 3]).snapshot(), instances=1, gpus=2, moves="live")
        assert (answer.verdict, answer.status) == (Verdict.UNKNOWN, Status.UNKNOWN)
        assert "was found, nor shown not to exist; 2 moves make room if" in answer.reason


class TestJson:
    def test_the_keys_of_the_contract(self) -> None:
        data = json.loads(json.dumps(admit(world([3], [4, 2]).snapshot(), instances=1, gpus=6).to_dict()))
        assert (data["schema"], data["verdict"], data["migrations"]) == ("compass-abs/admit/3", "fits_after", 1)
        assert data["moves"] == [{"step": 1, "job": "j1", "instance": 0, "gpus": 4, "from": "n1", "to": "n0"}]
        assert data["placements"] == [{"instance": 0, "node": "n1"}]
        assert isinstance(data["reason"], str)

    def test_moves_are_read_back(self) -> None:
        answer = admit(world([4, 3], [4, 3]).snapshot(), instances=1, gpus=2)
        assert answer.stops
        assert read_moves(json.loads(json.dumps(answer.to_dict()))) == (answer.moves, answer.stops)

    def test_a_job_that_cannot_start(self) -> None:
        data = admit(world([7], [7]).snapshot(), instances=1, gpus=3).to_dict()
        assert (data["verdict"], data["migrations"], data["placements"]) == ("cannot", None, [])
        assert data["blockers"]


def check_admissions(seed: int, count: int, most_instances: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        cluster = brute_moves.random_world(rng, most_instances=most_instances)
        instances, gpus = brute_moves.random_job(rng, cluster)
        pools = sorted({node.pool for node in cluster.nodes})
        pool = rng.choice([None, *pools])
        chosen = pools if pool is None else [pool]

        def fits(places: Places) -> bool:
            rooms = (cluster.free(places, name) for name in chosen)  # noqa: B023 - called in this round only
            return any(brute_moves.has_room(room, [gpus] * instances) for room in rooms)  # noqa: B023 - as above

        expected = {
            MoveMode.CHECKPOINT: brute_moves.fewest_moves(brute_moves.placements(cluster), fits),
            MoveMode.LIVE: brute_moves.fewest_moves(brute_moves.distances(cluster).items(), fits),
        }
        for mode, moves in expected.items():
            answer = admit(cluster.snapshot(), instances=instances, gpus=gpus, pool=pool, moves=mode)
            case = (cluster, instances, gpus, pool, mode)
            verdict = {None: Verdict.CANNOT, 0: Verdict.FITS_NOW}.get(moves, Verdict.FITS_AFTER)
            assert (answer.verdict, answer.migrations, answer.status) == (verdict, moves, Status.OPTIMAL), case
            assert mode is MoveMode.CHECKPOINT or not answer.stops, case
            if moves is None:
                assert answer.blockers, case
                assert answer.proof, case
            else:
                assert_carried_out(cluster, answer, (instances, gpus))


class TestAgainstEveryPlacement:
    def test_verdicts_and_fewest_moves(self) -> None:
        check_admissions(seed=1, count=200, most_instances=5)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(10))
    def test_verdicts_and_fewest_moves_of_many(self, seed: int) -> None:
        check_admissions(seed=100 + seed, count=500, most_instances=6)


@pytest.mark.real_data
def test_every_case_has_the_expected_verdict(real_data: Path) -> None:
    cases = cast("list[Case]", json.loads((real_data / "cases.json").read_bytes()))
    asked = [case for case in cases if "admit" in case["expected"]]
    assert asked
    for case in asked:
        snapshot = read_native(Document(case["id"], json.dumps(case["snapshot"]).encode()))
        job, expected = snapshot.pending[0], case["expected"]
        for mode, key in ((MoveMode.CHECKPOINT, "admit_migrations"), (MoveMode.LIVE, "live_admit_migrations")):
            answer = admit(snapshot, instances=job.instances, gpus=job.gpus_per_instance, pool=job.pool, moves=mode)
            brute_moves.play(snapshot, answer.moves, answer.stops)
            assert answer.status is Status.OPTIMAL
            if mode is MoveMode.CHECKPOINT:
                assert answer.verdict.value == expected["admit"], case["id"]
            # Null stands for "cannot", and with live moves for "not asked" too.
            asked_for = mode is MoveMode.CHECKPOINT or expected[key] is not None
            assert not asked_for or answer.migrations == expected[key], case["id"]
