"""Long random runs: the condition violated and restored, nodes nearly full, every event checked.

The figures are recorded as properties of the tests (`pytest --junitxml` shows them).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import Job, Variant
from oracle import inherent_partial_nodes
from proofs.events import Arrival, Departure, Event, NodeEvent, NodeEventKind
from proofs.strategies import CAPACITIES, Region, cluster_states
from tests.core.naive import fewest_partial_nodes, seeded
from tests.core.referee import PrintedReferee, Referee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Record = Callable[[str, object], None]

EVENTS = 100_000
LISTED = 110_000  # some are departures of jobs that were refused, and do not count
NODES = 12
PHASE = 150  # events before the mix of demands changes


def mixes(capacity: int) -> tuple[tuple[int, ...], ...]:
    """Return the demands of each phase: the condition holds, is violated, and holds again by departures alone."""
    everything = tuple(range(1, capacity + 1))
    friendly = tuple(g for g in (2, 4, 8, 16) if g <= capacity)
    unfriendly = tuple(g for g in everything if g > 1 and g not in friendly) or friendly
    return (
        (1,) * capacity + everything,
        (1,) * (2 * capacity) + unfriendly * 3,
        unfriendly,
        (1, *friendly),
    )


def long_list(seed: int, events: int, capacity: int, *, nodes: int, node_events: bool = False) -> Iterator[Event]:
    """Yield events of a cluster that fills, stays full, and empties, again and again, in changing mixes of demands."""
    random = seeded(seed)
    present: dict[str, int] = {}
    for number in range(events):
        phase = number // PHASE
        demands = mixes(capacity)[phase % 4]
        wanted = (1.1, 0.6, 1.0, 0.8, 0.1)[phase % 5] * nodes * capacity  # GPUs asked for, granted or not
        shortage = (wanted - sum(present.values())) / wanted
        if node_events and random.random() < 0.1:
            yield NodeEvent(random.choice(list(NodeEventKind)[number % 40 != 0 :]), random.randrange(-1, nodes + 3))
        elif present and random.random() > 0.5 + shortage:
            name = random.choice(list(present))
            del present[name]
            yield Departure(name)
        else:
            gpus = random.choice(demands)
            instances = random.choice((1, 1, 1, 2, 3, 4) if gpus > 1 else (1, 2, 3, 4, 6, 8))
            name = f"j{number:06}"
            present[name] = instances * gpus
            yield Arrival(Job(name, instances, gpus))


@dataclass
class Tally:
    """What a run had to show."""

    events: int = 0
    admitted: int = 0
    refused: int = 0
    under_wcc: int = 0
    restored: int = 0
    """Times the condition held again after it had been violated."""
    above_the_bound: int = 0
    """Events under the condition with more avoidable partial nodes than the variant promises."""
    worst: int = 0
    """The most avoidable partial nodes under the condition."""
    migrations: int = 0
    most_migrations: int = 0
    undefined: int = 0
    """Arrivals and departures for which the print has no rule."""

    def record(self, prefix: str, record_property: Record) -> None:
        for item in fields(self):
            record_property(f"{prefix}_{item.name}", getattr(self, item.name))


@cache
def by_the_oracle(counts: Sequence[int], capacity: int, nodes: int) -> int:
    return inherent_partial_nodes(counts, capacity=capacity, nodes=nodes)


def by_the_remainder(counts: Sequence[int], capacity: int, _: int) -> int:
    """Return Φ* under the condition, and a lower bound on it otherwise."""
    return 1 if sum(gpus * n for gpus, n in enumerate(counts, start=1)) % capacity else 0


def promised(variant: Variant) -> int:
    return 0 if variant is Variant.EXACT else 2


def follow(referee: Referee, events: Iterator[Event], inherent: Callable[[Sequence[int], int, int], int]) -> Tally:
    """Play the events, each one checked by the referee and against Φ*.

    A job for whose departure the print has no rule (P5) tries again after every event.
    """
    tally = Tally()
    held = True
    stuck: list[str] = []
    for event in events:
        if isinstance(event, Departure) and event.name not in referee.model.jobs:
            continue  # it was refused
        moved = referee.migrations
        if isinstance(event, Arrival):
            admitted = referee.arrive(event.job)
            tally.admitted += admitted
            tally.refused += not admitted
        elif isinstance(event, Departure):
            stuck.append(event.name)
        else:
            referee.play(event)
        stuck = [name for name in stuck if not referee.depart(name)]
        referee.check()
        model = referee.model
        avoidable = model.partial_nodes - inherent(model.counts, model.capacity, len(model.online))
        assert avoidable >= 0
        tally.events += 1
        tally.restored += model.wcc and not held
        held = model.wcc
        if model.wcc:
            tally.under_wcc += 1
            tally.worst = max(tally.worst, avoidable)
            tally.above_the_bound += avoidable > promised(referee.variant)
        tally.most_migrations = max(tally.most_migrations, referee.migrations - moved)
    tally.migrations, tally.undefined = referee.migrations, referee.undefined
    return tally


def side_by_side(events: int, seed: int, record_property: Record) -> dict[Variant, Tally]:
    """All three variants on the same events; the repaired ones keep what they promise."""
    tallies: dict[Variant, Tally] = {}
    for variant in (Variant.PRINTED, Variant.COMPASS, Variant.EXACT):
        referee = PrintedReferee(NODES) if variant is Variant.PRINTED else Referee(variant, NODES)
        same = long_list(seed, events, 8, nodes=NODES)
        tallies[variant] = follow(referee, same, by_the_oracle)
        tallies[variant].record(variant.value, record_property)
        assert tallies[variant].under_wcc < tallies[variant].events
    for variant in (Variant.COMPASS, Variant.EXACT):
        assert tallies[variant].above_the_bound == 0
        assert tallies[variant].restored > events // 2_000
    assert tallies[Variant.PRINTED].undefined > 0
    assert tallies[Variant.PRINTED].above_the_bound > 0
    return tallies


@pytest.mark.parametrize("capacity", [2, 4, 8])
@given(data=st.data())
@settings(max_examples=settings().max_examples // 2)
def test_two_ways_to_the_fewest_partial_nodes(data: st.DataObject, capacity: int) -> None:
    """The naive search of these tests against the oracle, on any workload that fits, on as few nodes as hold it."""
    state = data.draw(cluster_states(capacity=capacity, region=Region.ANY))
    nodes = state.node_count
    assert fewest_partial_nodes(state.counts, capacity, nodes) == by_the_oracle(state.counts, capacity, nodes)


def test_three_variants_side_by_side(record_property: Record) -> None:
    side_by_side(700, 1, record_property)


@pytest.mark.slow
def test_three_variants_side_by_side_for_long(record_property: Record) -> None:
    for tally in side_by_side(LISTED, 2, record_property).values():
        assert tally.events >= EVENTS


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
def test_with_nodes_that_come_and_go(variant: Variant, capacity: int) -> None:
    events = long_list(capacity, 700, capacity, nodes=4, node_events=True)
    tally = follow(Referee(variant, 4, capacity), events, by_the_remainder)
    assert tally.above_the_bound == 0


@pytest.mark.slow
@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("variant", [Variant.COMPASS, Variant.EXACT])
def test_with_nodes_that_come_and_go_for_long(variant: Variant, capacity: int, record_property: Record) -> None:
    events = long_list(capacity + 100, EVENTS // 4, capacity, nodes=5, node_events=True)
    tally = follow(Referee(variant, 5, capacity), events, by_the_remainder)
    tally.record(variant.value, record_property)
    assert tally.above_the_bound == 0
