"""Integer programs by branch and cut: SCIP, for what CP-SAT is slow at.

Which instances move is a covering problem whose linear relaxation is nearly tight: SCIP settles 1,250 nodes in a second
where CP-SAT finds no proof for 150 in minutes. What comes back are doubles: it is rounded, and checked in integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.solver import (
    IntegerAnswer,
    Outcome,
    SolverError,
    bound_of,
    create_solver,
    load_program,
    outcome_of,
    run_solver,
    set_time_limit,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.solver import Deadline, Program

# Most programs need one node; those that need more than this many end with a small gap. It bounds the work in a way
# that is the same on every machine.
MAX_NODES = 100

# OR-Tools calls it abnormal if SCIP stops at the limit of nodes without a solution.
_ABNORMAL = 4


def solve_by_branching(program: Program, deadline: Deadline, *, max_nodes: int = MAX_NODES) -> IntegerAnswer:
    """Solve over the integers with SCIP. Deterministic if time does not run out.

    Parameters
    ----------
    program
        What to minimise.
    deadline
        When to stop; once it is over nothing is tried.
    max_nodes
        Nodes of the search tree after which the best solution found is returned, with the bound.

    Raises
    ------
    SolverError
        OR-Tools is built without SCIP, or it returns values that are no solution.
    """
    solver = create_solver("SCIP")
    version = solver.SolverVersion()
    if not set_time_limit(solver, deadline):
        return IntegerAnswer(Outcome.GAVE_UP, (), None, version)
    parameters = f"limits/nodes = {max_nodes}\nrandomization/randomseedshift = 1\nmisc/catchctrlc = FALSE"
    if not solver.SetSolverSpecificParametersAsString(parameters):
        raise SolverError(f"{version} refuses its parameters")
    columns, _ = load_program(solver, program, integer=True)
    code = run_solver(solver)
    outcome = Outcome.GAVE_UP if code == _ABNORMAL else outcome_of(code, version)
    if outcome in {Outcome.INFEASIBLE, Outcome.GAVE_UP}:
        return IntegerAnswer(outcome, (), None, version)
    values = tuple(round(column.solution_value()) for column in columns)
    if not _solves(program, values):
        raise SolverError(f"{version} returned values that are no solution")
    return IntegerAnswer(outcome, values, bound_of(solver, program, outcome, values), version)


def _solves(program: Program, values: Sequence[int]) -> bool:
    if any(not 0 <= value <= upper for value, upper in zip(values, program.uppers, strict=True)):
        return False
    for row in program.rows:
        total = sum(coefficient * values[column] for column, coefficient in row.terms)
        if (row.lower is not None and total < row.lower) or (row.upper is not None and total > row.upper):
            return False
    return True
