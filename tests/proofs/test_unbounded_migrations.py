"""C10: the bound on migrations holds on random events, and its parts can fall."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import ClusterState, Job, Variant, arrive, depart
from proofs import unbounded
from proofs.abstraction import EMPTY, KINDS, Kind
from proofs.claim import Effort, Status
from proofs.events import Arrival, Departure, Event
from proofs.smt import Verdict, prove_all
from proofs.soundness import REPAIRED
from proofs.strategies import event_lists
from proofs.unbounded_migrations import (
    HEIGHTS,
    REST,
    BoundExceededError,
    bound,
    exchange_rise,
    filling_rise,
    measured,
    rests,
    rise,
    short_merges,
)


@pytest.mark.parametrize("variant", REPAIRED)
class TestHeights:
    """The heights pay for every merge, and are what the bound says they are."""

    def test_every_merge_is_paid_for(self, variant: Variant) -> None:
        assert list(short_merges(variant, HEIGHTS[variant])) == []

    def test_nothing_done_costs_nothing(self, variant: Variant) -> None:
        still = [kind for kind in KINDS if not kind.open and not kind.mixed]
        assert EMPTY in still
        assert all(HEIGHTS[variant][kind] == 0 for kind in still)

    def test_what_an_event_leaves(self, variant: Variant) -> None:
        assert prove_all(rests(variant)).verdict is Verdict.PROVED

    def test_a_smaller_rest_falls(self, variant: Variant) -> None:
        assert prove_all(rests(variant, REST[variant] - 1)).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("kind", [Kind((4,), 0), Kind((), -3), Kind((2, 2, 2), 0)])
    def test_a_lower_height_falls(self, variant: Variant, kind: Kind) -> None:
        lower = {**HEIGHTS[variant], kind: 0}
        assert list(short_merges(variant, lower))

    def test_a_missing_height_makes_the_claim_unknown(self, variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(HEIGHTS, variant, {**HEIGHTS[variant], Kind((4,), 0): 0})
        assert unbounded.c10(Effort.QUICK).status is Status.UNKNOWN


def test_the_bound_in_figures() -> None:
    # Read off by hand from HEIGHTS: a 4 turns an idle node (0) into {4}, and {4, 4} (0) into {4}.
    assert rise(Variant.EXACT, 4) == HEIGHTS[Variant.EXACT][Kind((4,), 0)] == 4
    assert bound(Variant.EXACT, 4, 3) == 4 + 3 * 4
    assert rise(Variant.EXACT, 8) == rise(Variant.COMPASS, 8) == 0
    assert bound(Variant.COMPASS, 8, 100) == REST[Variant.COMPASS]
    assert exchange_rise(Variant.COMPASS, 5) == exchange_rise(Variant.EXACT, 4) == 0
    # Two ones leave closed nodes (at most 3 high each), the host turns from {2} or {2, 1} (2 high) into two or three
    # ones (3 high); three instances move.
    assert exchange_rise(Variant.EXACT, 5) == 3 + 2 * 3 + 1
    assert filling_rise(Variant.COMPASS) == 3


@given(events=event_lists(max_events=25, max_instances=6), nodes=st.integers(1, 6), variant=st.sampled_from(REPAIRED))
def test_no_event_moves_more(events: tuple[Event, ...], nodes: int, variant: Variant) -> None:
    state = ClusterState.empty(nodes=nodes)
    running: dict[str, Job] = {}
    for event in events:
        match event:
            case Arrival(job):
                out = arrive(state, job, variant=variant)
                if out.admitted:
                    running[job.name] = job
            case Departure(name) if name in running:
                job = running.pop(name)
                out = depart(state, name, variant=variant)
            case _:
                continue
        state = out.state
        assert len(out.migrations) <= bound(variant, job.gpus, job.instances)


def test_measured_is_repeatable_and_below_the_bound() -> None:
    for variant in REPAIRED:
        first = measured(variant, events=150)
        assert first == measured(variant, events=150)
        assert 0 < first[0] <= max(bound(variant, gpus, 1) for gpus in range(1, 9))


def test_measured_sees_an_event_that_moves_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(variant: Variant, demand: int, instances: int) -> int:
        del variant, demand
        return instances * 0

    monkeypatch.setattr("proofs.unbounded_migrations.bound", nothing)
    with pytest.raises(BoundExceededError, match="exact: event"):
        measured(Variant.EXACT, events=150)
    assert unbounded.c10(Effort.QUICK).status is Status.REFUTED
