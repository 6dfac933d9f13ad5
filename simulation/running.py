"""The running jobs by when they end, which pauses put off."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulation.jobs import TraceJob


@dataclass(slots=True)
class Run:
    """One running job.

    Attributes
    ----------
    job, start_s
        The job and when it started.
    finish_s
        When it will end, as far as is known: a pause puts it off.
    paused_s
        Seconds of all its pauses so far.
    """

    job: TraceJob
    start_s: float
    finish_s: float
    paused_s: float = 0.0


class RunningJobs:
    """Running jobs by name, and the next to end at hand.

    The heap may hold an old end of a job that was paused since; it is put right when it comes to the top. Ends are
    only ever put off, so the top is then right.
    """

    __slots__ = ("_heap", "_runs", "_started")

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._started = 0

    def __len__(self) -> int:
        return len(self._runs)

    def start(self, job: TraceJob, now: float) -> None:
        """Add a job that starts now."""
        finish = now + job.duration_s
        self._runs[job.name] = Run(job, now, finish)
        self._started += 1
        heappush(self._heap, (finish, self._started, job.name))

    def next_finish(self) -> float:
        """Return when the next job ends, or infinity if none runs."""
        heap = self._heap
        while heap:
            finish, order, name = heap[0]
            due = self._runs[name].finish_s
            if due == finish:
                return finish
            heappop(heap)
            heappush(heap, (due, order, name))
        return float("inf")

    def pop(self) -> Run:
        """Take out the job that ends next; of those that end at one time, the one that started first."""
        self.next_finish()
        return self._runs.pop(heappop(self._heap)[2])

    def pause(self, name: str, seconds: float) -> None:
        """Put off the end of a job."""
        run = self._runs[name]
        run.finish_s += seconds
        run.paused_s += seconds

    def get(self, name: str) -> Run | None:
        """Return the run of that job, or None if it does not run (any more)."""
        return self._runs.get(name)

    def by_finish(self) -> list[Run]:
        """Return all running jobs, next to end first; O(jobs · log jobs)."""
        return sorted(self._runs.values(), key=lambda run: run.finish_s)
