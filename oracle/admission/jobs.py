"""Whether a waiting job can start: now, after some moves, or not at all - and in that case why.

This is a question of its own: a cluster without an avoidable partial node may still need a move before a job can start,
and one with many may need none (theory §4, Φ and admission).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from immutables import Map

from compass_core.errors import InvalidJobError, UnknownJobError
from oracle.admission.answer import (
    PROOF_BY_TOTAL,
    STARTS,
    Admission,
    RoomEvidence,
    Verdict,
    of_all_areas,
    placements_on,
    reason_not_to_fit,
    reason_to_fit,
    reason_without_node,
)
from oracle.admission.areas import areas_of
from oracle.admission.fit import fit
from oracle.admission.fitting import free_gpus, open_nodes
from oracle.admission.lifting import find_blockers
from oracle.admission.places import Ledger, spread_one
from oracle.admission.question import AskedJob, Question
from oracle.admission.room import make_room
from oracle.moves.move import MoveError, MoveMode, MoveOrder
from oracle.moves.naming import Naming, by_kind
from oracle.moves.ordering import NoOrderError
from oracle.moves.reach import room_for, shortest_live
from oracle.moves.replay import replay
from oracle.moves.stored import at_start
from oracle.optimum import interruption
from oracle.optimum.node_classes import contents_after
from oracle.optimum.solver import Deadline, Outcome
from oracle.snapshots.model import check_pool
from oracle.snapshots.overlooked import overlooked
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.admission.areas import Area
    from oracle.admission.room import Room
    from oracle.moves.move import Move
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import Snapshot

_NOTHING: Map[str, int] = Map()

_ALL_TRIED = "all placements that such moves reach were tried"

# Areas with the most free GPUs, of which it is asked what lifting a restriction would do: racks may be many.
_AREAS_LIFTED = 4

# Unlike instances of a job up to which all ways to put them on nodes are tried after live moves.
_MAX_UNLIKE = 6


def admit(
    snapshot: Snapshot,
    *,
    instances: int | None = None,
    gpus: int | None = None,
    job: str | None = None,
    pool: str | None = None,
    within: Iterable[str] = (),
    within_one_of: Iterable[str] = (),
    resources: Mapping[str, int] = _NOTHING,
    distinct_nodes: bool = False,
    moves: MoveMode | str = MoveMode.CHECKPOINT,
    time_limit: float | None = None,
    protected: Iterable[str] = (),
    max_per_job_at_once: int | None = None,
    max_per_budget: int | None = None,
    max_priority: int | None = None,
) -> Admission:
    """Return whether a job can start, after as few moves as possible: one of the snapshot, or any other.

    Parameters
    ----------
    snapshot
        The cluster.
    instances, gpus
        The job: its instances, and the GPUs of each.
    job
        In their place the name of a job that waits in the snapshot: it is asked about with all its constraints.
    pool
        Its pool; None for any one pool, the best, or for that of the waiting job.
    within, within_one_of, resources, distinct_nodes
        The node sets of the snapshot that its instances may not leave, those in one of which they all have to be, such
        as racks, what each takes of further resources, and whether no two may stand on one node.
    moves
        Whether an instance may be stopped before its destination is free (`checkpoint`), or every move must go into
        free space (`live`).
    time_limit
        Seconds of wall time; None for as long as it takes. What is not settled by then is UNKNOWN.
    protected
        Jobs and namespaces of which nothing is moved.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time.
    max_per_budget
        At most so many instances of one disruption budget may be, or as many as the budget allows if those are fewer.
    max_priority
        Jobs of a higher priority, and those whose priority is not known, are not moved.

    Raises
    ------
    InvalidJobError
        The job asks for less than one instance or one GPU, or for a node set that the snapshot does not have; or it is
        not clear which job is meant, or it waits for another pool.
    UnknownJobError
        A protected name stands for nothing that runs, or no waiting job has the name.
    UnknownPoolError
        No node is in `pool`, and no job of the snapshot waits for it.
    ValueError
        `moves` is no such mode, `max_per_job_at_once` is below 1, or `max_per_budget` below 0.
    """
    question = Question.of(
        moves, protected, max_per_job_at_once, max_per_budget=max_per_budget, max_priority=max_priority
    )
    own = AskedJob(
        instances or 0,
        gpus or 0,
        pool,
        tuple(within),
        dict(sorted(resources.items())),
        distinct_nodes,
        within_one_of=tuple(within_one_of),
    )
    if job is None:
        if instances is None or gpus is None:
            raise InvalidJobError("expected instances and gpus, or the name of a waiting job")
        # A job may wait for a pool that has no node any more: it cannot start, and to ask about it is no slip.
        if all(one.pool != pool for one in snapshot.pending):
            check_pool(pool, snapshot)
    elif own.size or own.part_gpus != (0,) or own.is_constrained:
        raise InvalidJobError("expected the name of a waiting job alone: what it asks for is in the snapshot")
    asked = own if job is None else _waiting(job, pool, snapshot)
    return admission_of(snapshot, asked, question, Deadline(time_limit))


def _waiting(name: str, pool: str | None, snapshot: Snapshot) -> AskedJob:
    """Return what a job asks for that waits in the snapshot, in one pool if that is named."""
    job = next((one for one in snapshot.pending if one.name == name), None)
    if job is None:
        raise UnknownJobError(f"no waiting job is named {name!r}")
    if pool is not None and job.pool not in {None, pool}:
        raise InvalidJobError(f"{name} waits for pool {job.pool!r}, not for {pool!r}")
    asked = AskedJob.of(job, snapshot)
    if pool is None:
        return asked
    check_pool(pool, snapshot)
    return replace(asked, pool=pool)


def admission_of(snapshot: Snapshot, job: AskedJob, question: Question, deadline: Deadline) -> Admission:
    """Return what `admit` does of a job that waits: one whose pool has no node cannot start, and that is no mistake.

    Raises
    ------
    InvalidJobError, UnknownJobError
        As from `admit`.
    """
    job.check()
    job.check_known(snapshot)
    asked = Admission(job=job, question=question, verdict=Verdict.UNKNOWN, reason="", most=job.size)
    found = _answer(asked, question.spared(snapshot), deadline)
    return replace(found, interrupted=interruption.is_requested(), not_looked_at=overlooked(snapshot, job.pool))


def _answer(asked: Admission, snapshot: Snapshot, deadline: Deadline) -> Admission:
    areas = areas_of(asked.job, snapshot)
    by_room = sorted(areas, key=lambda area: -free_gpus(area.usable))
    lifted = {area.pool for area in by_room[:_AREAS_LIFTED]}
    cases = [_Case(asked, snapshot, deadline, area, lifts=area.pool in lifted) for area in areas]
    # No area is searched while another has room as it is.
    ready = next((case.fits_now() for case in cases if case.is_ready), None)
    if ready is not None:
        return ready
    if not cases:
        return replace(asked, verdict=Verdict.CANNOT, reason=reason_without_node(asked.job.pool, snapshot), most=0)
    return _best([case.answer() for case in cases])


def _best(answers: Sequence[Admission]) -> Admission:
    """Return the best answer of several areas of which none has room now."""
    evidence = tuple(pool for answer in answers for pool in answer.evidence)
    starting = [answer for answer in answers if answer.verdict in STARTS]
    unknown = [answer for answer in answers if answer.verdict is Verdict.UNKNOWN]
    if starting:
        best = min(starting, key=lambda answer: len(answer.moves))
        lower_bound = min(answer.lower_bound for answer in (*starting, *unknown))
        return replace(best, lower_bound=lower_bound, evidence=evidence)
    told = unknown or answers
    return replace(
        told[0],
        reason=of_all_areas([answer.reason for answer in told]),
        proof=of_all_areas([answer.proof for answer in told if answer.proof]),
        lower_bound=min(answer.lower_bound for answer in told),
        blockers=tuple(blocker for answer in answers for blocker in answer.blockers),
        evidence=evidence,
    )


class _Case:
    """One job and one area; with `lifts` it is asked, if need be, which restriction keeps the job out."""

    def __init__(self, asked: Admission, snapshot: Snapshot, deadline: Deadline, area: Area, *, lifts: bool) -> None:
        self._asked = asked
        self._lifts = lifts
        self._question = asked.question
        self._snapshot = snapshot
        self._deadline = deadline
        self._area = area
        self._waiting = area.waiting
        self._now = fit(area, area.snapshot, deadline)

    @property
    def is_ready(self) -> bool:
        """Whether there is room without a move."""
        return self._now.count == self._waiting.size

    def fits_now(self, most: int | None = None, proof: str = "") -> Admission:
        """Return the admission without a move, of what of the job has room; `most` of it have after moves."""
        waiting, starting = self._waiting, self._now.count
        most = starting if most is None else most
        return replace(
            self._asked,
            verdict=Verdict.FITS_NOW,
            reason=reason_to_fit(self._now.count, waiting, starting, most, 0),
            proof=proof,
            pool=waiting.pool,
            placements=placements_on(self._now.nodes),
            most=most,
        )

    def answer(self) -> Admission:
        """Return the admission if not all has room without a move."""
        room = make_room(open_nodes(self._area.contents), self._waiting, self._deadline)
        found = self._by_moves(room)
        # Weights tell of all instances, or of those that start if they do so one by one: live moves may let fewer.
        of_these = self._waiting.together or not room.starting or room.starting == len(found.placements)
        evidence = RoomEvidence(
            pool=self._area.pool,
            argument=room.weights if of_these else None,
            no_more=room.no_more if found.placements and found.most == room.most else None,
        )
        return replace(found, evidence=(evidence,))

    def _by_moves(self, room: Room) -> Admission:
        pool = self._area.pool
        if room.outcome is Outcome.INFEASIBLE:
            return self._never(room)
        if room.changes is None:
            ended = "the search was interrupted" if interruption.is_requested() else "time ran out"
            return self._unknown(f"{ended} before it was known whether any moves make room in pool {pool}", room)
        if not self._waiting.together and self._now.count >= room.starting:
            return self.fits_now(max(room.most, self._now.count), "" if self.is_ready else room.proof)
        named = Naming(self._area.snapshot).name(by_kind(self._area.contents), room.changes)
        if self._question.mode is MoveMode.LIVE:
            return self._live(named.moves, named.places, room)
        try:
            order = self._question.ordered(self._snapshot, named.moves)
        except (NoOrderError, MoveError) as error:
            return self._unknown(f"{count(len(named.moves), 'move', 'make')} room in pool {pool}, but {error}", room)
        return self._after(order, named.places, room)

    def _live(self, relocated: Sequence[Move], places: Mapping[Kind, list[str]], room: Room) -> Admission:
        waiting, question = self._waiting, self._question
        try:
            order = question.ordered(self._snapshot, relocated)
        except (NoOrderError, MoveError):
            order = None
        if order is not None and len(order.moves) <= self._bound(room):
            return self._after(order, places, room)
        reached = self._reached()
        stopping = f"{count(len(relocated), 'move', 'make')} room if instances may be stopped first"
        if reached is not None:
            starting = max(reached)
            already = 0 if waiting.together else self._now.count
            if starting > already:
                order = question.in_steps(self._snapshot, reached[starting])
                settled = replace(
                    room, most=starting, starting=starting, lower_bound=len(order.moves), proof=_ALL_TRIED
                )
                return self._after(order, {}, settled)
            if already:
                return self.fits_now(already, _ALL_TRIED)
            reason = f"no moves into free space make room in pool {waiting.pool}; {stopping}"
            # What lifting a restriction would do is known for moves that may stop instances only.
            return self._cannot(reason, _ALL_TRIED, deadline=None)
        if order is not None:
            return self._after(order, places, room)
        return self._unknown(
            f"no sequence of moves into free space that makes room in pool {waiting.pool} was found, nor shown "
            f"not to exist; {stopping}",
            room,
        )

    def _reached(self) -> dict[int, tuple[Move, ...]] | None:
        """Return the shortest live moves after which so many instances have room; None if that is too much to try."""
        waiting = self._waiting
        wanted = waiting.wanted
        if (len(wanted) > 1 and waiting.size > _MAX_UNLIKE) or not self._deadline.is_open():
            return None
        return shortest_live(self._area.snapshot, waiting.pool, room_for(wanted, together=waiting.together))

    def _after(self, order: MoveOrder, places: Mapping[Kind, list[str]], room: Room) -> Admission:
        """Return the admission after these moves; `places` are nodes for the instances, as far as they are known."""
        area, waiting = self._area, self._waiting
        limit = self._question.max_per_job_at_once
        after = replay(self._snapshot, order.moves, order.stops, max_per_job_at_once=limit)
        seen = replace(area.snapshot, jobs=after.jobs)
        nodes = fit(area, seen, self._deadline).nodes
        if len(nodes) < room.starting:
            others = spread_one(waiting, places)
            contents = contents_after(area.snapshot, seen)[area.pool]
            if len(others) < room.starting or not Ledger(seen, contents).put(waiting, others):
                moves = count(len(order.moves), "move")
                return self._unknown(
                    f"no nodes are known for all its instances in pool {area.pool} after {moves}: there are too many "
                    "unlike constraints for a search among all arrangements",
                    room,
                )
            nodes = others
        return replace(
            self._asked,
            verdict=Verdict.FITS_AFTER if order.moves else Verdict.FITS_NOW,
            reason=reason_to_fit(self._now.count, waiting, len(nodes), room.most, len(order.moves)),
            proof=room.proof,
            pool=waiting.pool,
            order=order.named(self._snapshot),
            at_start=at_start(self._snapshot, order.moves),
            placements=placements_on(nodes),
            lower_bound=self._bound(room),
            most=room.most,
        )

    def _bound(self, room: Room) -> int:
        """Return how many moves it takes at least."""
        return max(room.lower_bound, int(self._now.most < room.starting))

    def _never(self, room: Room) -> Admission:
        """Return that it does not fit whatever is moved."""
        waiting, free = self._waiting, free_gpus(self._area.contents)
        proof = PROOF_BY_TOTAL if free < waiting.least_gpus else room.proof
        return self._cannot(reason_not_to_fit(waiting, free, room.most), proof, deadline=self._deadline)

    def _cannot(self, reason: str, proof: str, *, deadline: Deadline | None) -> Admission:
        blockers = find_blockers(self._snapshot, self._area, self._now.count, deadline if self._lifts else None)
        return replace(self._asked, verdict=Verdict.CANNOT, reason=reason, proof=proof, blockers=blockers, most=0)

    def _unknown(self, reason: str, room: Room) -> Admission:
        """Return that it is not known what moves would do: what of the job has room without any starts all the same."""
        if self._now.count and not self._waiting.together:
            return self.fits_now(room.most)
        return replace(self._asked, reason=reason, lower_bound=self._bound(room) if self._waiting.together else 1)
