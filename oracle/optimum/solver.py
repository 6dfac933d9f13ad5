"""The wall around OR-Tools: integer and linear programs as our own values, solved by SCIP and GLOP.

The only module that touches ortools, and only when something is solved. `pywraplp` is used because it loads in 0.05 s
of CPU; `ortools.sat.python` loads pandas, which takes over a second. What comes back are doubles, so nothing returned
here is to be trusted before it has been checked in integers.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from compass_core.errors import CompassError
from oracle.optimum import interruption

if TYPE_CHECKING:
    from collections.abc import Sequence

# The seed is SCIP's own, said so that it stays the same: the same input gives the same answer on every machine. Its
# presolving costs a third of the time of our programs and wins nothing. Signals are left to Python:
# `oracle.optimum.interruption` stops a solver.
_PARAMETERS = "randomization/randomseedshift = 1\npresolving/maxrounds = 0\nmisc/catchctrlc = FALSE\n"

# OR-Tools calls it abnormal if SCIP stops at the limit of nodes without a solution.
_ABNORMAL = 4

_TOLERANCE = 1e-6

# Seconds. Solvers count a limit in milliseconds and fail on numbers that do not fit.
_FOREVER = 1e9


class SolverError(CompassError):
    """A solver is missing, refused a model, or returned something that is no solution of it."""


class TimeLimitError(CompassError, ValueError):
    """A time limit that is no number of seconds."""


class Deadline:
    """A moment after which no more work is begun; never, if the limit is None.

    An interruption brings it forward to now.

    Parameters
    ----------
    seconds
        Wall time from now; more than a thousand million, thirty years, is as good as None.

    Raises
    ------
    TimeLimitError
        A negative number, or none at all.
    """

    __slots__ = ("_at",)

    def __init__(self, seconds: float | None = None) -> None:
        if seconds is not None and not seconds >= 0:  # NaN too
            raise TimeLimitError(f"expected a time limit of 0 seconds or more, got {seconds}")
        self._at = None if seconds is None or seconds > _FOREVER else time.monotonic() + seconds

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, at least 0; None if there is none."""
        if interruption.is_requested():
            return 0.0
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    def is_open(self) -> bool:
        """Whether there is time left."""
        return self.seconds_left != 0.0

    def half(self) -> Deadline:
        """Return a deadline halfway from now, which leaves time for what comes after."""
        seconds = self.seconds_left
        return Deadline(None if seconds is None else seconds / 2)


_NEVER = Deadline()


@dataclass(frozen=True, slots=True)
class Row:
    """A linear inequality: `lower` ≤ Σ coefficient · column ≤ `upper`, terms as (column, coefficient) pairs."""

    lower: int | None
    upper: int | None
    terms: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Minimise Σ costs · columns over 0 ≤ column ≤ upper and the rows; one cost and one upper bound a column."""

    costs: tuple[int, ...]
    uppers: tuple[int, ...]
    rows: tuple[Row, ...]


class Outcome(Enum):
    """How a solver ended. GAVE_UP says nothing about whether a solution exists, FOUND nothing about a better one."""

    OPTIMAL = "optimal"
    FOUND = "found"
    INFEASIBLE = "infeasible"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class IntegerAnswer:
    """What SCIP returned.

    Attributes
    ----------
    outcome
        OPTIMAL, FOUND (time ran out), INFEASIBLE or GAVE_UP (time ran out, nothing found).
    values
        One integer a column; empty if nothing was found.
    bound
        Lower bound on the objective that the solver claims, the cost of the values if they are OPTIMAL; None if it
        claims none.
    solver
        Name and version of the solver.
    """

    outcome: Outcome
    values: tuple[int, ...]
    bound: int | None
    solver: str


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The optimum over real numbers: its value, the values of the columns and the dual values of the rows."""

    objective: float
    values: tuple[float, ...]
    duals: tuple[float, ...]


class _Variable(Protocol):
    def solution_value(self) -> float: ...


class _Constraint(Protocol):
    def SetCoefficient(self, var: _Variable, coeff: float) -> None: ...  # noqa: N802 - OR-Tools' name
    def dual_value(self) -> float: ...


class _Objective(Protocol):
    def SetCoefficient(self, var: _Variable, coeff: float) -> None: ...  # noqa: N802
    def SetMinimization(self) -> None: ...  # noqa: N802
    def Value(self) -> float: ...  # noqa: N802
    def BestBound(self) -> float: ...  # noqa: N802


class _Solver(Protocol):
    def IntVar(self, lb: float, ub: float, name: str) -> _Variable: ...  # noqa: N802
    def NumVar(self, lb: float, ub: float, name: str) -> _Variable: ...  # noqa: N802
    def Constraint(self, lb: float, ub: float) -> _Constraint: ...  # noqa: N802
    def Objective(self) -> _Objective: ...  # noqa: N802
    def Solve(self) -> int: ...  # noqa: N802
    def InterruptSolve(self) -> bool: ...  # noqa: N802
    def SetTimeLimit(self, x: int) -> None: ...  # noqa: N802
    def SetSolverSpecificParametersAsString(self, parameters: str) -> bool: ...  # noqa: N802
    def SolverVersion(self) -> str: ...  # noqa: N802


class _SolverClass(Protocol):
    OPTIMAL: int
    FEASIBLE: int
    INFEASIBLE: int
    NOT_SOLVED: int

    def CreateSolver(self, solver_id: str) -> _Solver | None: ...  # noqa: N802


def solve_integers(
    program: Program, deadline: Deadline = _NEVER, *, max_nodes: int | None = None, max_cut_rounds: int | None = None
) -> IntegerAnswer:
    """Solve over the integers with SCIP. Deterministic if time does not run out.

    Parameters
    ----------
    program
        What to minimise.
    deadline
        When to stop; once it is over nothing is tried.
    max_nodes
        Nodes of the search tree after which the best solution found is returned, with the bound; None for as many as it
        takes. It bounds the work in a way that is the same on every machine.
    max_cut_rounds
        How often cutting planes are looked for before the search branches; None for SCIP's own choice.

    Raises
    ------
    SolverError
        OR-Tools is built without SCIP, or it returns values that are no solution.
    """
    solver = create_solver("SCIP")
    version = solver.SolverVersion()
    if not set_time_limit(solver, deadline):
        return IntegerAnswer(Outcome.GAVE_UP, (), None, version)
    # Where a restart meets the limit of nodes, SCIP ends without a status, and complains.
    restarts = None if max_nodes is None else 0
    limits = {
        "limits/nodes": max_nodes,
        "presolving/maxrestarts": restarts,
        "separating/maxroundsroot": max_cut_rounds,
    }
    parameters = _PARAMETERS + "".join(f"{name} = {most}\n" for name, most in limits.items() if most is not None)
    if not solver.SetSolverSpecificParametersAsString(parameters):
        raise SolverError(f"{version} refuses its parameters")
    columns, _ = load_program(solver, program, integer=True)
    code = _run(solver)
    outcome = Outcome.GAVE_UP if code == _ABNORMAL else outcome_of(code, version)
    if outcome in {Outcome.INFEASIBLE, Outcome.GAVE_UP}:
        return IntegerAnswer(outcome, (), None, version)
    values = tuple(round(column.solution_value()) for column in columns)
    if not _solves(program, values):
        raise SolverError(f"{version} returned values that are no solution")
    return IntegerAnswer(outcome, values, _bound_of(solver, program, outcome, values), version)


def solve_relaxation(program: Program, deadline: Deadline = _NEVER) -> Relaxation | None:
    """Solve over the real numbers with GLOP; None if it finds no optimum, which proves nothing.

    The columns' upper bounds are left out: with them the rows' dual values alone would not carry the whole bound.

    Raises
    ------
    SolverError
        OR-Tools is built without GLOP.
    """
    solver = create_solver("GLOP")
    if not set_time_limit(solver, deadline):
        return None
    columns, rows = load_program(solver, program, integer=False)
    if _run(solver) != _solver_class().OPTIMAL:
        return None
    return Relaxation(
        solver.Objective().Value(),
        tuple(column.solution_value() for column in columns),
        tuple(row.dual_value() for row in rows),
    )


@cache
def _solver_class() -> _SolverClass:
    # Loaded on first use: most commands of `sifopt` never solve anything. On newer Pythons the SWIG types of
    # OR-Tools announce deprecations on import that nobody here can act on.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from ortools.linear_solver import (  # type: ignore[import-untyped]  # noqa: PLC0415
            pywraplp,  # pyright: ignore[reportMissingTypeStubs]
        )
    return cast("_SolverClass", pywraplp.Solver)


def create_solver(name: str) -> _Solver:
    """Return one of OR-Tools' solvers.

    Raises
    ------
    SolverError
        OR-Tools is built without it.
    """
    solver = _solver_class().CreateSolver(name)
    if solver is None:
        raise SolverError(f"this build of OR-Tools has no solver {name!r}")
    return solver


def _run(solver: _Solver) -> int:
    """Solve, and return how it ended. OR-Tools lets other threads run meanwhile, so one of them can interrupt it."""
    interrupted = interruption.current()
    if interrupted is None:
        return solver.Solve()
    with interrupted.stopping(solver.InterruptSolve):
        return solver.Solve()


def load_program(solver: _Solver, program: Program, *, integer: bool) -> tuple[list[_Variable], list[_Constraint]]:
    """Make the columns and rows of a program in a solver, and return them."""
    create = solver.IntVar if integer else solver.NumVar
    columns = [create(0, upper if integer else math.inf, "") for upper in program.uppers]
    objective = solver.Objective()
    objective.SetMinimization()
    for column, cost in zip(columns, program.costs, strict=True):
        if cost:
            objective.SetCoefficient(column, cost)
    return columns, [_load_row(solver, columns, row) for row in program.rows]


def _load_row(solver: _Solver, columns: Sequence[_Variable], row: Row) -> _Constraint:
    lower = -math.inf if row.lower is None else row.lower
    upper = math.inf if row.upper is None else row.upper
    constraint = solver.Constraint(lower, upper)
    for column, coefficient in row.terms:
        constraint.SetCoefficient(columns[column], coefficient)
    return constraint


def set_time_limit(solver: _Solver, deadline: Deadline) -> bool:
    """Set the solver's time limit; false if no time is left, as to OR-Tools 0 would mean no limit."""
    seconds = deadline.seconds_left
    if seconds is not None:
        solver.SetTimeLimit(max(1, math.ceil(1000 * seconds)))
    return seconds != 0.0


def outcome_of(code: int, version: str) -> Outcome:
    """Return what the code means with which a solver ended.

    Raises
    ------
    SolverError
        It means that the solver failed.
    """
    kinds = _solver_class()
    outcomes = {
        kinds.OPTIMAL: Outcome.OPTIMAL,
        kinds.FEASIBLE: Outcome.FOUND,
        kinds.INFEASIBLE: Outcome.INFEASIBLE,
        kinds.NOT_SOLVED: Outcome.GAVE_UP,
    }
    if code not in outcomes:
        raise SolverError(f"{version} ended with code {code}: it takes the model for invalid, or failed")
    return outcomes[code]


def _bound_of(solver: _Solver, program: Program, outcome: Outcome, values: Sequence[int]) -> int:
    """Return what no solution costs less than: of an optimum its cost, since a bound told with it can be weaker."""
    if outcome is Outcome.OPTIMAL:
        return sum(cost * value for cost, value in zip(program.costs, values, strict=True))
    return math.ceil(solver.Objective().BestBound() - _TOLERANCE)


def _solves(program: Program, values: Sequence[int]) -> bool:
    if any(not 0 <= value <= upper for value, upper in zip(values, program.uppers, strict=True)):
        return False
    for row in program.rows:
        total = sum(coefficient * values[column] for column, coefficient in row.terms)
        if (row.lower is not None and total < row.lower) or (row.upper is not None and total > row.upper):
            return False
    return True
