"""Which instances stop first so that all moves can be made one after another: few, by rules of thumb.

Moves into nodes that have room for everything that is to arrive are made at once: they stand in nobody's way. What
remains waits in cycles. The components that wait for themselves only are settled one by one, and the rest of what waits
for them follows; that splits the problem without loss, because a component gains nothing from moves into it (theory §4,
order of moves).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from oracle.moves.move_problem import Event, MoveProblem, NoOrderError, blocked_components

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_sequence(problem: MoveProblem, *, limit: int | None) -> tuple[Event, ...]:
    """Return all moves one after another, with few stops: none where safe moves are enough.

    Parameters
    ----------
    problem
        The moves.
    limit
        At most so many instances of one job may be stopped or moving at a time; None for any number.

    Raises
    ------
    NoOrderError
        The limit rules out every order that was tried.
    """
    state = _Settling(problem)
    state.make_safe_moves()
    while state.left:
        for component in blocked_components(problem, sorted(state.left)):
            events = _solve(problem.part(component, state.free), limit)
            state.apply(Event(component[event.move], event.stops) for event in events)
        state.make_safe_moves()
    return tuple(state.events)


class _Settling:
    """The sequence so far and what it leaves to be done."""

    def __init__(self, problem: MoveProblem) -> None:
        self._problem = problem
        self.free = dict(problem.free)
        self.left = set(range(len(problem.sizes)))
        self.events: list[Event] = []
        self.arriving = problem.arriving()
        self._into: dict[int, list[int]] = {}
        for i, target in enumerate(problem.targets):
            self._into.setdefault(target, []).append(i)
        self.stopped: set[int] = set()

    def make_safe_moves(self, nodes: Iterable[int] | None = None) -> None:
        """Make every move into a node with room for all that is to arrive, until there is no such node.

        With `nodes`, only these and what follows from them are looked at.
        """
        pending = list(self.arriving if nodes is None else nodes)
        while pending:
            node = pending.pop()
            if 0 < self.arriving[node] <= self.free[node]:
                moves = [i for i in self._into[node] if i in self.left]
                self.apply(Event(i, stops=False) for i in moves)
                pending += (self._problem.sources[i] for i in moves)

    def lack(self, node: int) -> int:
        """GPUs that are missing on a node for all that is still to arrive there."""
        return self.arriving[node] - self.free[node]

    def apply(self, events: Iterable[Event]) -> None:
        """Append events, keeping account."""
        problem = self._problem
        for event in events:
            self.events.append(event)
            i = event.move
            if i not in self.stopped:
                self.free[problem.sources[i]] += problem.sizes[i]
            if event.stops:
                self.stopped.add(i)
            else:
                self.free[problem.targets[i]] -= problem.sizes[i]
                self.arriving[problem.targets[i]] -= problem.sizes[i]
                self.left.remove(i)


def _solve(part: MoveProblem, limit: int | None) -> tuple[Event, ...]:
    """Return a sequence for one component that waits for itself only: of several, the one with the fewest stops."""
    attempts = [_by_rule(part, rule) for rule in _RULES]
    allowed = [events for events in attempts if limit is None or _keeps_to(part, events, limit)]
    if not allowed:
        raise NoOrderError(f"no order was found with at most {limit} instances of one job at a time; there may be one")
    return min(allowed, key=_count_stops)


def _count_stops(events: Iterable[Event]) -> int:
    return sum(event.stops for event in events)


def _by_rule(part: MoveProblem, rule: _Rule) -> tuple[Event, ...]:
    """Return a sequence by making safe moves as long as there are any, then one that `rule` chooses, and so on.

    Moves after which their source has room for all its arrivals come first, then any others that there is room for
    now, although those may take the room of another. Where nothing fits an instance is stopped.
    """
    state = _Settling(part)
    while state.left:
        running = [i for i in state.left if i not in state.stopped]
        opening = [i for i in running if state.lack(part.sources[i]) <= part.sizes[i]]
        fitting = [i for i in running if part.sizes[i] <= state.free[part.targets[i]]]
        both = set(opening).intersection(fitting)
        if fitting:
            chosen = min(both or fitting, key=lambda i: (rule(state, part, i), i))
        else:
            chosen = min(opening or running, key=lambda i: (state.arriving[part.sources[i]], part.sizes[i], i))
        state.apply([Event(chosen, stops=not fitting)])
        state.make_safe_moves([part.sources[chosen], part.targets[chosen]])
    return tuple(state.events)


_Rule: TypeAlias = Callable[[_Settling, MoveProblem, int], int]

# Which of several moves that fit is made next, the one of the least value. None of these is always the best, each is
# the best now and then, and all together take no longer than one search.
_RULES: tuple[_Rule, ...] = (
    lambda state, part, i: state.lack(part.sources[i]) - part.sizes[i],
    lambda state, part, i: state.lack(part.targets[i]),
    lambda state, part, i: state.lack(part.sources[i]) - part.sizes[i] + state.lack(part.targets[i]),
    lambda _state, part, i: part.sizes[i],
)


def _keeps_to(part: MoveProblem, events: Iterable[Event], limit: int) -> bool:
    down: dict[int, set[int]] = {}
    for event in events:
        of_job = down.setdefault(part.jobs[event.move], set())
        of_job.add(event.move)
        if len(of_job) > limit:
            return False
        if not event.stops:
            of_job.remove(event.move)
    return True
