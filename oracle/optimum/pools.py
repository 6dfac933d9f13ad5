"""The plans of several pools under one limit on partial nodes, or on migrations.

A migration is an instance whose node changes. Which instances of a demand these are does not matter here: a plan says
how many nodes change from which pattern to which. The cheapest plan for all pools consists of a cheapest one for each.
Bounds say which division of the limit can be cheapest (`oracle.optimum.limits`); its plans are then looked for, which
sharpens the bounds, until the cheapest division is one whose plans are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from oracle.optimum.certificate import Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.limits import PoolCosts, divide, prove, together
from oracle.optimum.node_classes import count_partial
from oracle.optimum.plan_search import PlanSearch, moves_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.optimum.certificate import Certificate
    from oracle.optimum.limits import Costs
    from oracle.optimum.migration_certificate import Changes, MigrationCertificate
    from oracle.optimum.node_classes import PlacedProblem
    from oracle.optimum.solver import Deadline
    from oracle.optimum.weights import Tree

# Among divisions that cost the same by their bounds, one whose plans are known is taken; this keeps migrations and that
# preference apart in one number. Pools are fewer than that.
_MIGRATION = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPool:
    """What is known about a pool before its plans are searched.

    Attributes
    ----------
    inherent
        Φ*: bounds, and a packing.
    plans
        Plans that can be carried out, with the number of instances whose node changes.
    exact
        Whether every plan of its kinds can be; if not, those are all that count.
    """

    inherent: Certificate
    plans: tuple[tuple[Changes, int], ...] = ()
    exact: bool = True

    @classmethod
    def of(cls, placed: PlacedProblem, deadline: Deadline) -> KnownPool:
        """Return what can be known of a pool of which every plan of its kinds can be carried out."""
        seconds = deadline.seconds_left
        solved = solve_pool(placed.problem, start=placed.current, time_limit=seconds, prefer_empty=False)
        return cls(inherent=solved.certificate)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPlan:
    """The cheapest plans found for several pools under one limit.

    Attributes
    ----------
    plans
        One a pool, in the order given.
    lower_bound
        Migrations of all plans within the limit, at least.
    """

    plans: tuple[MigrationCertificate, ...]
    lower_bound: int

    @property
    def partial_nodes(self) -> int:
        """Partial nodes of all pools together after the plans."""
        return sum(plan.partial_nodes for plan in self.plans)

    @property
    def migrations(self) -> int:
        """Instances that change their node."""
        return sum(plan.migrations for plan in self.plans)

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return Status.of(self.lower_bound, self.migrations)


class PoolsSearch:
    """The searches of several pools, and what they know about every division of a limit.

    Without a deadline all results are deterministic, and OPTIMAL.

    Parameters
    ----------
    pools
        What each pool holds now.
    deadline
        When to stop.
    known
        What is known about each; of pools of which every plan of their kinds can be carried out nothing need be.

    Attributes
    ----------
    inherent
        What is known about Φ* of each pool.
    present
        Partial nodes of all pools together now.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """

    def __init__(
        self, pools: Sequence[PlacedProblem], deadline: Deadline, known: Sequence[KnownPool] | None = None
    ) -> None:
        self._pools = tuple(pools)
        self._deadline = deadline
        known = [KnownPool.of(placed, deadline) for placed in pools] if known is None else known
        self.inherent: tuple[Certificate, ...] = tuple(one.inherent for one in known)
        self._searches = [
            PlanSearch(
                placed,
                [placed.current, one.inherent.packing] if one.exact else [placed.current],
                deadline,
                plans=one.plans,
                exact=one.exact,
            )
            for placed, one in zip(pools, known, strict=True)
        ]
        now = [count_partial(placed.problem, placed.current) for placed in pools]
        self.present = sum(now)
        self._ranges = [range(one.partial_nodes, last + 1) for one, last in zip(self.inherent, now, strict=True)]

    @property
    def fewest(self) -> int:
        """Partial nodes of all pools together: the fewest for which there are plans; Φ* if that is settled."""
        return sum(limits.start for limits in self._ranges)

    @property
    def lowest(self) -> int:
        """Partial nodes of all pools together: no placement has fewer."""
        return sum(inherent.lower_bound for inherent in self.inherent)

    def certificate(self, p: int, limit: int) -> MigrationCertificate:
        """Return what is known about the plans of one pool with at most so many partial nodes, if there are any."""
        return self._searches[p].certificate(max(limit, self._ranges[p].start))

    def settled(self, p: int, limit: int) -> MigrationCertificate:
        """Return the cheapest plan of one pool with at most so many partial nodes, as far as time allows."""
        return self._searches[p].cheapest(max(limit, self._ranges[p].start))

    def cheapest(self, limit: int) -> SplitPlan:
        """Return the cheapest plans that leave at most `limit` partial nodes in all pools together.

        Raises
        ------
        ValueError
            The limit is below `fewest`.
        SolverError
            A solver returned nonsense.
        """
        if limit < self.fewest:
            raise ValueError(f"there is no plan with at most {limit} partial nodes")
        tried: set[tuple[int, int]] = set()
        while self._deadline.is_open():
            limits = self._divided(self._preferred(), limit)
            open_ = {(p, k) for p, k in enumerate(limits) if not self._searches[p].is_settled(moves_within(k))}
            if open_ <= tried:
                break
            for quickly in (True, False):
                for p, k in sorted(open_):
                    self._searches[p].settle(moves_within(k), quickly=quickly)
            tried |= open_
        best = self._divided(
            [search.known(own) for search, own in zip(self._searches, self._ranges, strict=True)], limit
        )
        plans = tuple(search.certificate(k) for search, k in zip(self._searches, best, strict=True))
        lower = self.proved()
        return SplitPlan(plans=plans, lower_bound=int(lower[min(limit - self.lowest, len(lower) - 1)]))

    def fewest_partial_nodes(self, max_migrations: int) -> tuple[SplitPlan, int]:
        """Return the plans that leave the fewest partial nodes with at most so many migrations, and the fewest proved.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        lower = self.lowest + _first(self.proved(), max_migrations)
        limit = max(self.fewest, lower)
        while self._deadline.is_open() and self.cheapest(limit).migrations > max_migrations:
            lower = self.lowest + _first(self.proved(), max_migrations)
            limit = max(limit + 1, lower)
        plan = self.cheapest(self.fewest + _first(self.attained(), max_migrations))
        return plan, self.lowest + _first(self.proved(), max_migrations)

    def attained(self) -> Costs:
        """Return the migrations of the cheapest plans known for each limit from `fewest` to `present`."""
        return together(search.known(limits) for search, limits in zip(self._searches, self._ranges, strict=True))

    def proved(self) -> Costs:
        """Return what is known to bound the migrations for each limit from `lowest` to `present`.

        Where it is not known whether a pool can have fewer partial nodes, that may be where the others save moves.
        """
        return together(
            search.lower_bounds(range(inherent.lower_bound, limits.stop))
            for search, inherent, limits in zip(self._searches, self.inherent, self._ranges, strict=True)
        )

    def plans(self, p: int) -> tuple[Changes, ...]:
        """Return the plans of a pool that are the cheapest known for some limit, from most partial nodes to fewest."""
        return self._searches[p].plans(self._ranges[p])

    def arguments(
        self, claims: Iterable[tuple[int, int]], beside: Sequence[MigrationCertificate] = ()
    ) -> list[tuple[Tree, ...]]:
        """Return for each pool the arguments that claims about all of them take beside those of these certificates.

        Parameters
        ----------
        claims
            Pairs of a limit on the partial nodes of all pools and the migrations that it takes at least.
        beside
            One a pool, or none.
        """
        if beside:
            started = [PoolCosts.of(*one) for one in zip(self.inherent, beside, strict=True)]
        else:
            started = [PoolCosts.nothing(*one) for one in zip(self._pools, self.inherent, strict=True)]
        found = prove(started, claims, self.certificate)
        return [pool.arguments[len(start.arguments) :] for pool, start in zip(found, started, strict=True)]

    def _preferred(self) -> list[Costs]:
        """Return for every limit of each pool the bound on its migrations, with the preference for what is settled."""
        pairs = [
            (search.lower_bounds(limits), search.known(limits))
            for search, limits in zip(self._searches, self._ranges, strict=True)
        ]
        return [_MIGRATION * lower + (lower < known) for lower, known in pairs]

    def _divided(self, costs: Sequence[Costs], limit: int) -> list[int]:
        """Return the limits of the pools that together cost least."""
        division = divide(costs, min(limit, self.present) - self.fewest)
        return [limits[more] for limits, more in zip(self._ranges, division, strict=True)]


def _first(costs: Costs, most: int) -> int:
    """Return the first place at which the cost is no more than that; the last one costs nothing."""
    return int(np.flatnonzero(costs <= most)[0])
