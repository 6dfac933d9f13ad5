"""The search for the cheapest plans of one pool, for any limit on partial nodes.

Weights from a linear program bound the migrations for every limit at once. Where a plan that is known meets the bound,
that is all; otherwise the integer program is solved, and a branch tree turns its answer into a proof that needs no
trust.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from oracle.optimum.certificate import CertificateError, Status
from oracle.optimum.limits import attained, proved
from oracle.optimum.migration_certificate import (
    Changes,
    MigrationArgument,
    MigrationCertificate,
    changes,
    check_changes,
)
from oracle.optimum.model import Model, Pool
from oracle.optimum.patterns import legal_patterns
from oracle.optimum.proof import NEVER, Proof
from oracle.optimum.proving import Prover, Question
from oracle.optimum.solver import Outcome, Row, SolverError, solve_integers
from oracle.optimum.weights import SolverProof, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.optimum.limits import Costs
    from oracle.optimum.node_classes import NodeClass, Packing, PlacedProblem
    from oracle.optimum.proof import Line
    from oracle.optimum.solver import Deadline, IntegerAnswer
    from oracle.optimum.weights import Tree
    from oracle.snapshots.model import Pattern

# Patterns that are listed, of a class and of all groups together, when it is asked what plans are made of. A class of
# 16-GPU nodes has 915.
_MAX_PATTERNS = 1_000
_MAX_LISTED = 1_000_000


@dataclass(frozen=True, slots=True)
class _Plan:
    partial_nodes: int
    migrations: int
    changes: Changes


class PlanSearch:
    """What is known about the plans of one pool: plans found, and bounds that hold for all of them.

    Parameters
    ----------
    placed
        The pool: node classes, movable instances, what its nodes hold now.
    targets
        Packings of the pool with few partial nodes. With them there is a plan for every limit from their partial nodes
        on.
    deadline
        When to stop.
    """

    def __init__(self, placed: PlacedProblem, targets: Sequence[Packing], deadline: Deadline) -> None:
        self._placed = placed
        self._deadline = deadline
        self._pool = Pool.of(placed)
        self._plans: list[_Plan] = []
        self._proofs: dict[Tree, tuple[Line, ...]] = {}
        self._claims: dict[int, SolverProof] = {}
        if all(placed.problem.classes[group.node_class].allows(group.pattern) for group in placed.current):
            self._keep(())
        for target in targets:
            self._keep(towards(placed, target))

    @cached_property
    def _model(self) -> Model:
        return Model([self._pool])

    @cached_property
    def _prover(self) -> Prover:
        return Prover(self._pool, self._model)

    def lower_bound(self, limit: int) -> tuple[int, MigrationArgument]:
        """Return the best bound known for plans with at most `limit` partial nodes, and its argument."""
        bounds: list[tuple[int, MigrationArgument]] = [
            (0, Weights(0, 1, (0,) * len(self._pool.instances))),
            *((min(line.arrivals(limit) for line in lines), tree) for tree, lines in self._proofs.items()),
            *((word.claim, word) for most, word in self._claims.items() if limit <= most),
        ]
        return max(bounds, key=lambda bound: bound[0])

    def lower_bounds(self, limits: range) -> Costs:
        """Return the best bound known for each limit."""
        least = np.zeros(len(limits), np.int64)
        for lines in self._proofs.values():
            least = np.maximum(least, proved(lines, limits))
        for most, word in self._claims.items():
            within = least[: max(0, most + 1 - limits.start)]
            np.maximum(within, word.claim, out=within)
        return least

    def known(self, limits: range) -> Costs:
        """Return the migrations of the cheapest plan known for each limit."""
        return attained(((plan.partial_nodes, plan.migrations) for plan in self._plans), limits)

    def plans(self, limits: range) -> tuple[Changes, ...]:
        """Return the plans that are the cheapest known for some limit, from most partial nodes to fewest."""
        return tuple(dict.fromkeys(self._known(limit).changes for limit in reversed(limits)))

    def is_settled(self, limit: int) -> bool:
        """Whether the cheapest plan with at most `limit` partial nodes is known to be so."""
        plan = self._best(limit)
        return plan is not None and plan.migrations == self.lower_bound(limit)[0]

    def settle(self, limit: int) -> MigrationCertificate:
        """Return the cheapest plan with at most `limit` partial nodes, as far as time allows.

        Raises
        ------
        ValueError
            No plan within the limit was found; never if it is at least the partial nodes of a target.
        SolverError
            A solver returned nonsense.
        """
        for step in (self._use_weights, self._use_integers):
            if self.is_settled(limit) or not self._deadline.is_open():
                break
            step(limit)
        return self.certificate(limit)

    def certificate(self, limit: int) -> MigrationCertificate:
        """Return what is known about plans with at most `limit` partial nodes.

        Raises
        ------
        ValueError
            No plan within the limit was found.
        """
        plan = self._known(limit)
        lower, argument = self.lower_bound(limit)
        return MigrationCertificate(
            problem=self._placed.problem,
            present=self._placed.current,
            max_partial_nodes=limit,
            changes=plan.changes,
            partial_nodes=plan.partial_nodes,
            migrations=plan.migrations,
            lower_bound=lower,
            argument=argument,
            status=Status.of(lower, plan.migrations),
        )

    def affordable(self, limit: int, migrations: int) -> tuple[tuple[int, Pattern], ...] | None:
        """Return what plans within the limit and so many migrations are made of: (group, pattern after).

        None if the patterns are too many to list.
        """
        alone = [(tree, lines[0]) for tree, lines in self._proofs.items() if isinstance(tree, Weights)]
        return self._choices([(weights, line) for weights, line in alone if line.arrival], limit, migrations)

    def every_choice(self) -> tuple[tuple[int, Pattern], ...] | None:
        """Return what all plans are made of: (group, pattern after); None if the patterns are too many to list."""
        return self._choices([], 0, 0)

    def _choices(
        self, lines: Sequence[tuple[Weights, Line]], limit: int, migrations: int
    ) -> tuple[tuple[int, Pattern], ...] | None:
        """Return the choices of each group whose price, by any line, leaves enough for the other nodes."""
        problem, groups = self._placed.problem, self._placed.current
        listed = [legal_patterns(kind, problem.demands, limit=_MAX_PATTERNS) for kind in problem.classes]
        total = sum(len(listed[group.node_class] or ()) for group in groups)
        if any(patterns is None for patterns in listed) or total > _MAX_LISTED:
            return None
        found: list[tuple[int, Pattern]] = []
        for g, group in enumerate(groups):
            kind, patterns = problem.classes[group.node_class], listed[group.node_class] or ()
            keep = np.ones(len(patterns), np.bool_)
            for weights, line in lines:
                prices = self._prices(kind, group.pattern, patterns, weights)
                gap = line.arrival * migrations - (line.least - line.partial * limit)
                keep &= prices - prices.min() <= gap
            found += ((g, q) for q, kept in zip(patterns, keep.tolist(), strict=True) if kept or q == group.pattern)
        return tuple(found)

    def _prices(
        self, kind: NodeClass, before: Pattern, patterns: Sequence[Pattern], weights: Weights
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        value = dict(zip((demand for demand, _ in self._placed.problem.demands), weights.demands, strict=True))
        held = Counter(before)
        prices = [
            weights.partial * kind.is_partial(sum(after))
            + weights.arrival * (Counter(after) - held).total()
            - sum(value[demand] for demand in after)
            for after in patterns
        ]
        return np.array(prices, np.int64)

    def _known(self, limit: int) -> _Plan:
        plan = self._best(limit)
        if plan is None:
            raise ValueError(f"no plan with at most {limit} partial nodes was found")
        return plan

    def _best(self, limit: int) -> _Plan | None:
        within = (plan for plan in self._plans if plan.partial_nodes <= limit)
        return min(within, key=lambda plan: (plan.migrations, plan.partial_nodes), default=None)

    def _use_weights(self, limit: int) -> None:
        """Bound the migrations by the dual values of the linear program."""
        plan = self._best(limit)
        wanted = NEVER if plan is None else plan.migrations
        found = self._prover.weights(_moves_within(limit), wanted, self._deadline)
        if found is not None:
            weights, line = found
            self._proofs[weights] = (line,)

    def _use_integers(self, limit: int) -> None:
        """Find the cheapest plan, and prove that it is."""
        lower, plan = self.lower_bound(limit)[0], self._best(limit)
        cheaper = Row(lower, None if plan is None else plan.migrations - 1, self._model.moves)
        program = self._model.program(self._model.moves, [Row(None, limit, self._model.partial), cheaper])
        answer = solve_integers(program, self._deadline)
        if answer.values:
            self._keep(self._decoded(answer))
        known = self._best(limit)
        if answer.outcome in {Outcome.OPTIMAL, Outcome.INFEASIBLE} and known is not None:
            claim = known.migrations
        else:
            claim = answer.bound or 0
        if claim > lower:
            tree = self._prover.tree(_moves_within(limit), claim, self._deadline)
            if tree is None:
                self._claims[limit] = SolverProof(answer.solver, claim)
            else:
                self._proofs[tree] = Proof(self._pool, tree).lines

    def _decoded(self, answer: IntegerAnswer) -> Changes:
        index = {kind: c for c, kind in enumerate(self._placed.problem.classes)}
        counted = self._model.decode(answer.values)[0]
        return changes({(index[one.kind.node_class], one.kind.holds, one.after): n for one, n in counted.items()})

    def _keep(self, changed: Changes) -> None:
        try:
            partial_nodes, migrations = check_changes(self._placed.problem, self._placed.current, changed)
        except CertificateError as error:
            raise SolverError(f"a plan was found that is none: {error}") from error
        self._plans.append(_Plan(partial_nodes, migrations, changed))


def _moves_within(limit: int) -> Question:
    return Question(arrivals=True, max_partial_nodes=limit)


def towards(placed: PlacedProblem, wanted: Packing) -> Changes:
    """Return changes that end with this packing, cheap ones first. Not the cheapest there are."""
    left = Counter({(group.node_class, group.pattern): group.nodes for group in wanted})
    open_ = {(group.node_class, group.pattern): group.nodes for group in placed.current}
    holds = {pattern: Counter(pattern) for _, pattern in (*left, *open_)}
    pairs = [
        ((holds[after] - holds[before]).total(), c, before, after) for c, before in open_ for d, after in left if c == d
    ]
    found: Counter[tuple[int, Pattern, Pattern]] = Counter()
    for _, c, before, after in sorted(pairs):
        nodes = min(open_[c, before], left[c, after])
        open_[c, before] -= nodes
        left[c, after] -= nodes
        found[c, before, after] += nodes
    return changes(found)
