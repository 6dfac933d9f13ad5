"""The cluster of the baselines: nodes by free GPUs, changed in place.

The baselines look at nothing but how many GPUs are free on a node. So a question such as "the fullest node with room
for 4" is one look at nine sets of nodes, and costs the same on 10 nodes and on 10,000.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from simulation.demand import GPUS_PER_NODE
from simulation.node_set import NodeSet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulation.jobs import TraceJob


class Cluster:
    """Nodes of 8 GPUs and the jobs on them.

    Attributes
    ----------
    nodes
        N, number of nodes.
    free
        Free GPUs of each node.
    levels
        ``levels[f]``: the nodes with f GPUs free; every node is in exactly one.
    free_gpus
        Free GPUs of all nodes.
    jobs
        The running jobs by name, in the order in which they started.
    where
        By name of the job, the node of each of its instances.
    """

    __slots__ = ("free", "free_gpus", "jobs", "levels", "nodes", "where")

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.free = [GPUS_PER_NODE] * nodes
        self.levels = [NodeSet(nodes, full=free == GPUS_PER_NODE) for free in range(GPUS_PER_NODE + 1)]
        self.free_gpus = nodes * GPUS_PER_NODE
        self.jobs: dict[str, TraceJob] = {}
        self.where: dict[str, list[int]] = {}

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing."""
        return len(self.levels[GPUS_PER_NODE])

    @property
    def partial_nodes(self) -> int:
        """Φ: nodes of which some but not all GPUs are held."""
        return self.nodes - len(self.levels[0]) - len(self.levels[GPUS_PER_NODE])

    def room_for(self, gpus: int) -> int:
        """Return how many instances of that demand fit where the free GPUs lie."""
        levels = self.levels
        return sum([free // gpus * len(levels[free]) for free in range(gpus, GPUS_PER_NODE + 1)])

    def start(self, job: TraceJob, choose: Callable[[Cluster, int], int]) -> tuple[int, ...] | None:
        """Place a gang, each instance on the node that `choose` names, or return None where not all of them fit.

        Whether a gang fits does not depend on which nodes are chosen: its instances are equal, so each takes one of
        the places that `room_for` counts.
        """
        gpus = job.gpus
        if self.room_for(gpus) < job.instances:
            return None
        placed: list[int] = []
        for _ in range(job.instances):
            index = choose(self, gpus)
            self.take(index, gpus)
            placed.append(index)
        self.jobs[job.name] = job
        self.where[job.name] = placed
        return tuple(placed)

    def end(self, name: str) -> None:
        """Free what a job holds."""
        gpus = self.jobs.pop(name).gpus
        for index in self.where.pop(name):
            self.take(index, -gpus)

    def take(self, index: int, gpus: int) -> None:
        """Hold so many GPUs more on a node, or fewer if negative. The caller sees to it that they are there."""
        before = self.free[index]
        self.free[index] = before - gpus
        self.levels[before].remove(index)
        self.levels[before - gpus].add(index)
        self.free_gpus -= gpus

    def move(self, name: str, instance: int, destination: int) -> None:
        """Move an instance; its destination may be short of GPUs until others have left it (`relocate`)."""
        gpus = self.jobs[name].gpus
        self.take(self.where[name][instance], -gpus)
        self.take(destination, gpus)
        self.where[name][instance] = destination

    def relocate(self, moves: Sequence[tuple[str, int, int]]) -> None:
        """Move instances (job, number, destination) all at once: first all leave, then all arrive."""
        for name, instance, _ in moves:
            self.take(self.where[name][instance], -self.jobs[name].gpus)
        for name, instance, destination in moves:
            self.take(destination, self.jobs[name].gpus)
            self.where[name][instance] = destination

    def residents(self) -> dict[int, list[tuple[str, int]]]:
        """Return the instances (job, number) on each node in use, in the order in which jobs started; O(jobs)."""
        found: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        for name, nodes in self.where.items():
            for instance, index in enumerate(nodes):
                found[index].append((name, instance))
        return dict(found)
