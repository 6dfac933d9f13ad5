"""Finding arguments: weights from a linear program, and branch trees where weights alone leave a gap.

GLOP proposes in floating point; what its duals prove is then computed in integers (`oracle.optimum.weights`), and only
that counts. So a bad proposal costs a proof, never its truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracle.optimum.proof import NEVER, Proof, line_of
from oracle.optimum.solver import Row, solve_relaxation
from oracle.optimum.weights import Arrivals, Branch, Cut, Free, Full, Leaving, Partial, Weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracle.optimum.model import Model, Pool, Terms
    from oracle.optimum.proof import Line
    from oracle.optimum.solver import Deadline, Program, Relaxation
    from oracle.optimum.weights import Count, Tree

# Duals of these programs are fractions with small denominators, so weights stay readable; the last is there for the few
# that need it.
_DENOMINATORS = (*range(1, 13), 16, 24, 36, 60, 840, 10**6)

# Nine in ten trees need 3 linear programs; a proof that needs more than this many is left to the solver's word. It also
# keeps the tree far from the recursion limit.
MAX_LEAVES_AND_BRANCHES = 300

_TOLERANCE = 1e-6

# More instances than any pool has.
_MANY = 1 << 30


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be least: the partial nodes, or the `arrivals` with at most so many partial nodes."""

    arrivals: bool = False
    max_partial_nodes: int | None = None

    def allows(self, partial_nodes: int) -> bool:
        """Whether an arrangement with so many partial nodes is an answer."""
        return self.max_partial_nodes is None or partial_nodes <= self.max_partial_nodes

    def rank(self, partial_nodes: int, arrivals: int) -> tuple[int, ...]:
        """Return what an arrangement is judged by: first what is to be least."""
        return (arrivals, partial_nodes) if self.arrivals else (partial_nodes,)

    def is_within(self, other: Question) -> bool:
        """Whether all answers to this are answers to the other, so that its bounds hold for them."""
        mine, theirs = self.max_partial_nodes, other.max_partial_nodes
        return self.arrivals == other.arrivals and (theirs is None or (mine is not None and mine <= theirs))

    def least(self, model: Model) -> Terms:
        """Return the terms of what is to be least."""
        return model.moves if self.arrivals else model.partial

    def limit(self, model: Model) -> list[Row]:
        """Return the row of the limit, if there is one."""
        return [] if self.max_partial_nodes is None else [Row(None, self.max_partial_nodes, model.partial)]

    def program(self, model: Model, rows: Iterable[Row]) -> Program:
        """Return the program that answers it, with further rows behind that of the limit."""
        return model.program(self.least(model), [*self.limit(model), *rows])

    def bound(self, proof: Line | Proof) -> int:
        """Return what an argument proves of it."""
        return proof.arrivals(self.max_partial_nodes or 0) if self.arrivals else proof.partial_nodes()


class Prover:
    """Looks for arguments about one pool.

    Parameters
    ----------
    pool
        What it holds; nothing in it is optional.
    model
        Its program.
    """

    def __init__(self, pool: Pool, model: Model) -> None:
        self._pool = pool
        self._model = model
        # The last optimum without inequalities: a tree begins where weights alone were not enough.
        self._root: tuple[Question, Relaxation] | None = None

    def weights(self, question: Question, wanted: int, deadline: Deadline) -> tuple[Weights, Line] | None:
        """Return the best weights found, and what they prove on their own; None if GLOP finds no optimum.

        The search for better weights ends where the bound is the one `wanted`.
        """
        relaxation = self.relaxed(question, (), deadline)
        return None if relaxation is None else self.rounded(question, relaxation, (), wanted)

    def tree(self, question: Question, wanted: int, deadline: Deadline) -> Tree | None:
        """Return an argument that the bound `wanted` holds, or None if none is found; there is none if it does not."""
        return _TreeSearch(self, question, wanted, deadline).prove(())

    def no_arrangement(self, question: Question, deadline: Deadline, cuts: Sequence[Cut] = ()) -> Weights | None:
        """Return weights that prove that no arrangement keeps the limit and the inequalities; None if none are found.

        They come from the least number of instances that have to be left out, or doubled, to keep them all.
        """
        model, columns = self._model, range(self._model.size, self._model.size + 2 * len(self._model.demands))
        further = [*question.limit(model), *self._rows(cuts)]
        program = model.program(((c, 1) for c in columns), further, more_columns=(_MANY,) * len(columns))
        slack = zip(columns[::2], columns[1::2], strict=True)
        rows = [
            Row(row.lower, row.upper, (*row.terms, (missing, 1), (extra, -1)))
            for row, (missing, extra) in zip(program.rows, slack, strict=False)
        ]
        relaxation = solve_relaxation(replace(program, rows=(*rows, *program.rows[len(rows) :])), deadline)
        if relaxation is None or relaxation.objective < _TOLERANCE:
            return None
        for denominator in _DENOMINATORS:
            weights = self._scaled(question, relaxation, cuts, denominator, 0)
            if question.bound(line_of(self._pool, weights, cuts)) >= NEVER:
                return weights
        return None

    def counting(self, counted: Count) -> Terms:
        """Return the terms of what is counted."""
        match counted:
            case Full():
                return self._model.full
            case Partial():
                return self._model.partial
            case Free(gpus=gpus):
                return self._model.with_free(gpus)
            case Arrivals(demand=demand):
                return self._model.arrivals(demand)
            case Leaving(demand=demand, before=before):
                return self._model.leaving(demand, before)

    def counts(self) -> Iterator[list[Count]]:
        """Yield what can be counted, counts of the whole first.

        The number of full nodes alone brings in the sum of all GPUs, and closes most gaps with two leaves.
        """
        yield [Full(), Partial()]
        yield [Arrivals(demand) for _, demand in self._model.demands]
        yield [Free(free) for free in self._model.ends_free()]
        yield [Leaving(demand, before) for before in self._model.befores() for demand in sorted(set(before))]

    def relaxed(self, question: Question, cuts: Sequence[Cut], deadline: Deadline) -> Relaxation | None:
        """Return the optimum over real numbers; None if there is none, or time runs out."""
        if not cuts and self._root is not None and self._root[0] == question:
            return self._root[1]
        relaxation = solve_relaxation(question.program(self._model, self._rows(cuts)), deadline)
        if not cuts and relaxation is not None:
            self._root = question, relaxation
        return relaxation

    def rounded(
        self, question: Question, relaxation: Relaxation, cuts: Sequence[Cut], wanted: int
    ) -> tuple[Weights, Line]:
        """Return the duals as whole numbers: those that prove most, or the first that prove what is wanted."""
        wanted = min(wanted, math.ceil(relaxation.objective - _TOLERANCE))
        found: list[tuple[Weights, Line]] = []
        for denominator in sorted(_DENOMINATORS, key=lambda one: not self._is_common(relaxation, one)):
            weights = self._scaled(question, relaxation, cuts, denominator, denominator)
            found.append((weights, line_of(self._pool, weights, cuts)))
            if question.bound(found[-1][1]) >= wanted:
                break
        return max(found, key=lambda one: question.bound(one[1]))

    def _is_common(self, relaxation: Relaxation, denominator: int) -> bool:
        """Whether the duals that become weights are whole numbers over a denominator."""
        rows = len(self._model.rows)
        duals = (*relaxation.duals[: len(self._model.demands)], *relaxation.duals[rows:])
        return all(abs(dual * denominator - round(dual * denominator)) < _TOLERANCE * denominator for dual in duals)

    def _rows(self, cuts: Sequence[Cut]) -> Iterator[Row]:
        for cut in cuts:
            lower, upper = (cut.bound, None) if cut.at_least else (None, cut.bound)
            yield Row(lower, upper, self.counting(cut.counted))

    def _scaled(
        self, question: Question, relaxation: Relaxation, cuts: Sequence[Cut], denominator: int, price: int
    ) -> Weights:
        """Return the duals over a denominator, `price` being that of what is to be least.

        The row of the limit and those of the cuts stand behind those of the model.
        """
        further = iter(relaxation.duals[len(self._model.rows) :])
        partial, arrival = (0, price) if question.arrivals else (price, 0)
        if question.max_partial_nodes is not None:
            partial = max(0, round(-next(further) * denominator))
        of_cuts = (
            max(0, round((dual if cut.at_least else -dual) * denominator))
            for cut, dual in zip(cuts, further, strict=True)
        )
        demands = tuple(round(dual * denominator) for dual in relaxation.duals[: len(self._model.demands)])
        return Weights(partial, arrival, demands, tuple(of_cuts))


class _TreeSearch:
    """Depth-first search for one tree, with the number of linear programs it may still solve."""

    def __init__(self, prover: Prover, question: Question, wanted: int, deadline: Deadline) -> None:
        self._prover = prover
        self._question = question
        self._wanted = wanted
        self._deadline = deadline
        self._left = MAX_LEAVES_AND_BRANCHES

    def prove(self, cuts: tuple[Cut, ...]) -> Tree | None:
        """Return a tree for all arrangements that obey the cuts."""
        self._left -= 1
        if self._left < 0 or not self._deadline.is_open():
            return None
        prover = self._prover
        relaxation = prover.relaxed(self._question, cuts, self._deadline)
        if relaxation is None:
            return prover.no_arrangement(self._question, self._deadline, cuts)
        weights, line = prover.rounded(self._question, relaxation, cuts, self._wanted)
        if self._question.bound(line) >= self._wanted:
            return weights
        choice = self._split(relaxation)
        if choice is None:
            return None
        counted, at_most = choice
        below = self.prove((*cuts, Cut(counted, at_most, at_least=False)))
        above = None if below is None else self.prove((*cuts, Cut(counted, at_most + 1, at_least=True)))
        return None if below is None or above is None else Branch(counted, at_most, below, above)

    def _split(self, relaxation: Relaxation) -> tuple[Count, int] | None:
        """Return what to count and where to split: of the first kind of count that is fractional, the most so."""
        for counts in self._prover.counts():
            totals = {
                counted: math.fsum(k * relaxation.values[c] for c, k in self._prover.counting(counted))
                for counted in counts
            }
            choice = max(totals, key=lambda counted: abs(totals[counted] - round(totals[counted])), default=None)
            if choice is not None and abs(totals[choice] - round(totals[choice])) > _TOLERANCE:
                return choice, math.floor(totals[choice])
        return None
