"""The counting abstraction beside the code: whatever an operator does to a state, the rules allow to its looks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import (
    ClusterState,
    Instance,
    InvariantViolation,
    Job,
    Variant,
    arrive,
    check_saturation,
    compact,
    depart,
    remove,
)
from compass_core.condition import reserved_gpus
from compass_core.draft import every_move_counts_one
from proofs import counters
from proofs.abstract_events import abstract, arrived, departed, removed, settled
from proofs.abstraction import CAPACITY, DEMANDS, KINDS, Kind, filling, holdings, looks, merging, placing, width_of
from proofs.counters import COUNTERS
from proofs.soundness import REPAIRED, faulty_rules, left_mixed, node_shapes, steps_beyond_rules, surely_merged
from proofs.strategies import Region, cluster_states, event_lists, jobs
from proofs.terms import every, holds, value
from proofs.unbounded_admission import reserved_with
from proofs.unbounded_compaction import other_mixed_looks
from proofs.unbounded_compaction import settled as settled_premises
from tests.core.referee import Referee

VARIANTS = st.sampled_from(REPAIRED)
STATES = cluster_states(max_nodes=3, region=Region.EXTENDED)


def test_kinds_are_what_nodes_of_the_extended_space_look_like() -> None:
    # Every multiset of demands of up to 8 GPUs whose slots and ones fit, counted afresh.
    found: set[tuple[tuple[int, ...], int]] = set()

    def extend(demands: tuple[int, ...]) -> None:
        anchors = [g for g in demands if g > 1]
        widths = sum(2 if g == 2 else 4 if g <= 4 else 8 for g in anchors)
        wanted = widths - sum(anchors)
        singles = demands.count(1)
        if sum(demands) > 8 or widths + max(0, singles - wanted) > 8:
            return
        slots = tuple(sorted((2 if g == 2 else 4 if g <= 4 else 8 for g in anchors), reverse=True))
        found.add((slots, wanted - singles))
        for g in range(demands[-1] if demands else 1, 9):
            extend((*demands, g))

    extend(())
    assert {(kind.widths, kind.balance) for kind in KINDS} == found
    assert len(KINDS) == 44


class TestKind:
    """A kind says of a node what the node itself says."""

    def test_figures(self) -> None:
        for shape in node_shapes():
            kind = Kind.of(shape.demands)
            assert (kind.reserved, kind.used, kind.room) == (shape.reserved, shape.used, shape.room)
            assert (kind.vacancies, kind.ones) == (shape.vacancy, shape.ones)
            assert (kind.partial, kind.open) == (shape.partial, shape.open)
            named = {"empty": kind.empty, "pool": kind.pool, "mixed": kind.mixed}
            assert [name for name, it_is in named.items() if it_is] in ([shape.kind.value], [])
            assert any(named.values()) == (shape.kind.value != "slotted")

    @given(state=STATES)
    def test_balance_is_what_the_condition_compares(self, state: ClusterState) -> None:
        need = sum((0, 0, 1, 0, 3, 2, 1, 0)[g - 1] * n for g, n in enumerate(state.counts, start=1))
        assert holdings(abstract(state))[1] == need - state.counts[0]

    def test_widths(self) -> None:
        assert [width_of(g) for g in range(2, 9)] == [2, 4, 4, 8, 8, 8, 8]


class TestRulesAlone:
    """The rules conserve instances and keep capacities, and what is checked of them can fail."""

    def test_none_is_faulty(self) -> None:
        assert list(faulty_rules()) == []

    @pytest.mark.parametrize("variant", REPAIRED)
    def test_every_step_of_the_code_is_a_rule(self, variant: Variant) -> None:
        assert list(steps_beyond_rules(variant)) == []

    def test_a_rule_that_loses_an_instance_is_found(self) -> None:
        before = looks((Kind((4,), 0), Kind((), -4)))
        rules = {before: frozenset({looks((Kind((4,), 0), Kind((), -3)))})}
        assert any("does not keep the instances" in fault for fault in faulty_rules([("broken", rules)]))

    def test_a_rule_that_over_books_is_found(self) -> None:
        before = looks((Kind((8,), 0), Kind((), -1)))
        rules = {before: frozenset({looks((Kind((8,), -1), Kind((), 0)))})}
        assert any("outside" in fault for fault in faulty_rules([("broken", rules)]))

    def test_a_merge_that_leaves_as_much_disorder_is_found(self) -> None:
        pair = looks((Kind((2,), 0), Kind((4,), 0)))
        assert any("disorder" in fault for fault in faulty_rules([("merge (exact)", {pair: frozenset({pair})})]))

    def test_merges_keep_the_gpus_of_both_nodes(self) -> None:
        for variant in REPAIRED:
            for before, results in merging(variant).items():
                assert {sum(k.used for k in after) for after in results} == {sum(k.used for k in before)}

    def test_exact_merges_any_two_open_nodes(self) -> None:
        sure = surely_merged(Variant.EXACT)
        opened = [kind for kind in KINDS if kind.open]
        for one in opened:
            for other in opened:
                saturated = not (one.ones + other.ones and one.vacancies + other.vacancies)
                assert (looks((one, other)) in sure) == saturated

    def test_what_a_departure_may_leave_mixed(self) -> None:
        # An orphan is the filler of a 3 that stood beside a slot of width 4 or two of width 2, or one of them.
        assert left_mixed() == {Kind((4,), -1), Kind((2, 2), -1), Kind((2,), -1)}

    def test_filling_never_opens_a_vacancy(self) -> None:
        for before, results in filling().items():
            wanted = sum(kind.vacancies for kind in before)
            assert all(sum(kind.vacancies for kind in after) == wanted - 1 for after in results)

    def test_compass_mixes_no_node_by_placing(self) -> None:
        for demand in DEMANDS:
            for (before,), results in placing(demand, Variant.COMPASS).items():
                assert before.mixed or not any(after.mixed for (after,) in results)


def numbers_of(state: ClusterState) -> dict[str, int]:
    """Return the values of the counters in a state: of its nodes that are online."""
    found = {kind.name: 0 for kind in KINDS}
    for index, node in enumerate(state.nodes):
        if state.is_online(index):
            found[Kind.of(node.shape.demands).name] += 1
    return found


class TestPremises:
    """What the lemmas are given of every settled state holds of the code's, and their words mean what the code's do."""

    @given(data=st.data(), variant=VARIANTS, nodes=st.integers(1, 5), dear=st.sampled_from((0, 1, 3)))
    def test_after_every_event(self, data: st.DataObject, variant: Variant, nodes: int, dear: int) -> None:
        # Events of nodes too, and instances that cost more or less to move: the lemmas say the same of both.
        given = every((*settled_premises(variant), *(other_mixed_looks() if variant is Variant.COMPASS else ())))

        def cost(instance: Instance) -> float:
            return float(instance.index * dear % 4)

        referee = Referee(variant, nodes, migration_cost=cost if dear else every_move_counts_one)
        for event in data.draw(event_lists(max_events=20, max_instances=5, nodes=nodes)):
            referee.play(event)
            assert holds(given, numbers_of(referee.state))

    @given(state=STATES)
    def test_words(self, state: ClusterState) -> None:
        numbers = numbers_of(state)
        assert value(counters.nodes(COUNTERS), numbers) == state.node_count
        assert value(counters.partial(COUNTERS), numbers) == state.partial_nodes
        assert value(counters.used(COUNTERS), numbers) == state.used_gpus
        assert holds(counters.composed(COUNTERS), numbers) == state.wcc
        assert holds(counters.remainder(COUNTERS), numbers) == (state.used_gpus % 8 != 0)
        assert value(counters.opened(COUNTERS), numbers) == sum(
            0 < shape.reserved < 8 for shape, indexes in state.shapes.items() for _ in indexes
        )
        assert value(reserved_with(None), numbers) == reserved_gpus(state.counts)
        for demand in DEMANDS:
            more = tuple(n + (g == demand) for g, n in enumerate(state.counts, start=1))
            assert value(reserved_with(demand), numbers) == reserved_gpus(more)

    @given(state=STATES)
    def test_saturation(self, state: ClusterState) -> None:
        try:
            check_saturation(state)
        except InvariantViolation:
            assert not holds(counters.saturated(COUNTERS), numbers_of(state))
        else:
            assert holds(counters.saturated(COUNTERS), numbers_of(state))


class TestRefinement:
    """abstract(op(state)) is among the results the rules allow, for every operator of both variants."""

    @given(state=STATES, variant=VARIANTS)
    def test_compact(self, state: ClusterState, variant: Variant) -> None:
        assert abstract(compact(state, variant=variant).state) in settled([abstract(state)], variant)

    @given(state=STATES, job=jobs("new", max_instances=3), variant=VARIANTS)
    def test_arrive(self, state: ClusterState, job: Job, variant: Variant) -> None:
        out = arrive(state, job, variant=variant)
        allowed = arrived(abstract(state), job.gpus, job.instances, variant)
        if job.total_gpus > state.free_gpus:
            assert not out.admitted
        else:
            assert abstract(out.state) in allowed

    @given(state=STATES, data=st.data(), variant=VARIANTS)
    def test_depart(self, state: ClusterState, data: st.DataObject, variant: Variant) -> None:
        running = sorted({instance.job for node in state.nodes for instance in node.instances})
        if running:
            name = data.draw(st.sampled_from(running))
            gone = [i for node in state.nodes for i in node.instances if i.job == name]
            after = depart(state, name, variant=variant).state
            assert abstract(after) in departed(abstract(state), gone[0].gpus, len(gone), variant)

    @given(state=STATES, data=st.data(), variant=VARIANTS)
    def test_remove(self, state: ClusterState, data: st.DataObject, variant: Variant) -> None:
        instances = [instance for node in state.nodes for instance in node.instances]
        if instances:
            instance = data.draw(st.sampled_from(instances))
            after = remove(state, instance, variant=variant).state
            assert abstract(after) in removed(abstract(state), instance.gpus, variant)

    @given(state=STATES)
    def test_abstraction_keeps_the_instances(self, state: ClusterState) -> None:
        demands = Counter({g: n for g, n in enumerate(state.counts, start=1) if n})
        widths = sorted((width_of(g) for g in demands.elements() if g > 1), reverse=True)
        assert holdings(abstract(state))[0] == tuple(widths)
        assert len(abstract(state)) == state.node_count
        assert all(kind.used <= CAPACITY for kind in abstract(state))
