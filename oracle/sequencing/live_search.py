"""The shortest sequence of single moves into free space: best-first search over what the nodes of a pool hold.

Nodes of one capacity that hold the same are interchangeable, and so are instances of one demand: a state says how many
nodes hold what. Every sequence of moves is a path between states and every path can be carried out, so the shortest
path is the shortest sequence, and a goal that no path reaches cannot be reached live.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oracle.node_classes import NodeContent, Pattern
    from oracle.solver import Deadline

# Entries of all states seen, at which the search gives up: about 100 MB and 10 s. A state of a small cluster has about
# as many entries as nodes, one of a large cluster at most as many as there are different holdings.
MAX_ENTRIES = 1_000_000

State: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs of a holding, by its number in a `LiveSpace`, and how many nodes have it: sorted, no count 0."""


class Holding(NamedTuple):
    """What one node is and holds, as far as moves matter: GPUs offered, GPUs held for good, and what can move.

    A closed node takes nothing; instances may leave it.
    """

    capacity: int
    held: int
    is_open: bool
    movable: Pattern

    @classmethod
    def of(cls, content: NodeContent) -> Holding:
        """Return what a node of a snapshot holds."""
        return cls(content.capacity, sum(content.immovable), content.takes_instances, content.movable)

    @property
    def used(self) -> int:
        """GPUs in use."""
        return self.held + sum(self.movable)


class Hop(NamedTuple):
    """An instance of `demand` GPUs goes from a node with holding `source` to another one with holding `target`."""

    source: Holding
    demand: int
    target: Holding


class LiveSpace:
    """Holdings by number, with what follows from each, and the moves between states."""

    def __init__(self) -> None:
        self.holdings: list[Holding] = []
        self.free: list[int] = []  # GPUs that instances can be moved into; 0 on a closed node
        self.is_partial: list[bool] = []
        self._numbers: dict[Holding, int] = {}
        self._leaving: dict[int, tuple[tuple[int, int], ...]] = {}
        self._entered: dict[tuple[int, int], int] = {}

    def state(self, holdings: Iterable[Holding]) -> State:
        """Return the state of nodes that hold this."""
        return tuple(sorted(Counter(map(self._number, holdings)).items()))

    def moves(self, state: State) -> Iterator[tuple[Hop, State]]:
        """Yield every move and the state after it, one for each way in which nodes and instances differ."""
        nodes = dict(state)
        demands = {demand for source in nodes for demand, _ in self._departures(source)}
        taking = {demand: [target for target in nodes if self.free[target] >= demand] for demand in demands}
        for source, how_many in state:
            for demand, left in self._departures(source):
                for target in taking[demand]:
                    if source == target and how_many == 1:
                        continue
                    after = defaultdict(int, nodes)
                    for holding, change in ((source, -1), (target, -1), (left, 1), (self._arrival(target, demand), 1)):
                        after[holding] += change
                        if not after[holding]:
                            del after[holding]
                    hop = Hop(self.holdings[source], demand, self.holdings[target])
                    yield hop, tuple(sorted(after.items()))

    def _number(self, holding: Holding) -> int:
        number = self._numbers.get(holding)
        if number is None:
            number = self._numbers[holding] = len(self.holdings)
            self.holdings.append(holding)
            self.free.append(holding.capacity - holding.used if holding.is_open else 0)
            self.is_partial.append(0 < holding.used < holding.capacity)
        return number

    def _departures(self, source: int) -> tuple[tuple[int, int], ...]:
        """Return the demands that can leave, each with the holding that is left."""
        found = self._leaving.get(source)
        if found is None:
            holding = self.holdings[source]
            at = {demand: i for i, demand in enumerate(holding.movable)}
            left = (holding.movable[:i] + holding.movable[i + 1 :] for i in at.values())
            found = tuple((d, self._number(holding._replace(movable=m))) for d, m in zip(at, left, strict=True))
            self._leaving[source] = found
        return found

    def _arrival(self, target: int, demand: int) -> int:
        """Return the holding that a node has once an instance of this demand has come."""
        found = self._entered.get((target, demand))
        if found is None:
            holding = self.holdings[target]
            movable = tuple(sorted((*holding.movable, demand), reverse=True))
            found = self._entered[target, demand] = self._number(holding._replace(movable=movable))
        return found


class Goal(Protocol):
    """What a search looks for."""

    def distance(self, space: LiveSpace, state: State) -> int:
        """Return a number of moves that the goal is away at least: 0 where it is reached, and nowhere else."""
        ...


@dataclass(frozen=True, slots=True)
class AtMostPartial:
    """At most so many partial nodes.

    Every partial node too many has to be filled, which takes an arrival, or emptied, which takes as many departures as
    it has instances; a move is one departure and one arrival.
    """

    partial_nodes: int

    def distance(self, space: LiveSpace, state: State) -> int:
        """Return the fewest moves if any instance could go anywhere and would fill any node."""
        departures: list[int] = []
        fillable = surplus = 0
        for number, nodes in state:
            if space.is_partial[number]:
                holding = space.holdings[number]
                surplus += nodes
                fillable += nodes * holding.is_open
                departures += [len(holding.movable)] * (nodes if not holding.held else 0)
        surplus -= self.partial_nodes
        if surplus <= 0:
            return 0
        departures.sort()
        best = surplus
        for emptied in range(max(0, surplus - fillable), min(surplus, len(departures)) + 1):
            best = min(best, max(surplus - emptied, sum(departures[:emptied])))
        return best


@dataclass(frozen=True, slots=True)
class RoomFor:
    """Room for so many more instances of one demand."""

    instances: int
    gpus: int

    def distance(self, space: LiveSpace, state: State) -> int:
        """Return the fewest moves if each made as much room as the largest instance can."""
        lacking, largest = self.instances, 1
        for number, nodes in state:
            lacking -= nodes * (space.free[number] // self.gpus)
            largest = max((largest, *space.holdings[number].movable[:1]))
        return max(0, -(-lacking // -(-largest // self.gpus)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSearch:
    """How a search ended.

    Attributes
    ----------
    hops
        A shortest path to the goal; None if none was found.
    lower_bound
        Moves that every path to the goal has at least; without meaning if there is none.
    exhausted
        Whether every state that live moves reach was visited: a goal that was not found then does not exist.
    reached
        Every state seen, with the moves of the shortest path found to it: the shortest there is, if `exhausted`.
    """

    hops: tuple[Hop, ...] | None
    lower_bound: int
    exhausted: bool
    reached: dict[State, int] = field(repr=False)
    came_from: dict[State, tuple[State, Hop]] = field(repr=False)

    def path(self, state: State) -> tuple[Hop, ...]:
        """Return the shortest path found to a state in `reached`."""
        hops: list[Hop] = []
        while state in self.came_from:
            state, hop = self.came_from[state]
            hops.append(hop)
        return tuple(reversed(hops))


def search_live(
    space: LiveSpace,
    start: State,
    goal: Goal,
    *,
    lower_bound: int = 0,
    upper_bound: int | None = None,
    max_entries: int = MAX_ENTRIES,
    deadline: Deadline,
) -> LiveSearch:
    """Look for a shortest sequence of live moves to a goal (A*).

    Parameters
    ----------
    space, start
        What the nodes hold.
    goal
        What is wanted.
    lower_bound
        Moves that are needed at least, by another argument.
    upper_bound
        A sequence of so many moves is known: only shorter ones are of interest.
    max_entries, deadline
        When to give up.
    """
    search = _Search(space, start, goal, lower_bound)
    while search.frontier:
        bound, state = search.nearest()
        if goal.distance(space, state) == 0:
            return search.result(bound, state)
        known = upper_bound is not None and bound >= upper_bound
        if known or search.entries >= max_entries or not deadline.is_open():
            return search.result(bound)
        search.visit(state)
    return search.result(0, exhausted=True)


class _Search:
    def __init__(self, space: LiveSpace, start: State, goal: Goal, lower_bound: int) -> None:
        self._space = space
        self._goal = goal
        self._lower_bound = lower_bound
        self._ticket = count()
        self._reached: dict[State, int] = {}
        self._came_from: dict[State, tuple[State, Hop]] = {}
        self.entries = 0
        # Least moves of a path through the state, then most moves made, then oldest. A state found again by a shorter
        # path is there twice; the longer one is passed over.
        self.frontier: list[tuple[int, int, int, State]] = []
        self._reach(start, 0)

    def nearest(self) -> tuple[int, State]:
        """Return the state to go on with, and how many moves every path to the goal has at least."""
        bound, _, _, state = self.frontier[0]
        return bound, state

    def visit(self, state: State) -> None:
        """Follow the moves from the nearest state."""
        _, minus_moves, _, _ = heappop(self.frontier)
        if -minus_moves > self._reached[state]:
            return
        for hop, after in self._space.moves(state):
            if -minus_moves + 1 < self._reached.get(after, -minus_moves + 2):
                self._came_from[after] = state, hop
                self._reach(after, -minus_moves + 1)

    def result(self, bound: int, found: State | None = None, *, exhausted: bool = False) -> LiveSearch:
        result = LiveSearch(
            hops=None, lower_bound=bound, exhausted=exhausted, reached=self._reached, came_from=self._came_from
        )
        return result if found is None else replace(result, hops=result.path(found))

    def _reach(self, state: State, moves: int) -> None:
        self.entries += len(state)
        self._reached[state] = moves
        bound = max(self._lower_bound, moves + self._goal.distance(self._space, state))
        heappush(self.frontier, (bound, -moves, next(self._ticket), state))
