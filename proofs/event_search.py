"""The shortest event lists under which the printed algorithm fails: breadth first over all lists on a few nodes.

Unlike `exploration` this keeps nodes and jobs apart, because what is found is a list of events to be replayed. Two
lists are merged only if they lead to the same placement with jobs in the same order of arrival; from there on the
operators cannot tell them apart. Every list of a level is looked at before a longer one, so what is found first is
the shortest there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, PrintedUndefinedError
from compass_core.printed import AS_PROSE, PrintedOptions, place_job, remove_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compass_core import Migration
    from compass_core.draft import Draft

JobSize = tuple[int, int]
"""Instances and GPUs of a job: w and g."""

Key = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The lists that are looked at: every one of at most `events` events of these jobs on so many 8-GPU nodes."""

    nodes: int
    events: int
    jobs: tuple[JobSize, ...]
    options: PrintedOptions = AS_PROSE
    capacity: int = 8

    def __str__(self) -> str:
        demands = sorted({gpus for _, gpus in self.jobs})
        largest = max((instances * gpus for instances, gpus in self.jobs), default=0)
        every = demands == list(range(1, self.capacity + 1))
        of = "any demand" if every else f"demands {', '.join(map(str, demands))}"
        return f"N = {self.nodes}, at most {self.events} events, jobs of {of} and at most {largest} GPUs"


@dataclass(frozen=True, slots=True)
class Step:
    """The last event of a list, and what came of it."""

    events: tuple[str, ...]
    """The list, in the notation of the register."""
    before: ClusterState
    after: ClusterState | None
    """None where the print does not say what to do."""
    migrations: tuple[Migration, ...] = ()

    @property
    def text(self) -> str:
        """The list, as `proofs.events.parse_events` reads it."""
        return ", ".join(self.events)


@dataclass(slots=True)
class Shortest:
    """What a search came to.

    Attributes
    ----------
    steps
        The failing lists of the least length, in order of search; empty if no list fails.
    looked_at
        Lists looked at by length, merged ones left out.
    """

    steps: list[Step] = field(default_factory=list["Step"])
    looked_at: list[int] = field(default_factory=list[int])

    @property
    def length(self) -> int:
        """Events in the shortest failing list; 0 if none fails."""
        return len(self.steps[0].events) if self.steps else 0

    @property
    def lists(self) -> list[str]:
        """The failing lists as text."""
        return [step.text for step in self.steps]


def job_sizes(gpus: int, *, demands: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)) -> tuple[JobSize, ...]:
    """Return every job of those demands that holds at most so many GPUs in all."""
    return tuple((w, g) for g in demands for w in range(1, gpus // g + 1))


def last_step(events: str, *, nodes: int, capacity: int = 8, options: PrintedOptions = AS_PROSE) -> Step:
    """Return the last event of a list and what came of it.

    Raises
    ------
    ValueError
        A job names more GPUs than are free, or a departure names no running job.
    PrintedUndefinedError
        The print does not say what to do before the last event.
    """
    state = ClusterState.empty(nodes, capacity)
    words = events.split(", ")
    step = Step((), state, state)
    for at, word in enumerate(words):
        if step.after is None:
            raise PrintedUndefinedError(f"{', '.join(words[:at])}: undefined before the end")
        known = Searched(nodes=nodes, events=0, jobs=_jobs_in(word), options=options, capacity=capacity)
        found = (step for step in _steps(tuple(words[:at]), step.after, known) if step.events[-1] == word)
        following = next(found, None)
        if following is None:
            raise ValueError(f"event {at + 1} of {events!r}: {word!r} is not possible there")
        step = following
    return step


def _jobs_in(word: str) -> tuple[JobSize, ...]:
    if word.startswith("-"):
        return ()
    instances, gpus = word.split("x")
    return ((int(instances), int(gpus)),)


def shortest(searched: Searched, fails: Callable[[Step], bool]) -> Shortest:
    """Return the shortest lists for which `fails` says so, among those of at most `searched.events` events."""
    found = Shortest()
    level: list[tuple[tuple[str, ...], ClusterState]] = [((), ClusterState.empty(searched.nodes, searched.capacity))]
    reached: set[Key] = set()
    for _ in range(searched.events):
        following: list[tuple[tuple[str, ...], ClusterState]] = []
        looked_at = 0
        for events, state in level:
            for step in _steps(events, state, searched):
                looked_at += 1
                if fails(step):
                    found.steps.append(step)
                if step.after is not None and (key := _key(step.after)) not in reached:
                    reached.add(key)
                    following.append((step.events, step.after))
        found.looked_at.append(looked_at)
        if found.steps:
            break
        level = following
    return found


def _steps(events: tuple[str, ...], state: ClusterState, searched: Searched) -> Iterator[Step]:
    number = sum(not event.startswith("-") for event in events) + 1
    for instances, gpus in searched.jobs:
        if instances * gpus <= state.free_gpus:
            job = Job(_name(number), instances, gpus)
            arrival = partial(place_job, state.with_job(job), job, searched.options)
            yield _step((*events, f"{instances}x{gpus}"), state, arrival)
    for name in sorted(state.jobs_by_name):
        yield _step((*events, f"-{int(name)}"), state, partial(remove_job, state, name, searched.options))


def _step(events: tuple[str, ...], before: ClusterState, operator: Callable[[], Draft]) -> Step:
    try:
        draft = operator()
    except PrintedUndefinedError:
        return Step(events, before, None)
    return Step(events, before, draft.state, tuple(draft.moves))


def _name(number: int) -> str:
    return f"{number:03}"  # the order of names is that of arrival


def _key(state: ClusterState) -> Key:
    """Return the placement with jobs named by their place in the order of arrival."""
    jobs = (state.jobs_by_name[name] for name in sorted(state.jobs_by_name))
    return tuple((job.gpus, tuple(map(state.node_of, job.all_instances()))) for job in jobs)
