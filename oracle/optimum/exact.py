"""Φ*: the fewest partial nodes a pool can have, exactly, with a certificate (theory §4).

Cheap things come first. Pools of 8-GPU nodes on which everything may move have a closed form. A greedy packing that
meets the load bound settles most others without a solver; weights settle most of the rest; a solver is asked only
for what is left, and a branch tree then turns its answer into a proof that needs no trust.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compass_core.errors import CompassError
from oracle.optimum.certificate import Argument, Certificate, Status, check_packing
from oracle.optimum.closed_form import closed_form_with_witness, fewest_partial_nodes
from oracle.optimum.greedy import greedy_packing
from oracle.optimum.load_bound import LoadBound, load_bound
from oracle.optimum.node_classes import NodeClass, PackingProblem, PlacedProblem, count_empty, packing
from oracle.optimum.proof import NEVER
from oracle.optimum.proving import Question
from oracle.optimum.reductions import GPUS, is_uniform, uniform_counts
from oracle.optimum.search import PoolSearch
from oracle.optimum.solver import Deadline, Outcome, Row, solve_integers
from oracle.snapshots.kinds import total_gpus
from oracle.snapshots.model import MAX_GPUS_PER_NODE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.optimum.node_classes import Packing


# Solvers count in 64-bit integers and doubles; no cluster comes near.
_MAX_INSTANCES = 10**9

# GPUs free on a node up to which the emptiest optimal packing is looked for. It only says what else could be gained; on
# nodes of hundreds of GPUs (devices that are shared out) its model takes longer to make than everything else.
_EMPTIEST_UP_TO = 128


_PARTIAL_NODES = Question()


class InfeasibleError(CompassError):
    """These instances do not fit on these nodes, however they are placed."""


class WorkloadError(CompassError, ValueError):
    """The workload asked about is none: a count or a size out of range."""


class UndecidedError(CompassError):
    """Time ran out before any packing was found: neither possible nor impossible is claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptimum:
    """The best packing found for one pool, and how good it is known to be.

    Attributes
    ----------
    certificate
        The packing, both bounds and the argument for the lower one.
    empty_nodes
        Nodes that offer GPUs and have none in use in that packing.
    empty_nodes_status
        OPTIMAL if no packing with as few partial nodes leaves more nodes empty. Not certified.
    """

    certificate: Certificate
    empty_nodes: int
    empty_nodes_status: Status

    @property
    def partial_nodes(self) -> int:
        """Partial nodes of the packing: Φ* if the status is OPTIMAL, otherwise an upper bound on it."""
        return self.certificate.partial_nodes

    @property
    def lower_bound(self) -> int:
        """Partial nodes of every packing, at least."""
        return self.certificate.lower_bound

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return self.certificate.status

    @property
    def packing(self) -> Packing:
        """What every node holds."""
        return self.certificate.packing


def inherent_partial_nodes(counts: Sequence[int], *, capacity: int = 8, nodes: int | None = None) -> int:
    """Return Φ* of a uniform cluster: the fewest partial nodes over all placements of its instances.

    Parameters
    ----------
    counts
        Running instances by demand: (n1, n2, ...), at most `capacity` numbers.
    capacity
        GPUs of every node.
    nodes
        Nodes of the cluster; None for as many as are needed.

    Returns
    -------
    int
        Nodes. On nodes of 8 GPUs it comes from the closed form, in a time that the counts do not change; on others it
        is searched for.

    Raises
    ------
    InfeasibleError
        The instances do not fit on so many nodes.
    WorkloadError
        A count is no whole number or out of range, there are more counts than a node has GPUs, or the number of nodes
        is negative.
    """
    checked = _checked_counts(counts, capacity)
    if nodes is not None and nodes < 0:
        raise WorkloadError(f"nodes: expected at least 0, got {nodes}")
    if capacity == GPUS:
        return _inherent_by_closed_form(checked, nodes)
    if nodes is None:
        nodes = sum(checked)
    problem = PackingProblem.build({NodeClass(capacity, 0, capacity): nodes}, dict(enumerate(checked, start=1)))
    return solve_pool(problem, prefer_empty=False).partial_nodes


def _inherent_by_closed_form(counts: tuple[int, ...], nodes: int | None) -> int:
    partial = fewest_partial_nodes(counts)
    if nodes is not None:
        gpus = sum(demand * count for demand, count in enumerate(counts, start=1))
        # Beside the partial nodes, each with a GPU in use at least, there are full ones only.
        if nodes < partial + (gpus - partial) // GPUS:
            _check_room(closed_form_with_witness(counts).nodes_in_use, nodes)
    return partial


def _check_room(needed: int, nodes: int) -> None:
    if needed > nodes:
        raise InfeasibleError(
            "the instances do not fit on the nodes, however they are placed: "
            f"they need {needed} at least, there are {nodes}"
        )


def _checked_counts(counts: Sequence[int], capacity: int) -> tuple[int, ...]:
    """Return the counts as plain integers; whatever counts as one (numpy's too) is taken."""
    if not 1 <= capacity <= MAX_GPUS_PER_NODE:
        raise WorkloadError(f"capacity: expected 1 to {MAX_GPUS_PER_NODE} GPUs, got {capacity}")
    try:
        checked = tuple(operator.index(count) for count in counts)
    except TypeError as error:
        raise WorkloadError(f"counts: expected whole numbers (n1, n2, ...), got {counts!r}") from error
    if isinstance(counts, Mapping):
        raise WorkloadError(f"counts: expected whole numbers (n1, n2, ...), got the mapping {counts!r}")
    if len(checked) > capacity:
        raise WorkloadError(f"counts: expected at most {capacity} numbers, one for each demand, got {len(checked)}")
    for gpus, count in enumerate(checked, start=1):
        if not 0 <= count <= _MAX_INSTANCES:
            raise WorkloadError(f"counts: expected 0 to {_MAX_INSTANCES} instances of {gpus} GPUs, got {count}")
    return checked


def solve_pool(
    problem: PackingProblem,
    *,
    start: Packing | None = None,
    time_limit: float | None = None,
    prefer_empty: bool = True,
    exact: bool = True,
    quickly: bool = False,
) -> PoolOptimum:
    """Return a packing of a pool with the fewest partial nodes, with its certificate.

    Without a time limit the result is deterministic; its status is OPTIMAL, but where packings are not `exact`.

    Parameters
    ----------
    problem
        Node classes and movable instances.
    start
        A packing known already, such as the one in force. With it there is always a result.
    time_limit
        Seconds of wall time for everything; None for as long as it takes. Solvers are stopped by it, steps of our own
        are not begun after it. When it is over the status is UNKNOWN unless the bounds have met. At 0 no solver is
        called.
    prefer_empty
        Whether to look for the most empty nodes among the packings with the fewest partial ones.
    exact
        Whether every packing can be had. If not, `start` is the packing that is returned, and bounds are all that is
        looked for.
    quickly
        Only look for the bounds that are found at once, however large the pool.

    Raises
    ------
    InfeasibleError
        There is no packing.
    UndecidedError
        Time ran out before there was any packing; not with `start`.
    SolverError
        A solver returned nonsense.
    """
    deadline = Deadline(time_limit)
    if start is not None:
        check_packing(problem, start)
    if is_uniform(problem) and exact:
        return _by_closed_form(problem)
    known = [packed for packed in (greedy_packing(problem) if exact else None, start) if packed is not None]
    search = PoolSearch(PlacedProblem.unplaced(problem), known, deadline, exact=exact)
    by_load = load_bound(problem)
    search.settle(_PARTIAL_NODES, by_load, quickly=quickly)
    certificate = _certificate(problem, search, by_load)
    status = Status.UNKNOWN
    if certificate.status is Status.OPTIMAL and prefer_empty and exact:
        certificate, status = _with_most_empty(certificate, search, deadline)
    return PoolOptimum(
        certificate=certificate,
        empty_nodes=count_empty(problem, certificate.packing),
        empty_nodes_status=status,
    )


def _by_closed_form(problem: PackingProblem) -> PoolOptimum:
    """Return the optimum of free 8-GPU nodes: no search, however many instances there are (claims C8 and C9)."""
    settled = closed_form_with_witness(uniform_counts(problem))
    idle = sum(problem.nodes) - settled.nodes_in_use
    _check_room(settled.nodes_in_use, sum(problem.nodes))
    by_remainder = load_bound(problem) == settled.partial_nodes
    certificate = Certificate(
        problem=problem,
        packing=packing({(0, pattern): nodes for pattern, nodes in (*settled.packing, ((), idle))}),
        partial_nodes=settled.partial_nodes,
        lower_bound=settled.partial_nodes,
        argument=LoadBound() if by_remainder else settled.argument,
        status=Status.OPTIMAL,
    )
    return PoolOptimum(certificate=certificate, empty_nodes=idle, empty_nodes_status=Status.OPTIMAL)


def _certificate(problem: PackingProblem, search: PoolSearch, by_load: int) -> Certificate:
    """Return what is known about the fewest partial nodes; of arguments that prove the same the simplest."""
    best = search.best(_PARTIAL_NODES)
    bounds: list[tuple[int, Argument]] = [(by_load, LoadBound()), search.lower_bound(_PARTIAL_NODES)]
    lower, argument = max(bounds, key=lambda bound: bound[0])
    if best is None and lower >= NEVER:
        raise InfeasibleError("the instances do not fit on the nodes, however they are placed")
    if best is None:
        raise UndecidedError("no packing was found in time; whether there is one is not known")
    return Certificate(
        problem=problem,
        packing=search.packing(best),
        partial_nodes=best.partial_nodes,
        lower_bound=lower,
        argument=argument,
        status=Status.of(lower, best.partial_nodes),
    )


def _with_most_empty(certificate: Certificate, search: PoolSearch, deadline: Deadline) -> tuple[Certificate, Status]:
    """Return the certificate with the emptiest of its optimal packings, and whether that one is known to be so."""
    problem = certificate.problem
    usable = sum(n for kind, n in zip(problem.classes, problem.nodes, strict=True) if kind.capacity > 0)
    empty, most = count_empty(problem, certificate.packing), _most_empty_by_room(problem)
    if empty == most:
        return certificate, Status.OPTIMAL
    if not deadline.is_open() or any(kind.room > _EMPTIEST_UP_TO for kind in problem.classes):
        return certificate, Status.UNKNOWN
    in_use = (*search.model.partial, *search.model.full)
    optimal = Row(None, certificate.partial_nodes, search.model.partial)
    emptier = Row(usable - most, usable - empty - 1, in_use)
    answer = solve_integers(search.model.program(in_use, [optimal, emptier]), deadline)
    if answer.values:
        certificate = replace(certificate, packing=search.packing(search.read(answer)))
    settled = answer.outcome in {Outcome.OPTIMAL, Outcome.INFEASIBLE}
    return certificate, Status.OPTIMAL if settled else Status.UNKNOWN


def _most_empty_by_room(problem: PackingProblem) -> int:
    """Return how many nodes can be empty at most if instances could be cut to fit: the roomiest are used first."""
    left = problem.movable_gpus
    may_be_empty: list[tuple[int, int]] = []
    for kind, nodes in zip(problem.classes, problem.nodes, strict=True):
        room = max(kind.room, total_gpus(kind.own))
        if kind.held or not kind.capacity:
            left -= room * nodes
        else:
            may_be_empty.append((room, nodes))
    empty = sum(nodes for _, nodes in may_be_empty)
    for room, nodes in sorted(may_be_empty, reverse=True):
        if left <= 0:
            break
        used = min(nodes, -(-left // room)) if room else 0
        empty -= used
        left -= used * room
    return empty
