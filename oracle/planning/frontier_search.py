"""The frontier of a snapshot, searched: its points, and what attains and bounds them.

Of many limits some are looked at. Costs never rise along the limits, so those in between are bounded by their
neighbours; the next limit looked at is in the middle of the two between which least is known. That is where the
frontier bends, or where it is steep.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from oracle.moves.attained import PoolOptima
from oracle.planning.frontier import PlanFrontier, PlanFrontierPoint, PoolFrontier
from oracle.planning.plans_search import plans_search

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.optimum.pools import PoolsSearch
    from oracle.optimum.solver import Deadline
    from oracle.optimum.weights import Tree
    from oracle.snapshots.model import Snapshot

MAX_POINTS = 50
"""Limits looked at; all, if there are no more."""

# Changes of nodes that are stored for all plans of a pool together; each is a line of some 60 characters.
MAX_STORED_CHANGES = 20_000


def frontier_of_pools(snapshot: Snapshot, deadline: Deadline) -> PlanFrontier:
    """Return the frontier of all pools together; points not settled by the deadline have both bounds."""
    optima = PoolOptima(snapshot, deadline)
    search = plans_search(optima, optima.stages(), deadline)
    every = range(search.fewest, search.present + 1)
    looked_at = set(every if len(every) <= MAX_POINTS else (every[0], every[-1]))
    for limit in sorted(looked_at):
        search.cheapest(limit)
    points = _points(search, looked_at)
    while len(points) < MAX_POINTS and (middle := _least_known(points)) is not None:
        search.cheapest(middle)
        looked_at.add(middle)
        points = _points(search, looked_at)
    proofs = search.arguments([(point.partial_nodes, point.lower_bound) for point in points])
    pools = enumerate(zip(snapshot.contents, proofs, strict=True))
    return PlanFrontier(points, tuple(_evidence(search, p, pool, arguments) for p, (pool, arguments) in pools))


def _points(search: PoolsSearch, looked_at: Iterable[int]) -> tuple[PlanFrontierPoint, ...]:
    """Return what is known about these limits, from the most partial nodes down."""
    attained, proved = search.attained(), search.proved()
    return tuple(
        PlanFrontierPoint(limit, int(attained[limit - search.fewest]), int(proved[limit - search.lowest]))
        for limit in sorted(looked_at, reverse=True)
    )


def _least_known(points: Sequence[PlanFrontierPoint]) -> int | None:
    """Return the middle of the two neighbours that leave most open; None if none leave anything open."""
    gaps = (
        (
            (one.partial_nodes - other.partial_nodes - 1) * (other.migrations - one.lower_bound),
            (one.partial_nodes + other.partial_nodes) // 2,
        )
        for one, other in pairwise(points)
    )
    left_open, middle = max(gaps, default=(0, 0))
    return middle if left_open else None


def _evidence(search: PoolsSearch, p: int, pool: str, arguments: tuple[Tree, ...]) -> PoolFrontier:
    plans = search.plans(p)
    few = sum(map(len, plans)) <= MAX_STORED_CHANGES
    return PoolFrontier(pool=pool, plans=plans if few else None, arguments=arguments)
