"""COMPASS, EXACT and PRINTED: the algorithms of `compass_core` as schedulers of a replay.

Published: the paper's Algorithms 1 to 4, which PRINTED runs as they stand. COMPASS and EXACT are their repairs
(theory §3). Where the print does not say what to do, PRINTED refuses with the cause UNDEFINED and nothing changes: a
job that cannot arrive waits, one that cannot depart keeps its GPUs until it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, PrintedUndefinedError, RefusalKind, Variant, arrive, depart
from simulation.schedulers.protocol import LEFT, Answer, Cause, Farewell, Left, Placed, Refused

if TYPE_CHECKING:
    from compass_core import Refusal
    from simulation.jobs import TraceJob

_CAUSES = {
    RefusalKind.CAPACITY: Refused(Cause.CAPACITY),
    RefusalKind.FRAGMENTATION: Refused(Cause.FRAGMENTATION),
    RefusalKind.STRUCTURE: Refused(Cause.STRUCTURE),
}
_UNDEFINED = Refused(Cause.UNDEFINED)


def refusal(reason: Refusal) -> Refused:
    """Return the refusal of the core as the engine reads it."""
    return _CAUSES[reason.kind]


class CoreScheduler:
    """One of the three variants on a cluster of 8-GPU nodes.

    Attributes
    ----------
    variant
        Which one.
    state
        The cluster at present.
    """

    __slots__ = ("nodes", "state", "variant")

    def __init__(self, variant: Variant, nodes: int) -> None:
        self.variant = variant
        self.nodes = nodes
        self.state = ClusterState.empty(nodes)

    @property
    def name(self) -> str:
        """Name in reports."""
        return self.variant.value

    @property
    def partial_nodes(self) -> int:
        """Φ at present."""
        return self.state.partial_nodes

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present."""
        return self.state.empty_nodes

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, or say why the variant has no place for it."""
        del now
        try:
            outcome = arrive(self.state, Job(job.name, job.instances, job.gpus), variant=self.variant)
        except PrintedUndefinedError:
            return _UNDEFINED
        if outcome.reason is not None:
            return refusal(outcome.reason)
        self.state = outcome.state
        return Placed(tuple(placement.node for placement in outcome.placements), outcome.migrations)

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a job; PRINTED may not know how (P5)."""
        del now
        try:
            outcome = depart(self.state, job.name, variant=self.variant)
        except PrintedUndefinedError:
            return _UNDEFINED
        self.state = outcome.state
        return Left(outcome.migrations) if outcome.migrations else LEFT
