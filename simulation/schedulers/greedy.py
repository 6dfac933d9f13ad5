"""First fit, best fit (GFS), worst fit and a random node: schedulers that look at free GPUs only and move nothing.

Published: *gfs* stands for the placement rule of the GFS scheduler that the paper compares with, best fit: least free
after placement, ties to the lowest index. Its spot and quota management is not modelled. The other three are the usual
textbook rules. Inferred: a gang is placed instance by instance, each by the rule on what the former ones left.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from simulation.demand import GPUS_PER_NODE
from simulation.schedulers.holding import OnCluster
from simulation.schedulers.protocol import LEFT, Answer, Cause, Farewell, Placed, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.cluster import Cluster
    from simulation.jobs import TraceJob

NO_CAPACITY = Refused(Cause.CAPACITY)
BADLY_PLACED = Refused(Cause.FRAGMENTATION)


class GreedyScheduler(OnCluster):
    """Places each instance where a rule says, and never moves one.

    Attributes
    ----------
    name
        Name in reports.
    cluster
        The nodes at present.
    """

    def __init__(self, name: str, nodes: int, choose: Callable[[Cluster, int], int]) -> None:
        super().__init__(nodes)
        self.name = name
        self._choose = choose

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job wherever all its instances fit."""
        del now
        return place_gang(self.cluster, job, self._choose)

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a job."""
        del now
        self.cluster.end(job.name)
        return LEFT


def place_gang(cluster: Cluster, job: TraceJob, choose: Callable[[Cluster, int], int]) -> Answer:
    """Place all instances of a job, each where `choose` says, or none."""
    placed = cluster.start(job, choose)
    if placed is not None:
        return Placed(placed)
    return NO_CAPACITY if job.total_gpus > cluster.free_gpus else BADLY_PLACED


def best_fit(cluster: Cluster, gpus: int) -> int:
    """Return the node that keeps the fewest GPUs free, the lowest of several; there must be one with room."""
    levels = cluster.levels
    free = gpus
    while not levels[free]:
        free += 1
    return levels[free].lowest


def worst_fit(cluster: Cluster, gpus: int) -> int:
    """Return the node with most GPUs free, the lowest of several; there must be one with room."""
    del gpus
    levels = cluster.levels
    free = GPUS_PER_NODE
    while not levels[free]:
        free -= 1
    return levels[free].lowest


def first_fit(cluster: Cluster, gpus: int) -> int:
    """Return the lowest node with room; there must be one."""
    return min(level.lowest for level in cluster.levels[gpus:] if level)


class RandomNode:
    """Chooses among the nodes with room, each equally likely."""

    # So many draws before the nodes with room are listed: they are few then, so that the list is short.
    _DRAWS = 16

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a replay must be repeatable, not secret

    def __call__(self, cluster: Cluster, gpus: int) -> int:
        """Return a node with room; there must be one."""
        for _ in range(self._DRAWS):
            index = self._random.randrange(cluster.nodes)
            if cluster.free[index] >= gpus:
                return index
        return self._random.choice(sorted(index for level in cluster.levels[gpus:] for index in level))
