"""What room there is for waiting instances as far as it can be counted: nothing is searched or solved here.

Nodes that take nothing are left out: to empty them makes no room that could be used.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oracle.optimum.model import NodeKind, Pool
from oracle.optimum.proof import line_of
from oracle.optimum.weights import Weights
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.admission.question import AskedJob
    from oracle.snapshots.model import NodeContent


def free_gpus(contents: Iterable[NodeContent]) -> int:
    """Return the GPUs that new instances can have."""
    return sum(content.capacity - content.used for content in contents if content.takes_instances)


def best_fit(contents: Iterable[NodeContent], job: AskedJob) -> list[str]:
    """Return the nodes of as many instances of a waiting job as fit without a move; the fullest nodes first."""
    free = sorted((content.capacity - content.used, content.name) for content in contents if content.takes_instances)
    return [name for left, name in free for _ in range(left // job.gpus_per_instance)][: job.instances]


def open_nodes(contents: Iterable[NodeContent]) -> Counter[NodeKind]:
    """Return how many nodes take instances, by kind."""
    return Counter(NodeKind.of(content) for content in contents if content.takes_instances)


def waiting_pool(nodes: Mapping[NodeKind, int], job: AskedJob) -> Pool:
    """Return a pool in which the instances of a job wait beside those that run."""
    return Pool(nodes, running_on(nodes) + Counter({job.gpus_per_instance: job.instances}))


def running_on(nodes: Mapping[NodeKind, int]) -> Counter[int]:
    """Return how many movable instances nodes hold, by demand."""
    running: Counter[int] = Counter()
    for kind, number in nodes.items():
        for demand in kind.holds:
            running[demand] += number
    return running


def plain_weights(pool: Pool, gpus: int) -> tuple[Weights, Weights]:
    """Return the weights that need no search: what an instance weighs is its GPUs, or 1 if it has the demand."""
    by_total, alone = tuple(pool.demands), tuple(int(demand == gpus) for demand in pool.demands)
    return Weights(0, 0, by_total), Weights(0, 0, alone)


def count_fitting(nodes: Mapping[NodeKind, int], gpus: int) -> int:
    """Return how many new instances of one demand have room without a move."""
    return sum(number * ((kind.node_class.room - sum(kind.holds)) // gpus) for kind, number in nodes.items())


def most_fitting(pool: Pool, job: AskedJob, weights: Weights) -> int:
    """Return how many instances of a waiting job fit at most, as far as weights without a price for moves say.

    An instance less that waits makes what is missing smaller by its own weight.
    """
    value = dict(zip(pool.demands, weights.demands, strict=True))[job.gpus_per_instance]
    missing = line_of(pool, weights).least
    if missing <= 0 or value <= 0 or weights.arrival or weights.partial:
        return job.instances
    return max(0, job.instances + -missing // value)


def weights_in_words(pool: Pool, weights: Weights) -> str:
    """Return weights as they stand in the proof of a verdict."""
    values = zip(pool.demands, weights.demands, strict=True)
    return "weights " + ", ".join(f"{value} for {count(demand, 'GPU')}" for demand, value in values if value)
