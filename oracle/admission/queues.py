"""Several waiting jobs: the first in queue order that can start, and the most that can start together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.admission.answer import STARTS, Admission, QueueAdmission, Together, placements_on
from oracle.admission.fitting import best_fit
from oracle.admission.jobs import admission_of
from oracle.admission.joint_room import make_joint_room
from oracle.admission.question import AskedJob, Question, jobs_for
from oracle.moves.move import MoveMode, MoveOrder, protect
from oracle.moves.ordering import NoOrderError
from oracle.moves.replay import replay
from oracle.optimum import interruption
from oracle.optimum.solver import Deadline
from oracle.snapshots.model import check_pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.snapshots.model import PendingJob, Snapshot


def admit_queue(
    snapshot: Snapshot,
    jobs: Sequence[PendingJob] | None = None,
    *,
    pool: str | None = None,
    moves: MoveMode | str = MoveMode.CHECKPOINT,
    time_limit: float | None = None,
    protected: Iterable[str] = (),
    max_per_job_at_once: int | None = None,
) -> QueueAdmission:
    """Return which of several waiting jobs can start.

    Parameters
    ----------
    snapshot
        The cluster.
    jobs
        The queue, first come first; None for the jobs that wait in the snapshot. An answer about other jobs cannot be
        verified against the snapshot.
    pool
        Ask only about jobs that may start in this pool; None for all.
    moves, time_limit, protected, max_per_job_at_once
        As for `admit`. With live moves the result is a set that can start, not always the largest, and its status says
        so.

    Raises
    ------
    InvalidJobError, UnknownJobError, ValueError
        As from `admit`.
    UnknownPoolError
        No node is in `pool`.
    """
    check_pool(pool, snapshot)
    jobs = jobs_for(snapshot.pending if jobs is None else jobs, pool)
    question, deadline = Question.of(moves, protected, max_per_job_at_once), Deadline(time_limit)
    passed_over: list[tuple[str, Admission]] = []
    first: tuple[str, Admission] | None = None
    for job in jobs:
        found = admission_of(snapshot, AskedJob.of(job), question, deadline)
        if found.verdict in STARTS:
            first = job.name, found
            break
        passed_over.append((job.name, found))
    together = _together(protect(snapshot, question.protected), jobs, question, deadline)
    return QueueAdmission(
        jobs=jobs,
        pool=pool,
        question=question,
        passed_over=tuple(passed_over),
        first=first,
        together=_or_alone(together, first),
        interrupted=interruption.is_requested(),
    )


def _or_alone(together: Together, first: tuple[str, Admission] | None) -> Together:
    """Return the first job that can start alone where no set was found: searches that were given up may miss it."""
    if together.jobs or first is None:
        return together
    name, alone = first
    return replace(together, jobs=(name,), order=alone.order, placements=(alone.placements,))


def _together(snapshot: Snapshot, jobs: Sequence[PendingJob], question: Question, deadline: Deadline) -> Together:
    """Return the most jobs that can start together, or where no order of their moves is known those that fit now."""
    room = make_joint_room(snapshot, jobs, deadline)
    nodes, order, moves_lower_bound = room.nodes, MoveOrder(), room.moves_lower_bound
    try:
        order = question.ordered(snapshot, room.moves)
    except NoOrderError:
        nodes = {}
    if not nodes:
        nodes, order, moves_lower_bound = _as_it_is(snapshot, jobs), MoveOrder(), 0
    replay(snapshot, order.moves, order.stops, max_per_job_at_once=question.max_per_job_at_once)
    return Together(
        jobs=tuple(jobs[j].name for j in sorted(nodes)),
        order=order.named(snapshot),
        placements=tuple(placements_on(nodes[j]) for j in sorted(nodes)),
        most=room.most,
        moves_lower_bound=moves_lower_bound,
    )


def _as_it_is(snapshot: Snapshot, jobs: Sequence[PendingJob]) -> dict[int, tuple[str, ...]]:
    """Return the nodes of jobs that can start without a move, by position in the queue, as long as there is room."""
    starting: dict[int, tuple[str, ...]] = {}
    contents = dict(snapshot.contents)
    for j, job in enumerate(jobs):
        for pool in contents if job.pool is None else {job.pool} & contents.keys():
            nodes = best_fit(contents[pool], AskedJob.of(job))
            if len(nodes) == job.instances:
                taken = Counter(nodes)
                contents[pool] = tuple(
                    replace(node, immovable=(*node.immovable, *[job.gpus_per_instance] * taken[node.name]))
                    for node in contents[pool]
                )
                starting[j] = tuple(nodes)
                break
    return starting
