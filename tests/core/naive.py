"""Slow mutable models of a cluster, made of dicts and lists; they share no code with compass_core.

`Cluster` knows placements and recomputes loads, slots, the workload composition condition and Φ from them at every
question. `ExplicitPrinted` carries out the printed operators with slots and fillers written down one by one.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Key = tuple[str, int]
"""An instance: its job's name and its number."""

Move = tuple[Key, int, int]
"""An instance that moves, the node it leaves and the one it goes to."""


def width_of(gpus: int, capacity: int) -> int:
    """Return w*(g) for a capacity that is a power of two, by looking for it."""
    return next(w for w in (1, 2, 4, 8, 16) if gpus <= w <= capacity)


@dataclass(frozen=True)
class Facts:
    """What follows from the demands on one node."""

    capacity: int
    used: int
    widths: int
    vacancy: int
    ones: int

    @classmethod
    def of(cls, demands: Iterable[int], capacity: int) -> Facts:
        demands = list(demands)
        anchors = [gpus for gpus in demands if gpus > 1]
        singles = len(demands) - len(anchors)
        asked = sum(width_of(gpus, capacity) - gpus for gpus in anchors)
        widths = sum(width_of(gpus, capacity) for gpus in anchors)
        return cls(capacity, sum(demands), widths, max(0, asked - singles), max(0, singles - asked))

    @property
    def reserved(self) -> int:
        return self.widths + self.ones

    @property
    def open(self) -> bool:
        return 0 < self.reserved < self.capacity

    @property
    def partial(self) -> bool:
        return 0 < self.used < self.capacity

    @property
    def pool(self) -> bool:
        return self.widths == 0 and self.ones > 0

    @property
    def mixed(self) -> bool:
        return self.widths > 0 and self.ones > 0


class OverbookedError(Exception):
    """A move or a placement that its node has no room for at that moment, or that starts where nothing stands."""


@dataclass
class Cluster:
    """Which instance stands where, and nothing else."""

    capacity: int
    online: set[int]
    known: int = 0
    jobs: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    where: dict[Key, int] = field(default_factory=dict[Key, int])

    def __post_init__(self) -> None:
        self.known = max(self.known, max(self.online, default=-1) + 1)

    def gpus_of(self, key: Key) -> int:
        return self.jobs[key[0]][1]

    def demands_on(self, node: int) -> list[int]:
        return sorted((self.gpus_of(key) for key, at in self.where.items() if at == node), reverse=True)

    def facts(self) -> dict[int, Facts]:
        demands: dict[int, list[int]] = {node: [] for node in self.online}
        for key, at in self.where.items():
            demands[at].append(self.gpus_of(key))
        return {node: Facts.of(on_it, self.capacity) for node, on_it in demands.items()}

    @property
    def counts(self) -> tuple[int, ...]:
        demands = Counter(self.gpus_of(key) for key in self.where)
        return tuple(demands[gpus] for gpus in range(1, self.capacity + 1))

    @property
    def used(self) -> int:
        return sum(self.gpus_of(key) for key in self.where)

    @property
    def free(self) -> int:
        return self.capacity * len(self.online) - self.used

    @property
    def wcc(self) -> bool:
        return wcc_holds(self.counts)

    @property
    def partial_nodes(self) -> int:
        return sum(facts.partial for facts in self.facts().values())

    @property
    def has_mixed_node(self) -> bool:
        return any(facts.mixed for facts in self.facts().values())

    def carry_out(self, moves: Iterable[Move]) -> None:
        """Move instances one by one; raise where a node has too little room at that moment."""
        loads = Counter[int]()
        for key, at in self.where.items():
            loads[at] += self.gpus_of(key)
        for key, source, destination in moves:
            gpus = self.gpus_of(key)
            if self.where[key] != source or source == destination or destination not in self.online:
                raise OverbookedError(f"{key} cannot go from {source} to {destination}")
            loads[source] -= gpus
            loads[destination] += gpus
            if loads[destination] > self.capacity:
                raise OverbookedError(f"{key} over-books node {destination}")
            self.where[key] = destination

    def start(self, name: str, instances: int, gpus: int, nodes: Sequence[int]) -> None:
        """Let a job run on these nodes, one an instance."""
        self.jobs[name] = (instances, gpus)
        for index, node in enumerate(nodes):
            if node not in self.online or sum(self.demands_on(node)) + gpus > self.capacity:
                raise OverbookedError(f"instance {index} of {name} over-books node {node}")
            self.where[name, index] = node

    def end(self, name: str) -> None:
        del self.jobs[name]
        self.where = {key: at for key, at in self.where.items() if key[0] != name}

    def lose(self, node: int) -> set[Key]:
        """Take a node off with all it holds."""
        lost = {key for key, at in self.where.items() if at == node}
        self.online.remove(node)
        self.where = {key: at for key, at in self.where.items() if key not in lost}
        return lost

    def needs(self, instances: int = 0, gpus: int = 1) -> tuple[int, int]:
        """Return Σ widths, and ones left when all vacancies that can be filled are; with a further job counted in."""
        counts = list(self.counts)
        counts[gpus - 1] += instances
        facts = Facts.of([g for g, n in enumerate(counts, start=1) for _ in range(n)], self.capacity)
        return facts.widths, facts.ones

    def wcc_with(self, instances: int, gpus: int) -> bool:
        """Whether the workload composition condition holds with a further job counted in."""
        counts = list(self.counts)
        counts[gpus - 1] += instances
        return wcc_holds(counts)

    def fits_anywhere(self, instances: int = 0, gpus: int = 1, *, nodes: int | None = None) -> bool:
        """Whether slots and ones fit the cluster when they may share nodes (EXACT)."""
        return sum(self.needs(instances, gpus)) <= self.capacity * (len(self.online) if nodes is None else nodes)

    def fits_apart(self, instances: int = 0, gpus: int = 1, *, nodes: int | None = None) -> bool:
        """Whether slots and ones fit on nodes of their own (COMPASS)."""
        slots, ones = (-(-need // self.capacity) for need in self.needs(instances, gpus))
        return slots + ones <= (len(self.online) if nodes is None else nodes)

    def broken_laws(self, *, shared: bool, taken_over: bool = False) -> list[str]:
        """Return the names of the laws this placement breaks: EXACT's where slots and ones share nodes, or COMPASS'.

        `taken_over`: mixed nodes were there before COMPASS was, and there may be no room to move what stands on them.
        """
        facts = self.facts().values()
        opened = [f for f in facts if f.open]
        open_pools = sum(f.pool for f in opened)
        mixed = sum(f.mixed for f in facts)
        avoidable = self.partial_nodes - (1 if self.used % self.capacity else 0)
        laws = {
            "no node is over-booked": all(f.used <= self.capacity for f in facts),
            "slots and ones reserve no more than a node has": all(f.reserved <= self.capacity for f in facts),
            "I: no vacancy beside a one": not (any(f.vacancy for f in facts) and any(f.ones for f in facts)),
        }
        if shared:
            laws["at most one open node"] = len(opened) <= 1
            laws["SIF = 0 under WCC"] = not self.wcc or avoidable == 0
            return [name for name, holds in laws.items() if not holds]
        laws["at most one open pool node"] = open_pools <= 1
        home = open_pools > 0 or any(f.used == 0 for f in facts)
        laws["no mixed node while an orphan has a home"] = not (mixed and home)
        if not (taken_over and mixed):
            open_mixed = sum(f.mixed for f in opened)
            laws["at most one open slotted node"] = len(opened) - open_pools - open_mixed <= 1
            laws["at most one mixed node"] = mixed <= 1
            laws["no mixed node while slots and ones fit apart"] = not (mixed and self.fits_apart())
            laws["at most two partial nodes under WCC, SIF <= 2/N"] = not self.wcc or avoidable <= 2
            if self.capacity <= 8:  # on larger ones there may be no room to move a block of 8
                laws["no open node beside a mixed one"] = not mixed or len(opened) == open_mixed
        return [name for name, holds in laws.items() if not holds]


def wcc_holds(counts: Sequence[int]) -> bool:
    """Whether the vacancies of all slots are at most as many as the 1-GPU instances."""
    capacity = len(counts)
    asked = sum((width_of(gpus, capacity) - gpus) * n for gpus, n in enumerate(counts, start=1))
    return asked <= counts[0]


def fewest_partial_nodes(counts: Sequence[int], capacity: int, nodes: int) -> int:
    """Return Φ* on so many nodes, by trying every packing (with what was tried remembered)."""
    bag = tuple(g for g in range(capacity, 0, -1) for _ in range(counts[g - 1]))
    fewest = 1 if sum(bag) % capacity else 0
    while not _packable(bag, capacity, nodes, fewest):
        fewest += 1
        if fewest > nodes:
            raise OverbookedError(f"{bag} do not fit {nodes} nodes")
    return fewest


@cache
def _packable(bag: tuple[int, ...], capacity: int, nodes: int, partial: int) -> bool:
    """Whether the instances fit with at most so many nodes partial: the largest one's node is tried in every way."""
    if not bag:
        return True
    if not nodes or sum(bag) > nodes * capacity:
        return False
    fillings = sorted(set(_fillings(bag[1:], capacity - bag[0])), key=lambda rest: (sum(rest), len(rest)))
    full = sum(bag) - capacity
    return any(
        _packable(rest, capacity, nodes - 1, partial - (sum(rest) > full))
        for rest in fillings
        if partial > 0 or sum(rest) == full
    )


def _fillings(bag: tuple[int, ...], room: int) -> Iterator[tuple[int, ...]]:
    """Yield what is left of the bag after putting some of it into the room."""
    yield bag
    tried: set[int] = set()
    for at, gpus in enumerate(bag):
        if gpus <= room and gpus not in tried:
            tried.add(gpus)
            skipped = bag[:at]
            for rest in _fillings(bag[at + 1 :], room - gpus):
                yield skipped + rest


class UndefinedError(Exception):
    """The print does not say what to do."""


@dataclass
class WrittenSlot:
    """A slot with its fillers written down."""

    width: int
    anchor: Key
    gpus: int
    fillers: list[Key]

    @property
    def vacancy(self) -> int:
        return self.width - self.gpus - len(self.fillers)


@dataclass
class WrittenNode:
    """A node of Σ: slots, or pool instances, or nothing."""

    slots: list[WrittenSlot] = field(default_factory=list[WrittenSlot])
    pool: list[Key] = field(default_factory=list[Key])

    @property
    def vacancy(self) -> int:
        return sum(slot.vacancy for slot in self.slots)

    @property
    def empty(self) -> bool:
        return not self.slots and not self.pool


class ExplicitPrinted:
    """The printed operators on explicit slots (theory §1), with the tie rules documented in `compass_core.printed`.

    `relabel` says what the print leaves to the reader: which slot of a node a filler belongs to. When set, a node's
    fillers are dealt afresh to its slots (largest anchor first) after every step, which moves nothing. When not, a
    filler stays in its slot. The two can differ only where one node has two slots with a vacancy.
    """

    def __init__(
        self, nodes: int, capacity: int, *, refill: bool = True, last_destination: bool = True, relabel: bool = True
    ) -> None:
        self.capacity = capacity
        self.refill = refill
        self.last_destination = last_destination
        self.relabel = relabel
        self.nodes = [WrittenNode() for _ in range(nodes)]
        self.jobs: dict[str, tuple[int, int]] = {}

    @property
    def where(self) -> dict[Key, int]:
        found: dict[Key, int] = {}
        for index, node in enumerate(self.nodes):
            for slot in node.slots:
                found.update(dict.fromkeys([slot.anchor, *slot.fillers], index))
            found.update(dict.fromkeys(node.pool, index))
        return found

    def arrive(self, name: str, instances: int, gpus: int) -> None:
        """Place a gang and compact; on UndefinedError nothing has changed."""
        before = deepcopy(self.nodes)
        try:
            for index in range(instances):
                self._place((name, index), gpus)
            self._compact()
        except UndefinedError:
            self.nodes = before
            raise
        self.jobs[name] = (instances, gpus)

    def depart(self, name: str) -> None:
        """Remove a gang and compact; on UndefinedError nothing has changed."""
        before = deepcopy(self.nodes)
        try:
            for index in range(self.jobs[name][0]):
                self._remove((name, index))
            self._compact()
        except UndefinedError:
            self.nodes = before
            raise
        del self.jobs[name]

    def _place(self, key: Key, gpus: int) -> None:
        if gpus == 1:
            self._house(key, exclude=None)
            return
        width = width_of(gpus, self.capacity)
        rooms = [(self._room(n), i) for i, n in enumerate(self.nodes) if n.slots and self._room(n) >= width]
        host = min(rooms)[1] if rooms else self._first_empty()
        if host is None:
            raise UndefinedError
        slot = WrittenSlot(width, key, gpus, [])
        self.nodes[host].slots.append(slot)
        while slot.vacancy and (filler := self._take_from_pool()):
            slot.fillers.append(filler)
        self._tidy(host)

    def _house(self, key: Key, *, exclude: int | None) -> None:
        """Give a 1-GPU instance a home by the rule: a vacancy, else a partial pool node, else an empty node."""
        others = [(i, n) for i, n in enumerate(self.nodes) if i != exclude]
        vacant = [(i, n) for i, n in others if n.vacancy]
        if vacant:
            index, node = vacant[0]
            next(slot for slot in node.slots if slot.vacancy).fillers.append(key)
            self._tidy(index)
            return
        pools = [n for _, n in others if n.pool and len(n.pool) < self.capacity]
        empty = [n for _, n in others if n.empty]
        if not pools and not empty:
            raise UndefinedError
        home = (pools or empty)[0]
        home.pool.append(key)
        home.pool.sort()

    def _remove(self, key: Key) -> None:
        index = self.where[key]
        node = self.nodes[index]
        if key in node.pool:
            node.pool.remove(key)
            return
        slot = next(s for s in node.slots if key == s.anchor or key in s.fillers)
        if key in slot.fillers:
            slot.fillers.remove(key)
            if self.refill and (filler := self._take_from_pool()):
                slot.fillers.append(filler)
            self._tidy(index)
            return
        node.slots.remove(slot)
        orphans = slot.fillers
        if self.relabel:  # the other slots of the node are dealt their fillers first, and from all that are there
            singles = sorted(orphans + [filler for other in node.slots for filler in other.fillers])
            orphans = self._deal(node.slots, singles)
        if not node.slots:  # what finds no other home stays, and is a pool node
            node.pool = sorted(orphans)
        for orphan in sorted(orphans):
            self._rehome(orphan, index)

    def _rehome(self, orphan: Key, index: int) -> None:
        node = self.nodes[index]
        own = next((slot for slot in node.slots if slot.vacancy), None)
        if own:
            own.fillers.append(orphan)
            return
        elsewhere = [n for i, n in enumerate(self.nodes) if i != index]
        if node.pool and not any(n.vacancy or 0 < len(n.pool) < self.capacity for n in elsewhere):
            return
        if orphan in node.pool:
            node.pool.remove(orphan)
        self._house(orphan, exclude=index)

    def _compact(self) -> None:
        width = self.capacity // 2
        self._pass(1)
        while width > 1:
            self._pass(width)
            width //= 2

    def _pass(self, width: int) -> None:
        limit = self.capacity // width
        queue = [i for i, n in enumerate(self.nodes) if 0 < self._count(n, width) < limit]
        queue.sort(key=lambda i: -(self._room(self.nodes[i]) // width))
        while len(queue) > 1:
            source = self.nodes[queue[0]]
            moved = False
            while self._count(source, width):
                hosts = [i for i in queue[1:] if self._room(self.nodes[i]) >= width]
                if not hosts:
                    break
                least = min(self._room(self.nodes[i]) // width for i in hosts)
                ties = [i for i in hosts if self._room(self.nodes[i]) // width == least]
                self._shift(queue[0], ties[-1 if self.last_destination else 0], width)
                moved = True
            if not moved:
                return
            if not self._count(source, width):
                del queue[0]

    def _shift(self, source: int, destination: int, width: int) -> None:
        if width == 1:
            self.nodes[destination].pool.append(self.nodes[source].pool.pop())
            self.nodes[destination].pool.sort()
            return
        slot = [s for s in self.nodes[source].slots if s.width == width][-1]
        self.nodes[source].slots.remove(slot)
        self.nodes[destination].slots.append(slot)
        self._tidy(source)
        self._tidy(destination)

    def _count(self, node: WrittenNode, width: int) -> int:
        return len(node.pool) if width == 1 else sum(slot.width == width for slot in node.slots)

    def _room(self, node: WrittenNode) -> int:
        return self.capacity - sum(slot.width for slot in node.slots) - len(node.pool)

    def _first_empty(self) -> int | None:
        return next((i for i, n in enumerate(self.nodes) if n.empty), None)

    def _take_from_pool(self) -> Key | None:
        node = next((n for n in self.nodes if n.pool), None)
        return node.pool.pop() if node else None

    def _tidy(self, index: int) -> None:
        """Keep slots in order of their anchors, and deal their fillers afresh where that is asked for."""
        slots = self.nodes[index].slots
        slots.sort(key=lambda s: (-s.gpus, s.anchor))
        if self.relabel:
            self._deal(slots, sorted(filler for slot in slots for filler in slot.fillers))

    @staticmethod
    def _deal(slots: list[WrittenSlot], singles: list[Key]) -> list[Key]:
        left = list(singles)
        for slot in slots:
            take = slot.width - slot.gpus
            slot.fillers, left = left[:take], left[take:]
        return left


def seeded(seed: int) -> Random:
    """Return a generator for runs too long for hypothesis; the seed makes it the same for everybody."""
    return Random(seed)
