"""MCG: place where fragmentation and imbalance grow least, and serve first who makes them shrink most.

A stand-in. Published is little: a gradient that joins fragmentation with the balance of load, and a queue sorted by it.

Inferred, all of it: p is in equal parts the pending instances and the last 400 arrivals (jobs, the one to be placed
included in both). A node costs F/8 + 0.1·(u/8 − ū)², u being its used GPUs and ū the share of all GPUs that is used
before the instance is placed; an instance goes where that grows least (Δ), ties to the lowest index. Waiting jobs are
sorted by −Δ per GPU of their first instance on its best node, plus 0.05 for every hour they wait; equals by submission.
A demand without room anywhere counts Δ = 0. The sorted head blocks those behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.demand import GPUS_PER_NODE
from simulation.queues import FifoQueue
from simulation.schedulers.arrivals import Window
from simulation.schedulers.gradient import (
    cheapest_node,
    fragmentation,
    gradient,
    mixed,
    normalised,
)
from simulation.schedulers.greedy import place_gang
from simulation.schedulers.holding import OnCluster
from simulation.schedulers.protocol import LEFT, Answer, Farewell, Placed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.cluster import Cluster
    from simulation.jobs import TraceJob
    from simulation.queues import JobQueue
    from simulation.schedulers.gradient import Row

WINDOW = 400
PENDING_SHARE = 0.5
BALANCE = 0.1
PER_WAITING_HOUR = 0.05

_DIGITS = 9  # scores that differ by less are equal, and the job submitted first comes first


class McgScheduler(OnCluster):
    """The scheduler. Its queue is part of it: what waits is half of p."""

    name = "mcg"

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self._recent = Window(WINDOW)
        self._pending = [0] * (GPUS_PER_NODE + 1)
        self._known: tuple[int, Row] | None = None  # free GPUs, and the costs at that load; None when p has changed

    def make_queue(self) -> JobQueue:
        """Return the queue in the order of this scheduler."""
        return McgQueue(self)

    def submitted(self, job: TraceJob, now: float) -> None:
        """Count an arrival; it is pending from now on."""
        del now
        self._recent.add(job.gpus)
        self._pending[job.gpus] += job.instances
        self._known = None

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, all of its instances or none."""
        del now
        answer = place_gang(self.cluster, job, self._choose)
        if isinstance(answer, Placed):
            self._pending[job.gpus] -= job.instances
            self._known = None
        return answer

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a job."""
        del now
        self.cluster.end(job.name)
        return LEFT

    def gain_per_gpu(self, gpus: int) -> float:
        """Return −Δ per GPU of an instance on its best node, 0 where it fits nowhere."""
        costs = self._costs()
        levels = self.cluster.levels
        gains = [costs[free] - costs[free - gpus] for free in range(gpus, GPUS_PER_NODE + 1) if levels[free]]
        return max(gains) / gpus if gains else 0.0

    def row(self, gpus: int) -> Row:
        """Return Δ(f) for f = 0..8 free GPUs at present."""
        return gradient(self._costs(), gpus)

    def _choose(self, cluster: Cluster, gpus: int) -> int:
        return cheapest_node(cluster, gpus, self.row(gpus))

    def _costs(self) -> Row:
        """Return the cost of a node by its free GPUs; kept until p or the load changes."""
        free_gpus = self.cluster.free_gpus
        if self._known is None or self._known[0] != free_gpus:
            recent = normalised(self._recent.counts)
            pending = normalised(self._pending) if any(self._pending) else recent
            fragments = fragmentation(mixed(pending, recent, PENDING_SHARE))
            used = 1 - free_gpus / (GPUS_PER_NODE * self.cluster.nodes)
            costs = tuple(
                fragments[free] / GPUS_PER_NODE + BALANCE * ((GPUS_PER_NODE - free) / GPUS_PER_NODE - used) ** 2
                for free in range(GPUS_PER_NODE + 1)
            )
            self._known = free_gpus, costs
        return self._known[1]


class McgQueue:
    """Waiting jobs by gain and waiting time. Of one demand the oldest is first, so only eight are compared."""

    def __init__(self, scheduler: McgScheduler) -> None:
        self._scheduler = scheduler
        self._by_gpus = tuple(FifoQueue() for _ in range(GPUS_PER_NODE))
        self._order: dict[str, int] = {}  # waiting jobs, and the how-manieth submission each was
        self._submitted = 0

    def push(self, job: TraceJob, now: float) -> None:
        """Add a job submitted now."""
        self._by_gpus[job.gpus - 1].push(job, now)
        self._order[job.name] = self._submitted
        self._submitted += 1

    def head(self, now: float) -> TraceJob | None:
        """Return the job of the highest score, or None if none waits."""
        if not self._order:
            return None
        firsts = [job for queue in self._by_gpus if (job := queue.head(now)) is not None]
        if len(firsts) < 2:
            return firsts[0]
        return min(firsts, key=lambda job: self._rank(job, now))

    def remove(self, job: TraceJob) -> None:
        """Take out a waiting job."""
        self._by_gpus[job.gpus - 1].remove(job)
        del self._order[job.name]

    def behind_head(self, now: float) -> Iterator[TraceJob]:
        """Yield the other waiting jobs, highest score first."""
        waiting = [job for queue in self._by_gpus for job in queue]
        return iter(sorted(waiting, key=lambda job: self._rank(job, now))[1:])

    def __len__(self) -> int:
        return len(self._order)

    def _rank(self, job: TraceJob, now: float) -> tuple[float, int]:
        hours = (now - job.submit_s) / 3_600
        score = self._scheduler.gain_per_gpu(job.gpus) + PER_WAITING_HOUR * hours
        return -round(score, _DIGITS), self._order[job.name]
