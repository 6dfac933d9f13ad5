"""Whether a waiting job can start: now, after some moves, or not at all - and in that case why.

This is a question of its own: a cluster without an avoidable partial node may still need a move before a job can start,
and one with many may need none (theory §4, Φ and admission).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.admission.answer import (
    PROOF_BY_TOTAL,
    Admission,
    RoomEvidence,
    Verdict,
    placements_on,
    reason_not_to_fit,
    reason_to_fit,
    reason_without_node,
)
from oracle.admission.fitting import best_fit, count_fitting, free_gpus, open_nodes
from oracle.admission.lifting import find_blockers
from oracle.admission.question import AskedJob, Question
from oracle.admission.room import make_room
from oracle.moves.move import MoveMode, MoveOrder, protect
from oracle.moves.naming import Naming, by_kind
from oracle.moves.ordering import NoOrderError
from oracle.moves.reach import room_for, shortest_live
from oracle.moves.replay import replay
from oracle.moves.stored import at_start
from oracle.optimum import interruption
from oracle.optimum.node_classes import contents_after
from oracle.optimum.solver import Deadline, Outcome
from oracle.snapshots.model import check_pool
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.admission.question import Waiting
    from oracle.admission.room import Room
    from oracle.moves.move import Move
    from oracle.snapshots.model import NodeContent, Snapshot

_ALL_TRIED = "all placements that such moves reach were tried"


def admit(
    snapshot: Snapshot,
    *,
    instances: int,
    gpus: int,
    pool: str | None = None,
    moves: MoveMode | str = MoveMode.CHECKPOINT,
    time_limit: float | None = None,
    protected: Iterable[str] = (),
    max_per_job_at_once: int | None = None,
) -> Admission:
    """Return whether a job of so many instances can start, after as few moves as possible.

    Parameters
    ----------
    snapshot
        The cluster.
    instances, gpus
        The waiting job: its instances, and the GPUs of each.
    pool
        Its pool; None for any one pool, the best.
    moves
        Whether an instance may be stopped before its destination is free (`checkpoint`), or every move must go into
        free space (`live`).
    time_limit
        Seconds of wall time; None for as long as it takes. What is not settled by then is UNKNOWN.
    protected
        Jobs and namespaces of which nothing is moved.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time.

    Raises
    ------
    InvalidJobError
        The job asks for less than one instance or one GPU.
    UnknownJobError
        A protected name stands for nothing that runs.
    UnknownPoolError
        No node is in `pool`, and no job of the snapshot waits for it.
    ValueError
        `moves` is no such mode, or `max_per_job_at_once` is below 1.
    """
    question = Question.of(moves, protected, max_per_job_at_once)
    # A job may wait for a pool that has no node any more: it cannot start, and to ask about it is no slip.
    if all(job.pool != pool for job in snapshot.pending):
        check_pool(pool, snapshot)
    return admission_of(snapshot, AskedJob(instances, gpus, pool), question, Deadline(time_limit))


def admission_of(snapshot: Snapshot, job: AskedJob, question: Question, deadline: Deadline) -> Admission:
    """Return what `admit` does of a job that waits: one whose pool has no node cannot start, and that is no mistake.

    Raises
    ------
    InvalidJobError, UnknownJobError
        As from `admit`.
    """
    job.check()
    asked = Admission(job=job, question=question, verdict=Verdict.UNKNOWN, reason="")
    found = _answer(asked, protect(snapshot, question.protected), deadline)
    return replace(found, interrupted=interruption.is_requested())


def _answer(asked: Admission, snapshot: Snapshot, deadline: Deadline) -> Admission:
    job, contents = asked.job, snapshot.contents
    if job.pool is not None and job.pool not in contents:
        return replace(asked, verdict=Verdict.CANNOT, reason=reason_without_node(job.pool, snapshot))
    chosen = contents if job.pool is None else {job.pool: contents[job.pool]}
    cases = [_PoolCase(asked, snapshot, deadline, nodes, job.in_pool(pool)) for pool, nodes in chosen.items()]
    # No pool is searched while another has room as it is.
    ready = next((case.fits_now() for case in cases if case.is_ready), None)
    if ready is not None:
        return ready
    if not cases:
        return replace(asked, verdict=Verdict.CANNOT, reason=reason_without_node(None, snapshot))
    return _best([case.answer() for case in cases])


def _best(answers: Sequence[Admission]) -> Admission:
    """Return the best answer of several pools of which none has room now."""
    evidence = tuple(pool for answer in answers for pool in answer.evidence)
    fitting = [answer for answer in answers if answer.verdict is Verdict.FITS_AFTER]
    unknown = [answer for answer in answers if answer.verdict is Verdict.UNKNOWN]
    if fitting:
        best = min(fitting, key=lambda answer: len(answer.moves))
        lower_bound = min(answer.lower_bound for answer in (*fitting, *unknown))
        return replace(best, lower_bound=lower_bound, evidence=evidence)
    told = unknown or answers
    return replace(
        told[0],
        reason="; ".join(answer.reason for answer in told),
        proof="; ".join(answer.proof for answer in told if answer.proof),
        lower_bound=min(answer.lower_bound for answer in told),
        blockers=tuple(blocker for answer in answers for blocker in answer.blockers),
        evidence=evidence,
    )


class _PoolCase:
    """One job and one pool."""

    def __init__(
        self,
        asked: Admission,
        snapshot: Snapshot,
        deadline: Deadline,
        contents: Sequence[NodeContent],
        waiting: Waiting,
    ) -> None:
        self._asked = asked
        self._question = asked.question
        self._snapshot = snapshot
        self._deadline = deadline
        self._contents = contents
        self._waiting = waiting
        self._nodes = open_nodes(contents)
        self._fit_now = count_fitting(self._nodes, waiting.gpus_per_instance)

    @property
    def is_ready(self) -> bool:
        """Whether there is room without a move."""
        return self._fit_now >= self._waiting.instances

    def fits_now(self) -> Admission:
        """Return the admission without a move."""
        return self._after(MoveOrder(), 0, proof="")

    def answer(self) -> Admission:
        """Return the admission if there is no room without a move."""
        room = make_room(self._nodes, self._waiting, self._deadline)
        return replace(self._by_moves(room), evidence=(RoomEvidence(pool=self._waiting.pool, argument=room.weights),))

    def _by_moves(self, room: Room) -> Admission:
        pool = self._waiting.pool
        if room.outcome is Outcome.INFEASIBLE:
            return self._never(room)
        if room.changes is None:
            ended = "the search was interrupted" if interruption.is_requested() else "time ran out"
            return self._unknown(f"{ended} before it was known whether any moves make room in pool {pool}")
        moves = Naming(self._snapshot).name(by_kind(self._contents), room.changes).moves
        bound = max(1, room.lower_bound)
        if self._question.mode is MoveMode.LIVE:
            return self._live(moves, bound, room.proof)
        try:
            order = self._question.ordered(self._snapshot, moves)
        except NoOrderError as error:
            return self._unknown(f"{count(len(moves), 'move', 'make')} room in pool {pool}, but {error}", bound)
        return self._after(order, bound, room.proof)

    def _live(self, relocated: Sequence[Move], bound: int, proof: str) -> Admission:
        waiting, question = self._waiting, self._question
        try:
            order = question.ordered(self._snapshot, relocated)
        except NoOrderError:
            order = None
        if order is not None and len(order.moves) <= bound:
            return self._after(order, bound, proof)
        goal = room_for(waiting.instances, waiting.gpus_per_instance)
        is_open = self._deadline.is_open()
        reached = shortest_live(self._snapshot, self._contents, goal) if is_open else None
        if reached is not None and 1 in reached:
            order = question.in_steps(self._snapshot, reached[1])
            return self._after(order, len(order.moves), _ALL_TRIED)
        stopping = f"{count(len(relocated), 'move', 'make')} room if instances may be stopped first"
        if reached is not None:
            reason = f"no moves into free space make room in pool {waiting.pool}; {stopping}"
            # What lifting a restriction would do is known for moves that may stop instances only.
            return self._cannot(reason, _ALL_TRIED, deadline=None)
        if order is not None:
            return self._after(order, bound, proof)
        return self._unknown(
            f"no sequence of moves into free space that makes room in pool {waiting.pool} was found, nor shown "
            f"not to exist; {stopping}",
            bound,
        )

    def _after(self, order: MoveOrder, bound: int, proof: str) -> Admission:
        waiting, limit = self._waiting, self._question.max_per_job_at_once
        after = replay(self._snapshot, order.moves, order.stops, max_per_job_at_once=limit)
        nodes = best_fit(contents_after(self._snapshot, after)[waiting.pool], waiting)
        fitting = min(self._fit_now, waiting.instances)
        return replace(
            self._asked,
            verdict=Verdict.FITS_AFTER if order.moves else Verdict.FITS_NOW,
            reason=reason_to_fit(fitting, waiting, len(order.moves)),
            proof=proof,
            pool=waiting.pool,
            order=order.named(self._snapshot),
            at_start=at_start(self._snapshot, order.moves),
            placements=placements_on(nodes),
            lower_bound=bound,
        )

    def _never(self, room: Room) -> Admission:
        """Return that it does not fit whatever is moved."""
        waiting, free = self._waiting, free_gpus(self._contents)
        proof = PROOF_BY_TOTAL if free < waiting.total_gpus else room.proof
        return self._cannot(reason_not_to_fit(waiting, free, room.most), proof, deadline=self._deadline)

    def _cannot(self, reason: str, proof: str, *, deadline: Deadline | None) -> Admission:
        blockers = find_blockers(self._snapshot, self._contents, self._waiting, deadline)
        return replace(self._asked, verdict=Verdict.CANNOT, reason=reason, proof=proof, blockers=blockers)

    def _unknown(self, reason: str, bound: int = 1) -> Admission:
        return replace(self._asked, reason=reason, lower_bound=bound)
