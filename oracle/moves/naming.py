"""From kinds of nodes to nodes, and from demands to instances: who carries out a plan, quickly. Nothing is solved."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.moves.move import Move
from oracle.optimum.model import NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.moves.replay import Key
    from oracle.optimum.model import Change
    from oracle.snapshots.model import NodeContent, Snapshot

# Nodes looked at when one is chosen among many that are alike.
_MAX_LOOKED_AT = 64


@dataclass(frozen=True, slots=True)
class Named:
    """Who goes where.

    Attributes
    ----------
    moves
        The instances that change their node, without steps.
    places
        By demand the nodes, once for each instance, where instances arrive that had no node.
    """

    moves: tuple[Move, ...]
    places: Mapping[int, list[str]]


def name_changes(
    snapshot: Snapshot,
    contents: Iterable[NodeContent],
    changes: Mapping[Change, int],
    weights: Mapping[str, int] | None = None,
) -> Named:
    """Return moves that carry out a plan of one pool.

    Of nodes and instances that would do, those come first that disturb jobs of the least weight beside those disturbed
    already. That is a rule of thumb: nothing is proved about it.

    Parameters
    ----------
    snapshot, contents
        The cluster, and the nodes of the pool.
    changes
        How many nodes change in which way. Where more instances of a demand arrive than leave, the rest had no node.
    weights
        What it costs to disturb a job; 1 if it is not named.
    """
    names: defaultdict[NodeKind, list[str]] = defaultdict(list)
    for node in contents:
        names[NodeKind.of(node)].append(node.name)
    leavers = _Leavers(snapshot, weights or {})
    leaving: defaultdict[int, list[tuple[Key, str]]] = defaultdict(list)
    places: defaultdict[int, list[str]] = defaultdict(list)
    # Nodes that nothing leaves come last: they leave the choice to the others.
    real = (change for change in changes if change.leaving or change.arriving)
    for change in sorted(real, key=lambda change: (not change.leaving, change)):
        alike = names[change.kind]
        demands = sorted(change.leaving.elements())
        for _ in range(changes[change]):
            name = leavers.lightest(alike[-_MAX_LOOKED_AT:], demands) if demands else alike[-1]
            alike.remove(name)
            for key, gpus in zip(leavers.take(name, demands), demands, strict=True):
                leaving[gpus].append((key, name))
            for gpus in change.arriving.elements():
                places[gpus].append(name)
    moves = tuple(
        Move(0, *key, gpus, source, places[gpus].pop(0))
        for gpus in sorted(leaving, reverse=True)
        for key, source in leaving[gpus]
    )
    return Named(moves, {gpus: left for gpus, left in places.items() if left})


class _Leavers:
    """Which instances leave a node, and what that costs beside what is disturbed already."""

    def __init__(self, snapshot: Snapshot, weights: Mapping[str, int]) -> None:
        self._weights = weights
        self._disturbed: set[str] = set()
        self._residents: defaultdict[tuple[str, int], list[Key]] = defaultdict(list)
        for job in snapshot.jobs:
            for i, instance in enumerate(job.instances):
                if instance.movable:
                    self._residents[instance.node, instance.gpus].append((job.name, i))

    def lightest(self, names: Sequence[str], demands: Sequence[int]) -> str:
        """Return the node that costs least to take such instances from; the last one of several."""
        return min(reversed(names), key=lambda name: self._weigh(self._chosen(name, demands)))

    def take(self, name: str, demands: Sequence[int]) -> list[Key]:
        """Take instances of these demands from a node."""
        chosen = self._chosen(name, demands)
        for key, gpus in zip(chosen, demands, strict=True):
            self._residents[name, gpus].remove(key)
            self._disturbed.add(key[0])
        return chosen

    def _chosen(self, name: str, demands: Sequence[int]) -> list[Key]:
        chosen: list[Key] = []
        for gpus in demands:
            there = (key for key in self._residents[name, gpus] if key not in chosen)
            chosen.append(min(there, key=lambda key: (self._weight(key[0], chosen), key)))
        return chosen

    def _weigh(self, keys: Iterable[Key]) -> int:
        return sum(self._weight(job) for job in {job for job, _ in keys})

    def _weight(self, job: str, chosen: Iterable[Key] = ()) -> int:
        """Return what it costs to disturb this job as well."""
        free = job in self._disturbed or any(job == name for name, _ in chosen)
        return 0 if free else self._weights.get(job, 1)
