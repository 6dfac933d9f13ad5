"""How DRR drains nodes, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Instance, Migration, MoveReason
from simulation.jobs import TraceJob
from simulation.schedulers.drr import DrrScheduler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.cluster import Cluster


def holding(*nodes: Sequence[int]) -> DrrScheduler:
    """Return a scheduler whose nodes hold single instances of these demands, named a, b, c, ... in that order."""
    places = iter([index for index, demands in enumerate(nodes) for _ in demands])

    def choose(cluster: Cluster, gpus: int) -> int:
        del cluster, gpus
        return next(places)

    scheduler = DrrScheduler(len(nodes), choose)
    for i, gpus in enumerate(gpus for demands in nodes for gpus in demands):
        scheduler.arrive(TraceJob(chr(ord("a") + i), 0, 100, 1, gpus), 0)
    return scheduler


def move(name: str, gpus: int, source: int, destination: int) -> Migration:
    return Migration(Instance(name, 0, gpus), source, destination, MoveReason.DRAIN)


def test_the_largest_instance_goes_first_and_each_to_the_tightest_node() -> None:
    # 2 fits the node with 2 free exactly; had 1 gone first it would have taken a place there
    scheduler = holding([4], [1, 2], [6])
    assert scheduler.tick(0) == (move("c", 2, 1, 2), move("b", 1, 1, 0))


def test_the_least_used_node_is_drained_first() -> None:
    # the 3 then finds no room any more
    scheduler = holding([3], [4], [2])
    assert scheduler.tick(0) == (move("c", 2, 2, 1),)
    assert scheduler.tick(0) == ()


def test_of_equals_the_lowest_index() -> None:
    assert holding([1], [1], [7]).tick(0) == (move("a", 1, 0, 2),)


def test_a_node_below_half_takes_nothing_and_one_at_half_is_not_drained() -> None:
    assert holding([3], [2]).tick(0) == ()
    assert holding([4], [4]).tick(0) == ()
    assert holding([3], [4]).tick(0) == (move("a", 3, 0, 1),)


def test_a_node_that_cannot_be_drained_whole_stays_as_it_is_and_ends_the_round() -> None:
    # d's node would have room for one of b and c; a's node, which could be drained, is used more
    scheduler = holding([3], [1, 1], [7])
    before = list(scheduler.cluster.free)
    assert scheduler.tick(0) == ()
    assert scheduler.cluster.free == before


def test_at_most_five_nodes_a_round() -> None:
    scheduler = holding(*([1] for _ in range(7)), [4], [4])
    assert len(scheduler.tick(0)) == 5
    assert scheduler.empty_nodes == 5
    assert len(scheduler.tick(0)) == 2
