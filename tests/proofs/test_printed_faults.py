"""The refuted claims are settled by search, and would not be if the record or the algorithm were another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pytest

from compass_core import ClusterState
from compass_core.printed import PrintedOptions
from proofs import packing_faults, printed_faults
from proofs.claim import Effort, Finding, Status
from proofs.counterexamples import load
from proofs.event_search import Searched, job_sizes, last_step, shortest
from proofs.packing_faults import p4, p9, p10, p11
from proofs.printed_faults import (
    breaks_the_bound,
    chooses_itself,
    drags_fillers,
    fails_without_refill_only,
    p1,
    p2,
    p3,
    p5,
    p6,
    p7,
    p8,
    p12,
    p13,
    p14,
    strands_a_panel,
    undefined_arrival,
    undefined_departure,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.counterexamples import Example

BY_EVENTS = [p1, p2, p3, p5, p6, p7, p8, p12, p13, p14]
CHEAP = [p5, p6, p8, p9, p10, p12, p13, p14]
WITHOUT_REFILL = PrintedOptions(refill=False)


class TestSearch:
    """On one node the lists can be counted by hand."""

    def test_every_list_is_looked_at(self) -> None:
        """w×g of at most 8 GPUs: 8 + 4 + 2 + 2 + 1 + 1 + 1 + 1 jobs."""
        found = shortest(Searched(nodes=1, events=1, jobs=job_sizes(8)), lambda _: False)
        assert found.looked_at == [20]
        assert not found.steps
        assert found.length == 0

    def test_two_events_of_8_gpu_jobs(self) -> None:
        """1x8, then its departure; 2x8 on two nodes, and so on. States that are reached twice go on once."""
        found = shortest(Searched(nodes=2, events=3, jobs=job_sizes(16, demands=(8,))), lambda _: False)
        assert found.looked_at == [2, 3, 4]

    def test_equal_placements_of_other_jobs_are_not_merged(self) -> None:
        """1x1, 1x1 puts two ones on a node as 2x1 does; after -1 one of them is left, or none."""
        after_one = shortest(
            Searched(nodes=1, events=3, jobs=((1, 1), (2, 1))),
            lambda step: step.events[-1] == "-1" and step.after is not None and step.after.used_gpus == 1,
        )
        assert after_one.lists == ["1x1, 1x1, -1", "2x1, 1x1, -1"]

    def test_the_shortest_comes_first(self) -> None:
        found = shortest(
            Searched(nodes=1, events=3, jobs=job_sizes(8)),
            lambda step: step.after is not None and step.after.used_gpus == 8,
        )
        assert found.length == 1
        assert "8x1" in found.lists

    @pytest.mark.parametrize("events", ["1x8, 1x8", "1x8, -2"])
    def test_an_impossible_event_is_an_error(self, events: str) -> None:
        with pytest.raises(ValueError, match="event 2"):
            last_step(events, nodes=1)

    def test_a_range_in_words(self) -> None:
        some = Searched(nodes=3, events=2, jobs=job_sizes(8, demands=(2, 4)))
        assert str(some) == "N = 3, at most 2 events, jobs of demands 2, 4 and at most 8 GPUs"
        assert "any demand" in str(Searched(nodes=1, events=1, jobs=job_sizes(8)))


class TestWhatFails:
    """Each predicate says yes where the clause fails, and no beside it."""

    @pytest.mark.parametrize(
        ("predicate", "failing", "sound", "nodes"),
        [
            (breaks_the_bound, "1x2, 2x4, 6x1", "1x2, 2x4, 5x1", 3),
            (undefined_departure, "2x3, 2x1, -1", "2x3, 2x1, -2", 1),
            (undefined_arrival, "1x1, 1x2", "1x2, 1x1", 2),
            (chooses_itself, "1x6, 1x1, -1", "1x7, 1x1, -1", 1),
            (drags_fillers, "1x4, 1x1, 2x3, -1", "1x4, 2x3, -1", 2),
        ],
    )
    def test_by_example(self, predicate: Callable[..., bool], failing: str, sound: str, nodes: int) -> None:
        if predicate is undefined_arrival:
            assert predicate(last_step(failing, nodes=1))
        else:
            assert predicate(last_step(failing, nodes=nodes))
        assert not predicate(last_step(sound, nodes=nodes))

    def test_p7_is_about_the_refill_alone(self) -> None:
        assert fails_without_refill_only(last_step("4x3, 4x1, 4x1, -2", nodes=3, options=WITHOUT_REFILL))
        assert not fails_without_refill_only(last_step("1x2, 2x4, 6x1", nodes=3, options=WITHOUT_REFILL))

    def test_p13_is_about_odd_panels_alone(self) -> None:
        assert strands_a_panel(last_step("2x8, 2x1", nodes=3, capacity=9))
        assert not strands_a_panel(last_step("1x2, 2x4, 6x1", nodes=3))


@pytest.mark.parametrize("settle", CHEAP)
def test_refuted(settle: Callable[[Effort], Finding]) -> None:
    finding = settle(Effort.QUICK)
    assert finding.status is Status.REFUTED
    assert finding.counterexample is not None
    assert finding.bound


@pytest.mark.parametrize("settle", [p4, p11])
def test_refuted_by_reading(settle: Callable[[Effort], Finding]) -> None:
    finding = settle(Effort.QUICK)
    assert finding.status is Status.REFUTED
    assert "reading" in finding.method


@pytest.mark.slow
@pytest.mark.parametrize("settle", [s for s in BY_EVENTS if s not in CHEAP])
def test_refuted_with_more_lists(settle: Callable[[Effort], Finding]) -> None:
    assert settle(Effort.QUICK).status is Status.REFUTED


@pytest.mark.slow
def test_the_numbers_of_shortest_lists() -> None:
    (twelve,) = p1(Effort.QUICK).details
    assert twelve.startswith("N = 3, at most 3 events")
    assert "12 of 3 events, none shorter" in twelve
    assert any("1 of 5 events" in line for line in p2(Effort.FULL).details)


def recorded(changed: Example, claim: str) -> Example:
    return changed if claim == changed.claim else load(claim)


class TestARecordThatIsWrong:
    """A counterexample that does not fail, or is not the shortest, is not passed on."""

    @pytest.mark.parametrize(
        ("claim", "settle", "changes"),
        [
            ("P12", p12, {"events": "1x2, 1x1"}),  # undefined, but not as recorded
            ("P12", p12, {"events": "1x1, 1x1, 1x2"}),  # there is a shorter one
            ("P5", p5, {"nodes": 2}),  # an orphan finds a home there
            ("P8", p8, {"frames": ()}),
        ],
    )
    def test_by_events(
        self,
        monkeypatch: pytest.MonkeyPatch,
        claim: str,
        settle: Callable[[Effort], Finding],
        changes: dict[str, object],
    ) -> None:
        wrong = msgspec.structs.replace(load(claim), **changes)
        monkeypatch.setattr(printed_faults, "load", partial(recorded, wrong))
        assert settle(Effort.QUICK).status is Status.UNKNOWN

    @pytest.mark.parametrize(
        ("claim", "settle", "changes"),
        [
            ("P9", p9, {"placement": ((4, 3), (4, 3)), "better": ((4, 4), (3, 3))}),
            ("P10", p10, {"better": ((3, 3, 1), (2,))}),
        ],
    )
    def test_by_placements(
        self,
        monkeypatch: pytest.MonkeyPatch,
        claim: str,
        settle: Callable[[Effort], Finding],
        changes: dict[str, object],
    ) -> None:
        wrong = msgspec.structs.replace(load(claim), **changes)
        monkeypatch.setattr(packing_faults, "load", partial(recorded, wrong))
        assert settle(Effort.QUICK).status is Status.UNKNOWN

    def test_a_repaired_algorithm_would_not_be_refuted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With Φ* as large as Φ nothing is avoidable, so the bound holds and P8 falls."""

        def as_many(counts: tuple[int, ...], *, capacity: int) -> int:
            del counts, capacity
            return 99

        monkeypatch.setattr(printed_faults, "inherent_partial_nodes", as_many)
        assert p8(Effort.QUICK).status is Status.UNKNOWN

    def test_an_example_of_the_other_kind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def of_placements(claim: str) -> Example:
            del claim
            return load("P9")

        def of_events(claim: str) -> Example:
            del claim
            return load("P1")

        monkeypatch.setattr(printed_faults, "load", of_placements)
        monkeypatch.setattr(packing_faults, "load", of_events)
        for settle in (p12, p9):
            with pytest.raises(TypeError, match="expected"):
                settle(Effort.QUICK)


def test_avoidable_is_exact_without_the_condition() -> None:
    """{5,2}, {5} and {3} hold 15 GPUs: 5+3 fills a node, 5+2 does not."""
    state = last_step("1x5, 1x2, 1x5, 1x3", nodes=4).after
    assert isinstance(state, ClusterState)
    assert not state.wcc
    assert state.partial_nodes == 3
    assert printed_faults.avoidable(state) == 2
