"""Moves that wait for one another, as numbers: what may go where, and who blocks whom.

A move into a node waits for moves out of it. Seen as a digraph of nodes with an edge for every move, only its cycles
can block for good.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from compass_core.errors import CompassError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


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
