"""Published figures of production workloads, from which traces are made up.

They are facts read off public data, each with its source; nothing here is fitted to look like a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FRIENDLY_DEMANDS: Final[Mapping[int, float]] = {1: 0.35, 2: 0.10, 4: 0.05, 8: 0.50}
"""Shares of jobs by GPUs an instance: the popular demands of a mixed training cluster, friendly ones only."""

WORKER_COUNTS: Final[Sequence[tuple[int, int, int]]] = (
    *((w, w, jobs) for w, jobs in enumerate(
        (427_584, 13_142, 4_600, 5_267, 1_689, 1_785, 1_566, 2_486, 632, 555, 482, 467, 369, 291, 535, 872,
         200, 163, 155, 125, 136, 113, 130, 153, 167, 52, 75, 87, 146, 209, 300, 755), start=1)),
    (33, 48, 397), (49, 64, 569), (65, 96, 300), (97, 128, 166), (129, 192, 99), (193, 256, 40), (257, 332, 8),
)  # fmt: skip
"""Jobs by number of instances, as (least, most, jobs): all 466,867 jobs of the Alibaba spot trace of 2026.

Exact up to 32 instances, in ranges above; within a range every number is taken as likely as another.
"""

LOG_MEAN_S: Final = 5.78
LOG_DEVIATION: Final = 2.60
MAX_DURATION_S: Final = 172_800.0
"""Mean and standard deviation of ln(duration in s), and the bound on it: Helios, cluster Venus, 125,303 jobs, which
were published with durations clamped at 48 h (2 % of them are)."""

JOBS_A_DAY: Final = 646.0
"""Venus, 125,303 jobs in 194 days."""

DAILY_SWING: Final = 0.6
PEAK_HOUR: Final = 15.0
"""The rate of submission over a day is 1 + swing · cos: Venus is at its mean ± 60 to 80 %."""
