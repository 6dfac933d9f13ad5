"""What is settled by trying everything, and by weights: against the judge that knows every node and instance."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from oracle.node_classes import NodeClass, contents_by_pool
from oracle.rechecking.enumeration import fits_within, least_price
from oracle.rechecking.live_reach import count_partial, fewest_moves, nodes_of
from oracle.rechecking.measurements import most_empty
from oracle.rechecking.plan_bounds import lightest_jobs
from oracle.rechecking.rooms import check_weights
from oracle.rooms.bound import RoomWeights
from oracle.rooms.evidence import RoomEvidence
from oracle.rooms.model import Group, groups_of
from oracle.rooms.move_bound import MoveWeights, weigh_moves
from oracle.solver import Deadline
from tests.oracle.brute_moves import Instance, Node, World, live_frontier, placements, random_job, random_world
from tests.oracle.facts import Facts


@pytest.mark.parametrize("seed", range(4))
def test_live_moves_of_one_pool(seed: int) -> None:
    rng = random.Random(seed)
    tried = 0
    while tried < 15:
        world = random_world(rng)
        contents = contents_by_pool(world.snapshot())
        if len(contents) > 1:
            continue
        tried += 1
        (nodes,) = contents.values()
        assert fewest_moves(nodes_of(nodes), count_partial) == live_frontier(world)


def test_too_many_placements_are_no_answer() -> None:
    world = World((Node(8), Node(8)), (Instance(0, 3, 0), Instance(1, 3, 1)))
    nodes = nodes_of(contents_by_pool(world.snapshot())["a"])
    assert fewest_moves(nodes, count_partial) == {2: 0, 1: 1}
    assert fewest_moves(nodes, count_partial, max_nodes=2) is None


@pytest.mark.parametrize("seed", range(4))
def test_moves_that_make_room(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        world = random_world(rng)
        instances, gpus = random_job(rng, world)
        facts = Facts(world)
        for pool, contents in contents_by_pool(world.snapshot()).items():
            groups = {group: len(names) for group, names in groups_of(contents).items()}
            least = facts.moves_to_room(instances, gpus, pool, live=False)
            for moves in range(4):
                expected = least is not None and least <= moves
                assert fits_within(groups, instances, gpus, moves) is expected
            if least is not None and least > 1:
                weights = weigh_moves(groups, instances, gpus, least, Deadline())
                assert weights is None or weights.bound(groups, instances, gpus) == least


def test_weights_of_moves_never_prove_too_much() -> None:
    """Whatever the weights are, what they prove is true."""
    rng = random.Random(7)
    proved = 0
    for _ in range(200):
        world = random_world(rng)
        instances, gpus = random_job(rng, world)
        facts = Facts(world)
        for pool, contents in contents_by_pool(world.snapshot()).items():
            groups = {group: len(names) for group, names in groups_of(contents).items()}
            least = facts.moves_to_room(instances, gpus, pool, live=False)
            values = tuple((demand, rng.randint(-2, 6)) for demand in range(1, 9))
            weights = MoveWeights(rng.randint(1, 3), rng.randint(0, 8), values)
            bound = weights.bound(groups, instances, gpus) or 0
            proved += bound > 1
            assert least is None or bound <= least
    assert proved > 10


def test_weights_on_nodes_too_large_are_no_answer() -> None:
    nodes = {Group(4000, (1,)): 1}
    assert MoveWeights(1, 1).bound(nodes, 1, 1) is None
    assert weigh_moves(nodes, 1, 4000, 1, Deadline()) is None


@pytest.mark.parametrize(
    "weights", [MoveWeights(0, 1), MoveWeights(1, -1), MoveWeights(1, 1, ((2, 1), (2, 1)))], ids=repr
)
def test_what_are_no_weights(weights: MoveWeights) -> None:
    with pytest.raises(ValueError, match="weights"):
        weights.bound({Group(8, (2,)): 1}, 1, 8)
    assert check_weights(RoomEvidence(pool="a", moves=weights))


@pytest.mark.parametrize(
    "weights", [RoomWeights(0), RoomWeights(1, ((2, 1), (2, 1))), RoomWeights(1, ((-2, 1),))], ids=repr
)
def test_what_are_no_weights_of_room(weights: RoomWeights) -> None:
    assert check_weights(RoomEvidence(pool="a", most=weights))
    assert not check_weights(RoomEvidence(pool="a", most=RoomWeights(1, ((2, 1),)), moves=MoveWeights(1, 0)))


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
        nodes = [(NodeClass(node.gpus, 0, node.gpus), 1) for node in world.nodes]
        sizes = [one.gpus for one in world.instances]
        demands = [(size, sizes.count(size)) for size in sorted(set(sizes))]
        rank = {
            (
                world.partial(places),
                -sum(used == 0 < node.gpus for used, node in zip(world.used(places), world.nodes, strict=True)),
            )
            for places, _ in placements(world)
        }
        partial, empty = min(rank)
        price = least_price(nodes, demands, lambda kind, load: 10 * kind.is_partial(load) - kind.is_empty(load))
        assert price == 10 * partial + empty
        if len({node.gpus for node in world.nodes}) == 1:
            bound = most_empty([(nodes[0][0], len(nodes))], sum(sizes), partial)
            assert bound is None or bound >= -empty
        assert least_price(nodes, demands, lambda _, __: 0, max_steps=0) is None
