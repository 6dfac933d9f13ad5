"""A stored verdict on a waiting job: its moves are played, its bounds recomputed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from compass_core.errors import CompassError
from oracle.admission import Verdict, reason_not_to_fit, reason_to_fit
from oracle.moves import MoveError, MoveMode, protect
from oracle.node_classes import contents_after, contents_by_pool
from oracle.rechecking.checks import NO_SNAPSHOT, Check, ResultError, convert
from oracle.rechecking.obstacles import check_blockers
from oracle.rechecking.rooms import PoolRoom, check_weights
from oracle.rechecking.stored_moves import StoredMoves
from oracle.rooms.blockers import Waiting, free_gpus
from oracle.rooms.evidence import RoomEvidence  # noqa: TC001 - msgspec reads the annotation
from oracle.rooms.question import AskedJob, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.model import Snapshot

_SEARCH = "rests on a search"


class ToldPlacement(msgspec.Struct, frozen=True):
    """Where one instance of it would go."""

    instance: int
    node: str


class _Certificate(msgspec.Struct, frozen=True):
    pools: tuple[RoomEvidence, ...] = ()


class ToldAdmission(msgspec.Struct, frozen=True):
    """The verdict."""

    verdict: Verdict
    pool: str | None
    migrations: int | None
    lower_bound: int
    status: str
    placements: tuple[ToldPlacement, ...]
    reason: str
    proof: str
    blockers: tuple[dict[str, object], ...]
    certificate: _Certificate = _Certificate()


class _Asked(msgspec.Struct, frozen=True):
    job: AskedJob


def check_admission(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored verdict, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    convert(data, ToldAdmission)  # what the verdict lacks is told before what the question lacks
    yield from check_verdict(data, convert(data, _Asked).job, convert(data, Question), snapshot)


def check_verdict(data: object, job: AskedJob, question: Question, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims about one job, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told = convert(data, ToldAdmission)
    if job.instances < 1 or job.gpus_per_instance < 1:
        asked = f"{job.instances} of {job.gpus_per_instance}"
        raise ResultError(f"a job has at least 1 instance of at least 1 GPU, got {asked}")
    if snapshot is None:
        yield Check(f"verdict {told.verdict.value}", None, NO_SNAPSHOT)
        return
    try:
        snapshot = protect(snapshot, question.protected)
    except CompassError as error:
        yield Check("the verdict is about this cluster", holds=False, detail=str(error))
        return
    yield from _Verdict(told, data, job, question, snapshot).checks()


class _Verdict:
    def __init__(
        self, told: ToldAdmission, data: object, job: AskedJob, question: Question, snapshot: Snapshot
    ) -> None:
        self._told = told
        self._job = job
        self._snapshot = snapshot
        self._listed = StoredMoves.read(data, question)
        contents = contents_by_pool(snapshot)
        self._evidence = {one.pool: one for one in told.certificate.pools}
        self._contents = {pool: nodes for pool, nodes in contents.items() if job.pool in {None, pool}}
        self._rooms = {
            pool: PoolRoom(
                nodes,
                job.instances,
                job.gpus_per_instance,
                live=question.mode is MoveMode.LIVE,
                ordered=question.max_per_job_at_once is None,
                evidence=self._evidence.get(pool),
            )
            for pool, nodes in self._contents.items()
        }
        self._name = f"{job.instances}x{job.gpus_per_instance} GPUs"

    def checks(self) -> Iterator[Check]:
        """Yield the claims."""
        told = self._told
        wrong = "; ".join(check_weights(evidence) for evidence in told.certificate.pools).strip("; ")
        if not set(self._evidence) <= set(self._contents) or len(self._evidence) < len(told.certificate.pools):
            wrong = "it is about another pool, or about one pool twice"
        if wrong:
            yield Check("the evidence is about this cluster", holds=False, detail=wrong)
            return
        verdict = list(self._verdict())
        yield from verdict
        yield self._status()
        yield from check_blockers(told.blockers, self._rooms, self._snapshot, all_=told.verdict is Verdict.CANNOT)
        yield from self._words(all(check.holds for check in verdict))

    def _verdict(self) -> Iterator[Check]:
        told = self._told
        if told.verdict in {Verdict.FITS_NOW, Verdict.FITS_AFTER}:
            yield self._started()
            yield self._fewest_moves()
            return
        nothing = told.migrations is None and told.pool is None
        yield Check(
            f"with verdict {told.verdict.value!r} nothing is to be done",
            nothing and not (self._listed.moves or self._listed.stops or told.placements),
        )
        if told.verdict is Verdict.CANNOT:
            yield self._never()
        else:
            yield Check("the verdict is unknown", detail="nothing is claimed")
            yield self._fewest_moves()

    def _started(self) -> Check:
        """Return whether the moves can be made and the job then has the room it was promised."""
        wrong = next(self._obstacles(), "")
        return Check(f"{self._name} have room after {self._told.migrations} moves", not wrong, wrong)

    def _obstacles(self) -> Iterator[str]:
        """Yield what stands against the moves and the placements, the first thing first."""
        told = self._told
        if len(self._listed.moves) != told.migrations or (told.verdict is Verdict.FITS_NOW) is bool(self._listed.moves):
            yield f"{len(self._listed.moves)} moves are listed"
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
                yield f"node {name} has {free.get(name, 0)} free GPUs for it"

    def _fewest_moves(self) -> Check:
        bound, attained = self._told.lower_bound, self._told.migrations
        claim = f"it takes at least {bound} moves"
        if attained is not None and bound > attained:
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

    def _status(self) -> Check:
        told = self._told
        claim = f"the status {told.status!r} follows"
        settled = told.verdict is Verdict.CANNOT or told.migrations == told.lower_bound
        optimal = settled and told.verdict is not Verdict.UNKNOWN
        follows = told.status == "unknown" or (told.status == "optimal" and optimal)
        return Check(claim, follows, "" if follows else "the bounds do not meet")

    def _reasons_not_to_fit(self) -> str:
        """Return what is said where no moves help, pool by pool."""
        found: list[str] = []
        for pool, room in self._rooms.items():
            waiting = Waiting(room.instances, room.gpus, pool)
            found.append(reason_not_to_fit(waiting, free_gpus(room.contents), room.most))
        return "; ".join(found)

    def _words(self, settled: bool) -> Iterator[Check]:
        """Yield what is only said in words: the reason where it can be made again, and who proved what is not."""
        told = self._told
        if (
            told.verdict in {Verdict.FITS_NOW, Verdict.FITS_AFTER}
            and told.pool is not None
            and told.pool in self._rooms
        ):
            fitting = min(self._rooms[told.pool].now, self._job.instances)
            waiting = Waiting(self._job.instances, self._job.gpus_per_instance, told.pool)
            said = reason_to_fit(fitting, waiting, len(self._listed.moves))
            yield Check("the reason in words", told.reason == said, "" if told.reason == said else f"it is: {said}")
        else:
            known = told.verdict is Verdict.CANNOT and told.reason == self._reasons_not_to_fit()
            yield Check("the reason in words", True if known else None, "" if known else "words are not read")
        if told.proof and not settled:
            yield Check("the proof in words", None, "words are not read")
