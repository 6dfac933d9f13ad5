"""What is said to stand in the way of a job: shortages are counted again, restrictions looked up and lifted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from oracle.admission.blockers import Blocker, BlockerKind, Waiting, find_blockers
from oracle.verification.checks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.snapshots.model import NodeContent, Snapshot
    from oracle.verification.rooms import PoolRoom

# Steps of trying to lift one restriction: there may be many of them.
_MAX_STEPS = 20_000

_LIFTED = {BlockerKind.CORDON, BlockerKind.IMMOVABLE}


class ToldBlocker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is said to stand in the way."""

    kind: BlockerKind
    gpus: int
    pool: str
    node: str | None = None
    job: str | None = None
    instance: int | None = None
    alone: bool
    text: str

    @property
    def blocker(self) -> Blocker:
        """The same without the words."""
        return Blocker(self.kind, self.gpus, self.pool, self.node, self.job, self.instance, self.alone)


def check_blockers(
    stored: Sequence[ToldBlocker], rooms: Mapping[str, PoolRoom], snapshot: Snapshot, *, all_: bool
) -> Iterator[Check]:
    """Yield whether what stands in the way does.

    Parameters
    ----------
    stored
        The blockers as they are in the file.
    rooms
        The pools the job may be in.
    snapshot
        The cluster, what is protected being immovable.
    all_
        Whether all plain shortages have to be named: they are if the job cannot start.
    """
    if not stored and not all_:
        return
    blockers = [told.blocker for told in stored]
    wrong = [told.text for told in stored if told.text != str(told.blocker)]
    told = Counter(blocker for blocker in blockers if blocker.kind not in _LIFTED)
    counted = Counter(
        blocker
        for pool, room in rooms.items()
        for blocker in find_blockers(snapshot, room.contents, Waiting(room.instances, room.gpus, pool), None)
    )
    claim = "the shortages are those of this cluster"
    holds = not wrong and (told == counted if all_ else told <= counted)
    other = next(iter((told - counted) or (counted - told)), None)
    yield Check(claim, holds, "" if holds else f"{wrong[0] if wrong else other}")
    lifted = [blocker for blocker in blockers if blocker.kind in _LIFTED]
    if lifted:
        yield _restrictions(lifted, rooms, snapshot)


def _restrictions(blockers: Sequence[Blocker], rooms: Mapping[str, PoolRoom], snapshot: Snapshot) -> Check:
    claim = "without these cordons and immovable instances it could start"
    for blocker in blockers:
        if blocker.pool not in rooms or not _exists(blocker, rooms[blocker.pool].contents, snapshot):
            return Check(claim, holds=False, detail=f"there is none such: {blocker}")
    # Lifted together only if all of the kind are needed; where too many are, not all are named.
    for pool, room in rooms.items():
        of_pool = [blocker for blocker in blockers if blocker.pool == pool]
        cases = [[blocker] for blocker in of_pool if blocker.alone]
        together = [blocker for blocker in of_pool if not blocker.alone]
        for case in [*cases, *([together] if together else [])]:
            lifted = _without(case, room.contents)
            open_room = replace(room, contents=lifted, evidence=None, live=False, max_steps=_MAX_STEPS)
            if (never := open_room.never()) is not False:
                surely = never is True and len(case) == 1
                return Check(claim, holds=False if surely else None, detail=f"rests on a search: {case[0]}")
    return Check(claim)


def _exists(blocker: Blocker, contents: Sequence[NodeContent], snapshot: Snapshot) -> bool:
    node = next((content for content in contents if content.name == blocker.node), None)
    if node is None or node.overcommitted:
        return False
    if blocker.kind is BlockerKind.CORDON:
        return not node.schedulable and blocker.gpus == node.capacity - node.used
    instances = [
        instance
        for job in snapshot.jobs
        if job.name == blocker.job
        for i, instance in enumerate(job.instances)
        if i == blocker.instance and not instance.movable
    ]
    return [(one.node, one.gpus) for one in instances] == [(blocker.node, blocker.gpus)]


def _without(blockers: Sequence[Blocker], contents: Sequence[NodeContent]) -> tuple[NodeContent, ...]:
    nodes = {content.name: content for content in contents}
    for blocker in blockers:
        node = nodes[blocker.node or ""]
        if blocker.kind is BlockerKind.CORDON:
            nodes[node.name] = replace(node, schedulable=True)
        else:
            stuck = list(node.immovable)
            stuck.remove(blocker.gpus)
            movable = tuple(sorted((*node.movable, blocker.gpus), reverse=True))
            nodes[node.name] = replace(node, immovable=tuple(stuck), movable=movable)
    return tuple(nodes.values())
