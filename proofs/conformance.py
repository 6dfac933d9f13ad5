"""Check a scheduler of your own against the laws: capacity, gangs, nothing lost, the measure, and what it promises.

    from proofs.conformance import Promise, check_scheduler
    report = check_scheduler(MyScheduler(), Promise(avoidable_nodes=2))
    assert report.passed, report

`MyScheduler` has the four methods of `Scheduler`. The kit looks at what the scheduler says it placed and at nothing
else: Φ is counted from the placement, Φ* is the exact optimum of the running instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, product
from random import Random
from typing import TYPE_CHECKING

from compass_core import Job
from proofs.event_search import job_sizes
from proofs.events import Arrival, Departure, format_events
from proofs.scheduler_laws import Break, Law, play
from proofs.scheduler_protocol import OurScheduler, Promise, ReportsSif, Scheduler
from proofs.shrinking import Case, shrunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.events import Event

__all__ = ["ConformanceError", "Law", "OurScheduler", "Promise", "Report", "ReportsSif", "Scheduler", "check_scheduler"]


_MAX_SHRINKS = 10
"""Failing lists that are made smaller for each law, to show the smallest: one alone may be stuck at a longer one."""


class ConformanceError(AssertionError):
    """A scheduler broke a law; the message is the report."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A law that was broken, and events that show it.

    Attributes
    ----------
    broken
        The law, the event at which it broke, and what was seen.
    nodes, events
        The cluster and the list of events, in the notation of `proofs.events.parse_events`.
    shortest
        Whether every shorter list on one and two nodes was tried; otherwise the list was shrunk: no event and no two
        events can be left out, no job made smaller, and no node taken away, with the law still broken.
    again
        Whether the list broke the law when it was played once more. Where it did not, this is the list as it was found.
    """

    broken: Break
    nodes: int
    events: str
    shortest: bool
    again: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """What the kit found; `str` gives it for people.

    Attributes
    ----------
    kept, failures, not_claimed
        Laws that held in every list, laws that were broken, laws the scheduler does not claim or cannot be asked.
    lists, events, seed
        What was tried.
    """

    name: str
    kept: tuple[Law, ...]
    failures: tuple[Failure, ...]
    not_claimed: tuple[Law, ...]
    lists: int
    events: int
    seed: int

    @property
    def passed(self) -> bool:
        """Whether no law was broken."""
        return not self.failures

    def failure(self, law: Law) -> Failure | None:
        """Return the failure of a law, or None where it held or was not claimed."""
        return next((failure for failure in self.failures if failure.broken.law is law), None)

    def raise_if_broken(self) -> None:
        """Do nothing if every law held.

        Raises
        ------
        ConformanceError
            Some did not.
        """
        if not self.passed:
            raise ConformanceError(str(self))

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        lines = [f"{self.name}: {verdict} ({self.lists:,} lists of events, {self.events:,} events, seed {self.seed})"]
        for law in Law:
            failure = self.failure(law)
            if failure is not None:
                lines += [f"  BROKEN       {law.value}", *_told(failure)]
            elif law in self.kept:
                lines.append(f"  kept         {law.value}")
            else:
                lines.append(f"  not claimed  {law.value}")
        return "\n".join(lines)


def _told(failure: Failure) -> list[str]:
    how = "no shorter list on one or two nodes does" if failure.shortest else "shrunk: nothing can be left out"
    how = how if failure.again else "as it was found: played once more it does not break the law"
    nodes = "1 node" if failure.nodes == 1 else f"{failure.nodes} nodes"
    return [
        f"               on {nodes}: {failure.events}   ({how})",
        f"               at event {failure.broken.at + 1}: {failure.broken.detail}",
    ]


def check_scheduler(
    scheduler: Scheduler,
    promise: Promise | None = None,
    *,
    exhaustive_events: int = 2,
    max_nodes: int = 4,
    lists: int = 300,
    max_events: int = 30,
    seed: int = 0,
    name: str | None = None,
) -> Report:
    """Return which laws a scheduler keeps, with a short list of events for each that it breaks.

    First every short list on one and two nodes is tried, shortest first, then random ones. The same arguments and a
    deterministic scheduler give the same report.

    Parameters
    ----------
    scheduler
        Driven through `Scheduler`; it is reset before each list.
    promise
        What it claims beyond the laws that all schedulers owe.
    exhaustive_events
        Events in the short lists of which every one is tried: 0, 1 or 2, which makes 0, 62 or 2,288 lists.
    max_nodes, lists, max_events
        Random lists: nodes of the cluster, how many, and events in each.
    seed
        Of the random lists.
    name
        For the report; the class's name by default.
    """
    promised = promise or Promise()
    found: dict[Law, Failure] = {}
    shrinks = dict.fromkeys(Law, 0)
    tried = events = 0
    cases = chain(
        ((case, True) for case in _short_cases(exhaustive_events)),
        ((case, False) for case in _random_cases(max_nodes, lists, max_events, seed)),
    )
    for case, exhaustive in cases:
        tried += 1
        events += len(case.events)
        for broken in play(scheduler, case, promised):
            known = found.get(broken.law)
            if (known is not None and known.shortest) or shrinks[broken.law] == _MAX_SHRINKS:
                continue
            shrinks[broken.law] += 1
            failure = _failure(scheduler, promised, case, broken, exhaustive=exhaustive)
            found[broken.law] = min((f for f in (known, failure) if f is not None), key=_size)
    claimed = _claimed(scheduler, promised)
    return Report(
        name=name or type(scheduler).__name__,
        kept=tuple(law for law in Law if law in claimed and law not in found),
        failures=tuple(found[law] for law in Law if law in found),
        not_claimed=tuple(law for law in Law if law not in claimed),
        lists=tried,
        events=events,
        seed=seed,
    )


def _size(failure: Failure) -> tuple[int, int, int]:
    return failure.events.count(",") + 1, failure.nodes, len(failure.events)


def _claimed(scheduler: Scheduler, promise: Promise) -> set[Law]:
    claimed = {Law.ANSWERS, Law.CAPACITY, Law.GANG, Law.NOTHING_LOST, Law.DETERMINISM}
    if isinstance(scheduler, ReportsSif):
        claimed.add(Law.MEASURE)
    if promise.avoidable_nodes is not None:
        claimed.add(Law.BOUND)
    if promise.admits_all_that_fits:
        claimed.add(Law.ADMISSION)
    return claimed


def _failure(scheduler: Scheduler, promise: Promise, case: Case, broken: Break, *, exhaustive: bool) -> Failure:
    """Return the failure with a list as short as can be had."""

    def breaks(other: Case) -> Break | None:
        return next((b for b in play(scheduler, other, promise) if b.law is broken.law), None)

    smaller = (
        Case(case.nodes, case.events[: broken.at + 1]) if exhaustive else shrunk(case, lambda c: breaks(c) is not None)
    )
    found = breaks(smaller)
    if found is None:  # a scheduler of moods: what was seen belongs to the list with which it was seen
        return Failure(broken, case.nodes, format_events(case.events[: broken.at + 1]), shortest=False, again=False)
    return Failure(found, smaller.nodes, format_events(smaller.events), exhaustive)


def _short_cases(most: int) -> Iterator[Case]:
    """Yield every list of one event on one and two nodes, then every list of two."""
    for length, nodes in product(range(1, most + 1), (1, 2)):
        sizes = job_sizes(8 * nodes)
        for jobs in product(sizes, repeat=length):
            yield Case(nodes, tuple(Arrival(Job(str(n), w, g)) for n, (w, g) in enumerate(jobs, start=1)))
        if length == 2:
            yield from (Case(nodes, (Arrival(Job("1", w, g)), Departure("1"))) for w, g in sizes)


def _random_cases(max_nodes: int, lists: int, max_events: int, seed: int) -> Iterator[Case]:
    random = Random(seed)  # noqa: S311 - a repeatable choice of tests, no secret
    for _ in range(lists):
        nodes = random.randint(1, max_nodes)
        yield Case(nodes, tuple(_random_events(random, nodes, random.randint(1, max_events))))


def _random_events(random: Random, nodes: int, length: int) -> Iterator[Event]:
    """Yield arrivals and departures; every other job is one of 1-GPU instances, so that vacancies find fillers."""
    present: list[str] = []
    for number in range(1, length + 1):
        if present and random.random() < 0.35:  # fewer departures than arrivals, so that the cluster fills up
            yield Departure(present.pop(random.randrange(len(present))))
        else:
            gpus = random.choice((1, random.randint(1, 8)))
            instances = random.randint(1, max(1, min(4 if gpus > 1 else 8, 8 * nodes // gpus)))
            present.append(str(number))
            yield Arrival(Job(str(number), instances, gpus))
