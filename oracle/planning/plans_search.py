"""The search for plans of a snapshot's pools, with what is known about them among named instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.optimum.pools import KnownPool, PoolsSearch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.moves.attained import PoolOptima
    from oracle.moves.consolidation import Stage
    from oracle.optimum.migration_certificate import Changes
    from oracle.optimum.solver import Deadline


def plans_search(optima: PoolOptima, stages: Iterable[Mapping[Changes, Stage]], deadline: Deadline) -> PoolsSearch:
    """Return the search for plans of all pools, in their order.

    Parameters
    ----------
    optima
        What is known about the fewest partial nodes of each pool.
    stages
        Arrangements of each that plans may lead to, by how its nodes change: some of `PoolOptima.stages`.
    deadline
        When to stop.
    """
    known = [
        KnownPool(
            inherent=optima.known[pool].certificate,
            plans=tuple((changed, len(stage.relocations)) for changed, stage in own.items()),
            exact=optima.exact[pool],
        )
        for pool, own in zip(optima.known, stages, strict=True)
    ]
    return PoolsSearch(tuple(optima.placed.values()), deadline, known)
