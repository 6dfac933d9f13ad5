"""A stored verdict on a waiting job: its moves are played, its bounds recomputed, the rest is written again.

`docs/making/forms/rechecked.py` says of every key which of these it is.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from compass_core.errors import CompassError
from oracle.admission.answer import (
    PROOF_BY_TOTAL,
    STARTS,
    Admission,
    Placement,
    Verdict,
    reason_not_to_fit,
    reason_to_fit,
    reason_without_node,
)
from oracle.admission.blockers import Waiting, free_gpus
from oracle.admission.question import AskedJob  # noqa: TC001 - msgspec reads the annotation
from oracle.admission.room import RoomEvidence  # noqa: TC001 - as above
from oracle.moves.move import MoveError, MoveMode, protect
from oracle.optimum.certificate import Status
from oracle.optimum.node_classes import contents_after
from oracle.verification.checks import NO_SNAPSHOT, Check, ResultError, check_interrupted, compared, convert
from oracle.verification.obstacles import ToldBlocker, check_blockers
from oracle.verification.rooms import PoolRoom
from oracle.verification.start import check_start
from oracle.verification.stored_moves import StoredMoves, asked
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.admission.question import Question
    from oracle.snapshots.model import Snapshot

_SEARCH = "rests on a search"


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
    listed = StoredMoves.read(told, question)
    yield from check_start(told.jobs_at_start, listed.moves, listed.stops, snapshot)


def check_verdict(told: ToldVerdict, job: AskedJob, question: Question, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims about one job, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    listed = StoredMoves.read(told, question)
    if job.instances < 1 or job.gpus_per_instance < 1:
        wanted = f"{job.instances} of {job.gpus_per_instance}"
        raise ResultError(f"a job has at least 1 instance of at least 1 GPU, got {wanted}")
    if snapshot is None:
        yield Check(f"verdict {told.verdict.value}", None, NO_SNAPSHOT)
        return
    try:
        snapshot = protect(snapshot, question.protected)
    except CompassError as error:
        yield Check("the verdict is about this cluster", holds=False, detail=str(error))
        return
    yield from _Verdict(told, listed, job, snapshot).checks()


class _Verdict:
    def __init__(self, told: ToldVerdict, listed: StoredMoves, job: AskedJob, snapshot: Snapshot) -> None:
        self._told = told
        self._job = job
        self._snapshot = snapshot
        self._listed = listed
        contents = snapshot.contents
        self._evidence = {one.pool: one for one in told.certificate.pools}
        self._contents = {pool: nodes for pool, nodes in contents.items() if job.pool in {None, pool}}
        self._rooms = {
            pool: PoolRoom(
                nodes,
                job.instances,
                job.gpus_per_instance,
                live=listed.question.mode is MoveMode.LIVE,
                ordered=listed.question.max_per_job_at_once is None,
                evidence=self._evidence.get(pool),
            )
            for pool, nodes in self._contents.items()
        }
        self._name = f"{job.instances}x{job.gpus_per_instance} GPUs"

    def checks(self) -> Iterator[Check]:
        """Yield the claims."""
        told = self._told
        wrong = ""
        if not set(self._evidence) <= set(self._contents) or len(self._evidence) < len(told.certificate.pools):
            wrong = "it is about another pool, or about one pool twice"
        wrong = wrong or next((f"{pool}: {idle}" for pool in self._evidence if (idle := self._rooms[pool].idle())), "")
        if wrong:
            yield Check("the evidence is about this cluster", holds=False, detail=wrong)
            return
        verdict = list(self._verdict())
        yield from verdict
        yield self._written_again()
        if told.verdict in STARTS:
            yield Check("nothing stands in its way", not told.blockers)
        else:
            yield from check_blockers(told.blockers, self._rooms, self._snapshot, all_=told.verdict is Verdict.CANNOT)
        yield _in_words("reason", told.reason, self._reason())
        yield _in_words("proof", told.proof, self._proof())

    def _verdict(self) -> Iterator[Check]:
        told = self._told
        if told.verdict in STARTS:
            yield self._started()
            yield self._fewest_moves()
            return
        nothing = told.pool is None and not (self._listed.moves or self._listed.stops or told.placements)
        if told.verdict is Verdict.CANNOT:
            yield Check("a job that cannot start has no moves", nothing and not told.lower_bound)
            yield self._never()
        else:
            ready = next((pool for pool, room in self._rooms.items() if room.now >= room.instances), None)
            wrong = "" if ready is None else f"it has room in pool {ready} as it is"
            yield Check("it is not known whether it can start", nothing and not wrong, wrong)
            yield self._fewest_moves()

    def _started(self) -> Check:
        """Return whether the moves can be made and the job then has the room it was promised."""
        wrong = next(self._obstacles(), "")
        return Check(f"{self._name} have room after {count(self._told.migrations or 0, 'move')}", not wrong, wrong)

    def _obstacles(self) -> Iterator[str]:
        """Yield what stands against the moves and the placements, the first thing first."""
        told = self._told
        if (told.verdict is Verdict.FITS_NOW) is bool(self._listed.moves):
            yield f"{count(len(self._listed.moves), 'move')} listed"
        if told.verdict is Verdict.FITS_AFTER and any(room.now >= room.instances for room in self._rooms.values()):
            yield "it has room as it is"
        yield from self._listed.faults()
        numbers = [placement.instance for placement in told.placements]
        if len(numbers) != self._job.instances or set(numbers) != set(range(len(numbers))):
            yield "not every instance has one node"
        if told.pool not in self._contents:
            yield f"{told.pool} is no pool it may be in"
            return
        try:
            after = self._listed.play(self._snapshot)
        except MoveError as error:
            yield str(error)
            return
        nodes = contents_after(self._snapshot, after)[told.pool]
        free = {node.name: node.capacity - node.used for node in nodes if node.takes_instances}
        for name, instances in Counter(placement.node for placement in told.placements).items():
            if instances * self._job.gpus_per_instance > free.get(name, 0):
                yield f"node {name} has {count(free.get(name, 0), 'free GPU')} for it"

    def _fewest_moves(self) -> Check:
        bound, attained = self._told.lower_bound, self._told.migrations
        claim = f"it takes at least {count(bound, 'move')}"
        if bound < 0 or (attained is not None and bound > attained):
            return Check(claim, holds=False, detail=f"{attained} are listed")
        found = {pool: room.takes(bound) for pool, room in self._rooms.items()}
        fewer = [pool for pool, takes in found.items() if takes is False]
        if fewer:
            return Check(claim, holds=False, detail=f"fewer do in pool {fewer[0]}")
        unknown = [pool for pool, takes in found.items() if takes is None]
        return Check(claim, None if unknown else True, f"{_SEARCH} in pool {unknown[0]}" if unknown else "")

    def _never(self) -> Check:
        claim = f"{self._name} cannot start"
        found = {pool: room.never() for pool, room in self._rooms.items()}
        possible = [pool for pool, never in found.items() if never is False]
        if possible:
            return Check(claim, holds=False, detail=f"pool {possible[0]} has room for it, or can be given it")
        unknown = [pool for pool, never in found.items() if never is None]
        detail = f"{_SEARCH} in pool {unknown[0]}, which no weights rule out" if unknown else ""
        return Check(claim, None if unknown else True, detail)

    def _written_again(self) -> Check:
        """Return whether the rest is what these moves, this bound and this verdict are written as."""
        told = self._told
        written = Admission(
            job=self._job,
            question=self._listed.question,
            verdict=told.verdict,
            reason=told.reason,
            proof=told.proof,
            pool=told.pool,
            order=self._listed.order,
            placements=tuple(sorted(told.placements)),
            lower_bound=told.lower_bound,
        ).verdict_json()
        apart = ("blockers", "certificate")
        names = ToldVerdict.__struct_fields__
        stored = {name: value for name, value in self._listed.data.items() if name in names and name not in apart}
        return compared(
            f"the status {told.status.value!r}, the number of moves and their order follow", stored, written
        )

    def _reason(self) -> str | None:
        """Return the reason as it is said of this cluster; None where it is not told in words that are known."""
        told = self._told
        if told.verdict in STARTS and told.pool in self._rooms:
            room = self._rooms[told.pool]
            return reason_to_fit(min(room.now, room.instances), _waiting(told.pool, room), len(self._listed.moves))
        if told.verdict is not Verdict.CANNOT:
            return None
        if not self._rooms:
            return reason_without_node(self._job.pool, self._snapshot)
        said = (
            reason_not_to_fit(_waiting(pool, room), free_gpus(room.contents), room.most)
            for pool, room in self._rooms.items()
        )
        reason = "; ".join(said)
        return reason if reason == told.reason else None

    def _proof(self) -> str | None:
        """Return what is said to prove the verdict; None where that is a search or a solver."""
        if self._told.verdict is Verdict.FITS_NOW or (self._told.verdict is Verdict.UNKNOWN and not self._told.proof):
            return ""
        if self._told.verdict is not Verdict.CANNOT:
            return None
        found: list[str] = []
        for room in self._rooms.values():
            words = room.weights_in_words()
            if free_gpus(room.contents) < room.instances * room.gpus:
                found.append(PROOF_BY_TOTAL)
            elif words:
                found.append(words)
            else:
                return None
        return "; ".join(found)


def _waiting(pool: str, room: PoolRoom) -> Waiting:
    return Waiting(room.instances, room.gpus, pool)


def _in_words(what: str, told: str, derived: str | None) -> Check:
    claim = f"the {what} in words"
    if derived is None:
        return Check(claim, None, "words are not read")
    return Check(claim, told == derived, "" if told == derived else f"it is: {derived or 'none'}")
