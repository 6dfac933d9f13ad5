"""The search for the cheapest plans of one pool, for any limit on partial nodes.

Cheap things come first. Prices from a linear program bound the migrations of all plans; rounding the program's optimum
and balancing it by a few changes finds most plans that meet the bound. A branch tree settles most of the others one way
or the other. CP-SAT is asked only for what is left, and only about columns that a plan so cheap can use.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from oracle.bounds import SolverProof
from oracle.certificate import Status
from oracle.migration_certificate import MigrationCertificate, changes
from oracle.node_classes import count_partial
from oracle.solver import Outcome, Program, Row, SolverError, solve_integers
from oracle.transport.bounds import Leaf, MigrationArgument, MigrationWeights, PricedNodes, migration_bound
from oracle.transport.model import staying, towards
from oracle.transport.plan_store import PlanStore
from oracle.transport.pricing import grown_columns
from oracle.transport.proof import plan_near, plan_or_proof
from oracle.transport.relaxation import first_choice, program, relax, rounded
from oracle.transport.remainders import residue_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.node_classes import Packing, Pattern, PlacedProblem
    from oracle.solver import Deadline
    from oracle.transport.model import Columns, Integers, Mask
    from oracle.transport.plan_store import Plan
    from oracle.transport.relaxation import Priced, Relaxed


# Migrations beyond the bound that are tried where no plan within the limit is known.
_ENOUGH = 5


@dataclass(frozen=True, slots=True)
class _Line:
    """Prices with the bounds they prove, for every limit on partial nodes: without residues they lie on a line."""

    priced: Priced
    nodes: PricedNodes
    weights: MigrationWeights


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
        fewest = min(count_partial(placed.problem, target) for target in targets)
        self._columns: Columns = grown_columns(placed, targets, fewest, deadline)
        self._store = PlanStore(self._columns)
        if (stay := staying(self._columns)) is not None:
            self._store.add(stay)
        for target in targets:
            self._store.add(towards(self._columns, target))
        self._lines: list[_Line] = []
        self._proofs: dict[int, tuple[int, MigrationArgument]] = {}
        self._relaxed: Relaxed | None = None

    def lower_bound(self, limit: int) -> tuple[int, MigrationArgument]:
        """Return the best bound known for plans with at most `limit` partial nodes, and its argument."""
        bounds: list[tuple[int, MigrationArgument]] = [
            (0, MigrationWeights(1, (0,) * len(self._placed.problem.demands), 0)),
            *((line.nodes.bound(limit), line.weights) for line in self._lines),
            *([self._proofs[limit]] if limit in self._proofs else []),
        ]
        return max(bounds, key=lambda bound: bound[0])

    def known_migrations(self, limit: int) -> int:
        """Return the migrations of the cheapest plan known with at most `limit` partial nodes.

        Raises
        ------
        ValueError
            None is known.
        """
        return self._known(limit).migrations

    def is_settled(self, limit: int) -> bool:
        """Whether the cheapest plan with at most `limit` partial nodes is known to be so."""
        plan = self._store.best(limit)
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
        self._relaxed = None
        for step in (self._use_neighbour, self._use_prices, self._use_residues, self._use_trees, self._use_integers):
            if self.is_settled(limit) or not self._deadline.is_open():
                break
            step(limit)
        return self.certificate(limit)

    def reach(self, limit: int) -> MigrationCertificate | None:
        """Return a plan with at most `limit` partial nodes, if one is found quickly; None does not say none exists."""
        self._use_prices(limit)
        if self._store.best(limit) is None and self._relaxed is not None and self._relaxed.feasible:
            self._use_residues(limit)
        return None if self._store.best(limit) is None else self.certificate(limit)

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
            changes=changes(_nodes_by_change(self._columns, plan)),
            partial_nodes=plan.partial_nodes,
            migrations=plan.migrations,
            lower_bound=lower,
            argument=argument,
            status=Status.OPTIMAL if lower == plan.migrations else Status.UNKNOWN,
        )

    def affordable(self, limit: int, migrations: int) -> tuple[tuple[int, Pattern], ...] | None:
        """Return what plans within the limit and so many migrations are made of: (group, pattern after).

        None if the patterns are too many to list.
        """
        if not self._columns.complete:
            return None
        chosen = np.ones(len(self._columns.after), np.bool_)
        for line in self._lines:
            chosen &= line.priced.excess <= line.priced.gap(limit, migrations)
        chosen[self._columns.stay] = True
        index = np.flatnonzero(chosen).tolist()
        return tuple((int(self._columns.group[i]), self._columns.after[i]) for i in index)

    def every_choice(self) -> tuple[tuple[int, Pattern], ...] | None:
        """Return what all plans are made of: (group, pattern after); None if the patterns are too many to list."""
        if not self._columns.complete:
            return None
        return tuple(zip(self._columns.group.tolist(), self._columns.after, strict=True))

    def _known(self, limit: int) -> Plan:
        plan = self._store.best(limit)
        if plan is None:
            raise ValueError(f"no plan with at most {limit} partial nodes was found")
        return plan

    def _use_neighbour(self, limit: int) -> None:
        """Change the plan for the nearest limit a little."""
        if not self._lines:
            return
        start, (lower, _) = self._store.nearest(limit), self.lower_bound(limit)
        if not self._store.repeat_step(start, limit, lower):
            line = max(self._lines, key=lambda line: line.nodes.bound(limit))
            if self._find_near(limit, lower, line.priced, self._store.dense(start)):
                self._store.learn(start, limit)

    def _use_prices(self, limit: int) -> None:
        """Bound the migrations by prices, and look for a plan that meets the bound near the optimum they come from."""
        relaxed = relax(self._columns, limit, (), self._promising(), self._deadline)
        if relaxed is not None:
            self._relaxed = relaxed
            self._add_line(relaxed.priced, relaxed.priced.leaf.weights)
            start = rounded(self._columns, relaxed.values)
            self._find_near(limit, self.lower_bound(limit)[0], relaxed.priced, start)

    def _use_residues(self, limit: int) -> None:
        """Improve the bound by residues; then look for plans that meet it, or nearly so."""
        if self._relaxed is None:
            return
        priced, start = self._relaxed.priced, rounded(self._columns, self._relaxed.values)
        tried, _ = self.lower_bound(limit)
        if (found := residue_weights(self._columns, priced, limit)) is not None:
            self._add_line(priced, found[0])
        lower, _ = self.lower_bound(limit)
        known, more = self._store.best(limit), int(lower == tried)
        # Whether there is a plan at all within the limit shows at once, or else by other means.
        most = lower + _ENOUGH if known is None else known.migrations
        while lower + more < most and not self._find_near(limit, lower + more, priced, start):
            more = 2 * more or 1

    def _use_trees(self, limit: int) -> None:
        """Find a plan for one number of migrations after the other, or prove that there is none."""
        relaxed = self._relaxed
        while relaxed is not None and not self.is_settled(limit):
            target = self.lower_bound(limit)[0] + 1
            affordable = relaxed.priced.excess <= relaxed.priced.gap(limit, target)
            verdict = plan_or_proof(
                self._columns, limit, target, root=relaxed.priced, chosen=affordable, deadline=self._deadline
            )
            if verdict.plan is not None:
                self._keep(verdict.plan, "the search for exchanges")
            proved = 0 if verdict.tree is None else migration_bound(self._placed, limit, verdict.tree)
            if verdict.tree is not None and proved >= target:
                self._proofs[limit] = proved, verdict.tree
            elif verdict.plan is None:
                return

    def _use_integers(self, limit: int) -> None:
        """Let CP-SAT settle one number of migrations after the other."""
        relaxed = self._relaxed
        while relaxed is not None and not self.is_settled(limit) and self._deadline.is_open():
            lower, _ = self.lower_bound(limit)
            affordable = np.flatnonzero(relaxed.priced.excess <= relaxed.priced.gap(limit, lower))
            question = _question(self._columns, relaxed.priced, affordable, limit, lower)
            answer = solve_integers(question, self._deadline)
            if answer.values:
                plan = np.zeros(len(self._columns.after), np.int64)
                plan[affordable] = answer.values
                self._keep(plan, answer.solver)
            elif answer.outcome is Outcome.INFEASIBLE and self._columns.complete:
                self._proofs[limit] = lower + 1, SolverProof(answer.solver, lower + 1)
            else:
                return

    def _promising(self) -> Mask:
        """Return the columns to begin a linear program with: those that the last prices found cheap."""
        if not self._lines:
            return first_choice(self._columns)
        priced = self._lines[-1].priced
        return priced.excess <= priced.leaf.weights.denominator

    def _add_line(self, priced: Priced, weights: MigrationWeights) -> None:
        if any(line.weights == weights for line in self._lines):
            return
        self._lines.append(_Line(priced, PricedNodes(self._placed, Leaf(weights, ())), weights))

    def _find_near(self, limit: int, migrations: int, priced: Priced, start: Integers) -> bool:
        """Look for a plan with at most so many migrations a few changes from `start`; whether one was found."""
        plan = plan_near(self._columns, limit, migrations, priced, start)
        if plan is not None:
            self._keep(plan, "the search for exchanges")
        return plan is not None

    def _keep(self, plan: Integers, finder: str) -> None:
        try:
            self._store.add(plan)
        except ValueError as error:
            raise SolverError(f"{finder} returned a plan that is none: {error}") from error


def _nodes_by_change(columns: Columns, plan: Plan) -> Counter[tuple[int, Pattern, Pattern]]:
    nodes: Counter[tuple[int, Pattern, Pattern]] = Counter()
    for i, count in plan.nodes.items():
        group = columns.groups[int(columns.group[i])]
        nodes[group.node_class, group.pattern, columns.after[i]] += count
    return nodes


def _question(columns: Columns, priced: Priced, index: Integers, limit: int, migrations: int) -> Program:
    """Return the program that asks for any plan with at most so many migrations, made of these columns."""
    budget, excess = priced.gap(limit, migrations), priced.excess[index]
    supply = columns.supply[columns.group[index]]
    uppers = np.where(excess > 0, np.minimum(supply, budget // np.maximum(excess, 1)), supply)
    asked = program(columns, index, limit, uppers=uppers.tolist())
    cost = Row(None, migrations, tuple((i, moves) for i, moves in enumerate(asked.costs) if moves))
    return Program((0,) * len(index), asked.uppers, (*asked.rows, cost))
