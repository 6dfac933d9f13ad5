"""Arrangements of a pool with few partial nodes, found among named instances: legal, whatever kinds leave out.

First partial nodes are emptied, one after the other, into others that are partial. Then a few nodes at a time are
arranged anew by a small program: some that are partial, and some that are not. Every accepted change lowers the number
of partial nodes. Nothing is proved about what is not found.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.moves.move import Move
from oracle.moves.named_program import NamedProgram
from oracle.snapshots.stocks import Stock

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import Snapshot
    from oracle.snapshots.stocks import Key

# Instances that are asked to make room for another, at most.
_TRIED = 200

# Partial nodes that are arranged anew at a time, and half as many others: a small program takes milliseconds, and most
# of what large ones find is found by many small ones. Where so many in a row find nothing, one node more is taken.
_NODES = range(4, 9)
_FAILURES = 40

# Nodes of the search tree of such a program: ten times as many find hardly more.
_TREE = 20


@dataclass(frozen=True, slots=True)
class Stage:
    """A legal arrangement of a pool.

    Attributes
    ----------
    partial_nodes
        Its partial nodes.
    relocations
        The instances that are on another node than in the snapshot, sorted, without steps.
    """

    partial_nodes: int
    relocations: tuple[Move, ...]


class Consolidation:
    """A search that starts from where the instances of a snapshot are.

    Parameters
    ----------
    snapshot
        The cluster.
    start
        Nodes where instances are put first, as far as they may go there.
    """

    def __init__(self, snapshot: Snapshot, start: Mapping[Key, str] | None = None) -> None:
        self._stocks = snapshot.stocks
        self._free = self._stocks.free()
        self._where = {key: instance.node for key, instance in self._stocks.instances.items()}
        self._capacity = {node.name: node.gpus for node in snapshot.nodes}
        self._movable: dict[str, dict[Key, None]] = {name: {} for name in self._capacity}
        for key, instance in self._stocks.instances.items():
            if instance.movable:
                self._movable[instance.node][key] = None
        # The partial nodes of each pool, and those of them that take instances, by their free GPUs.
        self._partial: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._open: defaultdict[tuple[str, int], dict[str, None]] = defaultdict(dict)
        for name in self._capacity:
            self._enter(name)
        self._present = {pool: len(nodes) for pool, nodes in self._partial.items()}
        self._log: defaultdict[str, list[tuple[int, dict[Key, str]]]] = defaultdict(list)
        self._put(start or {})

    def _put(self, wanted: Mapping[Key, str]) -> None:
        """Put instances on nodes, as far as one after the other may go there."""
        pools, instances = self._stocks.pools, self._stocks.instances
        left = {key: node for key, node in wanted.items() if node in pools and key in instances}
        moved: defaultdict[str, dict[Key, str]] = defaultdict(dict)
        while True:
            gone = 0
            for key, node in list(left.items()):
                same_pool = pools[node] == pools[self._where[key]] and instances[key].movable
                if same_pool and node != self._where[key] and self._may_go(key, node):
                    self._move(key, node)
                    moved[pools[node]][key] = left.pop(key)
                    gone += 1
            if not gone:
                break
        for pool, own in moved.items():
            self._log[pool].append((len(self._partial[pool]), own))

    def empty_nodes(self, pool: str, deadline: Deadline) -> None:
        """Empty partial nodes of a pool, those first that hold least, until no other can be."""
        before = -1
        while before != len(self._partial[pool]):
            before = len(self._partial[pool])
            loads = {node: self._capacity[node] - self._free[Stock(node)] for node in self._partial[pool]}
            for node in sorted(loads, key=lambda node: (loads[node], len(self._movable[node]), node)):
                if not deadline.is_open():
                    return
                movable = list(self._movable[node])
                gpus = sum(self._stocks.instances[key].gpus for key in movable)
                if node in self._partial[pool] and gpus == self._capacity[node] - self._free[Stock(node)]:
                    self._empty(pool, movable)

    def arrange_anew(self, pool: str, deadline: Deadline, *, at_least: int = 0) -> None:
        """Arrange a few nodes of a pool at a time with fewer partial ones, until no fewer are found.

        Without a deadline it ends by itself, and the same snapshot gives the same result.

        Parameters
        ----------
        pool
            The pool.
        deadline
            When to stop.
        at_least
            Partial nodes of every arrangement, as far as is known: no fewer are looked for.
        """
        rng = random.Random(0)  # noqa: S311 - which nodes are tried is no secret, but has to be the same each time
        others = [
            node
            for node, own in self._stocks.pools.items()
            if own == pool and self._movable[node] and self._stocks.is_open(node)
        ]
        tried: set[frozenset[str]] = set()
        for size in _NODES:
            failures = 0
            while failures < _FAILURES:
                partial = list(self._partial[pool])
                if len(partial) <= at_least or not deadline.is_open():
                    return
                chosen = rng.sample(partial, min(size, len(partial)))
                chosen += rng.sample(others, min(size + size // 2 - len(chosen), len(others)))
                failures += 1
                nodes = frozenset(chosen)
                if nodes not in tried and self._arrange(pool, sorted(nodes), deadline):
                    failures = 0
                    tried.clear()
                tried.add(nodes)

    def best(self, pool: str) -> Stage:
        """Return the best arrangement found."""
        # What was put somewhere first may have been worse than the present.
        found = self._stage(pool, len(self._log[pool]))
        return min(found, self._stage(pool, 0), key=lambda stage: stage.partial_nodes)

    def stages(self, pool: str) -> list[Stage]:
        """Return what was found on the way, best last: after 1, 2, 4, ... changes, and after each sixteenth of them."""
        changes = len(self._log[pool])
        shown = {1 << k for k in range(changes.bit_length())} | {changes * k // 16 for k in range(17)}
        return [self._stage(pool, number) for number in sorted(shown) if number <= changes]

    def _stage(self, pool: str, changes: int) -> Stage:
        """Return the arrangement after so many changes."""
        log = self._log[pool][:changes]
        partial_nodes = log[-1][0] if log else self._present.get(pool, 0)
        return Stage(partial_nodes, self._relocations({key: node for _, moved in log for key, node in moved.items()}))

    def _relocations(self, where: Mapping[Key, str]) -> tuple[Move, ...]:
        instances = self._stocks.instances
        return tuple(
            Move(0, *key, instances[key].gpus, instances[key].node, node)
            for key, node in sorted(where.items())
            if node != instances[key].node
        )

    def _empty(self, pool: str, movable: list[Key]) -> None:
        """Empty the node of these instances if all of them have a place on others that are partial."""
        gone: list[tuple[Key, str]] = []
        for key in sorted(movable, key=lambda key: -self._stocks.instances[key].gpus):
            moved = self._way(pool, key)
            for one, place in moved:
                gone.append((one, self._where[one]))
                self._move(one, place)
            if not moved:
                for one, source in reversed(gone):
                    self._move(one, source)
                return
        self._log[pool].append((len(self._partial[pool]), {key: self._where[key] for key, _ in gone}))

    def _way(self, pool: str, key: Key) -> list[tuple[Key, str]]:
        """Return the move of an instance to a partial node, or two, as another one makes room; else none."""
        source, gpus = self._where[key], self._stocks.instances[key].gpus
        place = self._place(pool, key, {source})
        if place is not None:
            return [(key, place)]
        tried = 0
        for free in range(gpus - 1, 0, -1):
            for node in self._open.get((pool, free), ()):
                if node == source or self._stocks.why_shut(key, node):
                    continue
                for other in self._movable[node]:
                    if not gpus - free <= self._stocks.instances[other].gpus < gpus:
                        continue
                    tried += 1
                    if tried > _TRIED:
                        return []
                    place = self._place(pool, other, {source, node})
                    if place is not None and self._fits_without(key, node, other):
                        return [(other, place), (key, node)]
        return []

    def _place(self, pool: str, key: Key, spared: Collection[str]) -> str | None:
        """Return the partial node with the fewest free GPUs where an instance may go."""
        for free in range(self._stocks.instances[key].gpus, max(self._capacity.values())):
            for node in self._open.get((pool, free), ()):
                if node not in spared and self._may_go(key, node):
                    return node
        return None

    def _fits_without(self, key: Key, node: str, other: Key) -> bool:
        left = dict(self._stocks.taken(other, node))
        return all(n <= self._free[stock] + left.get(stock, 0) for stock, n in self._stocks.taken(key, node))

    def _may_go(self, key: Key, node: str) -> bool:
        return not self._stocks.why_shut(key, node) and self._free.fits(self._stocks.taken(key, node))

    def _arrange(self, pool: str, nodes: list[str], deadline: Deadline) -> bool:
        """Arrange these nodes anew with fewer partial ones; false if that is not found."""
        movable = {node: list(self._movable[node]) for node in nodes}
        program = NamedProgram(self._stocks, self._free, self._capacity, movable)
        partial = sum(node in self._partial[pool] for node in nodes)
        found = program.fewest_away(partial - 1, deadline, _TREE)
        if found is None:
            return False
        self._note(pool, {key: node for key, node in found.items() if node != self._where[key]})
        return True

    def _note(self, pool: str, moved: dict[Key, str]) -> None:
        for key, node in moved.items():
            self._move(key, node)
        self._log[pool].append((len(self._partial[pool]), moved))

    def _move(self, key: Key, node: str) -> None:
        """Put an instance on a node; several that exchange places may be too many on one for a moment."""
        source = self._where[key]
        for name in (source, node):
            self._leave(name)
        self._free.give(self._stocks.taken(key, source))
        self._free.take(self._stocks.taken(key, node))
        del self._movable[source][key]
        self._movable[node][key] = None
        self._where[key] = node
        for name in (source, node):
            self._enter(name)

    def _leave(self, node: str) -> None:
        pool = self._stocks.pools[node]
        self._partial[pool].pop(node, None)
        self._open[pool, self._free[Stock(node)]].pop(node, None)

    def _enter(self, node: str) -> None:
        pool, free = self._stocks.pools[node], self._free[Stock(node)]
        if 0 < free < self._capacity[node]:
            self._partial[pool][node] = None
            if self._stocks.is_open(node):
                self._open[pool, free][node] = None
