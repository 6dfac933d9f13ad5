"""The program behind admissions: its columns and walks, its bound, and how it is solved when it has many columns."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import oracle.rooms.model
import oracle.rooms.priced_columns
from oracle.node_classes import contents_by_pool
from oracle.replay import placed
from oracle.rooms.bound import RoomWeights, most_new, rooms_of
from oracle.rooms.making_room import make_room, relocations
from oracle.rooms.model import Group, RoomModel, groups_of
from oracle.rooms.priced_columns import solve_priced
from oracle.solver import Deadline, Outcome, Program, Row, SolverError, solve_integers
from tests.oracle import brute_moves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.model import Snapshot


def pools(seed: int, count: int) -> Iterator[tuple[brute_moves.World, Snapshot, str, dict[Group, list[str]], int]]:
    """Yield random pools with the demand of a waiting instance."""
    rng = random.Random(seed)
    for _ in range(count):
        cluster = brute_moves.random_world(rng, most_instances=5)
        snapshot = cluster.snapshot()
        for pool, contents in contents_by_pool(snapshot).items():
            yield cluster, snapshot, pool, groups_of(contents), rng.randint(1, 8)


class TestModel:
    def test_closed_nodes_are_left_out(self) -> None:
        cluster = brute_moves.World(
            (
                brute_moves.Node(8),
                brute_moves.Node(8, "a", schedulable=False),
                brute_moves.Node(1),
                brute_moves.Node(8),
            ),
            tuple(
                brute_moves.Instance(n, gpus, 0, movable)
                for n, gpus, movable in ((0, 3, False), (0, 2, True), (1, 4, True), (2, 2, True))
            ),
        )
        groups = groups_of(contents_by_pool(cluster.snapshot())["a"])
        assert groups == {Group(5, (2,)): ["n0"], Group(8, ()): ["n3"]}

    @pytest.mark.parametrize("most_kept", [1_100, 0])
    def test_columns_listed_or_as_a_flow(self, monkeypatch: pytest.MonkeyPatch, most_kept: int) -> None:
        monkeypatch.setattr(oracle.rooms.model, "MAX_KEPT", most_kept)
        for cluster, snapshot, pool, groups, gpus in pools(1, 60):
            most = max(
                sum(free // gpus for free in cluster.free(places, pool))
                for places, _ in brute_moves.placements(cluster)
            )
            wanted = min(most, 3)
            model = RoomModel({group: len(names) for group, names in groups.items()}, {gpus: wanted})
            goal = Row(wanted, wanted, model.placed(gpus))
            answer = solve_integers(model.program(model.moves, [goal]))
            moves, new = relocations(snapshot, groups, model.decode(answer.values))
            expected = brute_moves.fewest_moves(
                brute_moves.placements(cluster),
                lambda places: brute_moves.has_room(cluster.free(places, pool), [gpus] * wanted),  # noqa: B023
            )
            assert len(moves) == expected
            assert sum(map(len, new.values())) == wanted
            where = {(job.name, i): instance.node for job in snapshot.jobs for i, instance in enumerate(job.instances)}
            where |= {(move.job, move.instance): move.destination for move in moves}
            used = placed(snapshot, where).used_gpus()
            for node, demands in new.items():
                assert used[node] + sum(demands) <= cluster.nodes[int(node[1:])].gpus

    def test_values_that_are_no_solution(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = RoomModel({Group(8, (4,)): 2}, {8: 1})
        with pytest.raises(SolverError, match="instances that arrive nowhere"):
            model.decode([0] * (len(model.uppers) - 1) + [1])
        monkeypatch.setattr(oracle.rooms.model, "MAX_KEPT", 0)
        model = RoomModel({Group(8, (4,)): 2}, {8: 1})
        with pytest.raises(SolverError, match=r"the solution of the nodes with \[4\] is none"):
            model.decode([1] + [0] * (len(model.uppers) - 1))

    def test_moves_that_cancel_out_are_left_out(self) -> None:
        from oracle.rooms.model import NodeChange  # noqa: PLC0415

        cluster = brute_moves.World(
            (brute_moves.Node(8), brute_moves.Node(8)),
            (brute_moves.Instance(0, 4, 0), brute_moves.Instance(1, 4, 1)),
        )
        groups = groups_of(contents_by_pool(cluster.snapshot())["a"])
        group = Group(8, (4,))
        changes = [NodeChange(group, (), (4,), (), 1), NodeChange(group, (4,), (), (4,), 1)]
        assert relocations(cluster.snapshot(), groups, changes) == ((), {"n1": (4,)})


class TestBound:
    @pytest.mark.parametrize(
        ("weights", "gpus", "expected"),
        [
            (RoomWeights(1), 8, 3),  # all three nodes, if nothing ran on them
            (RoomWeights(1, ((7, 1),)), 8, 0),  # a node has a 7 or an 8
            (RoomWeights(2, ((7, 7),)), 2, 1),  # a node is worth 8 and a 7 is worth 7: 3 are left, and a 2 is worth 2
            (RoomWeights(1, ((7, 4),)), 2, 0),  # a 7 takes the room of four
        ],
    )
    def test_weights_are_checked_without_a_solver(self, weights: RoomWeights, gpus: int, expected: int) -> None:
        assert weights.bound({8: 3}, {7: 3}, gpus) == expected

    def test_never_below_what_fits_and_here_always_equal(self) -> None:
        for cluster, _, pool, groups, gpus in pools(2, 200):
            every = brute_moves.placements(cluster)
            most = max(sum(free // gpus for free in cluster.free(places, pool)) for places, _ in every)
            bound, weights = most_new(groups, gpus, most + 1, Deadline())
            assert bound == most == weights.bound(*rooms_of(groups), gpus), (cluster, pool, gpus)

    def test_any_weights_are_a_bound(self) -> None:
        rng = random.Random(3)
        for cluster, _, pool, groups, gpus in pools(3, 100):
            every = brute_moves.placements(cluster)
            most = max(sum(free // gpus for free in cluster.free(places, pool)) for places, _ in every)
            values = tuple((demand, rng.randint(-2, 9)) for demand in range(1, 9))
            assert RoomWeights(rng.randint(1, 9), values).bound(*rooms_of(groups), gpus) >= most

    def test_no_time_for_weights(self) -> None:
        assert most_new({Group(8, (7,)): ["n0", "n1", "n2"]}, 1, 99, Deadline(0))[0] == 3
        groups = {Group(8, (3,)): ["n0"], Group(8, (4, 2)): ["n1"]}
        assert make_room(groups, 1, 6, Deadline(0)).outcome is Outcome.GAVE_UP
        assert make_room(groups, 1, 6, Deadline()).lower_bound == 1


class TestPricedColumns:
    def random_program(self, rng: random.Random) -> Program:
        columns, rows = rng.randint(1, 7), rng.randint(1, 4)
        return Program(
            tuple(rng.randint(-2, 6) for _ in range(columns)),
            tuple(rng.randint(1, 4) for _ in range(columns)),
            (
                *(
                    Row(low := rng.randint(0, 6), rng.choice([None, low, low + 3]), self.terms(rng, columns))
                    for _ in range(rows)
                ),
                *(Row(None, 4, ((c, 1),)) for c in range(columns)),
            ),
        )

    @staticmethod
    def terms(rng: random.Random, columns: int) -> tuple[tuple[int, int], ...]:
        return tuple((c, rng.randint(1, 3)) for c in rng.sample(range(columns), rng.randint(1, columns)))

    def test_the_same_optimum_from_few_columns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle.rooms.priced_columns, "MAX_COLUMNS", 0)
        rng = random.Random(4)
        outcomes: Counter[Outcome] = Counter()
        for _ in range(300):
            program = self.random_program(rng)
            priced = solve_priced(program, Deadline())
            try:
                whole = solve_integers(program)
            except SolverError:
                # CP-SAT takes 2x = 3 for an invalid model.
                assert priced.outcome is Outcome.INFEASIBLE
                continue
            assert whole.outcome is priced.outcome
            outcomes[priced.outcome] += 1
            if priced.values:
                costs = [sum(c * v for c, v in zip(program.costs, a.values, strict=True)) for a in (whole, priced)]
                assert costs == [priced.bound] * 2
        assert set(outcomes) == {Outcome.OPTIMAL, Outcome.INFEASIBLE}

    def test_an_optimal_answer_is_its_own_bound(self) -> None:
        program = Program((-1,), (1,), (Row(None, 1, ((0, 1),)), Row(0, 0, ((0, -3),))))
        assert solve_priced(program, Deadline()).bound == 0

    @pytest.mark.parametrize("most_columns", [0, 1_000])
    def test_no_time(self, monkeypatch: pytest.MonkeyPatch, most_columns: int) -> None:
        monkeypatch.setattr(oracle.rooms.priced_columns, "MAX_COLUMNS", most_columns)
        program = Program((1,), (1,), (Row(1, None, ((0, 1),)),))
        assert solve_priced(program, Deadline(0)).outcome is Outcome.GAVE_UP
