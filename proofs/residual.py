"""The last stage of the paper's procedure: an integer program for the instances that found no partner (Appendix C.4).

The program is that of the optimum, restricted as the procedure restricts it: what stands on the nodes stays
there, full nodes are closed, and only the residual is placed, on nodes with room left or on empty ones. Its size does
not depend on how many instances there are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oracle.optimum.exact import solve_pool
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.reductions import GPUS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.snapshots.model import Pattern


def pack_residual(unfriendly: Sequence[int], bins: Mapping[Pattern, int]) -> Counter[Pattern]:
    """Return the nodes with the residual added so that the fewest are partial, none of `bins` being repacked.

    Parameters
    ----------
    unfriendly
        U: instances by demand, (n1, ..., n8).
    bins
        What the nodes hold already and how many hold it. Those with room may take more.

    Returns
    -------
    Counter
        What the nodes hold then, and how many hold it; empty ones are left out.

    Raises
    ------
    SolverError
        OR-Tools is unusable, or its answer is no packing.
    """
    room = {pattern: nodes for pattern, nodes in bins.items() if sum(pattern) < GPUS}
    problem = _problem(unfriendly, room)
    packed = Counter({pattern: nodes for pattern, nodes in bins.items() if sum(pattern) >= GPUS})
    hosts: dict[int, list[Pattern]] = {}
    for pattern in sorted(room):
        hosts.setdefault(sum(pattern), []).extend([pattern] * room[pattern])
    for group in solve_pool(problem, prefer_empty=False).packing:
        held = problem.classes[group.node_class].held
        if held:
            for _ in range(group.nodes):
                packed[_together(hosts[held].pop(), group.pattern)] += 1
        elif group.pattern:
            packed[group.pattern] += group.nodes
    return packed


def _problem(unfriendly: Sequence[int], room: Mapping[Pattern, int]) -> PackingProblem:
    """Return the problem: a class for each load of a node with room, and an empty node for each instance."""
    nodes: Counter[NodeClass] = Counter({NodeClass(GPUS, 0, GPUS): sum(unfriendly)})
    for pattern, count in room.items():
        nodes[NodeClass(GPUS, sum(pattern), GPUS - sum(pattern))] += count
    return PackingProblem.build(nodes, dict(enumerate(unfriendly, start=1)))


def _together(held: Pattern, added: Pattern) -> Pattern:
    return tuple(sorted((*held, *added), reverse=True))
