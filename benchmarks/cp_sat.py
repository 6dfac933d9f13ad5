"""CP-SAT through the same wall as the oracle's own solver: a peer for benchmarks and tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from oracle.optimum.solver import (
    Deadline,
    IntegerAnswer,
    Outcome,
    Row,
    create_solver,
    load_program,
    outcome_of,
    set_time_limit,
)

if TYPE_CHECKING:
    from oracle.optimum.solver import Program

# The MIP presolve in front of CP-SAT is off: it halves rows, and of a row without integer solution makes one that
# CP-SAT calls invalid, not infeasible. Columns count nodes, of which there may be more than 10^7, the default limit.
_PARAMETERS = "num_workers:1 random_seed:1 mip_presolve_level:0 mip_max_bound:1e9 catch_sigint_signal:false"


def solve_by_cp_sat(program: Program, deadline: Deadline | None = None) -> IntegerAnswer:
    """Solve over the integers with CP-SAT, one worker, fixed seed."""
    solver = create_solver("SAT")
    version = solver.SolverVersion()
    rows = [_in_whole_numbers(row, program.uppers) for row in program.rows]
    if not set_time_limit(solver, deadline or Deadline()):
        return IntegerAnswer(Outcome.GAVE_UP, (), None, version)
    if None in rows:
        return IntegerAnswer(Outcome.INFEASIBLE, (), None, version)
    assert solver.SetSolverSpecificParametersAsString(_PARAMETERS)
    possible = type(program)(program.costs, program.uppers, tuple(row for row in rows if row is not None))
    columns, _ = load_program(solver, possible, integer=True)
    outcome = outcome_of(solver.Solve(), version)
    if outcome in {Outcome.INFEASIBLE, Outcome.GAVE_UP}:
        return IntegerAnswer(outcome, (), None, version)
    values = tuple(round(column.solution_value()) for column in columns)
    cost = sum(cost * value for cost, value in zip(program.costs, values, strict=True))
    bound = cost if outcome is Outcome.OPTIMAL else math.ceil(solver.Objective().BestBound() - 1e-6)
    return IntegerAnswer(outcome, values, bound, version)


def _in_whole_numbers(row: Row, uppers: tuple[int, ...]) -> Row | None:
    """Return the row divided by what divides all its coefficients; None if no whole numbers fulfil it."""
    terms = tuple((column, coefficient) for column, coefficient in row.terms if uppers[column])
    divisor = math.gcd(*(coefficient for _, coefficient in terms))
    if divisor == 0:
        return Row(row.lower, row.upper, ()) if (row.lower or 0) <= 0 <= (row.upper or 0) else None
    lower = None if row.lower is None else -(-row.lower // divisor)
    upper = None if row.upper is None else row.upper // divisor
    if lower is not None and upper is not None and lower > upper:
        return None
    return Row(lower, upper, tuple((column, coefficient // divisor) for column, coefficient in terms))
