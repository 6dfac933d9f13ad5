"""Jobs of a trace: what the loaders make and the engine replays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compass_core.errors import CompassError

if TYPE_CHECKING:
    from collections.abc import Iterator


class TraceError(CompassError):
    """A trace that cannot be replayed: the message names the job and what was expected."""


@dataclass(frozen=True, slots=True)
class TraceJob:
    """A gang of instances that arrives, runs for a while and ends as a whole.

    Attributes
    ----------
    name
        Unique in its trace.
    submit_s
        Time of submission in seconds, from any origin.
    duration_s
        Seconds it runs once all its instances have started; pauses come on top. 0 is allowed: it ends at once.
    instances
        w, number of instances.
    gpus
        g, GPUs of each instance.
    pool
        Group of nodes it asks for, or None where the trace knows no pools. The engine replays one pool.
    """

    name: str
    submit_s: float
    duration_s: float
    instances: int
    gpus: int
    pool: str | None = None

    @property
    def total_gpus(self) -> int:
        """GPUs the whole gang holds."""
        return self.instances * self.gpus


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs in order of submission; of one instant, in the order of the file.

    Attributes
    ----------
    jobs
        At least none.
    source
        Where it comes from, for reports: a file name or a generator with its seed.
    rule
        How instances and GPUs an instance were told from the file, in words; empty where the file says so itself.

    Raises
    ------
    TraceError
        Not in order of submission, two jobs of one name, or a job no cluster can run: a time that is no finite number,
        a negative duration, fewer than 1 instance or GPU.
    """

    jobs: tuple[TraceJob, ...]
    source: str = field(default="", kw_only=True)
    rule: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        last = float("-inf")
        for job in self.jobs:
            _check(job)
            if job.submit_s < last:
                raise TraceError(f"job {job.name!r} was submitted before the one that precedes it in the trace")
            if job.name in seen:
                raise TraceError(f"two jobs of the trace are named {job.name!r}")
            seen.add(job.name)
            last = job.submit_s

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[TraceJob]:
        return iter(self.jobs)


def _check(job: TraceJob) -> None:
    infinity = float("inf")
    if not -infinity < job.submit_s < infinity:
        raise TraceError(f"job {job.name!r}: expected a finite time of submission, got {job.submit_s}")
    if not 0 <= job.duration_s < infinity:
        raise TraceError(f"job {job.name!r}: expected a finite duration of 0 s or more, got {job.duration_s}")
    if job.instances < 1 or job.gpus < 1:
        raise TraceError(f"job {job.name!r}: expected at least 1 instance of 1 GPU, got {job.instances} of {job.gpus}")
