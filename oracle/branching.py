"""Finding proofs: dual weights from a linear program, and branch trees where the weights alone leave a gap.

GLOP proposes in floating point; every bound is then evaluated in integers (`oracle.bounds`), and only that counts. So
a bad proposal costs a proof, never its truth.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from oracle.bounds import AllFull, Branch, Cut, Weights, WithLoad, weights_bound
from oracle.node_classes import NodeClass
from oracle.solver import Program, Row, solve_relaxation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.bounds import NodeCount, Tree
    from oracle.pattern_model import PatternModel
    from oracle.solver import Deadline, Relaxation

# Duals of these programs are fractions with small denominators. The first one that gives the bound wanted is taken, so
# the weights stay readable; the last is there for the few that need it.
_DENOMINATORS = (*range(1, 13), 24, 60, 840, 10**9)

# Nine in ten trees need 3 linear programs, the largest of 400 needed 37 (random pools); a proof that needs more than
# this many is left to the solver's word. It also keeps the tree far from the recursion limit.
MAX_LEAVES_AND_BRANCHES = 300

_TOLERANCE = 1e-6


def root_weights(model: PatternModel, target: int, deadline: Deadline) -> tuple[int, Weights] | None:
    """Return the strongest bound found from dual weights alone, and the weights; None if GLOP finds no optimum.

    Parameters
    ----------
    model
        The problem.
    target
        The bound that would settle it, in partial nodes: the search for better weights stops there.
    deadline
        When to stop.
    """
    relaxation = solve_relaxation(model.program(NodeClass.is_partial), deadline)
    return None if relaxation is None else _round(model, relaxation.duals, (), target)


def find_tree(model: PatternModel, target: int, deadline: Deadline) -> Tree | None:
    """Return a branch tree that proves `target` partial nodes necessary, or None if the search finds none.

    Parameters
    ----------
    model
        The problem.
    target
        The bound to prove. If it is above the optimum there is no proof, and none is returned.
    deadline
        When to stop.
    """
    return _Search(model, target, deadline).prove(())


class _Search:
    """Depth-first search for one tree, with the number of linear programs it may still solve."""

    def __init__(self, model: PatternModel, target: int, deadline: Deadline) -> None:
        self._model = model
        self._target = target
        self._deadline = deadline
        self._left = MAX_LEAVES_AND_BRANCHES

    def prove(self, cuts: tuple[Cut, ...]) -> Tree | None:
        """Return a tree that proves the target for every packing that obeys `cuts`."""
        self._left -= 1
        if self._left < 0 or not self._deadline.is_open():
            return None
        relaxation = solve_relaxation(self._model.program(NodeClass.is_partial, map(self._row, cuts)), self._deadline)
        if relaxation is None:
            return self._no_packing(cuts)
        bound, weights = _round(self._model, relaxation.duals, cuts, self._target)
        if bound >= self._target:
            return weights
        return self._branch(cuts, relaxation)

    def _branch(self, cuts: tuple[Cut, ...], relaxation: Relaxation) -> Tree | None:
        choice = _most_fractional(self._model, relaxation)
        if choice is None:
            return None
        counted, at_most = choice
        below = self.prove((*cuts, Cut(counted, at_most, at_least=False)))
        if below is None:
            return None
        above = self.prove((*cuts, Cut(counted, at_most + 1, at_least=True)))
        return None if above is None else Branch(counted, at_most, below, above)

    def _no_packing(self, cuts: tuple[Cut, ...]) -> Weights | None:
        """Return weights that prove the target where no packing obeys the cuts, not even a fractional one.

        The duals of "pack as much as you can" prove that some instances stay unpacked. As costs are never negative,
        any multiple of them proves any number of partial nodes.
        """
        relaxation = solve_relaxation(_shortage(self._model, [self._row(cut) for cut in cuts]), self._deadline)
        if relaxation is None or relaxation.objective < _TOLERANCE:
            return None
        multiple = math.ceil(self._target / relaxation.objective) + 1
        bound, weights = _round(self._model, relaxation.duals, cuts, self._target, multiple)
        return weights if bound >= self._target else None

    def _row(self, cut: Cut) -> Row:
        terms = self._model.counting(cut.counted)
        return Row(cut.bound, None, terms) if cut.at_least else Row(None, cut.bound, terms)


def _round(
    model: PatternModel, duals: Sequence[float], cuts: Sequence[Cut], target: int, multiple: int = 1
) -> tuple[int, Weights]:
    """Return the best bound, and its weights, from rounding duals times `multiple`; stop early at `target`."""
    demands = duals[: len(model.problem.demands)]
    # A row "at most" has a dual of 0 or less, but the bound wants the size of it; noise of the other sign rounds to 0.
    branches = [abs(dual) for dual in duals[len(duals) - len(cuts) :]]
    candidates: list[tuple[int, Weights]] = []
    for denominator in _DENOMINATORS:
        weights = Weights(
            denominator,
            tuple(multiple * round(dual * denominator) for dual in demands),
            tuple(multiple * round(dual * denominator) for dual in branches),
        )
        candidates.append((weights_bound(model.problem, weights, cuts), weights))
        if candidates[-1][0] >= target:
            break
    return max(candidates, key=lambda candidate: candidate[0])


def _shortage(model: PatternModel, cuts: Sequence[Row]) -> Program:
    """Return the program that leaves as few instances unpacked, and misses the cuts by as little, as possible.

    The rows are those of the model, in its order, so that its duals can be read in the same way.
    """
    program = model.program(None, cuts)
    columns, demands, rows = len(program.costs), len(model.problem.demands), len(program.rows)
    soft = [*range(demands), *range(rows - len(cuts), rows)]
    relaxed = list(program.rows)
    for column, r in enumerate(soft, start=columns):
        row = relaxed[r]
        relaxed[r] = Row(row.lower, row.upper, (*row.terms, (column, -1 if row.lower is None else 1)))
    return Program(
        (*program.costs, *(1 for _ in soft)),
        (*program.uppers, *(sum(model.problem.nodes) + model.problem.movable_gpus for _ in soft)),
        tuple(relaxed),
    )


def _most_fractional(model: PatternModel, relaxation: Relaxation) -> tuple[NodeCount, int] | None:
    """Return what to count and the number to split at, or None if nothing that can be counted is fractional.

    Coarse counts first: the number of all full nodes alone closes most gaps, as it brings in the sum of GPUs.
    """
    for counts in (_full, _loads):
        totals: defaultdict[NodeCount, float] = defaultdict(float)
        for counted, value in counts(model, relaxation.values):
            totals[counted] += value
        choice = max(totals, key=lambda counted: _fractionality(totals[counted]), default=None)
        if choice is not None and _fractionality(totals[choice]) > _TOLERANCE:
            return choice, math.floor(totals[choice])
    return None


def _fractionality(value: float) -> float:
    return abs(value - round(value))


def _full(model: PatternModel, values: Sequence[float]) -> Iterator[tuple[NodeCount, float]]:
    for i, _ in model.counting(AllFull()):
        yield AllFull(), values[i]


def _loads(model: PatternModel, values: Sequence[float]) -> Iterator[tuple[NodeCount, float]]:
    for column, value in zip(model.columns, values, strict=True):
        if column.load is not None:
            yield WithLoad(column.node_class, column.load), value
