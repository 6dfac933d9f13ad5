"""Under COMPASS slots and ones share a node only while no nodes of their own are left for them (theory §3, C1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import ClusterState, Job, MoveReason, Variant, arrive, check_abs, compact
from proofs.events import parse_events
from proofs.strategies import event_lists
from tests.core.naive import seeded
from tests.core.referee import Referee

if TYPE_CHECKING:
    from collections.abc import Sequence

COMPASS = Variant.COMPASS


def cluster(nodes: int, *placement: tuple[Job, Sequence[int]]) -> ClusterState:
    return ClusterState.from_placement(placement, nodes=nodes)


def contents(state: ClusterState) -> list[tuple[int, ...]]:
    return [node.shape.demands for node in state.nodes]


def played(events: str, nodes: int, capacity: int = 8) -> Referee:
    referee = Referee(COMPASS, nodes, capacity)
    for event in parse_events(events):
        referee.play(event)
        referee.check()
    return referee


class TestAnOrphanWhoseHomeIsFull:
    """{4, 1} and {2, 2, 1}: to close a node would make {4, 2, 1, 1} and {2}; Σ asks for {4, 2, 2} and {1, 1}."""

    events = "1x4, 2x3, 2x1, 2x2, -2"

    def test_slots_and_ones_part(self) -> None:
        referee = played(self.events, 2)
        check_abs(referee.state)
        assert sorted(contents(referee.state)) == [(1, 1), (4, 2, 2)]

    def test_a_one_and_the_4_move(self) -> None:
        before = played(self.events.removesuffix(", -2"), 2)
        moved = before.migrations
        before.depart("2")
        assert before.migrations - moved == 2

    def test_a_job_that_fits_finds_its_place(self) -> None:
        referee = played(self.events, 2)
        assert referee.model.fits_apart(1, 1)
        assert referee.arrive(Job("new"))
        referee.check()


class TestAMixedNode:
    """Taken over, or left by a departure."""

    def test_gives_its_ones_to_the_pool(self) -> None:
        state = cluster(2, (Job("a", 2, 4), [0, 0]), (Job("p"), [1]))
        left = cluster(2, (Job("a", 1, 4), [0]), (Job("f"), [0]), (Job("p"), [1]))
        assert compact(state, variant=COMPASS).migrations == ()
        assert sorted(contents(compact(left, variant=COMPASS).state)) == [(1, 1), (4,)]

    def test_gives_an_idle_node_its_slots_where_they_are_fewer(self) -> None:
        state = cluster(2, (Job("a", 1, 4), [0]), (Job("f", 3, 1), [0] * 3))
        out = compact(state, variant=COMPASS)
        assert [(m.instance.gpus, m.reason) for m in out.migrations] == [(4, MoveReason.REHOME)]
        assert contents(out.state) == [(1, 1, 1), (4,)]

    def test_is_divided_before_others_merge(self) -> None:
        state = cluster(3, (Job("a", 1, 4), [0]), (Job("f"), [0]), (Job("p"), [1]), (Job("q", 2, 1), [2, 2]))
        out = compact(state, variant=COMPASS)
        assert [m.reason for m in out.migrations] == [MoveReason.REHOME, MoveReason.MERGE, MoveReason.MERGE]

    def test_stays_on_a_cluster_without_another_node(self) -> None:
        """{4, 1} has room for a 2, but slots and ones would go on sharing the node; a 3 makes the one its filler."""
        state = cluster(1, (Job("a", 1, 4), [0]), (Job("f"), [0]))
        assert not arrive(state, Job("new", 1, 2), variant=COMPASS).admitted
        assert not arrive(state, Job("new", 1, 1), variant=COMPASS).admitted
        assert arrive(state, Job("new", 1, 3), variant=COMPASS).admitted

    def test_stays_where_nothing_can_move(self) -> None:
        """Two nodes would do for its slots and the ones, but no GPU is free."""
        state = cluster(2, (Job("a", 2, 4), [0, 1]), (Job("f", 8, 1), [0] * 4 + [1] * 4))
        assert compact(state, variant=COMPASS).state is state


class TestSixteenGpus:
    """Larger nodes leave more ways to share one."""

    @pytest.mark.parametrize("order", [1, -1])
    def test_slots_close_a_node_of_their_own_first(self, order: int) -> None:
        """{2, 2, 2, 2, 1, 1} and {2, 2, 2, 2, 2}: not {2, 2, 2, 2, 2, 2, 2, 1, 1} beside an open node of slots."""
        homes = [0, 1][::order]
        mixed = [(Job("a", 4, 2), [homes[0]] * 4), (Job("f", 2, 1), [homes[0]] * 2)]
        slotted = [(Job("b", 5, 2), [homes[1]] * 5)]
        out = compact(ClusterState.from_placement(mixed + slotted, nodes=2, capacity=16), variant=COMPASS)
        assert sorted(contents(out.state)) == [(2, 1, 1), (2,) * 8]
        assert len(out.migrations) == 3

    def test_the_room_to_close_a_node_can_lack(self) -> None:
        """{8, 1, 1, 1} and {8, 2, 2, 2} leave 7 GPUs free: no 8 can move. They would have to share a node anyway."""
        referee = played("3x1, 1x5, 2x8, 3x2, -2", 2, 16)
        assert sorted(contents(referee.state)) == [(8, 1, 1, 1), (8, 2, 2, 2)]
        assert not referee.model.fits_apart()


@pytest.mark.parametrize("capacity", [8, 16])
@given(data=st.data(), nodes=st.integers(1, 3))
@settings(max_examples=settings().max_examples // 2)
def test_departures_of_whoever_has_fillers(data: st.DataObject, nodes: int, capacity: int) -> None:
    """Ones and demands that ask for fillers, on few nodes: every departure orphans some."""
    wanted = st.sampled_from([1, 1, 2, 3, capacity // 2, capacity - 3])
    referee = Referee(COMPASS, nodes, capacity)
    for event in data.draw(event_lists(capacity=capacity, gpus=wanted, max_events=40, nodes=nodes)):
        referee.play(event)
        referee.check()


def tight(seed: int, events: int, nodes: int, capacity: int) -> tuple[int, int]:
    """Play random events on a cluster that stays full; return how many there were, and after how many a node is mixed.

    Anchors that have fillers leave first.
    """
    random = seeded(seed)
    referee = Referee(COMPASS, nodes, capacity)
    mixed = 0
    for number in range(events):
        free, jobs = referee.model.free, referee.model.jobs
        if jobs and (free <= random.choice((0, 1, 2, 3, 4, 8)) or random.random() < 0.25):
            weights = [1 if gpus & (gpus - 1) == 0 else 3 for _, gpus in jobs.values()]
            referee.depart(random.choices(list(jobs), weights)[0])
        else:
            gpus = random.choice((1, 1, 1, *range(1, capacity + 1)))
            most = max(1, free // gpus)
            referee.arrive(Job(f"j{number:06}", random.choice((1, 1, 1, 2, 3, min(most, 8), min(most, 4))), gpus))
        referee.check()
        mixed += referee.model.has_mixed_node
    return events, mixed


@pytest.mark.parametrize("capacity", [8, 16])
def test_full_clusters(capacity: int) -> None:
    runs = [tight(seed, 400, 1 + seed % 4, capacity) for seed in range(8)]
    assert sum(mixed for _, mixed in runs) > 0


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [4, 8, 16])
def test_full_clusters_for_long(capacity: int) -> None:
    runs = [tight(seed, 1_000, 1 + seed % 6, capacity) for seed in range(100, 160)]
    assert sum(mixed for _, mixed in runs) > 0 or capacity == 4
