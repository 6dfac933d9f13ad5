"""COMPASS, EXACT and PRINTED: the algorithms of `compass_core` as schedulers of a replay.

Published: the paper's Algorithms 1 to 4, which PRINTED runs as they stand. COMPASS and EXACT are their repairs
(theory §3). Where the print does not say what to do, PRINTED refuses with the cause UNDEFINED and nothing changes: a
job that cannot arrive waits, one that cannot depart keeps its GPUs until it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Job, PrintedUndefinedError, Variant, arrive, depart
from simulation.schedulers.holding import OnState
from simulation.schedulers.protocol import Cause, Refused

if TYPE_CHECKING:
    from simulation.jobs import TraceJob
    from simulation.schedulers.protocol import Answer, Farewell

_UNDEFINED = Refused(Cause.UNDEFINED)


class CoreScheduler(OnState):
    """One of the three variants on a cluster of 8-GPU nodes.

    Attributes
    ----------
    variant
        Which one.
    state
        The cluster at present.
    """

    __slots__ = ("variant",)

    def __init__(self, variant: Variant, nodes: int) -> None:
        super().__init__(nodes)
        self.variant = variant

    @property
    def name(self) -> str:
        """Name in reports."""
        return self.variant.value

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, or say why the variant has no place for it."""
        del now
        try:
            outcome = arrive(self.state, Job(job.name, job.instances, job.gpus), variant=self.variant)
        except PrintedUndefinedError:
            return _UNDEFINED
        return self.arrived(outcome)

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a job; PRINTED may not know how (P5)."""
        del now
        try:
            outcome = depart(self.state, job.name, variant=self.variant)
        except PrintedUndefinedError:
            return _UNDEFINED
        return self.departed(outcome)
