"""The exploration covers what real gangs can reach, looks at every law, and notices a broken operator."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import ClusterState, Job, Outcome, Variant, arrive, depart
from proofs import bounded, exploration
from proofs import canonical as states
from proofs.bounded import Counts, every_space, recorded, settle, spaces
from proofs.canonical import (
    GANG,
    Gang,
    arrangements,
    canonical,
    contents_of,
    gangs,
    is_full,
    orders,
    state_with,
    without,
)
from proofs.claim import Effort, Status
from proofs.events import Arrival, Departure
from proofs.exploration import Exploration, Space, broken_laws, explore
from proofs.strategies import event_lists

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.laws import Contents

REPAIRED = [Variant.COMPASS, Variant.EXACT]


class TestCanonical:
    def test_orders_and_gangs_of_a_small_state(self) -> None:
        assert orders(((2,), (), (2,))) == [((), (2,), (2,)), ((2,), (), (2,)), ((2,), (2,), ())]
        assert list(gangs(((1, 1), (4, 1)))) == [
            *(Gang(1, on_node) for on_node in [(0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
            Gang(4, (0, 1)),
        ]
        assert list(gangs(((1, 1), (4, 1)), max_instances=1)) == [Gang(1, (0, 1)), Gang(1, (1, 0)), Gang(4, (0, 1))]
        assert without(((2, 1, 1), (4, 1)), Gang(1, (2, 1))) == ((2,), (4,))

    def test_full_nodes_stand_last_in_every_order(self) -> None:
        assert [node for node in [(8,), (5, 1, 1, 1), (4, 4), (7,), (4, 1, 1, 1, 1), ()] if is_full(node)] == [
            (8,),
            (5, 1, 1, 1),
            (4, 4),
        ]
        assert arrangements(((8,), (2,), ())) == [(2, 1, 0), (1, 2, 0)]
        assert orders(((8,), (2,), ())) == [((), (2,), (8,)), ((2,), (), (8,))]

    def test_a_state_of_given_contents(self) -> None:
        state = state_with(((3, 1, 1), (), (4, 1)), Gang(1, (1, 0, 1)))
        assert contents_of(state) == ((3, 1, 1), (), (4, 1))
        assert state.job(GANG) == Job(GANG, 2, 1)
        assert sorted(map(state.node_of, state.instances_of(GANG))) == [0, 2]
        assert len(state.jobs_by_name) == 4


def gang_of(state: ClusterState, name: str) -> Gang:
    homes = [state.node_of(instance) for instance in state.instances_of(name)]
    return Gang(state.job(name).gpus, tuple(homes.count(index) for index in range(state.node_count)))


class TestWhatIsForgotten:
    """Who owns an instance decides nothing about the contents: what the exploration takes for granted."""

    @pytest.mark.parametrize("variant", REPAIRED)
    @given(nodes=st.integers(1, 4), events=event_lists(max_events=25, max_instances=8))
    def test_contents_follow_from_contents(
        self, variant: Variant, nodes: int, events: tuple[Arrival | Departure, ...]
    ) -> None:
        state = ClusterState.empty(nodes)
        for event in events:
            before = contents_of(state)
            if isinstance(event, Arrival):
                out = arrive(state, event.job, variant=variant)
                alike = arrive(state_with(before), Job(GANG, event.job.instances, event.job.gpus), variant=variant)
            elif event.name in state.jobs_by_name:
                gang = gang_of(state, event.name)
                out = depart(state, event.name, variant=variant)
                alike = depart(state_with(before, gang), GANG, variant=variant)
            else:
                continue
            assert (out.admitted, contents_of(out.state)) == (alike.admitted, contents_of(alike.state))
            state = out.state

    @pytest.mark.parametrize("variant", REPAIRED)
    @given(data=st.data())
    def test_a_departure_depends_on_what_it_leaves(self, variant: Variant, data: st.DataObject) -> None:
        """Of two gangs that leave the same contents behind, both lead to the same contents."""
        state = ClusterState.empty(data.draw(st.integers(1, 3)))
        for event in data.draw(event_lists(max_events=12)):
            if isinstance(event, Arrival):
                state = arrive(state, event.job, variant=variant).state
        rest = contents_of(state)
        free = [index for index, node in enumerate(rest) if sum(node) < 8]
        if not free:
            return
        results: set[Contents] = set()
        for index in free:
            for gpus in range(1, 9 - sum(rest[index])):
                fuller = tuple(sorted((*rest[index], gpus), reverse=True))
                contents = (*rest[:index], fuller, *rest[index + 1 :])
                gang = Gang(gpus, tuple(int(at == index) for at in range(len(rest))))
                results.add(contents_of(depart(state_with(contents, gang), GANG, variant=variant).state))
        assert len(results) == 1


def never(node: tuple[int, ...]) -> bool:
    del node
    return False


class TestFullNodes:
    """Where a full node stands decides nothing, so of the orders that differ in that one is tried."""

    @pytest.mark.parametrize("variant", REPAIRED)
    @given(data=st.data())
    def test_no_event_depends_on_where_they_stand(self, variant: Variant, data: st.DataObject) -> None:
        state = ClusterState.empty(data.draw(st.integers(1, 4)))
        for event in data.draw(event_lists(max_events=12)):
            if isinstance(event, Arrival):
                state = arrive(state, event.job, variant=variant).state
        contents = contents_of(state)
        full = data.draw(st.sampled_from([(8,), (4, 4), (5, 2, 1), (3, 3, 1, 1), (7, 1), (2, 2, 2, 2)]))
        job = Job(GANG, data.draw(st.integers(1, 6)), data.draw(st.integers(1, 8)))
        leaving = data.draw(st.sampled_from([*gangs(contents), None]))
        results: set[tuple[bool, Contents]] = set()
        for at in range(len(contents) + 1):
            fuller = (*contents[:at], full, *contents[at:])
            if leaving is None:
                out = arrive(state_with(fuller), job, variant=variant)
            else:
                spread = Gang(leaving.gpus, (*leaving.on_node[:at], 0, *leaving.on_node[at:]))
                out = depart(state_with(fuller, spread), GANG, variant=variant)
            after = list(contents_of(out.state))
            assert after.pop(at) == full
            results.add((out.admitted, tuple(after)))
        assert len(results) == 1

    @pytest.mark.long
    @pytest.mark.parametrize("variant", REPAIRED)
    @pytest.mark.parametrize("nodes", [2, pytest.param(3, marks=pytest.mark.slow)])
    def test_every_order_reaches_the_same(self, monkeypatch: pytest.MonkeyPatch, variant: Variant, nodes: int) -> None:
        space = Space(variant=variant, nodes=nodes)
        once = explore(space)
        monkeypatch.setattr(states, "is_full", never)
        everywhere = explore(space)
        assert everywhere.refused > once.refused
        assert (set(everywhere.tree), everywhere.transitions, everywhere.depth, everywhere.most_migrations) == (
            set(once.tree),
            once.transitions,
            once.depth,
            once.most_migrations,
        )


class TestAgainstRealGangs:
    """A search that keeps every job and node apart finds the same contents."""

    @staticmethod
    def reached(variant: Variant, nodes: int, demands: tuple[int, ...], most: int) -> set[Contents]:
        start = ClusterState.empty(nodes)
        seen: set[object] = set()
        level = [start]
        found: set[Contents] = set()
        while level:
            following: list[ClusterState] = []
            for state in level:
                key = tuple(
                    sorted(
                        (j.gpus, tuple(sorted(map(state.node_of, j.all_instances()))))
                        for j in state.jobs_by_name.values()
                    )
                )
                if key in seen:
                    continue
                seen.add(key)
                found.add(canonical(contents_of(state)))
                name = next(str(n) for n in range(100, 999) if str(n) not in state.jobs_by_name)
                following += [
                    arrive(state, Job(name, w, g), variant=variant).state for g in demands for w in range(1, most + 1)
                ]
                following += [depart(state, name, variant=variant).state for name in state.jobs_by_name]
            level = following
        return found

    @pytest.mark.parametrize("variant", REPAIRED)
    @pytest.mark.parametrize(
        ("nodes", "demands", "most"), [(1, (1, 2, 3, 4, 5, 6, 7, 8), 2), (2, (3, 4, 8), 2), (2, (1, 6), 1)]
    )
    def test_the_same_contents(self, variant: Variant, nodes: int, demands: tuple[int, ...], most: int) -> None:
        space = Space(variant=variant, nodes=nodes, demands=demands, max_instances=most)
        real = self.reached(variant, nodes, demands, most)
        explored = set(explore(space).tree)
        assert real == explored
        assert len(real) > 20


class TestEveryLawCanFail:
    @pytest.mark.parametrize(
        ("contents", "clause"),
        [
            (((8, 1),), "over-booked"),
            (((3, 3, 2),), "Σ⁺"),
            (((3,), (4, 1)), "I:"),
            (((4, 1), ()), "C1"),
            (((4, 1), (1,)), "C1"),
            (((4,), (4,)), "C3"),
            (((1,), (1,)), "C3"),
            (((4, 2), (4,), (1, 1, 1, 1, 1, 1)), "C4"),
            (((4,), (2, 2)), "C5"),
        ],
    )
    def test_compass(self, contents: Contents, clause: str) -> None:
        assert any(clause in law for law in broken_laws(contents, Variant.COMPASS))

    @pytest.mark.parametrize(
        ("contents", "clause"),
        [(((4,), (1,)), "C6: at most one"), (((4,), (1, 1, 1, 1)), "C6: Φ"), (((3, 3, 2),), "Σ⁺")],
    )
    def test_exact(self, contents: Contents, clause: str) -> None:
        assert any(clause in law for law in broken_laws(contents, Variant.EXACT))

    def test_sound_states_break_none(self) -> None:
        assert not broken_laws(((4,), (1, 1, 1, 1)), Variant.COMPASS)
        assert not broken_laws(((4, 2, 1), (8,)), Variant.EXACT)


def refusing(state: ClusterState, job: Job, *, variant: Variant) -> Outcome:
    out = arrive(state, job, variant=variant)
    return out if job.gpus != 3 else replace(out, state=state, admitted=False, placements=(), migrations=())


def forgetful(state: ClusterState, job: Job, *, variant: Variant) -> Outcome:
    out = arrive(state, job, variant=variant)
    return replace(out, state=out.state.remove(job.instance(0))) if out.admitted and job.gpus == 3 else out


def secretive(state: ClusterState, job: Job, *, variant: Variant) -> Outcome:
    return replace(arrive(state, job, variant=variant), migrations=())


def lazy(state: ClusterState, name: str, *, variant: Variant) -> Outcome:
    del variant
    return Outcome(state.without_job(name))


class TestABrokenOperatorIsNoticed:
    @pytest.mark.parametrize(
        ("name", "operator", "law"),
        [
            ("arrive", refusing, "admission"),
            ("arrive", forgetful, "no instance is lost"),
            ("arrive", secretive, "carried out one by one"),
            ("depart", lazy, "C3"),
        ],
    )
    def test_by_its_law(
        self, monkeypatch: pytest.MonkeyPatch, name: str, operator: Callable[..., Outcome], law: str
    ) -> None:
        monkeypatch.setattr(exploration, name, operator)
        found = explore(Space(variant=Variant.COMPASS, nodes=2, demands=(1, 2, 3), max_instances=2))
        assert any(law in violation.law for violation in found.violations)
        assert ", then " in str(found.violations[0])
        way = found.path_to(found.violations[0].before)
        assert (way[0], way[-1]) == (((), ()), canonical(found.violations[0].before))
        assert all(pair in found.tree.edges for pair in pairwise(way))


class TestTwoProcesses:
    def test_find_the_same(self) -> None:
        space = Space(variant=Variant.COMPASS, nodes=2, max_instances=2)
        alone, together = explore(space), explore(space, processes=2)
        assert Counts.of(alone) == Counts.of(together)
        assert list(alone.tree.edges) == list(together.tree.edges)
        assert not together.violations


class TestTheRecord:
    @pytest.mark.parametrize("variant", REPAIRED)
    def test_one_and_two_nodes_have_the_recorded_states_and_keep_every_law(self, variant: Variant) -> None:
        for space in spaces(variant, Effort.QUICK)[:2]:
            found = explore(space)
            assert not found.violations
            assert Counts.of(found) in recorded()

    @pytest.mark.slow
    @pytest.mark.parametrize("variant", REPAIRED)
    def test_so_have_the_other_spaces_of_the_quick_run(self, variant: Variant) -> None:
        assert settle(variant, Effort.QUICK).status is Status.CHECKED

    def test_every_space_is_recorded(self) -> None:
        every = every_space()
        assert all(any(counts.is_of(space) for counts in recorded()) for space in every)
        assert len(recorded()) == len(every)

    def test_a_number_that_drifts_is_not_checked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        one_node = Space(variant=Variant.EXACT, nodes=1, demands=(8,))

        def only_that(variant: Variant, effort: Effort) -> tuple[Space, ...]:
            del variant, effort
            return (one_node,)

        monkeypatch.setattr(bounded, "spaces", only_that)
        kept = Counts.of(explore(one_node))
        for record, status in (
            (kept, Status.CHECKED),
            (Counts.of(explore(replace(one_node, demands=(4,)))), Status.UNKNOWN),
        ):
            monkeypatch.setattr(bounded, "recorded", lambda record=record: (record,))
            assert settle(Variant.EXACT, Effort.QUICK).status is status

    def test_a_violation_refutes(self) -> None:
        def violated(space: Space, processes: int) -> Exploration:
            del processes
            found = explore(replace(space, nodes=1, demands=(8,)))
            found.violations.append(exploration.Violation("a law", "1x8 arrives", ((),), ((8,),)))
            return found

        finding = settle(Variant.EXACT, Effort.QUICK, violated)
        assert finding.status is Status.REFUTED
        assert finding.counterexample is not None
        assert "a law: [()], then 1x8 arrives: [(8,)]; the state before by [()]" in finding.counterexample.text
