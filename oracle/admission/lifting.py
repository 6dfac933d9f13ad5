"""What stands in the way of a job that cannot start: what is missing, cordons, instances that cannot move.

A cordon or an immovable instance is named only if lifting it has been tried and lets the job start.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from oracle.admission.blockers import Blocker, BlockerKind, overcommitted, shortages
from oracle.admission.fitting import count_fitting, free_gpus, open_nodes
from oracle.admission.room import make_room
from oracle.snapshots.model import NodeContent, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracle.admission.question import Waiting
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import Snapshot

# Cordons and immovable instances that are lifted one by one, different ones only, as each may cost a solver's run; and
# those that are listed if only all of them together help.
MAX_LIFTED = 20


def find_blockers(
    snapshot: Snapshot, contents: Sequence[NodeContent], waiting: Waiting, deadline: Deadline | None
) -> tuple[Blocker, ...]:
    """Return what keeps a job out of a pool in which it cannot start, plain shortages first.

    Parameters
    ----------
    snapshot, contents
        The cluster, and the nodes of the pool.
    waiting
        The job.
    deadline
        When to stop trying what lifting a cordon or another restriction would do; None not to try that at all.
    """
    lifted = () if deadline is None else _lifted(snapshot, contents, waiting, deadline)
    return (*shortages(contents, waiting), *lifted, *overcommitted(contents, waiting))


class _Lift(NamedTuple):
    """A restriction taken away from one node: what the node would be, and the blocker to name if that helps."""

    content: NodeContent
    blocker: Blocker


def _lifted(
    snapshot: Snapshot, contents: Sequence[NodeContent], waiting: Waiting, deadline: Deadline
) -> Iterator[Blocker]:
    """Yield the restrictions without which the job could start: single ones, else all of one kind, else all."""
    cordons = list(_cordons(contents, waiting))
    pins = list(_pins(snapshot, contents, waiting))
    # Moves make no GPU free: where too few are, only a cordon can be the reason.
    short = free_gpus(contents) < waiting.total_gpus
    singles = _different(cordons if short else [*cordons, *pins])
    single = [lift.blocker for lift in singles if _helps(contents, [lift], waiting, deadline)]
    if single:
        yield from single
        return
    for lifts in (cordons, pins, [*cordons, *pins]):
        if lifts and _helps(contents, lifts, waiting, deadline):
            yield from (replace(lift.blocker, alone=len(lifts) == 1) for lift in lifts[:MAX_LIFTED])
            return


def _cordons(contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[_Lift]:
    for content in contents:
        if not content.schedulable and not content.overcommitted:
            free = content.capacity - content.used
            blocker = Blocker(BlockerKind.CORDON, free, waiting.pool, content.name)
            yield _Lift(replace(content, schedulable=True), blocker)


def _pins(snapshot: Snapshot, contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[_Lift]:
    takes = {content.name: content for content in contents if content.takes_instances}
    for job in snapshot.jobs:
        for i, instance in enumerate(job.instances):
            if instance.node in takes and not instance.movable:
                content = takes[instance.node]
                stuck = Counter(content.immovable) - Counter([instance.gpus])
                movable = pattern_of((*content.movable, instance.gpus))
                freed = replace(content, immovable=pattern_of(stuck.elements()), movable=movable)
                where = waiting.pool, instance.node, job.name, i
                yield _Lift(freed, Blocker(BlockerKind.IMMOVABLE, instance.gpus, *where))


def _different(lifts: Iterable[_Lift]) -> Iterator[_Lift]:
    """Yield the first of all lifts that make the same node of the same node, up to a number."""
    first = {(lift.blocker.kind, replace(lift.content, name="")): lift for lift in reversed(list(lifts))}
    return islice(reversed(first.values()), MAX_LIFTED)


def _helps(contents: Iterable[NodeContent], lifts: Iterable[_Lift], waiting: Waiting, deadline: Deadline) -> bool:
    """Whether the job is known to fit once all these restrictions are taken away."""
    changed: dict[str, NodeContent] = {}
    for content, _ in lifts:
        # Several lifts of one node are of all that cannot move there.
        movable = pattern_of(content.immovable + content.movable)
        several = content.name in changed
        changed[content.name] = replace(content, immovable=(), movable=movable) if several else content
    kinds = open_nodes(changed.get(content.name, content) for content in contents)
    fit_now = count_fitting(kinds, waiting.gpus_per_instance) >= waiting.instances
    return fit_now or make_room(kinds, waiting, deadline).changes is not None
