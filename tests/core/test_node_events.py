"""Nodes are added, drained, fail and return; what the random runs of test_scheduler_machines check, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import (
    ClusterState,
    DuplicateJobError,
    Instance,
    Job,
    MoveReason,
    NodeKind,
    PlacementError,
    UnknownInstanceError,
    Variant,
    VariantError,
    add_node,
    apply,
    arrive,
    depart,
    drain_node,
    fail_node,
    place,
    return_node,
)
from proofs.events import parse_events
from proofs.strategies import CAPACITIES, cluster_states, event_lists
from tests.core.referee import Referee, placement_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.events import Event

REPAIRED = [Variant.COMPASS, Variant.EXACT]


def cluster(nodes: int, *placement: tuple[Job, Sequence[int]]) -> ClusterState:
    return ClusterState.from_placement(placement, nodes=nodes)


def played(events: str, nodes: int, variant: Variant) -> Referee:
    referee = Referee(variant, nodes)
    for event in parse_events(events):
        referee.play(event)
        referee.check()
    return referee


class TestAdd:
    def test_gives_the_next_index(self) -> None:
        out = add_node(cluster(2), variant=Variant.EXACT)
        assert (out.node, out.done, out.migrations, out.lost) == (2, True, (), ())
        assert (out.state.node_count, out.state.total_gpus) == (3, 24)

    def test_under_compass_it_is_the_home_an_orphan_waited_for(self) -> None:
        """P5 repaired: the orphan stays where its slot was until there is room for a pool node."""
        referee = played("1x3, 1x3, 2x1, -1", 1, Variant.COMPASS)
        assert referee.state.nodes[0].kind is NodeKind.MIXED
        out = add_node(referee.state, variant=Variant.COMPASS)
        assert [(m.source, m.destination, m.reason) for m in out.migrations] == [(0, 1, MoveReason.REHOME)]
        assert [node.kind for node in out.state.nodes] == [NodeKind.SLOTTED, NodeKind.POOL]

    def test_under_exact_an_orphan_needs_no_home(self) -> None:
        referee = played("1x3, 1x3, 2x1, -1", 1, Variant.EXACT)
        assert not add_node(referee.state, variant=Variant.EXACT).migrations


class TestDrain:
    @pytest.mark.parametrize("variant", REPAIRED)
    def test_moves_everything_off(self, variant: Variant) -> None:
        state = cluster(2, (Job("a", 1, 4), [0]), (Job("b", 1, 3), [0]), (Job("f", 1, 1), [0]))
        out = drain_node(state, 0, variant=variant)
        assert out.done
        assert {(m.instance.job, m.reason) for m in out.migrations} == {(n, MoveReason.DRAIN) for n in "abf"}
        assert apply(state, out.migrations).nodes[1] == out.state.nodes[1]
        assert list(out.state.offline_nodes) == [0]
        assert (out.state.node_count, out.state.free_gpus, out.state.empty_nodes) == (1, 0, 0)

    @pytest.mark.parametrize("variant", REPAIRED)
    def test_is_refused_whole_with_the_reason(self, variant: Variant) -> None:
        state = cluster(2, (Job("a", 2, 4), [0, 0]), (Job("b", 1, 4), [1]))
        out = drain_node(state, 0, variant=variant)
        assert not out.done
        assert out.state is state
        assert not out.migrations
        assert out.reason == "8 GPUs have to leave node 0, 4 are free on the others"
        partly_used = cluster(2, (Job("a", 1, 6), [0]), (Job("b", 1, 4), [1]))
        reason = drain_node(partly_used, 0, variant=variant).reason
        assert reason == "6 GPUs have to leave node 0, 4 are free on the others"

    def test_compass_refuses_what_exact_can_do(self) -> None:
        """Slots and ones on separate nodes need two; together they fit one."""
        state = cluster(2, (Job("a", 1, 4), [0]), (Job("f", 2, 1), [1, 1]))
        assert not drain_node(state, 0, variant=Variant.COMPASS).done
        out = drain_node(state, 0, variant=Variant.EXACT)
        assert out.done
        assert out.state.nodes[1].shape.demands == (4, 1, 1)

    @pytest.mark.parametrize("variant", REPAIRED)
    def test_of_an_idle_node_moves_nothing(self, variant: Variant) -> None:
        out = drain_node(cluster(2, (Job("a"), [0])), 1, variant=variant)
        assert out.done
        assert not out.migrations

    def test_of_the_last_node(self) -> None:
        assert drain_node(cluster(1), 0).state.node_count == 0
        assert not drain_node(cluster(1, (Job("a"), [0])), 0).done

    @pytest.mark.parametrize(("dear", "moves"), [("a", "b"), ("b", "a")])
    def test_the_merge_that_follows_takes_the_cheaper_side(self, dear: str, moves: str) -> None:
        state = cluster(3, (Job("a", 1, 4), [1]), (Job("b", 1, 4), [2]))
        out = drain_node(state, 0, variant=Variant.EXACT, migration_cost=lambda x: 2.0 if x.job == dear else 1.0)
        assert [m.instance.job for m in out.migrations] == [moves]

    @pytest.mark.parametrize("capacity", CAPACITIES)
    @given(data=st.data())
    def test_exact_drains_if_and_only_if_slots_and_ones_fit(self, data: st.DataObject, capacity: int) -> None:
        """From any state of Σ⁺, as no scheduler need have left it."""
        state = data.draw(cluster_states(capacity=capacity))
        node = data.draw(st.integers(0, state.node_count - 1))
        referee = Referee(Variant.EXACT, state.node_count, capacity)
        referee.take_over(state)
        referee.drain_node(node)
        if node not in referee.model.online:
            referee.check()


class TestFail:
    @pytest.mark.parametrize("variant", REPAIRED)
    def test_its_instances_vanish_and_are_reported(self, variant: Variant) -> None:
        state = cluster(2, (Job("b", 2, 4), [0, 1]), (Job("a", 1, 4), [0]))
        out = fail_node(state, 0, variant=variant)
        assert set(out.lost) == {Instance("a", 0, 4), Instance("b", 0, 4)}
        assert out.jobs_hit == ("a", "b")
        assert placement_of(out.state) == {("b", 1): 1}
        assert out.state.counts[3] == 1

    @pytest.mark.parametrize("variant", REPAIRED)
    def test_what_is_left_is_compacted(self, variant: Variant) -> None:
        """The fillers of two slots die: the vacancies are filled from the pool."""
        state = cluster(3, (Job("s", 2, 3), [0, 0]), (Job("f", 2, 1), [1, 1]), (Job("p", 4, 1), [2] * 4))
        out = fail_node(state, 1, variant=variant)
        assert [m.reason for m in out.migrations] == [MoveReason.FILL] * 2
        assert [node.used for node in out.state.nodes] == [8, 0, 2]

    def test_a_job_hit_stays_known_until_it_departs(self) -> None:
        out = fail_node(cluster(2, (Job("b", 2, 4), [0, 1]), (Job("c"), [0])), 0)
        state = out.state
        assert sorted(state.jobs_by_name) == ["b", "c"]
        assert state.instances_of("b") == (Instance("b", 1, 4),)
        assert state.instances_of("c") == ()
        with pytest.raises(DuplicateJobError):
            arrive(state, Job("c"))
        with pytest.raises(UnknownInstanceError):
            state.node_of(Instance("c", 0, 1))
        for name in ("b", "c"):
            state = depart(state, name).state
        assert state.used_gpus == 0
        assert not state.jobs_by_name

    def test_a_lost_instance_can_be_placed_again(self) -> None:
        out = fail_node(cluster(2, (Job("b", 2, 4), [0, 1])), 0)
        again = place(out.state, out.lost[0], variant=Variant.COMPASS)
        assert placement_of(again.state) == {("b", 0): 1, ("b", 1): 1}


class TestReturn:
    @pytest.mark.parametrize("variant", REPAIRED)
    def test_a_node_that_failed_or_was_drained_comes_back_idle(self, variant: Variant) -> None:
        state = cluster(2, (Job("b", 2, 4), [0, 1]))
        for out in (fail_node(state, 0, variant=variant), drain_node(state, 0, variant=variant)):
            back = return_node(out.state, 0, variant=variant)
            assert back.state.node_count == 2
            assert back.state.nodes[0].used == 0
            assert not back.state.offline_nodes

    def test_under_compass_it_is_a_home_for_orphans(self) -> None:
        referee = played("1x3, 1x3, 2x1", 2, Variant.COMPASS)
        referee.drain_node(1)
        referee.depart("1")
        assert referee.state.nodes[0].kind is NodeKind.MIXED
        referee.return_node(1)
        referee.check()
        assert [node.kind for node in referee.state.nodes] == [NodeKind.SLOTTED, NodeKind.POOL]


class TestErrors:
    """A node that is in no state for the event is an error, not a refusal."""

    @pytest.mark.parametrize("index", [-1, 1, 7])
    @pytest.mark.parametrize("variant", REPAIRED)
    def test_unknown_nodes(self, index: int, variant: Variant) -> None:
        with pytest.raises(PlacementError, match=f"no online node has the index {index}"):
            drain_node(cluster(1), index, variant=variant)
        with pytest.raises(PlacementError, match=f"no online node has the index {index}"):
            fail_node(cluster(1), index, variant=variant)
        with pytest.raises(PlacementError, match=f"no offline node has the index {index}"):
            return_node(cluster(1), index, variant=variant)

    def test_twice(self) -> None:
        state = drain_node(cluster(2), 0).state
        with pytest.raises(PlacementError, match="no online node"):
            drain_node(state, 0)
        with pytest.raises(PlacementError, match="no online node"):
            fail_node(state, 0)
        with pytest.raises(PlacementError, match="no offline node"):
            return_node(return_node(state, 0).state, 0)

    def test_the_print_knows_no_events_of_nodes(self) -> None:
        offline = drain_node(cluster(2), 1).state
        with pytest.raises(VariantError, match="use COMPASS or EXACT"):
            add_node(offline, variant=Variant.PRINTED)
        with pytest.raises(VariantError):
            drain_node(offline, 0, variant=Variant.PRINTED)
        with pytest.raises(VariantError):
            fail_node(offline, 0, variant=Variant.PRINTED)
        with pytest.raises(VariantError):
            return_node(offline, 1, variant=Variant.PRINTED)


@pytest.mark.parametrize("variant", REPAIRED)
@given(events=event_lists(nodes=3))
def test_generated_lists_with_events_of_nodes(events: Sequence[Event], variant: Variant) -> None:
    """The generator users get, as they would use it."""
    referee = Referee(variant, 3)
    for event in events:
        referee.play(event)
        referee.check()
