"""Plans of clusters with partitions, jobs on different nodes, CPUs, budgets and priorities, against every placement."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

from oracle.moves.move import MoveError, MoveMode
from oracle.moves.replay import replay
from oracle.optimum.certificate import Status
from oracle.planning.planner import plan
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.verification import verify
from tests.oracle.brute_moves import (
    World,
    fewest_partial,
    live_frontier,
    places_after,
    play,
    random_world,
    with_rules,
    without_budgets,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.moves.move import Move, Stop
    from oracle.planning.planner import Plan


def ruled_worlds(seed: int, count: int, *, budgets: bool) -> list[World]:
    rng = random.Random(seed)
    worlds = [with_rules(rng, random_world(rng, most_nodes=5, most_instances=6)) for _ in range(count)]
    if budgets:
        return worlds
    return [without_budgets(world) for world in worlds]


def left(world: World, found: Plan) -> int:
    """Return the partial nodes after a plan, played with every rule asserted."""
    return world.partial(places_after(world, found.moves, found.stops))


def check_plans(seed: int, count: int) -> int:
    """Check that plans are the best there are; return how many rules cost something."""
    cost = 0
    for world in ruled_worlds(seed, count, budgets=False):
        snapshot = world.snapshot()
        free = replace(
            world,
            nodes=tuple(replace(node, cpus=None) for node in world.nodes),
            instances=tuple(replace(one, allowed=None) for one in world.instances),
            distinct=frozenset(),
        )
        expected, live = fewest_partial(world), min(live_frontier(world).items())
        cost += fewest_partial(free) != expected
        for mode, best in ((MoveMode.CHECKPOINT, expected), (MoveMode.LIVE, live)):
            found = plan(snapshot, moves=mode)
            assert (found.partial_nodes_after, found.migrations, found.status) == (*best, Status.OPTIMAL), world
            assert left(world, found) == best[0]
    return cost


def check_budgets(seed: int, count: int) -> int:
    """Check that plans keep to budgets, and claim nothing that is not so; return how many are not known to be best."""
    unknown = 0
    for world in ruled_worlds(seed, count, budgets=True):
        least, found = fewest_partial(world), plan(world.snapshot())
        after = left(world, found)
        assert found.partial_nodes_lower_bound <= least[0] <= after == found.partial_nodes_after
        if after == least[0]:
            assert found.migrations_lower_bound <= least[1] <= found.migrations
        unknown += found.status is not Status.OPTIMAL
    return unknown


def check_verified(seed: int, count: int) -> int:
    """Check that stored plans hold, and that none does with a move to where it may not go; return how many were tried.

    Whether it may is asked of the list of all placements and of playing the moves by name.
    """
    tried = 0
    for world in ruled_worlds(seed, count, budgets=True):
        snapshot = world.snapshot()
        found = plan(snapshot)
        assert all(check.holds is not False for check in verify(found.to_dict(), snapshot)), world
        for k, n in product(range(len(found.moves)), range(len(world.nodes))):
            moves = [replace(move, destination=f"n{n}") if i == k else move for i, move in enumerate(found.moves)]
            if moves[k] != found.moves[k] and not _can_be_played(snapshot, moves, found.stops):
                told = {**found.to_dict(), "moves": [move.to_json() for move in sorted(moves)]}
                assert any(check.holds is False for check in verify(told, snapshot)), (world, moves)
                tried += 1
    return tried


def _can_be_played(snapshot: Snapshot, moves: Sequence[Move], stops: Sequence[Stop]) -> bool:
    try:
        play(snapshot, sorted(moves), stops)
    except AssertionError:
        return False
    return True


def test_the_best_plan_under_rules() -> None:
    assert check_plans(1, 100) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_best_plan_under_rules_of_many(seed: int) -> None:
    check_plans(100 + seed, 1_000)


def test_budgets_are_kept() -> None:
    assert check_budgets(1, 100) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_budgets_are_kept_in_many(seed: int) -> None:
    assert check_budgets(100 + seed, 1_000) <= 30


def test_stored_plans_are_held_to_the_rules() -> None:
    assert check_verified(2, 60) > 40


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_stored_plans_of_many_are_held_to_the_rules(seed: int) -> None:
    check_verified(100 + seed, 1_000)


def _halves(*jobs: RunningJob, budgets: Mapping[str, int] | None = None) -> Snapshot:
    nodes = {instance.node for job in jobs for instance in job.instances}
    return Snapshot.build(
        nodes=[SnapshotNode(name=name, gpus=8) for name in sorted(nodes)], jobs=jobs, budgets=budgets or {}
    )


def _job(name: str, *nodes: str, priority: int | None = None, gpus: int = 4) -> RunningJob:
    return RunningJob(
        name=name, instances=tuple(RunningInstance(node=node, gpus=gpus) for node in nodes), priority=priority
    )


class TestPriorities:
    @pytest.mark.parametrize("low", ["a", "b"])
    def test_the_lower_one_moves(self, low: str) -> None:
        jobs = [_job(name, f"n{name}", priority=-5 if name == low else 1000) for name in ("a", "b")]
        assert plan(_halves(*jobs)).jobs_disturbed == (low,)

    def test_few_jobs_come_first(self) -> None:
        """One job of a high priority moves rather than two of low ones."""
        jobs = [_job("high", "x", priority=9), _job("a", "y", gpus=2, priority=0), _job("b", "y", gpus=2, priority=0)]
        assert plan(_halves(*jobs)).jobs_disturbed == ("high",)

    def test_an_unknown_one_is_taken_to_be_the_highest(self) -> None:
        assert plan(_halves(_job("a", "x"), _job("b", "y", priority=10**6))).jobs_disturbed == ("b",)

    def test_nothing_above_the_highest_moves(self) -> None:
        snapshot = _halves(_job("a", "x", priority=5), _job("b", "y", priority=6))
        assert plan(snapshot, max_priority=5).jobs_disturbed == ("a",)
        found = plan(snapshot, max_priority=4)
        assert (found.moves, found.partial_nodes_after, found.status) == ((), 2, Status.OPTIMAL)

    def test_nor_what_is_not_known(self) -> None:
        assert plan(_halves(_job("a", "x"), _job("b", "y")), max_priority=10**9).moves == ()


class TestBudgets:
    """Four halves, of which two have to move, counted in one budget."""

    @staticmethod
    def snapshot(most: int) -> Snapshot:
        one = RunningInstance(node="", gpus=4, budgets=("web",))
        jobs = [RunningJob(name=name, instances=(replace(one, node=name),)) for name in "abcd"]
        return _halves(*jobs, budgets={"web": most})

    def test_as_many_as_are_allowed_move_at_a_time(self) -> None:
        assert max(move.step for move in plan(self.snapshot(2)).moves) == 1
        one = plan(self.snapshot(1))
        assert [move.step for move in one.moves] == [1, 2]
        assert one.status is Status.OPTIMAL

    def test_fewer_if_it_is_asked_for(self) -> None:
        found = plan(self.snapshot(2), max_per_budget=1)
        assert [move.step for move in found.moves] == [1, 2]
        assert plan(self.snapshot(1), max_per_budget=5).moves == found.moves

    @pytest.mark.parametrize(("most", "asked"), [(0, None), (2, 0)])
    def test_none_moves_where_none_may(self, most: int, asked: int | None) -> None:
        found = plan(self.snapshot(most), max_per_budget=asked)
        assert (found.moves, found.partial_nodes_after, found.status) == ((), 4, Status.OPTIMAL)

    def test_a_replay_that_breaks_one_is_refused(self) -> None:
        snapshot = self.snapshot(2)
        moves = plan(snapshot).moves
        with pytest.raises(
            MoveError, match="2 instances of disruption budget web would be down at a time, at most 1 may"
        ):
            replay(self.snapshot(1), moves)
