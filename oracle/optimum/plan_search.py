"""The search for the cheapest plans of one pool, for any limit on partial nodes.

What is proved for one limit is a bound for every other, and a plan within one is a plan within all above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oracle.optimum.evidence import Status
from oracle.optimum.limits import attained, proved
from oracle.optimum.migration_certificate import MigrationCertificate
from oracle.optimum.proving import Question
from oracle.optimum.search import Arrangement, PoolSearch

if TYPE_CHECKING:
    from oracle.optimum.limits import Costs
    from oracle.optimum.migration_certificate import Changes


class PlanSearch(PoolSearch):
    """What is known about the plans of one pool: plans found, and bounds that hold for all of them."""

    def lower_bounds(self, limits: range) -> Costs:
        """Return the best bound known for each limit."""
        least = np.zeros(len(limits), np.int64)
        for lines in self._proofs.values():
            least = np.maximum(least, proved(lines, limits))
        for asked, word in self._claims.items():
            within = [moves_within(limit).is_within(asked) for limit in limits]
            least = np.where(within, np.maximum(least, word.claim), least)
        return least

    def known(self, limits: range) -> Costs:
        """Return the migrations of the cheapest plan known for each limit."""
        return attained(((plan.partial_nodes, plan.arrivals) for plan in self._found), limits)

    def plans(self, limits: range) -> tuple[Changes, ...]:
        """Return the plans that are the cheapest known for some limit, from most partial nodes to fewest."""
        return tuple(dict.fromkeys(self._known(limit).changes for limit in reversed(limits)))

    def cheapest(self, limit: int) -> MigrationCertificate:
        """Return the cheapest plan with at most `limit` partial nodes, as far as time allows.

        Raises
        ------
        ValueError
            No plan within the limit was found; never if it is at least the partial nodes of a packing that was known.
        SolverError
            A solver returned nonsense.
        """
        self.settle(moves_within(limit))
        return self.certificate(limit)

    def certificate(self, limit: int) -> MigrationCertificate:
        """Return what is known about plans with at most `limit` partial nodes.

        Raises
        ------
        ValueError
            No plan within the limit was found.
        """
        plan = self._known(limit)
        migrations = sum(one.migrations for one in plan.changes)
        lower, argument = self.lower_bound(moves_within(limit))
        return MigrationCertificate(
            problem=self._placed.problem,
            present=self._placed.current,
            max_partial_nodes=limit,
            changes=plan.changes,
            partial_nodes=plan.partial_nodes,
            migrations=migrations,
            lower_bound=lower,
            argument=argument,
            status=Status.of(lower, migrations),
        )

    def _known(self, limit: int) -> Arrangement:
        plan = self.best(moves_within(limit))
        if plan is None:
            raise ValueError(f"no plan with at most {limit} partial nodes was found")
        return plan


def moves_within(limit: int) -> Question:
    """Return the question for the fewest moves to at most so many partial nodes."""
    return Question(arrivals=True, max_partial_nodes=limit)
