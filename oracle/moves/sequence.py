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
from oracle.snapshots.stocks import Free, Stock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.moves.at_once import AtOnce
    from oracle.moves.move import Move
    from oracle.moves.replay import Occupancy
    from oracle.snapshots.stocks import Key, Taken


class NoOrderError(CompassError):
    """No order keeps to what may be down at a time, or none was found: the message says which."""


_Stage: TypeAlias = tuple[frozenset[int], frozenset[int]]
"""The moves that have been made, and those whose instance is stopped."""

# Moves of a component up to which all sequences are tried: 3 to this power are the stages of them.
MAX_SEARCHED = 7


class Event(NamedTuple):
    """A move, by its number, is made, or its instance is stopped so that the move can be made later."""

    move: int
    stops: bool


def find_sequence(moves: Sequence[Move], occupancy: Occupancy) -> tuple[Event, ...]:
    """Return all moves one after another, with few stops: none where safe moves are enough.

    Parameters
    ----------
    moves
        Of each instance one. All of them together fit: no node ends over-booked.
    occupancy
        The cluster before the first move.

    Raises
    ------
    NoOrderError
        What may be down at a time rules out every order that was tried.
    """
    state = _Settling(dict(enumerate(moves)), occupancy.free, occupancy)
    state.make_safe_moves()
    while state.left:
        for component in _blocked_components({i: moves[i] for i in sorted(state.left)}):
            for event in _solve(component, state.free, occupancy):
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

    def __init__(self, moves: Mapping[int, Move], free: Free, occupancy: Occupancy) -> None:
        self.moves = moves
        taken = occupancy.stocks.taken
        self.leaves: dict[int, Taken] = {i: taken((move.job, move.instance), move.source) for i, move in moves.items()}
        self.enters = {i: taken((move.job, move.instance), move.destination) for i, move in moves.items()}
        ends = (*self.leaves.values(), *self.enters.values())
        self.free = Free({stock: free[stock] for taken in ends for stock, _ in taken})
        self.left = set(moves)
        self.stopped: set[int] = set()
        self.events: list[Event] = []
        self.arriving = Counter[Stock]()
        self._into: defaultdict[str, list[int]] = defaultdict(list)
        # What is wanted of each node, by its name.
        self._wanted: defaultdict[str, set[Stock]] = defaultdict(set)
        for i, move in moves.items():
            for stock, amount in self.enters[i]:
                self.arriving[stock] += amount
                self._wanted[stock.node].add(stock)
            self._into[move.destination].append(i)

    def make_safe_moves(self, nodes: Iterable[str] | None = None) -> None:
        """Make every move into a node with room for all that is to arrive, until there is no such node.

        With `nodes`, only these and what follows from them are looked at.
        """
        pending = list(self._into if nodes is None else nodes)
        while pending:
            node = pending.pop()
            if self.arriving[Stock(node)] > 0 and self.has_room_for_all(node):
                for i in self._into[node]:
                    if i in self.left:
                        self.apply(Event(i, stops=False))
                        pending.append(self.moves[i].source)

    def has_room_for_all(self, node: str, leaving: Taken = ()) -> bool:
        """Whether a node has room for all that is still to arrive there, once so much has left it."""
        given = dict(leaving)
        return all(self.arriving[stock] <= self.free[stock] + given.get(stock, 0) for stock in self._wanted[node])

    def lack(self, node: str) -> int:
        """GPUs that are missing on a node for all that is still to arrive there."""
        stock = Stock(node)
        return self.arriving[stock] - self.free[stock]

    def apply(self, event: Event) -> None:
        """Append an event, keeping account."""
        self.events.append(event)
        i = event.move
        if i not in self.stopped:
            self.free.give(self.leaves[i])
        if event.stops:
            self.stopped.add(i)
        else:
            self.free.take(self.enters[i])
            for stock, amount in self.enters[i]:
                self.arriving[stock] -= amount
            self.left.remove(i)


def _solve(moves: Mapping[int, Move], free: Free, occupancy: Occupancy) -> Sequence[Event]:
    """Return a sequence for one component that waits for itself only, with the fewest stops if it is small."""
    attempts = [_by_rule(_Settling(moves, free, occupancy), rule) for rule in _RULES]
    allowed = [events for events in attempts if _keeps_to(moves, events, occupancy.at_once)]
    best: Sequence[Event] | None = min(allowed, key=_count_stops, default=None)
    if len(moves) <= MAX_SEARCHED:
        below = len(moves) + 1 if best is None else _count_stops(best)
        best = _by_search(_Settling(moves, free, occupancy), occupancy.at_once, below) or best
    if best is None:
        raise NoOrderError(f"no order was found with {occupancy.at_once}; there may be one")
    return best


def _count_stops(events: Iterable[Event]) -> int:
    return sum(event.stops for event in events)


def _by_search(start: _Settling, at_once: AtOnce, below: int) -> tuple[Event, ...] | None:
    """Return the sequence with the fewest stops if they are below a number, by trying every one."""
    nothing: _Stage = frozenset(), frozenset()
    done: _Stage = frozenset(start.moves), frozenset()
    found: dict[_Stage, tuple[Event, ...]] = {}
    with_a_stop_more: dict[_Stage, tuple[Event, ...]] = {nothing: ()}
    for _ in range(below):
        layer = [stage for stage in with_a_stop_more if stage not in found]
        found = with_a_stop_more | found
        with_a_stop_more = {}
        for stage in layer:  # it grows by what is reached without another stop
            for event, after in _next(start, at_once, stage):
                if event.stops:
                    with_a_stop_more.setdefault(after, (*found[stage], event))
                elif after not in found:
                    found[after] = (*found[stage], event)
                    layer.append(after)
        if done in found:
            return found[done]
    return None


def _next(start: _Settling, at_once: AtOnce, stage: _Stage) -> Iterator[tuple[Event, _Stage]]:
    """Yield what can be done next, and what has been done and is stopped then."""
    made, stopped = stage
    room = Free(start.free)
    for i in made | stopped:
        room.give(start.leaves[i])
    for i in made:
        room.take(start.enters[i])
    for i in start.moves:
        if i in made or (i not in stopped and at_once.exceeded(_keys(start.moves, stopped | {i}))):
            continue
        if room.fits(start.enters[i]):
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
        opening = [i for i in running if state.has_room_for_all(moves[i].source, state.leaves[i])]
        fitting = [i for i in running if state.free.fits(state.enters[i])]
        if fitting:
            both = set(opening).intersection(fitting)
            chosen = min(both or fitting, key=lambda i: (rule(state, moves[i]), i))
        else:
            chosen = min(opening or running, key=lambda i: (state.arriving[Stock(moves[i].source)], moves[i].gpus, i))
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


def _keeps_to(moves: Mapping[int, Move], events: Iterable[Event], at_once: AtOnce) -> bool:
    down: set[int] = set()
    for event in events:
        down.add(event.move)
        if at_once.exceeded(_keys(moves, down)):
            return False
        if not event.stops:
            down.remove(event.move)
    return True


def _keys(moves: Mapping[int, Move], of: Iterable[int]) -> list[Key]:
    return [(moves[i].job, moves[i].instance) for i in of]
