"""What stands in the way of a job that cannot start: what is missing, and restrictions without which it could.

A restriction, such as a cordon, is named only if lifting it has been tried and lets the job start.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from oracle.admission.areas import area_in
from oracle.admission.blockers import Blocker, overcommitted, restrictions, shortages, without
from oracle.admission.fit import fit
from oracle.admission.fitting import free_gpus, open_nodes
from oracle.admission.room import make_room
from oracle.moves.move import MoveError
from oracle.moves.naming import Naming, by_kind
from oracle.moves.ordering import NoOrderError, order_moves
from oracle.moves.replay import replay

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from oracle.admission.areas import Area
    from oracle.admission.question import AskedJob
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import Snapshot

# Restrictions that are lifted one by one, different ones only, as each may cost a solver's run; and those that are
# listed if only all of them together help.
MAX_LIFTED = 20


def find_blockers(snapshot: Snapshot, area: Area, fitting: int, deadline: Deadline | None) -> tuple[Blocker, ...]:
    """Return what keeps a job out of an area in which it cannot start, plain shortages first.

    Parameters
    ----------
    snapshot, area
        The cluster, and the area.
    fitting
        Instances that have room as it is.
    deadline
        When to stop trying what lifting a cordon or another restriction would do; None not to try that at all.
    """
    lifted = () if deadline is None else _lifted(snapshot, area, fitting, deadline)
    return (*shortages(area), *lifted, *overcommitted(area))


def _lifted(snapshot: Snapshot, area: Area, fitting: int, deadline: Deadline) -> Iterator[Blocker]:
    """Yield the restrictions without which the job could start: single ones, else all of one kind, else all."""
    kinds = restrictions(area, fitting)
    if free_gpus(area.contents) < area.waiting.least_gpus:
        # Moves make no GPU free: where too few are, only a cordon can be the reason.
        kinds = kinds[:1]
    chosen = set(islice(_in_turn([_different(area, lifts) for lifts in kinds]), MAX_LIFTED))
    single = [
        lift
        for lifts in kinds
        for lift in lifts
        if lift in chosen and can_start(*without(snapshot, area.job, [lift]), area.pools, deadline)
    ]
    if single:
        yield from single
        return
    every = [lift for lifts in kinds for lift in lifts]
    for several in (*kinds, every):
        if len(several) > 1 and can_start(*without(snapshot, area.job, several), area.pools, deadline):
            yield from (replace(lift, alone=False) for lift in several[:MAX_LIFTED])
            return


def can_start(snapshot: Snapshot, job: AskedJob, pools: Sequence[str], deadline: Deadline) -> bool:
    """Whether a job, or something of one that starts one by one, is known to be able to start among these pools."""
    area = area_in(job, snapshot, pools)
    wanted = job.size if job.together else 1
    if fit(area, area.snapshot, deadline).count >= wanted:
        return True
    room = make_room(open_nodes(area.contents), area.waiting, deadline)
    if room.changes is None or area.snapshot.kinds_are_exact(area.pool):
        return room.changes is not None
    moves = Naming(area.snapshot).name(by_kind(area.contents), room.changes).moves
    try:
        order = order_moves(snapshot, moves)
    except (MoveError, NoOrderError):
        return False
    after = replay(snapshot, order.moves, order.stops)
    return fit(area, replace(area.snapshot, jobs=after.jobs), deadline).count >= wanted


def _different(area: Area, lifts: Iterable[Blocker]) -> Iterator[Blocker]:
    """Yield the first of all lifts that make the same node of the same node."""
    contents = {content.name: replace(content, name="") for content in area.contents}
    jobs = {job.name: job for job in area.snapshot.jobs}
    seen: set[Hashable] = set()
    for lift in lifts:
        moves: Hashable = None
        if lift.job is not None:
            job = jobs[lift.job]
            instance = job.instances[lift.instance or 0]
            moves = instance.within, instance.resources, job.name if job.distinct_nodes else None
        key = replace(lift, node=None, job=None, instance=None), contents.get(lift.node or ""), moves
        if key not in seen:
            seen.add(key)
            yield lift


def _in_turn(kinds: Sequence[Iterable[Blocker]]) -> Iterator[Blocker]:
    """Yield the first of each kind, then the second of each, and so on."""
    for turn in zip_longest(*kinds):
        yield from (lift for lift in turn if lift is not None)
