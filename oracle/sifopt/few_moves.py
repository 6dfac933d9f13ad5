"""Whether a few migrations reach Φ*, by trying all of them: most events of a scheduler ask for no more than three.

A node that changes loses some of its instances, which migrate, and takes others: those that migrate, and new ones. The
changes of all nodes together take what they lose and what is new. So a number of migrations is tried by sharing out
every choice of demands among changes: a table of the least partial nodes that the rest can bring, nodes being taken to
be as many as wanted, prunes the search for changes of nodes that are there. What it does not find does not exist.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core.model import NodeShape
    from compass_core.state import ClusterState
    from oracle.snapshots.model import Pattern

# Changes looked at, after which the search gives up: some 50 ms.
MAX_STEPS = 5_000

# More partial nodes than any change makes: no node does what is left.
_FAR = 10**6


class OutOfStepsError(Exception):
    """The search was cut short: what it did not find may exist."""


class NodeChange(NamedTuple):
    """What one node holds now and afterwards."""

    before: Pattern
    after: Pattern


class _Way(NamedTuple):
    """One way to change a node of a shape, and what that adds to the partial nodes."""

    shape: NodeShape
    more_partial: int


def with_few_moves(
    state: ClusterState, new: Pattern, more_partial: int, most_moves: int
) -> tuple[NodeChange, ...] | None:
    """Return which nodes change so that the fewest instances migrate, or None if so many do not suffice.

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

    Raises
    ------
    OutOfStepsError
        Too much had to be tried.
    """
    for moves in range(1, most_moves + 1):
        found = _Search(state, new, moves).run(more_partial)
        if found is not None:
            return found
    return None


class _Search:
    def __init__(self, state: ClusterState, new: Pattern, moves: int) -> None:
        self._new = new
        self._moves = moves
        self._left = Counter({shape: len(indexes) for shape, indexes in state.shapes.items()})
        self._ways: defaultdict[Pattern, defaultdict[Pattern, list[_Way]]] = defaultdict(lambda: defaultdict(list))
        for shape in state.shapes:
            for lost, taken, more_partial in _changes(shape, moves, new[0] if new else 0):
                self._ways[lost][taken].append(_Way(shape, more_partial))
        self._least: dict[tuple[Pattern, Pattern], int] = {}
        self._steps = MAX_STEPS
        self._found: list[NodeChange] = []

    def run(self, more_partial: int) -> tuple[NodeChange, ...] | None:
        """Return the changes for one choice of the demands that migrate, the first that has any."""
        demands = sorted({gpus for shape in self._left for gpus in shape.demands}, reverse=True)
        for losing in combinations_with_replacement(demands, self._moves):
            taking = tuple(sorted((*losing, *self._new), reverse=True))
            if self._visit(losing, taking, more_partial):
                return tuple(self._found)
        return None

    def _shares(
        self, losing: Pattern, taking: Pattern
    ) -> Iterator[tuple[list[_Way], Pattern, Pattern, Pattern, Pattern]]:
        """Yield every next change: its ways, what it loses and takes, and what is left to lose and to take."""
        for lost, left_to_lose in _parts(losing):
            for taken, ways in self._ways[lost].items():
                if losing or taken[:1] == taking[:1]:
                    left_to_take = _without(taking, taken)
                    if left_to_take is not None:
                        self._steps -= 1
                        if self._steps < 0:
                            raise OutOfStepsError
                        yield ways, lost, taken, left_to_lose, left_to_take

    def _bound(self, losing: Pattern, taking: Pattern) -> int:
        """Return what the rest adds to the partial nodes at least."""
        if not losing and not taking:
            return 0
        known = self._least.get((losing, taking))
        if known is None:
            known = min(
                (
                    min(way.more_partial for way in ways) + self._bound(left_to_lose, left_to_take)
                    for ways, _, _, left_to_lose, left_to_take in self._shares(losing, taking)
                ),
                default=_FAR,
            )
            self._least[losing, taking] = known
        return known

    def _visit(self, losing: Pattern, taking: Pattern, more_partial: int) -> bool:
        """Look for nodes for what is left to lose and to take, within so many more partial nodes."""
        if self._bound(losing, taking) > more_partial:
            return False
        if not losing and not taking:
            return True
        for ways, lost, taken, left_to_lose, left_to_take in self._shares(losing, taking):
            rest = self._bound(left_to_lose, left_to_take)
            for way in ways:
                if way.more_partial + rest > more_partial or not self._left[way.shape]:
                    continue
                self._left[way.shape] -= 1
                self._found.append(_change(way.shape, lost, taken))
                if self._visit(left_to_lose, left_to_take, more_partial - way.more_partial):
                    return True
                self._found.pop()
                self._left[way.shape] += 1
        return False


def _change(shape: NodeShape, lost: Pattern, taken: Pattern) -> NodeChange:
    after = Counter(shape.demands)
    after.subtract(lost)
    after.update(taken)
    return NodeChange(shape.demands, tuple(sorted(after.elements(), reverse=True)))


@lru_cache(maxsize=1 << 14)
def _changes(shape: NodeShape, moves: int, new: int) -> tuple[tuple[Pattern, Pattern, int], ...]:
    """Return all changes of a node: what it loses and takes, and what that adds to the partial nodes.

    It loses at most `moves` instances, and takes as many at most beside new ones of demand `new` (0: there are none).
    """
    found: list[tuple[Pattern, Pattern, int]] = []
    for lost, kept in _parts_up_to(shape.demands, moves):
        free = shape.capacity - sum(kept)
        for moved in _multisets(free, moves, shape.capacity):
            room = free - sum(moved)
            for count in range(room // new + 1 if new else 1):
                taken = tuple(sorted((*moved, *(new,) * count), reverse=True))
                if set(taken) & set(lost) or not (lost or taken):
                    continue
                used = sum(kept) + sum(taken)
                found.append((lost, taken, (0 < used < shape.capacity) - shape.partial))
    return tuple(dict.fromkeys(found))


def _multisets(room: int, most: int, largest: int) -> Iterator[Pattern]:
    """Yield every descending tuple of at most so many demands that fit."""
    yield ()
    if most:
        for gpus in range(min(room, largest), 0, -1):
            for rest in _multisets(room - gpus, most - 1, gpus):
                yield (gpus, *rest)


def _parts_up_to(pattern: Pattern, most: int) -> Iterator[tuple[Pattern, Pattern]]:
    """Yield every part of at most so many, and the rest."""
    for part in {part for size in range(most + 1) for part in _subsets(pattern, size)}:
        rest = _without(pattern, part)
        if rest is not None:
            yield part, rest


def _subsets(pattern: Pattern, size: int) -> Iterator[Pattern]:
    if not size:
        yield ()
        return
    for i, gpus in enumerate(pattern):
        for rest in _subsets(pattern[i + 1 :], size - 1):
            yield (gpus, *rest)


@lru_cache(maxsize=1 << 14)
def _parts(pattern: Pattern) -> tuple[tuple[Pattern, Pattern], ...]:
    """Return every part that has the first demand, and the rest; of nothing, nothing."""
    if not pattern:
        return (((), ()),)
    parts = {(pattern[0], *rest) for size in range(len(pattern)) for rest in _subsets(pattern[1:], size)}
    return tuple((part, rest) for part in sorted(parts) if (rest := _without(pattern, part)) is not None)


@lru_cache(maxsize=1 << 16)
def _without(pattern: Pattern, part: Pattern) -> Pattern | None:
    """Return the rest of a pattern, or None if that is no part of it."""
    rest = list(pattern)
    for gpus in part:
        if gpus not in rest:
            return None
        rest.remove(gpus)
    return tuple(rest)
