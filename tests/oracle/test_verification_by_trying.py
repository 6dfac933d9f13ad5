"""What is settled by trying everything, and by weights: against the judge that knows every node and instance."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest

from oracle.admission.areas import Area, area_in
from oracle.admission.fitting import most_fitting, open_nodes, waiting_pool
from oracle.admission.question import AskedJob, Waiting
from oracle.admission.room import make_room
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.proof import NEVER, Proof
from oracle.optimum.solver import Deadline
from oracle.optimum.weights import Weights
from oracle.verification.enumeration import fewest_partial, least_price, most_within
from oracle.verification.live_reach import count_partial, fewest_moves, nodes_of
from oracle.verification.measurements import most_empty
from oracle.verification.plan_bounds import lightest_jobs
from oracle.verification.rooms import AreaRoom
from tests.oracle.brute_moves import Instance, Node, World, live_frontier, placements, random_job, random_world
from tests.oracle.facts import Facts


@pytest.mark.parametrize("seed", range(4))
def test_live_moves_of_one_pool(seed: int) -> None:
    rng = random.Random(seed)
    tried = 0
    while tried < 15:
        world = random_world(rng)
        contents = world.snapshot().contents
        if len(contents) > 1:
            continue
        tried += 1
        (nodes,) = contents.values()
        assert fewest_moves(nodes_of(nodes), count_partial) == live_frontier(world)


def test_too_many_placements_are_no_answer() -> None:
    world = World((Node(8), Node(8)), (Instance(0, 3, 0), Instance(1, 3, 1)))
    nodes = nodes_of(world.snapshot().contents["a"])
    assert fewest_moves(nodes, count_partial) == {2: 0, 1: 1}
    assert fewest_moves(nodes, count_partial, max_nodes=2) is None


@pytest.mark.parametrize("seed", range(4))
def test_moves_that_make_room(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        world = random_world(rng)
        instances, gpus = random_job(rng, world)
        facts = Facts(world)
        snapshot = world.snapshot()
        for pool, contents in snapshot.contents.items():
            groups = open_nodes(contents)
            least = facts.moves_to_room(instances, gpus, pool, live=False)
            for moves in range(4):
                fitting = most_within(groups, {gpus: instances}, moves)
                assert fitting is not None
                assert (fitting >= instances) is (least is not None and least <= moves)
            if least is not None and least > 1:
                waiting = Waiting(instances, gpus, pool)
                room = make_room(groups, waiting, Deadline())
                area = area_in(AskedJob(instances, gpus, pool), snapshot, [pool])
                checked = AreaRoom(area, instances, live=False, ordered=True, weights=room.weights)
                assert room.lower_bound == least
                assert not checked.idle()
                assert checked.takes(least)


@pytest.mark.long
def test_weights_never_prove_too_much() -> None:
    """Whatever the weights are, what they prove of the moves, and of what fits at most, is true."""
    rng = random.Random(7)
    several = never = 0
    for _ in range(300):
        world = random_world(rng)
        instances, gpus = random_job(rng, world)
        facts = Facts(world)
        for pool, contents in world.snapshot().contents.items():
            job = Waiting(instances, gpus, pool)
            waiting = waiting_pool(open_nodes(contents), job)
            least = facts.moves_to_room(instances, gpus, pool, live=False)
            values = tuple(max(0, demand + rng.randint(-1, 1)) for demand in sorted(waiting.instances, reverse=True))
            for weights in (Weights(0, rng.randint(1, 3), values), Weights(0, 0, values)):
                bound = Proof(waiting, weights).arrivals(0)
                never += bound >= NEVER
                several += instances + 1 < bound < NEVER
                assert least is None or bound <= least + instances
                if most_fitting(waiting, job, weights) < instances:
                    assert least is None
    assert several > 10
    assert never > 10


@pytest.mark.parametrize("weights", [Weights(0, 1, ()), Weights(0, -1, (0,)), Weights(0, 1, (0,), (1,))], ids=repr)
def test_what_are_no_weights(weights: Weights) -> None:
    area = Area(AskedJob(1, 8, "a"), ("a",), World((Node(8),), (Instance(0, 8, 0),)).snapshot(), Waiting(1, 8, "a"))
    room = AreaRoom(area, 1, live=False, ordered=True, weights=weights)
    assert "weight" in room.idle()


@pytest.mark.parametrize("weighed", [False, True])
def test_lightest_jobs_of_every_choice(*, weighed: bool) -> None:
    rng = random.Random(13)
    for _ in range(60):
        snapshot = random_world(rng).snapshot()
        pool_of = {node.name: node.pool for node in snapshot.nodes}
        pools = rng.sample(snapshot.pools, rng.randint(1, len(snapshot.pools)))
        weights = {job.name: rng.randint(0, 4) for job in snapshot.jobs if rng.random() < 0.8}
        movable = {
            job.name: sum(one.movable and pool_of[one.node] in pools for one in job.instances) for job in snapshot.jobs
        }
        for instances in range(1, sum(movable.values()) + 1):
            least = min(
                sum(weights.get(name, 1) if weighed else 1 for name in chosen)
                for size in range(len(movable) + 1)
                for chosen in combinations(movable, size)
                if sum(movable[name] for name in chosen) >= instances
            )
            assert lightest_jobs(snapshot, pools, weights if weighed else None, instances) == least


def test_least_price_of_all_packings() -> None:
    """Fewest partial nodes, and the most empty ones among those, by trying every placement."""
    rng = random.Random(3)
    for _ in range(60):
        world = random_world(rng)
        if len({node.pool for node in world.nodes}) > 1 or not all(one.movable for one in world.instances):
            continue
        if not all(world.takes):
            continue
        nodes = Counter(NodeClass(node.gpus, 0, node.gpus) for node in world.nodes)
        problem = PackingProblem.build(nodes, Counter(one.gpus for one in world.instances))
        rank = {
            (
                world.partial(places),
                -sum(used == 0 < node.gpus for used, node in zip(world.used(places), world.nodes, strict=True)),
            )
            for places, _ in placements(world)
        }
        partial, empty = min(rank)
        price = least_price(problem, lambda kind, load: 10 * kind.is_partial(load) - kind.is_empty(load))
        assert price == 10 * partial + empty
        assert fewest_partial(problem) == partial
        bound = most_empty(problem, partial)
        assert (bound is None) is (len(nodes) > 1)
        assert bound is None or bound >= -empty
        assert least_price(problem, lambda _, __: 0, max_steps=0) is None
