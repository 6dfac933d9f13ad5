"""SIFOpt: after every event as few partial nodes as are possible, with as few migrations as that takes.

Published: the paper's exact scheduler, which solves for Φ* at every event and follows it; what it does to keep moves
few is not. Here it is `oracle.sifopt`: Φ* by the closed form, and the fewest migrations with a proof. A job is refused
only if no re-placement of what runs makes room for it. Instances may have to be stopped before their destination is
free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import ClusterState, Job
from oracle import sifopt
from simulation.schedulers.core_variants import refusal
from simulation.schedulers.protocol import LEFT, Answer, Farewell, Left, Placed

if TYPE_CHECKING:
    from simulation.jobs import TraceJob


class SifOptScheduler:
    """The scheduler, on a cluster of 8-GPU nodes.

    Attributes
    ----------
    state
        The cluster at present.
    """

    name = "sifopt"

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.state = ClusterState.empty(nodes)

    @property
    def partial_nodes(self) -> int:
        """Φ at present."""
        return self.state.partial_nodes

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present."""
        return self.state.empty_nodes

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, or say that nothing makes room for it."""
        del now
        outcome = sifopt.arrive(self.state, Job(job.name, job.instances, job.gpus))
        if outcome.reason is not None:
            return refusal(outcome.reason)
        self.state = outcome.state
        return Placed(tuple(placement.node for placement in outcome.placements), outcome.migrations)

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a job."""
        del now
        outcome = sifopt.depart(self.state, job.name)
        self.state = outcome.state
        return Left(outcome.migrations) if outcome.migrations else LEFT
