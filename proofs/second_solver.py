"""cvc5 as a second opinion on each lemma: its Python package where installed, else its program."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
from typing import Protocol, cast


class SecondSolverMissingError(Exception):
    """cvc5 was asked for, and neither its Python package nor its program is installed."""


def second_solver_installed() -> bool:
    """Return whether cvc5 is there, as a Python package or as a program."""
    return importlib.util.find_spec("cvc5") is not None or shutil.which("cvc5") is not None


_LONGEST = 10**9
"""Milliseconds, twelve days: what solvers keep a limit in holds no more than about twice that."""


def milliseconds_of(seconds: float) -> int:
    """Return a time limit as solvers take it: at least 1, as 0 would be no limit to them."""
    return max(1, int(min(1000 * seconds, _LONGEST)))


def ask_cvc5(text: str, *, seconds: float) -> str:
    """Return what cvc5 answers to an SMT-LIB script: ``unsat``, ``sat``, or whatever it says when it gives up.

    Raises
    ------
    SecondSolverMissingError
        It is not installed.
    """
    milliseconds = milliseconds_of(seconds)
    if importlib.util.find_spec("cvc5") is not None:
        return _ask_package(text, milliseconds)
    program = shutil.which("cvc5")
    if program is None:
        raise SecondSolverMissingError("cvc5 is not installed: pip install cvc5")
    command = [program, "--lang=smt2", f"--tlimit={milliseconds}", "-"]
    # The program the user asked for, on a text this package wrote.
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()


def _ask_package(text: str, milliseconds: int) -> str:
    cvc5 = cast("_Cvc5", importlib.import_module("cvc5"))
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(milliseconds))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "lemma")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said = command.invoke(solver, parser.getSymbolManager()) or said
    return said.strip()


# The package has no types of its own: what is used of it is written down here.


class _Command(Protocol):
    def isNull(self) -> bool: ...  # noqa: N802 - cvc5's name
    def invoke(self, solver: _Solver, symbols: object, /) -> str: ...


class _Parser(Protocol):
    def setStringInput(self, language: object, text: str, name: str, /) -> None: ...  # noqa: N802 - cvc5's name
    def nextCommand(self) -> _Command: ...  # noqa: N802 - cvc5's name
    def getSymbolManager(self) -> object: ...  # noqa: N802 - cvc5's name


class _Solver(Protocol):
    def setOption(self, name: str, setting: str, /) -> None: ...  # noqa: N802 - cvc5's name


class _Languages(Protocol):
    SMT_LIB_2_6: object


class _Cvc5(Protocol):
    InputLanguage: _Languages

    def TermManager(self) -> object: ...  # noqa: N802 - cvc5's name
    def Solver(self, manager: object, /) -> _Solver: ...  # noqa: N802 - cvc5's name
    def InputParser(self, solver: _Solver, /) -> _Parser: ...  # noqa: N802 - cvc5's name
