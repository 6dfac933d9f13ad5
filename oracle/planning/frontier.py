"""The frontier of a snapshot: how many migrations few partial nodes in all pools together cost, and the evidence.

Of many limits some are looked at. Costs never rise along the limits, so those in between are bounded by their
neighbours; the next limit looked at is in the middle of the two between which least is known. That is where the
frontier bends, or where it is steep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, overload

import msgspec

from oracle.optimum import limits
from oracle.optimum.certificate import Status
from oracle.optimum.evidence import CertificateError
from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.limits import PoolCosts
from oracle.optimum.migration_certificate import Changes, check_changes
from oracle.optimum.node_classes import constrained_problem, count_partial
from oracle.optimum.pools import PoolsSearch
from oracle.optimum.weights import Branch, Weights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oracle.optimum.certificate import Certificate
    from oracle.optimum.limits import Costs
    from oracle.optimum.node_classes import PlacedProblem
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import Snapshot

MAX_POINTS = 50
"""Limits looked at; all, if there are no more."""

# Changes of nodes that are stored for all plans of a pool together; each is a line of some 60 characters.
MAX_STORED_CHANGES = 20_000

_Trees: TypeAlias = tuple[Weights | Branch, ...]


@dataclass(frozen=True, slots=True)
class PlanFrontierPoint:
    """What at most so many partial nodes in all pools together cost.

    Attributes
    ----------
    partial_nodes
        The limit on partial nodes.
    migrations
        Those of the cheapest plan found: the fewest if `lower_bound` is equal.
    lower_bound
        Migrations of every plan within the limit, at least.
    """

    partial_nodes: int
    migrations: int
    lower_bound: int

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return Status.OPTIMAL if self.migrations == self.lower_bound else Status.UNKNOWN

    def to_json(self) -> dict[str, object]:
        """Return the point as it stands in `frontier` of a plan."""
        return {"partial_nodes": self.partial_nodes, "migrations": self.migrations, "lower_bound": self.lower_bound}


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
        found = [(today, 0)]
        for plan in self.plans:
            break_off_if_requested()
            found.append(check_changes(placed.problem, placed.current, plan))
        if min(found)[0] > fewest:
            raise CertificateError(f"no stored plan leaves pool {self.pool} {fewest} partial nodes")
        return limits.attained(found, range(fewest, today + 1))

    def proved(self, placed: PlacedProblem, inherent: Certificate) -> Costs:
        """Return what each limit takes at least, from the fewest partial nodes proved to those of today.

        Raises
        ------
        ArgumentError
            An argument does not match the pool.
        """
        costs = PoolCosts.nothing(placed, inherent)
        for argument in self.arguments:
            costs = costs.with_argument(argument)
        return costs.least


@dataclass(frozen=True, slots=True)
class PlanFrontier(Sequence[PlanFrontierPoint]):
    """The points of a frontier, with the evidence for them.

    A limit between two points takes no fewer migrations than the `lower_bound` of the one with more partial nodes, and
    no more than the `migrations` of the one with fewer.

    Attributes
    ----------
    points
        From the partial nodes of today down.
    evidence
        What attains and what bounds them, one a pool.
    """

    points: tuple[PlanFrontierPoint, ...]
    evidence: tuple[PoolFrontier, ...]

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> PlanFrontierPoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PlanFrontierPoint, ...]: ...
    def __getitem__(self, index: int | slice) -> PlanFrontierPoint | tuple[PlanFrontierPoint, ...]:
        return self.points[index]

    def evidence_to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return {"pools": msgspec.json.decode(msgspec.json.encode(self.evidence))}


def frontier_of_pools(snapshot: Snapshot, deadline: Deadline) -> PlanFrontier:
    """Return the frontier of all pools together; points not settled by the deadline have both bounds."""
    search = PoolsSearch([constrained_problem(nodes) for nodes in snapshot.contents.values()], deadline)
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


def _evidence(search: PoolsSearch, p: int, pool: str, arguments: _Trees) -> PoolFrontier:
    plans = search.plans(p)
    few = sum(map(len, plans)) <= MAX_STORED_CHANGES
    return PoolFrontier(pool=pool, plans=plans if few else None, arguments=arguments)
