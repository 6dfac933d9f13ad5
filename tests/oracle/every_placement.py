"""Every placement of every instance of a small cluster: what the fewest migrations are. Slow on purpose.

It knows instances by identity, where the oracle counts demands, and shares no code with it: no classes, no patterns, no
solver. A table over sets of instances takes the place of listing the placements one by one.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tests.oracle.brute_force import Cluster, Instance

NEVER = 10**6

Costs: TypeAlias = list[int]
"""The fewest migrations that leave at most k partial nodes, for every k from 0 to the number of nodes; or `NEVER`."""


def fewest_migrations(cluster: Cluster, pool: str) -> Costs:
    """Pools, cordons and immovable instances are kept; what is over-committed takes nothing."""
    nodes = [n for n, node in enumerate(cluster.nodes) if node.pool == pool]
    items = [i for i in cluster.instances if i.movable and cluster.nodes[i.home].pool == pool]
    # table[placed, k]: the fewest migrations with these instances on the nodes so far, k of which are partial
    table = np.full((1 << len(items), len(nodes) + 1), NEVER)
    table[0, 0] = 0
    sets: npt.NDArray[np.int64] = np.arange(1 << len(items))
    for n in nodes:
        after = np.full_like(table, NEVER)
        for chosen in range(1 << len(items)):
            here = [item for i, item in enumerate(items) if chosen >> i & 1]
            if not may_hold(cluster, n, here):
                continue
            moved = sum(item.home != n for item in here)
            apart: npt.NDArray[np.int64] = sets[sets & chosen == 0]
            if is_partial(cluster, n, here):
                after[apart | chosen, 1:] = np.minimum(after[apart | chosen, 1:], table[apart, :-1] + moved)
            else:
                after[apart | chosen] = np.minimum(after[apart | chosen], table[apart] + moved)
        table = after
    exact: npt.NDArray[np.int64] = np.minimum.accumulate(table[-1])
    return [min(int(cost), NEVER) for cost in exact]


def combined(costs: list[Costs]) -> Costs:
    """The same for several pools together."""
    total = [0]
    for pool in costs:
        total = [
            min((total[a] + pool[k - a] for a in range(len(total)) if 0 <= k - a < len(pool)), default=NEVER)
            for k in range(len(total) + len(pool) - 1)
        ]
    return [min(total[: k + 1]) for k in range(len(total))]


def may_hold(cluster: Cluster, n: int, chosen: list[Instance]) -> bool:
    node = cluster.nodes[n]
    if node.schedulable and cluster.used(n) <= node.gpus:
        return fixed(cluster, n) + sum(item.gpus for item in chosen) <= node.gpus
    return all(item.home == n for item in chosen)


def is_partial(cluster: Cluster, n: int, chosen: list[Instance]) -> bool:
    return 0 < fixed(cluster, n) + sum(item.gpus for item in chosen) < cluster.nodes[n].gpus


def fixed(cluster: Cluster, n: int) -> int:
    return sum(item.gpus for item in cluster.instances if item.home == n and not item.movable)


class Outcome(NamedTuple):
    """What one placement comes to."""

    partial_nodes: int
    migrations: int
    jobs: frozenset[str]
    gpus: int


def outcomes(cluster: Cluster, jobs: list[str]) -> set[Outcome]:
    """Try every placement; `jobs` names the job of each instance."""
    homes = [
        [n for n, node in enumerate(cluster.nodes) if node.pool == cluster.nodes[item.home].pool]
        if item.movable
        else [item.home]
        for item in cluster.instances
    ]
    found: set[Outcome] = set()
    for placement in product(*homes):
        partial_nodes = 0
        for n in range(len(cluster.nodes)):
            here = [i for i, at in zip(cluster.instances, placement, strict=True) if at == n and i.movable]
            if not may_hold(cluster, n, here):
                break
            partial_nodes += is_partial(cluster, n, here)
        else:
            moved = [i for i, at in enumerate(placement) if at != cluster.instances[i].home]
            gpus = sum(cluster.instances[i].gpus for i in moved)
            found.add(Outcome(partial_nodes, len(moved), frozenset(jobs[i] for i in moved), gpus))
    return found
