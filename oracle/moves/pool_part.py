"""One pool of a snapshot as a snapshot of its own, and the way back for the moves made in it.

Instances are numbered by their position in their job, so those of a job that runs in several pools have other numbers
in the part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracle.snapshots.model import check_pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.moves.move import Move, Stop
    from oracle.snapshots.model import RunningJob, Snapshot
    from oracle.snapshots.stocks import Key


@dataclass(frozen=True, slots=True)
class Part:
    """The snapshot of one pool, and the numbers its instances have in the whole one, where they differ."""

    snapshot: Snapshot
    numbers: Mapping[Key, int]

    def moves(self, moves: Iterable[Move]) -> tuple[Move, ...]:
        """Return moves of the part as moves of the whole, sorted."""
        found = (replace(move, instance=self._number(move.job, move.instance)) for move in moves)
        return tuple(sorted(found))

    def stops(self, stops: Iterable[Stop]) -> tuple[Stop, ...]:
        """Return stops of the part as stops of the whole, sorted."""
        found = (replace(stop, instance=self._number(stop.job, stop.instance)) for stop in stops)
        return tuple(sorted(found))

    def _number(self, job: str, instance: int) -> int:
        return self.numbers.get((job, instance), instance)


def part_of(snapshot: Snapshot, pool: str | None) -> Part:
    """Return the part of a snapshot that is in this pool; the whole one for None.

    Raises
    ------
    UnknownPoolError
        No node is in the pool.
    """
    if pool is None:
        return Part(snapshot, {})
    check_pool(pool, snapshot)
    names = {node.name for node in snapshot.nodes if node.pool == pool}
    numbers: dict[Key, int] = {}
    jobs: list[RunningJob] = []
    for job in snapshot.jobs:
        inside = [(i, instance) for i, instance in enumerate(job.instances) if instance.node in names]
        if not inside:
            continue
        numbers |= {(job.name, k): i for k, (i, _) in enumerate(inside) if i != k}
        jobs.append(replace(job, instances=tuple(instance for _, instance in inside)))
    nodes = tuple(node for node in snapshot.nodes if node.name in names)
    pending = tuple(job for job in snapshot.pending if job.pool in {None, pool})
    return Part(replace(snapshot, nodes=nodes, jobs=tuple(jobs), pending=pending), numbers)
