"""States up to the names of nodes and jobs, and the concrete states that stand for them in an exploration.

What the bounds and the invariants speak of is how many nodes hold which demands: the *contents*. Two things besides
can steer an operator. Node indexes break ties, so every order of the nodes is tried (`orders`). Gangs depart as a
whole, so every set of instances of one demand is tried as a gang (`gangs`), whether or not one job could own it. Which
of several instances of one demand on one node moves does not show in the contents. An exploration in these terms
reaches the contents of every state that events can reach, perhaps more; a test replays random events of real gangs
against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job

if TYPE_CHECKING:
    from collections.abc import Iterator

Contents = tuple[tuple[int, ...], ...]
"""The demands on each node, descending within a node; canonical if the nodes are descending too."""

GANG = "gang"
"""Name of the job whose departure is tried."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Instances of one demand that leave together: how many of them stand on each node."""

    gpus: int
    on_node: tuple[int, ...]

    @property
    def instances(self) -> int:
        """Instances in the gang."""
        return sum(self.on_node)


def contents_of(state: ClusterState) -> Contents:
    """Return the demands on each node, by node index."""
    return tuple(node.shape.demands for node in state.nodes)


def canonical(contents: Contents) -> Contents:
    """Return the one order of the nodes that stands for all."""
    return tuple(sorted(contents, reverse=True))


def orders(contents: Contents) -> list[Contents]:
    """Return every distinct order of the nodes, at most N! of them."""
    return sorted(set(permutations(contents)))


def gangs(contents: Contents, max_instances: int | None = None) -> Iterator[Gang]:
    """Yield every set of instances of one demand, up to the choice among those on one node."""
    for gpus in sorted({gpus for node in contents for gpus in node}):
        for on_node in product(*(range(node.count(gpus) + 1) for node in contents)):
            if sum(on_node) > 0 and (max_instances is None or sum(on_node) <= max_instances):
                yield Gang(gpus, on_node)


def without(contents: Contents, gang: Gang) -> Contents:
    """Return what is left on each node when the gang has departed."""
    left: list[tuple[int, ...]] = []
    for node, leaving in zip(contents, gang.on_node, strict=True):
        first = node.index(gang.gpus) if leaving else 0
        left.append((*node[:first], *node[first + leaving :]))
    return tuple(left)


def state_with(contents: Contents, gang: Gang | None = None, *, capacity: int = 8) -> ClusterState:
    """Return a state of those contents: the gang is a job named `GANG`, every other instance a job of its own."""
    homes: list[int] = []
    placement: list[tuple[Job, tuple[int, ...]]] = []
    for index, node in enumerate(contents):
        leaving = gang.on_node[index] if gang else 0
        homes += [index] * leaving
        for gpus in node:
            if gang and gpus == gang.gpus and leaving:
                leaving -= 1
            else:
                placement.append((Job(f"single {len(placement):03}", 1, gpus), (index,)))
    if gang:
        placement.append((Job(GANG, gang.instances, gang.gpus), tuple(homes)))
    return ClusterState.from_placement(placement, nodes=len(contents), capacity=capacity)
