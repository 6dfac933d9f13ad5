"""Several pools under one limit: how the partial nodes allowed, or the migrations, are best divided among them.

Instances never leave their pool, so the cheapest plan for all pools consists of a cheapest plan for each; only how many
partial nodes each may keep has to be chosen. Bounds say which division can be cheapest; its plans are then looked for,
which sharpens the bounds, until the cheapest division is one whose plans are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.migration import start_search
from oracle.optimum.node_classes import count_partial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.node_classes import PlacedProblem
    from oracle.optimum.search import PlanSearch
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import Pattern

    Integers = npt.NDArray[np.int64]

# Among divisions that cost the same by their bounds, one whose plans are known is taken; this keeps migrations and that
# preference apart in one number. Pools are fewer than that.
_MIGRATION = 1 << 20


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
        return Status.OPTIMAL if self.migrations == self.lower_bound else Status.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class FewestPartial:
    """The fewest partial nodes that a number of migrations reaches.

    Attributes
    ----------
    plan
        The plans that reach them, with the fewest migrations that do.
    lower_bound
        Partial nodes after every plan with at most so many migrations, at least.
    """

    plan: SplitPlan
    lower_bound: int

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return Status.OPTIMAL if self.plan.partial_nodes == self.lower_bound else Status.UNKNOWN


class PoolsSearch:
    """The searches of several pools, and what they know about every division of a limit.

    Parameters
    ----------
    pools
        What each pool holds now.
    deadline
        When to stop.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """

    def __init__(self, pools: Sequence[PlacedProblem], deadline: Deadline) -> None:
        self._deadline = deadline
        started = [start_search(placed, None, deadline) for placed in pools]
        self._searches: list[PlanSearch] = [search for search, _ in started]
        self.inherent: tuple[Certificate, ...] = tuple(inherent for _, inherent in started)
        self.present = sum(count_partial(placed.problem, placed.current) for placed in pools)
        self._ranges = [
            range(inherent.partial_nodes, count_partial(placed.problem, placed.current) + 1)
            for placed, inherent in zip(pools, self.inherent, strict=True)
        ]

    @property
    def fewest(self) -> int:
        """Partial nodes of all pools together: the fewest for which there are plans; Φ* if that is settled."""
        return sum(limits.start for limits in self._ranges)

    def certificate(self, p: int, limit: int) -> MigrationCertificate:
        """Return what is known about the plans of one pool.

        Raises
        ------
        ValueError
            No plan within the limit was found.
        """
        return self._searches[p].certificate(max(limit, self._ranges[p].start))

    def settled(self, p: int, limit: int) -> MigrationCertificate:
        """Return the cheapest plan of one pool with at most so many partial nodes, as far as time allows."""
        return self._searches[p].settle(max(limit, self._ranges[p].start))

    def settle(self, p: int, limit: int, migrations: int) -> MigrationCertificate | None:
        """Return a plan of one pool with at most so many partial nodes and migrations, or None if none was found.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        if limit < self._ranges[p].start or self._searches[p].lower_bound(limit)[0] > migrations:
            return None
        plan = self._searches[p].settle(limit)
        return plan if plan.migrations <= migrations else None

    def affordable(self, p: int, plan: MigrationCertificate) -> tuple[tuple[int, Pattern], ...] | None:
        """Return what all plans of a pool are made of that are as good as this one: (group, pattern after).

        None if the patterns are too many to list.
        """
        return self._searches[p].affordable(plan.max_partial_nodes, plan.migrations)

    def every_choice(self, p: int) -> tuple[tuple[int, Pattern], ...] | None:
        """Return what all plans of a pool are made of; None if the patterns are too many to list."""
        return self._searches[p].every_choice()

    def cheapest(self, limit: int) -> SplitPlan:
        """Return the cheapest plans that leave at most `limit` partial nodes in all pools together.

        Raises
        ------
        ValueError
            The limit is below `fewest`.
        SolverError
            A solver returned nonsense.
        """
        tried: set[tuple[int, int]] = set()
        while self._deadline.is_open():
            limits = self._limits(self._all(self._bounds), limit)
            open_ = [(p, k) for p, k in enumerate(limits) if not self._searches[p].is_settled(k)]
            if not set(open_) - tried:
                break
            for p, k in open_:
                self._searches[p].settle(k)
            tried.update(open_)
        lower = int(_combined(self._all(self._bounds))[-1][self._extra(limit)]) // _MIGRATION
        limits = self._limits(self._all(self._known), limit)
        plans = tuple(search.certificate(k) for search, k in zip(self._searches, limits, strict=True))
        return SplitPlan(plans=plans, lower_bound=lower)

    def fewest_partial_nodes(self, max_migrations: int) -> FewestPartial:
        """Return the plans that leave the fewest partial nodes with at most so many migrations.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        limit = self._first(self._bounds, self.fewest, max_migrations)
        while self._deadline.is_open() and self.cheapest(limit).migrations > max_migrations:
            limit = self._first(self._bounds, limit + 1, max_migrations)
        plan = self.cheapest(self._first(self._known, self.fewest, max_migrations))
        lower = self._first(self._bounds, self.fewest, max_migrations)
        if lower == self.fewest:
            lower = sum(inherent.lower_bound for inherent in self.inherent)
        return FewestPartial(plan=plan, lower_bound=lower)

    def _first(self, costs: Callable[[int], Integers], limit: int, max_migrations: int) -> int:
        """Return the least limit, from `limit` on, at which the pools together cost at most so many migrations."""
        total = _combined(self._all(costs))[-1] // _MIGRATION
        return limit + int(np.flatnonzero(total[limit - self.fewest :] <= max_migrations)[0])

    def _extra(self, limit: int) -> int:
        if limit < self.fewest:
            raise ValueError(f"there is no plan with at most {limit} partial nodes")
        return min(limit, self.present) - self.fewest

    def _limits(self, costs: Sequence[Integers], limit: int) -> list[int]:
        """Return the limits of the pools that together cost least."""
        division = _divide(costs, self._extra(limit))
        return [limits.start + extra for limits, extra in zip(self._ranges, division, strict=True)]

    def _all(self, costs: Callable[[int], Integers]) -> list[Integers]:
        return [costs(p) for p in range(len(self._searches))]

    def _bounds(self, p: int) -> Integers:
        """Return for every limit of a pool the bound on its migrations, with the preference for what is settled."""
        search = self._searches[p]
        rows = [_MIGRATION * search.lower_bound(limit)[0] + (not search.is_settled(limit)) for limit in self._ranges[p]]
        return np.array(rows, np.int64)

    def _known(self, p: int) -> Integers:
        """Return for every limit of a pool the migrations of the best plan known."""
        search = self._searches[p]
        return np.array([_MIGRATION * search.known_migrations(limit) for limit in self._ranges[p]], np.int64)


def _combined(costs: Sequence[Integers]) -> list[Integers]:
    """Return for each number of pools the least cost of the first so many, by the partial nodes they are allowed."""
    tables = [np.zeros(1, np.int64)]
    for cost in costs:
        before = tables[-1]
        table = np.full(len(before) + len(cost) - 1, np.iinfo(np.int64).max)
        shorter, longer = sorted((before, cost), key=len)
        for shift, value in enumerate(shorter.tolist()):
            part = table[shift : shift + len(longer)]
            np.minimum(part, longer + value, out=part)
        tables.append(np.minimum.accumulate(table))
    return tables


def _divide(costs: Sequence[Integers], allowed: int) -> list[int]:
    """Return how many partial nodes, of those allowed beyond the fewest, each pool gets so that the cost is least.

    As many as do no harm: whoever chooses among plans that cost the same is then free to.
    """
    tables = _combined(costs)
    left = allowed
    division: list[int] = []
    for cost, before in zip(reversed(costs), tables[-2::-1], strict=True):
        most = min(left, len(cost) - 1)
        own = np.arange(most + 1)
        rest = np.minimum(left - own, len(before) - 1)
        choice = most - int(np.argmin((cost[: most + 1] + before[rest])[::-1]))
        division.append(choice)
        left -= choice
    return division[::-1]
