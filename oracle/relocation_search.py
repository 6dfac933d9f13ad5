"""From plans at pattern level to nodes and instances, for all pools of a snapshot together.

A job may have instances in several pools and pauses once, so whose instances move is one question for all pools.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracle.certificate import Status
from oracle.disturbance import (
    NodeChange,
    NodeChoice,
    Option,
    PoolLimit,
    Resident,
    Selection,
    SelectionProblem,
    counting_bound,
    leavers,
)
from oracle.disturbance_model import SelectionModel
from oracle.disturbance_search import choose_quickly
from oracle.migration_certificate import MigrationCertificate, changes, packing_after
from oracle.migration_split import PoolsSearch
from oracle.node_classes import constrained_class, constrained_problem, contents_by_pool, count_partial

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from oracle.disturbance_model import Terms
    from oracle.migration_split import SplitPlan
    from oracle.node_classes import NodeContent, Pattern, PlacedProblem
    from oracle.snapshots.model import RunningJob, Snapshot
    from oracle.solver import Deadline

# Columns of the largest integer program that is tried: 12,500 nodes with 20,000 jobs make 70,000, solved in half a
# minute.
MAX_COLUMNS = 100_000

# The same where every pattern of every node is a column and no time limit stops the search: 80 nodes of 8 GPUs make
# 5,000 columns, which take up to half a minute.
MAX_COLUMNS_AT_LEISURE = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whose instances move, and what any choice as good costs at least.

    Attributes
    ----------
    selection
        The nodes that change and the instances that leave them.
    plans
        The same at pattern level, one a pool, with bounds on the migrations.
    partial_lower_bound, migrations_lower_bound
        Partial nodes at least; migrations of every choice with so few partial nodes, at least.
    jobs_lower_bound, weight_lower_bound
        Jobs disturbed by every choice with as few partial nodes in each pool and as few migrations, at least; their
        weight.
    """

    selection: Selection
    plans: tuple[MigrationCertificate, ...]
    partial_lower_bound: int
    migrations_lower_bound: int
    jobs_lower_bound: int
    weight_lower_bound: int

    @property
    def partial_nodes(self) -> int:
        """Partial nodes of all pools together afterwards."""
        return sum(plan.partial_nodes for plan in self.plans)

    @property
    def is_settled(self) -> bool:
        """Whether no choice has fewer partial nodes, or as few with fewer migrations."""
        fewest = self.partial_nodes <= self.partial_lower_bound
        return fewest and self.selection.migrations == self.migrations_lower_bound


@dataclass(frozen=True, slots=True)
class _Pool:
    """One pool: its nodes, the problem they make, and the group of each node in it."""

    contents: tuple[NodeContent, ...]
    placed: PlacedProblem
    index: Mapping[tuple[int, Pattern], int]
    groups: tuple[int, ...]

    @classmethod
    def of(cls, contents: tuple[NodeContent, ...]) -> _Pool:
        placed = constrained_problem(contents)
        index = {(group.node_class, group.pattern): g for g, group in enumerate(placed.current)}
        number = {kind: c for c, kind in enumerate(placed.problem.classes)}
        groups = tuple(index[number[constrained_class(node)], node.movable] for node in contents)
        return cls(contents, placed, index, groups)

    def option(self, g: int, after: Pattern) -> Option:
        """Return what it means for a node of group g to hold `after`."""
        group = self.placed.current[g]
        kind = self.placed.problem.classes[group.node_class]
        return Option.of(group.pattern, after, partial=kind.is_partial(sum(after)))

    def options(self, patterns: Iterable[tuple[int, Pattern]]) -> dict[int, tuple[Option, ...]]:
        """Return the options of each group that has a choice: what it holds now, then the other patterns given."""
        found: defaultdict[int, set[Pattern]] = defaultdict(set)
        for g, after in patterns:
            found[g].add(after)
        return {
            g: tuple(self.option(g, after) for after in (self.placed.current[g].pattern, *sorted(others)))
            for g, several in found.items()
            if (others := several - {self.placed.current[g].pattern})
        }

    def wanted(self, plan: MigrationCertificate) -> dict[int, list[tuple[Option, int]]]:
        """Return for each group that changes which options how many of its nodes take."""
        wanted: defaultdict[int, list[tuple[Option, int]]] = defaultdict(list)
        for change in plan.changes:
            g = self.index[change.node_class, change.before]
            wanted[g].append((self.option(g, change.after), change.nodes))
        return wanted


class RelocationSearch:
    """What is known about the plans of a snapshot, and how they choose among its nodes and instances.

    Parameters
    ----------
    snapshot
        The cluster. What must not move is immovable in it.
    weights
        What it costs to disturb a job; 1 for jobs not named.
    deadline
        When to stop.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """

    def __init__(self, snapshot: Snapshot, weights: Mapping[str, int], deadline: Deadline) -> None:
        self._snapshot = snapshot
        self.deadline = deadline
        self._residents = _residents(snapshot)
        self.jobs = Counter(resident.job for residents in self._residents.values() for resident in residents)
        self.weights = {job: weights.get(job, 1) for job in self.jobs}
        by_pool = contents_by_pool(snapshot)
        self.names = tuple(by_pool)
        self._pools = [_Pool.of(contents) for contents in by_pool.values()]
        self.pools = PoolsSearch([pool.placed for pool in self._pools], deadline)

    def only(self, jobs: Collection[str]) -> RelocationSearch:
        """Return the search in which only instances of these jobs may move.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        others = {job.name for job in self._snapshot.jobs} - set(jobs)
        return RelocationSearch(fix_jobs(self._snapshot, others), self.weights, self.deadline)

    def best(self, goal: int, most_migrations: int | None) -> Choice:
        """Return the best choice with at most so many migrations.

        Fewest partial nodes first, but no fewer than the goal; then fewest migrations; then as `choose`.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        lower = sum(inherent.lower_bound for inherent in self.pools.inherent)
        plan = self.pools.cheapest(max(goal, self.pools.fewest))
        if most_migrations is not None and plan.migrations > most_migrations:
            reached = self.pools.fewest_partial_nodes(most_migrations)
            plan, lower = reached.plan, reached.lower_bound
        return replace(self.choose(plan), partial_lower_bound=max(lower, goal))

    def choose(self, plan: SplitPlan) -> Choice:
        """Return whose instances move to carry out a plan, or one as good: few jobs by weight, then few GPUs copied.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        limits = [PoolLimit(one.max_partial_nodes, one.migrations) for one in plan.plans]
        wanted = [pool.wanted(one) for pool, one in zip(self._pools, plan.plans, strict=True)]
        used = [[(g, option.after) for g, takes in own.items() for option, _ in takes] for own in wanted]
        affordable = [self.pools.affordable(p, one) for p, one in enumerate(plan.plans)]
        narrow = self._problem(used, limits)
        wide = self._problem([all_ or own for all_, own in zip(affordable, used, strict=True)], limits)
        complete = None not in affordable
        gives = leavers(wide) if complete else self.jobs
        everywhere = {(p, g): takes for p, own in enumerate(wanted) for g, takes in own.items()}
        choice = Choice(
            selection=choose_quickly(narrow, everywhere),
            plans=plan.plans,
            partial_lower_bound=0,
            migrations_lower_bound=plan.lower_bound,
            jobs_lower_bound=counting_bound(gives, dict.fromkeys(self.jobs, 1), plan.migrations),
            weight_lower_bound=counting_bound(gives, self.weights, plan.migrations),
        )
        if not plan.migrations:
            return choice
        for problem, exact in ((wide, complete), (narrow, False)):
            model = SelectionModel(problem)
            if model.size <= MAX_COLUMNS and self.deadline.is_open():
                return self._improved(choice, model, exact=exact)
        return choice

    def choose_within(
        self, most_jobs: int, most_migrations: int | None, goal: int, deadline: Deadline
    ) -> Choice | None:
        """Return the best choice that disturbs at most so many jobs, or None if there is too much to be searched whole.

        Fewest partial nodes first, but no fewer than the goal; then fewest migrations; then as `choose`.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        every = [self.pools.every_choice(p) for p in range(len(self._pools))]
        if None in every or not deadline.is_open():
            return None
        problem = self._problem([choices or () for choices in every], [PoolLimit(None, None) for _ in self._pools])
        model = SelectionModel(problem)
        if model.size > (MAX_COLUMNS_AT_LEISURE if deadline.seconds_left is None else MAX_COLUMNS):
            return None
        within: list[tuple[Terms, int]] = [(model.disturbed, most_jobs)]
        if most_migrations is not None:
            within.append((model.migrations, most_migrations))
        partial = model.solve(model.partial, within, deadline)
        if partial.value is None or partial.bound is None:
            return None
        rest = self._partial_elsewhere(problem)
        within.append((model.partial, max(partial.value, goal - rest)))
        fewest = model.solve(model.migrations, within, deadline)
        if fewest.selection is None or fewest.value is None or fewest.bound is None:
            return None
        within.append((model.migrations, fewest.value))
        choice = Choice(
            selection=fewest.selection,
            plans=self._carried_out(fewest.selection),
            partial_lower_bound=max(goal, partial.bound + rest),
            migrations_lower_bound=fewest.bound,
            jobs_lower_bound=0,
            weight_lower_bound=0,
        )
        return self._improved(choice, model, exact=True, within=within)

    def cost(self, choice: Choice) -> tuple[int, int]:
        """Return the weight of the jobs that a choice disturbs, and the GPUs it copies."""
        return choice.selection.cost(self.weights)

    def adopt(self, selection: Selection) -> Choice:
        """Return a selection made by another search of the same nodes, with the bounds that this one knows.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        where = {
            node.name: (p, g)
            for p, pool in enumerate(self._pools)
            for node, g in zip(pool.contents, pool.groups, strict=True)
        }
        found: list[NodeChange] = []
        for change in selection.changes:
            p, g = where[change.node.name]
            before = self._pools[p].placed.current[g].pattern
            option = self._pools[p].option(g, _after(before, change))
            node = NodeChoice(change.node.name, p, g, self._residents[change.node.name], (option,))
            found.append(NodeChange(node, option, change.leaving))
        adopted = Selection(tuple(found))
        plans = self._carried_out(adopted)
        return Choice(
            selection=adopted,
            plans=plans,
            partial_lower_bound=0,
            migrations_lower_bound=self.pools.cheapest(sum(plan.partial_nodes for plan in plans)).lower_bound,
            jobs_lower_bound=counting_bound(self.jobs, dict.fromkeys(self.jobs, 1), adopted.migrations),
            weight_lower_bound=counting_bound(self.jobs, self.weights, adopted.migrations),
        )

    def _improved(
        self, choice: Choice, model: SelectionModel, *, exact: bool, within: Sequence[tuple[Terms, int]] = ()
    ) -> Choice:
        """Return the choice after an integer program has looked for a better one; its bounds too, if it is `exact`."""
        lightest = model.solve(model.weight, within, self.deadline)
        if exact and lightest.bound is not None:
            weight = max(choice.weight_lower_bound, lightest.bound)
            jobs = weight if set(self.weights.values()) <= {1} else choice.jobs_lower_bound
            choice = replace(choice, weight_lower_bound=weight, jobs_lower_bound=jobs)
        found, weight = choice.selection, choice.selection.cost(self.weights)[0]
        if lightest.selection is not None and lightest.value is not None and lightest.value <= weight:
            found, weight = min(found, lightest.selection, key=self._cost), lightest.value
        smallest = model.solve(model.gpus, [*within, (model.weight, weight)], self.deadline)
        found = min((found, smallest.selection or found), key=self._cost)
        if found is choice.selection:
            return choice
        return replace(choice, selection=found, plans=self._carried_out(found, choice.plans))

    def _cost(self, selection: Selection) -> tuple[int, int]:
        return selection.cost(self.weights)

    def _problem(
        self, patterns: Sequence[Iterable[tuple[int, Pattern]]], limits: Sequence[PoolLimit]
    ) -> SelectionProblem:
        """Return the problem of the nodes with a choice among these patterns: pairs of a group and what it gets."""
        nodes: list[NodeChoice] = []
        within: list[PoolLimit] = []
        for p, (pool, choices, limit) in enumerate(zip(self._pools, patterns, limits, strict=True)):
            options = pool.options(choices)
            for node, g in zip(pool.contents, pool.groups, strict=True):
                if g in options:
                    nodes.append(NodeChoice(node.name, p, g, self._residents[node.name], options[g]))
            left = limit
            if limit.partial_nodes is not None:
                left = replace(limit, partial_nodes=limit.partial_nodes - _partial_without(pool, options))
            within.append(left)
        return SelectionProblem(tuple(nodes), tuple(within), self.weights)

    def _partial_elsewhere(self, problem: SelectionProblem) -> int:
        """Return the partial nodes that are not part of the problem."""
        chosen = [{node.group for node in problem.nodes if node.pool == p} for p in range(len(self._pools))]
        return sum(_partial_without(pool, groups) for pool, groups in zip(self._pools, chosen, strict=True))

    def _carried_out(
        self, selection: Selection, plans: Sequence[MigrationCertificate] | None = None
    ) -> tuple[MigrationCertificate, ...]:
        """Return the selection at pattern level, with the bounds of plans for the same limits."""
        counts: list[Counter[tuple[int, Pattern, Pattern]]] = [Counter() for _ in self._pools]
        for change in selection.changes:
            group = self._pools[change.node.pool].placed.current[change.node.group]
            counts[change.node.pool][group.node_class, group.pattern, change.option.after] += 1
        found: list[MigrationCertificate] = []
        for p, (pool, count) in enumerate(zip(self._pools, counts, strict=True)):
            changed = changes(count)
            partial_nodes = count_partial(pool.placed.problem, packing_after(pool.placed.current, changed))
            known = self.pools.certificate(p, partial_nodes) if plans is None else plans[p]
            migrations = sum(change.migrations for change in changed)
            status = Status.OPTIMAL if migrations == known.lower_bound else Status.UNKNOWN
            found.append(
                replace(known, changes=changed, partial_nodes=partial_nodes, migrations=migrations, status=status)
            )
        return tuple(found)


def fix_jobs(snapshot: Snapshot, jobs: Collection[str]) -> Snapshot:
    """Return the snapshot with these jobs immovable."""
    return replace(snapshot, jobs=tuple(_fixed(job) if job.name in jobs else job for job in snapshot.jobs))


def _fixed(job: RunningJob) -> RunningJob:
    return replace(job, instances=tuple(replace(instance, movable=False) for instance in job.instances))


def _after(before: Pattern, change: NodeChange) -> Pattern:
    held = Counter(before)
    held.subtract(resident.gpus for resident in change.leaving)
    held.update(dict(change.option.arrives))
    return tuple(sorted(held.elements(), reverse=True))


def _partial_without(pool: _Pool, groups: Iterable[int]) -> int:
    """Return the partial nodes of a pool that are in none of these groups."""
    left_out = set(groups)
    kinds = pool.placed.problem.classes
    return sum(
        group.nodes
        for g, group in enumerate(pool.placed.current)
        if g not in left_out and kinds[group.node_class].is_partial(sum(group.pattern))
    )


def _residents(snapshot: Snapshot) -> dict[str, tuple[Resident, ...]]:
    """Return the movable instances on each node, sorted."""
    found: dict[str, list[Resident]] = {node.name: [] for node in snapshot.nodes}
    for job in snapshot.jobs:
        for i, instance in enumerate(job.instances):
            if instance.movable:
                found[instance.node].append(Resident(job.name, i, instance.gpus))
    return {name: tuple(sorted(residents)) for name, residents in found.items()}
