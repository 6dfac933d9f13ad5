"""Choosing whose instances move, quickly: the nodes change as a plan at pattern level says; not always the best choice.

Each instance has a price: the weight of its job, shared among the instances of the job that move. Nodes that give up
cheap instances are taken first. Then prices are set anew: a job of which many instances move becomes cheap, one of
which a single instance moves dear. A few rounds draw the moves together on few jobs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from oracle.planning.choosing.disturbance import NodeChange, Selection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.planning.choosing.disturbance import NodeChoice, Option, Resident, SelectionProblem

# More rounds than this found nothing better on random clusters of 100 to 12,500 nodes.
_ROUNDS = 12


def choose_quickly(
    problem: SelectionProblem, wanted: Mapping[tuple[int, int], Sequence[tuple[Option, int]]]
) -> Selection:
    """Return a selection in which as many nodes of each group take each option as wanted.

    Deterministic. Cost: a few passes over the instances of the nodes.

    Parameters
    ----------
    problem
        The nodes.
    wanted
        For a pool and group, how many of its nodes take which option. The other nodes stay as they are.
    """
    groups: defaultdict[tuple[int, int], list[NodeChoice]] = defaultdict(list)
    for node in problem.nodes:
        groups[node.pool, node.group].append(node)
    prices = {job: problem.weights[job] / count for job, count in _offered(problem).items()}
    best = Selection(())
    for round_ in range(_ROUNDS):
        changes = (change for key in sorted(wanted) for change in _take(groups[key], wanted[key], prices))
        selection = Selection(tuple(sorted(changes, key=lambda change: change.node.name)))
        if not round_ or selection.cost(problem.weights) < best.cost(problem.weights):
            best = selection
        moved = Counter(resident.job for change in selection.changes for resident in change.leaving)
        for job, price in prices.items():
            prices[job] = (price + problem.weights[job] / max(moved[job], 1)) / 2
    return best


def _offered(problem: SelectionProblem) -> Counter[str]:
    """Count the instances of each job that some option of their node lets leave."""
    offered: Counter[str] = Counter()
    for node in problem.nodes:
        demands = {demand for option in node.options for demand, _ in option.leaves}
        offered.update(resident.job for resident in node.residents if resident.gpus in demands)
    return offered


def _take(
    nodes: Sequence[NodeChoice], wanted: Sequence[tuple[Option, int]], prices: Mapping[str, float]
) -> Iterator[NodeChange]:
    """Yield the changes of the nodes of one group: for each option those that give up the cheapest instances."""
    left = list(nodes)
    for option, count in sorted(wanted, key=lambda pair: (-pair[0].migrations, pair[0].after)):
        offers = sorted(
            (_offer(node, option, prices) for node in left), key=lambda offer: (offer[0], offer[1].node.name)
        )
        yield from (change for _, change in offers[:count])
        taken = {change.node.name for _, change in offers[:count]}
        left = [node for node in left if node.name not in taken]


def _offer(node: NodeChoice, option: Option, prices: Mapping[str, float]) -> tuple[float, NodeChange]:
    """Return the cheapest instances that leave the node under an option, and their price."""
    leaving: list[Resident] = []
    for demand, count in option.leaves:
        here = [resident for resident in node.residents if resident.gpus == demand]
        leaving += sorted(here, key=lambda resident: (prices[resident.job], resident))[:count]
    return sum(prices[resident.job] for resident in leaving), NodeChange(node, option, tuple(sorted(leaving)))
