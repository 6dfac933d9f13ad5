"""The table of merges against every way to divide the instances of two nodes between them."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import ClusterState, Instance, Job, Variant, arrive, compact, depart
from compass_core.merging import divisions, executable
from compass_core.model import shape_of
from proofs.strategies import CAPACITIES, Region, cluster_states
from tests.core.naive import Facts, width_of
from tests.core.pairs import all_merges, candidates, disorder, open_contents

if TYPE_CHECKING:
    from compass_core.merging import Division
    from tests.core.pairs import Demands


def moved(division: Division) -> tuple[Counter[int], Counter[int]]:
    return division.demands(from_first=True), division.demands(from_first=False)


def check_pair(first: Demands, second: Demands, capacity: int, *, apart: bool) -> None:
    table = divisions(shape_of(capacity, first), shape_of(capacity, second), apart=apart)
    possible = all_merges(first, second, capacity, apart=apart)
    assert bool(table) == bool(possible)
    if not table:
        return
    assert len(table[0].steps) == min(possible.values())
    assert [len(d.steps) for d in table] == sorted(len(d.steps) for d in table)
    listed = [moved(division) for division in table]
    before = disorder((first, second), capacity, apart=apart)
    for division, (leaving, coming) in zip(table, listed, strict=True):
        after = play(division, first, second, capacity)
        assert disorder(after, capacity, apart=apart)[0] == before[0] - division.unmixes
        key = tuple(sorted(leaving.elements(), reverse=True)), tuple(sorted(coming.elements(), reverse=True))
        assert any((Counter(a), Counter(b)) == (leaving, coming) for a, b in possible), key
    # Whatever instances cost, the table has the cheapest way: all that is possible moves at least what one entry moves.
    for all_leaving, all_coming in possible:
        assert any(a <= Counter(all_leaving) and b <= Counter(all_coming) for a, b in listed)
    for one, other in product(listed, repeat=2):
        assert one is other or not (one[0] <= other[0] and one[1] <= other[1])


def play(division: Division, first: Demands, second: Demands, capacity: int) -> list[Demands]:
    """Carry out the steps in their order on two bags of demands; return what the bags hold then."""
    nodes = (Counter(first), Counter(second))
    for from_first, gpus in division.steps:
        source, destination = nodes if from_first else nodes[::-1]
        assert source[gpus]
        source[gpus] -= 1
        destination[gpus] += 1
        assert sum(g * n for g, n in destination.items()) <= capacity
    return [tuple(sorted(bag.elements(), reverse=True)) for bag in nodes]


def is_pool(demands: Demands) -> bool:
    return set(demands) == {1}


@pytest.mark.parametrize(("capacity", "kinds"), [(2, 1), (4, 5), (8, 33), (16, 453)])
def test_number_of_kinds_of_open_node(capacity: int, kinds: int) -> None:
    """The size of the table; recorded, so that a change of the model shows."""
    assert len(open_contents(capacity)) == len(set(open_contents(capacity))) == kinds


@pytest.mark.parametrize("capacity", [2, 4, 8])
def test_every_pair_of_open_nodes(capacity: int) -> None:
    """Where nodes may be mixed, any two open ones can be merged."""
    for first, second in product(open_contents(capacity), repeat=2):
        check_pair(first, second, capacity, apart=False)
        assert all_merges(first, second, capacity, apart=False)


@pytest.mark.parametrize("capacity", [2, 4, 8])
def test_every_pair_that_compass_may_meet(capacity: int) -> None:
    for first, second in product(candidates(capacity), repeat=2):
        check_pair(first, second, capacity, apart=True)


@pytest.mark.parametrize("capacity", [2, 4, 8, 16])
def test_compass_merges_open_nodes_of_one_class_and_of_no_two(capacity: int) -> None:
    """Two that invariant I allows side by side: no vacancy here and one there."""
    few = [(c, f) for c in open_contents(capacity) if not (f := Facts.of(c, capacity)).mixed][:60]
    for (first, one), (second, other) in product(few, repeat=2):
        if (one.vacancy and other.ones) or (other.vacancy and one.ones):
            continue
        table = divisions(shape_of(capacity, first), shape_of(capacity, second), apart=True)
        assert bool(table) == (is_pool(first) == is_pool(second))


@given(st.data())
@settings(max_examples=settings().max_examples // 3)
def test_pairs_of_sixteen(data: st.DataObject) -> None:
    apart = data.draw(st.booleans())
    contents = candidates(16) if apart else open_contents(16)
    first, second = (data.draw(st.sampled_from(contents)) for _ in range(2))
    check_pair(first, second, 16, apart=apart)


def test_wide_ones_move_first() -> None:
    """Of the orders that over-book neither node, so that the same event lists the same moves whoever counted them."""
    assert executable(0, 8, Counter({(True, 2): 1, (True, 4): 1})) == ((True, 4), (True, 2))
    assert executable(2, 3, Counter({(True, 4): 1, (False, 2): 1})) == ((False, 2), (True, 4))
    assert executable(1, 3, Counter({(True, 4): 1, (False, 2): 1})) is None
    assert executable(2, 4, Counter({(False, 2): 1, (True, 4): 1})) == ((True, 4), (False, 2))


def two_nodes(first: Demands, second: Demands, capacity: int) -> ClusterState:
    placement = [(Job(f"a{i}", 1, g), [0]) for i, g in enumerate(first)]
    placement += [(Job(f"b{i}", 1, g), [1]) for i, g in enumerate(second)]
    return ClusterState.from_placement(placement, nodes=2, capacity=capacity)


class TestMigrationCost:
    """A merge takes the cheaper side; how many nodes end up open does not depend on what moving costs."""

    @pytest.mark.parametrize(("dear", "moves"), [("a0", "b0"), ("b0", "a0")])
    def test_the_cheaper_of_two_moves(self, dear: str, moves: str) -> None:
        state = two_nodes((4,), (4,), 8)
        out = compact(state, variant=Variant.EXACT, migration_cost=lambda x: 5.0 if x.job == dear else 1.0)
        assert [m.instance.job for m in out.migrations] == [moves]

    @pytest.mark.parametrize(("dear", "moves"), [("a0", "b0"), ("b0", "a0")])
    @pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
    def test_events_ask_for_it(self, dear: str, moves: str, variant: Variant) -> None:
        """An arrival, and a departure, that have two half-full nodes to merge."""

        def cost(instance: Instance) -> float:
            return 5.0 if instance.job == dear else 1.0

        state = two_nodes((4,), (4,), 8).with_node()[0]
        arrival = arrive(state, Job("new", 1, 8), variant=variant, migration_cost=cost)
        assert [m.instance.job for m in arrival.migrations] == [moves]
        fuller = two_nodes((4, 4), (4,), 8)
        departure = depart(fuller, "a1", variant=variant, migration_cost=cost)
        assert [m.instance.job for m in departure.migrations] == [moves]

    def test_two_cheap_moves_rather_than_one_dear(self) -> None:
        state = two_nodes((4,), (2, 2), 8)
        by_number = compact(state, variant=Variant.EXACT)
        assert [m.instance.gpus for m in by_number.migrations] == [4]
        by_cost = compact(state, variant=Variant.EXACT, migration_cost=lambda x: 9.0 if x.gpus == 4 else 1.0)
        assert [m.instance.gpus for m in by_cost.migrations] == [2, 2]

    @pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
    def test_what_arrives_moves_for_nothing(self, variant: Variant) -> None:
        """The new job fills the vacancy of {3}; then that node is emptied, which moves one that runs, not two."""
        arrival = arrive(two_nodes((3,), (3, 1), 8), Job("new"), variant=variant)
        assert [m.instance.job for m in arrival.migrations] == ["a0"]
        assert arrival.placements[0].node == 1

    @pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
    def test_nor_does_it_make_others_cheaper(self, variant: Variant) -> None:
        """One that runs moves either way: then the new job may as well stay."""
        arrival = arrive(two_nodes((3,), (4,), 8), Job("new"), variant=variant)
        assert [m.instance.job for m in arrival.migrations] == ["b0"]

    @pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
    def test_two_nodes_of_a_shape_are_looked_at(self, variant: Variant) -> None:
        """The first two, also where a third would cost less: thousands of equal open nodes must not make it slow."""
        state = ClusterState.from_placement([(Job(name, 1, 4), [at]) for at, name in enumerate("abc")], nodes=3)
        out = compact(state, variant=variant, migration_cost=lambda x: 0.5 if x.job == "c" else 1.0)
        assert [m.instance.job for m in out.migrations] == ["b"]

    @pytest.mark.parametrize("capacity", [4, 8, 16])
    @given(data=st.data())
    @settings(max_examples=settings().max_examples // 2)
    def test_the_cheapest_of_all_divisions(self, data: st.DataObject, capacity: int) -> None:
        """Against every division of the instances, identities told apart, costs arbitrary."""
        small = [c for c in open_contents(capacity) if len(c) <= 5]
        first, second = data.draw(st.sampled_from(small)), data.draw(st.sampled_from(small))
        facts = [Facts.of(demands, capacity) for demands in (first, second)]
        if any(f.vacancy for f in facts) and any(f.ones for f in facts):
            return  # a vacancy is filled first, which is no merge
        state = two_nodes(first, second, capacity)
        everyone = [x for node in state.nodes for x in node.instances]
        cost = dict(zip(everyone, data.draw(st.lists(st.integers(0, 9), min_size=10, max_size=10)), strict=False))
        out = compact(state, variant=Variant.EXACT, migration_cost=lambda x: float(cost[x]))
        paid = sum(cost[m.instance] for m in out.migrations)
        assert paid == cheapest(first, second, capacity, cost)

    @pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
    @pytest.mark.parametrize("capacity", CAPACITIES)
    @given(data=st.data(), salt=st.integers(1, 50))
    @settings(max_examples=settings().max_examples // 4)
    def test_open_nodes_come_first(self, data: st.DataObject, salt: int, capacity: int, variant: Variant) -> None:
        # Under COMPASS what costs more may move first, and mixed nodes that were taken over may then lack the room.
        region = Region.ABS if variant is Variant.COMPASS else Region.EXTENDED
        state = data.draw(cluster_states(capacity=capacity, region=region))

        def dear(instance: Instance) -> float:
            return (instance.index * 7 + len(instance.job) * 3 + instance.gpus) * salt % 11

        plain = compact(state, variant=variant).state
        weighed = compact(state, variant=variant, migration_cost=dear).state
        assert open_by_kind(plain, variant) == open_by_kind(weighed, variant)


def cheapest(first: Demands, second: Demands, capacity: int, cost: dict[Instance, int]) -> int:
    """Return the least that any division can cost which closes a node and can be carried out."""
    on_first = sorted((x for x in cost if x.job.startswith("a")), key=lambda x: cost[x])
    on_second = sorted((x for x in cost if x.job.startswith("b")), key=lambda x: cost[x])
    best = sum(cost.values()) + 1
    for leaving, coming in all_merges(first, second, capacity, apart=False):
        bill = 0
        for standing, going in ((on_first, Counter(leaving)), (on_second, Counter(coming))):
            for gpus, count in going.items():
                bill += sum(cost[x] for x in [x for x in standing if x.gpus == gpus][:count])
        best = min(best, bill)
    return best


def open_by_kind(state: ClusterState, variant: Variant) -> tuple[int, int, int]:
    """Return how many nodes are open, how many vacancies there are, and under COMPASS how many nodes are mixed."""
    facts = [Facts.of(node.shape.demands, state.capacity) for node in state.nodes]
    mixed = sum(f.mixed for f in facts) if variant is Variant.COMPASS else 0
    return sum(f.open for f in facts), sum(f.vacancy for f in facts), mixed


def test_widths_of_this_file_are_the_papers() -> None:
    assert [width_of(g, 8) for g in range(1, 9)] == [1, 2, 4, 4, 8, 8, 8, 8]
