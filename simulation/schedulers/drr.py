"""DRR: placement by a learnt policy, and nodes that are hardly used drained once an hour.

Published: a policy that places jobs is learnt by imitation; every 3,600 s, up to five times, the least used node below
50 % is drained whole into the tightest-fitting nodes at 50 % or more.

Inferred: the teacher is best fit, and is the default policy here (`drr_policy` learns from it). Among equally used
nodes the lowest index is drained first; its largest instances move first, each to the node with least GPUs free that
takes it, lowest index first. If the least used node cannot be drained whole, the round ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Instance, Migration, MoveReason
from simulation.demand import GPUS_PER_NODE
from simulation.schedulers.greedy import GreedyScheduler, best_fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.cluster import Cluster

INTERVAL_S = 3_600.0
MOST_DRAINED = 5
HALF = GPUS_PER_NODE // 2


class DrrScheduler(GreedyScheduler):
    """Greedy placement by a policy, and rounds in which nodes are drained."""

    def __init__(
        self, nodes: int, policy: Callable[[Cluster, int], int] = best_fit, *, interval_s: float = INTERVAL_S
    ) -> None:
        super().__init__("drr", nodes, policy)
        self.interval_s = interval_s

    def tick(self, now: float) -> tuple[Migration, ...]:
        """Drain up to five nodes and return the moves, in an order that over-books no node."""
        del now
        moves: list[Migration] = []
        residents = self.cluster.residents()
        for _ in range(MOST_DRAINED):
            source = _least_used_below_half(self.cluster)
            if source is None:
                break
            drained = self._drain(source, residents.pop(source))
            if drained is None:
                break
            for move in drained:
                residents[move.destination].append((move.instance.job, move.instance.index))
            moves += drained
        return tuple(moves)

    def _drain(self, source: int, leaving: list[tuple[str, int]]) -> list[Migration] | None:
        """Move all instances off a node, or none and return None."""
        cluster = self.cluster
        moves: list[Migration] = []
        for name, instance in sorted(leaving, key=lambda item: -cluster.jobs[item[0]].gpus):
            gpus = cluster.jobs[name].gpus
            destination = _tightest_in_use(cluster, gpus)
            if destination is None:
                for made in reversed(moves):
                    cluster.move(made.instance.job, made.instance.index, source)
                return None
            cluster.move(name, instance, destination)
            moves.append(Migration(Instance(name, instance, gpus), source, destination, MoveReason.DRAIN))
        return moves


def _least_used_below_half(cluster: Cluster) -> int | None:
    """Return the node in use with fewest GPUs held, if they are fewer than half; the lowest of several."""
    for free in range(GPUS_PER_NODE - 1, HALF, -1):
        if cluster.levels[free]:
            return cluster.levels[free].lowest
    return None


def _tightest_in_use(cluster: Cluster, gpus: int) -> int | None:
    """Return the node at half load or more with least GPUs free that has room; the lowest of several."""
    for free in range(gpus, HALF + 1):
        if cluster.levels[free]:
            return cluster.levels[free].lowest
    return None
