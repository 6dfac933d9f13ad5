"""Node sets as readers make them: one for each constraint that the input has, however many instances share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.snapshots.model import NodeSet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable

_NAMED_IN_FULL = 3


class NodeSets:
    """Collects node sets. Their names are unique; those that are given keep theirs."""

    def __init__(self, given: Iterable[NodeSet] = ()) -> None:
        self._sets = [*given]
        self._times = dict.fromkeys((node_set.name for node_set in self._sets), 1)
        self._names: dict[tuple[str, Hashable], str] = {}

    def name_of(self, kind: str, constraint: Hashable, words: str, nodes: Callable[[], Iterable[str]]) -> str:
        """Return the name of the set of a constraint.

        Parameters
        ----------
        kind
            The sort of the constraint.
        constraint
            What tells it from others of its sort; for one that was met before, the same name is returned.
        words
            What to call it; a number is put behind if something else is called so.
        nodes
            Returns the nodes that it allows; asked once.
        """
        found = self._names.get((kind, constraint))
        if found is None:
            found = self._names[kind, constraint] = self._unused(words)
            self._sets.append(NodeSet(name=found, kind=kind, nodes=frozenset(nodes())))
        return found

    def all(self) -> tuple[NodeSet, ...]:
        """Return all sets, in the order in which they came."""
        return tuple(self._sets)

    def _unused(self, words: str) -> str:
        name = words
        while name in self._times:
            self._times[words] = self._times.get(words, 1) + 1
            name = f"{words} ({self._times[words]})"
        self._times[name] = 1
        return name


def words_for(nodes: Collection[str]) -> str:
    """Return words for nodes that are listed by name: the first few names."""
    first = sorted(nodes)[:_NAMED_IN_FULL]
    more = len(nodes) - len(first)
    return f"nodes {', '.join(first)}" + (f" and {more} more" if more else "") if nodes else "no nodes"
