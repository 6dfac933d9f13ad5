"""The migration model over real numbers: what it costs at least, at which prices, and where its optimum lies.

GLOP proposes prices in floating point. They are rounded to fractions, and everything that is concluded from them is
then computed in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oracle.bounds import AllFull, WithLoad
from oracle.solver import Program, Row, solve_relaxation
from oracle.transport.bounds import AllPartial, Arrivals, Leaf, MigrationWeights, constant
from oracle.transport.model import group_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.solver import Deadline, Relaxation
    from oracle.transport.bounds import MigrationCount, MigrationCut
    from oracle.transport.model import Columns, Integers, Mask

# Duals of these programs are fractions with small denominators; the last is there for the few that are not.
_DENOMINATORS = (*range(1, 13), 16, 24, 36, 60, 840, 10**6)

# A program of up to so many columns is solved at once; of a larger one the columns are added by their prices. Handing a
# column to GLOP takes longer than solving for it, and 9 in 10 are never asked for.
_AT_ONCE = 300
_ADDED_PER_GROUP = 3
_MAX_ROUNDS = 60

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Priced:
    """Columns under the prices of a leaf: integers over one denominator.

    Attributes
    ----------
    leaf
        The prices, and the inequalities under which they hold.
    excess
        How much more each column costs than the cheapest of its group.
    least
        What all nodes cost at least, each in the cheapest way.
    """

    leaf: Leaf
    excess: Integers
    least: int

    @property
    def slack_price(self) -> int:
        """What each partial node fewer than allowed costs."""
        return self.leaf.weights.partial

    def numerator(self, limit: int) -> int:
        """Return the bound for at most `limit` partial nodes, times the denominator; one if no column is missing."""
        return self.least - self.leaf.weights.partial * limit + constant(self.leaf)

    def bound(self, limit: int) -> int:
        """Return the bound for at most `limit` partial nodes, rounded up to whole migrations."""
        return max(0, -(-self.numerator(limit) // self.leaf.weights.denominator))

    def gap(self, limit: int, migrations: int) -> int:
        """Return what excesses and slack add up to in a plan with just so many migrations and no inequality."""
        return self.leaf.weights.denominator * migrations - self.numerator(limit)


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The optimum over the real numbers.

    Attributes
    ----------
    values
        Nodes of each column.
    priced
        Prices that prove the optimum.
    chosen
        The columns that were looked at; the others are too dear.
    feasible
        Whether everything balances. If not, the bound of the prices is above the highest possible cost, unless they
        lost too much by rounding.
    """

    values: npt.NDArray[np.float64]
    priced: Priced
    chosen: Mask
    feasible: bool


def relax(
    columns: Columns, limit: int, cuts: Sequence[MigrationCut], chosen: Mask, deadline: Deadline
) -> Relaxed | None:
    """Return the optimum over real numbers, or None if GLOP finds none in time, which proves nothing.

    Parameters
    ----------
    columns
        The model.
    limit
        Partial nodes at most.
    cuts
        Inequalities to obey.
    chosen
        Columns to begin with, such as those of a similar program, `first_choice` or just what changes nothing.
    deadline
        When to stop.
    """
    for _ in range(_MAX_ROUNDS):
        index = np.flatnonzero(chosen)
        relaxation = solve_relaxation(_elastic(columns, index, limit, cuts), deadline)
        if relaxation is None:
            return None
        more = _wanted(columns, cuts, relaxation) & ~chosen
        if not more.any():
            break
        chosen = chosen | more
    else:
        return None
    values = np.zeros(len(columns.after))
    values[index] = relaxation.values[: len(index)]
    priced = _rounded_prices(columns, limit, tuple(cuts), relaxation)
    return Relaxed(values, priced, chosen, sum(relaxation.values[len(index) :]) < _TOLERANCE)


def first_choice(columns: Columns) -> Mask:
    """Return the columns to begin with: all, or of many those most likely to be used."""
    if len(columns.after) <= _AT_ONCE:
        return np.ones(len(columns.after), np.bool_)
    chosen: Mask = (columns.moves <= 1) & (columns.effect[:, -1] == 0)
    chosen[columns.stay] = True
    return chosen


def price(columns: Columns, leaf: Leaf) -> Priced:
    """Return the columns under the prices of a leaf."""
    weights = leaf.weights
    prices = weights.denominator * columns.moves + weights.partial * columns.effect[:, -1]
    prices -= columns.effect[:, :-1] @ np.array(weights.demands, np.int64)
    for z, cut in zip(weights.branches, leaf.cuts, strict=True):
        prices += (-z if cut.at_least else z) * counting(columns, cut.counted)
    if not len(prices):
        return Priced(leaf, prices, 0)
    least = np.minimum.reduceat(prices, group_starts(columns))
    return Priced(leaf, prices - least[columns.group], int(least @ columns.supply))


def counting(columns: Columns, counted: MigrationCount) -> Integers:
    """Return for each column how many of what is counted one of its nodes has."""
    match counted:
        case AllFull():
            return columns.full
        case AllPartial():
            return columns.effect[:, -1]
        case Arrivals(demand=demand):
            return np.maximum(columns.effect[:, columns.demands.index(demand)], 0)
        case WithLoad(node_class=c, load=load):
            classes = np.array([group.node_class for group in columns.groups], np.int64)
            there: Integers = ((classes[columns.group] == c) & (columns.load == load)).astype(np.int64)
            return there


def program(
    columns: Columns,
    index: Integers,
    limit: int,
    cuts: Iterable[MigrationCut] = (),
    *,
    uppers: Sequence[int] | None = None,
) -> Program:
    """Return the program that moves the fewest instances, using the columns of `index` only.

    Rows: one a group, its nodes; one a demand, as many arrive as leave; the partial nodes; one a cut.
    """
    group, effect = columns.group[index], columns.effect[index]
    rows = [
        Row(nodes, nodes, tuple((i, 1) for i in np.flatnonzero(group == g).tolist()))
        for g, nodes in enumerate(columns.supply.tolist())
    ]
    rows += (Row(0, 0, _terms(effect[:, d])) for d in range(len(columns.demands)))
    rows.append(Row(None, limit, _terms(effect[:, -1])))
    for cut in cuts:
        terms = _terms(counting(columns, cut.counted)[index])
        rows.append(Row(cut.bound, None, terms) if cut.at_least else Row(None, cut.bound, terms))
    limits = columns.supply[group].tolist() if uppers is None else uppers
    return Program(tuple(columns.moves[index].tolist()), tuple(limits), tuple(rows))


def rounded(columns: Columns, values: npt.NDArray[np.float64]) -> Integers:
    """Return whole nodes near the values, as many in each group as it has: the largest fractions are rounded up."""
    plan = np.floor(values + _TOLERANCE).astype(np.int64)
    missing = columns.supply.copy()
    np.subtract.at(missing, columns.group, plan)
    order = np.lexsort((plan - values, columns.group))
    rank = np.arange(len(order)) - group_starts(columns)[columns.group[order]]
    plan[order[rank < missing[columns.group[order]]]] += 1
    return plan


def _terms(coefficients: Integers) -> tuple[tuple[int, int], ...]:
    where = np.flatnonzero(coefficients)
    return tuple(zip(where.tolist(), coefficients[where].tolist(), strict=True))


def _elastic(columns: Columns, index: Integers, limit: int, cuts: Sequence[MigrationCut]) -> Program:
    """Return the program with a way out of every row but the groups', so dear that it is the last resort.

    So it has an optimum whatever the columns and inequalities, and where no plan is, its prices prove that.
    """
    strict = program(columns, index, limit, cuts)
    rows = list(strict.rows)
    groups, balanced = len(columns.groups), len(columns.demands)
    columns_before, column = len(index), len(index)
    for r in range(groups, len(rows)):
        row, signs = rows[r], (1, -1) if r < groups + balanced else (-1 if rows[r].lower is None else 1,)
        rows[r] = Row(row.lower, row.upper, (*row.terms, *((column + i, sign) for i, sign in enumerate(signs))))
        column += len(signs)
    ways_out = column - columns_before
    # Every plan costs less than its instances; a fraction of one that does not balance has to cost more than that.
    dear = 64 * (1 + sum(len(group.pattern) * group.nodes for group in columns.groups))
    return Program((*strict.costs, *(dear,) * ways_out), (*strict.uppers, *(dear,) * ways_out), tuple(rows))


def _wanted(columns: Columns, cuts: Sequence[MigrationCut], relaxation: Relaxation) -> Mask:
    """Return the columns that would lower the optimum, the most promising of each group."""
    groups, size = len(columns.groups), columns.effect.shape[1]
    duals = np.array(relaxation.duals)
    reduced = columns.moves - columns.effect @ duals[groups : groups + size] - duals[columns.group]
    for cut, dual in zip(cuts, duals[groups + size :].tolist(), strict=True):
        reduced -= dual * counting(columns, cut.counted)
    wanted = np.zeros(len(reduced), np.bool_)
    order = np.lexsort((reduced, columns.group))
    rank = np.arange(len(reduced)) - group_starts(columns)[columns.group]
    wanted[order[rank < _ADDED_PER_GROUP]] = True
    cheap: Mask = wanted & (reduced < -_TOLERANCE)
    return cheap


def _rounded_prices(columns: Columns, limit: int, cuts: tuple[MigrationCut, ...], relaxation: Relaxation) -> Priced:
    """Return the first of the rounded prices that lose nothing, or the best of them."""
    first, last = len(columns.groups), len(columns.groups) + len(columns.demands)
    candidates: list[Priced] = []
    for denominator in _DENOMINATORS:
        demands = tuple(round(denominator * dual) for dual in relaxation.duals[first:last])
        # A row "at most" has a dual of 0 or less, but its price is the size of it; noise of the other sign rounds to 0.
        partial, *branches = (round(denominator * abs(dual)) for dual in relaxation.duals[last:])
        candidates.append(price(columns, Leaf(MigrationWeights(denominator, demands, partial, tuple(branches)), cuts)))
        if candidates[-1].numerator(limit) >= denominator * (relaxation.objective - _TOLERANCE):
            return candidates[-1]
    return max(candidates, key=lambda priced: priced.numerator(limit) / priced.leaf.weights.denominator)
