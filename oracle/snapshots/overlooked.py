"""Constraints that an input has and its snapshot does not: whose they are, as they stand beside every answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oracle.snapshots.model import Skipped, Snapshot


def overlooked(snapshot: Snapshot, pool: str | None = None) -> tuple[Skipped, ...]:
    """Return the constraints that were not looked at, with their jobs; those of jobs elsewhere left out for a pool."""
    if pool is None or not snapshot.not_looked_at:
        return snapshot.not_looked_at
    pool_of = {node.name: node.pool for node in snapshot.nodes}
    here = {job.name for job in snapshot.jobs if any(pool_of[one.node] == pool for one in job.instances)}
    here |= {job.name for job in snapshot.pending if job.pool in {None, pool}}
    elsewhere = {job.name for job in snapshot.jobs} | {job.name for job in snapshot.pending}
    elsewhere -= here
    kept = ((group, tuple(name for name in group.items if name not in elsewhere)) for group in snapshot.not_looked_at)
    # Of whose a constraint is when it names no job, nobody knows.
    return tuple(replace(group, items=names) for group, names in kept if names or not group.items)


def overlooked_json(groups: Iterable[Skipped]) -> list[dict[str, object]]:
    """Return them as `not_looked_at` of every answer in JSON."""
    return [{"reason": group.reason, "jobs": list(group.items)} for group in groups]
