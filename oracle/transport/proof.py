"""Branch trees: a proof that no plan is so cheap, or the plan that shows otherwise.

Counts of the whole come first: how many nodes are full, how many are partial, how many instances of a demand arrive.
The number of full nodes alone brings in the sum of all GPUs, and closes most gaps with two leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from oracle.bounds import AllFull, WithLoad
from oracle.transport.bounds import AllPartial, Arrivals, MigrationBranch, MigrationCut
from oracle.transport.exchange import Goal, balance
from oracle.transport.relaxation import counting, relax, rounded
from oracle.transport.remainders import residue_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.solver import Deadline
    from oracle.transport.bounds import MigrationCount, MigrationTree, MigrationWeights
    from oracle.transport.model import Columns, Integers, Mask
    from oracle.transport.relaxation import Priced, Relaxed

# 98 in 100 trees need 3 linear programs; a proof that needs more than this many is left to the solver's word.
MAX_LEAVES_AND_BRANCHES = 60

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a search found: a plan (nodes of each column), or a tree that proves that there is none, or neither."""

    plan: Integers | None = None
    tree: MigrationTree | None = None


def plan_or_proof(
    columns: Columns, limit: int, target: int, *, root: Priced, chosen: Mask, deadline: Deadline
) -> Verdict:
    """Look for a plan with fewer than `target` migrations, or for a proof that none has at most `limit` partial nodes.

    Parameters
    ----------
    columns
        The model. If it is not complete, the tree proves nothing about what is missing.
    limit
        Partial nodes at most.
    target
        Migrations that a plan must stay below.
    root
        Prices without inequalities.
    chosen
        Columns to begin with.
    deadline
        When to stop.
    """
    return _Search(columns, limit, target, root, deadline).visit((), chosen)


class _Search:
    """Depth-first search for one tree, with the number of linear programs it may still solve."""

    def __init__(self, columns: Columns, limit: int, target: int, root: Priced, deadline: Deadline) -> None:
        self._columns = columns
        self._limit = limit
        self._target = target
        self._root = root
        self._deadline = deadline
        self._left = MAX_LEAVES_AND_BRANCHES

    def visit(self, cuts: tuple[MigrationCut, ...], chosen: Mask) -> Verdict:
        """Return a plan that is cheap enough, or a tree for all plans that obey the cuts."""
        self._left -= 1
        if self._left < 0 or not self._deadline.is_open():
            return Verdict()
        relaxed = relax(self._columns, self._limit, cuts, chosen, self._deadline)
        if relaxed is None:
            return Verdict()
        if (weights := self._weights(relaxed.priced)) is not None:
            return Verdict(tree=weights)
        if relaxed.feasible and (plan := self._plan_near(relaxed)) is not None:
            return Verdict(plan)
        return self._branch(cuts, relaxed)

    def _weights(self, priced: Priced) -> MigrationWeights | None:
        """Return weights that prove the target, with residues if it takes those, or None."""
        if priced.bound(self._limit) >= self._target:
            return priced.leaf.weights
        found = residue_weights(self._columns, priced, self._limit)
        if found is None:
            return None
        weights, extra = found
        numerator = priced.numerator(self._limit) + extra
        return weights if numerator > weights.denominator * (self._target - 1) else None

    def _branch(self, cuts: tuple[MigrationCut, ...], relaxed: Relaxed) -> Verdict:
        choice = self._split(relaxed)
        if choice is None:
            return Verdict()
        counted, at_most = choice
        below = self.visit((*cuts, MigrationCut(counted, at_most, at_least=False)), relaxed.chosen)
        if below.tree is None:
            return below
        above = self.visit((*cuts, MigrationCut(counted, at_most + 1, at_least=True)), relaxed.chosen)
        return above if above.tree is None else Verdict(tree=MigrationBranch(counted, at_most, below.tree, above.tree))

    def _plan_near(self, relaxed: Relaxed) -> Integers | None:
        start = rounded(self._columns, relaxed.values)
        return plan_near(self._columns, self._limit, self._target - 1, self._root, start)

    def _split(self, relaxed: Relaxed) -> tuple[MigrationCount, int] | None:
        """Return what to count and the number to split at: of the first fractional kind of count, the most so."""
        for counts in _kinds_of_count(self._columns):
            totals = {counted: float(counting(self._columns, counted) @ relaxed.values) for counted in counts}
            choice = max(totals, key=lambda counted: _fractionality(totals[counted]), default=None)
            if choice is not None and _fractionality(totals[choice]) > _TOLERANCE:
                return choice, math.floor(totals[choice])
        return None


def plan_near(columns: Columns, limit: int, migrations: int, priced: Priced, start: Integers) -> Integers | None:
    """Return a plan with at most so many migrations, a few changes from `start`, or None, which proves nothing.

    Parameters
    ----------
    columns
        The model.
    limit
        Partial nodes at most.
    migrations
        Migrations at most.
    priced
        Prices without inequalities. Columns too dear for such a plan are left out.
    start
        Nodes of each column, such as the rounded optimum over real numbers, or a plan for another limit.
    """
    budget = priced.gap(limit, migrations)
    selected, index = columns.select((priced.excess <= budget) | (start > 0))
    found = balance(selected, start[index], Goal(limit, priced.excess[index], priced.slack_price, budget))
    if found is None:
        return None
    plan = np.zeros(len(columns.after), np.int64)
    plan[index] = found
    return plan


def _kinds_of_count(columns: Columns) -> Iterator[list[MigrationCount]]:
    yield [AllFull(), AllPartial()]
    yield [Arrivals(demand) for demand in columns.demands]
    classes = np.array([group.node_class for group in columns.groups], np.int64)
    loads = np.unique(np.stack([classes[columns.group], columns.load], axis=1), axis=0).tolist()
    yield [WithLoad(c, load) for c, load in loads]


def _fractionality(value: float) -> float:
    return abs(value - round(value))
