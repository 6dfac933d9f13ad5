"""What a stored answer says was not looked at: compared with what the snapshot says of its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from oracle.snapshots.overlooked import overlooked, overlooked_json
from oracle.verification.checks import NO_SNAPSHOT, Check, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.model import Snapshot


class ToldOverlooked(msgspec.Struct, frozen=True):
    """Constraints of one sort that were not looked at, and the jobs that have them."""

    reason: str
    jobs: tuple[str, ...]


def check_overlooked(
    told: tuple[ToldOverlooked, ...] | UnsetType, snapshot: Snapshot | None, pool: str | None
) -> Iterator[Check]:
    """Yield whether an answer about a pool (None: all) names what was not looked at, unless there is nothing to name.

    What names nothing, as older files do, says that there was nothing.
    """
    claim = "what was not looked at is named"
    named = msgspec.to_builtins(() if told is UNSET else told)
    if snapshot is None:
        if named:
            yield Check.of(claim, unknown=NO_SNAPSHOT)
        return
    there = overlooked_json(overlooked(snapshot, pool))
    if named or there:
        yield compared(claim, {"not_looked_at": named}, {"not_looked_at": there})
