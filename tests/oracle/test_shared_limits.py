"""A limit that pools share: the cheapest division, by trying all of them, and the arguments that prove it."""

from __future__ import annotations

import random
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from oracle.optimum.migration import start_search
from oracle.optimum.node_classes import PackingProblem, PlacedProblem, constrained_problem
from oracle.optimum.shared_limits import PoolCosts, cheapest_division, further_arguments, prove
from oracle.optimum.solver import Deadline
from tests.oracle.brute_moves import random_world
from tests.oracle.facts import Facts

if TYPE_CHECKING:
    from oracle.optimum.certificate import Certificate
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.search import PlanSearch

NOTHING = PlacedProblem(PackingProblem((), (), ()), ())


def _pool(rng: random.Random) -> PoolCosts:
    costs = sorted((rng.randint(0, 9) for _ in range(rng.randint(1, 5))), reverse=True)
    return PoolCosts(NOTHING, rng.randint(0, 3), np.array([*costs, 0], np.int64))


def _settled(searches: list[tuple[PlanSearch, Certificate]], p: int, limit: int) -> MigrationCertificate:
    search, inherent = searches[p]
    return search.settle(max(limit, inherent.partial_nodes))


def test_the_cheapest_division() -> None:
    rng = random.Random(1)
    for _ in range(200):
        pools = [_pool(rng) for _ in range(rng.randint(1, 3))]
        fewest = sum(pool.fewest for pool in pools)
        most = fewest + sum(len(pool.least) for pool in pools)
        for limit in range(fewest - 1, most + 2):
            limits = product(*(range(pool.fewest, pool.fewest + len(pool.least) + 1) for pool in pools))
            possible = [
                sum(pool.at(own) for pool, own in zip(pools, division, strict=True))
                for division in limits
                if sum(division) <= limit
            ]
            found = cheapest_division(pools, limit)
            assert (None if found is None else found[0]) == min(possible, default=None)
            if found is not None:
                assert sum(found[1]) <= limit
                assert sum(pool.at(own) for pool, own in zip(pools, found[1], strict=True)) == found[0]


def test_no_pool_has_no_migrations() -> None:
    assert cheapest_division([], 0) == (0, ())
    assert cheapest_division([], -1) is None


def test_arguments_prove_the_fewest_moves_of_all_pools() -> None:
    """What is found for each pool proves the bound for all of them; and it is true, by trying every placement."""
    rng = random.Random(2)
    several = 0
    for _ in range(60):
        world = random_world(rng)
        facts = Facts(world)
        searches = [
            start_search(constrained_problem(nodes), None, Deadline()) for nodes in world.snapshot().contents.values()
        ]
        certificates = [(inherent, search.settle(inherent.partial_nodes)) for search, inherent in searches]
        started = [PoolCosts.start(*one) for one in certificates]
        for limit in range(facts.partial_after(None, live=False), world.partial(world.start) + 1):
            least = facts.moves_to(limit)
            assert least is not None
            settled = partial(_settled, searches)
            proved = cheapest_division(prove(started, [(limit, least)], settled), limit)
            assert proved is not None
            assert proved[0] == least
            more = further_arguments(certificates, [(limit, least)], settled)
            several += sum(map(len, more)) > 0
    assert several > 5
