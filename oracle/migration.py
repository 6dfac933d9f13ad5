"""The fewest migrations that bring a pool to few partial nodes, and the fewest partial nodes that few migrations reach.

A migration is an instance whose node changes. Which instances of a demand these are does not matter here: the answer
says how many nodes change from which pattern to which (`oracle.relocation` chooses the instances).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from oracle.branching import root_weights
from oracle.certificate import Certificate, Status
from oracle.exact import InfeasibleError, UndecidedError, solve_pool
from oracle.node_classes import count_partial
from oracle.pattern_model import PatternModel
from oracle.solver import Deadline
from oracle.transport.search import PlanSearch

if TYPE_CHECKING:
    from oracle.migration_certificate import Changes, MigrationCertificate
    from oracle.node_classes import Packing, PlacedProblem


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

    Without a time limit the result is deterministic. Its status is then OPTIMAL, unless nodes have so many patterns
    that they are not all listed (`oracle.transport.model`).

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

    What is sought for few migrations serves Φ* as well: where bounds say that so few partial nodes may do, a plan that
    has them is most often found faster than CP-SAT finds a packing.

    Raises
    ------
    InfeasibleError
        Every packing has more partial nodes.
    UndecidedError
        No packing with so few partial nodes was found in time, but there may be one.
    SolverError
        A solver returned nonsense.
    """
    inherent = _without_integers(placed, deadline)
    if max_partial_nodes is not None and max_partial_nodes >= inherent.partial_nodes:
        return PlanSearch(placed, [inherent.packing], deadline), inherent
    search = PlanSearch(placed, [inherent.packing], deadline)
    limit = inherent.lower_bound if max_partial_nodes is None else max_partial_nodes
    if inherent.lower_bound <= limit < inherent.partial_nodes and deadline.is_open():
        found = search.reach(limit)
        if found is not None:
            return search, _with_packing(inherent, found.packing)
        inherent = _inherent(placed, inherent.packing, deadline)
        search = PlanSearch(placed, [inherent.packing], deadline)
    if max_partial_nodes is not None and max_partial_nodes < inherent.partial_nodes:
        _refuse(inherent, max_partial_nodes)
    return search, inherent


def _without_integers(placed: PlacedProblem, deadline: Deadline) -> Certificate:
    """Return what greedy packing, the present one, the load bound and dual weights say about Φ*."""
    problem = placed.problem
    known = solve_pool(problem, start=placed.current, time_limit=0, prefer_empty=False).certificate
    if known.status is Status.OPTIMAL or not deadline.is_open():
        return known
    proved = root_weights(PatternModel(problem), known.partial_nodes, deadline)
    if proved is None or proved[0] <= known.lower_bound:
        return known
    return _settled(replace(known, lower_bound=proved[0], argument=proved[1]))


def _inherent(placed: PlacedProblem, packed: Packing, deadline: Deadline) -> Certificate:
    solved = solve_pool(placed.problem, start=packed, time_limit=deadline.seconds_left, prefer_empty=False)
    return solved.certificate


def _with_packing(inherent: Certificate, packed: Packing) -> Certificate:
    """Return what is known about Φ* with a better packing."""
    return _settled(replace(inherent, packing=packed, partial_nodes=count_partial(inherent.problem, packed)))


def _settled(known: Certificate) -> Certificate:
    meet = known.lower_bound == known.partial_nodes
    return replace(known, status=Status.OPTIMAL if meet else Status.UNKNOWN)


def _refuse(inherent: Certificate, limit: int) -> NoReturn:
    if limit < inherent.lower_bound:
        raise InfeasibleError(f"at least {inherent.lower_bound} nodes are partial, however instances are moved")
    raise UndecidedError(f"no packing with {limit} partial nodes was found in time; whether there is one is not known")
