"""The fewest migrations that bring a pool to few partial nodes, and the fewest partial nodes that few migrations reach.

A migration is an instance whose node changes. Which instances of a demand these are does not matter here: the answer
says how many nodes change from which pattern to which (`oracle.planning.whose` chooses the instances).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from oracle.optimum.exact import InfeasibleError, UndecidedError, solve_pool
from oracle.optimum.search import PlanSearch
from oracle.optimum.solver import Deadline

if TYPE_CHECKING:
    from oracle.optimum.certificate import Certificate, Status
    from oracle.optimum.migration_certificate import Changes, MigrationCertificate
    from oracle.optimum.node_classes import Packing, PlacedProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationOptimum:
    """The cheapest plan found within a limit on partial nodes, and how good it is known to be.

    Attributes
    ----------
    certificate
        The plan, both bounds on the migrations and the argument for the lower one.
    inherent
        What is known about the pool's Φ*: no limit below its lower bound can be kept. It is settled if no limit was
        given and there was time.
    """

    certificate: MigrationCertificate
    inherent: Certificate

    @property
    def changes(self) -> Changes:
        """How many nodes change, from which pattern to which."""
        return self.certificate.changes

    @property
    def packing(self) -> Packing:
        """What every node holds after the plan."""
        return self.certificate.packing

    @property
    def partial_nodes(self) -> int:
        """Partial nodes after the plan."""
        return self.certificate.partial_nodes

    @property
    def migrations(self) -> int:
        """Instances that change their node: the fewest if the status is OPTIMAL, otherwise an upper bound."""
        return self.certificate.migrations

    @property
    def lower_bound(self) -> int:
        """Migrations of every plan within the limit, at least."""
        return self.certificate.lower_bound

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return self.certificate.status


def fewest_migrations(
    placed: PlacedProblem, max_partial_nodes: int | None = None, *, time_limit: float | None = None
) -> MigrationOptimum:
    """Return a plan with the fewest migrations that leaves at most so many partial nodes.

    Without a time limit the result is deterministic and its status OPTIMAL.

    Parameters
    ----------
    placed
        The pool: node classes, movable instances, what its nodes hold now (`constrained_problem`).
    max_partial_nodes
        The limit; None for Φ*, or the fewest partial nodes that could be found in time.
    time_limit
        Seconds of wall time; None for as long as it takes. When they are over the status is UNKNOWN unless the bounds
        have met. At 0 no solver is called.

    Raises
    ------
    InfeasibleError
        Every packing has more partial nodes.
    UndecidedError
        No packing with so few partial nodes was found in time, but there may be one.
    SolverError
        A solver returned nonsense.
    """
    deadline = Deadline(time_limit)
    search, inherent = start_search(placed, max_partial_nodes, deadline)
    limit = inherent.partial_nodes if max_partial_nodes is None else max_partial_nodes
    return MigrationOptimum(certificate=search.settle(limit), inherent=inherent)


def start_search(
    placed: PlacedProblem, max_partial_nodes: int | None, deadline: Deadline
) -> tuple[PlanSearch, Certificate]:
    """Return a search that knows a plan within the limit (None for Φ*), and what is known about Φ*.

    Raises
    ------
    InfeasibleError
        Every packing has more partial nodes.
    UndecidedError
        No packing with so few partial nodes was found in time, but there may be one.
    SolverError
        A solver returned nonsense.
    """
    solved = solve_pool(placed.problem, start=placed.current, time_limit=deadline.seconds_left, prefer_empty=False)
    inherent = solved.certificate
    if max_partial_nodes is not None and max_partial_nodes < inherent.partial_nodes:
        _refuse(inherent, max_partial_nodes)
    return PlanSearch(placed, [inherent.packing], deadline), inherent


def _refuse(inherent: Certificate, limit: int) -> NoReturn:
    if limit < inherent.lower_bound:
        raise InfeasibleError(f"at least {inherent.lower_bound} nodes are partial, however instances are moved")
    raise UndecidedError(f"no packing with {limit} partial nodes was found in time; whether there is one is not known")
