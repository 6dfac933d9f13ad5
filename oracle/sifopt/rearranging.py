"""From changes of patterns to nodes and instances, and to an order of moves that over-books no node.

Which instance of a demand goes to which of its destinations is free, and so is where the new ones start: they come last
and stand in nobody's way. So moves into free space are looked for among all ways to match them; where there are none,
or too many moves to try all, instances are stopped first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_core.model import shape_of
from oracle.moves.move import Move
from oracle.moves.rematching import order_interchangeably
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from compass_core.model import Instance
    from compass_core.state import ClusterState
    from oracle.sifopt.few_moves import NodeChange

# Moves up to which every match and order is tried, within so many positions.
MAX_MATCHED_MOVES = 8
MAX_POSITIONS = 20_000

_WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Transfer:
    """An instance that changes its node."""

    instance: Instance
    source: int
    destination: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearrangement:
    """Who goes where.

    Attributes
    ----------
    transfers
        One after the other in this order, none of them over-books a node.
    stopped
        Instances among them that have to be stopped before the first one moves.
    places
        Where the new instances go, in their order.
    """

    transfers: tuple[Transfer, ...]
    stopped: tuple[Instance, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Task:
    """Who leaves which node, which nodes take so many instances of a demand, and what is free on them now."""

    leaving: tuple[tuple[Instance, int], ...]
    arriving: tuple[tuple[int, int], ...]  # demand and node, once for each instance
    free: dict[int, int]


def carry_out(
    state: ClusterState, changed: Mapping[NodeChange, int], new: Sequence[Instance], drained: int | None
) -> Rearrangement:
    """Return who goes where so that patterns change like this.

    Of instances that would do, those of a job that moves already come first.

    Parameters
    ----------
    state
        The cluster. Nodes of one shape take each other's part, lowest index first.
    changed
        How many nodes change from which pattern to which.
    new
        Instances without a node.
    drained
        The node that everything has to leave, if there is one.
    """
    task = _task(state, changed, drained)
    order = _FreeSpaceSearch(task).run() if len(task.leaving) <= MAX_MATCHED_MOVES else None
    stopped: tuple[Instance, ...] = ()
    if order is None:
        order, stopped = _with_stops(task, new)
    left = Counter(task.arriving)
    left.subtract((transfer.instance.gpus, transfer.destination) for transfer in order)
    places = sorted(node for _, node in left.elements())
    return Rearrangement(transfers=order, stopped=stopped, places=tuple(places))


def _task(state: ClusterState, changed: Mapping[NodeChange, int], drained: int | None) -> _Task:
    leaving: list[tuple[Instance, int]] = []
    arriving: list[tuple[int, int]] = []
    disturbed: set[str] = set()
    if drained is not None:
        leaving += ((instance, drained) for instance in state.nodes[drained].instances)
        disturbed.update(instance.job for instance, _ in leaving)
    for index, before, after in _changed_nodes(state, changed, drained):
        here = list(state.nodes[index].instances)
        for gpus in (Counter(before) - Counter(after)).elements():
            chosen = min(
                (instance for instance in here if instance.gpus == gpus),
                key=lambda instance: (instance.job not in disturbed, instance.job, instance.index),
            )
            here.remove(chosen)
            disturbed.add(chosen.job)
            leaving.append((chosen, index))
        arriving += ((gpus, index) for gpus in (Counter(after) - Counter(before)).elements())
    touched = {index for _, index in (*leaving, *arriving)}
    free = {index: 0 if index == drained else state.nodes[index].free for index in touched}
    return _Task(tuple(leaving), tuple(arriving), free)


def _changed_nodes(
    state: ClusterState, changed: Mapping[NodeChange, int], drained: int | None
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    nodes: dict[tuple[int, ...], Iterator[int]] = {}
    for change, count in changed.items():
        if change.before not in nodes:
            alike = state.shapes[shape_of(state.capacity, change.before)]
            nodes[change.before] = (index for index in alike if index != drained)
        for _ in range(count):
            yield next(nodes[change.before]), change.before, change.after


class _FreeSpaceSearch:
    """Looks for an order in which every instance goes to a node that has room for it then.

    Depth first over who has moved and which arrivals are taken: what is free then follows from that.
    """

    def __init__(self, task: _Task) -> None:
        self._free = dict(task.free)
        self._leaving = list(task.leaving)
        self._open = Counter(task.arriving)
        self._failed: set[tuple[frozenset[int], frozenset[tuple[tuple[int, int], int]]]] = set()
        self._order: list[Transfer] = []

    def run(self) -> tuple[Transfer, ...] | None:
        """Return the moves in such an order; None if there is none, or it takes too long to find one."""
        found = self._visit(frozenset(range(len(self._leaving))))
        return tuple(self._order) if found else None

    def _visit(self, left: frozenset[int]) -> bool:
        if not left:
            return True
        position = left, frozenset(self._open.items())
        if position in self._failed or len(self._failed) >= MAX_POSITIONS:
            return False
        for i in sorted(left):
            instance, source = self._leaving[i]
            for key in sorted(self._open):
                gpus, node = key
                if gpus == instance.gpus and node != source and self._free[node] >= gpus:
                    self._make(i, key)
                    if self._visit(left - {i}):
                        return True
                    self._take_back(i, key)
        self._failed.add(position)
        return False

    def _make(self, i: int, key: tuple[int, int]) -> None:
        (instance, source), (gpus, node) = self._leaving[i], key
        self._free[node] -= gpus
        self._free[source] += gpus
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
        self._order.append(Transfer(instance, source, node))

    def _take_back(self, i: int, key: tuple[int, int]) -> None:
        (_, source), (gpus, node) = self._leaving[i], key
        self._free[node] += gpus
        self._free[source] -= gpus
        self._open[key] += 1
        self._order.pop()


def _with_stops(task: _Task, new: Sequence[Instance]) -> tuple[tuple[Transfer, ...], tuple[Instance, ...]]:
    """Return the moves in an order for which few instances are stopped, and which those are.

    The new instances take part as if they stood on a node that nobody wants, so that all destinations are matched.
    """
    open_: defaultdict[int, list[int]] = defaultdict(list)
    for gpus, node in sorted(task.arriving):
        open_[gpus].append(node)
    sources = [*((instance, str(source)) for instance, source in task.leaving), *((one, _WAITING) for one in new)]
    moves = [
        Move(0, str(i), 0, instance.gpus, source, str(open_[instance.gpus].pop()))
        for i, (instance, source) in enumerate(sources)
    ]
    order = order_interchangeably(_touched(task, sources), moves)
    transfers = tuple(
        Transfer(sources[int(move.job)][0], int(move.source), int(move.destination))
        for move in order.moves
        if move.source != _WAITING
    )
    return transfers, tuple(sources[int(stop.job)][0] for stop in order.stops if stop.node != _WAITING)


def _touched(task: _Task, sources: Sequence[tuple[Instance, str]]) -> Snapshot:
    """Return the nodes that change, with what leaves them only: the GPUs of whatever stays are not there at all."""
    gpus = Counter({str(index): free for index, free in task.free.items()})
    for instance, node in sources:
        gpus[node] += instance.gpus
    return Snapshot.build(
        nodes=[SnapshotNode(name=node, gpus=size) for node, size in gpus.items()],
        jobs=[
            RunningJob(name=str(i), instances=(RunningInstance(node=node, gpus=instance.gpus),))
            for i, (instance, node) in enumerate(sources)
        ],
    )
