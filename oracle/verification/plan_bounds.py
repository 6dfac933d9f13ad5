"""What the evidence of a plan proves about all pools together, recomputed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from oracle.optimum.limits import PoolCosts, attained, together
from oracle.optimum.proof import NEVER
from oracle.verification.live_reach import count_partial, fewest_moves, nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.snapshots.model import NodeContent, Snapshot
    from oracle.verification.plan_file import PoolProof

# Steps of the program that finds the lightest jobs with enough instances.
_MAX_STEPS = 2_000_000


@dataclass(frozen=True, slots=True)
class PlanBounds:
    """Bounds on what so few partial nodes take.

    Attributes
    ----------
    fewest
        Partial nodes of all pools together, at least.
    stopping
        What the arguments prove about each pool if instances may be stopped first.
    of_mode
        The same in the plan's mode: in a live plan, what trying all live moves shows too.
    untried
        A pool with too many placements to be tried; None if all were, or none had to be.
    """

    fewest: int
    stopping: tuple[PoolCosts, ...]
    of_mode: tuple[PoolCosts, ...]
    untried: str | None = None

    @classmethod
    def of(cls, proofs: Mapping[str, PoolProof], live: Mapping[str, Sequence[NodeContent]] | None) -> PlanBounds:
        """Return what is proved.

        Parameters
        ----------
        proofs
            The evidence, verified.
        live
            The nodes of every pool, if only moves into free space count; None otherwise.

        Raises
        ------
        ArgumentError
            A further argument does not match its pool.
        """
        stopping: list[PoolCosts] = []
        for proof in proofs.values():
            costs = PoolCosts.of(proof.inherent, proof.migrations)
            for argument in proof.further:
                costs = costs.with_argument(argument)
            stopping.append(costs)
        fewest = sum(costs.fewest for costs in stopping)
        tried = [
            None if live is None else _tried(costs, live[pool]) for pool, costs in zip(proofs, stopping, strict=True)
        ]
        of_mode = tuple(costs if one is None else one for costs, one in zip(stopping, tried, strict=True))
        untried = [pool for pool, one in zip(proofs, tried, strict=True) if live is not None and one is None]
        return cls(fewest, tuple(stopping), of_mode, next(iter(untried), None))

    def moves_to(self, limit: int) -> int:
        """Return the moves of the plan's mode that so few partial nodes take at least; `NEVER` if none lead there."""
        return _least(self.of_mode, limit)

    def relocations_to(self, limit: int) -> int:
        """Return the instances that have another node in the end, at least, if there are so few partial nodes."""
        return _least(self.stopping, limit)


def _least(pools: Sequence[PoolCosts], limit: int) -> int:
    spare = limit - sum(pool.fewest for pool in pools)
    least = together(pool.least for pool in pools)
    return NEVER if spare < 0 else min(NEVER, int(least[min(spare, len(least) - 1)]))


def _tried(costs: PoolCosts, contents: Sequence[NodeContent]) -> PoolCosts | None:
    """Return the costs with what trying all live moves shows; None if there are too many."""
    reached = fewest_moves(nodes_of(contents), count_partial)
    if reached is None:
        return None
    return replace(costs, least=np.maximum(costs.least, attained(reached.items(), costs.limits)))


def lightest_jobs(snapshot: Snapshot, pools: Iterable[str], weights: Mapping[str, int] | None, instances: int) -> int:
    """Return the least weight of jobs that have so many movable instances in these pools; 0 if that is too much work.

    Parameters
    ----------
    snapshot
        The cluster, what is protected being immovable.
    pools
        Where instances move.
    weights
        What a job weighs; 1 if it is not named. None to count jobs.
    instances
        Instances that move at least.
    """
    names = set(pools)
    pool_of = {node.name: node.pool for node in snapshot.nodes}
    jobs = [
        (sum(one.movable and pool_of[one.node] in names for one in job.instances), (weights or {}).get(job.name, 1))
        for job in snapshot.jobs
    ]
    jobs = [(movable, weight) for movable, weight in jobs if movable]
    if instances < 1 or instances > sum(movable for movable, _ in jobs) or len(jobs) * instances > _MAX_STEPS:
        return 0
    least: list[int | None] = [0, *[None] * instances]
    for movable, weight in jobs:
        for count in range(instances, 0, -1):
            before = least[max(0, count - movable)]
            if before is not None:
                now = least[count]
                least[count] = before + weight if now is None else min(now, before + weight)
    return least[instances] or 0
