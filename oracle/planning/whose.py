"""Whose instances move, so that few jobs are disturbed: which of many plans as good is carried out.

A job may have instances in several pools and pauses once, so whose instances move is one question for all pools. One
integer program answers it (`oracle.planning.whose_model`); where it finds nothing in time, a rule of thumb does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from oracle.moves.attained import PoolOptima
from oracle.moves.naming import Naming, by_kind
from oracle.optimum.certificate import Status
from oracle.optimum.migration_certificate import by_class, check_changes
from oracle.optimum.solver import Deadline, Row
from oracle.planning.plans_search import plans_search
from oracle.planning.whose_model import WhoseModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.moves.move import Move
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.model import Change
    from oracle.optimum.pools import SplitPlan
    from oracle.planning.whose_model import Answer
    from oracle.snapshots.model import NodeContent, Snapshot
    from oracle.snapshots.stocks import Key

# Columns of the largest program that is solved: 1,250 nodes make 6,300. Where no time limit stops the search its size
# has to.
MAX_COLUMNS = 100_000
_MAX_COLUMNS_AT_LEISURE = 20_000

# Nodes of the search tree for the fewest partial nodes that few jobs reach: 100 leave some gaps that 300 close.
_MANY_NODES = 300

# The GPUs copied matter less: nodes of the search tree, and columns of the largest program without a time limit.
# On 1,250 nodes they took as long as all else, and were 1 in 60 fewer for it.
_FEW_NODES = 3
_MAX_GPU_COLUMNS_AT_LEISURE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whose instances move, and what any choice as good costs at least.

    Attributes
    ----------
    moves
        The instances that change their node, in no order in time.
    plans
        The same at pattern level, one a pool, with bounds on the migrations; of live moves, which may park instances,
        plans that leave each pool as few partial nodes.
    partial_lower_bound, migrations_lower_bound
        Partial nodes at least; migrations of every choice with so few partial nodes, at least.
    jobs_lower_bound, weight_lower_bound
        Jobs disturbed by every choice with as few partial nodes in each pool and as few migrations, at least; their
        weight.
    """

    moves: tuple[Move, ...]
    plans: tuple[MigrationCertificate, ...]
    partial_lower_bound: int = 0
    migrations_lower_bound: int = 0
    jobs_lower_bound: int = 0
    weight_lower_bound: int = 0

    @property
    def partial_nodes(self) -> int:
        """Partial nodes of all pools together afterwards."""
        return sum(plan.partial_nodes for plan in self.plans)

    @property
    def jobs(self) -> frozenset[str]:
        """The jobs that are disturbed."""
        return frozenset(move.job for move in self.moves)


class WhoseSearch:
    """What is known about the plans of a snapshot, and how they choose among its nodes and instances.

    Parameters
    ----------
    snapshot
        The cluster. What must not move is immovable in it.
    weights
        What it costs to disturb a job; 1 if it is not named.
    deadline
        When to stop.
    start
        Nodes where instances are put first in a search among named ones, as far as they may go there.
    best_only
        Whether of what that search finds only the best counts, for plans that leave as few partial nodes as possible.

    Attributes
    ----------
    pools
        What is known about the plans of the pools.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        weights: Mapping[str, int],
        deadline: Deadline,
        start: Mapping[Key, str] | None = None,
        *,
        best_only: bool = False,
    ) -> None:
        self._snapshot = snapshot
        self._weights = weights
        self._deadline = deadline
        optima = PoolOptima(snapshot, deadline, start=start)
        self._placed = list(optima.placed.values())
        self._stages = optima.stages(best_only=best_only)
        self.pools = plans_search(optima, self._stages, deadline)
        # Programs count by kinds, so what they choose can be had only where these tell all that matters.
        self._exact = all(optima.exact.values())
        self._counting = CountingBound(snapshot, weights)

    def choose(self, plan: SplitPlan) -> Choice:
        """Return whose instances move to carry out a plan, or one as good: few jobs by weight, then few GPUs copied.

        Parameters
        ----------
        plan
            Partial nodes and migrations of each pool, which are kept.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        choice = self._quick(plan)
        if not plan.migrations or not self._exact or not self._deadline.is_open():
            return choice
        model = WhoseModel(self._snapshot, self._weights)
        limits = [
            row for p, one in enumerate(plan.plans) for row in model.within(p, one.max_partial_nodes, one.migrations)
        ]
        if self._is_too_large(model):
            bound = model.least(model.weight, limits, self._deadline) if model.size <= MAX_COLUMNS else 0
            return self._bounded(choice, bound)
        return self._lightest(choice, model, limits, plan.plans)

    def choose_within(self, most_jobs: int, most_migrations: int | None, goal: int) -> Choice:
        """Return the best choice found that disturbs at most so many jobs.

        Fewest partial nodes first, but no fewer than the goal; then fewest migrations; then as `choose`.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        most = self._counting.instances(most_jobs)
        _, lower = self.pools.fewest_partial_nodes(most if most_migrations is None else min(most, most_migrations))
        # Fewer are of no use or cannot be, and to look for them would take time.
        floor = max(goal, lower)
        by_program = self._exact and self._deadline.is_open()
        found = self._by_program(most_jobs, most_migrations, floor) if by_program else None
        found = found or self._by_trying(most_jobs, most_migrations, goal)
        return replace(found, partial_lower_bound=max(floor, found.partial_lower_bound))

    def relocations(self, plans: Sequence[MigrationCertificate]) -> tuple[Move, ...]:
        """Return moves that carry out plans of all pools: those they were found by, or chosen by a rule of thumb."""
        found: list[Move] = []
        unnamed: list[tuple[Sequence[NodeContent], MigrationCertificate]] = []
        for contents, stages, plan in zip(self._snapshot.contents.values(), self._stages, plans, strict=True):
            if plan.changes in stages:
                found += stages[plan.changes].relocations
            else:
                unnamed.append((contents, plan))
        if unnamed:
            naming = Naming(self._snapshot, self._weights, {move.job for move in found})
            found += (move for own, plan in unnamed for move in naming.name(by_kind(own), plan.by_kind()).moves)
        return tuple(sorted(found))

    def _by_program(self, most_jobs: int, most_migrations: int | None, goal: int) -> Choice | None:
        """Return the best choice within the limits, as far as it is found in time; None if none is."""
        model = WhoseModel(self._snapshot, self._weights)
        if self._is_too_large(model):
            return None
        within = [Row(None, most_jobs, model.disturbed), Row(None, most_migrations, model.moves)]
        reached = Row(min(goal, self.pools.present), None, model.partial)
        fewest = model.solve(model.partial, [*within, reached], self._deadline.half(), max_nodes=_MANY_NODES)
        if fewest is None:
            return None
        within.append(Row(None, max(fewest.value, goal), model.partial))
        shortest = model.solve(model.moves, within, self._deadline.half())
        found = fewest if shortest is None else shortest
        choice = self._carried_out(found.moves, found.changes, goal)
        if shortest is not None:
            bound = max(choice.migrations_lower_bound, shortest.bound)
            choice = replace(choice, migrations_lower_bound=bound)
        within.append(Row(None, len(found.moves), model.moves))
        return self._lightest(replace(choice, partial_lower_bound=fewest.bound), model, within)

    def _by_trying(self, most_jobs: int, most_migrations: int | None, goal: int) -> Choice:
        """Return the choice within the limits that the rule of thumb makes for the fewest partial nodes."""
        best = self._quick(self.pools.cheapest(self.pools.present))
        low, high = max(goal, self.pools.fewest), self.pools.present
        while low < high and self._deadline.is_open():
            middle = (low + high) // 2
            choice = self._quick(self.pools.cheapest(middle))
            few_moves = most_migrations is None or len(choice.moves) <= most_migrations
            if few_moves and len(choice.jobs) <= most_jobs:
                best, high = choice, middle
            else:
                low = middle + 1
        return best

    def _quick(self, plan: SplitPlan) -> Choice:
        """Return the choice that the rule of thumb makes."""
        return Choice(
            moves=self.relocations(plan.plans),
            plans=plan.plans,
            migrations_lower_bound=plan.lower_bound,
            jobs_lower_bound=self._counting.jobs(plan.lower_bound),
            weight_lower_bound=self._counting.weight(plan.lower_bound),
        )

    def _is_too_large(self, model: WhoseModel) -> bool:
        at_leisure = self._deadline.seconds_left is None
        return model.size > (min(MAX_COLUMNS, _MAX_COLUMNS_AT_LEISURE) if at_leisure else MAX_COLUMNS)

    def _lightest(
        self,
        choice: Choice,
        model: WhoseModel,
        within: Sequence[Row],
        known: Sequence[MigrationCertificate] | None = None,
    ) -> Choice:
        """Return a choice as good that disturbs jobs of the least weight, of low priorities, and copies few GPUs."""
        lightest = model.solve(model.weight, within, self._deadline)
        if lightest is None:
            return choice
        choice = self._bounded(self._lighter(choice, lightest, known), lightest.bound)
        if self._deadline.seconds_left is None and model.size > _MAX_GPU_COLUMNS_AT_LEISURE:
            return choice
        weight, priority, _ = self._cost(choice.moves)
        as_light = [*within, Row(None, weight, model.weight)]
        if priority and model.priority:
            lowest = model.solve(model.priority, as_light, self._deadline, max_nodes=_FEW_NODES)
            choice = self._lighter(choice, lowest, known)
            as_light.append(Row(None, self._cost(choice.moves)[1], model.priority))
        return self._lighter(choice, model.solve(model.gpus, as_light, self._deadline, max_nodes=_FEW_NODES), known)

    def _bounded(self, choice: Choice, weight: int) -> Choice:
        """Return the choice with a bound on the weight of the jobs."""
        weight = max(choice.weight_lower_bound, weight)
        jobs = max(choice.jobs_lower_bound, weight if set(self._weights.values()) <= {1} else 0)
        return replace(choice, weight_lower_bound=weight, jobs_lower_bound=jobs)

    def _lighter(self, choice: Choice, found: Answer | None, known: Sequence[MigrationCertificate] | None) -> Choice:
        """Return the choice with other moves, if these disturb jobs of less weight or priority, or copy fewer GPUs."""
        if found is None or self._cost(found.moves) >= self._cost(choice.moves):
            return choice
        return replace(choice, moves=found.moves, plans=self._plans(found.changes, known))

    def _cost(self, moves: Sequence[Move]) -> tuple[int, int, int]:
        """Return the weight of the jobs that are disturbed, how high their priorities are, and the GPUs copied."""
        jobs = {move.job for move in moves}
        return (
            sum(self._weights.get(job, 1) for job in jobs),
            sum(self._snapshot.priority_ranks[job] for job in jobs),
            sum(move.gpus for move in moves),
        )

    def _carried_out(self, moves: tuple[Move, ...], changed: Sequence[Mapping[Change, int]], goal: int) -> Choice:
        """Return the choice of these moves, with bounds for as many migrations and partial nodes, or the goal."""
        plans = self._plans(changed)
        limit = max(goal, sum(plan.partial_nodes for plan in plans))
        return Choice(
            moves=moves,
            plans=plans,
            migrations_lower_bound=min(len(moves), self.pools.cheapest(limit).lower_bound),
            jobs_lower_bound=self._counting.jobs(len(moves)),
            weight_lower_bound=self._counting.weight(len(moves)),
        )

    def _plans(
        self, changed: Sequence[Mapping[Change, int]], known: Sequence[MigrationCertificate] | None = None
    ) -> tuple[MigrationCertificate, ...]:
        """Return changes with the bounds of these plans, or of the best with as few partial nodes."""
        found: list[MigrationCertificate] = []
        for p, (placed, counted) in enumerate(zip(self._placed, changed, strict=True)):
            own = by_class(placed.problem, counted)
            partial_nodes, migrations = check_changes(placed.problem, placed.current, own)
            bounds = self.pools.certificate(p, partial_nodes) if known is None else known[p]
            status = Status.of(bounds.lower_bound, migrations)
            found.append(
                replace(bounds, changes=own, partial_nodes=partial_nodes, migrations=migrations, status=status)
            )
        return tuple(found)


class CountingBound:
    """What the jobs disturbed are at least if so many instances leave, as each job has only so many that can.

    Parameters
    ----------
    snapshot
        The cluster. What must not move is immovable in it.
    weights
        What it costs to disturb a job; 1 if it is not named.
    """

    def __init__(self, snapshot: Snapshot, weights: Mapping[str, int]) -> None:
        self._movable = Counter(job.name for job in snapshot.jobs for one in job.instances if one.movable)
        self._weights = weights

    def instances(self, jobs: int) -> int:
        """Return how many instances so many jobs have at most."""
        return sum(count for _, count in self._movable.most_common(jobs))

    def jobs(self, migrations: int) -> int:
        """Return the number of jobs disturbed at least."""
        return self._least({}, migrations)

    def weight(self, migrations: int) -> int:
        """Return their weight at least."""
        return self._least(self._weights, migrations) if self._weights else self.jobs(migrations)

    def _least(self, weights: Mapping[str, int], migrations: int) -> int:
        """Take first the jobs that have most for their weight, the last of them in part."""
        bound, left = Fraction(0), migrations
        # Of many jobs few differ in both.
        offers = Counter((weights.get(job, 1), count) for job, count in self._movable.items())
        for (weight, count), jobs in sorted(offers.items(), key=lambda offer: Fraction(*offer[0])):
            taken = min(left, count * jobs)
            bound += Fraction(weight, count) * taken
            left -= taken
        return ceil(bound)
