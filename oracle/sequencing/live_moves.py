"""Live sequences as moves of real instances: a path of the search carried out, or an order of relocations mended.

Where a plan has to stop instances and only live moves are allowed, a stopped instance can wait on a node with room
to spare instead: it is parked, which takes one move more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.moves import Move
from oracle.replay import by_steps
from oracle.sequencing.live_search import Holding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.moves import MoveOrder
    from oracle.node_classes import NodeContent
    from oracle.replay import Key, Occupancy
    from oracle.sequencing.live_search import Hop
    from oracle.snapshots.model import Snapshot


class NamedNodes:
    """Which instances stand on which node of some pools, while a path of holdings is carried out."""

    def __init__(self, snapshot: Snapshot, pool: str) -> None:
        self._nodes = {node.name: node for node in snapshot.nodes if node.pool == pool}
        used = snapshot.used_gpus()
        self._open = {name for name, node in self._nodes.items() if node.schedulable and used[name] <= node.gpus}
        self._held: Counter[str] = Counter()
        self._movable: dict[str, list[tuple[int, Key]]] = {name: [] for name in self._nodes}
        for job in snapshot.jobs:
            for i, instance in enumerate(job.instances):
                if instance.node not in self._nodes:
                    continue
                if instance.movable:
                    self._movable[instance.node].append((instance.gpus, (job.name, i)))
                else:
                    self._held[instance.node] += instance.gpus
        self._with: defaultdict[Holding, set[str]] = defaultdict(set)
        for name in self._nodes:
            self._with[self.holding(name)].add(name)
        self._disturbed: set[str] = set()
        self._moved: set[Key] = set()

    def holding(self, name: str) -> Holding:
        """Return what the node holds now."""
        movable = tuple(sorted((gpus for gpus, _ in self._movable[name]), reverse=True))
        return Holding(self._nodes[name].gpus, self._held[name], name in self._open, movable)

    def carry_out(self, hops: Iterable[Hop]) -> tuple[Move, ...]:
        """Return the hops as moves without steps; of instances that would do, one of a job disturbed already moves."""
        return tuple(map(self._carry_out, hops))

    def _carry_out(self, hop: Hop) -> Move:
        source, key = min(
            ((name, key) for name in self._with[hop.source] for gpus, key in self._movable[name] if gpus == hop.demand),
            key=lambda found: (found[1] not in self._moved, found[1][0] not in self._disturbed, found[1]),
        )
        target = min(name for name in self._with[hop.target] if name != source)
        for name in (source, target):
            self._with[self.holding(name)].discard(name)
        self._movable[source].remove((hop.demand, key))
        self._movable[target].append((hop.demand, key))
        for name in (source, target):
            self._with[self.holding(name)].add(name)
        self._disturbed.add(key[0])
        self._moved.add(key)
        return Move(0, *key, hop.demand, source, target)


def park_instead_of_stopping(order: MoveOrder, occupancy: Occupancy) -> tuple[Move, ...] | None:
    """Return the order as a live sequence without steps, every stop replaced by a move to a node with room to spare.

    None if at some moment no node has room to spare, beside all that is still to arrive there. That does not mean
    that no live sequence exists.
    """
    free = Counter(occupancy.free)
    arriving = Counter[str]()
    for move in order.moves:
        arriving[move.destination] += move.gpus
    parked: dict[Key, str] = {}
    sequence: list[Move] = []
    for moves, stops in by_steps(order.moves, order.stops):
        for stop in stops:
            room = {
                node: free[node] - arriving[node] - stop.gpus
                for node, pool in occupancy.pools.items()
                if pool == occupancy.pools[stop.node] and node != stop.node and occupancy.is_open(node)
            }
            # The tightest node that will do leaves the others for larger instances.
            node = min((node for node in room if room[node] >= 0), key=lambda node: (room[node], node), default=None)
            if node is None:
                return None
            sequence.append(Move(0, stop.job, stop.instance, stop.gpus, stop.node, node))
            parked[stop.job, stop.instance] = node
            free[stop.node] += stop.gpus
            free[node] -= stop.gpus
        for move in moves:
            sequence.append(replace(move, step=0, source=parked.get((move.job, move.instance), move.source)))
            free[move.destination] -= move.gpus
            free[sequence[-1].source] += move.gpus
            arriving[move.destination] -= move.gpus
    return tuple(move for move in sequence if move.source != move.destination)


def without_stops(order: MoveOrder, occupancy: Occupancy) -> tuple[Move, ...]:
    """Return what is left of an order, as a live sequence without steps, if what must be stopped stays where it is."""
    free = Counter(occupancy.free)
    staying = {(stop.job, stop.instance) for stop in order.stops}
    made: list[Move] = []
    for move in order.moves:
        if (move.job, move.instance) not in staying and move.gpus <= free[move.destination]:
            free[move.destination] -= move.gpus
            free[move.source] += move.gpus
            made.append(replace(move, step=0))
    return tuple(made)


def partial_counts(sequence: Sequence[Move], contents: Sequence[NodeContent]) -> list[int]:
    """Return how many of these nodes are partial at the start and after each of the moves."""
    capacity = {content.name: content.capacity for content in contents}
    used = {content.name: content.used for content in contents}
    counts = [sum(0 < used[name] < gpus for name, gpus in capacity.items())]
    for move in sequence:
        ends = (move.source, move.destination)
        before = sum(0 < used[name] < capacity[name] for name in ends)
        used[move.source] -= move.gpus
        used[move.destination] += move.gpus
        counts.append(counts[-1] - before + sum(0 < used[name] < capacity[name] for name in ends))
    return counts
