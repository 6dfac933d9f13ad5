"""Moves that wait for one another, as numbers: what may go where, who blocks whom, and a bound on the deadlocks.

A move into a node waits for moves out of it. Seen as a digraph of nodes with an edge for every move, only its cycles
can block for good.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from compass_core.errors import CompassError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Cycles longer than this are not looked for when deadlocks are counted. Deadlocks of tight clusters are short: two
# nodes that exchange instances of different size. A longer cycle missed makes the bound weaker, never false.
_MAX_CYCLE = 6


class Event(NamedTuple):
    """Move i is made, or its instance is stopped so that the move can be made later."""

    move: int
    stops: bool


class NoOrderError(CompassError):
    """No order keeps to the limit of instances of one job at a time, or none was found: the message says which."""


@dataclass(frozen=True, slots=True)
class MoveProblem:
    """Moves by number, each once: move i takes `sizes[i]` GPUs from node `sources[i]` to node `targets[i]`.

    Attributes
    ----------
    sizes, sources, targets, jobs
        One entry a move. `jobs` numbers the jobs; it matters only where their instances at a time are limited.
    free
        GPUs that nobody has, by node, before the first move. All moves together fit: no node ends over-booked.
    """

    sizes: tuple[int, ...]
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    jobs: tuple[int, ...]
    free: Mapping[int, int]

    def part(self, moves: Iterable[int], free: Mapping[int, int]) -> MoveProblem:
        """Return the problem of some of the moves, renumbered in their order, with what is free now."""
        moves = tuple(moves)
        nodes = {node for i in moves for node in (self.sources[i], self.targets[i])}
        return MoveProblem(
            sizes=tuple(self.sizes[i] for i in moves),
            sources=tuple(self.sources[i] for i in moves),
            targets=tuple(self.targets[i] for i in moves),
            jobs=tuple(self.jobs[i] for i in moves),
            free={node: free[node] for node in nodes},
        )

    def arriving(self) -> Counter[int]:
        """GPUs that are to arrive, by node."""
        arriving: Counter[int] = Counter()
        for size, target in zip(self.sizes, self.targets, strict=True):
            arriving[target] += size
        return arriving


def blocked_components(problem: MoveProblem, moves: Sequence[int]) -> list[list[int]]:
    """Return the sets of moves that wait for themselves only, as lists of moves.

    They are the moves inside the strongly connected components of nodes that no move leaves. Moves into such a
    component from elsewhere can wait until it has been settled: nothing in it waits for them.
    """
    import networkx as nx  # noqa: PLC0415 - slow to import, and most plans have no cycle at all

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from((problem.sources[i], problem.targets[i]) for i in moves)
    component: dict[int, int] = {}
    for c, nodes in enumerate(nx.strongly_connected_components(graph)):
        component.update(dict.fromkeys(nodes, c))
    inside: dict[int, list[int]] = {}
    left: set[int] = set()
    for i in moves:
        source, target = component[problem.sources[i]], component[problem.targets[i]]
        if source == target:
            inside.setdefault(source, []).append(i)
        else:
            left.add(source)
    return [inside[c] for c in sorted(inside, key=lambda c: inside[c][0]) if c not in left]


def is_stuck(problem: MoveProblem, nodes: frozenset[int]) -> bool:
    """Whether some move inside `nodes` can never be made live, however much room there is elsewhere.

    Rooms are taken for as large as they can ever be: moves that leave `nodes` are done, and what arrives takes no
    room. So a stuck set needs at least one stop of a move inside it, and disjoint stuck sets need one each.
    """
    room = {node: problem.free[node] for node in nodes}
    inside: dict[int, list[int]] = {node: [] for node in nodes}
    count = 0
    for i, (source, target) in enumerate(zip(problem.sources, problem.targets, strict=True)):
        if source in nodes and target in nodes:
            inside[target].append(i)
            count += 1
        elif source in nodes:
            room[source] += problem.sizes[i]
    return count > _moved_inside(problem, room, inside)


def _moved_inside(problem: MoveProblem, room: dict[int, int], inside: dict[int, list[int]]) -> int:
    """Return how many moves become possible if arrivals took no room."""
    waiting = {node: sorted(moves, key=lambda i: -problem.sizes[i]) for node, moves in inside.items()}
    pending = deque(waiting)
    moved = 0
    while pending:
        node = pending.popleft()
        while waiting[node] and problem.sizes[waiting[node][-1]] <= room[node]:
            i = waiting[node].pop()
            moved += 1
            room[problem.sources[i]] += problem.sizes[i]
            pending.append(problem.sources[i])
    return moved


def count_deadlocks(problem: MoveProblem) -> int:
    """Return a lower bound on the stops: how many disjoint stuck cycles are found, shortest first."""
    after: dict[int, set[int]] = {}
    for source, target in zip(problem.sources, problem.targets, strict=True):
        after.setdefault(source, set()).add(target)
    used: set[int] = set()
    found = 0
    for length in range(2, _MAX_CYCLE + 1):
        for start in sorted(after):
            cycle = None if start in used else _cycle(after, start, length, used)
            if cycle is not None and is_stuck(problem, cycle):
                used |= cycle
                found += 1
    if not found and is_stuck(problem, frozenset(problem.free)):
        return 1
    return found


def _cycle(after: Mapping[int, set[int]], start: int, length: int, used: set[int]) -> frozenset[int] | None:
    """Return the nodes of a shortest cycle through `start` that avoids `used`, if it is at most so long."""
    came_from: dict[int, int] = {}
    layer = [start]
    for _ in range(length):
        following: list[int] = []
        for node in layer:
            for target in sorted(after.get(node, ())):
                if target == start:
                    return frozenset(_path(came_from, node, start))
                if target not in came_from and target not in used:
                    came_from[target] = node
                    following.append(target)
        layer = following
    return None


def _path(came_from: Mapping[int, int], node: int, start: int) -> list[int]:
    path = [node]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path
