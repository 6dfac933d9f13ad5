"""Several waiting jobs: the first in queue order that can start, and the most that can start together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracle.admission.jobs import Admission, Placement, Verdict, admission_of, best_fit
from oracle.admission.joint_room import make_joint_room
from oracle.admission.question import AskedJob, Question, jobs_for
from oracle.measurement.measure import check_pool
from oracle.moves.live_moves import live_sequence
from oracle.moves.move import MoveMode, MoveOrder, protect, with_names
from oracle.moves.ordering import NoOrderError
from oracle.moves.rematching import order_interchangeably
from oracle.moves.replay import Occupancy, replay
from oracle.moves.timetable import in_steps
from oracle.optimum import interruption
from oracle.optimum.certificate import Status
from oracle.optimum.solver import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.admission.joint_room import JointRoom
    from oracle.snapshots.model import PendingJob, Snapshot

SCHEMA = "compass-abs/admit-queue/2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Waiting jobs that can start together.

    Attributes
    ----------
    jobs
        Their names, in queue order.
    order
        What has to be done first.
    placements
        For every job in `jobs`, a node for each of its instances.
    most
        No more jobs can start together, whatever is moved.
    moves_lower_bound
        So many jobs cannot start together after fewer moves.
    """

    jobs: tuple[str, ...]
    order: MoveOrder
    placements: tuple[tuple[Placement, ...], ...]
    most: int
    moves_lower_bound: int

    @property
    def status(self) -> Status:
        """OPTIMAL if no larger set can start together, and no other set as large after fewer moves."""
        met = (len(self.jobs), len(self.order.moves)) == (self.most, self.moves_lower_bound)
        return Status.OPTIMAL if met else Status.UNKNOWN

    def to_json(self) -> dict[str, object]:
        """Return the set as it stands in `together` of a queue's admission."""
        return {
            "jobs": list(self.jobs),
            "migrations": len(self.order.moves),
            "moves": [move.to_json() for move in self.order.moves],
            "stopped_first": [stop.to_json() for stop in self.order.stops],
            "placements": [
                {"job": job, **placement.to_json()}
                for job, placements in zip(self.jobs, self.placements, strict=True)
                for placement in placements
            ],
            "most": self.most,
            "moves_lower_bound": self.moves_lower_bound,
            "status": self.status.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAdmission:
    """What can start of a queue.

    Attributes
    ----------
    jobs, pool, question
        What was asked: the queue, the only pool asked about (None for all), and what may be moved.
    passed_over
        The jobs before the first one that can start, with their verdicts (CANNOT or UNKNOWN), in queue order.
    first
        The first job that can start alone, and how; None if none is known to.
    together
        The most jobs that can start together.
    interrupted
        Whether the search was ended early by `oracle.optimum.interruption`.
    """

    jobs: tuple[PendingJob, ...]
    pool: str | None
    question: Question
    passed_over: tuple[tuple[str, Admission], ...]
    first: tuple[str, Admission] | None
    together: Together
    interrupted: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the answer and what was asked as data for JSON: what ``sifopt verify`` checks."""
        return {
            "schema": SCHEMA,
            "passed_over": [{"name": job, **admission.verdict_json()} for job, admission in self.passed_over],
            "first": None if self.first is None else {"name": self.first[0], **self.first[1].verdict_json()},
            "together": self.together.to_json(),
            "jobs": [{"name": job.name, **AskedJob.of(job).to_json()} for job in self.jobs],
            "pool": self.pool,
            **self.question.to_json(),
            "interrupted": self.interrupted,
        }


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
        if found.verdict in {Verdict.FITS_NOW, Verdict.FITS_AFTER}:
            first = job.name, found
            break
        passed_over.append((job.name, found))
    joint = _Joint(protect(snapshot, question.protected), jobs, max_per_job_at_once, deadline)
    together = joint.checkpoint() if question.mode is MoveMode.CHECKPOINT else joint.live()
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
    order = MoveOrder(moves=alone.moves, stops=alone.stops)
    return replace(together, jobs=(name,), order=order, placements=(alone.placements,))


class _Joint:
    """The question of what can start together."""

    def __init__(self, snapshot: Snapshot, jobs: Sequence[PendingJob], limit: int | None, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._jobs = jobs
        self._limit = limit
        self._deadline = deadline
        self._contents = snapshot.contents
        self._room = make_joint_room(snapshot, self._contents, jobs, deadline)

    def checkpoint(self) -> Together:
        """Return the most jobs that can start together if instances may be stopped."""
        try:
            order = order_interchangeably(self._snapshot, self._room.moves, max_per_job_at_once=self._limit)
        except NoOrderError:
            return self._as_it_is(self._room.most)
        return self._together(self._room, order)

    def live(self) -> Together:
        """Return the most jobs that can start together after moves into free space."""
        moves = live_sequence(self._snapshot, self._room.moves)
        if moves is None:
            return self._as_it_is(self._room.most)
        order = MoveOrder(moves=in_steps(moves, Occupancy(self._snapshot).free, self._limit))
        return self._together(self._room, order)

    def _together(self, room: JointRoom, order: MoveOrder) -> Together:
        if not room.nodes:
            return self._as_it_is(room.most)
        replay(self._snapshot, order.moves, order.stops, max_per_job_at_once=self._limit)
        return Together(
            jobs=tuple(self._jobs[j].name for j in sorted(room.nodes)),
            order=replace(
                order,
                moves=with_names(self._snapshot, order.moves),
                stops=with_names(self._snapshot, order.stops),
            ),
            placements=tuple(_placements(room.nodes[j]) for j in sorted(room.nodes)),
            most=room.most,
            moves_lower_bound=room.moves_lower_bound,
        )

    def _as_it_is(self, most: int) -> Together:
        """Return jobs that can start without a move, in queue order, as long as there is room."""
        starting: list[str] = []
        placements: list[tuple[Placement, ...]] = []
        contents = dict(self._contents)
        for job in self._jobs:
            for pool in contents if job.pool is None else {job.pool} & contents.keys():
                nodes = best_fit(contents[pool], job.instances, job.gpus_per_instance)
                if len(nodes) == job.instances:
                    taken = Counter(nodes)
                    contents[pool] = tuple(
                        replace(node, immovable=(*node.immovable, *[job.gpus_per_instance] * taken[node.name]))
                        for node in contents[pool]
                    )
                    starting.append(job.name)
                    placements.append(_placements(nodes))
                    break
        return Together(
            jobs=tuple(starting), order=MoveOrder(), placements=tuple(placements), most=most, moves_lower_bound=0
        )


def _placements(nodes: Sequence[str]) -> tuple[Placement, ...]:
    return tuple(Placement(i, node) for i, node in enumerate(nodes))
