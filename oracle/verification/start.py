"""What a stored result says ran when it was made, and what it calls it: compared whole with the snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from oracle.moves.identity import at_start, start_to_json
from oracle.verification.checks import NO_SNAPSHOT, Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.moves.move import Move, Stop
    from oracle.snapshots.model import Snapshot


def check_start(
    told: object, moves: Sequence[Move], stops: Sequence[Stop], snapshot: Snapshot | None
) -> Iterator[Check]:
    """Yield whether the jobs of the moves were as they are listed, and are called so; nothing of older documents."""
    if told is UNSET:
        return
    claim = "the jobs of the moves are listed as they were"
    if snapshot is None:
        yield Check(claim, None, NO_SNAPSHOT)
        return
    names = {(job.name, i): instance.name for job in snapshot.jobs for i, instance in enumerate(job.instances)}
    called = [((move.job, move.instance), move.name) for move in moves]
    called += [((stop.job, stop.instance), stop.name) for stop in stops]
    if told != start_to_json(at_start(snapshot, moves)):
        yield Check(claim, holds=False, detail="jobs_at_start is not what the snapshot has")
    elif any(name != names.get(key) for key, name in called):
        yield Check(claim, holds=False, detail="a move or a stop does not name its instance as the snapshot does")
    else:
        yield Check(claim)
