"""Make a failing list of events smaller while it still fails: fewer events, smaller jobs, fewer nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from compass_core import Job
from proofs.events import Arrival, Departure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proofs.events import Event


@dataclass(frozen=True, slots=True)
class Case:
    """A list of events on a cluster of so many idle nodes."""

    nodes: int
    events: tuple[Event, ...]


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case that still fails, and of which no smaller neighbour does.

    Neighbours leave out one event (an arrival with its departure), make one job smaller, take one node away, or leave
    out two events; they are tried in that order, so the result is the same on every run.
    """
    smaller = next((other for other in _neighbours(case) if fails(other)), None)
    while smaller is not None:
        case = smaller
        smaller = next((other for other in _neighbours(case) if fails(other)), None)
    return case


def _neighbours(case: Case) -> Iterator[Case]:
    events = case.events
    yield from (replace(case, events=_without(events, at)) for at in reversed(range(len(events))))
    for at, event in enumerate(events):
        if isinstance(event, Arrival):
            for job in _smaller(event.job):
                yield replace(case, events=(*events[:at], Arrival(job), *events[at + 1 :]))
    if case.nodes > 1:
        yield replace(case, nodes=case.nodes - 1)
    for first, second in combinations(reversed(range(len(events))), 2):
        fewer = _without(events, first)
        if second < len(fewer):
            yield replace(case, events=_without(fewer, second))


def _without(events: tuple[Event, ...], at: int) -> tuple[Event, ...]:
    left_out = events[at]
    name = left_out.job.name if isinstance(left_out, Arrival) else None
    return tuple(
        event
        for index, event in enumerate(events)
        if index != at and not (isinstance(event, Departure) and event.name == name)
    )


def _smaller(job: Job) -> Iterator[Job]:
    """Yield the job with fewer instances, then with fewer GPUs, the boldest cut first."""
    for instances in sorted({1, job.instances // 2, job.instances - 1}):
        if 0 < instances < job.instances:
            yield Job(job.name, instances, job.gpus)
    for gpus in sorted({1, job.gpus // 2, job.gpus - 1}):
        if 0 < gpus < job.gpus:
            yield Job(job.name, job.instances, gpus)
