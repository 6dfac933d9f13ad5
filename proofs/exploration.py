"""Explicit-state exploration of a variant: every state its events can reach on a few nodes, breadth first.

The operators that run are those of `compass_core`; the states are contents up to the order of nodes
(`proofs.canonical`). What follows a departure depends on what it leaves behind and on nothing else, so of the gangs
that leave the same contents behind one is tried, in every order of the nodes (tested with random events). Each law is
looked at in every state and every event, so "no violation" holds for the whole space that is named, and for nothing
beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING

import networkx as nx

from compass_core import CompassError, Job, Variant, apply, arrive, depart
from proofs.canonical import GANG, Contents, Gang, canonical, contents_of, gangs, orders, state_with, without
from proofs.laws import (
    GPUS,
    broken_by_compass,
    broken_by_exact,
    demand_counts,
    fits_anywhere,
    fits_apart,
    wcc_holds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core import ClusterState, Outcome

ALL_DEMANDS = (1, 2, 3, 4, 5, 6, 7, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What is explored: a variant on so many 8-GPU nodes under all events of these jobs."""

    variant: Variant
    nodes: int
    demands: tuple[int, ...] = ALL_DEMANDS
    max_instances: int | None = None
    """The most instances in a gang; None for as many as fit."""

    def __str__(self) -> str:
        gpus = "1..8" if self.demands == ALL_DEMANDS else ", ".join(map(str, self.demands))
        gangs_of = {None: "gangs of any size", 1: "jobs of one instance"}
        size = gangs_of.get(self.max_instances, f"gangs of at most {self.max_instances}")
        return f"{self.variant.name}, N = {self.nodes}, g in {{{gpus}}}, {size}"


@dataclass(frozen=True, slots=True)
class Event:
    """One event in one state: what was asked, and what the operator answered."""

    text: str
    before: Contents
    counts: tuple[int, ...]
    """(n1, ..., n8) the state must have afterwards, or would have if the job were admitted."""
    job: Job | None
    outcome: Outcome
    moved: ClusterState | None
    """The state before with the migrations carried out one by one, and the instances that came or left; None where
    that is not possible."""

    @property
    def after(self) -> Contents:
        """The contents afterwards, by node index."""
        return contents_of(self.outcome.state)


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that fails, with the event that led there from a reachable state."""

    law: str
    event: str
    before: Contents
    after: Contents

    def __str__(self) -> str:
        return f"{self.law}: {list(self.before)}, then {self.event}: {list(self.after)}"


@dataclass(slots=True)
class Exploration:
    """The reachable states of a space as a graph of canonical contents, and what was found in it."""

    space: Space
    graph: nx.DiGraph[Contents]
    refused: int = 0
    """Arrivals refused, counted in every order of the nodes of every state."""
    depth: int = 0
    """Events after which no new state appeared."""
    most_migrations: int = 0
    """The most migrations of one event."""
    violations: list[Violation] = field(default_factory=list["Violation"])

    @property
    def states(self) -> int:
        """Reachable states, up to the order of nodes."""
        return self.graph.number_of_nodes()

    @property
    def transitions(self) -> int:
        """Pairs of states that some event joins."""
        return self.graph.number_of_edges()

    def path_to(self, contents: Contents) -> list[Contents]:
        """Return the states on a shortest way from the idle cluster to a reachable one, both ends included."""
        start: Contents = ((),) * self.space.nodes
        # The stubs leave the options of other backends untyped.
        return list(nx.shortest_path(self.graph, start, canonical(contents)))  # pyright: ignore[reportUnknownMemberType]


def explore(space: Space) -> Exploration:
    """Return the states that events reach from the idle cluster, each law looked at in all of them."""
    start: Contents = ((),) * space.nodes
    graph: nx.DiGraph[Contents] = nx.DiGraph()
    graph.add_node(start)
    found = Exploration(space, graph)
    departed: dict[Contents, frozenset[Contents]] = {}
    level = [start]
    while level:
        following: list[Contents] = []
        for known in level:
            for after in sorted(_successors(known, found, departed)):
                if after not in graph:
                    following.append(after)
                graph.add_edge(known, after)
        level = following
        found.depth += bool(level)
    return found


def _successors(known: Contents, found: Exploration, departed: dict[Contents, frozenset[Contents]]) -> set[Contents]:
    """Return the canonical contents after every event in a state; `departed` remembers them for what gangs leave."""
    space = found.space
    after = _carried_out((event for ordered in orders(known) for event in _arrivals(ordered, space)), found)
    for gang in gangs(known, space.max_instances):
        rest = canonical(without(known, gang))
        if rest not in departed:
            departed[rest] = frozenset(_carried_out(_departures(known, gang, space), found))
        after |= departed[rest]
    return after


def _carried_out(events: Iterator[Event], found: Exploration) -> set[Contents]:
    """Return the canonical contents after the events, having looked at every law."""
    reached: set[Contents] = set()
    for event in events:
        after = canonical(event.after)
        laws = broken_by_event(event, found.space.variant)
        if after not in found.graph and after not in reached:
            laws += broken_laws(after, found.space.variant) + _unsound(event.outcome.state)
        found.violations += [Violation(law, event.text, event.before, event.after) for law in laws]
        found.refused += not event.outcome.admitted
        found.most_migrations = max(found.most_migrations, len(event.outcome.migrations))
        reached.add(after)
    return reached


def _arrivals(contents: Contents, space: Space) -> Iterator[Event]:
    state = state_with(contents)
    for gpus in space.demands:
        fitting = state.free_gpus // gpus
        largest = fitting if space.max_instances is None else min(fitting, space.max_instances)
        for instances in range(1, largest + 1):
            job = Job(GANG, instances, gpus)
            outcome = arrive(state, job, variant=space.variant)
            counts = _changed(demand_counts(contents), gpus, instances)
            moved = _carried_out_by_hand(state, outcome, job if outcome.admitted else None)
            yield Event(f"{instances}x{gpus} arrives", contents, counts, job, outcome, moved)


def _departures(known: Contents, gang: Gang, space: Space) -> Iterator[Event]:
    """Yield the departure of a gang in every order of the nodes."""
    for order in _orders_of(known, gang):
        contents = tuple(node for node, _ in order)
        leaving = Gang(gang.gpus, tuple(n for _, n in order))
        state = state_with(contents, leaving)
        outcome = depart(state, GANG, variant=space.variant)
        moved = _carried_out_by_hand(state.without_job(GANG), outcome, None)
        counts = _changed(demand_counts(contents), gang.gpus, -gang.instances)
        yield Event(_leaving(leaving), contents, counts, None, outcome, moved)


def _carried_out_by_hand(state: ClusterState, outcome: Outcome, job: Job | None) -> ClusterState | None:
    try:
        moved = apply(state, outcome.migrations)
        moved = moved.with_job(job) if job else moved
        for placed in outcome.placements:
            moved = moved.add(placed.instance, placed.node)
    except CompassError:
        return None
    return moved


def _orders_of(known: Contents, gang: Gang) -> list[tuple[tuple[tuple[int, ...], int], ...]]:
    return sorted(set(permutations(zip(known, gang.on_node, strict=True))))


def _changed(counts: tuple[int, ...], gpus: int, by: int) -> tuple[int, ...]:
    return (*counts[: gpus - 1], counts[gpus - 1] + by, *counts[gpus:])


def _leaving(gang: Gang) -> str:
    nodes = ", ".join(f"{n} of node {index}" for index, n in enumerate(gang.on_node) if n)
    return f"instances of {gang.gpus} GPUs depart: {nodes}"


def broken_laws(contents: Contents, variant: Variant) -> list[str]:
    """Return the laws of a repaired variant that a placement breaks."""
    return (broken_by_exact if variant is Variant.EXACT else broken_by_compass)(contents)


def broken_by_event(event: Event, variant: Variant) -> list[str]:
    """Return what an event broke: instances lost, a plan that does not lead there, or an answer it should not give."""
    broken: list[str] = []
    expected = event.counts if event.outcome.admitted else demand_counts(event.before)
    if demand_counts(event.after) != expected or event.outcome.state.counts != expected:
        broken.append("no instance is lost and none appears")
    if event.moved != event.outcome.state:
        broken.append("migrations and placements, carried out one by one, lead to the new state")
    if event.job is None:
        return broken
    if variant is Variant.EXACT:
        owed = fits_anywhere(event.counts, len(event.before))
        if wcc_holds(event.counts) and not event.outcome.admitted:
            broken.append("C7: under WCC a job is admitted exactly by total free GPUs")
    else:
        owed = fits_apart(event.counts, len(event.before))
    if event.outcome.admitted != owed:
        broken.append(f"admission: a job is admitted if and only if slots and ones fit ({variant.name})")
    if event.outcome.admitted and sum(g * n for g, n in enumerate(event.counts, start=1)) > GPUS * len(event.before):
        broken.append("no job is admitted beyond the free GPUs")
    return broken


def _unsound(state: ClusterState) -> list[str]:
    try:
        state.check()
    except CompassError as error:
        return [f"the state's own check: {error}"]
    return []
