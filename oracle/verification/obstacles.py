"""What is said to stand in the way of a job: shortages are counted again, restrictions looked up and lifted."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import msgspec

from oracle.admission.blockers import Blocker, BlockerKind, overcommitted, shortages
from oracle.verification.checks import BY_SEARCH, Check

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
        return Blocker(**{field.name: getattr(self, field.name) for field in fields(Blocker)})


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
    told = Counter(blocker for blocker in blockers if blocker.kind not in _LIFTED)
    counted = Counter(
        blocker
        for room in rooms.values()
        for count_ in (shortages, overcommitted)
        for blocker in count_(room.contents, room.waiting)
    )
    wrong = [f"not in these words: {one.text}" for one in stored if one.text != str(one.blocker)]
    wrong += [str(blocker) for blocker in (told - counted) or (counted - told if all_ else ())]
    yield Check.of("the shortages are those of this cluster", next(iter(wrong), ""))
    lifted = [blocker for blocker in blockers if blocker.kind in _LIFTED]
    if lifted:
        yield _restrictions(lifted, rooms, snapshot)


def _restrictions(blockers: Sequence[Blocker], rooms: Mapping[str, PoolRoom], snapshot: Snapshot) -> Check:
    claim = "without these cordons and immovable instances it could start"
    for blocker in blockers:
        if blocker.pool not in rooms or not _exists(blocker, rooms[blocker.pool].contents, snapshot):
            return Check.of(claim, f"there is none such: {blocker}")
    # Lifted together only if all of the kind are needed; where too many are, not all are named.
    for pool, room in rooms.items():
        of_pool = [blocker for blocker in blockers if blocker.pool == pool]
        cases = [[blocker] for blocker in of_pool if blocker.alone]
        together = [blocker for blocker in of_pool if not blocker.alone]
        for case in [*cases, *([together] if together else [])]:
            lifted = _without(case, room.contents)
            never = replace(room, contents=lifted, weights=None, live=False, max_steps=_MAX_STEPS).never()
            if never is not False:
                surely = never is True and len(case) == 1
                return Check(claim, False if surely else None, f"{BY_SEARCH}: {case[0]}")
    return Check(claim)


def _exists(blocker: Blocker, contents: Sequence[NodeContent], snapshot: Snapshot) -> bool:
    node = next((content for content in contents if content.name == blocker.node), None)
    if node is None or node.overcommitted:
        return False
    if blocker.kind is BlockerKind.CORDON:
        return not node.schedulable and blocker.gpus == node.capacity - node.used
    named = blocker.job, blocker.instance, blocker.node, blocker.gpus
    return any(
        not one.movable and (job.name, i, one.node, one.gpus) == named
        for job in snapshot.jobs
        for i, one in enumerate(job.instances)
    )


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
