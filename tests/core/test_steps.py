"""Migrations are carried out one by one, each checked; a list shortened has the same effect."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import (
    ClusterState,
    Instance,
    Job,
    Migration,
    MoveReason,
    PlacementError,
    UnknownInstanceError,
    Variant,
    apply,
    compact,
)
from compass_core.steps import shortened
from proofs.strategies import CAPACITIES, Region, cluster_states
from tests.core.naive import Cluster, OverbookedError
from tests.core.referee import as_moves, placement_of

A, B = Instance("a", 0, 4), Instance("b", 0, 5)


def two_jobs() -> ClusterState:
    return ClusterState.from_placement([(Job("a", 1, 4), [0]), (Job("b", 1, 5), [1])], nodes=3)


def move(instance: Instance, source: int, destination: int) -> Migration:
    return Migration(instance, source, destination, MoveReason.MERGE)


class TestApply:
    """σ ⊕ M."""

    def test_no_moves_give_the_state_itself(self) -> None:
        state = two_jobs()
        assert apply(state, ()) is state

    def test_moves_follow_one_another(self) -> None:
        state = two_jobs()
        after = apply(state, [move(A, 0, 2), move(B, 1, 0), move(A, 2, 1)])
        assert placement_of(after) == {("a", 0): 1, ("b", 0): 0}
        assert placement_of(state) == {("a", 0): 0, ("b", 0): 1}

    def test_room_is_asked_for_at_that_moment(self) -> None:
        with pytest.raises(PlacementError, match="node 1 has 3 GPUs free"):
            apply(two_jobs(), [move(A, 0, 1), move(B, 1, 2)])
        apply(two_jobs(), [move(B, 1, 2), move(A, 0, 1)])

    def test_the_instance_stands_on_the_source(self) -> None:
        with pytest.raises(PlacementError, match="on node 2, it stands on node 0"):
            apply(two_jobs(), [move(A, 2, 1)])
        with pytest.raises(PlacementError, match="on node 0, it stands on node 1"):
            apply(two_jobs(), [move(B, 0, 2)])

    @pytest.mark.parametrize(
        ("migration", "error"),
        [
            (move(A, 0, 0), PlacementError),
            (move(A, 0, 3), PlacementError),
            (move(A, 0, -1), PlacementError),
            (move(Instance("a", 1, 4), 0, 2), UnknownInstanceError),
            (move(Instance("a", 0, 3), 0, 2), UnknownInstanceError),
            (move(Instance("c", 0, 4), 0, 2), UnknownInstanceError),
        ],
    )
    def test_what_cannot_be(self, migration: Migration, error: type[Exception]) -> None:
        state = two_jobs()
        with pytest.raises(error):
            apply(state, [move(B, 1, 2), migration])
        assert placement_of(state) == {("a", 0): 0, ("b", 0): 1}

    def test_an_offline_node_takes_nothing(self) -> None:
        state = two_jobs().with_node_offline(2)
        with pytest.raises(PlacementError, match="no online node has the index 2"):
            apply(state, [move(A, 0, 2)])

    @given(state=cluster_states(region=Region.ANY), data=st.data())
    def test_as_in_the_naive_model(self, state: ClusterState, data: st.DataObject) -> None:
        """Any list of moves, sensible or not: the same placement, or both refuse."""
        jobs = {name: (job.instances, job.gpus) for name, job in state.jobs_by_name.items()}
        model = Cluster(state.capacity, set(range(state.node_count)), jobs=jobs, where=placement_of(state))
        moves = random_moves(state, data, sensible=False)
        try:
            model.carry_out(as_moves(moves))
        except OverbookedError:
            with pytest.raises(PlacementError):
                apply(state, moves)
        else:
            assert placement_of(apply(state, moves)) == model.where


def random_moves(state: ClusterState, data: st.DataObject, *, sensible: bool) -> list[Migration]:
    """Draw moves, each from where the one before it left things; sensible ones go where there is room."""
    instances = [x for node in state.nodes for x in node.instances]
    moves: list[Migration] = []
    for _ in range(data.draw(st.integers(0, 8)) if instances else 0):
        instance = data.draw(st.sampled_from(instances))
        at = state.node_of(instance)
        destination = data.draw(st.integers(0, state.node_count - 1))
        fits = destination != at and state.nodes[destination].free >= instance.gpus
        if fits:
            state = state.move(instance, destination)
        if fits or not sensible:
            moves.append(move(instance, at, destination))
    return moves


class TestShortened:
    """No instance moves twice, where that can be; the effect is the same, and every list can be carried out."""

    def test_a_detour_is_cut(self) -> None:
        moves = (move(A, 0, 2), move(B, 1, 0), move(A, 2, 1))
        roomy = ClusterState.from_placement([(Job("a", 1, 4), [0]), (Job("b", 1, 5), [1])], nodes=3, capacity=16)
        assert set(shortened(roomy, moves)) == {move(B, 1, 0), move(A, 0, 1)}

    def test_there_and_back_is_nothing(self) -> None:
        assert shortened(two_jobs(), (move(A, 0, 2), move(A, 2, 0))) == ()

    def test_the_last_reason_is_given(self) -> None:
        fill = Migration(A, 0, 2, MoveReason.FILL)
        assert shortened(two_jobs().with_node()[0], (fill, move(A, 2, 3))) == (move(A, 0, 3),)

    def test_the_direct_moves_wait_for_room(self) -> None:
        """A leaves for the third node and then takes B's place: A's direct move has to wait until B has gone."""
        state = ClusterState.from_placement([(Job("a", 1, 8), [0]), (Job("b", 1, 8), [1])], nodes=4)
        a, b = Instance("a", 0, 8), Instance("b", 0, 8)
        moves = (move(a, 0, 2), move(b, 1, 3), move(a, 2, 1))
        assert shortened(state, moves) == (move(b, 1, 3), move(a, 0, 1))

    def test_where_they_block_one_another_the_list_stands(self) -> None:
        state = ClusterState.from_placement([(Job("a", 1, 8), [0]), (Job("b", 1, 8), [1])], nodes=3)
        a, b = Instance("a", 0, 8), Instance("b", 0, 8)
        swap = (move(a, 0, 2), move(b, 1, 0), move(a, 2, 1))
        assert shortened(state, swap) == swap

    @pytest.mark.parametrize("capacity", CAPACITIES)
    @given(data=st.data())
    @settings(max_examples=settings().max_examples // 2)
    def test_has_the_same_effect(self, data: st.DataObject, capacity: int) -> None:
        state = data.draw(cluster_states(capacity=capacity, min_nodes=2, region=Region.ANY))
        moves = tuple(random_moves(state, data, sensible=True))
        shorter = shortened(state, moves)
        assert apply(state, shorter) == apply(state, moves)
        assert len({m.instance for m in shorter}) == len(shorter) or shorter == moves
        assert len(shorter) <= len(moves)

    def test_an_event_can_need_a_detour(self) -> None:
        """Direct moves block one another here: the list with a detour is given, and can be carried out."""
        contents = ((), (2, 1), (2, 1, 1))
        jobs = [(Job(f"n{at}x{i}", 1, g), [at]) for at, content in enumerate(contents) for i, g in enumerate(content)]
        state = ClusterState.from_placement(jobs, nodes=3, capacity=4)
        out = compact(state, variant=Variant.COMPASS)
        assert len({m.instance for m in out.migrations}) < len(out.migrations)
        assert apply(state, out.migrations) == out.state
