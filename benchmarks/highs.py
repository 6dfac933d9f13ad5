"""HiGHS on the programs of ``oracle.optimum.solver``, where ``highspy`` can be imported; nothing else here uses it."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from oracle.optimum.solver import Program

    Floats = npt.NDArray[np.float64]
    Indexes = npt.NDArray[np.int32]
    Kinds = npt.NDArray[np.uint8]


class _Highs(Protocol):
    """What is used of ``highspy.Highs``."""

    def setOptionValue(self, name: str, value: float | str) -> object: ...  # noqa: N802 - HiGHS's names
    def addVars(self, count: int, lower: Floats, upper: Floats) -> object: ...  # noqa: N802
    def changeColsCost(self, count: int, index: Indexes, cost: Floats) -> object: ...  # noqa: N802
    def changeColsIntegrality(self, count: int, index: Indexes, kind: Kinds) -> object: ...  # noqa: N802
    def addRow(self, lower: float, upper: float, count: int, index: Indexes, value: Floats) -> object: ...  # noqa: N802
    def run(self) -> object: ...
    def getModelStatus(self) -> object: ...  # noqa: N802
    def modelStatusToString(self, status: object) -> str: ...  # noqa: N802
    def getObjectiveValue(self) -> float: ...  # noqa: N802


def solve(asked: Program, seconds: float) -> tuple[int | None, float] | None:
    """Return the optimum (None: not settled in time) and the time it took, or None if HiGHS is not installed."""
    try:
        module = importlib.import_module("highspy")
    except ImportError:
        return None
    highs = cast("_Highs", module.Highs())
    for option, value in (("output_flag", False), ("time_limit", seconds), ("threads", 1), ("mip_rel_gap", 0.0)):
        highs.setOptionValue(option, value)
    size = len(asked.costs)
    every = np.arange(size, dtype=np.int32)
    started = time.perf_counter()
    highs.addVars(size, np.zeros(size), np.array(asked.uppers, np.float64))
    highs.changeColsCost(size, every, np.array(asked.costs, np.float64))
    highs.changeColsIntegrality(size, every, np.ones(size, np.uint8))
    for row in asked.rows:
        index = np.array([column for column, _ in row.terms], np.int32)
        coefficients = np.array([coefficient for _, coefficient in row.terms], np.float64)
        lower = -np.inf if row.lower is None else float(row.lower)
        highs.addRow(lower, np.inf if row.upper is None else float(row.upper), len(index), index, coefficients)
    highs.run()
    settled = highs.modelStatusToString(highs.getModelStatus()) == "Optimal"
    return round(highs.getObjectiveValue()) if settled else None, time.perf_counter() - started
