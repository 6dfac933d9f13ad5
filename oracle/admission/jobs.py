"""Whether a waiting job can start: now, after some moves, or not at all - and in that case why.

This is a question of its own: a cluster without an avoidable partial node may still need a move before a job can start,
and one with many may need none (theory §4, Φ and admission).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from compass_core.errors import InvalidJobError
from oracle.admission.blockers import Waiting, find_blockers, free_gpus
from oracle.admission.evidence import RoomEvidence
from oracle.admission.question import AskedJob, Question
from oracle.admission.room import count_fitting, make_room, open_nodes
from oracle.measurement.measure import check_pool
from oracle.moves.identity import at_start, start_to_json
from oracle.moves.live_moves import live_sequence
from oracle.moves.move import MoveMode, MoveOrder, protect, with_names
from oracle.moves.naming import Naming, by_kind
from oracle.moves.ordering import NoOrderError
from oracle.moves.reach import room_for, shortest_live
from oracle.moves.rematching import order_interchangeably
from oracle.moves.replay import Occupancy, replay
from oracle.moves.timetable import in_steps
from oracle.optimum import interruption
from oracle.optimum.certificate import Status
from oracle.optimum.node_classes import contents_after
from oracle.optimum.solver import Deadline, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.admission.blockers import Blocker
    from oracle.admission.room import Room
    from oracle.moves.move import Move, Stop
    from oracle.snapshots.model import NodeContent, RunningJob, Snapshot

_ALL_TRIED = "all placements that such moves reach were tried"

SCHEMA = "compass-abs/admit/2"

# What proves that a job cannot start where too few GPUs are free.
PROOF_BY_TOTAL = "total of free GPUs"


class Verdict(StrEnum):
    """Whether a job can start. UNKNOWN claims nothing: the search was given up."""

    FITS_NOW = "fits_now"
    FITS_AFTER = "fits_after"
    CANNOT = "cannot"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """Where one instance of the waiting job would go."""

    instance: int
    node: str

    def to_json(self) -> dict[str, object]:
        """Return the placement as data for JSON."""
        return {"instance": self.instance, "node": self.node}


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The verdict on a waiting job, with what has to be done before it starts or what keeps it from starting.

    Attributes
    ----------
    job, question
        What was asked.
    verdict
        FITS_NOW, FITS_AFTER, CANNOT or UNKNOWN.
    pool
        The pool it would start in; None without one.
    moves, stops
        What has to be done first, sorted by step.
    placements
        A node for every instance, once that is done.
    lower_bound
        No way to let it start has fewer moves; without meaning if it cannot.
    reason
        One line.
    proof
        What rules out that it starts, or that it does so after fewer moves: weights (`oracle.optimum.weights`), a
        solver with its version, a search.
    blockers
        What keeps it from starting, if it cannot.
    evidence
        Weights about the pools that were searched: what of the verdict can be checked without a solver.
    interrupted
        Whether the search was ended early by `oracle.optimum.interruption`.
    at_start
        The jobs of which an instance moves, as they were: what is needed to take the moves up later.
    """

    job: AskedJob
    question: Question
    verdict: Verdict
    reason: str
    proof: str = ""
    pool: str | None = None
    moves: tuple[Move, ...] = ()
    stops: tuple[Stop, ...] = ()
    placements: tuple[Placement, ...] = ()
    lower_bound: int = 0
    blockers: tuple[Blocker, ...] = ()
    evidence: tuple[RoomEvidence, ...] = ()
    interrupted: bool = False
    at_start: tuple[RunningJob, ...] = ()

    @property
    def migrations(self) -> int | None:
        """Moves before it can start, those to a parking place included; None if it cannot, or if that is unknown."""
        return len(self.moves) if self.verdict in {Verdict.FITS_NOW, Verdict.FITS_AFTER} else None

    @property
    def status(self) -> Status:
        """OPTIMAL if the verdict is settled and its moves are fewest."""
        settled = self.verdict is Verdict.CANNOT or self.migrations == self.lower_bound
        return Status.OPTIMAL if settled and self.verdict is not Verdict.UNKNOWN else Status.UNKNOWN

    def to_dict(self) -> dict[str, object]:
        """Return the verdict and what was asked as data for JSON: what ``sifopt verify`` checks."""
        return {
            "schema": SCHEMA,
            **self.verdict_json(),
            "jobs_at_start": start_to_json(self.at_start),
            "job": self.job.to_json(),
            **self.question.to_json(),
            "interrupted": self.interrupted,
        }

    def verdict_json(self) -> dict[str, object]:
        """Return the verdict alone, as it stands among those of a queue."""
        return {
            "verdict": self.verdict.value,
            "pool": self.pool,
            "migrations": self.migrations,
            "lower_bound": self.lower_bound,
            "status": self.status.value,
            "moves": [move.to_json() for move in self.moves],
            "stopped_first": [stop.to_json() for stop in self.stops],
            "placements": [placement.to_json() for placement in self.placements],
            "reason": self.reason,
            "proof": self.proof,
            "blockers": [blocker.to_json() for blocker in self.blockers],
            "certificate": {"pools": [pool.to_json() for pool in self.evidence]},
        }


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
    if job.instances < 1 or job.gpus_per_instance < 1:
        got = f"{job.instances} of {job.gpus_per_instance}"
        raise InvalidJobError(f"a job has at least 1 instance of at least 1 GPU, got {got}")
    request = _Request(protect(snapshot, question.protected), job, question, deadline)
    return replace(_answer(request), interrupted=interruption.is_requested())


def _answer(request: _Request) -> Admission:
    job, contents = request.job, request.snapshot.contents
    if job.pool is not None and job.pool not in contents:
        return request.verdict(Verdict.CANNOT, reason_without_node(job.pool, request.snapshot))
    chosen = contents if job.pool is None else {job.pool: contents[job.pool]}
    cases = [
        _PoolCase(request, nodes, Waiting(job.instances, job.gpus_per_instance, name)) for name, nodes in chosen.items()
    ]
    # No pool is searched while another has room as it is.
    ready = next((case.fits_now() for case in cases if case.is_ready), None)
    return _best(request, [case.answer() for case in cases]) if ready is None else ready


def _best(request: _Request, answers: Sequence[Admission]) -> Admission:
    """Return the best answer of several pools of which none has room now."""
    evidence = tuple(pool for answer in answers for pool in answer.evidence)
    fitting = [answer for answer in answers if answer.verdict is Verdict.FITS_AFTER]
    unknown = [answer for answer in answers if answer.verdict is Verdict.UNKNOWN]
    if fitting:
        best = min(fitting, key=lambda answer: len(answer.moves))
        lower_bound = min(answer.lower_bound for answer in (*fitting, *unknown))
        return replace(best, lower_bound=lower_bound, evidence=evidence)
    if len(answers) == 1:
        return answers[0]
    told = unknown or answers
    return replace(
        request.verdict(
            Verdict.UNKNOWN if unknown else Verdict.CANNOT,
            "; ".join(answer.reason for answer in told) or reason_without_node(None, request.snapshot),
        ),
        proof="; ".join(answer.proof for answer in told if answer.proof),
        lower_bound=min((answer.lower_bound for answer in told), default=0),
        blockers=tuple(blocker for answer in answers for blocker in answer.blockers),
        evidence=evidence,
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """What is the same for all pools."""

    snapshot: Snapshot
    job: AskedJob
    question: Question
    deadline: Deadline

    def verdict(self, verdict: Verdict, reason: str) -> Admission:
        """Return a verdict on the job, with nothing known but this."""
        return Admission(job=self.job, question=self.question, verdict=verdict, reason=reason)


class _PoolCase:
    """One job and one pool."""

    def __init__(self, request: _Request, contents: Sequence[NodeContent], waiting: Waiting) -> None:
        self._request = request
        self._snapshot = request.snapshot
        self._deadline = request.deadline
        self._limit = request.question.max_per_job_at_once
        self._contents = contents
        self._waiting = waiting
        self._nodes = open_nodes(contents)
        self._fit_now = count_fitting(self._nodes, waiting.gpus)

    @property
    def is_ready(self) -> bool:
        """Whether there is room without a move."""
        return self._fit_now >= self._waiting.instances

    def fits_now(self) -> Admission:
        """Return the admission without a move."""
        return self._after(MoveOrder(), 0, proof="")

    def answer(self) -> Admission:
        """Return the admission if there is no room without a move."""
        waiting = self._waiting
        room = make_room(self._nodes, waiting.instances, waiting.gpus, self._deadline)
        return replace(self._by_moves(room), evidence=(RoomEvidence(pool=waiting.pool, argument=room.weights),))

    def _by_moves(self, room: Room) -> Admission:
        waiting = self._waiting
        if room.outcome is Outcome.INFEASIBLE:
            return self._cannot(*self._shortage(room), deadline=self._deadline)
        if room.changes is None:
            ended = "the search was interrupted" if interruption.is_requested() else "time ran out"
            return self._unknown(f"{ended} before it was known whether any moves make room in pool {waiting.pool}")
        moves = Naming(self._snapshot).name(by_kind(self._contents), room.changes).moves
        bound = max(1, room.lower_bound)
        if self._request.question.mode is MoveMode.LIVE:
            return self._live(moves, bound, room.proof)
        try:
            order = order_interchangeably(self._snapshot, moves, max_per_job_at_once=self._limit)
        except NoOrderError as error:
            return self._unknown(f"{len(moves)} moves make room in pool {waiting.pool}, but {error}", bound)
        return self._after(order, bound, room.proof)

    def _live(self, relocated: Sequence[Move], bound: int, proof: str) -> Admission:
        moves = live_sequence(self._snapshot, relocated)
        if moves is not None and len(moves) <= bound:
            return self._after(self._in_steps(moves), bound, proof)
        goal = room_for(self._waiting.instances, self._waiting.gpus)
        reached = shortest_live(self._snapshot, self._contents, goal) if self._deadline.is_open() else None
        if reached is not None and 1 in reached:
            return self._after(self._in_steps(reached[1]), len(reached[1]), _ALL_TRIED)
        if reached is not None:
            reason = f"no moves into free space make room in pool {self._waiting.pool}; {len(relocated)} moves make"
            # What lifting a restriction would do is known for moves that may stop instances only.
            return self._cannot(f"{reason} room if instances may be stopped first", _ALL_TRIED, deadline=None)
        if moves is not None:
            return self._after(self._in_steps(moves), bound, proof)
        return self._unknown(
            f"no sequence of moves into free space that makes room in pool {self._waiting.pool} was found, nor shown "
            f"not to exist; {len(relocated)} moves make room if instances may be stopped first",
            bound,
        )

    def _in_steps(self, sequence: Sequence[Move]) -> MoveOrder:
        return MoveOrder(moves=in_steps(sequence, Occupancy(self._snapshot).free, self._limit))

    def _after(self, order: MoveOrder, bound: int, proof: str) -> Admission:
        waiting = self._waiting
        after = replay(self._snapshot, order.moves, order.stops, max_per_job_at_once=self._limit)
        nodes = best_fit(contents_after(self._snapshot, after)[waiting.pool], waiting.instances, waiting.gpus)
        count = len(order.moves)
        fitting = min(self._fit_now, waiting.instances)
        verdict = Verdict.FITS_AFTER if count else Verdict.FITS_NOW
        return replace(
            self._request.verdict(verdict, reason_to_fit(fitting, waiting, count)),
            proof=proof,
            pool=waiting.pool,
            moves=with_names(self._snapshot, order.moves),
            stops=with_names(self._snapshot, order.stops),
            at_start=at_start(self._snapshot, order.moves),
            placements=tuple(Placement(i, node) for i, node in enumerate(nodes)),
            lower_bound=bound,
        )

    def _shortage(self, room: Room) -> tuple[str, str]:
        """Return why it does not fit whatever is moved, and the proof."""
        waiting, free = self._waiting, free_gpus(self._contents)
        short = free < waiting.instances * waiting.gpus
        return reason_not_to_fit(waiting, free, room.most), PROOF_BY_TOTAL if short else room.proof

    def _cannot(self, reason: str, proof: str, *, deadline: Deadline | None) -> Admission:
        blockers = find_blockers(self._snapshot, self._contents, self._waiting, deadline)
        return replace(self._request.verdict(Verdict.CANNOT, reason), proof=proof, blockers=blockers)

    def _unknown(self, reason: str, bound: int = 1) -> Admission:
        return replace(self._request.verdict(Verdict.UNKNOWN, reason), lower_bound=bound)


def reason_to_fit(fitting: int, waiting: Waiting, moves: int) -> str:
    """Return in words that so many instances fit as it is, and the others after so many moves."""
    reason = f"{fitting} of {waiting.instances} instances fit in pool {waiting.pool} as it is"
    if moves:
        reason += f", {'all do' if waiting.instances > 1 else 'it does'} after {moves} move{'s' * (moves > 1)}"
    return reason


def reason_not_to_fit(waiting: Waiting, free: int, most: int) -> str:
    """Return in words that too few GPUs are free, or that at most so many instances fit whatever is moved."""
    needed = waiting.instances * waiting.gpus
    if free < needed:
        return f"needs {needed} GPUs, and pool {waiting.pool} has {free} free"
    instances = f"{most} of {waiting.instances} instances of {waiting.gpus} GPUs"
    where = f"the nodes of pool {waiting.pool} that take new ones"
    return f"at most {instances} fit on {where}, however running instances are moved"


def reason_without_node(pool: str | None, snapshot: Snapshot) -> str:
    """Return in words that no node is in the only pool asked about, or that there is none at all."""
    known = ", ".join(map(repr, snapshot.pools)) or "none"
    return "the cluster has no node" if pool is None else f"no node is in a pool named {pool!r}; pools: {known}"


def best_fit(contents: Iterable[NodeContent], instances: int, gpus: int) -> list[str]:
    """Return the nodes of as many new instances as fit, at most so many; the fullest nodes first."""
    free = sorted((content.capacity - content.used, content.name) for content in contents if content.takes_instances)
    return [name for left, name in free for _ in range(left // gpus)][:instances]
