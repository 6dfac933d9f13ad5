"""From plans at pattern level to nodes and instances, for all pools of a snapshot together.

A job may have instances in several pools and pauses once, so whose instances move is one question for all pools.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.optimum.certificate import Status
from oracle.optimum.migration_certificate import changes, packing_after
from oracle.optimum.node_classes import count_partial
from oracle.optimum.split import PoolsSearch
from oracle.planning.choosing.choice import Choice, PoolNodes
from oracle.planning.choosing.choice_search import choose_lightest
from oracle.planning.choosing.disturbance import (
    NodeChange,
    NodeChoice,
    PoolLimit,
    Resident,
    Selection,
    SelectionProblem,
    counting_bound,
)
from oracle.planning.choosing.disturbance_search import choose_quickly

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.solver import Deadline
    from oracle.optimum.split import SplitPlan
    from oracle.snapshots.model import Pattern, RunningJob, Snapshot


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

    Attributes
    ----------
    jobs
        How many movable instances each job has.
    names, pools
        The pools, and what is known about their plans.

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
        by_pool = snapshot.contents
        self.names = tuple(by_pool)
        self._nodes = [PoolNodes.of(contents) for contents in by_pool.values()]
        self.pools = PoolsSearch([nodes.placed for nodes in self._nodes], deadline)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self._snapshot.nodes)

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
        return choose_lightest(self, plan)

    def choose_quickly(self, plans: Sequence[MigrationCertificate]) -> Selection:
        """Return whose instances move to carry out the plans of the pools, without a solver."""
        wanted = (nodes.wanted(plan) for nodes, plan in zip(self._nodes, plans, strict=True))
        return choose_quickly(
            self.question(self.used(plans), [PoolLimit(None, None)] * len(plans)),
            {(p, g): takes for p, own in enumerate(wanted) for g, takes in own.items()},
        )

    def used(self, plans: Sequence[MigrationCertificate]) -> list[list[tuple[int, Pattern]]]:
        """Return what the plans of the pools are made of, apart from what stays: (group, pattern after)."""
        return [nodes.used(plan) for nodes, plan in zip(self._nodes, plans, strict=True)]

    def question(
        self, patterns: Sequence[Iterable[tuple[int, Pattern]]], limits: Sequence[PoolLimit]
    ) -> SelectionProblem:
        """Return the problem of the nodes that have a choice among these: for each pool (group, pattern after)."""
        choosing: list[NodeChoice] = []
        within: list[PoolLimit] = []
        for p, (nodes, choices, limit) in enumerate(zip(self._nodes, patterns, limits, strict=True)):
            options = nodes.options(choices)
            choosing += (
                NodeChoice(node.name, p, g, self._residents[node.name], options[g])
                for node, g in zip(nodes.contents, nodes.groups, strict=True)
                if g in options
            )
            most = limit.partial_nodes
            within.append(replace(limit, partial_nodes=None if most is None else most - nodes.partial_outside(options)))
        return SelectionProblem(tuple(choosing), tuple(within), self.weights)

    def partial_outside(self, question: SelectionProblem) -> int:
        """Return the partial nodes of today that have no choice."""
        chosen = [{node.group for node in question.nodes if node.pool == p} for p in range(len(self._nodes))]
        return sum(nodes.partial_outside(groups) for nodes, groups in zip(self._nodes, chosen, strict=True))

    def cost(self, choice: Choice) -> tuple[int, int]:
        """Return the weight of the jobs that a choice disturbs, and the GPUs it copies."""
        return choice.selection.cost(self.weights)

    def bounded(self, choice: Choice, weight: int) -> Choice:
        """Return the choice with a bound on the weight of the jobs."""
        weight = max(choice.weight_lower_bound, weight)
        jobs = weight if set(self.weights.values()) <= {1} else choice.jobs_lower_bound
        return replace(choice, weight_lower_bound=weight, jobs_lower_bound=jobs)

    def lighter(self, choice: Choice, found: Selection | None) -> Choice:
        """Return the choice with another selection, if that disturbs jobs of less weight, or as much for fewer GPUs."""
        if found is None or found.cost(self.weights) >= self.cost(choice):
            return choice
        return replace(choice, selection=found, plans=self.carried_out(found, choice.plans))

    def adopt(self, selection: Selection) -> Choice:
        """Return a selection made by another search of the same nodes, with the bounds that this one knows.

        Raises
        ------
        SolverError
            A solver returned nonsense.
        """
        adopted = self.translate(selection)
        plans = self.carried_out(adopted)
        return Choice(
            selection=adopted,
            plans=plans,
            partial_lower_bound=0,
            migrations_lower_bound=self.pools.cheapest(sum(plan.partial_nodes for plan in plans)).lower_bound,
            jobs_lower_bound=counting_bound(self.jobs, dict.fromkeys(self.jobs, 1), adopted.migrations),
            weight_lower_bound=counting_bound(self.jobs, self.weights, adopted.migrations),
        )

    def translate(self, selection: Selection) -> Selection:
        """Return a selection made by another search of the same nodes, in terms of this one."""
        where = {
            node.name: (p, g)
            for p, nodes in enumerate(self._nodes)
            for node, g in zip(nodes.contents, nodes.groups, strict=True)
        }
        found: list[NodeChange] = []
        for change in selection.changes:
            p, g = where[change.node.name]
            option = self._nodes[p].option(g, _after(self._nodes[p].placed.current[g].pattern, change))
            node = NodeChoice(change.node.name, p, g, self._residents[change.node.name], (option,))
            found.append(NodeChange(node, option, change.leaving))
        return Selection(tuple(found))

    def carried_out(
        self, selection: Selection, plans: Sequence[MigrationCertificate] | None = None
    ) -> tuple[MigrationCertificate, ...]:
        """Return a selection at pattern level, with the bounds of these plans, or of the best for its partial nodes."""
        counts: list[Counter[tuple[int, Pattern, Pattern]]] = [Counter() for _ in self._nodes]
        for change in selection.changes:
            group = self._nodes[change.node.pool].placed.current[change.node.group]
            counts[change.node.pool][group.node_class, group.pattern, change.option.after] += 1
        found: list[MigrationCertificate] = []
        for p, (nodes, count) in enumerate(zip(self._nodes, counts, strict=True)):
            changed = changes(count)
            partial_nodes = count_partial(nodes.placed.problem, packing_after(nodes.placed.current, changed))
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


def _residents(snapshot: Snapshot) -> dict[str, tuple[Resident, ...]]:
    """Return the movable instances on each node, sorted."""
    found: dict[str, list[Resident]] = {node.name: [] for node in snapshot.nodes}
    for job in snapshot.jobs:
        for i, instance in enumerate(job.instances):
            if instance.movable:
                found[instance.node].append(Resident(job.name, i, instance.gpus))
    return {name: tuple(sorted(residents)) for name, residents in found.items()}
