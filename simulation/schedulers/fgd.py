"""FGD: place where the fragmentation gradient is least.

Published (Weng et al., ATC 2023): the fragmentation of a node is what its free GPUs are worth to a typical task; a task
goes where it raises that least. Typical tasks are the most popular ones, up to 95 % of a known workload. Here GPUs are
whole and nothing but GPUs is asked for, so F(f) = f·P(g > f).

Inferred: popularity counts instances, each being a task; ties go to the lowest index; the workload is known from the
start, as in the published evaluation; a gang is placed instance by instance.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from simulation.schedulers.gradient import cheapest_node, count_instances, most_popular, rows
from simulation.schedulers.greedy import GreedyScheduler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from simulation.cluster import Cluster
    from simulation.jobs import TraceJob
    from simulation.schedulers.gradient import Row


def fgd(nodes: int, workload: Iterable[TraceJob]) -> GreedyScheduler:
    """Return the scheduler that knows this workload: as a rule, the trace to be replayed."""
    return GreedyScheduler("fgd", nodes, partial(_choose, rows(most_popular(count_instances(workload)))))


def _choose(table: Mapping[int, Row], cluster: Cluster, gpus: int) -> int:
    return cheapest_node(cluster, gpus, table[gpus])
