"""What a replay assumes besides the trace and the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from simulation.pauses import NO_PAUSES, Pauses


class QueueOrder(Enum):
    """Which waiting job is next. A scheduler with an order of its own keeps that."""

    FIFO = "fifo"
    LARGEST_FIRST = "largest-first"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """What a replay assumes besides trace and scheduler.

    Attributes
    ----------
    pauses
        What a migration costs; nothing by default.
    queue
        The order of waiting jobs.
    backfill
        Whether jobs may pass a head that waits for capacity: those that end before enough GPUs can be free for it, by
        the ends of running jobs as known then. Without pauses as many are free for it as early as if none had passed.
        Pauses may put that off: jobs that pass move instances of others as they come and go, and may be moved.
    series
        Whether to keep a sample of the cluster at each time of an event.
    """

    pauses: Pauses = NO_PAUSES
    queue: QueueOrder = QueueOrder.FIFO
    backfill: bool = False
    series: bool = False


DEFAULT_OPTIONS = ReplayOptions()
"""First come, first served behind a strict head; nothing pauses."""
