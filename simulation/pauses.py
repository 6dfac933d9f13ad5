"""What a migration costs the job that is moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation.jobs import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.jobs import TraceJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """How long a job stands still when instances of it move (paper, Section 6: c seconds).

    Attributes
    ----------
    seconds
        c, or a function that gives c for a job, say by its size.
    per_instance
        Whether c counts once for each instance that moves, one after the other; otherwise once a job and event,
        however many of its instances move: they are copied at the same time.

    Notes
    -----
    A job holds its GPUs while it is paused. A job that is paused again before it went on stands still for the sum.

    Raises
    ------
    TraceError
        c is negative.
    """

    seconds: float | Callable[[TraceJob], float] = 0.0
    per_instance: bool = False

    def __post_init__(self) -> None:
        if not callable(self.seconds) and not 0 <= self.seconds < float("inf"):
            raise TraceError(f"expected a pause of 0 s or more, got {self.seconds}")

    def of(self, job: TraceJob, moved: int) -> float:
        """Return the seconds that a job stands still when `moved` instances of it move in one event."""
        seconds = self.seconds(job) if callable(self.seconds) else self.seconds
        if not 0 <= seconds < float("inf"):
            raise TraceError(f"expected a pause of 0 s or more for job {job.name!r}, got {seconds}")
        return seconds * moved if self.per_instance else seconds


NO_PAUSES = Pauses()
