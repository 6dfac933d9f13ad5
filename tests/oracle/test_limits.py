"""Limits that pools share: the cheapest division, by trying all of them, and the arguments that prove it."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from oracle.optimum.limits import PoolCosts, attained, divide, proved, together
from oracle.optimum.node_classes import constrained_problem
from oracle.optimum.pools import PoolsSearch
from oracle.optimum.proof import NEVER, Line
from oracle.optimum.solver import Deadline
from tests.oracle.brute_moves import random_world
from tests.oracle.facts import Facts

if TYPE_CHECKING:
    from oracle.optimum.limits import Costs


def _pool(rng: random.Random) -> Costs:
    costs = sorted((rng.randint(0, 9) for _ in range(rng.randint(1, 5))), reverse=True)
    return np.array([*costs, 0], np.int64)


def test_the_cheapest_division() -> None:
    rng = random.Random(1)
    for _ in range(200):
        pools = [_pool(rng) for _ in range(rng.randint(1, 3))]
        costs = together(pools)
        assert len(costs) == sum(map(len, pools)) - len(pools) + 1
        for allowed in range(len(costs) + 2):
            possible = [
                sum(int(pool[k]) for pool, k in zip(pools, division, strict=True))
                for division in product(*(range(len(pool)) for pool in pools))
                if sum(division) <= allowed
            ]
            found = divide(pools, allowed)
            assert sum(found) <= allowed
            assert sum(int(pool[k]) for pool, k in zip(pools, found, strict=True)) == min(possible)
            assert costs[min(allowed, len(costs) - 1)] == min(possible)


def test_no_pool_has_no_migrations() -> None:
    assert together([]).tolist() == [0]
    assert divide([], 0) == []


def test_the_cheapest_of_some_plans() -> None:
    rng = random.Random(3)
    for _ in range(200):
        plans = [(rng.randint(0, 9), rng.randint(0, 9)) for _ in range(rng.randint(0, 6))]
        limits = range(first := rng.randint(0, 5), first + rng.randint(1, 5))
        expected = [min((moves for partial, moves in plans if partial <= k), default=NEVER) for k in limits]
        assert attained(plans, limits).tolist() == expected


def test_what_lines_prove_however_long_their_numbers() -> None:
    """Numbers of a stored argument may be any; each limit is bounded as by reckoning with Python's own integers."""
    rng = random.Random(4)
    for _ in range(400):
        far = 10 ** rng.choice([1, 2, 15, 18, 19, 40])
        lines = [
            Line(rng.choice([0, 1, rng.randrange(far)]), rng.choice([0, 1, rng.randrange(far)]), rng.randint(-far, far))
            for _ in range(rng.randint(1, 3))
        ]
        limits = range(first := rng.randint(0, 5), first + rng.randint(1, 20))
        expected = [min(NEVER, *(line.arrivals(limit) for line in lines)) for limit in limits]
        assert proved(lines, limits).tolist() == expected


def test_arguments_prove_the_fewest_moves_of_all_pools() -> None:
    """What is found for each pool proves the bound for all of them; and it is true, by trying every placement."""
    rng = random.Random(2)
    several = 0
    for _ in range(150):
        world = random_world(rng)
        facts = Facts(world)
        search = PoolsSearch([constrained_problem(nodes) for nodes in world.snapshot().contents.values()], Deadline())
        plans = search.cheapest(search.fewest).plans
        for limit in range(search.fewest, search.present + 1):
            least = facts.moves_to(limit)
            assert least is not None
            assert search.cheapest(limit).migrations == least
            started = [PoolCosts.of(*one) for one in zip(search.inherent, plans, strict=True)]
            more = search.arguments([(limit, least)], beside=plans)
            several += any(more)
            for p, arguments in enumerate(more):
                for argument in arguments:
                    started[p] = started[p].with_argument(argument)
            assert together(pool.least for pool in started)[limit - search.lowest] == least
        assert search.fewest == facts.partial_after(None, live=False)
    assert several > 3
