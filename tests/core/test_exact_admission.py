"""EXACT admits whatever fits once slots are counted (C7): what Place has to move to make room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compass_core import ClusterState, Job, MoveReason, Variant, apply, arrive
from tests.core.referee import Referee

if TYPE_CHECKING:
    from collections.abc import Sequence


def cluster(nodes: int, *placement: tuple[Job, Sequence[int]], capacity: int = 8) -> ClusterState:
    return ClusterState.from_placement(placement, nodes=nodes, capacity=capacity)


def contents(state: ClusterState) -> list[tuple[int, ...]]:
    return [node.shape.demands for node in state.nodes]


class TestExactAdmission:
    """Theory §3.2: what Place has to do when no node has room as things lie."""

    def test_a_filler_already_on_the_node(self) -> None:
        """N = 1 with {4} and a one: a job of 3 finds its filler there."""
        state = cluster(1, (Job("a", 1, 4), [0]), (Job("f"), [0]))
        out = arrive(state, Job("c", 1, 3), variant=Variant.EXACT)
        assert out.admitted
        assert not out.migrations

    def test_between_the_instances_of_one_job(self) -> None:
        """8x5 into five idle nodes and three pools: 24 fillers have to leave the pools on the way."""
        state = cluster(8, (Job("p", 24, 1), [5] * 8 + [6] * 8 + [7] * 8))
        out = arrive(state, Job("c", 8, 5), variant=Variant.EXACT)
        assert out.admitted
        assert out.state.free_gpus == 0
        assert apply(state, out.migrations).free_gpus == 40

    def test_blocks_and_ones_change_places(self) -> None:
        """{2} has room 6 but a slot of 8 needs the node: its block leaves for two ones that become fillers."""
        state = cluster(2, (Job("p", 8, 1), [0] * 8), (Job("a", 1, 2), [1]))
        out = arrive(state, Job("c", 1, 6), variant=Variant.EXACT)
        assert out.admitted
        assert contents(out.state) == [(2, 1, 1, 1, 1, 1, 1), (6, 1, 1)]
        assert {m.reason for m in out.migrations} == {MoveReason.EXCHANGE}
        assert arrive(state, Job("c", 1, 6), variant=Variant.COMPASS).admitted is False

    def test_a_block_changes_places_with_its_filler(self) -> None:
        """Sixteen GPUs a node: {3, 1} leaves as a whole, and four ones come, for a slot of 16."""
        state = cluster(2, (Job("p", 16, 1), [0] * 16), (Job("a", 1, 3), [1]), (Job("f"), [1]), capacity=16)
        referee = Referee(Variant.EXACT, 0, 16)
        referee.take_over(state)
        assert referee.arrive(Job("c", 1, 12))
        referee.check()
        assert contents(referee.state) == [(3, *[1] * 13), (12, 1, 1, 1, 1)]

    @pytest.mark.parametrize("small", [(2,), (3, 1), (4,), (3, 1, 2), (4, 2), (2, 2), (2, 2, 2), (4, 1, 1), (2, 1)])
    def test_small_blocks_of_sixteen_make_way(self, small: tuple[int, ...]) -> None:
        """Whatever stands on the one open node, an instance of all that is free gets in."""
        placement = [(Job(f"s{i}", 1, g), [2]) for i, g in enumerate(small)]
        state = cluster(3, (Job("p", 32, 1), [0] * 16 + [1] * 16), *placement, capacity=16)
        for gpus in range(9, 17 - sum(small)):
            referee = Referee(Variant.EXACT, 0, 16)
            referee.take_over(state)
            assert referee.arrive(Job("c", 1, gpus))
            referee.check()

    @pytest.mark.parametrize("giving", [(8, 4, 1, 1, 1, 1), (8, 2, 1, 1, 1, 1, 1, 1)], ids=str)
    def test_the_ones_come_from_one_node_that_has_enough(self, giving: tuple[int, ...]) -> None:
        """Else more nodes would be opened, and merged again: {8, 4, 2, 1, 1} has fewer than the block is wide."""
        nodes = [(8, 4, 2, 1, 1), giving, (4,), giving]
        placement = [(Job(f"{at}-{i}", 1, g), [at]) for at, held in enumerate(nodes) for i, g in enumerate(held)]
        out = arrive(cluster(4, *placement, capacity=16), Job("c", 1, 12), variant=Variant.EXACT)
        assert [(m.source, m.destination) for m in out.migrations] == [(1, 2)] * 4 + [(2, 1)]

    @pytest.mark.parametrize("gpus", range(1, 9))
    def test_every_demand_at_a_full_cluster(self, gpus: int) -> None:
        """What is free is one GPU less or just enough, in fragments: the answer follows from the total."""
        ones = 8 * 3 - gpus
        state = cluster(3, (Job("p", ones, 1), [i % 3 for i in range(ones)]))
        assert arrive(state, Job("c", 1, gpus), variant=Variant.EXACT).admitted
        fuller = arrive(state, Job("q"), variant=Variant.EXACT).state
        assert not arrive(fuller, Job("c", 1, gpus), variant=Variant.EXACT).admitted

    @pytest.mark.parametrize("host", [0, 1])
    def test_the_open_node_may_have_any_index(self, host: int) -> None:
        state = cluster(2, (Job("p", 8, 1), [1 - host] * 8), (Job("a", 1, 2), [host]))
        out = arrive(state, Job("c", 1, 6), variant=Variant.EXACT)
        assert out.placements[0].node == host
        assert sorted(contents(out.state)) == [(2, 1, 1, 1, 1, 1, 1), (6, 1, 1)]

    def test_just_as_many_ones_as_the_block_is_wide(self) -> None:
        state = cluster(2, (Job("b", 3, 2), [0, 0, 0]), (Job("f", 2, 1), [0, 0]), (Job("a", 1, 2), [1]))
        out = arrive(state, Job("c", 1, 6), variant=Variant.EXACT)
        assert out.admitted
        assert contents(out.state) == [(2, 2, 2, 2), (6, 1, 1)]

    def test_an_arrival_merges_the_pair_that_moves_least(self) -> None:
        """Not the first pair: {2, 2} and {2, 2} take two moves, {4} and either takes one."""
        state = cluster(4, (Job("a", 4, 2), [0, 0, 1, 1]), (Job("b", 1, 4), [2]))
        out = arrive(state, Job("c", 1, 8), variant=Variant.EXACT)
        assert [m.instance.job for m in out.migrations] == ["b"]
