"""States up to the names of nodes and jobs, and the concrete states that stand for them in an exploration.

What the bounds and the invariants speak of is how many nodes hold which demands: the *contents*. Two things besides
can steer an operator. Node indexes break ties, so every order of the nodes is tried (`orders`), but for full nodes,
which no tie can concern (`is_full`; a test tries them everywhere). Gangs depart as a whole, so every set of instances
of one demand is tried as a gang (`gangs`), whether or not one job could own it. Which of several instances of one
demand on one node moves does not show in the contents. An exploration in these terms
reaches the contents of every state that events can reach, perhaps more; a test replays random events of real gangs
against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job
from proofs.laws import GPUS, Contents, NodeFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    demands = {index: node.shape.demands for index, node in state.nodes.occupied()}
    return tuple([demands.get(index, ()) for index in range(len(state.nodes))])


def canonical(contents: Contents) -> Contents:
    """Return the one order of the nodes that stands for all."""
    return tuple(sorted(contents, reverse=True))


def orders(contents: Contents) -> list[Contents]:
    """Return every distinct order of the nodes with the full ones last, at most N! of them."""
    return [tuple(contents[index] for index in order) for order in arrangements(contents)]


def arrangements(contents: Contents) -> list[tuple[int, ...]]:
    """Return the node indexes in every such order, one for each order of the contents."""
    full = tuple(index for index, node in enumerate(contents) if is_full(node))
    others = (index for index in range(len(contents)) if index not in full)
    found = {tuple(contents[index] for index in order): order for order in permutations(others)}
    return [(*found[key], *full) for key in sorted(found)]


@cache
def is_full(node: tuple[int, ...]) -> bool:
    """Whether no GPU is free and no one stands outside slots: nothing can enter, and nothing has a reason to leave.

    So no event but the departure of an instance that stands there depends on where among the others the node is.
    """
    facts = NodeFacts.of(node)
    return facts.used == GPUS and not facts.ones


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
    rest = without(contents, gang) if gang else contents
    state = _with_node(_first_nodes(rest[:-1], len(contents), capacity), len(contents) - 1, rest[-1])
    return with_gang(state, gang) if gang else state


def with_gang(state: ClusterState, gang: Gang) -> ClusterState:
    """Return the state with the instances of the gang, a job named `GANG`, on its nodes."""
    job = Job(GANG, gang.instances, gang.gpus)
    homes = [index for index, instances in enumerate(gang.on_node) for _ in range(instances)]
    state = state.with_job(job)
    for instance, index in zip(job.all_instances(), homes, strict=True):
        state = state.add(instance, index)
    return state


@lru_cache(maxsize=1 << 13)
def _first_nodes(contents: Contents, nodes: int, capacity: int) -> ClusterState:
    """Return the state with those contents on its first nodes; kept, as many orders of nodes begin alike."""
    if not contents:
        return ClusterState.empty(nodes, capacity)
    return _with_node(_first_nodes(contents[:-1], nodes, capacity), len(contents) - 1, contents[-1])


def _with_node(state: ClusterState, index: int, demands: tuple[int, ...]) -> ClusterState:
    for gpus in demands:
        job = Job(f"single {len(state.jobs_by_name):03}", 1, gpus)
        state = state.with_job(job).add(job.instance(0), index)
    return state
