"""Φ* against exhaustive search, its bounds when time runs out, and every stage of the search on its own."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle.optimum.exact
import oracle.optimum.parts
import oracle.optimum.proving
import oracle.optimum.search
from benchmarks.cp_sat import solve_by_cp_sat
from benchmarks.pattern_model import PatternModel
from oracle.optimum.certificate import Certificate, CertificateError, Status, check_packing
from oracle.optimum.exact import InfeasibleError, UndecidedError, WorkloadError, inherent_partial_nodes, solve_pool
from oracle.optimum.load_bound import LoadBound
from oracle.optimum.model import Model, Pool
from oracle.optimum.node_classes import (
    NodeClass,
    PackingProblem,
    constrained_problem,
    count_empty,
    count_partial,
    ideal_problem,
    packing,
)
from oracle.optimum.solver import (
    Deadline,
    IntegerAnswer,
    Outcome,
    Program,
    Row,
    SolverError,
    TimeLimitError,
    solve_integers,
    solve_relaxation,
)
from oracle.optimum.weights import Branch, SolverProof, Weights
from tests.core.naive import OverbookedError, fewest_partial_nodes
from tests.oracle import brute_force
from tests.oracle.small_pools import (
    GAP,
    clusters,
    no_bound,
    no_packing,
    nothing_is_uniform,
    snapshot_of,
    uniform,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oracle.optimum.exact import PoolOptimum
    from oracle.optimum.node_classes import Packing, PlacedProblem
    from oracle.snapshots.model import NodeContent, Pattern


def optima(placed: Iterable[PlacedProblem]) -> list[PoolOptimum]:
    return [solve_pool(pool.problem, start=pool.current) for pool in placed]


def score(found: list[PoolOptimum]) -> brute_force.Score:
    return sum(optimum.partial_nodes for optimum in found), -sum(optimum.empty_nodes for optimum in found)


def assert_agrees(cluster: brute_force.Cluster) -> None:
    pools: list[tuple[NodeContent, ...]] = list(snapshot_of(cluster).contents.values())
    for found, expected in (
        (optima(map(constrained_problem, pools)), brute_force.inherent(cluster)),
        (optima(map(ideal_problem, pools)), brute_force.ideal(cluster)),
    ):
        assert score(found) == expected, cluster
        for optimum in found:
            optimum.certificate.verify()
            assert optimum.certificate.recheckable
            assert optimum.status is Status.OPTIMAL
            assert optimum.empty_nodes_status is Status.OPTIMAL
            assert optimum.lower_bound == optimum.partial_nodes
            assert optimum.empty_nodes == count_empty(optimum.certificate.problem, optimum.packing)


class TestAgainstExhaustiveSearch:
    """Both optima, and the most empty nodes among their packings, are those of trying every placement."""

    @pytest.mark.long
    def test_500_small_clusters(self) -> None:
        for cluster in clusters(500, seed=1):
            assert_agrees(cluster)

    @pytest.mark.slow
    def test_10_000_small_clusters(self) -> None:
        for cluster in clusters(10_000, seed=2):
            assert_agrees(cluster)


@pytest.fixture(params=["flows instead of patterns", "no greedy packing", "no greedy packing, flows", "no load bound"])
def handicap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take one of the search's tools away, so that the others have to do its work."""
    which = str(request.param)
    if "flows" in which:
        monkeypatch.setattr(oracle.optimum.parts, "MAX_PARTS", 0)
    if "no greedy" in which:
        monkeypatch.setattr(oracle.optimum.exact, "greedy_packing", no_packing)
    if "no load bound" in which:
        monkeypatch.setattr(oracle.optimum.exact, "load_bound", no_bound)
    return which


@pytest.fixture
def without_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send uniform pools, too, through the search, whose stages they show best."""
    monkeypatch.setattr(oracle.optimum.exact, "is_uniform", nothing_is_uniform)


@pytest.mark.usefixtures("without_closed_form")
class TestEveryStageIsExact:
    """What one stage of the search does not settle, the next ones settle to the same value."""

    @pytest.mark.long
    def test_same_optima_with_a_tool_missing(self, handicap: str) -> None:
        for cluster in clusters(60, seed=3):
            pools = [constrained_problem(contents) for contents in snapshot_of(cluster).contents.values()]
            found = [solve_pool(pool.problem) for pool in pools]
            assert score(found) == brute_force.inherent(cluster), (handicap, cluster)

    def test_patterns_that_are_listed_and_flows_give_the_same(self) -> None:
        rng = random.Random(4)
        for _ in range(20):
            demands = {rng.randint(1, 12): rng.randint(1, 6) for _ in range(4)}
            kinds = {NodeClass(12, held, 12 - held): rng.randint(1, 4) for held in (0, 0, 3, 5)}
            kinds[NodeClass(6, 0, 0, (3, 2, 2))] = 1
            demands |= {demand: demands.get(demand, 0) + count for demand, count in ((3, 1), (2, 2))}
            problem = PackingProblem.build(kinds, demands)
            model = Model([Pool.unplaced(problem)])
            answer = solve_integers(model.program(model.partial))
            values = {(answer.outcome, answer.bound)}
            for limit in (0, 10_000):
                peer = PatternModel(problem, max_patterns=limit)
                answer = solve_by_cp_sat(peer.program(NodeClass.is_partial))
                values.add((answer.outcome, answer.bound))
                if answer.values:
                    packed = peer.decode(answer.values)
                    check_packing(problem, packed)
                    assert count_partial(problem, packed) == answer.bound
            assert len(values) == 1, problem

    @pytest.mark.parametrize(
        ("demands", "argument"),
        [({1: 9}, LoadBound), ({7: 2, 3: 2}, Weights), (GAP, Branch)],
        ids=["remainder", "weights", "gap between them"],
    )
    def test_the_simplest_argument_that_suffices_is_given(self, demands: dict[int, int], argument: type) -> None:
        assert isinstance(solve_pool(uniform(demands, 20)).certificate.argument, argument)

    def test_the_size_of_the_model_does_not_depend_on_the_number_of_nodes(self) -> None:
        few, many = (Model([Pool.unplaced(uniform(GAP, nodes))]) for nodes in (20, 20_000_000))
        assert few.size == many.size

    def test_equal_problems_get_equal_answers(self) -> None:
        assert solve_pool(uniform(GAP, 20)) == solve_pool(uniform(dict(reversed(GAP.items())), 20))

    def test_a_hundred_thousand_gpus(self) -> None:
        demands = {1: 9_001, 2: 7_003, 3: 5_005, 4: 3_001, 5: 1_999, 6: 1_501, 7: 801, 8: 2_000}
        optimum = solve_pool(uniform(demands, 12_500))
        optimum.certificate.verify()
        assert optimum.status is Status.OPTIMAL


class TestUniformCluster:
    """`inherent_partial_nodes`: counts by demand, one capacity, with or without a limit on nodes."""

    @pytest.mark.parametrize(
        ("counts", "expected"),
        [
            ((), 0),
            ((0, 0, 0, 0, 0, 0, 0, 0), 0),
            ((8,), 0),
            ((9,), 1),
            ((0, 0, 5), 3),  # two on a node, never full
            ((0, 0, 0, 0, 0, 0, 8), 8),  # kueue#6214: eight 7-GPU instances
            ((0, 0, 2, 2), 1),  # claim P9: {4,4},{3,3}, not {4,3},{4,3}
            ((0, 4, 0, 4), 0),
            ((0, 0, 4, 0, 0, 0, 0, 0), 2),  # claim P10 without its twos
            ((0, 4, 4), 1),  # claim P10: {3,3,2} leaves 3, 3, 2, 2, 2 of which 8 fill a node again
        ],
    )
    def test_known_values(self, counts: tuple[int, ...], expected: int) -> None:
        assert inherent_partial_nodes(counts) == expected

    def test_other_capacities(self) -> None:
        assert inherent_partial_nodes((1, 0, 1), capacity=4) == 0
        assert inherent_partial_nodes((0, 0, 0, 0, 0, 3), capacity=16) == 2

    def test_too_few_nodes(self) -> None:
        assert inherent_partial_nodes((0, 0, 0, 0, 3), nodes=3) == 3
        with pytest.raises(InfeasibleError, match="do not fit"):
            inherent_partial_nodes((0, 0, 0, 0, 3), nodes=2)
        with pytest.raises(InfeasibleError, match="do not fit"):
            inherent_partial_nodes((1,), nodes=0)

    @pytest.mark.parametrize(
        ("counts", "options", "said"),
        [
            ((1, -1), {}, "-1"),
            ((0,) * 9, {}, "at most 8"),
            ((1,), {"nodes": -1}, "nodes"),
            ((), {"capacity": 0}, "capacity"),
            ((), {"capacity": 1025}, "1025"),
            ((10**30,) * 8, {}, "0 to 1000000000 instances of 1 GPUs"),
            ((1.5,), {}, "whole numbers"),
            ({1: 2}, {}, "mapping"),
        ],
    )
    def test_numbers_out_of_range(
        self,
        counts: Any,  # noqa: ANN401 - wrong types are meant
        options: dict[str, int],
        said: str,
    ) -> None:
        with pytest.raises(WorkloadError, match=said):
            inherent_partial_nodes(counts, **options)


def fits(counts: list[int], nodes: int) -> bool:
    try:
        fewest_partial_nodes(counts, 8, nodes)
    except OverbookedError:
        return False
    return True


@pytest.mark.usefixtures("without_closed_form")
class TestOutOfTime:
    """Giving up is neither "optimal" nor "impossible": the status is UNKNOWN and both bounds are true."""

    def test_without_time_the_bounds_enclose_the_optimum(self) -> None:
        for cluster in clusters(100, seed=5):
            expected, _ = brute_force.inherent(cluster)
            pools = [constrained_problem(contents) for contents in snapshot_of(cluster).contents.values()]
            found = [solve_pool(pool.problem, start=pool.current, time_limit=0) for pool in pools]
            assert sum(o.lower_bound for o in found) <= expected <= sum(o.partial_nodes for o in found)
            for optimum in found:
                optimum.certificate.verify()
                assert (optimum.status is Status.OPTIMAL) == (optimum.lower_bound == optimum.partial_nodes)

    def test_an_open_gap_is_unknown(self) -> None:
        optimum = solve_pool(uniform(GAP, 20), time_limit=0)
        assert optimum.status is Status.UNKNOWN
        assert optimum.empty_nodes_status is Status.UNKNOWN
        assert optimum.lower_bound < optimum.partial_nodes
        optimum.certificate.verify()

    def test_no_packing_in_time_is_not_called_impossible(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.optimum.exact, "greedy_packing", no_packing)
        with pytest.raises(UndecidedError):
            solve_pool(uniform(GAP, 20), time_limit=0)

    def test_a_bound_the_solver_claims_is_marked_as_such(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.optimum.proving, "MAX_LEAVES_AND_BRANCHES", 1)
        certificate = solve_pool(uniform(GAP, 20)).certificate
        assert isinstance(certificate.argument, SolverProof)
        assert "SCIP" in certificate.argument.solver
        assert not certificate.recheckable
        assert not certificate.holds()
        certificate.verify()

    def test_a_solver_that_stops_early_settles_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stopped = IntegerAnswer(Outcome.GAVE_UP, (), None, "a solver")
        monkeypatch.setattr(oracle.optimum.search, "solve_integers", answering(stopped))
        monkeypatch.setattr(oracle.optimum.exact, "greedy_packing", no_packing)
        problem = uniform(GAP, 20)
        optimum = solve_pool(problem, start=_one_each(problem))
        assert optimum.status is Status.UNKNOWN
        assert optimum.lower_bound < optimum.partial_nodes
        optimum.certificate.verify()

    def test_a_deadline_that_is_over(self) -> None:
        program = Model([Pool.unplaced(uniform(GAP, 20))]).program(())
        assert solve_integers(program, Deadline(0)).outcome is Outcome.GAVE_UP
        assert solve_relaxation(program, Deadline(0)) is None
        assert solve_integers(program, Deadline(60)).values
        assert solve_relaxation(program, Deadline(60)) is not None


def answering(answer: IntegerAnswer) -> Callable[[Program, Deadline], IntegerAnswer]:
    """Stand in for `solve_integers`."""
    return lambda _program, _deadline: answer


def _one_each(problem: PackingProblem) -> Packing:
    """Return the packing with every instance on a node of its own, the rest of the nodes empty."""
    nodes: dict[tuple[int, Pattern], int] = {(0, (demand,)): count for demand, count in problem.demands}
    return packing({**nodes, (0, ()): problem.nodes[0] - sum(nodes.values())})


class TestOvercommittedNodes:
    def test_one_that_may_be_full_in_several_ways(self) -> None:
        # The node of 2 keeps 3 + 2 GPUs or 3; only a tree that tells these apart proves that 1 partial node is needed.
        kinds = {NodeClass(2, 0, 0, (3, 2)): 1, NodeClass(2, 0, 2): 4}
        optimum = solve_pool(PackingProblem.build(kinds, {3: 1, 2: 1, 1: 3}))
        assert optimum.partial_nodes == 1
        assert optimum.certificate.holds()

    def test_absurd_demands(self) -> None:
        own = tuple(10**9 + 2**i for i in range(30, -1, -1))
        problem = PackingProblem.build(
            {NodeClass(8, 0, 0, own): 1, NodeClass(8, 0, 8): 2}, dict.fromkeys(own, 1) | {3: 1}
        )
        optimum = solve_pool(problem, start=packing({(0, own): 1, (1, (3,)): 1, (1, ()): 1}))
        assert (optimum.partial_nodes, optimum.status) == (1, Status.OPTIMAL)
        optimum.certificate.verify()


@pytest.mark.usefixtures("without_closed_form")
class TestWhatSolversReturnIsChecked:
    def test_an_infeasible_program_is_not_called_invalid(self) -> None:
        # OR-Tools' MIP presolve turns "no packing without partial nodes" into a row with an empty domain here.
        kinds = {NodeClass(gpus, 0, gpus): nodes for gpus, nodes in ((4, 2), (7, 3), (8, 9), (16, 6))}
        optimum = solve_pool(PackingProblem.build(kinds, {5: 1, 4: 4, 2: 6}))
        assert (optimum.partial_nodes, optimum.status) == (1, Status.OPTIMAL)
        assert optimum.certificate.holds()

    def test_a_start_that_is_no_packing(self) -> None:
        with pytest.raises(CertificateError, match="class 0 has 20 nodes"):
            solve_pool(uniform(GAP, 20), start=())

    def test_a_solution_that_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.optimum.exact, "greedy_packing", no_packing)
        columns = Model([Pool.unplaced(uniform(GAP, 20))]).size
        wrong = IntegerAnswer(Outcome.OPTIMAL, (1,) * columns, 0, "a solver")
        monkeypatch.setattr(oracle.optimum.search, "solve_integers", answering(wrong))
        with pytest.raises(SolverError, match=r"none|nowhere"):
            solve_pool(uniform(GAP, 20))

    def test_programs_without_solution(self) -> None:
        impossible = Program((1,), (1,), (Row(2, None, ((0, 1),)), Row(None, 1, ((0, 1),))))
        assert solve_integers(impossible).outcome is Outcome.INFEASIBLE
        assert solve_relaxation(impossible) is None


class TestTimeLimit:
    """A limit holds while the model is made, too: it is what takes longest on nodes of hundreds of GPUs."""

    @pytest.mark.parametrize("seconds", [-1.0, math.nan])
    def test_no_number_of_seconds(self, seconds: float) -> None:
        with pytest.raises(TimeLimitError, match="0 seconds or more"):
            Deadline(seconds)

    def test_infinite_is_no_limit(self) -> None:
        assert Deadline(math.inf).seconds_left is None

    def test_the_emptiest_packing_is_not_looked_for_on_huge_nodes(self) -> None:
        problem = PackingProblem.build({NodeClass(size, 0, size): 1 for size in range(400, 420)}, {7: 60, 97: 20})
        optimum = solve_pool(problem)
        assert optimum.status is Status.OPTIMAL
        optimum.certificate.verify()


class TestClosedForm:
    """Pools of 8-GPU nodes on which everything may move are settled without a search."""

    @given(st.dictionaries(st.integers(1, 8), st.integers(1, 12)))
    def test_as_the_search_finds(self, demands: dict[int, int]) -> None:
        problem = uniform(demands, sum(demands.values()) or 1)
        settled = solve_pool(problem)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(oracle.optimum.exact, "is_uniform", nothing_is_uniform)
            searched = solve_pool(problem)
        assert (settled.partial_nodes, settled.empty_nodes) == (searched.partial_nodes, searched.empty_nodes)
        assert settled.certificate.holds()
        assert Certificate.from_json(settled.certificate.to_json()) == settled.certificate

    def test_counts_beyond_any_solver(self) -> None:
        counts = (655990405, 227490284, 241135646, 92603154, 241135642, 227490293, 655990406, 258539049)
        assert inherent_partial_nodes(counts) == 12

    def test_too_few_nodes_is_proved(self) -> None:
        with pytest.raises(InfeasibleError, match="they need 2 at least, there are 1"):
            inherent_partial_nodes((0, 0, 0, 0, 2), nodes=1)

    @given(st.lists(st.integers(0, 3), max_size=8))
    def test_of_counts_alone_as_by_trying_every_packing(self, counts: list[int]) -> None:
        """`inherent_partial_nodes` makes no packing: its value, and on how few nodes it still holds."""
        full = [*counts, *([0] * (8 - len(counts)))]
        fewest_nodes = next(nodes for nodes in range(sum(counts) + 1) if fits(full, nodes))
        expected = fewest_partial_nodes(full, 8, sum(counts))
        assert inherent_partial_nodes(counts) == expected
        for nodes in range(fewest_nodes, sum(counts) + 1):
            assert inherent_partial_nodes(counts, nodes=nodes) == expected
        for nodes in range(fewest_nodes):
            with pytest.raises(InfeasibleError, match=f"they need {fewest_nodes} at least, there are {nodes}"):
                inherent_partial_nodes(counts, nodes=nodes)
