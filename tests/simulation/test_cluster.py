"""The cluster of the baselines, its node sets, and the rules that choose a node."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.cluster import Cluster
from simulation.jobs import TraceJob
from simulation.node_set import NodeSet
from simulation.schedulers.greedy import RandomNode, best_fit, first_fit, worst_fit


@given(changes=st.lists(st.integers(0, 199)), full=st.booleans())
def test_a_node_set_is_a_set(changes: list[int], *, full: bool) -> None:
    nodes = NodeSet(200, full=full)
    model = set(range(200)) if full else set[int]()
    for index in changes:
        if index in model:
            nodes.remove(index)
            model.remove(index)
        else:
            nodes.add(index)
            model.add(index)
        assert len(nodes) == len(model)
        assert list(nodes) == sorted(model)
        assert not model or nodes.lowest == min(model)


@pytest.mark.parametrize("seed", range(10))
def test_a_cluster_is_what_its_jobs_hold(seed: int) -> None:
    rng = random.Random(seed)
    cluster = Cluster(70)
    running: dict[str, TraceJob] = {}
    for i in range(300):
        if running and rng.random() < 0.4:
            cluster.end(running.pop(rng.choice(list(running))).name)
        job = TraceJob(f"j{i}", 0, 1, rng.choice((1, 1, 3, 9)), rng.randint(1, 8))
        rule = rng.choice((best_fit, first_fit, worst_fit))
        room = sum(free // job.gpus for free in cluster.free)
        assert cluster.room_for(job.gpus) == room
        placed = cluster.start(job, rule)
        assert (placed is None) == (room < job.instances)
        if placed is not None:
            running[job.name] = job
        used = Counter(dict.fromkeys(range(70), 0))
        for name, nodes in cluster.where.items():
            for node in nodes:
                used[node] += running[name].gpus
        assert cluster.free == [8 - used[n] for n in range(70)]
        assert cluster.free_gpus == sum(cluster.free)
        assert cluster.partial_nodes == sum(0 < free < 8 for free in cluster.free)
        assert cluster.empty_nodes == cluster.free.count(8)
        assert [list(level) for level in cluster.levels] == [
            [n for n in range(70) if cluster.free[n] == free] for free in range(9)
        ]


class TestRandomNode:
    def test_every_node_with_room_is_as_likely(self) -> None:
        cluster = Cluster(8)
        for index in range(5):
            cluster.take(index, 8 - index)  # free: 0, 1, 2, 3, 4, 8, 8, 8
        choose = RandomNode(1)
        drawn = Counter(choose(cluster, 3) for _ in range(5_000))
        assert drawn.keys() == {3, 4, 5, 6, 7}
        assert all(800 < count < 1_200 for count in drawn.values())  # 1,000 each, standard deviation 28

    def test_a_single_node_with_room_among_many_is_found(self) -> None:
        cluster = Cluster(10_000)
        for index in range(10_000):
            if index != 7_777:
                cluster.take(index, 8)
        assert RandomNode(1)(cluster, 8) == 7_777

    def test_the_seed_decides(self) -> None:
        cluster = Cluster(1_000)
        first, again, other = RandomNode(1), RandomNode(1), RandomNode(2)
        draws = [[choose(cluster, 1) for _ in range(20)] for choose in (first, again, other)]
        assert draws[0] == draws[1] != draws[2]
