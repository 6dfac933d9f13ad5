"""The fragmentation F of a node and its gradient ΔF, on which fgd, cafgd and mcg rest.

F(f) = f · P(g > f): the free GPUs of a node with f of them, times the probability that the next instance finds no room
there. To place g GPUs changes it by ΔF(f) = F(f − g) − F(f), a function of f alone. So the best node is found among
nine kinds of node, however many nodes there are.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from simulation.demand import GPUS_PER_NODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simulation.cluster import Cluster
    from simulation.jobs import TraceJob

Popularity: TypeAlias = "tuple[float, ...]"
"""How popular each demand is, by index 0..8 (0 GPUs: never); need not add up to 1."""

Row: TypeAlias = "tuple[float, ...]"
"""By f = 0..8, what placing an instance costs on a node with f GPUs free; entries below its demand mean nothing."""

# Costs that differ by less are equal: sums of the same probabilities in another order differ in the last digit.
TIE = 1e-9


def count_instances(jobs: Iterable[TraceJob]) -> Popularity:
    """Return how many instances of each demand the jobs have; demands above 8 GPUs are left out."""
    counts = [0] * (GPUS_PER_NODE + 1)
    for job in jobs:
        if job.gpus <= GPUS_PER_NODE:
            counts[job.gpus] += job.instances
    return tuple(counts)


def most_popular(counts: Sequence[float], percent: int = 95) -> Popularity:
    """Return the counts of the most popular demands, as few of them as make up `percent` of all, and 0 for the others.

    Of equally popular demands the smaller one is taken first.
    """
    wanted = sum(counts) * percent
    kept = [0.0] * len(counts)
    taken = 0.0
    for demand in sorted(range(len(counts)), key=lambda g: (-counts[g], g)):
        if 100 * taken >= wanted:
            break
        kept[demand] = counts[demand]
        taken += counts[demand]
    return tuple(kept)


def normalised(counts: Sequence[float]) -> Popularity:
    """Return the counts divided by their sum; all 0 if that is 0."""
    total = sum(counts)
    return tuple([count / total if total else 0.0 for count in counts])


def mixed(first: tuple[float, ...], second: tuple[float, ...], share: float) -> tuple[float, ...]:
    """Return `share` of the first and the rest of the second: of popularities, or of F, which is linear in them."""
    rest = 1 - share
    return tuple([share * a + rest * b for a, b in zip(first, second, strict=True)])


def fragmentation(popularity: Popularity) -> Row:
    """Return F(f) for f = 0..8."""
    at_least = list(accumulate(reversed(popularity)))[::-1]  # P(g ≥ f)
    return tuple(free * tail for free, tail in enumerate((*at_least[1:], 0.0)))


def gradient(fragments: Row, gpus: int) -> Row:
    """Return ΔF(f) of placing `gpus` for f = 0..8, from F; 0 where they do not fit."""
    # a list first: generators cost twice as much, and this is asked for at every placement
    return tuple([0.0] * gpus + [fragments[free - gpus] - fragments[free] for free in range(gpus, len(fragments))])


def rows(popularity: Popularity) -> Mapping[int, Row]:
    """Return ΔF by demand."""
    fragments = fragmentation(popularity)
    return {gpus: gradient(fragments, gpus) for gpus in range(1, GPUS_PER_NODE + 1)}


def cheapest_node(cluster: Cluster, gpus: int, row: Row) -> int:
    """Return the node with room on which the instance costs least, the lowest of several; there must be one."""
    present = [free for free in range(gpus, GPUS_PER_NODE + 1) if cluster.levels[free]]
    least = min([row[free] for free in present]) + TIE
    return min([cluster.levels[free].lowest for free in present if row[free] <= least])


def least_cost(cluster: Cluster, gpus: int, row: Row) -> float | None:
    """Return what the instance costs on the best node with room, or None where there is none."""
    levels = cluster.levels
    return min([row[free] for free in range(gpus, GPUS_PER_NODE + 1) if levels[free]], default=None)
