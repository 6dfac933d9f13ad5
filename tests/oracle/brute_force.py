"""The fewest partial nodes of a small cluster, by trying every placement of every instance. Slow on purpose.

It knows instances by identity, where the oracle counts demands, and shares no code with it: no classes, no patterns,
no solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Node:
    pool: str
    gpus: int
    schedulable: bool


@dataclass(frozen=True, slots=True)
class Instance:
    home: int  # index of the node it is on
    gpus: int
    movable: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    nodes: tuple[Node, ...]
    instances: tuple[Instance, ...]

    def used(self, node: int) -> int:
        return sum(instance.gpus for instance in self.instances if instance.home == node)


Score = tuple[int, int]
"""(partial nodes, minus empty nodes): less is better."""


def inherent(cluster: Cluster) -> Score:
    """Pools, cordons and immovable instances are kept; what is over-committed takes nothing."""

    def may_hold(n: int, chosen: list[Instance]) -> bool:
        node = cluster.nodes[n]
        if node.schedulable and cluster.used(n) <= node.gpus:
            return fixed(n) + sum(instance.gpus for instance in chosen) <= node.gpus
        return all(instance.home == n for instance in chosen)

    def fixed(n: int) -> int:
        return sum(instance.gpus for instance in cluster.instances if instance.home == n and not instance.movable)

    return _best(cluster, [i for i in cluster.instances if i.movable], fixed, may_hold)


def ideal(cluster: Cluster) -> Score:
    """Only pools are kept; an over-committed node may keep too much of what it has."""

    def may_hold(n: int, chosen: list[Instance]) -> bool:
        load = sum(instance.gpus for instance in chosen)
        return load <= cluster.nodes[n].gpus or all(instance.home == n for instance in chosen)

    return _best(cluster, list(cluster.instances), lambda _: 0, may_hold)


def _best(
    cluster: Cluster,
    movable: list[Instance],
    fixed: Callable[[int], int],
    may_hold: Callable[[int, list[Instance]], bool],
) -> Score:
    partial_nodes = empty_nodes = 0
    for pool in {node.pool for node in cluster.nodes}:
        nodes = [n for n, node in enumerate(cluster.nodes) if node.pool == pool]
        items = [instance for instance in movable if cluster.nodes[instance.home].pool == pool]
        best: dict[int, Score] = {0: (0, 0)}  # set of instances placed on the nodes so far -> best score
        for n in nodes:
            options = list(_options(cluster.nodes[n].gpus, fixed(n), items, partial(may_hold, n)))
            after: dict[int, Score] = {}
            for placed, score in best.items():
                for chosen, cost in options:
                    if not placed & chosen:
                        candidate = (score[0] + cost[0], score[1] + cost[1])
                        if candidate < after.get(placed | chosen, (candidate[0] + 1, 0)):
                            after[placed | chosen] = candidate
            best = after
        score = best[2 ** len(items) - 1]
        partial_nodes, empty_nodes = partial_nodes + score[0], empty_nodes + score[1]
    return partial_nodes, empty_nodes


def _options(
    gpus: int, fixed: int, items: list[Instance], may_hold: Callable[[list[Instance]], bool]
) -> Iterator[tuple[int, Score]]:
    for subset in range(2 ** len(items)):
        chosen = [item for i, item in enumerate(items) if subset >> i & 1]
        if may_hold(chosen):
            load = fixed + sum(item.gpus for item in chosen)
            yield subset, (int(0 < load < gpus), -int(load == 0 < gpus))


def random_cluster(rng: random.Random) -> Cluster:
    """At most 5 nodes and 8 instances: mixed capacities, pools, cordons, immovable and over-committed ones."""
    common = rng.choice([2, 3, 4, 8, 8, 8, 16])
    mixed, cordons, stuck, broken = (rng.choice([0.0, 0.0, p]) for p in (0.7, 0.4, 0.3, 0.3))
    two_pools = rng.random() < 0.2
    nodes: list[Node] = []
    instances: list[Instance] = []
    for n in range(rng.randint(1, 5)):
        gpus = rng.randint(0, 16) if rng.random() < mixed else common
        nodes.append(Node(rng.choice("ab") if two_pools else "a", gpus, rng.random() >= cordons))
        free = gpus + (rng.randint(1, 6) if rng.random() < broken else 0)
        while free and len(instances) < 8 and rng.random() < 0.75:
            demand = rng.randint(1, min(free, rng.choice([2, 4, 8, 16])))
            instances.append(Instance(n, demand, rng.random() >= stuck))
            free -= demand
    return Cluster(tuple(nodes), tuple(instances))
