"""What several tests of the exact path need: small clusters as snapshots, uniform problems, tools taken away."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.pools import PoolsSearch
from oracle.optimum.solver import Deadline
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from tests.oracle import brute_force

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.node_classes import Packing, PlacedProblem

# Weights alone prove 1 partial node here and the load bound 1, but 2 are needed: 49 GPUs leave 1 beside full nodes,
# and the only odd instance has 3.
GAP = {8: 2, 3: 1, 4: 2, 6: 2, 2: 5}


def clusters(count: int, seed: int) -> Iterator[brute_force.Cluster]:
    rng = random.Random(seed)
    return (brute_force.random_cluster(rng) for _ in range(count))


def snapshot_of(cluster: brute_force.Cluster) -> Snapshot:
    return Snapshot.build(
        nodes=[
            SnapshotNode(name=f"n{n}", gpus=node.gpus, pool=node.pool, schedulable=node.schedulable)
            for n, node in enumerate(cluster.nodes)
        ],
        jobs=[
            RunningJob(
                name=f"j{i}",
                instances=(RunningInstance(node=f"n{item.home}", gpus=item.gpus, movable=item.movable),),
            )
            for i, item in enumerate(cluster.instances)
        ],
    )


def uniform(demands: Mapping[int, int], nodes: int, capacity: int = 8) -> PackingProblem:
    return PackingProblem.build({NodeClass(capacity, 0, capacity): nodes}, demands)


def no_packing(_problem: PackingProblem) -> Packing | None:
    """Stand in for `greedy_packing`."""
    return None


def no_bound(_problem: PackingProblem) -> int:
    """Stand in for `load_bound`."""
    return 0


def nothing_is_uniform(problem: PackingProblem) -> bool:
    """Stand in for `oracle.optimum.exact.is_uniform`, so that pools with a closed form are searched, too."""
    del problem
    return False


def fewest_migrations(
    placed: PlacedProblem, limit: int | None = None, *, seconds: float | None = None
) -> MigrationCertificate:
    """Return the cheapest plan of a pool on its own, for Φ* without a limit."""
    search = PoolsSearch([placed], Deadline(seconds))
    return search.cheapest(search.fewest if limit is None else limit).plans[0]
