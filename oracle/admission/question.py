"""What is asked about waiting jobs: which one, and what may be moved for it. Answers carry it, to be checked later."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from compass_core.errors import InvalidJobError
from oracle.moves.move import MoveMode, MoveOrder
from oracle.moves.ordering import NoOrderError, live_sequence, order_interchangeably
from oracle.moves.replay import Occupancy
from oracle.moves.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.moves.move import Move, Relocated
    from oracle.snapshots.model import PendingJob, Snapshot


@dataclass(frozen=True, slots=True)
class AskedJob:
    """A waiting job: its instances, the GPUs of each, and its pool; None for any one pool."""

    instances: int
    gpus_per_instance: int
    pool: str | None

    @classmethod
    def of(cls, job: PendingJob) -> AskedJob:
        """Return what a job of a snapshot asks for."""
        return cls(job.instances, job.gpus_per_instance, job.pool)

    @property
    def total_gpus(self) -> int:
        """GPUs of all its instances together."""
        return self.instances * self.gpus_per_instance

    def check(self) -> None:
        """Check that there can be such a job.

        Raises
        ------
        InvalidJobError
            It asks for less than one instance or one GPU.
        """
        if self.instances < 1 or self.gpus_per_instance < 1:
            got = f"{self.instances} of {self.gpus_per_instance}"
            raise InvalidJobError(f"a job has at least 1 instance of at least 1 GPU, got {got}")

    def in_pool(self, pool: str) -> Waiting:
        """Return the job as one that waits for this pool."""
        return Waiting(self.instances, self.gpus_per_instance, pool)

    def to_json(self) -> dict[str, object]:
        """Return the job as data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Waiting(AskedJob):
    """A job that waits for one pool."""

    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is the same for all jobs that are asked about.

    Attributes
    ----------
    mode
        Whether instances may be stopped before their destination is free.
    protected
        Jobs, namespaces and instances that stay where they are, sorted.
    max_per_job_at_once
        Instances of one job that may be stopped or moving at a time; None for no limit.
    """

    mode: MoveMode
    protected: tuple[str, ...]
    max_per_job_at_once: int | None = None

    @classmethod
    def of(cls, mode: MoveMode | str, protected: Iterable[str], max_per_job_at_once: int | None) -> Question:
        """Return the question in these words.

        Raises
        ------
        ValueError
            `mode` is no such mode, or `max_per_job_at_once` is below 1.
        """
        if max_per_job_at_once is not None and max_per_job_at_once < 1:
            raise ValueError(f"max_per_job_at_once: expected at least 1 instance, got {max_per_job_at_once}")
        return cls(
            mode=MoveMode(mode), protected=tuple(sorted(set(protected))), max_per_job_at_once=max_per_job_at_once
        )

    def ordered(self, snapshot: Snapshot, relocations: Sequence[Relocated]) -> MoveOrder:
        """Return these relocations in an order that is allowed, or the like with destinations exchanged.

        Raises
        ------
        NoOrderError
            None was found; there may be one.
        """
        if self.mode is MoveMode.CHECKPOINT:
            return order_interchangeably(snapshot, relocations, max_per_job_at_once=self.max_per_job_at_once)
        sequence = live_sequence(snapshot, relocations)
        if sequence is None:
            raise NoOrderError("no sequence of moves into free space was found; there may be one")
        return self.in_steps(snapshot, sequence)

    def in_steps(self, snapshot: Snapshot, sequence: Iterable[Move]) -> MoveOrder:
        """Return a sequence of moves into free space in steps."""
        return MoveOrder(moves=in_steps(sequence, Occupancy(snapshot).free, self.max_per_job_at_once))

    def to_json(self) -> dict[str, object]:
        """Return what was asked as it stands in an answer."""
        return {**asdict(self), "mode": self.mode.value, "protected": list(self.protected)}


def jobs_for(jobs: Iterable[PendingJob], pool: str | None) -> tuple[PendingJob, ...]:
    """Return the jobs that may start in this pool, those for any pool included; all for None."""
    return tuple(job for job in jobs if pool is None or job.pool in {None, pool})
