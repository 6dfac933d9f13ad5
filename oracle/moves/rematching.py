"""Relocations whose instances of one kind exchange destinations, so that fewer of them wait for one another.

Which of several instances of one kind goes to which of their destinations changes nothing about where GPUs are in
use in the end, nor about how many instances move and of which jobs. It does change what waits for what: a destination
that is free now is best given to an instance whose node others wait for.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, TypeAlias

from oracle.moves.move import Move
from oracle.moves.replay import Occupancy
from oracle.snapshots.kinds import gpus_of, total_gpus
from oracle.snapshots.stocks import Stock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.moves.move import Relocated
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import Snapshot

_Alike: TypeAlias = "tuple[str, Kind]"
"""What is interchangeable: instances of one kind in one pool."""

# Instances looked at when the one is chosen that goes next: more would make the choice slow in large plans, and hardly
# better.
_MAX_LOOKED_AT = 64


def rematched(snapshot: Snapshot, relocations: Sequence[Relocated]) -> tuple[Move, ...]:
    """Return relocations of the same instances to the same destinations, matched so that few have to wait.

    Destinations with room for all that is to come are served first, by instances whose nodes lack room; where there is
    no such destination an instance is set aside, as if it were stopped. One that would return to its node stays there.
    """
    return _Matching(snapshot, relocations).run()


class _Matching:
    def __init__(self, snapshot: Snapshot, relocations: Sequence[Relocated]) -> None:
        occupancy = Occupancy(snapshot)
        self._free = {node: occupancy.free[Stock(node)] for node in occupancy.stocks.pools}
        self._pools = occupancy.stocks.pools
        self._leaving: defaultdict[_Alike, list[Relocated]] = defaultdict(list)
        self._arriving: defaultdict[str, list[Kind]] = defaultdict(list)
        self._aside: defaultdict[_Alike, list[Relocated]] = defaultdict(list)
        self._kinds = snapshot.kinds
        for item in sorted(relocations, key=lambda item: (item.job, item.instance)):
            kind = self._kinds[item.job, item.instance]
            self._leaving[self._pools[item.source], kind].append(item)
            self._arriving[item.destination].append(kind)
        self._found: list[Move] = []

    def run(self) -> tuple[Move, ...]:
        # First come, first served: chains of moves that wait for one another then grow side by side.
        pending = deque(self._arriving)
        while pending or self._set_one_aside(pending):
            node = pending.popleft()
            if self._lack(node) <= 0:
                for kind in self._arriving.pop(node, ()):
                    pending += self._serve(node, kind)
        return tuple(self._found)

    def _lack(self, node: str) -> int:
        """GPUs that are missing on a node for all that is to arrive there."""
        return total_gpus(self._arriving.get(node, ())) - self._free[node]

    def _serve(self, node: str, kind: Kind) -> list[str]:
        """Send an instance to a node, and return the node that has more room now if there is one."""
        alike, gpus = (self._pools[node], kind), gpus_of(kind)
        self._free[node] -= gpus
        waiting = self._leaving[alike][:_MAX_LOOKED_AT]
        if not waiting:
            self._send(self._aside[alike].pop(), node)
            return []
        item = min(waiting, key=lambda item: self._urgency(item.source, gpus))
        self._leaving[alike].remove(item)
        self._free[item.source] += gpus
        self._send(item, node)
        return [item.source]

    def _send(self, item: Relocated, node: str) -> None:
        if item.source != node:
            self._found.append(Move(0, item.job, item.instance, item.gpus, item.source, node))

    def _urgency(self, node: str, gpus: int) -> tuple[bool, int]:
        """Return what is least for the node that is helped most by losing so many GPUs."""
        lack = self._lack(node)
        return lack <= 0, max(0, lack - gpus)

    def _set_one_aside(self, pending: deque[str]) -> bool:
        """Take an instance from where others wait, and its node into account; false if none is left."""
        waiting = [item for items in self._leaving.values() for item in items[:_MAX_LOOKED_AT]]
        if not waiting:
            return False
        item = min(waiting, key=lambda item: self._urgency(item.source, item.gpus))
        kind = self._kinds[item.job, item.instance]
        alike = self._pools[item.source], kind
        self._leaving[alike].remove(item)
        self._aside[alike].append(item)
        self._free[item.source] += item.gpus
        pending += [item.source, *(node for node, kinds in self._arriving.items() if kind in kinds)]
        return True
