"""What is asked about waiting jobs: which one, and what may be moved for it. Answers carry it, to be checked later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.moves.move import MoveMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oracle.snapshots.model import PendingJob


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

    def to_json(self) -> dict[str, object]:
        """Return the job as data for JSON."""
        return {"instances": self.instances, "gpus_per_instance": self.gpus_per_instance, "pool": self.pool}


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

    def to_json(self) -> dict[str, object]:
        """Return what was asked as it stands in an answer."""
        return {
            "mode": self.mode.value,
            "protected": list(self.protected),
            "max_per_job_at_once": self.max_per_job_at_once,
        }


def jobs_for(jobs: Iterable[PendingJob], pool: str | None) -> tuple[PendingJob, ...]:
    """Return the jobs that may start in this pool, those for any pool included; all for None."""
    return tuple(job for job in jobs if pool is None or job.pool in {None, pool})
