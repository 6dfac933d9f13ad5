"""A stored verdict on a waiting job: its moves are played, its bounds recomputed, the rest is written again.

`docs/making/forms/rechecked.py` says of every key which of these it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from compass_core.errors import CompassError, InvalidJobError
from oracle.admission.answer import (
    PROOF_BY_TOTAL,
    STARTS,
    Admission,
    Placement,
    RoomEvidence,
    Verdict,
    reason_not_to_fit,
    reason_to_fit,
    reason_without_node,
)
from oracle.admission.fitting import free_gpus
from oracle.admission.question import AskedJob  # noqa: TC001 - msgspec reads the annotation
from oracle.moves.move import MoveMode, protect
from oracle.optimum.certificate import Status
from oracle.verification.checks import (
    BY_SEARCH,
    NO_SNAPSHOT,
    Check,
    ResultError,
    check_interrupted,
    compared,
    convert,
)
from oracle.verification.obstacles import ToldBlocker, check_blockers
from oracle.verification.rooms import PoolRoom
from oracle.verification.stored_moves import StoredMoves, asked, check_start
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oracle.admission.question import Question
    from oracle.snapshots.model import Snapshot


class _Certificate(msgspec.Struct, frozen=True):
    pools: tuple[RoomEvidence, ...] = ()


class ToldVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one job."""

    verdict: Verdict
    pool: str | None
    migrations: int | None
    lower_bound: int
    status: Status
    moves: list[dict[str, object]]
    stopped_first: list[dict[str, object]]
    placements: tuple[Placement, ...]
    reason: str
    proof: str
    blockers: tuple[ToldBlocker, ...]
    certificate: _Certificate = _Certificate()


class _ToldAdmission(ToldVerdict, frozen=True, kw_only=True):
    schema: str
    job: AskedJob
    mode: MoveMode
    protected: tuple[str, ...]
    max_per_job_at_once: int | None = None
    interrupted: bool = False
    jobs_at_start: list[dict[str, object]] | UnsetType = UNSET


def check_admission(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored verdict, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told = convert(data, _ToldAdmission)
    question = asked(told.mode, told.protected, told.max_per_job_at_once)
    yield from check_verdict(told, told.job, question, snapshot)
    yield from check_interrupted(interrupted=told.interrupted, settled=told.status is Status.OPTIMAL)
    yield from check_start(told.jobs_at_start, StoredMoves.of(told, question), snapshot)


def check_verdict(told: ToldVerdict, job: AskedJob, question: Question, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims about one job, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    listed = StoredMoves.of(told, question)
    try:
        job.check()
    except InvalidJobError as error:
        raise ResultError(str(error)) from error
    if snapshot is None:
        yield Check.of(f"verdict {told.verdict.value}", unknown=NO_SNAPSHOT)
        return
    try:
        snapshot = protect(snapshot, question.protected)
    except CompassError as error:
        yield Check.of("the verdict is about this cluster", str(error))
        return
    yield from _Verdict(told, listed, job, question, snapshot).checks()


class _Verdict:
    def __init__(
        self, told: ToldVerdict, listed: StoredMoves, job: AskedJob, question: Question, snapshot: Snapshot
    ) -> None:
        self._told = told
        self._listed = listed
        self._job = job
        self._question = question
        self._snapshot = snapshot
        self._weights = {one.pool: one.argument for one in told.certificate.pools}
        self._rooms = {
            pool: PoolRoom(
                contents,
                job.in_pool(pool),
                live=question.mode is MoveMode.LIVE,
                ordered=question.max_per_job_at_once is None,
                weights=self._weights.get(pool),
            )
            for pool, contents in snapshot.contents.items()
            if job.pool in {None, pool}
        }
        self._ready = next((pool for pool, room in self._rooms.items() if room.is_ready), None)
        self._name = f"{job.instances}x{job.gpus_per_instance} GPUs"

    def checks(self) -> Iterator[Check]:
        """Yield the claims."""
        told = self._told
        wrong = ""
        if not set(self._weights) <= set(self._rooms) or len(self._weights) < len(told.certificate.pools):
            wrong = "it is about another pool, or about one pool twice"
        wrong = wrong or next((f"{pool}: {idle}" for pool in self._weights if (idle := self._rooms[pool].idle())), "")
        if wrong:
            yield Check.of("the evidence is about this cluster", wrong)
            return
        yield from self._verdict()
        yield self._written_again()
        if told.verdict in STARTS:
            yield Check("nothing stands in its way", not told.blockers)
        else:
            yield from check_blockers(told.blockers, self._rooms, self._snapshot, all_=told.verdict is Verdict.CANNOT)
        yield _in_words("reason", told.reason, self._reason())
        yield _in_words("proof", told.proof, self._proof())

    def _verdict(self) -> Iterator[Check]:
        told = self._told
        nothing = told.pool is None and not (self._listed.moves or self._listed.stops or told.placements)
        if told.verdict is Verdict.CANNOT:
            yield Check("a job that cannot start has no moves", nothing and not told.lower_bound)
            yield self._never()
            return
        if told.verdict is Verdict.UNKNOWN:
            wrong = "" if self._ready is None else f"it has room in pool {self._ready} as it is"
            yield Check("it is not known whether it can start", nothing and not wrong, wrong)
        else:
            yield Check.of(f"{self._name} have room after {count(told.migrations or 0, 'move')}", self._obstacle())
        yield self._fewest_moves()

    def _obstacle(self) -> str:
        """Return what stands against the moves and the placements; empty if nothing does."""
        told = self._told
        if (told.verdict is Verdict.FITS_NOW) is bool(self._listed.moves):
            return f"{count(len(self._listed.moves), 'move')} listed"
        if told.verdict is Verdict.FITS_AFTER and self._ready is not None:
            return "it has room as it is"
        if told.pool not in self._rooms:
            return f"{told.pool} is no pool it may be in"
        job = replace(self._job, pool=told.pool)
        return self._listed.obstacle(self._snapshot, {self._name: job}, [(self._name, one) for one in told.placements])

    def _fewest_moves(self) -> Check:
        bound, attained = self._told.lower_bound, self._told.migrations
        claim = f"it takes at least {count(bound, 'move')}"
        if bound < 0 or (attained is not None and bound > attained):
            return Check.of(claim, f"{attained} are listed")
        return self._everywhere(claim, lambda room: room.takes(bound), "fewer do in pool {}", "in pool {}")

    def _never(self) -> Check:
        against, open_ = "pool {} has room for it, or can be given it", "in pool {}, which no weights rule out"
        return self._everywhere(f"{self._name} cannot start", PoolRoom.never, against, open_)

    def _everywhere(self, claim: str, holds: Callable[[PoolRoom], bool | None], against: str, open_: str) -> Check:
        """Return whether something holds of all pools, or in which one it does not, or nobody can tell."""
        found = {pool: holds(room) for pool, room in self._rooms.items()}
        wrong = [against.format(pool) for pool, answer in found.items() if answer is False]
        unknown = [f"{BY_SEARCH} {open_.format(pool)}" for pool, answer in found.items() if answer is None]
        return Check.of(claim, "".join(wrong[:1]), "".join(unknown[:1]))

    def _written_again(self) -> Check:
        """Return whether the rest is what these moves, this bound and this verdict are written as."""
        told = self._told
        written = Admission(
            job=self._job,
            question=self._question,
            verdict=told.verdict,
            reason=told.reason,
            proof=told.proof,
            pool=told.pool,
            order=self._listed.order,
            placements=tuple(sorted(told.placements)),
            lower_bound=told.lower_bound,
        ).verdict_json()
        names = [name for name in ToldVerdict.__struct_fields__ if name not in {"blockers", "certificate"}]
        stored = msgspec.to_builtins({name: getattr(told, name) for name in names})
        return compared(
            f"the status {told.status.value!r}, the number of moves and their order follow", stored, written
        )

    def _reason(self) -> str | None:
        """Return the reason as it is said of this cluster; None where it is not told in words that are known."""
        told = self._told
        if told.verdict in STARTS and told.pool in self._rooms:
            room = self._rooms[told.pool]
            return reason_to_fit(min(room.now, self._job.instances), room.waiting, len(self._listed.moves))
        if told.verdict is not Verdict.CANNOT:
            return None
        if not self._rooms:
            return reason_without_node(self._job.pool, self._snapshot)
        rooms = self._rooms.values()
        said = (reason_not_to_fit(room.waiting, free_gpus(room.contents), room.most) for room in rooms)
        reason = "; ".join(said)
        return reason if reason == told.reason else None

    def _proof(self) -> str | None:
        """Return what is said to prove the verdict; None where that is a search or a solver."""
        told = self._told
        if told.verdict is Verdict.FITS_NOW or (told.verdict is Verdict.UNKNOWN and not told.proof):
            return ""
        if told.verdict is not Verdict.CANNOT:
            return None
        found = [
            PROOF_BY_TOTAL if free_gpus(room.contents) < self._job.total_gpus else room.weights_in_words()
            for room in self._rooms.values()
        ]
        return "; ".join(found) if all(found) else None


def _in_words(what: str, told: str, derived: str | None) -> Check:
    claim = f"the {what} in words"
    if derived is None:
        return Check.of(claim, unknown="words are not read")
    return Check.of(claim, "" if told == derived else f"it is: {derived or 'none'}")
