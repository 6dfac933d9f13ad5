"""SIFOpt: after every event as few partial nodes as are possible, with as few migrations as that takes.

Published: the paper's exact scheduler, which solves for Φ* at every event and follows it; what it does to keep moves
few is not. Here it is `oracle.sifopt`: Φ* by the closed form, and the fewest migrations with a proof. A job is refused
only if no re-placement of what runs makes room for it. Instances may have to be stopped before their destination is
free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Job
from oracle import sifopt
from simulation.schedulers.holding import OnState

if TYPE_CHECKING:
    from simulation.jobs import TraceJob
    from simulation.schedulers.protocol import Answer, Farewell


class SifOptScheduler(OnState):
    """The scheduler, on a cluster of 8-GPU nodes.

    Attributes
    ----------
    state
        The cluster at present.
    """

    name = "sifopt"

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, or say that nothing makes room for it."""
        del now
        return self.arrived(sifopt.arrive(self.state, Job(job.name, job.instances, job.gpus)))

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a job."""
        del now
        return self.departed(sifopt.depart(self.state, job.name))
