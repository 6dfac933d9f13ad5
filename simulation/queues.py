"""The waiting jobs and which of them is next."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from simulation.demand import GPUS_PER_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.jobs import TraceJob


class JobQueue(Protocol):
    """Waiting jobs. The head blocks all behind it, but for jobs that are let past it."""

    def push(self, job: TraceJob, now: float) -> None:
        """Add a job submitted now."""
        ...

    def head(self, now: float) -> TraceJob | None:
        """Return the job that is next, or None if none waits."""
        ...

    def remove(self, job: TraceJob) -> None:
        """Take out a waiting job."""
        ...

    def behind_head(self, now: float) -> Iterator[TraceJob]:
        """Yield the other waiting jobs, next one first; the queue must not change meanwhile."""
        ...

    def __len__(self) -> int: ...


class FifoQueue:
    """First come, first served."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, TraceJob] = OrderedDict()

    def push(self, job: TraceJob, now: float) -> None:
        """Add a job submitted now."""
        del now
        self._jobs[job.name] = job

    def head(self, now: float) -> TraceJob | None:
        """Return the job that was submitted first, or None if none waits."""
        del now
        for job in self._jobs.values():
            return job
        return None

    def remove(self, job: TraceJob) -> None:
        """Take out a waiting job."""
        del self._jobs[job.name]

    def behind_head(self, now: float) -> Iterator[TraceJob]:
        """Yield the other waiting jobs in order of submission."""
        del now
        return islice(self._jobs.values(), 1, None)

    def __iter__(self) -> Iterator[TraceJob]:
        return iter(self._jobs.values())

    def __len__(self) -> int:
        return len(self._jobs)


class LargestFirstQueue:
    """Instances of most GPUs first; of one demand, first come, first served."""

    def __init__(self) -> None:
        self._by_gpus = tuple(FifoQueue() for _ in range(GPUS_PER_NODE))
        self._length = 0

    def push(self, job: TraceJob, now: float) -> None:
        """Add a job submitted now."""
        self._by_gpus[job.gpus - 1].push(job, now)
        self._length += 1

    def head(self, now: float) -> TraceJob | None:
        """Return the first job of the largest demand, or None if none waits."""
        for queue in reversed(self._by_gpus):
            job = queue.head(now)
            if job is not None:
                return job
        return None

    def remove(self, job: TraceJob) -> None:
        """Take out a waiting job."""
        self._by_gpus[job.gpus - 1].remove(job)
        self._length -= 1

    def behind_head(self, now: float) -> Iterator[TraceJob]:
        """Yield the other waiting jobs, larger demands first."""
        head = self.head(now)
        for queue in reversed(self._by_gpus):
            first = queue.head(now)
            if first is not None and first is not head:
                yield first
            yield from queue.behind_head(now)

    def __len__(self) -> int:
        return self._length
