"""What is said to stand in the way of a job: shortages are counted again, restrictions looked up and lifted."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import msgspec

from oracle.admission.areas import area_in
from oracle.admission.blockers import (
    LIFTED,
    Blocker,
    BlockerKind,
    overcommitted,
    restrictions,
    shortages,
    without,
)
from oracle.verification.checks import BY_SEARCH, Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.snapshots.model import Snapshot
    from oracle.verification.rooms import AreaRoom

# Steps of trying to lift one restriction: there may be many of them.
_MAX_STEPS = 20_000


class ToldBlocker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is said to stand in the way."""

    kind: BlockerKind
    gpus: int
    pool: str
    node: str | None = None
    job: str | None = None
    instance: int | None = None
    alone: bool
    sets: tuple[str, ...] = ()
    resource: str | None = None
    amount: int | None = None
    wanted: int | None = None
    text: str

    @property
    def blocker(self) -> Blocker:
        """The same without the words."""
        return Blocker(**{field.name: getattr(self, field.name) for field in fields(Blocker)})


def check_blockers(
    stored: Sequence[ToldBlocker], rooms: Mapping[str, AreaRoom], snapshot: Snapshot, *, all_: bool
) -> Iterator[Check]:
    """Yield whether what stands in the way does.

    Parameters
    ----------
    stored
        The blockers as they are in the file.
    rooms
        The areas the job may be in, by name.
    snapshot
        The cluster, what is protected being immovable.
    all_
        Whether all plain shortages have to be named: they are if the job cannot start.
    """
    if not stored and not all_:
        return
    blockers = [told.blocker for told in stored]
    told = Counter(blocker for blocker in blockers if blocker.kind not in LIFTED)
    counted = Counter(
        blocker for room in rooms.values() for count_ in (shortages, overcommitted) for blocker in count_(room.area)
    )
    wrong = [f"not in these words: {one.text}" for one in stored if one.text != str(one.blocker)]
    wrong += [str(blocker) for blocker in (told - counted) or (counted - told if all_ else ())]
    yield Check.of("the shortages are those of this cluster", next(iter(wrong), ""))
    lifted = [blocker for blocker in blockers if blocker.kind in LIFTED]
    if lifted:
        yield _restrictions(lifted, rooms, snapshot)


def _restrictions(blockers: Sequence[Blocker], rooms: Mapping[str, AreaRoom], snapshot: Snapshot) -> Check:
    claim = "without these restrictions it could start"
    possible = {
        name: {one for of_kind in restrictions(room.area, room.now or 0) for one in of_kind}
        for name, room in rooms.items()
    }
    for blocker in blockers:
        if replace(blocker, alone=True) not in possible.get(blocker.pool, set()):
            return Check.of(claim, f"there is none such: {blocker}")
    # Lifted together only if all of the kind are needed; where too many are, not all are named.
    for pool, room in rooms.items():
        of_pool = [blocker for blocker in blockers if blocker.pool == pool]
        cases = [[blocker] for blocker in of_pool if blocker.alone]
        together = [blocker for blocker in of_pool if not blocker.alone]
        for case in [*cases, *([together] if together else [])]:
            lifted, free = without(snapshot, room.area.job, case)
            area = area_in(free, lifted, room.area.pools)
            never = replace(room, area=area, weights=None, live=False, max_steps=_MAX_STEPS).never()
            if never is not False:
                surely = never is True and len(case) == 1
                return Check(claim, False if surely else None, f"{BY_SEARCH}: {case[0]}")
    return Check(claim)
