"""A stored verdict on a waiting job: its moves are played, its bounds recomputed, the rest is written again.

`docs/making/forms/rechecked.py` says of every key which of these it is.
"""

from __future__ import annotations

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
    of_all_areas,
    reason_not_to_fit,
    reason_to_fit,
    reason_without_node,
)
from oracle.admission.areas import areas_of
from oracle.admission.fitting import free_gpus
from oracle.admission.question import AskedJob  # noqa: TC001 - msgspec reads the annotation
from oracle.moves.move import MoveMode
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
from oracle.verification.overlooked import ToldOverlooked, check_overlooked
from oracle.verification.rooms import AreaRoom
from oracle.verification.stored_moves import StoredMoves, ToldQuestion, check_start
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from oracle.admission.areas import Area
    from oracle.admission.question import Question
    from oracle.optimum.weights import Weights
    from oracle.snapshots.model import Snapshot


class _Certificate(msgspec.Struct, frozen=True):
    pools: tuple[RoomEvidence, ...] = ()


class ToldVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one job."""

    verdict: Verdict
    pool: str | None
    migrations: int | None
    lower_bound: int
    starting: int
    most: int
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
    max_per_budget: int | None = None
    max_priority: int | None = None
    interrupted: bool = False
    jobs_at_start: list[dict[str, object]] | UnsetType = UNSET
    not_looked_at: tuple[ToldOverlooked, ...] | UnsetType = UNSET


def check_admission(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored verdict, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told = convert(data, _ToldAdmission)
    question = convert(data, ToldQuestion, whole=False).question
    yield from check_verdict(told, told.job, question, snapshot)
    yield from check_interrupted(interrupted=told.interrupted, settled=told.status is Status.OPTIMAL)
    yield from check_start(told.jobs_at_start, StoredMoves.of(told, question), snapshot)
    yield from check_overlooked(told.not_looked_at, snapshot, told.job.pool)


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
        if snapshot is not None:
            job.check_known(snapshot)
    except InvalidJobError as error:
        raise ResultError(str(error)) from error
    if snapshot is None:
        yield Check.of(f"verdict {told.verdict.value}", unknown=NO_SNAPSHOT)
        return
    try:
        snapshot = question.spared(snapshot)
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
        told_pools = told.certificate.pools
        self._weights = {one.pool: one.argument for one in told_pools}
        self._no_more = {one.pool: one.no_more for one in told_pools}
        areas = {area.pool: area for area in areas_of(job, snapshot)}
        # Of what starts one by one it is asked whether anything can start, or so much as is told.
        self._starting = job.size if job.together else min(max(1, told.starting), job.size)
        self._rooms = {pool: self._room(area, self._starting, self._weights.get(pool)) for pool, area in areas.items()}
        # What has to be so that no more start; those that start together all do.
        self._further = {
            pool: self._room(area, told.most + 1, self._no_more.get(pool))
            for pool, area in areas.items()
            if told.verdict in STARTS and 0 < told.most < job.size
        }
        self._ready = next((pool for pool, room in self._rooms.items() if room.is_ready), None)
        self._name = f"{job.called} GPUs"

    def _room(self, area: Area, starting: int, weights: Weights | None) -> AreaRoom:
        question, snapshot = self._question, self._snapshot
        ordered = question.max_per_job_at_once is None and not snapshot.budgets
        live = question.mode is MoveMode.LIVE
        return AreaRoom(area, starting, live=live, ordered=ordered, weights=weights)

    def checks(self) -> Iterator[Check]:
        """Yield the claims."""
        told = self._told
        wrong = ""
        if not set(self._weights) <= set(self._rooms) or len(self._weights) < len(told.certificate.pools):
            wrong = "it is about another pool, or about one pool twice"
        wrong = wrong or next((f"{pool}: {idle}" for pool in self._weights if (idle := self._rooms[pool].idle())), "")
        more = (pool for pool, weights in self._no_more.items() if weights is not None)
        wrong = wrong or next((f"{pool}: {idle}" for pool in more if (idle := self._no_more_idle(pool))), "")
        if wrong:
            yield Check.of("the evidence is about this cluster", wrong)
            return
        yield from self._verdict()
        yield self._written_again()
        if told.verdict in STARTS:
            yield Check("nothing stands in its way", not told.blockers)
        else:
            all_ = told.verdict is Verdict.CANNOT
            yield from check_blockers(told.blockers, self._rooms, self._snapshot, all_=all_)
        yield _in_words("reason", told.reason, self._reason())
        yield _in_words("proof", told.proof, self._proof())

    def _no_more_idle(self, pool: str) -> str:
        """Return what is wrong with weights that are to show that no more instances fit; empty if nothing is."""
        room = self._further.get(pool)
        if room is None:
            return "the weights are about more instances than wait"
        return room.idle() or ("" if room.by_weights() else "the weights do not show that no more instances fit")

    def _verdict(self) -> Iterator[Check]:
        told = self._told
        nothing = told.pool is None and not (self._listed.moves or self._listed.stops or told.placements)
        if told.verdict is Verdict.CANNOT:
            yield Check("a job that cannot start has no moves", nothing and not told.lower_bound and not told.most)
            yield self._never()
            return
        if told.verdict is Verdict.UNKNOWN:
            wrong = "" if self._ready is None else f"it has room in pool {self._ready} as it is"
            yield Check("it is not known whether it can start", nothing and not wrong, wrong)
        else:
            some = "" if self._starting == self._job.size else f"{self._starting} instances of "
            yield Check.of(
                f"{some}{self._name} have room after {count(told.migrations or 0, 'move')}", self._obstacle()
            )
        yield self._fewest_moves()
        yield self._no_more_start()

    def _no_more_start(self) -> Check:
        """Return whether no more instances can start than is told."""
        most = self._told.most
        claim = f"no more than {count(most, 'instance')} of it can start"
        if not 1 <= most <= self._job.size or (self._job.together and most < self._job.size):
            return Check.of(claim, f"{self._job.size} wait")
        if most < self._told.starting:
            return Check.of(claim, f"{self._told.starting} do")
        if most == self._job.size:
            return Check(claim)
        return self._everywhere(claim, self._further, AreaRoom.never, "more fit in pool {}", "in pool {}")

    def _obstacle(self) -> str:
        """Return what stands against the moves and the placements; empty if nothing does."""
        told = self._told
        if (told.verdict is Verdict.FITS_NOW) is bool(self._listed.moves):
            return f"{count(len(self._listed.moves), 'move')} listed"
        if told.verdict is Verdict.FITS_AFTER and self._ready is not None:
            return "it has room as it is"
        if told.pool not in self._rooms:
            return f"{told.pool} is no pool it may be in"
        placed = [(self._name, one) for one in told.placements]
        wrong = self._listed.obstacle(self._snapshot, {self._name: self._job}, placed)
        usable = {node.name for node in self._rooms[told.pool].area.usable}
        if not wrong and not {one.node for one in told.placements} <= usable:
            return f"a node is not in pool {told.pool}"
        return wrong

    def _fewest_moves(self) -> Check:
        bound, attained = self._told.lower_bound, self._told.migrations
        claim = f"it takes at least {count(bound, 'move')}"
        if bound < 0 or (attained is not None and bound > attained):
            return Check.of(claim, f"{attained} are listed")
        return self._everywhere(claim, self._rooms, lambda room: room.takes(bound), "fewer do in pool {}", "in pool {}")

    def _never(self) -> Check:
        against, open_ = "pool {} has room for it, or can be given it", "in pool {}, which no weights rule out"
        return self._everywhere(f"{self._name} cannot start", self._rooms, AreaRoom.never, against, open_)

    @staticmethod
    def _everywhere(
        claim: str,
        rooms: Mapping[str, AreaRoom],
        holds: Callable[[AreaRoom], bool | None],
        against: str,
        open_: str,
    ) -> Check:
        """Return whether something holds of all areas, or in which one it does not, or nobody can tell."""
        found = {pool: holds(room) for pool, room in rooms.items()}
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
            most=told.most,
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
            if room.now is None:
                return None
            return reason_to_fit(room.now, room.area.waiting, told.starting, told.most, len(self._listed.moves))
        if told.verdict is not Verdict.CANNOT:
            return None
        if not self._rooms:
            return reason_without_node(self._job.pool, self._snapshot)
        rooms = self._rooms.values()
        said = (reason_not_to_fit(one.area.waiting, free_gpus(one.area.contents), one.most) for one in rooms)
        reason = of_all_areas([*said])
        return reason if reason == told.reason else None

    def _proof(self) -> str | None:
        """Return what is said to prove the verdict; None where that is a search or a solver."""
        told = self._told
        if (told.verdict is Verdict.FITS_NOW and told.starting == self._job.size) or (
            told.verdict is Verdict.UNKNOWN and not told.proof
        ):
            return ""
        if told.verdict is not Verdict.CANNOT:
            return None
        found = [
            PROOF_BY_TOTAL if free_gpus(room.area.contents) < self._job.least_gpus else room.weights_in_words()
            for room in self._rooms.values()
        ]
        return of_all_areas(found) if all(found) else None


def _in_words(what: str, told: str, derived: str | None) -> Check:
    claim = f"the {what} in words"
    if derived is None:
        return Check.of(claim, unknown="words are not read")
    return Check.of(claim, "" if told == derived else f"it is: {derived or 'none'}")
