"""From kinds of nodes to nodes, and from demands to instances: who carries out a plan, quickly. Nothing is solved."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.moves.move import Move
from oracle.optimum.model import NodeKind
from oracle.snapshots.kinds import gpus_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.optimum.model import Change
    from oracle.snapshots.model import NodeContent, Snapshot
    from oracle.snapshots.stocks import Key

# Nodes looked at when one is chosen among many that are alike.
_MAX_LOOKED_AT = 64


@dataclass(frozen=True, slots=True)
class Named:
    """Who goes where.

    Attributes
    ----------
    moves
        The instances that change their node, without steps, sorted.
    places
        By demand the nodes, once for each instance, where instances arrive that had no node.
    """

    moves: tuple[Move, ...]
    places: Mapping[int, list[str]]


class Naming:
    """Which nodes and instances carry out plans, of one pool after the other.

    Of those that would do, those come first that disturb jobs of the least weight beside those disturbed already, then
    those of the lowest priority. That is a rule of thumb: nothing is proved about it.

    Parameters
    ----------
    snapshot
        The cluster.
    weights
        What it costs to disturb a job; 1 if it is not named.
    disturbed
        Jobs that are disturbed anyway.
    """

    def __init__(
        self, snapshot: Snapshot, weights: Mapping[str, int] | None = None, disturbed: Iterable[str] = ()
    ) -> None:
        self._weights = weights or {}
        self._disturbed = set(disturbed)
        self._ranks = snapshot.priority_ranks
        self._residents: defaultdict[tuple[str, int], list[Key]] = defaultdict(list)
        for job in snapshot.jobs:
            for i, instance in enumerate(job.instances):
                if instance.movable:
                    self._residents[instance.node, snapshot.kinds[job.name, i]].append((job.name, i))

    def name(self, nodes: Mapping[NodeKind, Iterable[str]], changes: Mapping[Change, int]) -> Named:
        """Return moves that carry out a plan of one pool.

        Parameters
        ----------
        nodes
            The names of the nodes of each kind.
        changes
            How many nodes change in which way. Where more instances of a demand arrive than leave, the rest had no
            node.
        """
        left = {kind: list(names) for kind, names in nodes.items()}
        leaving: defaultdict[int, list[tuple[Key, str]]] = defaultdict(list)
        places: defaultdict[int, list[str]] = defaultdict(list)
        # Nodes that nothing leaves come last: they leave the choice to the others.
        real = (change for change in changes if change.leaving or change.arriving)
        for change in sorted(real, key=lambda change: (not change.leaving, change)):
            alike = left[change.kind]
            demands = sorted(change.leaving.elements())
            for _ in range(changes[change]):
                name = self._lightest(alike[-_MAX_LOOKED_AT:], demands) if demands else alike[-1]
                alike.remove(name)
                for key, gpus in zip(self._take(name, demands), demands, strict=True):
                    leaving[gpus].append((key, name))
                for gpus in change.arriving.elements():
                    places[gpus].append(name)
        moves = (
            Move(0, *key, gpus_of(gpus), source, places[gpus].pop(0))
            for gpus in sorted(leaving, reverse=True)
            for key, source in leaving[gpus]
        )
        return Named(tuple(sorted(moves)), {gpus: names for gpus, names in places.items() if names})

    def _lightest(self, names: Sequence[str], demands: Sequence[int]) -> str:
        """Return the node that costs least to take such instances from; the last one of several."""
        return min(reversed(names), key=lambda name: self._weigh(self._chosen(name, demands)))

    def _take(self, name: str, demands: Sequence[int]) -> list[Key]:
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
            chosen.append(
                min(
                    there,
                    key=lambda key: (
                        self._weight(key[0], chosen),
                        key[0] not in self._disturbed,
                        self._ranks[key[0]],
                        key,
                    ),
                )
            )
        return chosen

    def _weigh(self, keys: Iterable[Key]) -> tuple[int, int]:
        """Return what it costs to disturb the jobs of these, and how high their priorities are."""
        jobs = {job for job, _ in keys} - self._disturbed
        return sum(self._weights.get(job, 1) for job in jobs), sum(self._ranks[job] for job in jobs)

    def _weight(self, job: str, chosen: Iterable[Key] = ()) -> int:
        """Return what it costs to disturb this job as well."""
        free = job in self._disturbed or any(job == name for name, _ in chosen)
        return 0 if free else self._weights.get(job, 1)


def by_kind(contents: Iterable[NodeContent]) -> dict[NodeKind, list[str]]:
    """Return the names of the nodes of each kind."""
    names: defaultdict[NodeKind, list[str]] = defaultdict(list)
    for node in contents:
        names[NodeKind.of(node)].append(node.name)
    return names
