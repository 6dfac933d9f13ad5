"""Several waiting jobs: the first in queue order that can start, and the most that can start together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.admission.answer import STARTS, Admission, QueueAdmission, Together, placements_on
from oracle.admission.areas import choices_of
from oracle.admission.jobs import admission_of
from oracle.admission.joint_room import JointRoom, make_joint_room
from oracle.admission.places import Ledger
from oracle.admission.question import AskedJob, Question, jobs_for
from oracle.moves.move import MoveError, MoveMode, MoveOrder
from oracle.moves.ordering import NoOrderError
from oracle.moves.replay import replay
from oracle.optimum import interruption
from oracle.optimum.node_classes import contents_after
from oracle.optimum.solver import Deadline
from oracle.snapshots.model import check_pool
from oracle.snapshots.overlooked import overlooked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    max_per_budget: int | None = None,
    max_priority: int | None = None,
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
    moves, time_limit, protected, max_per_job_at_once, max_per_budget, max_priority
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
    waiting = jobs_for(snapshot.pending if jobs is None else jobs, pool)
    queue = tuple((job.name, AskedJob.of(job, snapshot)) for job in waiting)
    question = Question.of(
        moves, protected, max_per_job_at_once, max_per_budget=max_per_budget, max_priority=max_priority
    )
    deadline = Deadline(time_limit)
    passed_over: list[tuple[str, Admission]] = []
    first: tuple[str, Admission] | None = None
    for name, job in queue:
        found = admission_of(snapshot, job, question, deadline)
        if found.verdict in STARTS:
            first = name, found
            break
        passed_over.append((name, found))
    together = _together(question.spared(snapshot), queue, question, deadline)
    return QueueAdmission(
        jobs=queue,
        pool=pool,
        question=question,
        passed_over=tuple(passed_over),
        first=first,
        together=_or_alone(together, first),
        interrupted=interruption.is_requested(),
        not_looked_at=overlooked(snapshot, pool),
    )


def _or_alone(together: Together, first: tuple[str, Admission] | None) -> Together:
    """Return the first job that can start alone where no set was found: searches that were given up may miss it."""
    if together.jobs or first is None:
        return together
    name, alone = first
    starting = 1 if alone.job.together else len(alone.placements)
    return replace(together, jobs=(name,), order=alone.order, placements=(alone.placements,), starting=starting)


def _together(
    snapshot: Snapshot, queue: Sequence[tuple[str, AskedJob]], question: Question, deadline: Deadline
) -> Together:
    """Return the most jobs that can start together, or where no order of their moves is known those that fit now."""
    jobs = [job for _, job in queue]
    now = _as_it_is(snapshot, jobs)
    # Nothing is searched where all of the queue has room as it is.
    everything = sum(map(len, now.values())) == sum(job.size for job in jobs)
    room = _without_moves(now, jobs) if everything else make_joint_room(snapshot, jobs, deadline)
    nodes, order, moves_lower_bound = room.nodes, MoveOrder(), room.moves_lower_bound
    try:
        order = question.ordered(snapshot, room.moves)
        after = replay(snapshot, order.moves, order.stops, max_per_job_at_once=question.max_per_job_at_once)
        if not _may_stand(snapshot, after, jobs, nodes):
            nodes = {}
    except (NoOrderError, MoveError):
        nodes = {}
    if not nodes:
        nodes, order, moves_lower_bound = now, MoveOrder(), 0
    return Together(
        jobs=tuple(queue[j][0] for j in sorted(nodes)),
        order=order.named(snapshot),
        placements=tuple(placements_on(nodes[j]) for j in sorted(nodes)),
        starting=_starting(nodes, jobs),
        most=room.most,
        moves_lower_bound=moves_lower_bound,
    )


def _starting(nodes: Mapping[int, Mapping[int, str]], jobs: Sequence[AskedJob]) -> int:
    """Return how much starts: jobs, or instances of those that start one by one."""
    return sum(1 if jobs[j].together else len(nodes[j]) for j in nodes)


def _without_moves(nodes: dict[int, dict[int, str]], jobs: Sequence[AskedJob]) -> JointRoom:
    return JointRoom(nodes=nodes, moves=(), most=_starting(nodes, jobs), moves_lower_bound=0)


def _may_stand(
    before: Snapshot, after: Snapshot, jobs: Sequence[AskedJob], nodes: Mapping[int, Mapping[int, str]]
) -> bool:
    """Whether all these instances may stand where they are put: where kinds leave something out they may not."""
    before, after = before.as_held, replace(before.as_held, jobs=after.jobs)
    contents = contents_after(before, after)
    ledger = Ledger(after, [node for of_pool in contents.values() for node in of_pool])
    return all(ledger.put(jobs[j], nodes[j]) for j in sorted(nodes))


def _as_it_is(snapshot: Snapshot, jobs: Sequence[AskedJob]) -> dict[int, dict[int, str]]:
    """Return the nodes of jobs that can start without a move, by position in the queue, as long as there is room."""
    starting: dict[int, dict[int, str]] = {}
    snapshot = snapshot.as_held
    ledger = Ledger(snapshot, [node for of_pool in snapshot.contents.values() for node in of_pool])
    for j, job in enumerate(jobs):
        for one, pools in choices_of(job, snapshot):
            nodes = ledger.put_most(one, pools)
            if nodes and (len(nodes) == one.size or not one.together):
                starting[j] = nodes
                break
            ledger.remove(one, nodes)
    return starting
