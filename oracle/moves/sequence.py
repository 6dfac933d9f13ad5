"""Moves one after another, with few stops: the fewest where few moves wait for one another, else by rules of thumb.

Safe moves come first: those into nodes that have room for all that is to arrive stand in nobody's way. What remains
waits in cycles. Seen as a digraph of nodes with an edge for every move, the components that no edge leaves wait for
themselves only. They are settled one by one, and the rest of what waits for them follows; that splits the problem
without loss, because a component gains nothing from moves into it (theory §4, order of moves).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from compass_core.errors import CompassError
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.moves.move import Move


class NoOrderError(CompassError):
    """No order keeps to the limit of instances of one job at a time, or none was found: the message says which."""


_Stage: TypeAlias = tuple[frozenset[int], frozenset[int]]
"""The moves that have been made, and those whose instance is stopped."""

# Moves of a component up to which all sequences are tried: 3 to this power are the stages of them.
MAX_SEARCHED = 7


class Event(NamedTuple):
    """A move, by its number, is made, or its instance is stopped so that the move can be made later."""

    move: int
    stops: bool


def find_sequence(moves: Sequence[Move], free: Mapping[str, int], limit: int | None) -> tuple[Event, ...]:
    """Return all moves one after another, with few stops: none where safe moves are enough.

    Parameters
    ----------
    moves
        Of each instance one. All of them together fit: no node ends over-booked.
    free
        GPUs that nobody has, by node, before the first move.
    limit
        At most so many instances of one job may be stopped or moving at a time; None for any number.

    Raises
    ------
    NoOrderError
        The limit rules out every order that was tried.
    """
    state = _Settling(dict(enumerate(moves)), free)
    state.make_safe_moves()
    while state.left:
        for component in _blocked_components({i: moves[i] for i in sorted(state.left)}):
            for event in _solve(component, state.free, limit):
                state.apply(event)
        state.make_safe_moves()
    return tuple(state.events)


def _blocked_components(moves: Mapping[int, Move]) -> list[dict[int, Move]]:
    """Return the sets of moves that wait for themselves only.

    They are the moves inside the strongly connected components of nodes that no move leaves.
    """
    import networkx as nx  # noqa: PLC0415 - slow to import, and most plans have no cycle at all

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((move.source, move.destination) for move in moves.values())
    component = {node: c for c, nodes in enumerate(nx.strongly_connected_components(graph)) for node in nodes}
    inside: defaultdict[int, dict[int, Move]] = defaultdict(dict)
    for i, move in moves.items():
        if component[move.source] == component[move.destination]:
            inside[component[move.source]][i] = move
    left = {component[a] for a, b in graph.edges if component[a] != component[b]}
    return [inside[c] for c in sorted(inside, key=lambda c: min(inside[c])) if c not in left]


class _Settling:
    """The sequence so far and what it leaves to be done. `moves` has each move under its number."""

    def __init__(self, moves: Mapping[int, Move], free: Mapping[str, int]) -> None:
        self.moves = moves
        self.free = {node: free[node] for move in moves.values() for node in (move.source, move.destination)}
        self.left = set(moves)
        self.stopped: set[int] = set()
        self.events: list[Event] = []
        self.arriving = Counter[str]()
        self._into: defaultdict[str, list[int]] = defaultdict(list)
        for i, move in moves.items():
            self.arriving[move.destination] += move.gpus
            self._into[move.destination].append(i)

    def make_safe_moves(self, nodes: Iterable[str] | None = None) -> None:
        """Make every move into a node with room for all that is to arrive, until there is no such node.

        With `nodes`, only these and what follows from them are looked at.
        """
        pending = list(self.arriving if nodes is None else nodes)
        while pending:
            node = pending.pop()
            if 0 < self.arriving[node] <= self.free[node]:
                for i in self._into[node]:
                    if i in self.left:
                        self.apply(Event(i, stops=False))
                        pending.append(self.moves[i].source)

    def lack(self, node: str) -> int:
        """GPUs that are missing on a node for all that is still to arrive there."""
        return self.arriving[node] - self.free[node]

    def apply(self, event: Event) -> None:
        """Append an event, keeping account."""
        self.events.append(event)
        i, move = event.move, self.moves[event.move]
        if i not in self.stopped:
            self.free[move.source] += move.gpus
        if event.stops:
            self.stopped.add(i)
        else:
            self.free[move.destination] -= move.gpus
            self.arriving[move.destination] -= move.gpus
            self.left.remove(i)


def _solve(moves: Mapping[int, Move], free: Mapping[str, int], limit: int | None) -> Sequence[Event]:
    """Return a sequence for one component that waits for itself only, with the fewest stops if it is small."""
    attempts = [_by_rule(_Settling(moves, free), rule) for rule in _RULES]
    allowed = [events for events in attempts if limit is None or _keeps_to(moves, events, limit)]
    best: Sequence[Event] | None = min(allowed, key=_count_stops, default=None)
    if len(moves) <= MAX_SEARCHED:
        below = len(moves) + 1 if best is None else _count_stops(best)
        best = _by_search(moves, free, limit, below) or best
    if best is None:
        raise NoOrderError(
            f"no order was found with at most {count(limit or 0, 'instance')} of one job at a time; there may be one"
        )
    return best


def _count_stops(events: Iterable[Event]) -> int:
    return sum(event.stops for event in events)


def _by_search(
    moves: Mapping[int, Move], free: Mapping[str, int], limit: int | None, below: int
) -> tuple[Event, ...] | None:
    """Return the sequence with the fewest stops if they are below a number, by trying every one."""
    start: _Stage = frozenset(), frozenset()
    done: _Stage = frozenset(moves), frozenset()
    found: dict[_Stage, tuple[Event, ...]] = {}
    with_a_stop_more: dict[_Stage, tuple[Event, ...]] = {start: ()}
    for _ in range(below):
        layer = [stage for stage in with_a_stop_more if stage not in found]
        found = with_a_stop_more | found
        with_a_stop_more = {}
        for stage in layer:  # it grows by what is reached without another stop
            for event, after in _next(moves, free, limit, stage):
                if event.stops:
                    with_a_stop_more.setdefault(after, (*found[stage], event))
                elif after not in found:
                    found[after] = (*found[stage], event)
                    layer.append(after)
        if done in found:
            return found[done]
    return None


def _next(
    moves: Mapping[int, Move], free: Mapping[str, int], limit: int | None, stage: _Stage
) -> Iterator[tuple[Event, _Stage]]:
    """Yield what can be done next, and what has been done and is stopped then."""
    made, stopped = stage
    room = Counter(free)
    for i in made | stopped:
        room[moves[i].source] += moves[i].gpus
    for i in made:
        room[moves[i].destination] -= moves[i].gpus
    down = Counter(moves[i].job for i in stopped)
    for i, move in moves.items():
        if i in made or (i not in stopped and limit is not None and down[move.job] >= limit):
            continue
        if move.gpus <= room[move.destination]:
            yield Event(i, stops=False), (made | {i}, stopped - {i})
        if i not in stopped:
            yield Event(i, stops=True), (made, stopped | {i})


def _by_rule(state: _Settling, rule: _Rule) -> list[Event]:
    """Return a sequence by making safe moves as long as there are any, then one that `rule` chooses, and so on.

    Moves after which their source has room for all its arrivals come first, then any others that there is room for
    now, although those may take the room of another. Where nothing fits an instance is stopped.
    """
    moves = state.moves
    while state.left:
        running = [i for i in state.left if i not in state.stopped]
        opening = [i for i in running if state.lack(moves[i].source) <= moves[i].gpus]
        fitting = [i for i in running if moves[i].gpus <= state.free[moves[i].destination]]
        if fitting:
            both = set(opening).intersection(fitting)
            chosen = min(both or fitting, key=lambda i: (rule(state, moves[i]), i))
        else:
            chosen = min(opening or running, key=lambda i: (state.arriving[moves[i].source], moves[i].gpus, i))
        state.apply(Event(chosen, stops=not fitting))
        state.make_safe_moves([moves[chosen].source, moves[chosen].destination])
    return state.events


_Rule: TypeAlias = Callable[[_Settling, "Move"], int]

# Which of several moves that fit is made next, the one of the least value. None of these is always the best, each is
# the best now and then, and all together take no longer than one search.
_RULES: tuple[_Rule, ...] = (
    lambda state, move: state.lack(move.source) - move.gpus,
    lambda state, move: state.lack(move.destination),
    lambda state, move: state.lack(move.source) - move.gpus + state.lack(move.destination),
    lambda _state, move: move.gpus,
)


def _keeps_to(moves: Mapping[int, Move], events: Iterable[Event], limit: int) -> bool:
    down: defaultdict[str, set[int]] = defaultdict(set)
    for event in events:
        of_job = down[moves[event.move].job]
        of_job.add(event.move)
        if len(of_job) > limit:
            return False
        if not event.stops:
            of_job.remove(event.move)
    return True
