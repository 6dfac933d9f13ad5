"""Whether a few migrations reach Φ*, by trying all of them: most events of a scheduler ask for no more than three.

A node that changes loses some of its instances, which migrate, and takes others: those that migrate, and new ones. The
changes of all nodes together take what they lose and what is new. So a number of migrations is tried by sharing out
every choice of demands among changes: a table of the least partial nodes that the rest can bring, nodes being taken to
be as many as wanted, prunes the search for changes of nodes that are there. What it does not find does not exist.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from itertools import combinations_with_replacement, product
from operator import itemgetter
from typing import TYPE_CHECKING

from oracle.optimum.model import Change, NodeKind
from oracle.optimum.node_classes import NodeClass
from oracle.snapshots.model import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core.model import NodeShape
    from compass_core.state import ClusterState
    from oracle.snapshots.model import Pattern

# Shares looked at, after which the search gives up: some 50 ms.
MAX_STEPS = 7_000

# New instances up to which it is begun: each may be a level of the recursion.
_MAX_NEW = 32

# More partial nodes than any change makes: no node does what is left.
_FAR = 10**6


class _OutOfStepsError(Exception):
    """The search was cut short: what it did not find may exist."""


def with_few_moves(state: ClusterState, new: Pattern, more_partial: int, most_moves: int) -> Counter[Change] | None:
    """Return how nodes change so that the fewest instances migrate; None if so many do not suffice, or may not.

    Parameters
    ----------
    state
        The cluster without the new instances.
    new
        Demands of the new instances: one demand, once for each.
    more_partial
        Partial nodes that there may be more than now; negative if there have to be fewer.
    most_moves
        Migrations up to which all are tried, from 1 on.
    """
    if len(new) > _MAX_NEW:
        return None
    search = _Search(state, most_moves)
    demands = sorted({gpus for shape in state.shapes for gpus in shape.demands}, reverse=True)
    try:
        for moves in range(1, most_moves + 1):
            for losing in combinations_with_replacement(demands, moves):
                if search.visit(losing, pattern_of(losing + new), more_partial):
                    return search.found
    except _OutOfStepsError:
        pass
    return None


class _Search:
    def __init__(self, state: ClusterState, most_moves: int) -> None:
        self._kind = NodeClass(state.capacity, 0, state.capacity)
        self._left = Counter({shape: len(indexes) for shape, indexes in state.shapes.items()})
        # Shapes that can lose a part of what they hold, by the GPUs in use on them.
        self._holders: defaultdict[Pattern, defaultdict[int, list[NodeShape]]] = defaultdict(lambda: defaultdict(list))
        for shape in state.shapes:
            for lost in _small_parts(shape.demands, most_moves):
                self._holders[lost][shape.used].append(shape)
        self._ways: dict[tuple[Pattern, int], list[tuple[int, list[NodeShape]]]] = {}
        self._least: dict[tuple[Pattern, Pattern], int] = {((), ()): 0}
        self._steps = MAX_STEPS
        self.found: Counter[Change] = Counter()

    def visit(self, losing: Pattern, taking: Pattern, more_partial: int) -> bool:
        """Look for nodes for what is left to lose and to take, within so many more partial nodes."""
        if self._bound(losing, taking) > more_partial:
            return False
        if not losing and not taking:
            return True
        for lost, taken, rest in self._shares(losing, taking):
            left = more_partial - self._bound(*rest)
            for more, shapes in self._changing(lost, sum(taken)):
                for shape in shapes if more <= left else ():
                    if self._left[shape]:
                        after = pattern_of((Counter(shape.demands) - Counter(lost) + Counter(taken)).elements())
                        change = Change(NodeKind(self._kind, shape.demands), after)
                        self._left[shape] -= 1
                        self.found[change] += 1
                        if self.visit(*rest, more_partial - more):
                            return True
                        self.found[change] -= 1
                        self._left[shape] += 1
        return False

    def _bound(self, losing: Pattern, taking: Pattern) -> int:
        """Return what the rest adds to the partial nodes at least."""
        known = self._least.get((losing, taking))
        if known is None:
            known = _FAR
            for lost, taken, rest in self._shares(losing, taking):
                ways = self._changing(lost, sum(taken))
                if ways:
                    known = min(known, ways[0][0] + self._bound(*rest))
            self._least[losing, taking] = known
        return known

    def _shares(self, losing: Pattern, taking: Pattern) -> Iterator[tuple[Pattern, Pattern, tuple[Pattern, Pattern]]]:
        """Yield what the next change loses and takes, and what is left to lose and to take."""
        capacity = self._kind.capacity
        for lost, left_to_lose in _parts(losing, capacity):
            for taken, left_to_take in _parts(taking, capacity):
                # The first demand that is left takes part in the next change, and none stays where it is.
                first = lost[:1] == losing[:1] and (losing or taken[:1] == taking[:1])
                if first and not set(lost) & set(taken):
                    self._steps -= 1
                    if self._steps < 0:
                        raise _OutOfStepsError
                    yield lost, taken, (left_to_lose, left_to_take)

    def _changing(self, lost: Pattern, gpus: int) -> list[tuple[int, list[NodeShape]]]:
        """Return the shapes that can lose these and take so many GPUs, by what that adds to the partial nodes."""
        known = self._ways.get((lost, gpus))
        if known is None:
            capacity = self._kind.capacity
            ends = ((used, used - sum(lost) + gpus, shapes) for used, shapes in self._holders[lost].items())
            known = self._ways[lost, gpus] = sorted(
                (
                    ((0 < end < capacity) - (0 < used < capacity), shapes)
                    for used, end, shapes in ends
                    if end <= capacity
                ),
                key=itemgetter(0),
            )
        return known


@lru_cache(maxsize=1 << 14)
def _small_parts(pattern: Pattern, most: int) -> tuple[Pattern, ...]:
    """Return every part of at most so many."""
    counts = Counter(pattern)
    parts = (part for size in range(most + 1) for part in combinations_with_replacement(counts, size))
    return tuple(part for part in parts if Counter(part) <= counts)


@lru_cache(maxsize=1 << 14)
def _parts(pattern: Pattern, capacity: int) -> tuple[tuple[Pattern, Pattern], ...]:
    """Return every part that fits a node, and the rest."""
    counts = Counter(pattern)
    found: list[tuple[Pattern, Pattern]] = []
    for copies in product(*(range(count + 1) for count in counts.values())):
        part = Counter(dict(zip(counts, copies, strict=True)))
        if sum(gpus * count for gpus, count in part.items()) <= capacity:
            found.append((tuple(part.elements()), tuple((counts - part).elements())))
    return tuple(found)
