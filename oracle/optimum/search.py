"""The search for the best arrangement of one pool, and for why no other is better: cheap things come first.

Weights from a linear program bound what is asked for. Where an arrangement that is known meets the bound, that is all;
otherwise the integer program is solved, and a branch tree turns its answer into a proof that needs no trust. Whether
the fewest partial nodes are asked for or the fewest instances that arrive makes no difference to the steps.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from oracle.optimum.evidence import CertificateError
from oracle.optimum.migration_certificate import Changes, by_class, changes, check_changes, packing_after
from oracle.optimum.model import Model, Pool
from oracle.optimum.proof import NEVER, Proof, line_of
from oracle.optimum.proving import Prover
from oracle.optimum.solver import Outcome, Row, SolverError, solve_integers
from oracle.optimum.weights import SolverProof, Weights
from oracle.snapshots.kinds import gpus_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oracle.optimum.node_classes import Packing, PlacedProblem
    from oracle.optimum.proof import Line
    from oracle.optimum.proving import Question
    from oracle.optimum.solver import Deadline, IntegerAnswer
    from oracle.optimum.weights import Tree
    from oracle.snapshots.model import Pattern


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the nodes of a pool change, and what that leads to."""

    partial_nodes: int
    arrivals: int
    changes: Changes


class PoolSearch:
    """What is known about one pool: arrangements found, and bounds that hold for all of them.

    Parameters
    ----------
    placed
        The pool: node classes, movable instances, what its nodes hold now. An instance that none holds has to arrive.
    known
        Packings of the pool. Of arrangements that are equally good the first one known is the best.
    deadline
        When to stop.
    plans
        Further arrangements: how its nodes change, and how many instances arrive, which may be more than kinds tell.
    exact
        Whether every arrangement of its kinds can be had. If not, those known are all that count, and bounds are all
        that is looked for.
    """

    def __init__(
        self,
        placed: PlacedProblem,
        known: Iterable[Packing],
        deadline: Deadline,
        *,
        plans: Iterable[tuple[Changes, int]] = (),
        exact: bool = True,
    ) -> None:
        self._placed = placed
        self._deadline = deadline
        self._exact = exact
        self._pool = Pool.of(placed)
        self._found = [self._checked(towards(placed, one)) for one in known]
        self._found += (replace(self._checked(changed), arrivals=arrivals) for changed, arrivals in plans)
        self._proofs: dict[Tree, tuple[Line, ...]] = {}
        self._claims: dict[Question, SolverProof] = {}

    @cached_property
    def model(self) -> Model:
        """The pool as a program, made when first needed."""
        return Model([self._pool])

    @cached_property
    def _prover(self) -> Prover:
        return Prover(self._pool, self.model)

    def best(self, question: Question) -> Arrangement | None:
        """Return the best arrangement known; None if none is."""
        allowed = (one for one in self._found if question.allows(one.partial_nodes))
        return min(allowed, key=lambda one: question.rank(one.partial_nodes, one.arrivals), default=None)

    def lower_bound(self, question: Question) -> tuple[int, Tree | SolverProof]:
        """Return the best bound known, and its argument; `NEVER` if there is no arrangement."""
        bounds: list[tuple[int, Tree | SolverProof]] = [
            (0, Weights(int(not question.arrivals), int(question.arrivals), (0,) * len(self._pool.instances))),
            *((min(question.bound(line) for line in lines), tree) for tree, lines in self._proofs.items()),
            *((word.claim, word) for asked, word in self._claims.items() if question.is_within(asked)),
        ]
        return max(bounds, key=lambda bound: bound[0])

    def is_settled(self, question: Question, at_least: int = 0) -> bool:
        """Whether the bound meets the best arrangement known; see `settle`."""
        return max(at_least, self.lower_bound(question)[0]) == self._attained(question)

    def settle(self, question: Question, at_least: int = 0, *, quickly: bool = False) -> None:
        """Find the best arrangement, and prove that it is, as far as time allows.

        Parameters
        ----------
        question
            What is to be least.
        at_least
            What bounds it, as is known already.
        quickly
            Only look for the bounds that are found at once, however large the pool.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        steps = (self._use_weights_without_rules, self._use_weights, self._use_integers)
        for step in steps[: 1 if quickly else 3 if self._exact else 2]:
            if self.is_settled(question, at_least) or not self._deadline.is_open():
                return
            step(question, at_least)

    def read(self, answer: IntegerAnswer) -> Arrangement:
        """Return the arrangement that a solver found.

        Raises
        ------
        SolverError
            It is none.
        """
        return self._checked(by_class(self._placed.problem, self.model.decode(answer.values)[0]))

    def packing(self, arrangement: Arrangement) -> Packing:
        """Return what every node holds in an arrangement."""
        return packing_after(self._placed.current, arrangement.changes)

    def _checked(self, changed: Changes) -> Arrangement:
        try:
            partial_nodes, arrivals = check_changes(self._placed.problem, self._placed.current, changed)
        except CertificateError as error:
            raise SolverError(f"an arrangement was found that is none: {error}") from error
        return Arrangement(partial_nodes, arrivals, changed)

    def _attained(self, question: Question) -> int:
        best = self.best(question)
        return NEVER if best is None else question.rank(best.partial_nodes, best.arrivals)[0]

    def _use_weights_without_rules(self, question: Question, at_least: int) -> None:
        """Bound what is asked for by weights of the pool without its rules, whose program is far smaller."""
        if not self._pool.is_ruled:
            return
        simple = self._pool.without_rules()
        del at_least
        found = Prover(simple, Model([simple])).weights(question, self._attained(question), self._deadline)
        if found is not None:
            by_gpus = dict(zip(simple.demands, found[0].demands, strict=True))
            demands = tuple(by_gpus[gpus_of(demand)] for demand in self._pool.demands)
            weights = Weights(found[0].partial, found[0].arrival, demands)
            self._proofs[weights] = (line_of(self._pool, weights),)

    def _use_weights(self, question: Question, at_least: int) -> None:
        """Bound what is asked for by the dual values of the linear program."""
        del at_least
        found = self._prover.weights(question, self._attained(question), self._deadline)
        if found is not None:
            weights, line = found
            self._proofs[weights] = (line,)

    def _use_integers(self, question: Question, at_least: int) -> None:
        """Let a solver look for a better arrangement than the one known, and prove what it claims about the best."""
        lower, attained = max(at_least, self.lower_bound(question)[0]), self._attained(question)
        better = Row(lower, None if attained == NEVER else attained - 1, question.least(self.model))
        answer = solve_integers(question.program(self.model, [better]), self._deadline)
        if answer.values:
            self._found.append(self.read(answer))
        if answer.outcome in {Outcome.OPTIMAL, Outcome.INFEASIBLE}:
            claim = self._attained(question)
        else:
            claim = answer.bound or 0
        if claim <= lower:
            return
        tree = None if claim == NEVER else self._prover.tree(question, claim, self._deadline)
        if tree is None:
            self._claims[question] = SolverProof(answer.solver, claim)
        else:
            self._proofs[tree] = Proof(self._pool, tree).lines


def towards(placed: PlacedProblem, wanted: Packing) -> Changes:
    """Return changes that end with this packing, cheap ones first. Not the cheapest there are."""
    if wanted == placed.current:
        return ()
    left = Counter({(group.node_class, group.pattern): group.nodes for group in wanted})
    open_ = {(group.node_class, group.pattern): group.nodes for group in placed.current}
    holds = {pattern: Counter(pattern) for _, pattern in (*left, *open_)}
    ends = {c: [group.pattern for group in groups] for c, groups in groupby(wanted, lambda group: group.node_class)}
    pairs = [
        ((holds[after] - holds[before]).total(), c, before, after) for c, before in open_ for after in ends.get(c, ())
    ]
    found: Counter[tuple[int, Pattern, Pattern]] = Counter()
    for _, c, before, after in sorted(pairs):
        nodes = min(open_[c, before], left[c, after])
        open_[c, before] -= nodes
        left[c, after] -= nodes
        found[c, before, after] += nodes
    return changes(found)
