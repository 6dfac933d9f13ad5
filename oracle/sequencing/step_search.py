"""How few steps moves can take: a bound for any number of them, and an exhaustive search for a few."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle.sequencing.move_problem import MoveProblem
    from oracle.solver import Deadline

# So few moves have at most 1,024 sets of moves made.
MAX_EXACT_MOVES = 10

# Steps tried, over all sets of stops, before the search gives up: a few seconds' worth.
MAX_STEPS_TRIED = 200_000

Steps: TypeAlias = tuple[tuple[int, ...], ...]
"""The moves of every step."""


@dataclass(frozen=True, slots=True)
class Shortest:
    """What the search found: moves stopped first and the steps, or None if none has so few; whether it finished."""

    found: tuple[frozenset[int], Steps] | None
    finished: bool


def steps_bound(problem: MoveProblem, stops: int, limit: int | None) -> int:
    """Return a number of steps that every order with so many stops has at least.

    A node without room for all that is to arrive needs a stop, or a move that leaves it in an earlier step: with fewer
    stops than such nodes there are two steps. Without stops, a move waits at least until enough could have left its
    node if arrivals took no room.
    """
    longest = 0 if limit is None else max((-(-count // limit) for count in Counter(problem.jobs).values()), default=0)
    arriving = problem.arriving()
    room = {node: problem.free[node] for node in problem.targets}
    if stops or not problem.sizes:
        short = sum(arriving[node] > room[node] for node in arriving)
        return max(longest, min(1, len(problem.sizes)), 2 * (stops < short))
    waiting = set(range(len(problem.sizes)))
    step = last = 0
    unfinished = set(arriving)
    while waiting or unfinished:
        step += 1
        done = {node for node in unfinished if arriving[node] <= room[node]}
        possible = {i for i in waiting if problem.sizes[i] <= room[problem.targets[i]]}
        if not done and not possible:
            raise ValueError("these moves have no order without a stop")
        last = step if done else last
        unfinished -= done
        waiting -= possible
        for i in possible:
            if problem.sources[i] in room:
                room[problem.sources[i]] += problem.sizes[i]
    return max(longest, last)


def search_steps(
    problem: MoveProblem, *, stops: int, fewer_than: int, limit: int | None, deadline: Deadline
) -> Shortest:
    """Look for an order with so many stops and fewer steps than `fewer_than`, the fewest there are.

    Parameters
    ----------
    problem
        At most `MAX_EXACT_MOVES` moves.
    stops
        The fewest instances that have to stop first.
    fewer_than
        Steps of an order known already.
    limit
        At most so many instances of one job may move in one step; with stops it must be None.
    deadline
        When to give up.
    """
    best: tuple[frozenset[int], Steps] | None = None
    search = _Search(problem, limit)
    for chosen in combinations(range(len(problem.sizes)), stops):
        found = search.run(frozenset(chosen), fewer_than)
        if found is not None:
            best, fewer_than = (frozenset(chosen), found), len(found)
        if search.tried > MAX_STEPS_TRIED or not deadline.is_open():
            return Shortest(best, finished=False)
    return Shortest(best, finished=True)


class _Search:
    """Breadth first over the sets of moves made, one layer a step."""

    def __init__(self, problem: MoveProblem, limit: int | None) -> None:
        self._problem = problem
        self._limit = limit
        self._everything = (1 << len(problem.sizes)) - 1
        self.tried = 0

    def run(self, stopped: frozenset[int], fewer_than: int) -> Steps | None:
        came_from: dict[int, tuple[int, tuple[int, ...]]] = {}
        layer = [0]
        for _ in range(1, fewer_than):
            following: list[int] = []
            for made in layer:
                for step in self._steps(made, self._free(made, stopped)):
                    self.tried += 1
                    after = made | sum(1 << i for i in step)
                    if after and after not in came_from:
                        came_from[after] = made, step
                        following.append(after)
                    if after == self._everything:
                        return _path(came_from, after)
                if self.tried > MAX_STEPS_TRIED:
                    return None
            layer = following
        return None

    def _free(self, made: int, stopped: frozenset[int]) -> Counter[int]:
        problem = self._problem
        free = Counter(problem.free)
        for i, size in enumerate(problem.sizes):
            if made >> i & 1:
                free[problem.targets[i]] -= size
            if made >> i & 1 or i in stopped:
                free[problem.sources[i]] += size
        return free

    def _steps(self, made: int, free: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
        """Yield every set of moves that fits beside what is there now, larger ones first."""
        problem = self._problem
        waiting = [i for i in range(len(problem.sizes)) if not made >> i & 1]
        room, moving = dict(free), Counter[int]()

        def choose(k: int, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if k == len(waiting):
                yield chosen
                return
            i = waiting[k]
            node, job = problem.targets[i], problem.jobs[i]
            if problem.sizes[i] <= room[node] and (self._limit is None or moving[job] < self._limit):
                room[node] -= problem.sizes[i]
                moving[job] += 1
                yield from choose(k + 1, (*chosen, i))
                room[node] += problem.sizes[i]
                moving[job] -= 1
            yield from choose(k + 1, chosen)

        return choose(0, ())


def _path(came_from: Mapping[int, tuple[int, tuple[int, ...]]], made: int) -> Steps:
    steps: list[tuple[int, ...]] = []
    while made:
        made, step = came_from[made]
        steps.append(step)
    return tuple(reversed(steps))
