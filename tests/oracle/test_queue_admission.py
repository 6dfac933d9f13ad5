"""What can start of a queue: the first job that can, and the most that can together."""

from __future__ import annotations

import random
from itertools import combinations, product
from typing import TYPE_CHECKING

import pytest

import oracle.admission.queues
from oracle.admission.answer import Verdict
from oracle.admission.joint_room import JointRoom
from oracle.admission.queues import admit_queue
from oracle.moves.move import MoveMode
from oracle.optimum.certificate import Status
from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode, UnknownPoolError
from tests.oracle import brute_moves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.admission.answer import QueueAdmission, Together
    from tests.oracle.brute_moves import Places, World


def snapshot(*nodes: Sequence[int], waiting: Sequence[tuple[int, int]], one_job: bool = False) -> Snapshot:
    """Return nodes of 8 GPUs that hold these demands, and waiting jobs w0, w1, ... of (instances, GPUs)."""
    held = [RunningInstance(node=f"n{n}", gpus=gpus) for n, demands in enumerate(nodes) for gpus in demands]
    jobs = [RunningJob(name=f"j{i}", instances=(instance,)) for i, instance in enumerate(held)]
    return Snapshot.build(
        nodes=[SnapshotNode(name=f"n{n}", gpus=8) for n in range(len(nodes))],
        jobs=[RunningJob(name="j", instances=tuple(held))] if one_job else jobs,
        pending=[
            PendingJob(name=f"w{w}", instances=instances, gpus_per_instance=gpus)
            for w, (instances, gpus) in enumerate(waiting)
        ],
    )


class TestQueue:
    def test_the_first_that_can_start(self) -> None:
        answer = admit_queue(snapshot([4], [4], [7], waiting=[(2, 8), (1, 8), (1, 4)]))
        assert [(name, passed.verdict) for name, passed in answer.passed_over] == [("w0", Verdict.CANNOT)]
        assert answer.first is not None
        name, first = answer.first
        assert (name, first.verdict, first.migrations) == ("w1", Verdict.FITS_AFTER, 1)

    def test_the_most_that_can_start_together(self) -> None:
        # The first alone would take what the other two need.
        answer = admit_queue(snapshot([4], [4], waiting=[(1, 8), (1, 4), (1, 3)]))
        assert answer.first is not None
        assert answer.first[0] == "w0"
        assert answer.together.jobs == ("w1", "w2")
        assert (len(answer.together.order.moves), answer.together.status) == (0, Status.OPTIMAL)

    def test_together_after_moves(self) -> None:
        answer = admit_queue(snapshot([4], [4], [3], waiting=[(1, 5), (1, 8)]))
        assert answer.together.jobs == ("w0", "w1")
        assert answer.together.status is Status.OPTIMAL
        assert [len(placements) for placements in answer.together.placements] == [1, 1]

    def test_together_by_parking(self) -> None:
        answer = admit_queue(snapshot([5, 2], [5, 2], [3, 3], waiting=[(1, 4)]), moves="live")
        assert answer.together.jobs == ("w0",)
        # Found for the first job alone; what other sets would take is not looked for.
        assert (len(answer.together.order.moves), answer.together.status) == (4, Status.UNKNOWN)

    def test_nothing_can_start(self) -> None:
        for mode in MoveMode:
            answer = admit_queue(snapshot([8], [7], waiting=[(1, 2), (1, 8)]), moves=mode)
            assert answer.first is None
            assert len(answer.passed_over) == 2
            assert (answer.together.jobs, answer.together.most, answer.together.status) == ((), 0, Status.OPTIMAL)

    def test_an_empty_queue(self) -> None:
        answer = admit_queue(snapshot([8], waiting=[]))
        assert (answer.first, answer.together.jobs, answer.together.status) == (None, (), Status.OPTIMAL)

    def test_another_queue_than_the_snapshots(self) -> None:
        job = PendingJob(name="x", instances=1, gpus_per_instance=1)
        assert admit_queue(snapshot([7], waiting=[(1, 8)]), [job]).together.jobs == ("x",)

    def test_protected_jobs_and_limits(self) -> None:
        cluster = snapshot([4], [4], waiting=[(1, 8)])
        assert admit_queue(cluster).together.jobs == ("w0",)
        assert admit_queue(cluster, protected=["j0", "j1"]).together.jobs == ()
        entangled = snapshot([4, 3], [4, 3], [7], waiting=[(1, 2), (1, 1)], one_job=True)
        answer = admit_queue(entangled, max_per_job_at_once=1)
        # The only moves that make room for both have two instances of j down: the other job fits as it is.
        assert (answer.together.jobs, answer.together.most, answer.together.status) == (("w1",), 2, Status.UNKNOWN)

    def test_of_a_pool_without_nodes(self) -> None:
        with pytest.raises(UnknownPoolError, match="no node is in a pool named 'h100'; pools: 'default'"):
            admit_queue(snapshot([4], waiting=[(1, 8)]), pool="h100")

    @pytest.mark.parametrize("mode", list(MoveMode))
    def test_where_no_set_was_found_the_first_job_starts(self, monkeypatch: pytest.MonkeyPatch, mode: MoveMode) -> None:
        def give_up(*_: object) -> JointRoom:
            return JointRoom(nodes={}, moves=(), most=2, moves_lower_bound=0)

        monkeypatch.setattr(oracle.admission.queues, "make_joint_room", give_up)
        answer = admit_queue(snapshot([4], [4], waiting=[(1, 8), (2, 8)]), moves=mode)
        together = answer.together
        assert answer.first is not None
        assert (together.jobs, together.order.moves) == (("w0",), answer.first[1].moves)
        assert (len(together.order.moves), len(together.placements)) == (1, 1)
        assert (together.most, together.moves_lower_bound, together.status) == (2, 0, Status.UNKNOWN)

    def test_out_of_time(self) -> None:
        answer = admit_queue(snapshot([4], [4], waiting=[(1, 8), (1, 4)]), time_limit=0)
        assert answer.passed_over[0][1].verdict is Verdict.UNKNOWN
        assert answer.first is not None
        assert answer.first[0] == "w1"
        assert (answer.together.jobs, answer.together.most, answer.together.status) == (("w1",), 2, Status.UNKNOWN)

    def test_live_moves_that_are_not_found(self) -> None:
        answer = admit_queue(snapshot([4, 3], [4, 3], [7], waiting=[(1, 2), (1, 1)]), moves="live")
        assert (answer.together.jobs, answer.together.most, answer.together.status) == (("w1",), 2, Status.UNKNOWN)


def random_queue(rng: random.Random, cluster: World) -> list[PendingJob]:
    pools = sorted({node.pool for node in cluster.nodes})
    queue: list[PendingJob] = []
    for w in range(rng.randint(1, 4)):
        instances, gpus = brute_moves.random_job(rng, cluster)
        instances = 1 if instances * gpus > 8 else instances
        pool = rng.choice([None, *pools, "nowhere"] if rng.random() < 0.3 else pools)
        queue.append(PendingJob(name=f"w{w}", instances=instances, gpus_per_instance=gpus, pool=pool))
    return queue


def most_together(
    cluster: World, queue: Sequence[PendingJob], options: Iterable[tuple[Places, int]]
) -> tuple[int, int]:
    """Return the most jobs that start together, and the fewest moves for so many, by trying every set everywhere."""
    options = list(options)
    pools = sorted({node.pool for node in cluster.nodes})
    for size in range(len(queue), 0, -1):
        fewest: int | None = None
        for jobs in combinations(queue, size):
            for choice in product(*([pool for pool in pools if job.pool in {None, pool}] for job in jobs)):
                wanted = {
                    pool: [job.gpus_per_instance for job, at in zip(jobs, choice, strict=True) if at == pool
                           for _ in range(job.instances)]
                    for pool in set(choice)
                }  # fmt: skip
                for places, moves in options:
                    if fewest is not None and moves >= fewest:
                        continue
                    if all(brute_moves.has_room(cluster.free(places, pool), sorted(gpus, reverse=True))
                           for pool, gpus in wanted.items()):  # fmt: skip
                        fewest = moves
        if fewest is not None:
            return size, fewest
    return 0, 0


def assert_carried_out(cluster: World, queue: Sequence[PendingJob], together: Together) -> None:
    end = brute_moves.play(cluster.snapshot(), together.order.moves, together.order.stops)
    keys = [(job.name, i) for job in cluster.snapshot().jobs for i in range(len(job.instances))]
    at = dict(zip(keys, end, strict=True))
    used = cluster.used(tuple(at[cluster.key(i)] for i in range(len(cluster.instances))))
    by_name = {job.name: job for job in queue}
    assert list(together.jobs) == [job.name for job in queue if job.name in together.jobs]
    for name, placements in zip(together.jobs, together.placements, strict=True):
        job = by_name[name]
        nodes = [int(placement.node[1:]) for placement in placements]
        assert [placement.instance for placement in placements] == list(range(job.instances))
        assert {cluster.nodes[node].pool for node in nodes} <= {job.pool or cluster.nodes[nodes[0]].pool}
        for node in nodes:
            assert cluster.takes[node]
            used[node] += job.gpus_per_instance
            assert used[node] <= cluster.nodes[node].gpus


def check_queues(seed: int, count: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        cluster = brute_moves.random_world(rng, most_instances=5)
        queue = random_queue(rng, cluster)
        options = {
            MoveMode.CHECKPOINT: brute_moves.placements(cluster),
            MoveMode.LIVE: brute_moves.distances(cluster).items(),
        }
        for mode, reachable in options.items():
            most, fewest = expected = most_together(cluster, queue, reachable)
            answer: QueueAdmission = admit_queue(cluster.snapshot(), queue, moves=mode)
            together = answer.together
            found = (len(together.jobs), len(together.order.moves))
            if mode is MoveMode.CHECKPOINT or together.status is Status.OPTIMAL:
                assert (found, together.status) == (expected, Status.OPTIMAL), (cluster, queue, mode)
            assert found[0] <= most <= together.most, (cluster, queue, mode)
            assert found[0] < most or together.moves_lower_bound <= fewest <= found[1], (cluster, queue, mode)
            assert_carried_out(cluster, queue, answer.together)
            assert (answer.first is None) == (expected[0] == 0)
            assert all(passed.verdict is Verdict.CANNOT for _, passed in answer.passed_over)


class TestAgainstEverySet:
    def test_largest_sets_and_fewest_moves(self) -> None:
        check_queues(seed=1, count=60)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(10))
    def test_largest_sets_and_fewest_moves_of_many(self, seed: int) -> None:
        check_queues(seed=100 + seed, count=200)
