"""The evidence for a frontier: plans that attain its points, and arguments that no plans are cheaper.

Neighbouring points share most of theirs, so what is stored of a pool is one list of plans and one of arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from oracle.optimum.evidence import CertificateError
from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.migration_certificate import Changes, MigrationCertificate, check_changes
from oracle.optimum.node_classes import PlacedProblem, count_partial
from oracle.optimum.shared_limits import MAX_ARGUMENTS, PoolCosts, cheapest_sums
from oracle.optimum.weights import Branch, SolverProof, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.optimum.shared_limits import Costs

# Changes of nodes that are stored for all plans of a pool together; each is a line of some 60 characters.
MAX_STORED_CHANGES = 20_000

_Trees: TypeAlias = tuple[Weights | Branch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFrontier:
    """Why the frontier of a pool is what it is.

    Attributes
    ----------
    pool
        Its name.
    plans
        Plans that attain its points; None if they are too many to be stored.
    arguments
        What bounds the migrations of all plans from below, for all limits.
    """

    pool: str
    plans: tuple[Changes, ...] | None
    arguments: _Trees

    @classmethod
    def of(cls, pool: str, points: Sequence[MigrationCertificate]) -> PoolFrontier:
        """Return the evidence behind these points, from most to fewest partial nodes."""
        plans = tuple(dict.fromkeys(point.changes for point in points))
        few = sum(map(len, plans)) <= MAX_STORED_CHANGES
        return cls(pool=pool, plans=plans if few else None, arguments=_arguments(points))

    def attained(self, placed: PlacedProblem, fewest: int) -> Costs | None:
        """Return the migrations of the cheapest plan for each limit from `fewest` to the partial nodes of today.

        None if the plans are not stored.

        Raises
        ------
        CertificateError
            A plan cannot be carried out, or there is none to so few partial nodes.
        """
        if self.plans is None:
            return None
        today = count_partial(placed.problem, placed.current)
        least = {today: 0}
        for plan in self.plans:
            break_off_if_requested()
            partial, migrations = check_changes(placed.problem, placed.current, plan)
            limit = max(partial, fewest)
            least[limit] = min(migrations, least.get(limit, migrations))
        if min(least) > fewest:
            raise CertificateError(f"no stored plan leaves pool {self.pool} {fewest} partial nodes")
        limits = range(fewest, today + 1)
        # Each limit allows what a lower one does.
        return np.array([*accumulate((least.get(limit, least[fewest]) for limit in limits), min)], np.int64)

    def proved(self, placed: PlacedProblem, fewest: int) -> Costs:
        """Return the migrations that each limit from `fewest` to the partial nodes of today takes at least.

        Raises
        ------
        ArgumentError
            An argument does not match the pool.
        """
        costs = PoolCosts.of(placed, fewest)
        for argument in self.arguments:
            costs = costs.with_argument(argument)
        return costs.least


def all_pools(pools: Sequence[Costs]) -> Costs:
    """Return the cheapest costs of all pools together, by how many partial nodes more than the fewest are allowed."""
    together = np.zeros(1, np.int64)
    for costs in pools:
        together = cheapest_sums(together, costs)
    return together


def _arguments(points: Sequence[MigrationCertificate]) -> _Trees:
    """Return few arguments that together prove what the points claim, as far as no solver's word is needed."""
    if not points:
        return ()
    placed = PlacedProblem(points[0].problem, points[0].present)
    costs = PoolCosts.of(placed, min(point.max_partial_nodes for point in points))
    for point in reversed(points):
        if costs.at(point.max_partial_nodes) >= point.lower_bound or len(costs.arguments) == MAX_ARGUMENTS:
            continue
        if not isinstance(point.argument, SolverProof):
            costs = costs.with_argument(point.argument)
    return costs.arguments
