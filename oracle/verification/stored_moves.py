"""The moves of a stored answer: read, played, and what is to start after them put where the answer puts it.

A plan has such moves, and so has what is said of a waiting job or of several. All is recomputed from the snapshot: what
ran, what it is called, where there is room once the moves are made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from oracle.admission.question import Question
from oracle.moves.move import Move, MoveError, MoveMode, MoveOrder, Stop
from oracle.moves.replay import replay
from oracle.moves.stored import at_start, read_moves, start_to_json
from oracle.optimum.node_classes import contents_after
from oracle.verification.checks import NO_SNAPSHOT, Check, ResultError
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.admission.answer import Placement
    from oracle.admission.question import AskedJob
    from oracle.snapshots.model import Snapshot


def asked(mode: MoveMode, protected: Sequence[str], max_per_job_at_once: int | None) -> Question:
    """Return what was asked about waiting jobs.

    Raises
    ------
    ResultError
        Nobody can have asked that.
    """
    try:
        return Question.of(mode, protected, max_per_job_at_once)
    except ValueError as error:
        raise ResultError(str(error)) from error


@dataclass(frozen=True, slots=True)
class StoredMoves:
    """What an answer says is to be done, in order, and the limits it keeps to.

    Attributes
    ----------
    moves, stops
        Those of the answer, sorted.
    mode
        Whether instances may be stopped first.
    max_per_job_at_once
        Instances of one job that may be stopped or moving at a time; None for any number.
    """

    moves: tuple[Move, ...]
    stops: tuple[Stop, ...]
    mode: MoveMode
    max_per_job_at_once: int | None

    @property
    def order(self) -> MoveOrder:
        """The moves as an answer has them."""
        return MoveOrder(moves=self.moves, stops=self.stops)

    @classmethod
    def of(cls, told: msgspec.Struct, question: Question) -> StoredMoves:
        """Return the moves of a part of an answer to this question.

        Raises
        ------
        ResultError
            They have another form.
        """
        return cls.read(msgspec.to_builtins(told), question.mode, question.max_per_job_at_once)

    @classmethod
    def read(cls, data: object, mode: MoveMode, max_per_job_at_once: int | None) -> StoredMoves:
        """Return the moves that are in these data.

        Raises
        ------
        ResultError
            They have another form.
        """
        try:
            moves, stops = read_moves(data)
        except MoveError as error:
            raise ResultError(str(error)) from error
        return cls(tuple(sorted(moves)), tuple(sorted(stops)), mode, max_per_job_at_once)

    def play(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot after the moves.

        Raises
        ------
        MoveError
            They cannot be made, or not in this mode.
        """
        if self.mode is MoveMode.LIVE and self.stops:
            raise MoveError("an instance is stopped first, and the moves should be live")
        if any(stop.before_step < 1 for stop in self.stops):
            raise MoveError("steps count from 1")
        return replay(snapshot, self.moves, self.stops, max_per_job_at_once=self.max_per_job_at_once)

    def obstacle(
        self, snapshot: Snapshot, jobs: Mapping[str, AskedJob], placed: Sequence[tuple[str, Placement]]
    ) -> str:
        """Return what keeps these jobs from starting on these nodes once the moves are made; empty if nothing does."""
        return next(self._obstacles(snapshot, jobs, placed), "")

    def _obstacles(
        self, snapshot: Snapshot, jobs: Mapping[str, AskedJob], placed: Sequence[tuple[str, Placement]]
    ) -> Iterator[str]:
        instances = {(job, placement.instance) for job, placement in placed}
        if not len(placed) == len(instances) == sum(job.instances for job in jobs.values()) or not all(
            job in jobs and 0 <= instance < jobs[job].instances for job, instance in instances
        ):
            yield "not every instance has one node"
            return
        try:
            after = contents_after(snapshot, self.play(snapshot))
        except MoveError as error:
            yield str(error)
            return
        open_ = [(pool, node) for pool, nodes in after.items() for node in nodes if node.takes_instances]
        free = {node.name: (pool, node.capacity - node.used) for pool, node in open_}
        taken: Counter[str] = Counter()
        pools: dict[str, set[str]] = {}
        for job, placement in placed:
            pool, room = free.get(placement.node, ("", 0))
            taken[placement.node] += jobs[job].gpus_per_instance
            pools.setdefault(job, set()).add(pool)
            if taken[placement.node] > room:
                yield f"node {placement.node} has {count(room, 'free GPU')} for what should start there"
        for job, names in pools.items():
            if len(names) > 1 or jobs[job].pool not in {None, *names}:
                yield f"the instances of {job} are not all in its pool"


def check_start(
    told: list[dict[str, object]] | UnsetType, listed: StoredMoves, snapshot: Snapshot | None
) -> Iterator[Check]:
    """Yield whether the jobs of the moves were as they are listed, and are called so; nothing of older documents."""
    if told is UNSET:
        return
    claim = "the jobs of the moves are listed as they were"
    if snapshot is None:
        yield Check.of(claim, unknown=NO_SNAPSHOT)
        return
    names = {(job.name, i): instance.name for job in snapshot.jobs for i, instance in enumerate(job.instances)}
    called: list[Move | Stop] = [*listed.moves, *listed.stops]
    wrong = ""
    if any(one.name != names.get((one.job, one.instance)) for one in called):
        wrong = "a move or a stop does not name its instance as the snapshot does"
    if told != start_to_json(at_start(snapshot, listed.moves)):
        wrong = "jobs_at_start is not what the snapshot has"
    yield Check.of(claim, wrong)
