"""Classes of demands: what fills vacancies, what tiles a node, and what leaves a vacancy (theory §1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simulation.jobs import TraceJob

FILLER = "1 GPU"
FRIENDLY = "2, 4, 8 GPUs"
UNFRIENDLY = "3, 5, 6, 7 GPUs"
CLASSES: tuple[str, ...] = (FILLER, FRIENDLY, UNFRIENDLY)


def class_of(gpus: int) -> str:
    """Return the class of a demand."""
    if gpus == 1:
        return FILLER
    return FRIENDLY if gpus in {2, 4, 8} else UNFRIENDLY


def gpu_time_shares(jobs: Iterable[TraceJob]) -> dict[str, float]:
    """Return the share of GPU-seconds of each class; 0 each of no time."""
    seconds = dict.fromkeys(CLASSES, 0.0)
    for job in jobs:
        seconds[class_of(job.gpus)] += job.total_gpus * job.duration_s
    whole = sum(seconds.values()) or 1.0
    return {name: value / whole for name, value in seconds.items()}
