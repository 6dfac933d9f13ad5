"""From a pool's plan at pattern level to nodes and instances, quickly: nothing is solved."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from oracle.moves import Move
from oracle.node_classes import constrained_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.migration_certificate import MigrationCertificate
    from oracle.node_classes import NodeContent, Pattern
    from oracle.replay import Key
    from oracle.snapshots.model import Snapshot

# Nodes looked at when one is chosen among many that are alike.
_MAX_LOOKED_AT = 64


def named_moves(
    snapshot: Snapshot, contents: Iterable[NodeContent], changed: MigrationCertificate, weights: Mapping[str, int]
) -> tuple[Move, ...]:
    """Return moves, without an order, that carry out a pool's plan at pattern level.

    Of nodes and instances that would do, those come first that disturb jobs of the least weight beside those disturbed
    already. That is a rule of thumb: nothing is proved about it.
    """
    index = {kind: c for c, kind in enumerate(changed.problem.classes)}
    names: defaultdict[tuple[int, Pattern], list[str]] = defaultdict(list)
    for node in contents:
        names[index[constrained_class(node)], node.movable].append(node.name)
    leavers = _Leavers(snapshot, weights)
    leaving: defaultdict[int, list[tuple[Key, str]]] = defaultdict(list)
    arriving: defaultdict[int, list[str]] = defaultdict(list)
    # Nodes that nothing leaves come last: they leave the choice to the others.
    for change in sorted(changed.changes, key=lambda change: not Counter(change.before) - Counter(change.after)):
        alike = names[change.node_class, change.before]
        demands = sorted((Counter(change.before) - Counter(change.after)).elements())
        for _ in range(change.nodes):
            name = leavers.lightest(alike[-_MAX_LOOKED_AT:], demands) if demands else alike[-1]
            alike.remove(name)
            for key, gpus in zip(leavers.take(name, demands), demands, strict=True):
                leaving[gpus].append((key, name))
            for gpus in (Counter(change.after) - Counter(change.before)).elements():
                arriving[gpus].append(name)
    return tuple(
        Move(0, *key, gpus, source, destination)
        for gpus in sorted(leaving, reverse=True)
        for (key, source), destination in zip(leaving[gpus], arriving[gpus], strict=True)
    )


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
