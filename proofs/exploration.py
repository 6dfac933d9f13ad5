"""Explicit-state exploration of a variant: every state its events can reach on a few nodes, breadth first.

The operators that run are those of `compass_core`; the states are contents up to the order of nodes
(`proofs.canonical`). What follows a departure depends on what it leaves behind and on nothing else, so of the gangs
that leave the same contents behind one is tried, in every order of the nodes (tested with random events). Each law is
looked at in every state and every event, so "no violation" holds for the whole space that is named, and for nothing
beyond it.
"""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, TypeVar

import networkx as nx

from compass_core import CompassError, Job, Variant, arrive, depart
from proofs.canonical import (
    GANG,
    Gang,
    arrangements,
    canonical,
    contents_of,
    gangs,
    orders,
    state_with,
    with_gang,
    without,
)
from proofs.laws import (
    GPUS,
    Contents,
    broken_by_compass,
    broken_by_exact,
    demand_counts,
    fits_anywhere,
    fits_apart,
    wcc_holds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Generator, Iterable, Iterator

    from compass_core import ClusterState, Instance, Outcome

ALL_DEMANDS = (1, 2, 3, 4, 5, 6, 7, 8)

_T = TypeVar("_T")

_AT_ONCE = 32
"""States that one process takes up at a time."""


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
    """One event in one state: who came or left, and what the operator answered."""

    state: ClusterState
    """The state before, without the job that leaves."""
    before: Contents
    """The contents before, by node index."""
    comes: Job | None
    leaves: Gang | None
    outcome: Outcome
    after: Contents
    """The contents afterwards, by node index."""

    @classmethod
    def arrival(cls, state: ClusterState, before: Contents, job: Job, variant: Variant) -> Event:
        """Return the arrival of a job."""
        outcome = arrive(state, job, variant=variant)
        return cls(state, before, job, None, outcome, contents_of(outcome.state))

    @classmethod
    def departure(cls, state: ClusterState, before: Contents, gang: Gang, variant: Variant) -> Event:
        """Return the departure of a gang, given the state without it."""
        outcome = depart(with_gang(state, gang), GANG, variant=variant)
        return cls(state, before, None, gang, outcome, contents_of(outcome.state))

    @property
    def counts(self) -> tuple[int, ...]:
        """(n1, ..., n8) the state must have afterwards, or would have if the job were admitted."""
        gpus, by = (self.comes.gpus, self.comes.instances) if self.comes else (0, 0)
        if self.leaves:
            gpus, by = self.leaves.gpus, -self.leaves.instances
        counts = demand_counts(self.before)
        return (*counts[: gpus - 1], counts[gpus - 1] + by, *counts[gpus:])

    def __str__(self) -> str:
        if self.comes:
            return f"{self.comes.instances}x{self.comes.gpus} arrives"
        gang = self.leaves or Gang(0, ())
        nodes = ", ".join(f"{n} of node {index}" for index, n in enumerate(gang.on_node) if n)
        return f"instances of {gang.gpus} GPUs depart: {nodes}"


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
class Reached:
    """Where some events lead, and what was seen on the way."""

    after: set[Contents] = field(default_factory=set[Contents])
    refused: int = 0
    most_migrations: int = 0
    violations: list[Violation] = field(default_factory=list["Violation"])


@dataclass(slots=True)
class Exploration:
    """The reachable states of a space, and what was found in it."""

    space: Space
    tree: nx.DiGraph[Contents]
    """The canonical contents, each but the idle cluster joined to the one from which it was first reached."""
    transitions: int = 0
    """Pairs of states that some event joins."""
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
        return self.tree.number_of_nodes()

    def path_to(self, contents: Contents) -> list[Contents]:
        """Return the states on a shortest way from the idle cluster to a reachable one, both ends included."""
        start: Contents = ((),) * self.space.nodes
        # The stubs leave the options of other backends untyped.
        return list(nx.shortest_path(self.tree, start, canonical(contents)))  # pyright: ignore[reportUnknownMemberType]

    def note(self, reached: Reached) -> set[Contents]:
        """Add what was seen on the way; return where it led."""
        self.refused += reached.refused
        self.most_migrations = max(self.most_migrations, reached.most_migrations)
        self.violations += reached.violations
        return reached.after


def explore(space: Space, processes: int = 1) -> Exploration:
    """Return the states that events reach from the idle cluster, each law looked at in all of them.

    Parameters
    ----------
    processes
        How many share the work; the result does not depend on it.
    """
    start: Contents = ((),) * space.nodes
    found = Exploration(space, nx.DiGraph())
    found.tree.add_node(start)
    departed: dict[Contents, frozenset[Contents]] = {}
    level = [start]
    with _pool(processes) as pool:
        while level:
            new = _new_departures(level, space, departed)
            for rest, reached in zip(new, _each(pool, partial(_departures, space), new.values()), strict=True):
                departed[rest] = frozenset(found.note(reached))
            following: list[Contents] = []
            for known, reached in zip(level, _each(pool, partial(_arrivals, space), level), strict=True):
                after = found.note(reached).union(*(departed[rest] for rest in _rests(known, space)))
                found.transitions += len(after)
                for contents in sorted(after):
                    if contents not in found.tree:
                        found.tree.add_edge(known, contents)
                        following.append(contents)
            level = following
            found.depth += bool(level)
    return found


@contextmanager
def _pool(processes: int) -> Generator[ProcessPoolExecutor | None]:
    """Provide worker processes, or None where this one is to do the work; an interrupt is for this one to see."""
    if processes == 1:
        yield None
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _each(pool: ProcessPoolExecutor | None, find: Callable[[_T], Reached], over: Iterable[_T]) -> Iterator[Reached]:
    return pool.map(find, over, chunksize=_AT_ONCE) if pool else map(find, over)


def _rests(known: Contents, space: Space) -> dict[Contents, Gang]:
    """Return what the gangs of a state leave behind, each with one gang that leaves it."""
    return {canonical(without(known, gang)): gang for gang in gangs(known, space.max_instances)}


def _new_departures(
    level: Iterable[Contents], space: Space, departed: Container[Contents]
) -> dict[Contents, tuple[Contents, Gang]]:
    """Return one departure, a state and a gang, for everything left behind that is not in `departed`."""
    return {
        rest: (known, gang) for known in level for rest, gang in _rests(known, space).items() if rest not in departed
    }


def _arrivals(space: Space, known: Contents) -> Reached:
    """Return where the arrivals of jobs lead from a state, in every order of its nodes."""
    reached = Reached()
    for contents in orders(known):
        state = state_with(contents)
        for gpus in space.demands:
            fitting = state.free_gpus // gpus
            largest = fitting if space.max_instances is None else min(fitting, space.max_instances)
            for instances in range(1, largest + 1):
                event = Event.arrival(state, contents, Job(GANG, instances, gpus), space.variant)
                _look_at(event, reached, space.variant)
    return reached


def _departures(space: Space, departure: tuple[Contents, Gang]) -> Reached:
    """Return where the departure of a gang leads from a state, in every order of what it leaves."""
    known, gang = departure
    rest = without(known, gang)
    reached = Reached()
    for order in arrangements(rest):
        leaving = Gang(gang.gpus, tuple(gang.on_node[index] for index in order))
        state = state_with(tuple(rest[index] for index in order))
        event = Event.departure(state, tuple(known[index] for index in order), leaving, space.variant)
        _look_at(event, reached, space.variant)
    return reached


def _look_at(event: Event, reached: Reached, variant: Variant) -> None:
    """Look at every law, and note where the event leads."""
    after = canonical(event.after)
    laws = broken_by_event(event, variant)
    if after not in reached.after:
        laws += (*broken_laws(after, variant), *_unsound(event.outcome.state))
    reached.violations += [Violation(law, str(event), event.before, event.after) for law in laws]
    reached.refused += not event.outcome.admitted
    reached.most_migrations = max(reached.most_migrations, len(event.outcome.migrations))
    reached.after.add(after)


@cache
def broken_laws(contents: Contents, variant: Variant) -> tuple[str, ...]:
    """Return the laws of a repaired variant that a placement breaks."""
    return tuple((broken_by_exact if variant is Variant.EXACT else broken_by_compass)(contents))


def broken_by_event(event: Event, variant: Variant) -> list[str]:
    """Return what an event broke: instances lost, a plan that does not lead there, or an answer it should not give."""
    broken: list[str] = []
    counts, nodes, admitted = event.counts, len(event.before), event.outcome.admitted
    expected = counts if admitted else demand_counts(event.before)
    if demand_counts(event.after) != expected or event.outcome.state.counts != expected:
        broken.append("no instance is lost and none appears")
    if not _can_be_carried_out(event):
        broken.append("migrations and placements, carried out one by one, lead to the new state")
    if event.comes is None:
        return broken
    if variant is Variant.EXACT:
        owed = fits_anywhere(counts, nodes)
        if wcc_holds(counts) and not admitted:
            broken.append("C7: under WCC a job is admitted exactly by total free GPUs")
    else:
        owed = fits_apart(counts, nodes)
    if admitted != owed:
        broken.append(f"admission: a job is admitted if and only if slots and ones fit ({variant.name})")
    if admitted and sum(g * n for g, n in enumerate(counts, start=1)) > GPUS * nodes:
        broken.append("no job is admitted beyond the free GPUs")
    return broken


def _can_be_carried_out(event: Event) -> bool:
    """Whether migrations and then placements, one by one, fit at every step and lead to the new state."""
    outcome, standing = event.outcome, _standing(event.state)
    for move in outcome.migrations:
        if move.instance not in standing[move.source]:
            return False
        standing[move.source].remove(move.instance)
        standing[move.destination].append(move.instance)
        if _gpus(standing[move.destination]) > GPUS:
            return False
    for placed in outcome.placements:
        standing[placed.node].append(placed.instance)
        if _gpus(standing[placed.node]) > GPUS:
            return False
    jobs = event.state.jobs_by_name
    if event.comes and outcome.admitted:
        jobs = jobs.set(event.comes.name, event.comes)
    afterwards = _standing(outcome.state)
    same = all(
        len(found) == len(there) and all(instance in found for instance in there)
        for found, there in zip(standing, afterwards, strict=True)
    )
    return same and jobs == outcome.state.jobs_by_name


def _standing(state: ClusterState) -> list[list[Instance]]:
    return [list(node.instances) for node in state.nodes]


def _gpus(instances: list[Instance]) -> int:
    return sum(instance.gpus for instance in instances)


def _unsound(state: ClusterState) -> tuple[str, ...]:
    try:
        state.check()
    except CompassError as error:
        return (f"the state's own check: {error}",)
    return ()
