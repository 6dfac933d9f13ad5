"""The properties of the operators as one quick suite, for those who want to know whether it can fail.

Events are seeded, so that a run is the same for everybody; the laws are those of the referees of `tests.core`, and a
few worked examples of what laws leave open: ties, the tightest node, the cheapest move.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from compass_core import (
    ClusterState,
    InvariantViolation,
    Job,
    NodeKind,
    NoHostError,
    Variant,
    check_abs,
    check_open_nodes,
    check_saturation,
    compact,
    place,
    remove,
)
from proofs.events import Arrival, Departure, NodeEvent, NodeEventKind, parse_events
from tests.core.naive import seeded
from tests.core.referee import PrintedReferee, Referee
from tests.core.test_exact_admission import TestExactAdmission
from tests.core.test_merging import TestMigrationCost
from tests.core.test_mixed_nodes import TestAMixedNode, TestAnOrphanWhoseHomeIsFull, TestSixteenGpus
from tests.core.test_node_events import TestReturn
from tests.core.test_operators import TestCompact, TestGangs, TestPlace, TestRemove
from tests.core.test_steps import TestApply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proofs.events import Event

REPAIRED = (Variant.COMPASS, Variant.EXACT)


def full_cluster(seed: int, events: int, nodes: int, capacity: int) -> Iterator[Event]:
    """Yield events of a cluster that is kept full, with ones enough for the condition to come and go; nodes go too."""
    random = seeded(seed)
    present: dict[str, int] = {}
    for number in range(events):
        asked = sum(present.values())
        if random.random() < 0.05:
            yield NodeEvent(random.choice(list(NodeEventKind)[number % 20 > 0 :]), random.randrange(nodes + 1))
        elif present and random.random() < asked / (nodes * capacity) - 0.4:
            name = random.choice(list(present))
            del present[name]
            yield Departure(name)
        else:
            gpus = random.choice((1, 1, *range(1, capacity + 1)))
            job = Job(f"j{number:04}", random.choice((1, 1, 2, 3, 4)), gpus)
            present[job.name] = job.total_gpus
            yield Arrival(job)


def under_a_referee() -> None:
    """Admission, gangs, room at every move, structure, saturation, bounds, SIF: after every event."""
    for variant in REPAIRED:
        for seed, (nodes, capacity) in enumerate([(2, 8), (3, 8), (1, 8), (4, 8), (2, 16), (3, 4)]):
            referee = Referee(variant, nodes, capacity)
            for event in full_cluster(seed, 90, nodes, capacity):
                referee.play(event)
                referee.check()
                if capacity <= 8:
                    referee.check_sif(even_without_wcc=False)


def printed_as_foretold() -> None:
    """PRINTED does what a transcription with slots written down does, to the node."""
    for seed in range(3):
        referee = PrintedReferee(5)
        for event in full_cluster(seed, 60, 5, 8):
            if not isinstance(event, NodeEvent):
                referee.play(event)
                referee.check()


def told_events() -> None:
    """Event lists that once broke a bound, or admission."""
    lists = ("1x4, 2x3, 2x1, 2x2, -2, 1x1", "3x2, 3x4, 3x1, 3x1", "3x2, 2x2, 2x2, 2x2, 2x4, -2, 3x4, -4")
    for variant in REPAIRED:
        for nodes, events in zip((2, 8, 6), lists, strict=True):
            referee = Referee(variant, nodes)
            for event in parse_events(events):
                referee.play(event)
                referee.check()


def one_operator_at_a_time() -> None:
    """Place keeps Σ (COMPASS) and saturation; Remove does where an orphan has a home."""
    random = seeded(7)
    for variant in REPAIRED:
        referee = Referee(variant, 3)
        for number, event in enumerate(full_cluster(11, 120, 3, 8)):
            referee.play(event)
            job = Job(f"new{number}", 1, random.randint(1, 8))
            known = referee.state.with_job(job)
            try:
                placed = place(known, job.instance(0), variant=variant).state
            except NoHostError:
                placed = known
                fits = referee.model.fits_anywhere if variant is Variant.EXACT else referee.model.fits_apart
                assert referee.model.has_mixed_node or not fits(1, job.gpus)
            placed.check()
            check_saturation(placed)
            running = [x for node in referee.state.nodes for x in node.instances]
            if not running:
                continue
            after = remove(referee.state, random.choice(running), variant=variant).state
            check_saturation(after)
            homes = after.empty_nodes or any(s.kind is NodeKind.POOL and s.room for s in after.shapes)
            if variant is Variant.COMPASS and homes:
                check_abs(after)


def nodes_by_number() -> None:
    """Indexes of nodes mean one node for ever; what a failed node held is reported."""
    referee = Referee(Variant.EXACT, 2)
    for event in parse_events("2x8"):
        referee.play(event)
    referee.fail_node(0)
    referee.check()
    referee.add_node()
    referee.check()
    referee.return_node(0)
    referee.check()
    for variant in REPAIRED:
        referee = Referee(variant, 4)
        for event in parse_events("1x4, 2x3, 2x1, 1x2"):
            referee.play(event)
        for node in range(3):
            referee.drain_node(node)
            referee.check()
        assert len(referee.model.online) < 4


def checks_can_fail() -> None:
    """The checks that come with the package name what is wrong."""
    mixed = ClusterState.from_placement([(Job("a", 1, 4), [0]), (Job("f"), [0])], nodes=1)
    vacant = ClusterState.from_placement([(Job("a", 1, 3), [0]), (Job("f"), [1])], nodes=2)
    over = ClusterState.from_placement([(Job("a", 2, 3), [0, 0]), (Job("b", 1, 2), [0])], nodes=1)
    halves = ClusterState.from_placement([(Job("a", 2, 4), [0, 1])], nodes=2)
    calls: tuple[Callable[[], None], ...] = (
        lambda: check_abs(mixed),
        lambda: check_saturation(vacant),
        over.check,
        lambda: check_open_nodes(halves, at_most=1),
    )
    for call in calls:
        try:
            call()
        except InvariantViolation:
            continue
        raise AssertionError("a fault went unnoticed")


def worked_examples() -> None:
    """What the laws leave open: ties, the tightest node, fillers, the cheaper move."""
    for variant in REPAIRED:
        TestPlace().test_ties_go_to_the_lowest_index(variant)
        TestPlace().test_the_tightest_slotted_node(variant)
        TestCompact().test_ties_go_to_the_lowest_indexes(variant)
        TestMigrationCost().test_events_ask_for_it("a0", "b0", variant)
    TestPlace().test_a_pool_node_with_no_more_ones_than_vacancies_hosts_the_anchor()
    TestCompact().test_a_filler_is_taken_where_that_costs_no_merge()
    TestMigrationCost().test_two_cheap_moves_rather_than_one_dear()
    TestRemove().test_orphans_go_to_the_pool(Variant.COMPASS)
    TestAnOrphanWhoseHomeIsFull().test_a_one_and_the_4_move()
    TestAMixedNode().test_gives_an_idle_node_its_slots_where_they_are_fewer()
    for order in (1, -1):
        TestSixteenGpus().test_slots_close_a_node_of_their_own_first(order)
    TestApply().test_room_is_asked_for_at_that_moment()
    TestReturn().test_under_compass_it_is_a_home_for_orphans()
    twos = ClusterState.from_placement([(Job("a", 6, 2), [0, 1] * 3)], nodes=2)
    cheap = compact(twos, variant=Variant.EXACT, migration_cost=lambda x: float((x.index - 3) ** 2))
    assert [m.instance.index for m in cheap.migrations] == [3]
    TestGangs().test_the_ones_are_fillers_of_the_whole_gang(2, Job("c", 2, 3))
    TestExactAdmission().test_blocks_and_ones_change_places()
    TestExactAdmission().test_a_block_changes_places_with_its_filler()
    TestExactAdmission().test_between_the_instances_of_one_job()


CHECKS: tuple[Callable[[], None], ...] = (
    told_events,
    nodes_by_number,
    checks_can_fail,
    under_a_referee,
    one_operator_at_a_time,
    printed_as_foretold,
    worked_examples,
)
"""The suite, the quick ones first."""


def first_to_fail() -> str | None:
    """Return the name of the first check that fails, or None where all hold.

    An error counts as a failure: a scheduler that stumbles over its own state is broken too.
    """
    for check in CHECKS:
        try:
            check()
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever a broken operator leads to
            return check.__name__
    return None


if __name__ == "__main__":
    sys.exit(first_to_fail())
