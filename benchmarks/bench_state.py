"""An edit of a state costs the same however many nodes there are: compare the groups' rows with one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compass_core import ClusterState, Job

if TYPE_CHECKING:
    from benchmarks.typed_fixture import Benchmark

SIZES = (100, 1_000, 10_000, 100_000)


def busy_cluster(nodes: int) -> ClusterState:
    """Return a cluster with nine nodes in ten busy, more than half of them half full."""
    placement = [(Job(f"j{i}", 1, 4 if i % 5 < 3 else 8), [i]) for i in range(nodes) if i % 10 < 9]
    return ClusterState.from_placement(placement, nodes=nodes)


@pytest.fixture(scope="module", params=SIZES)
def cluster(request: pytest.FixtureRequest) -> ClusterState:
    return busy_cluster(int(request.param))


@pytest.mark.benchmark(group="successor of a state, by number of nodes")
def bench_move(benchmark: Benchmark, cluster: ClusterState) -> None:
    instance = cluster.nodes[0].instances[0]
    benchmark.extra_info["nodes"] = cluster.node_count
    moved = benchmark(lambda: cluster.move(instance, 1))
    assert moved.node_of(instance) == 1
