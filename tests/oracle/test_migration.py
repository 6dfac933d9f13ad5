"""Fewest migrations: against every placement of small clusters and a plain program on larger ones; and in parts."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict, cast

import pytest

import oracle.optimum.pools
import oracle.optimum.search
from benchmarks.cp_sat import solve_by_cp_sat
from benchmarks.pattern_model import pairs_program
from oracle.optimum.certificate import Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.node_classes import (
    NodeClass,
    PackingProblem,
    PlacedProblem,
    constrained_problem,
    count_partial,
    packing,
)
from oracle.optimum.pools import PoolsSearch
from oracle.optimum.proving import Prover
from oracle.optimum.solver import Deadline, IntegerAnswer, Outcome, Program, SolverError
from oracle.optimum.weights import Branch, SolverProof, Weights
from oracle.snapshots.document import Document
from oracle.snapshots.native import read_native
from tests.oracle import brute_force, every_placement
from tests.oracle.every_placement import NEVER
from tests.oracle.small_pools import GAP, clusters, fewest_migrations, snapshot_of, uniform

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from oracle.optimum.exact import PoolOptimum
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.node_classes import Packing
    from oracle.snapshots.model import Pattern
    from tests.oracle.every_placement import Costs

DEMANDS = {"common": (35, 20, 4, 20, 3, 5, 3, 10), "awkward": (2, 10, 20, 5, 20, 18, 20, 5), "uniform": (1,) * 8}


def small_pools(count: int, seed: int) -> Iterator[tuple[PlacedProblem, Costs]]:
    """Yield pools of small clusters with the fewest migrations for every limit on partial nodes."""
    for cluster in clusters(count, seed):
        for pool, contents in snapshot_of(cluster).contents.items():
            yield constrained_problem(contents), every_placement.fewest_migrations(cluster, pool)


def uniform_pool(nodes: int, demands: str, seed: int, capacity: int = 8) -> PlacedProblem:
    """Return nodes of one capacity, filled at random."""
    rng = random.Random(seed)
    held: Counter[Pattern] = Counter()
    for _ in range(nodes):
        here: list[int] = []
        while rng.random() < 0.9 and sum(here) < capacity:
            demand = rng.choices(range(1, 9), DEMANDS[demands])[0]
            here += [demand] if sum(here) + demand <= capacity else []
        held[tuple(sorted(here, reverse=True))] += 1
    counts = Counter(demand for pattern, count in held.items() for demand in pattern * count)
    problem = PackingProblem.build({NodeClass(capacity, 0, capacity): nodes}, counts)
    return PlacedProblem(problem, packing({(0, pattern): count for pattern, count in held.items()}))


def along(placed: PlacedProblem, *, seconds: float | None = None) -> list[MigrationCertificate]:
    """Return the cheapest plans of a pool from the partial nodes of today down to the fewest."""
    search = PoolsSearch([placed], Deadline(seconds))
    return [search.cheapest(limit).plans[0] for limit in range(search.present, search.fewest - 1, -1)]


def plain_optimum(placed: PlacedProblem, limit: int) -> int | None:
    """Return the fewest migrations as CP-SAT finds them with every column; None if it says there is no plan."""
    answer = solve_by_cp_sat(pairs_program(placed, limit))
    assert answer.outcome in {Outcome.OPTIMAL, Outcome.INFEASIBLE}
    return answer.bound


def assert_optimal(found: MigrationCertificate, limit: int, migrations: int) -> None:
    found.verify()
    assert found.max_partial_nodes <= limit
    assert (found.status, found.lower_bound, found.migrations) == (Status.OPTIMAL, migrations, migrations)
    assert found.partial_nodes <= limit


def assert_agrees(placed: PlacedProblem, costs: Costs) -> None:
    """Every limit from none to all nodes, each on its own and one after the other."""
    now = count_partial(placed.problem, placed.current)
    fewest = next(k for k, cost in enumerate(costs) if cost < NEVER)
    search = PoolsSearch([placed], Deadline())
    assert (search.lowest, search.fewest, search.present) == (fewest, fewest, now)
    for limit, cost in enumerate(costs[fewest:], fewest):
        assert_optimal(fewest_migrations(placed, limit), limit, cost)
    assert [(plan.max_partial_nodes, plan.migrations, plan.status) for plan in along(placed)] == [
        (limit, costs[limit], Status.OPTIMAL) for limit in range(now, fewest - 1, -1)
    ]


class TestAgainstEveryPlacement:
    """Φ* and the fewest migrations for every limit are those of trying every placement."""

    @pytest.mark.long
    def test_300_small_clusters(self) -> None:
        for placed, costs in small_pools(300, seed=1):
            assert_agrees(placed, costs)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(100, 106))
    def test_1_000_small_clusters(self, seed: int) -> None:
        for placed, costs in small_pools(1_000, seed):
            assert_agrees(placed, costs)


class TestLargerClusters:
    """Where placements are too many to try, a plain program with every column finds the same number."""

    @pytest.mark.long
    @pytest.mark.parametrize("demands", DEMANDS)
    @pytest.mark.parametrize("nodes", [9, pytest.param(20, marks=pytest.mark.slow)])
    def test_plain_program(self, demands: str, nodes: int) -> None:
        for seed in range(6):
            placed = uniform_pool(nodes, demands, seed)
            found = fewest_migrations(placed)
            assert_optimal(found, found.max_partial_nodes, found.migrations)
            assert plain_optimum(placed, found.max_partial_nodes) == found.migrations

    def test_limits_between(self) -> None:
        placed = uniform_pool(30, "awkward", seed=5)
        for plan in along(placed)[::3]:
            assert plan.status is Status.OPTIMAL
            assert plain_optimum(placed, plan.max_partial_nodes) == plan.migrations

    @pytest.mark.parametrize(("nodes", "demands"), [(12_500, "common"), (20_000, "uniform"), (1_250, "awkward")])
    def test_many_nodes_are_settled_with_a_proof_that_can_be_checked(self, nodes: int, demands: str) -> None:
        found = fewest_migrations(uniform_pool(nodes, demands, seed=1))
        assert_optimal(found, found.max_partial_nodes, found.lower_bound)
        assert found.holds()

    def test_nodes_of_16_gpus(self) -> None:
        found = fewest_migrations(uniform_pool(60, "common", seed=3, capacity=16))
        assert_optimal(found, found.max_partial_nodes, found.lower_bound)

    def test_equal_pools_get_equal_answers(self) -> None:
        assert fewest_migrations(uniform_pool(300, "uniform", 7)) == fewest_migrations(uniform_pool(300, "uniform", 7))


class Case(TypedDict):
    id: str
    snapshot: dict[str, object]
    expected: dict[str, int | None]


@pytest.mark.real_data
def test_every_collected_case_has_the_expected_migrations(real_data: Path) -> None:
    cases = cast("list[Case]", json.loads((real_data / "cases.json").read_bytes()))
    assert cases
    for case in cases:
        snapshot = read_native(Document(case["id"], json.dumps(case["snapshot"]).encode()))
        found = [fewest_migrations(constrained_problem(nodes)) for nodes in snapshot.contents.values()]
        assert sum(pool.migrations for pool in found) == case["expected"]["fewest_migrations"], case["id"]
        assert all(pool.status is Status.OPTIMAL for pool in found)
        assert all(pool.holds() for pool in found)


class TestOneLimitAfterTheOther:
    """From today's partial nodes to Φ*; each limit has a plan that does what it says."""

    @pytest.mark.long
    def test_migrations_never_fall_as_fewer_partial_nodes_are_allowed(self) -> None:
        for seed in range(10):
            migrations = [plan.migrations for plan in along(uniform_pool(80, "uniform", seed))]
            assert migrations[0] == 0
            assert migrations == sorted(migrations)

    def test_one_more_partial_node_removed_may_cost_less_than_the_one_before(self) -> None:
        costs = [costs for _, costs in small_pools(300, seed=1) if NEVER not in costs]
        steps = [[former - latter for former, latter in pairwise(found)] for found in costs]
        assert any(former < latter for step in steps for former, latter in pairwise(step))

    @pytest.mark.long
    def test_their_plans(self) -> None:
        for plan in along(uniform_pool(120, "awkward", seed=4)):
            plan.verify()
            assert plan.recheckable
            assert count_partial(plan.problem, plan.packing) <= plan.max_partial_nodes

    def test_without_time_each_has_both_bounds(self) -> None:
        for placed, costs in small_pools(60, seed=8):
            for plan in along(placed, seconds=0):
                assert plan.lower_bound <= costs[plan.max_partial_nodes] <= plan.migrations
                assert (plan.status is Status.OPTIMAL) == (plan.lower_bound == plan.migrations)


class TestSeveralPools:
    """One limit for all pools: divided among them in the best way."""

    def test_partial_nodes_and_migrations_are_divided_as_by_trying_all(self) -> None:
        rng = random.Random(9)
        for _ in range(60):
            parts = [brute_force.random_cluster(rng) for _ in range(rng.randint(1, 3))]
            pools = [
                (constrained_problem(contents), every_placement.fewest_migrations(part, pool))
                for part in parts
                for pool, contents in snapshot_of(part).contents.items()
            ]
            costs = every_placement.combined([cost for _, cost in pools])
            search = PoolsSearch([placed for placed, _ in pools], Deadline())
            for limit in range(search.fewest, search.present + 1):
                plan = search.cheapest(limit)
                assert plan.status is Status.OPTIMAL
                assert plan.migrations == costs[limit]
                assert plan.partial_nodes <= limit
            for most in range(costs[search.fewest] + 2):
                plan, bound = search.fewest_partial_nodes(most)
                assert plan.partial_nodes == bound == next(k for k, cost in enumerate(costs) if cost <= most)
                assert plan.migrations == costs[bound]

    def test_fewer_than_the_fewest(self) -> None:
        search = PoolsSearch([uniform_pool(10, "uniform", 1)], Deadline())
        with pytest.raises(ValueError, match="no plan"):
            search.cheapest(search.fewest - 1)

    def test_without_time_bounds_enclose_the_optimum(self) -> None:
        for placed, costs in small_pools(60, seed=10):
            search = PoolsSearch([placed], Deadline(0))
            plan = search.cheapest(search.fewest)
            assert plan.lower_bound <= costs[search.fewest] <= plan.migrations
            plan, bound = search.fewest_partial_nodes(1)
            assert bound <= next(k for k, cost in enumerate(costs) if cost <= 1)
            assert plan.migrations <= 1


class TestOutOfTime:
    """Giving up is neither "optimal" nor "impossible"."""

    def test_without_time_the_bounds_enclose_the_optimum(self) -> None:
        for placed, costs in small_pools(100, seed=3):
            found = fewest_migrations(placed, seconds=0)
            found.verify()
            assert found.lower_bound <= costs[found.partial_nodes] <= found.migrations
            assert (found.status is Status.OPTIMAL) == (found.lower_bound == found.migrations)

    def test_a_limit_that_may_be_possible_is_not_called_impossible(self) -> None:
        demands = {2 * demand: count for demand, count in GAP.items()}  # on nodes of 16 GPUs: no closed form
        nodes: dict[tuple[int, Pattern], int] = {(0, (demand,)): count for demand, count in demands.items()}
        held = packing({**nodes, (0, ()): 20 - sum(demands.values())})
        placed = PlacedProblem(uniform(demands, 20, capacity=16), held)
        open_, settled = PoolsSearch([placed], Deadline(0)), PoolsSearch([placed], Deadline())
        assert open_.lowest <= 1 < open_.fewest
        assert settled.lowest == settled.fewest == 2
        assert_optimal(fewest_migrations(placed), 2, plain_optimum(placed, 2) or 0)

    def test_a_pool_that_may_have_fewer_partial_nodes_may_leave_more_to_the_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Time that runs out before Φ* of a pool is settled makes no bound on all of them false.

        One move empties a node of the first pool and fills the other; the second pool then has two partial nodes to
        spare, which saves two of its six moves.
        """
        one = PlacedProblem(PackingProblem.build({NodeClass(8, 0, 8): 2}, {4: 2}), packing({(0, (4,)): 2}))
        other = PlacedProblem(PackingProblem.build({NodeClass(8, 0, 8): 4}, {1: 8}), packing({(0, (1, 1)): 4}))
        assert PoolsSearch([one, other], Deadline()).cheapest(2).migrations == 5

        def early(
            problem: PackingProblem, *, start: Packing | None, time_limit: float | None, prefer_empty: bool
        ) -> PoolOptimum:
            solved = solve_pool(problem, start=start, time_limit=time_limit, prefer_empty=prefer_empty)
            if problem != one.problem:
                return solved
            known = replace(
                solved.certificate, packing=one.current, partial_nodes=2, lower_bound=0, status=Status.UNKNOWN
            )
            return replace(solved, certificate=known)

        monkeypatch.setattr(oracle.optimum.pools, "solve_pool", early)
        search = PoolsSearch([one, other], Deadline())
        assert (search.lowest, search.fewest) == (0, 2)
        assert search.cheapest(2).lower_bound <= 5
        assert search.fewest_partial_nodes(5)[1] <= 2


def nothing(*_: object) -> None:
    """Stand in for a search that finds nothing."""


class TestEveryStageIsExact:
    """What one stage does not settle, the next ones settle to the same number."""

    @pytest.mark.parametrize("without", ["weights", "tree"])
    def test_same_numbers_with_a_tool_missing(self, without: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Prover, without, nothing)
        for placed, costs in small_pools(60, seed=4):
            assert_agrees(placed, costs)

    def test_what_only_a_solver_proves_is_marked_as_its_word(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Prover, "tree", nothing)
        arguments = [fewest_migrations(placed) for placed, _ in small_pools(300, seed=1)]
        claimed = [certificate for certificate in arguments if isinstance(certificate.argument, SolverProof)]
        assert claimed
        for certificate in claimed:
            certificate.verify()
            assert not certificate.recheckable
            assert not certificate.holds()

    def test_a_solver_that_stops_early_settles_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def stopped(_program: Program, _deadline: Deadline) -> IntegerAnswer:
            return IntegerAnswer(Outcome.GAVE_UP, (), None, "a solver")

        monkeypatch.setattr(oracle.optimum.search, "solve_integers", stopped)
        open_ = 0
        for placed, costs in small_pools(300, seed=1):
            found = fewest_migrations(placed)
            open_ += found.status is Status.UNKNOWN
            assert found.lower_bound <= costs[found.max_partial_nodes] <= found.migrations
        assert open_

    def test_a_solver_that_returns_nonsense_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def wrong(program: Program, _deadline: Deadline) -> IntegerAnswer:
            return IntegerAnswer(Outcome.OPTIMAL, (1,) * len(program.costs), 0, "a solver")

        monkeypatch.setattr(oracle.optimum.search, "solve_integers", wrong)
        with pytest.raises(SolverError, match="none"):
            fewest_migrations(uniform_pool(40, "uniform", seed=1))

    @pytest.mark.long
    def test_weights_alone_prove_most_and_trees_the_rest(self) -> None:
        arguments = [fewest_migrations(placed).argument for placed, _ in small_pools(600, seed=6)]
        kinds = Counter(map(type, arguments))
        assert kinds[Weights] > kinds[Branch] > 0
        assert 100 * kinds[SolverProof] < len(arguments)
