"""PRINTED shows the faults of the paper's pseudocode (theory §2); COMPASS and EXACT, on the same events, do not.

Slots and fillers follow from the placement in `compass_core`: which slot of a node a filler belongs to is not stored.
The transcription in `naive.py` writes them down. The two can differ only in that label, and only where one node has two
slots with a vacancy; with labels dealt the same way they must agree in every placement, and where no node can have two
such slots they must agree without that.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import (
    ClusterState,
    Job,
    NoHostError,
    PrintedUndefinedError,
    RefusalKind,
    Variant,
    arrive,
    closed_form,
    compact,
    depart,
    place,
)
from compass_core.draft import Draft
from compass_core.printed import AS_PROSE, PrintedOptions, place_job, remove_job
from compass_core.printed import compact as compact_as_printed
from proofs.events import Arrival, Departure, format_events, parse_events
from proofs.strategies import CAPACITIES, event_lists
from tests.core.naive import ExplicitPrinted, UndefinedError, seeded
from tests.core.referee import PrintedReferee, Referee, placement_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from compass_core import Outcome
    from proofs.events import Event

AS_PSEUDOCODE = PrintedOptions(refill=False)


def contents(state: ClusterState) -> list[tuple[int, ...]]:
    """Return the demands on each node that holds something, by index."""
    return [node.shape.demands for node in state.nodes if node.used]


def avoidable(state: ClusterState) -> int:
    return state.partial_nodes - closed_form(state.counts)


def played(
    events: Iterable[Event], nodes: int, *, options: PrintedOptions = AS_PROSE, capacity: int = 8
) -> ClusterState:
    """Return the state after events under PRINTED, all of which must be defined."""
    state = ClusterState.empty(nodes, capacity)
    for event in events:
        state = one_step(state, event, options)
    return state


def one_step(state: ClusterState, event: Event, options: PrintedOptions) -> ClusterState:
    if isinstance(event, Arrival):
        return place_job(state.with_job(event.job), event.job, options).state
    assert isinstance(event, Departure)
    return remove_job(state, event.name, options).state


SHORTEST = "1x2, 2x4, 6x1"
"""No event list is shorter; three nodes are the fewest on which three can be avoidable."""

P1 = "3x2, 3x4, 3x1, 3x1"
P2 = "3x2, 2x2, 2x2, 2x2, 2x4, -2, 3x4, -4"
P2_SHORTER = "1x2, 2x4, 4x2, 6x2, -3"
P7 = "16x3, 16x1, 16x1, -2"


class TestTheBoundFails:
    """P1, P2: Theorem 7 says at most 2 partial nodes and SIF ≤ 2/N under WCC."""

    def test_p1_a_node_with_one_4_slot_hosts_no_2_slot(self) -> None:
        state = played(parse_events(P1), 8)
        assert contents(state) == [(2, 2, 2), (4, 4), (4,), (1,) * 6]
        assert (state.partial_nodes, state.used_gpus, state.wcc, avoidable(state)) == (3, 24, True, 3)

    def test_p2_with_friendly_demands_alone(self) -> None:
        state = played(parse_events(P2), 6)
        assert (state.partial_nodes, state.used_gpus, avoidable(state)) == (3, 30, 2)

    def test_p2_has_a_shorter_witness(self) -> None:
        assert played(parse_events(P2_SHORTER), 4).partial_nodes == 3

    @pytest.mark.parametrize("options", [AS_PROSE, AS_PSEUDOCODE, PrintedOptions(last_destination=False)])
    @pytest.mark.parametrize(("events", "nodes"), [(P1, 8), (P2, 6), (P2_SHORTER, 4), (SHORTEST, 3)])
    def test_whatever_the_print_leaves_open(self, events: str, nodes: int, options: PrintedOptions) -> None:
        assert played(parse_events(events), nodes, options=options).partial_nodes == 3

    def test_the_shortest_witness(self) -> None:
        state = played(parse_events(SHORTEST), 3)
        assert contents(state) == [(4, 2), (4,), (1,) * 6]
        assert (state.used_gpus, state.wcc, avoidable(state)) == (16, True, 3)

    def test_p3_repeating_the_passes_does_not_repair_it(self) -> None:
        state = played(parse_events(SHORTEST), 3)
        assert compact(state, variant=Variant.PRINTED).state == state


class TestPasses:
    def test_the_pool_is_not_compacted_again(self) -> None:
        """One pass over each class: {2, 1} is a pool node only after the pass over slots, when the pool has had its."""
        placement = [(Job("a", 3, 2), [0, 1, 1]), (Job("f", 2, 1), [0, 2])]
        state = ClusterState.from_placement(placement, nodes=3)
        assert contents(compact(state, variant=Variant.PRINTED).state) == [(1,), (2, 2, 2), (1,)]

    def test_slots_go_to_nodes_with_slots_of_their_width_alone(self) -> None:
        state = ClusterState.from_placement([(Job("a", 1, 4), [0]), (Job("b", 1, 2), [1])], nodes=2)
        assert compact(state, variant=Variant.PRINTED).state is state

    def test_a_pass_moves_slots_of_its_width_alone(self) -> None:
        placement = [(Job("a", 3, 4), [0, 1, 1]), (Job("b", 1, 2), [0])]
        state = ClusterState.from_placement(placement, nodes=2, capacity=16)
        assert contents(compact(state, variant=Variant.PRINTED).state) == [(2,), (4, 4, 4)]

    def test_a_node_that_is_emptied_leaves_the_queue(self) -> None:
        """The one goes to a pool node of three, and then the other three follow."""
        state = ClusterState.from_placement([(Job("p"), [0]), (Job("q", 6), [1, 1, 1, 2, 2, 2])], nodes=3)
        assert contents(compact(state, variant=Variant.PRINTED).state) == [(1,) * 7]

    @pytest.mark.parametrize(("options", "host"), [(AS_PROSE, 2), (PrintedOptions(last_destination=False), 1)])
    def test_of_equal_hosts_the_last_or_the_first(self, options: PrintedOptions, host: int) -> None:
        state = ClusterState.from_placement([(Job("p"), [0]), (Job("q", 6), [1, 1, 1, 2, 2, 2])], nodes=3)
        draft = Draft(state, Variant.PRINTED)
        compact_as_printed(draft, options)
        assert (draft.moves[0].source, draft.moves[0].destination) == (0, host)


class TestTheShortestFailingList:
    """Breadth first over all event lists on a few nodes: what is found is the shortest there is."""

    @staticmethod
    def successors(state: ClusterState, arrived: int, jobs: Sequence[tuple[int, int]]) -> Iterator[tuple[str, Outcome]]:
        calls: list[tuple[str, Callable[[], Outcome]]] = [
            (f"{w}x{g}", partial(arrive, state, Job(str(arrived + 1), w, g), variant=Variant.PRINTED))
            for w, g in jobs
            if w * g <= state.free_gpus
        ]
        calls += [(f"-{name}", partial(depart, state, name, variant=Variant.PRINTED)) for name in state.jobs_by_name]
        for event, call in calls:
            with suppress(PrintedUndefinedError):
                yield event, call()

    def failing(self, nodes: int, depth: int, jobs: Sequence[tuple[int, int]]) -> list[str]:
        """Return the failing lists of at most so many events; of two that lead to the same state, the first alone."""
        level: list[tuple[list[str], ClusterState]] = [([], ClusterState.empty(nodes))]
        reached: set[tuple[tuple[int, tuple[int, ...]], ...]] = set()
        failing: list[str] = []
        for _ in range(depth):
            following: list[tuple[list[str], ClusterState]] = []
            for events, state in level:
                arrived = sum(not event.startswith("-") for event in events)
                for event, out in self.successors(state, arrived, jobs):
                    after = out.state
                    same = tuple(
                        sorted(
                            (j.gpus, tuple(map(after.node_of, j.all_instances()))) for j in after.jobs_by_name.values()
                        )
                    )
                    if same in reached:
                        continue
                    reached.add(same)
                    if after.wcc and avoidable(after) > 2:
                        failing.append(", ".join([*events, event]))
                    following.append(([*events, event], after))
            level = following
        return failing

    @staticmethod
    def every_job(nodes: int) -> list[tuple[int, int]]:
        return [(w, g) for w in range(1, 8 * nodes + 1) for g in range(1, 9) if w * g <= 8 * nodes]

    @pytest.mark.parametrize("nodes", [3, 4, 5])
    def test_no_two_events_fail(self, nodes: int) -> None:
        assert not self.failing(nodes, 2, self.every_job(nodes))

    def test_three_do(self) -> None:
        found = self.failing(3, 3, [(w, g) for w in range(1, 9) for g in (1, 2, 3, 4)])
        assert SHORTEST in found
        assert len(found) == 12

    @pytest.mark.slow
    def test_no_other_three_do(self) -> None:
        assert len(self.failing(3, 3, self.every_job(3))) == 12


class TestUndefined:
    """P5, P12: where the print says nothing, a dedicated error is raised, and nothing has happened."""

    @pytest.mark.parametrize(
        ("events", "nodes", "last"), [("1x3, 1x3, 2x1", 1, "1"), ("1x4, 1x3, 1x3, 2x1", 2, "2")], ids=["N=1", "N=2"]
    )
    def test_p5_an_orphan_without_a_home(self, events: str, nodes: int, last: str) -> None:
        state = played(parse_events(events), nodes)
        before = placement_of(state)
        with pytest.raises(PrintedUndefinedError, match="no vacancy, no partial pool node and no empty node"):
            depart(state, last, variant=Variant.PRINTED)
        assert placement_of(state) == before
        for variant in (Variant.COMPASS, Variant.EXACT):
            referee = Referee(variant, nodes)
            for event in parse_events(f"{events}, -{last}"):
                referee.play(event)
                referee.check()

    def test_p12_one_used_gpu_blocks_seven(self) -> None:
        state = played(parse_events("1x1"), 1)
        job = Job("four", 1, 4)
        with pytest.raises(PrintedUndefinedError, match="no slotted node has room 4, and no node is empty"):
            arrive(state, job, variant=Variant.PRINTED)
        refusal = arrive(state, job, variant=Variant.COMPASS).reason
        assert refusal is not None
        assert refusal.kind is RefusalKind.STRUCTURE
        with pytest.raises(NoHostError):
            place(state.with_job(job), job.instance(0), variant=Variant.COMPASS)
        assert contents(arrive(state, job, variant=Variant.EXACT).state) == [(4, 1)]


class TestRefill:
    """P7: without the refill that only the prose mentions, the bound fails without limit."""

    @pytest.mark.parametrize("nodes", [1, 4, 9, 20])
    def test_avoidable_nodes_grow_with_the_cluster(self, nodes: int) -> None:
        fillers = 2 * nodes
        events = parse_events(f"{fillers}x3, {fillers}x1, {fillers}x1, -2")
        without = played(events, 2 * nodes, options=AS_PSEUDOCODE)
        assert without.wcc
        assert avoidable(without) == nodes + (1 if without.used_gpus % 8 == 0 and fillers % 8 else 0)
        assert avoidable(played(events, 2 * nodes)) == 0

    def test_random_runs_get_further_without_it(self) -> None:
        worst = dict.fromkeys((AS_PROSE, AS_PSEUDOCODE), 0)
        for options in worst:
            for seed in range(12):
                worst[options] = max(worst[options], self.worst_of_a_run(seed, options))
        assert worst[AS_PROSE] <= 4 < worst[AS_PSEUDOCODE]

    @staticmethod
    def worst_of_a_run(seed: int, options: PrintedOptions) -> int:
        random = seeded(seed)
        state = ClusterState.empty(16)
        worst = 0
        for number in range(150):
            gpus = random.choice((1, 1, 1, 2, 3, 4, 5, 6, 7, 8))
            instances = random.randint(1, 3 if gpus > 1 else 6)
            try:
                if state.jobs_by_name and random.random() < (0.3 if state.used_gpus < 64 else 0.55):
                    state = remove_job(state, random.choice(sorted(state.jobs_by_name)), options).state
                elif instances * gpus <= state.free_gpus:
                    job = Job(str(number), instances, gpus)
                    state = place_job(state.with_job(job), job, options).state
            except PrintedUndefinedError:
                continue
            if state.wcc:
                worst = max(worst, avoidable(state))
        return worst


class TestTightness:
    """P8: the paper's example for 2/N has 1/N; a node {4} and a pool node with 4 have 2/N."""

    def test_a_remainder_takes_one_away(self) -> None:
        state = played(parse_events("1x4, 6x1"), 4)
        assert (state.partial_nodes, state.used_gpus % 8, avoidable(state)) == (2, 2, 1)

    def test_the_bound_is_reached(self) -> None:
        for nodes in (2, 3, 8):
            referee = Referee(Variant.COMPASS, nodes)
            for event in parse_events("1x4, 4x1"):
                referee.play(event)
            assert contents(referee.state) == [(4,), (1,) * 4]
            assert avoidable(referee.state) == 2


class TestTheSameEventsRepaired:
    """On the lists that break PRINTED, COMPASS and EXACT keep their bounds after every event."""

    @pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
    @pytest.mark.parametrize(
        ("events", "nodes"), [(P1, 8), (P2, 6), (P2_SHORTER, 4), (SHORTEST, 3), (P7, 16), ("1x4, 4x1", 2)]
    )
    def test_bound(self, events: str, nodes: int, variant: Variant) -> None:
        referee = Referee(variant, nodes)
        for event in parse_events(events):
            referee.play(event)
            referee.check()
            if referee.state.wcc:
                assert avoidable(referee.state) <= (0 if variant is Variant.EXACT else 2)


class TestAgainstTheTranscription:
    """The same placements after every event, or the same refusal to go on."""

    @staticmethod
    def follow(events: Iterable[Event], capacity: int, options: PrintedOptions, *, relabel: bool) -> None:
        state = ClusterState.empty(3, capacity)
        explicit = ExplicitPrinted(
            3, capacity, refill=options.refill, last_destination=options.last_destination, relabel=relabel
        )
        for event in events:
            try:
                if isinstance(event, Arrival):
                    if event.job.total_gpus > state.free_gpus:
                        continue
                    explicit.arrive(event.job.name, event.job.instances, event.job.gpus)
                elif isinstance(event, Departure) and event.name in explicit.jobs:
                    explicit.depart(event.name)
                else:
                    continue
            except UndefinedError:
                with pytest.raises(PrintedUndefinedError):
                    one_step(state, event, options)
            else:
                state = one_step(state, event, options)
            assert placement_of(state) == explicit.where

    @pytest.mark.parametrize("capacity", CAPACITIES)
    @given(data=st.data())
    @settings(max_examples=settings().max_examples // 2)
    def test_with_fillers_dealt_afresh(self, data: st.DataObject, capacity: int) -> None:
        """The other destination of ties; the documented one is under a referee in test_scheduler_machines."""
        events = data.draw(event_lists(capacity=capacity))
        self.follow(events, capacity, PrintedOptions(last_destination=False), relabel=True)

    @pytest.mark.parametrize("capacity", CAPACITIES)
    @given(data=st.data(), refill=st.booleans())
    @settings(max_examples=settings().max_examples // 2)
    def test_with_fillers_in_their_slots(self, data: st.DataObject, capacity: int, *, refill: bool) -> None:
        """Of the demands here none but those above half a node has a vacancy, so a node has one at most."""
        alone = [g for g in range(1, capacity + 1) if g > capacity // 2 or g in {1, 2, 4, 8, 16}]
        events = data.draw(event_lists(capacity=capacity, gpus=st.just(1) | st.sampled_from(alone)))
        self.follow(events, capacity, PrintedOptions(refill=refill), relabel=False)

    def test_a_friendly_anchor_draws_no_filler(self) -> None:
        """Place draws "up to w*(g) − g" fillers: none for 4. (With refill on, no pool stands beside a vacancy.)"""
        events = parse_events("1x3, 1x1, 1x1, -2, 1x4")
        assert contents(played(events, 2, options=AS_PSEUDOCODE)) == [(4, 3), (1,)]


def test_the_notation_of_the_register_is_read_and_written() -> None:
    for text in (P1, P2, SHORTEST):
        assert format_events(parse_events(text)) == text


def test_the_referee_of_printed_counts_what_is_undefined() -> None:
    referee = PrintedReferee(1)
    for event in parse_events("1x3, 1x3, 2x1, -1, 1x8"):
        referee.play(event)
        referee.check()
    assert referee.undefined == 1
