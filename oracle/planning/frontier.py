"""The frontier of a snapshot: how many migrations few partial nodes in all pools together cost, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, overload

import msgspec

from oracle.moves.move import MoveMode
from oracle.optimum import limits
from oracle.optimum.certificate import Status
from oracle.optimum.evidence import CertificateError
from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.limits import PoolCosts
from oracle.optimum.migration_certificate import Changes, check_changes
from oracle.optimum.node_classes import count_partial
from oracle.optimum.weights import Branch, Weights  # noqa: TC001 - msgspec reads the annotation

if TYPE_CHECKING:
    from oracle.optimum.certificate import Certificate
    from oracle.optimum.limits import Costs
    from oracle.optimum.node_classes import PlacedProblem

FRONTIER_MODE: Final = MoveMode.CHECKPOINT
"""What the migrations of a frontier may do, whatever the plan beside it may: to stop instances first is allowed."""


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
        return Status.of(self.lower_bound, self.migrations)

    def to_json(self) -> dict[str, object]:
        """Return the point as it stands in `frontier` of a plan."""
        return asdict(self)


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
    arguments: tuple[Weights | Branch, ...]

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
