"""What is answered about waiting jobs: a verdict on one, or what can start of a queue; with the reasons in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from oracle.moves.move import MoveOrder
from oracle.moves.stored import start_to_json
from oracle.optimum.certificate import Status
from oracle.optimum.weights import Weights  # noqa: TC001 - msgspec reads the annotation
from oracle.snapshots.model import UnknownPoolError
from oracle.snapshots.overlooked import overlooked_json
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.admission.blockers import Blocker
    from oracle.admission.question import AskedJob, Question, Waiting
    from oracle.moves.move import Move, Stop
    from oracle.snapshots.model import RunningJob, Skipped, Snapshot

SCHEMA = "compass-abs/admit/3"
QUEUE_SCHEMA = "compass-abs/admit-queue/3"

# What proves that a job cannot start where too few GPUs are free.
PROOF_BY_TOTAL = "total of free GPUs"


# Racks may be many, and what is said of them is much the same.
_AREAS_IN_FULL = 8


class Verdict(StrEnum):
    """Whether a job can start. UNKNOWN claims nothing: the search was given up."""

    FITS_NOW = "fits_now"
    FITS_AFTER = "fits_after"
    CANNOT = "cannot"
    UNKNOWN = "unknown"


STARTS = frozenset({Verdict.FITS_NOW, Verdict.FITS_AFTER})


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """Where one instance of the waiting job would go."""

    instance: int
    node: str


def placements_on(nodes: Mapping[int, str]) -> tuple[Placement, ...]:
    """Return where the instances of a job go, given the node of each by number."""
    return tuple(Placement(i, node) for i, node in sorted(nodes.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvidence:
    """Weights about one pool, the instances that wait counted among those that run there.

    Attributes
    ----------
    pool
        Its name.
    argument
        Why the job does not fit, however instances are moved, or why it takes several moves before it fits; None if
        neither is so, or if that rests on a solver's word.
    no_more
        Of instances that start one by one, why no more fit than start; None if all do, or if that rests on a solver's
        word.
    """

    pool: str
    argument: Weights | None = None
    no_more: Weights | None = None

    def to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The verdict on a waiting job, with what has to be done before it starts or what keeps it from starting.

    Attributes
    ----------
    job, question
        What was asked.
    verdict
        FITS_NOW, FITS_AFTER, CANNOT or UNKNOWN.
    reason
        One line.
    proof
        What rules out that it starts, or that it does so after fewer moves: weights (`oracle.optimum.weights`), a
        solver with its version, a search.
    pool
        The pool it would start in, or the pools; None without one.
    order
        What has to be done first.
    placements
        A node for every instance that starts, once that is done: all of them, unless they start one by one.
    lower_bound
        No way to let it start has fewer moves; without meaning if it cannot.
    most
        No more of its instances can start, whatever is moved.
    blockers
        What keeps it from starting, if it cannot.
    evidence
        Weights about the pools that were searched: what of the verdict can be checked without a solver.
    interrupted
        Whether the search was ended early by `oracle.optimum.interruption`.
    at_start
        The jobs of which an instance moves, as they were: what is needed to take the moves up later.
    not_looked_at
        Constraints of jobs that the answer does not take into account (`Snapshot.not_looked_at`).
    """

    job: AskedJob
    question: Question
    verdict: Verdict
    reason: str
    proof: str = ""
    pool: str | None = None
    order: MoveOrder = field(default_factory=MoveOrder)
    placements: tuple[Placement, ...] = ()
    lower_bound: int = 0
    most: int = 0
    blockers: tuple[Blocker, ...] = ()
    evidence: tuple[RoomEvidence, ...] = ()
    interrupted: bool = False
    at_start: tuple[RunningJob, ...] = ()
    not_looked_at: tuple[Skipped, ...] = ()

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves before it starts, sorted by step."""
        return self.order.moves

    @property
    def stops(self) -> tuple[Stop, ...]:
        """The instances that stop before their destination is free, sorted by step."""
        return self.order.stops

    @property
    def migrations(self) -> int | None:
        """Moves before it can start, those to a parking place included; None if it cannot, or if that is unknown."""
        return len(self.moves) if self.verdict in STARTS else None

    @property
    def status(self) -> Status:
        """OPTIMAL if the verdict is settled, as many instances start as can, and its moves are fewest."""
        most, fewest = len(self.placements) == self.most, self.migrations == self.lower_bound
        settled = self.verdict is Verdict.CANNOT or (most and fewest)
        return Status.OPTIMAL if settled else Status.UNKNOWN

    def to_dict(self) -> dict[str, object]:
        """Return the verdict and what was asked as data for JSON: what ``sifopt verify`` checks."""
        return {
            "schema": SCHEMA,
            **self.verdict_json(),
            "jobs_at_start": start_to_json(self.at_start),
            "job": self.job.to_json(),
            "not_looked_at": overlooked_json(self.not_looked_at),
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
            "starting": len(self.placements),
            "most": self.most,
            "status": self.status.value,
            **self.order.to_json(),
            "placements": [asdict(placement) for placement in self.placements],
            "reason": self.reason,
            "proof": self.proof,
            "blockers": [blocker.to_json() for blocker in self.blockers],
            "certificate": {"pools": [pool.to_json() for pool in self.evidence]},
        }


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
        For every job in `jobs`, a node for each of its instances that starts.
    starting
        How many these are: a job counts once, but each instance of those that start one by one.
    most
        No more can start together, whatever is moved.
    moves_lower_bound
        So many cannot start together after fewer moves.
    """

    jobs: tuple[str, ...]
    order: MoveOrder
    placements: tuple[tuple[Placement, ...], ...]
    starting: int
    most: int
    moves_lower_bound: int

    @property
    def status(self) -> Status:
        """OPTIMAL if no larger set can start together, and no other set as large after fewer moves."""
        met = (self.starting, len(self.order.moves)) == (self.most, self.moves_lower_bound)
        return Status.OPTIMAL if met else Status.UNKNOWN

    def to_json(self) -> dict[str, object]:
        """Return the set as it stands in `together` of a queue's admission."""
        return {
            "jobs": list(self.jobs),
            "migrations": len(self.order.moves),
            **self.order.to_json(),
            "placements": [
                {"job": job, **asdict(placement)}
                for job, placements in zip(self.jobs, self.placements, strict=True)
                for placement in placements
            ],
            "starting": self.starting,
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
        What was asked: the queue with the names of its jobs, the only pool asked about (None for all), and what may be
        moved.
    passed_over
        The jobs before the first one that can start, with their verdicts (CANNOT or UNKNOWN), in queue order.
    first
        The first job that can start alone, and how; None if none is known to.
    together
        The most jobs that can start together.
    interrupted
        Whether the search was ended early by `oracle.optimum.interruption`.
    not_looked_at
        As of an `Admission`.
    """

    jobs: tuple[tuple[str, AskedJob], ...]
    pool: str | None
    question: Question
    passed_over: tuple[tuple[str, Admission], ...]
    first: tuple[str, Admission] | None
    together: Together
    interrupted: bool = False
    not_looked_at: tuple[Skipped, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the answer and what was asked as data for JSON: what ``sifopt verify`` checks."""
        return {
            "schema": QUEUE_SCHEMA,
            "passed_over": [{"name": job, **admission.verdict_json()} for job, admission in self.passed_over],
            "first": None if self.first is None else {"name": self.first[0], **self.first[1].verdict_json()},
            "together": self.together.to_json(),
            "jobs": [{"name": name, **job.to_json()} for name, job in self.jobs],
            "pool": self.pool,
            "not_looked_at": overlooked_json(self.not_looked_at),
            **self.question.to_json(),
            "interrupted": self.interrupted,
        }


def of_all_areas(texts: Sequence[str]) -> str:
    """Return in one line what is said of several areas, of the first in full."""
    more = len(texts) - _AREAS_IN_FULL
    return "; ".join(texts[:_AREAS_IN_FULL]) + (f"; and likewise {more} more" if more > 0 else "")


def reason_to_fit(fitting: int, waiting: Waiting, starting: int, most: int, moves: int) -> str:
    """Return in words that so many instances fit as it is, and as many as start after so many moves, or at most."""
    size = waiting.size
    reason = f"{fitting} of {size} instances fit in pool {waiting.pool} as it is"
    if moves and starting == size:
        reason += f", {'all do' if size > 1 else 'it does'} after {count(moves, 'move')}"
    elif moves:
        reason += f", {starting} {'do' if starting > 1 else 'does'} after {count(moves, 'move')}"
    if starting == most < size:
        reason += ", and no more do however running instances are moved"
    return reason


def reason_not_to_fit(waiting: Waiting, free: int, most: int) -> str:
    """Return in words that too few GPUs are free, or that at most so many instances fit whatever is moved."""
    if free < waiting.least_gpus:
        return f"needs {count(waiting.least_gpus, 'GPU')}, and pool {waiting.pool} has {free} free"
    each = f" of {count(waiting.gpus_per_instance, 'GPU')}" if len(set(waiting.part_gpus)) == 1 else ""
    where = f"the nodes of pool {waiting.pool} that take new ones"
    return f"at most {most} of {waiting.size} instances{each} fit on {where}, however running instances are moved"


def reason_without_node(pool: str | None, snapshot: Snapshot) -> str:
    """Return in words that no node is in the only pool asked about, or that there is none at all."""
    return "the cluster has no node" if pool is None else str(UnknownPoolError(pool, snapshot))
