"""What a stored result says ran when it was made: compared whole with the snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from oracle.plans.identity import at_start, start_to_json
from oracle.rechecking.checks import NO_SNAPSHOT, Check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oracle.moves import Move
    from oracle.snapshots.model import Snapshot


def check_start(told: object, moves: Iterable[Move], snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield whether the jobs of the moves were as they are listed; nothing if they are not, as in older documents."""
    if told is UNSET:
        return
    claim = "the jobs of the moves are listed as they were"
    if snapshot is None:
        yield Check(claim, None, NO_SNAPSHOT)
        return
    holds = told == start_to_json(at_start(snapshot, moves))
    yield Check(claim, holds, "" if holds else "jobs_at_start is not what the snapshot has")
