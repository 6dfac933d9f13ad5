"""Plans of whole snapshots: limits, modes, protection, frontier; and that what is told of them is checked again."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import pytest

import oracle
import oracle.planning.whose
from compass_core.errors import UnknownJobError
from oracle.measurement.measure import measure
from oracle.moves.replay import replay
from oracle.optimum.certificate import Status
from oracle.optimum.evidence import CertificateError
from oracle.optimum.exact import InfeasibleError
from oracle.optimum.node_classes import PlacedProblem, count_partial
from oracle.optimum.solver import Deadline
from oracle.planning.frontier_search import MAX_POINTS, frontier_of_pools
from oracle.planning.planner import plan
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.verification import ResultError, verify
from tests.oracle.small_pools import clusters, snapshot_of

if TYPE_CHECKING:
    from oracle.planning.planner import Plan


def _snapshot(*pools: dict[str, list[int]]) -> Snapshot:
    """Return a snapshot of 8-GPU nodes, one pool a dictionary from node names to what is on them."""
    nodes = [SnapshotNode(name=name, gpus=8, pool=f"p{p}") for p, pool in enumerate(pools) for name in pool]
    jobs = [
        RunningJob(name=f"{name}/{i}", instances=(RunningInstance(node=name, gpus=gpus),))
        for pool in pools
        for name, held in pool.items()
        for i, gpus in enumerate(held)
    ]
    return Snapshot.build(nodes=nodes, jobs=jobs)


TWO_POOLS = _snapshot({"a": [2], "b": [2], "c": [4]}, {"d": [3, 1], "e": [3, 1], "f": [5]})


def holds(found: Plan, snapshot: Snapshot) -> None:
    data = json.loads(json.dumps(found.to_dict()))
    assert [check for check in verify(data, snapshot) if check.holds is False] == []


class TestPlan:
    def test_reaches_the_fewest_partial_nodes_with_the_fewest_moves(self) -> None:
        found = plan(TWO_POOLS)
        assert found.status is Status.OPTIMAL
        assert (found.partial_nodes_before, found.partial_nodes_after) == (6, 1)
        assert found.partial_nodes_after == measure(TWO_POOLS).inherent_partial_nodes
        assert found.migrations == found.migrations_lower_bound == 4
        assert found.empty_nodes_after - found.empty_nodes_before == 3
        assert all(check.holds for check in verify(found.to_dict(), TWO_POOLS))

    def test_the_public_name(self) -> None:
        assert oracle.plan is plan

    def test_no_name_else(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'mend'"):
            getattr(oracle, "mend")  # noqa: B009 - no checker knows the name

    def test_a_limit_on_partial_nodes_is_divided_among_pools(self) -> None:
        assert [plan(TWO_POOLS, max_partial_nodes=k).migrations for k in range(1, 7)] == [4, 3, 2, 2, 1, 0]

    def test_a_limit_on_migrations(self) -> None:
        found = [plan(TWO_POOLS, max_migrations=m) for m in range(6)]
        assert [one.partial_nodes_after for one in found] == [6, 5, 3, 2, 1, 1]
        assert {one.status for one in found} == {Status.OPTIMAL}
        assert found[5].migrations == 4

    def test_both_limits(self) -> None:
        assert plan(TWO_POOLS, max_partial_nodes=5, max_migrations=3).migrations == 1
        with pytest.raises(InfeasibleError, match="3 migrations leave at least 2 partial nodes, not 1"):
            plan(TWO_POOLS, max_partial_nodes=1, max_migrations=3)

    @pytest.mark.parametrize("mode", ["checkpoint", "live"])
    def test_too_few_partial_nodes(self, mode: str) -> None:
        with pytest.raises(InfeasibleError, match="at least 1 nodes are partial"):
            plan(TWO_POOLS, max_partial_nodes=0, moves=mode)

    @pytest.mark.parametrize("name", ["max_partial_nodes", "max_migrations"])
    def test_negative_limits(self, name: str) -> None:
        limits: dict[str, int] = {name: -1}
        with pytest.raises(ValueError, match=name):
            plan(
                TWO_POOLS,
                max_partial_nodes=limits.get("max_partial_nodes"),
                max_migrations=limits.get("max_migrations"),
            )

    def test_what_is_protected_stays(self) -> None:
        found = plan(TWO_POOLS, protected=["d", "e"])
        assert not {move.source for move in found.moves} & {"d", "e"}
        assert found.asked.protected == ("d", "e")
        holds(found, TWO_POOLS)
        with pytest.raises(UnknownJobError, match="'nobody'"):
            plan(TWO_POOLS, protected=["nobody"])

    def test_frontier_of_all_pools(self) -> None:
        points = plan(TWO_POOLS).frontier()
        expected = [(6, 0), (5, 1), (4, 2), (3, 2), (2, 3), (1, 4)]
        assert [(point.partial_nodes, point.migrations) for point in points] == expected
        assert {point.status for point in points} == {Status.OPTIMAL}

    def test_no_time_gives_bounds(self) -> None:
        found = plan(TWO_POOLS, time_limit=0)
        assert found.partial_nodes_lower_bound <= found.partial_nodes_after <= 6
        assert found.migrations_lower_bound <= found.migrations
        holds(found, TWO_POOLS)

    @pytest.mark.parametrize("mode", ["checkpoint", "live"])
    def test_an_empty_cluster(self, mode: str) -> None:
        found = plan(Snapshot.build(nodes=[]), moves=mode)
        assert (found.moves, found.status, found.steps) == ((), Status.OPTIMAL, 0)
        assert [point.to_json() for point in found.frontier()] == [
            {"partial_nodes": 0, "migrations": 0, "lower_bound": 0}
        ]

    def test_large_plans_choose_instances_quickly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.planning.whose, "MAX_COLUMNS", 0)
        found = plan(TWO_POOLS)
        assert (found.migrations, found.partial_nodes_after, found.status) == (4, 1, Status.OPTIMAL)
        holds(found, TWO_POOLS)


class TestLive:
    def test_moves_go_into_free_space(self) -> None:
        found = plan(TWO_POOLS, moves="live")
        assert found.live
        assert (found.migrations, found.partial_nodes_after, found.status) == (4, 1, Status.OPTIMAL)
        holds(found, TWO_POOLS)

    def test_a_limit_on_moves(self) -> None:
        found = [plan(TWO_POOLS, moves="live", max_migrations=m) for m in range(5)]
        assert [one.partial_nodes_after for one in found] == [6, 5, 3, 2, 1]
        for one in found:
            holds(one, TWO_POOLS)

    def test_where_live_moves_do_not_lead_as_far(self) -> None:
        snapshot = _snapshot({"a": [5, 2], "b": [4, 3], "c": [4, 4]})
        assert plan(snapshot).status is Status.OPTIMAL
        found = plan(snapshot, moves="live")
        assert found.partial_nodes_after >= plan(snapshot).partial_nodes_after
        holds(found, snapshot)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_small_clusters(seed: int) -> None:
    for cluster in clusters(15, seed):
        snapshot = snapshot_of(cluster)
        found = plan(snapshot)
        assert found.partial_nodes_after == measure(snapshot).inherent_partial_nodes
        assert found.status is Status.OPTIMAL
        replay(snapshot, found.moves, found.stops)
        holds(found, snapshot)
        points = found.frontier()
        assert (points[-1].partial_nodes, points[-1].migrations) == (found.partial_nodes_after, found.migrations)
        for point in points:
            bounded = plan(snapshot, max_migrations=point.migrations)
            assert bounded.partial_nodes_after <= point.partial_nodes
            holds(bounded, snapshot)
            assert plan(snapshot, max_partial_nodes=point.partial_nodes).migrations == point.migrations
        live = plan(snapshot, moves="live")
        assert live.live
        assert live.partial_nodes_after >= found.partial_nodes_after
        holds(live, snapshot)


class TestManyLimits:
    """Of 120 limits 50 are looked at; what is told of the others holds, as is known of these pools from the outset.

    Every move of a 4 onto another empties one node and fills one. Of four nodes with a 2 three moves empty three, and
    the last is full.
    """

    SNAPSHOT = _snapshot({f"a{k}": [4] for k in range(60)}, {f"b{k}": [2] for k in range(60)})
    COSTS = tuple(
        min(
            (more + 1) // 2 + (less - more) - (less - more) // 4 for more in range(max(0, less - 60), min(60, less) + 1)
        )
        for less in range(120, -1, -1)
    )

    def test_both_ends_and_the_bounds_in_between(self) -> None:
        points = plan(self.SNAPSHOT).frontier()
        assert len(points) == MAX_POINTS
        assert (points[0].partial_nodes, points[-1].partial_nodes) == (120, 0)
        for point in points:
            assert point.lower_bound == point.migrations == self.COSTS[point.partial_nodes]
        gaps = [
            (other.partial_nodes, one.partial_nodes, one.lower_bound, other.migrations)
            for one, other in pairwise(points)
        ]
        for fewest, most, lower, upper in gaps:
            assert all(lower <= self.COSTS[limit] <= upper for limit in range(fewest, most + 1))
        # What is left open is spread evenly.
        assert max(most - fewest for fewest, most, _, _ in gaps) <= 4

    def test_without_time_there_are_as_many_points_with_both_bounds(self) -> None:
        points = frontier_of_pools(self.SNAPSHOT, Deadline(0))
        assert len(points) == MAX_POINTS
        assert any(point.status is Status.UNKNOWN for point in points)
        for point in points:
            assert point.lower_bound <= self.COSTS[point.partial_nodes] <= point.migrations

    def test_the_ends_are_enough_for_verifying(self) -> None:
        found = plan(self.SNAPSHOT)
        data = found.to_dict(found.frontier())
        points = cast("list[dict[str, int]]", data["frontier"])
        for kept, between in ((points, 121 - len(points)), (points[:: len(points) - 1], 119)):
            told = json.loads(json.dumps({**data, "frontier": kept}))
            (check,) = [one for one in verify(told, self.SNAPSHOT) if "frontier" in one.claim]
            assert check.holds
            assert check.claim.endswith(f", and so the {between} limits between them")
        for wrong in (points[1:], points[:-1], [points[0], *points], [*points[2:4], *points]):
            told = json.loads(json.dumps({**data, "frontier": wrong}))
            (check,) = [one for one in verify(told, self.SNAPSHOT) if "frontier" in one.claim]
            assert check.holds is False


def test_a_frontier_is_attained_by_its_plans_or_not_at_all() -> None:
    """Where no plan reaches as few partial nodes, there is no number that could stand for its migrations."""
    found = plan(TWO_POOLS)
    for evidence, pool in zip(found.frontier().evidence, found.evidence, strict=True):
        placed, fewest = PlacedProblem(pool.migrations.problem, pool.migrations.present), pool.inherent.partial_nodes
        today = count_partial(placed.problem, placed.current)
        costs = evidence.attained(placed, fewest)
        assert costs is not None
        assert len(costs) == today - fewest + 1
        assert costs[-1] == 0
        if fewest < today:
            with pytest.raises(CertificateError, match="no stored plan"):
                replace(evidence, plans=()).attained(placed, fewest)
        assert replace(evidence, plans=None).attained(placed, fewest) is None


class TestRecheck:
    """A plan with one figure changed is refused."""

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("partial_nodes_before", 5),
            ("partial_nodes_after", 2),
            ("partial_nodes_lower_bound", 4),
            ("empty_nodes_after", 4),
            ("empty_nodes_before", 1),
            ("migrations", 3),
            ("migrations_lower_bound", 5),
            ("jobs_disturbed", 3),
            ("live", False),
        ],
    )
    def test_a_changed_figure(self, key: str, value: object) -> None:
        data = plan(TWO_POOLS).to_dict()
        assert data[key] != value
        assert any(check.holds is False for check in verify({**data, key: value}, TWO_POOLS))

    @pytest.mark.parametrize("key", ["status", "mode"])
    def test_a_word_that_is_none(self, key: str) -> None:
        with pytest.raises(ResultError, match="perfect"):
            verify({**plan(TWO_POOLS).to_dict(), key: "perfect"}, TWO_POOLS)

    @pytest.mark.parametrize(("key", "value"), [("from", "b"), ("to", "d"), ("gpus", 8), ("job", "x"), ("step", 0)])
    def test_a_changed_move(self, key: str, value: object) -> None:
        data = copy.deepcopy(plan(TWO_POOLS).to_dict())
        moves = cast("list[dict[str, object]]", data["moves"])
        move = next(move for move in moves if move[key] != value)
        move[key] = value
        assert any(check.holds is False for check in verify(data, TWO_POOLS))

    def test_another_cluster(self) -> None:
        other = _snapshot({"a": [2], "b": [2], "c": [4, 1]}, {"d": [3, 1], "e": [3, 1], "f": [5]})
        checks = {check.claim: check.holds for check in verify(plan(TWO_POOLS).to_dict(), other)}
        assert checks["the certificates are about this cluster"] is False

    def test_without_a_snapshot_the_certificates_are_checked(self) -> None:
        checks = verify(plan(TWO_POOLS).to_dict())
        assert {check.holds for check in checks} == {True, None}
        assert {"--snapshot" in check.detail for check in checks if check.holds is None} == {True}


def test_types_of_json() -> None:
    data = plan(TWO_POOLS).to_dict(plan(TWO_POOLS).frontier())
    assert json.loads(json.dumps(data)) == data
    assert data["schema"] == "compass-abs/plan/2"
