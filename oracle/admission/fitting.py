"""What room there is for waiting instances as far as it can be counted: nothing is searched or solved here.

Nodes that take nothing are left out: to empty them makes no room that could be used.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oracle.optimum.model import NodeKind, Pool
from oracle.optimum.proof import line_of
from oracle.optimum.weights import Weights
from oracle.snapshots.kinds import gpus_of, group_of
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.admission.question import Waiting
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import NodeContent


def free_gpus(contents: Iterable[NodeContent]) -> int:
    """Return the GPUs that new instances can have."""
    return sum(content.capacity - content.used for content in contents if content.takes_instances)


def open_nodes(contents: Iterable[NodeContent]) -> Counter[NodeKind]:
    """Return how many nodes take instances, by kind."""
    return Counter(NodeKind.of(content) for content in contents if content.takes_instances)


def waiting_pool(nodes: Mapping[NodeKind, int], job: Waiting) -> Pool:
    """Return a pool in which the instances of a job wait beside those that run."""
    return Pool(nodes, running_on(nodes) + job.wanted)


def running_on(nodes: Mapping[NodeKind, int]) -> Counter[int]:
    """Return how many movable instances nodes hold, by demand."""
    running: Counter[int] = Counter()
    for kind, number in nodes.items():
        for demand in kind.holds:
            running[demand] += number
    return running


def plain_weights(pool: Pool, job: Waiting) -> tuple[Weights, Weights]:
    """Return the weights that need no search: what an instance weighs is its GPUs, or 1 if it is of the job's kinds."""
    wanted = job.wanted
    by_total, alone = tuple(map(gpus_of, pool.demands)), tuple(int(kind in wanted) for kind in pool.demands)
    return Weights(0, 0, by_total), Weights(0, 0, alone)


def most_fitting(pool: Pool, job: Waiting, weights: Weights) -> int:
    """Return how many instances of a waiting job fit at most, as far as weights without a price for moves say.

    An instance less that waits makes what is missing smaller by its own weight.
    """
    values = dict(zip(pool.demands, weights.demands, strict=True))
    value = max(values[kind] for kind in job.wanted)
    missing = line_of(pool, weights).least
    if missing <= 0 or value <= 0 or weights.arrival or weights.partial:
        return job.size
    return max(0, job.size + -missing // value)


def weights_in_words(pool: Pool, weights: Weights) -> str:
    """Return weights as they stand in the proof of a verdict."""
    values = zip(pool.demands, weights.demands, strict=True)
    return "weights " + ", ".join(f"{value} for {_in_words(kind)}" for kind, value in values if value)


def _in_words(kind: Kind) -> str:
    group = group_of(kind)
    return count(gpus_of(kind), "GPU") + (f" of group {group}" if group else "")
