"""Integer programs of many columns, solved on the few that can matter.

The linear relaxation gives every column a reduced cost: what a unit of it adds to the relaxation's optimum, at least.
A solution of cost c therefore uses no column whose reduced cost is above the difference. So the columns of reduced cost
0 are tried alone first; what they give tells which others could still improve on it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.solver import IntegerAnswer, Outcome, Program, Row, solve_integers, solve_relaxation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.solver import Deadline, Relaxation

# Programs up to this size are left to CP-SAT as they are: it needs well below a second for them.
MAX_COLUMNS = 1_000

_TOLERANCE = 1e-6


def solve_priced(program: Program, deadline: Deadline) -> IntegerAnswer:
    """Solve over the integers, as `solve_integers` does.

    What is proved rests on the word of the solvers, here on GLOP's too.
    """
    relaxation = solve_relaxation(program, deadline) if len(program.costs) > MAX_COLUMNS else None
    if relaxation is None:
        return solve_integers(program, deadline)
    prices = _reduced_costs(program, relaxation)
    bound = math.ceil(relaxation.objective - _TOLERANCE)
    best: IntegerAnswer | None = None
    limit = 0.0
    while True:
        columns = [column for column, price in enumerate(prices) if price <= limit + _TOLERANCE]
        answer = _solve_part(program, columns, deadline)
        if answer.values and (best is None or _cost(program, answer.values) < _cost(program, best.values)):
            best = answer
        # Only columns up to this price can be part of anything better.
        worst = math.inf if best is None else _cost(program, best.values) - 1 - relaxation.objective
        complete = len(columns) == len(prices) or limit >= worst
        settled = answer.outcome in {Outcome.OPTIMAL, Outcome.INFEASIBLE}
        if best is not None and (worst < bound - relaxation.objective or (settled and complete)):
            return replace(best, outcome=Outcome.OPTIMAL, bound=_cost(program, best.values))
        if not settled or complete:
            found = answer if best is None else replace(best, outcome=Outcome.FOUND)
            return replace(found, bound=None if found.outcome is Outcome.INFEASIBLE else bound)
        limit = max(1.0, 2 * limit) if best is None else worst


def _solve_part(program: Program, columns: Sequence[int], deadline: Deadline) -> IntegerAnswer:
    """Solve with these columns only, the others at 0."""
    index = {column: i for i, column in enumerate(columns)}
    rows = (Row(row.lower, row.upper, tuple((index[c], k) for c, k in row.terms if c in index)) for row in program.rows)
    part = Program(
        tuple(program.costs[column] for column in columns),
        tuple(program.uppers[column] for column in columns),
        tuple(rows),
    )
    answer = solve_integers(part, deadline)
    if not answer.values:
        return answer
    values = [0] * len(program.costs)
    for column, value in zip(columns, answer.values, strict=True):
        values[column] = value
    return replace(answer, values=tuple(values))


def _reduced_costs(program: Program, relaxation: Relaxation) -> list[float]:
    prices = [float(cost) for cost in program.costs]
    for dual, row in zip(relaxation.duals, program.rows, strict=True):
        if dual:
            for column, coefficient in row.terms:
                prices[column] -= dual * coefficient
    return prices


def _cost(program: Program, values: Sequence[int]) -> int:
    return sum(cost * value for cost, value in zip(program.costs, values, strict=True))
