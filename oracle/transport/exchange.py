"""From a plan that almost balances to one that does, by a few changes found by meeting in the middle.

Rounding the optimum over real numbers leaves a few instances that arrive nowhere, or arrive without having left. A
*change* gives one node of a group another pattern afterwards. Sums of two changes are sorted by what they do; a pair of
such sums that together do what is missing is then a matter of looking up. There are more than enough of them: some
10,000 sums of two make 50 million sums of four, for a few hundred thousand things that can be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.transport.model import Columns, Integers

# Different changes that enter the sums, cheapest first: nodes of 8 GPUs have some 300. 1,500 make a million sums,
# sorted in 0.3 s: enough for nodes of 16 GPUs, where there are more things that can be missing.
MAX_CHANGES = 1_500

# Sums looked at before giving up; most often one of the first three is found to be possible.
MAX_TRIALS = 2_000

# Partial nodes fewer than allowed that are tried.
_MAX_SLACK = 8

# The factor of a polynomial hash, odd and irregular (2^64 over the golden ratio). Nothing rests on it: sums are
# checked.
_FACTOR = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Goal:
    """What a plan is to reach.

    Attributes
    ----------
    max_partial_nodes
        Partial nodes at most.
    excess
        For each column what it costs more than the cheapest of its group, in whole units of the prices.
    slack
        What each partial node fewer than allowed costs in the same units.
    budget
        What all of that may add up to.
    """

    max_partial_nodes: int
    excess: Integers
    slack: int
    budget: int


@dataclass(frozen=True, slots=True)
class _Changes:
    """Sums of changes, sorted by key: what they do as a hash, what they cost, and which changes they are of."""

    key: Integers
    cost: Integers
    first: Integers
    second: Integers


def balance(columns: Columns, start: Integers, goal: Goal) -> Integers | None:
    """Return nodes of each column that balance within the budget, at most four changes from `start`, or None.

    None proves nothing. Deterministic.

    Parameters
    ----------
    columns
        The columns that may be used.
    start
        Nodes of each column; those of a group add up to its supply.
    goal
        What to reach.
    """
    weights = _hash_weights(columns.effect.shape[1])
    source, target, cost = _single_changes(columns, start, goal)
    key = (columns.effect[target] - columns.effect[source]) @ weights
    _, first = np.unique(key, return_index=True)  # of changes that do the same, the first is the cheapest
    chosen = np.sort(first)[:MAX_CHANGES]
    source, target = source[chosen], target[chosen]
    sums = _sums_of_two(key[chosen], cost[chosen], goal.budget - int(goal.excess @ start))
    missing = -(start @ columns.effect)
    trials = MAX_TRIALS
    for slack in range(_MAX_SLACK + 1):
        left = goal.budget - int(goal.excess @ start) - slack * goal.slack
        missing[-1] = goal.max_partial_nodes - slack - int(start @ columns.partial)
        for pair in _meetings(sums, int(_wrapped(missing, weights)), left):
            trials -= 1
            if trials < 0:
                return None
            plan = _changed(start, [(source[i], target[i]) for i in pair])
            if plan is not None and not (plan @ columns.effect)[:-1].any():
                return plan
    return None


def _single_changes(columns: Columns, start: Integers, goal: Goal) -> tuple[Integers, Integers, Integers]:
    """Return source, target and cost of every change of one node; the first changes nothing."""
    size = np.bincount(columns.group, minlength=len(columns.groups))
    first = np.cumsum(size) - size
    used = np.flatnonzero(start)
    source = np.repeat(used, size[columns.group[used]])
    ends = np.cumsum(size[columns.group[used]])
    within = np.arange(len(source)) - np.repeat(ends - size[columns.group[used]], size[columns.group[used]])
    target = first[columns.group[source]] + within
    cost = goal.excess[target] - goal.excess[source]
    chosen = np.lexsort((target, source, cost))
    chosen = chosen[(source != target)[chosen]]
    nothing = used[:1]
    return (
        np.concatenate([nothing, source[chosen]]),
        np.concatenate([nothing, target[chosen]]),
        np.concatenate([np.zeros(len(nothing), np.int64), cost[chosen]]),
    )


def _hash_weights(length: int) -> Integers:
    weights = [pow(_FACTOR, i + 1, 1 << 64) for i in range(length)]
    return np.array(weights, np.uint64).astype(np.int64)


def _wrapped(vector: Integers, weights: Integers) -> np.int64:
    return np.int64((vector * weights).sum())


def _sums_of_two(key: Integers, cost: Integers, left: int) -> _Changes:
    """Return the cheapest sum of at most two changes for each key."""
    first, second = np.triu_indices(len(key))
    total = cost[first] + cost[second]
    affordable = total <= left - 2 * min(0, int(cost.min(initial=0)))
    first, second, total = first[affordable], second[affordable], total[affordable]
    keys = key[first] + key[second]
    order = np.lexsort((total, keys))
    keys = keys[order]
    order = order[np.concatenate([np.ones(len(keys[:1]), np.bool_), keys[1:] != keys[:-1]])]
    return _Changes(key[first[order]] + key[second[order]], total[order], first[order], second[order])


def _meetings(sums: _Changes, key: int, left: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the changes of each two sums that have this key together and cost at most what is left."""
    if not len(sums.key):
        return
    wanted = np.int64(key) - sums.key
    position = np.minimum(np.searchsorted(sums.key, wanted), len(sums.key) - 1)
    meet = (sums.key[position] == wanted) & (sums.cost + sums.cost[position] <= left)
    for one in np.flatnonzero(meet).tolist():
        other = int(position[one])
        yield int(sums.first[one]), int(sums.second[one]), int(sums.first[other]), int(sums.second[other])


def _changed(start: Integers, changes: list[tuple[int, int]]) -> Integers | None:
    """Return the plan after the changes, or None if it takes nodes from a column that has none left."""
    plan = start.copy()
    for source, target in changes:
        plan[source] -= 1
        plan[target] += 1
    return None if any(plan[source] < 0 for source, _ in changes) else plan
