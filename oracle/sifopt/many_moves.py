"""The fewest migrations that reach Φ*, however many, by the integer program, while instances wait or have to leave.

Those stand on nodes that offer nothing (`LEAVING`). They must arrive elsewhere like whoever moves, so a cheapest plan
of that enlarged pool moves the fewest others.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from oracle.optimum.closed_form import fewest_partial_nodes
from oracle.optimum.exact import InfeasibleError, solve_pool
from oracle.optimum.node_classes import LEAVING, NodeClass, PackingProblem, PlacedProblem, packing
from oracle.optimum.plan_search import PlanSearch
from oracle.optimum.solver import Deadline

if TYPE_CHECKING:
    from compass_core.state import ClusterState
    from oracle.optimum.certificate import Certificate
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.snapshots.model import Pattern

# Workloads whose Φ* is remembered. For nodes of other than 8 GPUs it takes milliseconds.
_REMEMBERED = 4_096


def inherent(counts: tuple[int, ...], nodes: int, capacity: int) -> Certificate | None:
    """Return Φ* of equal nodes with a packing that has it and why no other has less; None if nothing fits.

    Parameters
    ----------
    counts
        Instances by demand: (n1, n2, ...).
    nodes, capacity
        The nodes, and the GPUs of each.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    problem = PackingProblem.build({NodeClass(capacity, 0, capacity): nodes}, dict(enumerate(counts, start=1)))
    try:
        return solve_pool(problem, prefer_empty=False).certificate
    except InfeasibleError:
        return None


@lru_cache(maxsize=_REMEMBERED)
def inherent_partial_nodes(counts: tuple[int, ...], nodes: int, capacity: int) -> int | None:
    """Return Φ* of equal nodes, or None if the instances do not fit.

    On 8-GPU nodes that is left open: Φ* is the same on all clusters on which they fit.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    if capacity == 8:
        return fewest_partial_nodes(counts)
    found = inherent(counts, nodes, capacity)
    return None if found is None else found.partial_nodes


def with_many_moves(state: ClusterState, new: Pattern, drained: int | None, best: Certificate) -> MigrationCertificate:
    """Return the cheapest way to as few partial nodes as `best` has.

    Its migrations count all that arrive on a node, whether they waited or moved.

    Parameters
    ----------
    state
        The cluster without the new instances.
    new
        Demands of the new instances.
    drained
        The node that everything has to leave, if there is one.
    best
        Φ* of all instances on the other nodes.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    held = Counter({shape.demands: len(indexes) for shape, indexes in state.shapes.items()})
    leaving: Counter[Pattern] = Counter((gpus,) for gpus in new)
    if drained is not None:
        held[state.nodes[drained].shape.demands] -= 1
        leaving[state.nodes[drained].shape.demands] += 1
    kind = NodeClass(state.capacity, 0, state.capacity)
    nodes = {kind: held.total(), LEAVING: leaving.total()}
    problem = PackingProblem.build(nodes, dict(best.problem.demands))
    index = {one: c for c, one in enumerate(problem.classes)}
    present = {(index[kind], pattern): count for pattern, count in held.items()}
    present |= {(index[LEAVING], pattern): count for pattern, count in leaving.items()}
    after = {(index[kind], group.pattern): group.nodes for group in best.packing}
    if leaving:
        after[index[LEAVING], ()] = nodes[LEAVING]
    search = PlanSearch(PlacedProblem(problem, packing(present)), [packing(after)], Deadline())
    return search.cheapest(best.partial_nodes)
