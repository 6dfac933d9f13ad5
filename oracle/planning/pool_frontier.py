"""Partial nodes against migrations: the fewest migrations for every limit from what is partial now down to Φ*."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.migration import start_search
from oracle.optimum.node_classes import count_partial
from oracle.optimum.solver import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.optimum.migration_certificate import MigrationArgument, MigrationCertificate
    from oracle.optimum.node_classes import PlacedProblem
    from oracle.optimum.search import PlanSearch


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """What at most so many partial nodes cost.

    Attributes
    ----------
    partial_nodes
        The limit on partial nodes.
    migrations
        The fewest migrations that keep it if the status is OPTIMAL, otherwise those of the best plan found.
    lower_bound
        Migrations of every plan that keeps it, at least.
    argument
        How the lower bound is reached.
    """

    partial_nodes: int
    migrations: int
    lower_bound: int
    argument: MigrationArgument

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return Status.OPTIMAL if self.migrations == self.lower_bound else Status.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The frontier of a pool.

    Attributes
    ----------
    points
        One a limit, from the partial nodes of today down to the fewest that a plan was found for. Migrations never fall
        along it; they need not grow evenly.
    inherent
        What is known about Φ*, where the frontier ends.
    """

    points: tuple[FrontierPoint, ...]
    inherent: Certificate

    @property
    def status(self) -> Status:
        """OPTIMAL if every point is, and the last one is at Φ*."""
        settled = all(point.status is Status.OPTIMAL for point in self.points)
        return self.inherent.status if settled else Status.UNKNOWN


def frontier(placed: PlacedProblem, *, time_limit: float | None = None) -> Frontier:
    """Return the fewest migrations for every limit on partial nodes of a pool.

    Neighbouring points share most of their work: thousands of points take seconds, not thousands of times one.

    Parameters
    ----------
    placed
        The pool: node classes, movable instances, what its nodes hold now (`constrained_problem`).
    time_limit
        Seconds of wall time; None for as long as it takes. Points that are not settled by then have both bounds.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    search, inherent = start_search(placed, None, deadline := Deadline(time_limit))
    found = [
        FrontierPoint(plan.max_partial_nodes, plan.migrations, plan.lower_bound, plan.argument)
        for plan in descend(search, placed, inherent.partial_nodes, deadline)
    ]
    return Frontier(points=tuple(found), inherent=inherent)


def plans_along(placed: PlacedProblem, *, time_limit: float | None = None) -> Iterator[MigrationCertificate]:
    """Yield the plans behind the points of the frontier, in its order, each with its evidence.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    deadline = Deadline(time_limit)
    search, inherent = start_search(placed, None, deadline)
    yield from descend(search, placed, inherent.partial_nodes, deadline)


def descend(
    search: PlanSearch, placed: PlacedProblem, fewest: int, deadline: Deadline
) -> Iterator[MigrationCertificate]:
    """Yield a plan for every limit from the partial nodes of today down to `fewest`, each with its evidence.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    for limit in range(count_partial(placed.problem, placed.current), fewest - 1, -1):
        yield search.settle(limit) if deadline.is_open() else search.certificate(limit)
