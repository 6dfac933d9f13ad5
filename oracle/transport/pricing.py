"""Columns for nodes that may hold too many patterns to list: those that a plan near the optimum asks for.

A linear program over the patterns listed so far yields prices; a dynamic program finds for each group the pattern that
is cheapest at these prices. If it is not listed it is added, and the program solved again. What is never asked for is
not in the model, so it cannot be searched exhaustively; bounds do not depend on it (`oracle.transport.bounds`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oracle.node_classes import MAX_LOAD
from oracle.transport.model import columns_of
from oracle.transport.relaxation import first_choice, relax

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.node_classes import PackedNodes, Packing, Pattern, PlacedProblem
    from oracle.solver import Deadline
    from oracle.transport.model import Columns
    from oracle.transport.relaxation import Priced

# Pools of nodes with 80 devices need about 20 rounds; what is missing after so many makes the bound no better.
_MAX_ROUNDS = 60


def grown_columns(placed: PlacedProblem, targets: Iterable[Packing], limit: int, deadline: Deadline) -> Columns:
    """Return the columns of a pool, all of them if they are few, with the patterns of some packings in any case.

    Parameters
    ----------
    placed
        The pool: node classes, movable instances, what its nodes hold now.
    targets
        Packings that must be expressible.
    limit
        The number of partial nodes around which prices are sought.
    deadline
        When to stop.
    """
    extra: dict[int, set[Pattern]] = {}
    for packed in targets:
        for group in packed:
            extra.setdefault(group.node_class, set()).add(group.pattern)
    columns = columns_of(placed, extra)
    for _ in range(_MAX_ROUNDS):
        relaxed = None
        if not columns.complete and deadline.is_open():
            relaxed = relax(columns, limit, (), first_choice(columns), deadline)
        if relaxed is None or not _add_missing(placed, columns, relaxed.priced, extra):
            break
        columns = columns_of(placed, extra)
    return columns


def _add_missing(placed: PlacedProblem, columns: Columns, priced: Priced, extra: dict[int, set[Pattern]]) -> bool:
    """Add for each group the pattern that is cheaper than all that are listed, if there is one; whether there was."""
    listed = set(zip(columns.group.tolist(), columns.after, strict=True))
    added = False
    for g, group in enumerate(columns.groups):
        pattern = cheapest_pattern(placed, group, priced)
        if (g, pattern) not in listed:
            extra.setdefault(group.node_class, set()).add(pattern)
            added = True
    return added


def cheapest_pattern(placed: PlacedProblem, group: PackedNodes, priced: Priced) -> Pattern:
    """Return a pattern that a node of the group may hold afterwards and that is cheapest at these prices.

    Cost: one step for each demand, load and number of copies.
    """
    kind = placed.problem.classes[group.node_class]
    weights = priced.leaf.weights
    available = dict(placed.problem.demands)
    prices = dict(zip(available, weights.demands, strict=True))
    ways = [_by_load(available, kind.room, group.pattern, prices, weights.denominator)]
    if kind.own:
        ways.append(_by_load(Counter(kind.own), None, group.pattern, prices, weights.denominator))
    endings = (ending for way in ways for ending in way.items())
    return min((cost + weights.partial * kind.is_partial(load), pattern) for load, (cost, pattern) in endings)[1]


def _by_load(
    copies: Mapping[int, int], room: int | None, before: Pattern, prices: Mapping[int, int], arrival: int
) -> dict[int, tuple[int, Pattern]]:
    """Return the least cost, and a pattern that has it, for each number of GPUs."""
    held = Counter(before)
    best: dict[int, tuple[int, Pattern]] = {0: (0, ())}
    for demand, value in prices.items():
        after: dict[int, tuple[int, Pattern]] = {}
        for load, (cost, pattern) in best.items():
            most = copies.get(demand, 0) if room is None else min(copies[demand], (room - load) // demand)
            for k in range(most + 1):
                change = k - held[demand]
                total = cost + arrival * max(change, 0) - value * change
                reached = min(load + k * demand, MAX_LOAD)
                after[reached] = min(after.get(reached, (total + 1, ())), (total, pattern + (demand,) * k))
        best = after
    return best
