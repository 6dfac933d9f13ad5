"""The fewest moves that make a cluster optimal while instances wait for a place, or have to leave their node.

Those that wait stand on nodes that offer nothing (`LEAVING`). They must arrive elsewhere like whoever moves, so a
cheapest plan of that enlarged pool moves the fewest others.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from oracle.optimum.closed_form import fewest_partial_nodes
from oracle.optimum.exact import InfeasibleError, solve_pool
from oracle.optimum.node_classes import LEAVING, NodeClass, PackingProblem, PlacedProblem, packing
from oracle.optimum.search import PlanSearch
from oracle.optimum.solver import Deadline
from oracle.sifopt.few_moves import NodeChange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.optimum.certificate import Certificate
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.snapshots.model import Pattern

# Workloads whose Φ* is remembered. Only nodes of other than 8 GPUs need it: there it takes milliseconds.
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


def inherent_partial_nodes(counts: tuple[int, ...], nodes: int, capacity: int) -> int | None:
    """Return Φ* of equal nodes, or None if the instances do not fit.

    On 8-GPU nodes that is left open: Φ* is the same on all clusters on which they fit.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    return fewest_partial_nodes(counts) if capacity == 8 else _remembered(counts, nodes, capacity)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(counts: tuple[int, ...], nodes: int, capacity: int) -> int | None:
    found = inherent(counts, nodes, capacity)
    return None if found is None else found.partial_nodes


def rearrange(
    held: Mapping[Pattern, int], leaving: Mapping[Pattern, int], best: Certificate, capacity: int
) -> MigrationCertificate:
    """Return the cheapest way to as few partial nodes as `best` has.

    Its migrations count all that arrive on a node, whether they waited or moved.

    Parameters
    ----------
    held
        How many nodes hold which pattern now, empty ones included.
    leaving
        What waits, or must leave its node: how many nodes of that kind hold which pattern.
    best
        Φ* of all instances on the nodes of `held`.
    capacity
        GPUs of each node.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    kind = NodeClass(capacity, 0, capacity)
    nodes = {kind: sum(held.values()), LEAVING: sum(leaving.values())}
    problem = PackingProblem.build(nodes, dict(best.problem.demands))
    index = {one: c for c, one in enumerate(problem.classes)}
    present = Counter({(index[kind], pattern): count for pattern, count in held.items()})
    present.update({(index[LEAVING], pattern): count for pattern, count in leaving.items()})
    after = Counter({(index[kind], group.pattern): group.nodes for group in best.packing})
    if leaving:
        after[index[LEAVING], ()] = nodes[LEAVING]
    search = PlanSearch(PlacedProblem(problem, packing(present)), [packing(after)], Deadline())
    return search.settle(best.partial_nodes)


def real_changes(found: MigrationCertificate) -> Counter[NodeChange]:
    """Return how many nodes change from which pattern to which, of those that offer GPUs."""
    changed: Counter[NodeChange] = Counter()
    for change in found.changes:
        if found.problem.classes[change.node_class] != LEAVING:
            changed[NodeChange(change.before, change.after)] += change.nodes
    return changed
