"""The laws a scheduler owes, looked at after each event of a list."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from proofs.events import Arrival, Departure
from proofs.laws import GPUS, Measures, demand_counts, wcc_holds
from proofs.scheduler_protocol import ReportsSif

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core import Job
    from proofs.events import Event
    from proofs.laws import Contents
    from proofs.scheduler_protocol import Promise, Scheduler
    from proofs.shrinking import Case

_ROUNDING = 1e-9  # what a SIF computed in another order may be off by

Placement = dict[str, tuple[int, ...]]
"""Jobs by name, each with the nodes of its instances, sorted: instances of one job are alike."""


class Law(Enum):
    """What is looked at. A law is broken by one event that breaks it."""

    ANSWERS = "no event raises an error"
    CAPACITY = "every instance stands on a node of the cluster, and no node holds more than 8 GPUs"
    GANG = "an admitted job runs whole, a refused job not at all"
    NOTHING_LOST = "every job that was admitted and has not departed runs, and no other"
    DETERMINISM = "the same events lead to the same placements"
    MEASURE = "SIF as reported is (Φ − Φ*)/N"
    BOUND = "N·SIF stays within what is promised"
    ADMISSION = "under WCC a job is admitted exactly if enough GPUs are free"


@dataclass(frozen=True, slots=True)
class Break:
    """A law that broke, at which event of the list (from 0), and what was seen."""

    law: Law
    at: int
    detail: str


@dataclass(slots=True)
class _Run:
    """What should be running, and what has been seen so far."""

    nodes: int
    jobs: dict[str, Job] = field(default_factory=dict[str, "Job"])
    contents: Contents = ()
    placements: list[Placement] = field(default_factory=list[Placement])


def play(scheduler: Scheduler, case: Case, promise: Promise) -> list[Break]:
    """Return the laws that a list of events breaks, each at its first event; later events are then not played.

    The list is played twice, the second time to see whether the placements are the same.
    """
    first = _Run(case.nodes)
    broken = list(_played(scheduler, case, promise, first))
    if broken:
        return broken
    second = _Run(case.nodes)
    again = list(_played(scheduler, case, promise, second))
    for at, (one, other) in enumerate(zip(first.placements, second.placements, strict=False)):
        if one != other:
            return [Break(Law.DETERMINISM, at, f"first {one}, then {other}")]
    return [Break(Law.DETERMINISM, found.at, f"only the second time: {found.law.value}") for found in again]


def _played(scheduler: Scheduler, case: Case, promise: Promise, run: _Run) -> Iterator[Break]:
    """Yield what the first event that breaks a law breaks."""
    for at, event in enumerate(case.events):
        try:
            if at == 0:
                scheduler.reset(case.nodes)
            broken = [Break(law, at, detail) for law, detail in _after(scheduler, event, promise, run)]
        except Exception as error:  # noqa: BLE001 - whatever the scheduler raises is the finding
            broken = [Break(Law.ANSWERS, at, f"{type(error).__name__}: {error}")]
        yield from broken
        if broken:
            return


def _after(scheduler: Scheduler, event: Event, promise: Promise, run: _Run) -> Iterator[tuple[Law, str]]:
    """Pass an event on and yield the laws it breaks."""
    arriving: Job | None = None
    admitted = False
    if isinstance(event, Arrival):
        arriving = event.job
        admitted = scheduler.arrive(arriving)
        yield from _admission(arriving, run, promise, admitted=admitted)
        if admitted:
            run.jobs[arriving.name] = arriving
    elif isinstance(event, Departure) and run.jobs.pop(event.name, None) is not None:
        scheduler.depart(event.name)
    placement: Placement = {name: tuple(sorted(nodes)) for name, nodes in scheduler.placement().items()}
    run.placements.append(placement)
    problems = [*_lost(placement, run, arriving, admitted=admitted), *_overbooked(placement, run)]
    yield from problems
    if not problems:
        run.contents = _contents(placement, run)
        yield from _measured(scheduler, run, promise)


def _admission(job: Job, run: _Run, promise: Promise, *, admitted: bool) -> Iterator[tuple[Law, str]]:
    if not promise.admits_all_that_fits:
        return
    demands = [job.gpus] * job.instances + [j.gpus for j in run.jobs.values() for _ in range(j.instances)]
    free = GPUS * run.nodes - sum(j.total_gpus for j in run.jobs.values())
    if wcc_holds(demand_counts((tuple(demands),))) and admitted != (job.total_gpus <= free):
        said = "admitted" if admitted else "refused"
        yield Law.ADMISSION, f"{job.instances}x{job.gpus} {said} with {free} GPUs free"


def _lost(placement: Placement, run: _Run, arriving: Job | None, *, admitted: bool) -> Iterator[tuple[Law, str]]:
    """Yield what is missing or too much: for the arriving job a matter of gangs, for others of loss."""
    for name in sorted({*placement, *run.jobs}):
        owed = run.jobs[name].instances if name in run.jobs else 0
        seen = len(placement.get(name, ()))
        if arriving is not None and name == arriving.name:
            if seen != owed:
                said = "admitted" if admitted else "refused"
                yield Law.GANG, f"{arriving.instances}x{arriving.gpus} {said}, {seen} of its instances run"
        elif seen != owed:
            yield Law.NOTHING_LOST, f"job {name}: {seen} instances run, {owed} should"


def _overbooked(placement: Placement, run: _Run) -> Iterator[tuple[Law, str]]:
    loads = dict.fromkeys(range(run.nodes), 0)
    for name, homes in placement.items():
        for node in homes:
            if node not in loads:
                yield Law.CAPACITY, f"job {name} stands on node {node}; the cluster has nodes 0 to {run.nodes - 1}"
                return
            loads[node] += run.jobs[name].gpus if name in run.jobs else 0
    over = [f"node {node} holds {load} GPUs" for node, load in loads.items() if load > GPUS]
    if over:
        yield Law.CAPACITY, ", ".join(over)


def _contents(placement: Placement, run: _Run) -> Contents:
    demands: list[list[int]] = [[] for _ in range(run.nodes)]
    for name, homes in placement.items():
        for node in homes:
            demands[node].append(run.jobs[name].gpus)
    return tuple(tuple(sorted(node, reverse=True)) for node in demands)


def _measured(scheduler: Scheduler, run: _Run, promise: Promise) -> Iterator[tuple[Law, str]]:
    measures = Measures.of(run.contents)
    seen = f"Φ = {measures.partial_nodes}, Φ* = {measures.inherent}, nodes {_told(run.contents)}"
    if isinstance(scheduler, ReportsSif):
        reported = scheduler.sif()
        if not abs(reported - measures.sif) <= _ROUNDING:  # so that a NaN is no answer either
            yield Law.MEASURE, f"reported {reported:.4f}, is {measures.sif:.4f}: {seen}"
    promised = promise.avoidable_nodes
    if promised is not None and (measures.wcc or promise.without_wcc) and measures.avoidable > promised:
        yield Law.BOUND, f"N·SIF = {measures.avoidable}, promised at most {promised}: {seen}"


def _told(contents: Contents) -> str:
    return " ".join("{" + ",".join(map(str, node)) + "}" for node in contents)
