"""The fewest stops for a few moves that wait for one another: a best-first search over what has left and arrived."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from oracle.sequencing.move_problem import Event, NoOrderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.sequencing.move_problem import MoveProblem
    from oracle.solver import Deadline

# More moves than this are not searched: a state costs time in proportion to them, and those that can be visited
# would not get far.
MAX_SEARCHED_MOVES = 60

# States reached before the search gives up: some seconds' worth.
MAX_STATES = 20_000


@dataclass(frozen=True, slots=True)
class Fewest:
    """What a search found: a sequence with the fewest stops, or None, and a lower bound on them."""

    events: tuple[Event, ...] | None
    stops_lower_bound: int


def search_stops(
    problem: MoveProblem, *, limit: int | None, fewer_than: int | None = None, deadline: Deadline
) -> Fewest:
    """Return a sequence of all moves with the fewest stops.

    None is returned instead if the search is too long, or if no sequence has `fewer_than` so many stops.

    Raises
    ------
    NoOrderError
        The limit of instances of one job at a time rules out every sequence.
    """
    return _Search(problem, limit).run(fewer_than, deadline)


class _State(NamedTuple):
    """Bit sets of moves: instances that have left their source, and of those the ones that are at their target."""

    left: int
    arrived: int


class _Search:
    def __init__(self, problem: MoveProblem, limit: int | None) -> None:
        self._problem = problem
        self._limit = limit
        self._count = len(problem.sizes)
        self._everything = (1 << self._count) - 1
        self._into: dict[int, int] = {}
        self._of_job: dict[int, int] = {}
        for i in range(self._count):
            self._into[problem.targets[i]] = self._into.get(problem.targets[i], 0) | 1 << i
            self._of_job[problem.jobs[i]] = self._of_job.get(problem.jobs[i], 0) | 1 << i
        self._came_from: dict[_State, tuple[_State | None, tuple[Event, ...]]] = {}
        self._stops: dict[_State, int] = {}
        self._ticket = count()
        # Least (stops so far and to come), then most moves made, then oldest.
        self._open: list[tuple[int, int, int, int, _State]] = []

    def run(self, fewer_than: int | None, deadline: Deadline) -> Fewest:
        self._reach(_State(0, 0), None, (), 0)
        while self._open:
            bound, _, _, stops, state = heappop(self._open)
            if stops > self._stops[state]:
                continue
            if state.arrived == self._everything:
                return Fewest(self._path(state), stops)
            known = fewer_than is not None and bound >= fewer_than
            if known or len(self._stops) >= MAX_STATES or not deadline.is_open():
                return Fewest(None, bound)
            free = self._free(state)
            for event in self._events(state, free):
                self._reach(_after(state, event), state, (event,), stops + event.stops)
        raise NoOrderError(f"every order has more than {self._limit} instances of one job down at a time")

    def _reach(self, state: _State, before: _State | None, events: tuple[Event, ...], stops: int) -> None:
        safe = self._safe_moves(state)
        for event in safe:
            state = _after(state, event)
        if stops < self._stops.get(state, stops + 1):
            self._stops[state] = stops
            self._came_from[state] = before, (*events, *safe)
            bound = stops + self._is_stuck(state)
            heappush(self._open, (bound, -state.arrived.bit_count(), next(self._ticket), stops, state))

    def _path(self, state: _State) -> tuple[Event, ...]:
        parts: list[tuple[Event, ...]] = []
        at: _State | None = state
        while at is not None:
            at, events = self._came_from[at]
            parts.append(events)
        return tuple(event for part in reversed(parts) for event in part)

    def _free(self, state: _State) -> dict[int, int]:
        problem = self._problem
        free = dict(problem.free)
        for i in range(self._count):
            if state.left >> i & 1:
                free[problem.sources[i]] += problem.sizes[i]
                if state.arrived >> i & 1:
                    free[problem.targets[i]] -= problem.sizes[i]
        return free

    def _events(self, state: _State, free: dict[int, int]) -> Iterator[Event]:
        """Yield what may happen next: moves that fit, and stops.

        A stopped instance takes room when it restarts and gives none, so it waits until that harms nobody
        (`_safe_moves`) - unless its job may not have more instances down.
        """
        problem = self._problem
        for i in range(self._count):
            if state.arrived >> i & 1 or not self._within_limit(state, i):
                continue
            has_left = state.left >> i & 1
            if problem.sizes[i] <= free[problem.targets[i]] and (self._limit is not None or not has_left):
                yield Event(i, stops=False)
            if not has_left:
                yield Event(i, stops=True)

    def _within_limit(self, state: _State, i: int) -> bool:
        """Whether instance i may be down beside those that are."""
        if self._limit is None:
            return True
        down = (state.left & ~state.arrived | 1 << i) & self._of_job[self._problem.jobs[i]]
        return down.bit_count() <= self._limit

    def _safe_moves(self, state: _State) -> list[Event]:
        """Return moves into nodes with room for all that is to arrive, and those that follow: they harm nobody."""
        problem = self._problem
        free = self._free(state)
        made: list[Event] = []
        pending = list(self._into)
        while pending:
            node = pending.pop()
            waiting = [i for i in _bits(self._into[node] & ~state.arrived) if self._within_limit(state, i)]
            arriving = sum(problem.sizes[i] for i in _bits(self._into[node] & ~state.arrived))
            if not waiting or arriving > free[node]:
                continue
            for i in waiting:
                free[node] -= problem.sizes[i]
                if not state.left >> i & 1 and problem.sources[i] in self._into:
                    free[problem.sources[i]] += problem.sizes[i]
                    pending.append(problem.sources[i])
                made.append(Event(i, stops=False))
                state = _after(state, made[-1])
        return made

    def _is_stuck(self, state: _State) -> bool:
        """Whether another stop is needed even if arrivals took no room."""
        problem = self._problem
        room = self._free(state)
        waiting = set(_bits(self._everything & ~state.left))
        while waiting:
            possible = [i for i in waiting if problem.sizes[i] <= room[problem.targets[i]]]
            if not possible:
                return True
            for i in possible:
                room[problem.sources[i]] += problem.sizes[i]
            waiting.difference_update(possible)
        return False


def _after(state: _State, event: Event) -> _State:
    bit = 1 << event.move
    return _State(state.left | bit, state.arrived if event.stops else state.arrived | bit)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
