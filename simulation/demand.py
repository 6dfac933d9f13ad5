"""How large a cluster a trace is given: peak demand under unlimited capacity, and η of it (paper, Section 6)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from simulation.jobs import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simulation.jobs import Trace, TraceJob

GPUS_PER_NODE = 8
"""G: the schedulers and the closed form of Φ* that the replay uses are those of 8-GPU nodes."""


def peak_demand(jobs: Iterable[TraceJob]) -> int:
    """Return D, in GPUs: the most that run at one time when every job starts when it is submitted.

    What ends at an instant makes room for what starts then. A job that lasts 0 s demands nothing.
    """
    changes: list[tuple[float, int]] = []
    for job in jobs:
        if job.duration_s > 0:
            changes.append((job.submit_s, job.total_gpus))
            changes.append((job.submit_s + job.duration_s, -job.total_gpus))
    demand = peak = 0
    for _, gpus in sorted(changes):
        demand += gpus
        peak = max(peak, demand)
    return peak


def nodes_for(jobs: Sequence[TraceJob] | Trace, eta: float) -> int:
    """Return N, the larger of ⌈η·D/8⌉ and what the largest job needs; a smaller η is a tighter cluster.

    Of ⌈η·D/8⌉ alone a few large jobs would make a cluster that cannot hold the largest: the job that sets the peak
    would be refused, and the replay be about other jobs than those that gave its size.

    Raises
    ------
    TraceError
        η is not above 0.
    """
    return max(nodes_by_share(peak_demand(jobs), eta), nodes_of_largest(jobs))


def nodes_by_share(peak: int, eta: float) -> int:
    """Return ⌈η·D/8⌉, at least 1, of a peak demand of D GPUs.

    Raises
    ------
    TraceError
        η is not above 0.
    """
    if not 0 < eta < float("inf"):
        raise TraceError(f"expected eta above 0, got {eta}")
    # The decimal number that was written: 0.95 as a float is a little less, and would be a node less on some traces.
    share = Fraction(Decimal(str(eta)))
    return max(1, -(-share.numerator * peak // (share.denominator * GPUS_PER_NODE)))


def nodes_of_largest(jobs: Iterable[TraceJob]) -> int:
    """Return the fewest idle nodes that hold any one of the jobs; those of more than 8 GPUs an instance fit none."""
    return max(
        (-(-job.instances // (GPUS_PER_NODE // job.gpus)) for job in jobs if job.gpus <= GPUS_PER_NODE), default=1
    )


def fits_idle_cluster(job: TraceJob, nodes: int) -> bool:
    """Whether the job runs on so many idle nodes: by its GPUs and by how many instances one node can hold."""
    return job.gpus <= GPUS_PER_NODE and job.instances <= nodes * (GPUS_PER_NODE // job.gpus)
