"""From a snapshot to the moves that mend it: which instances go from which node to which.

Three questions, one after the other: how few partial nodes can be had within the limits, how few migrations that
takes, and which instances move so that jobs of the least weight are disturbed. The first two are settled at pattern
level, where they are small; the third knows every node and job. In which order the moves are made is another question
(`oracle.moves.ordering`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from compass_core.errors import UnknownJobError
from oracle.optimum.certificate import Status
from oracle.optimum.exact import InfeasibleError, UndecidedError
from oracle.optimum.solver import Deadline
from oracle.planning.choosing.job_limit import disturb_fewer
from oracle.planning.choosing.relocation_search import RelocationSearch, fix_jobs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.planning.choosing.choice import Choice
    from oracle.planning.choosing.disturbance import Resident, Selection
    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True, order=True)
class Relocation:
    """One instance that changes its node: its job, its number there, its GPUs, where from and where to."""

    job: str
    instance: int
    gpus: int
    source: str
    destination: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocationPlan:
    """The moves found for a snapshot, and how good they are known to be.

    Partial nodes come first, then migrations, then the weight of the jobs disturbed. A bound on each holds for all
    plans within the limits that are as good in what comes before.

    Attributes
    ----------
    relocations
        The moves, sorted by job and instance; no order in time.
    partial_nodes_before, partial_nodes_after
        Partial nodes of all pools together.
    partial_nodes_lower_bound
        Partial nodes after every plan within the limits, at least; or the number asked for, where that is more.
    migrations_lower_bound
        Migrations of every plan that leaves so few partial nodes, at least.
    jobs_disturbed_lower_bound
        Jobs disturbed by every plan that leaves so few partial nodes in each pool with so few migrations, at least.
    disturbance, disturbance_lower_bound
        The weight of the jobs disturbed, and the same bound on it. Without weights it is their number.
    gpus_copied
        GPUs of the instances that move.
    plans
        The plan at pattern level and its evidence, by pool.
    """

    relocations: tuple[Relocation, ...]
    partial_nodes_before: int
    partial_nodes_after: int
    partial_nodes_lower_bound: int
    migrations_lower_bound: int
    jobs_disturbed_lower_bound: int
    disturbance: int
    disturbance_lower_bound: int
    gpus_copied: int
    plans: Mapping[str, MigrationCertificate]

    @property
    def migrations(self) -> int:
        """Instances whose node changes."""
        return len(self.relocations)

    @property
    def jobs_disturbed(self) -> int:
        """Jobs of which an instance moves."""
        return len({relocation.job for relocation in self.relocations})

    @property
    def status(self) -> Status:
        """OPTIMAL if both the partial nodes and the migrations are known to be the fewest."""
        fewest = self.partial_nodes_after <= self.partial_nodes_lower_bound
        return _status(settled=fewest and self.migrations == self.migrations_lower_bound)

    @property
    def disturbance_status(self) -> Status:
        """OPTIMAL if no plan as good disturbs jobs of less weight."""
        return _status(settled=self.disturbance == self.disturbance_lower_bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a plan must keep; None for no limit.

    Attributes
    ----------
    max_partial_nodes
        Partial nodes of all pools together that will do. None asks for as few as possible.
    max_migrations
        Instances that may move.
    max_jobs_disturbed
        Jobs of which instances may move.
    """

    max_partial_nodes: int | None = None
    max_migrations: int | None = None
    max_jobs_disturbed: int | None = None


def plan_relocations(
    snapshot: Snapshot,
    limits: Limits = Limits(),
    *,
    protected: Collection[str] = (),
    weights: Mapping[str, int] | None = None,
    time_limit: float | None = None,
) -> RelocationPlan:
    """Return the moves that leave few partial nodes: fewest migrations, then jobs of least weight, then fewest GPUs.

    With a limit on migrations or jobs the plan leaves as few partial nodes as those allow, but no fewer than
    `max_partial_nodes` where that is given. Without such limits, `max_partial_nodes` has to be kept.

    Parameters
    ----------
    snapshot
        The cluster. Instances never leave their pool.
    limits
        What the plan must keep.
    protected
        Jobs that must not move.
    weights
        What it costs to disturb a job, at least 0; 1 for jobs not named.
    time_limit
        Seconds of wall time; None for as long as it takes. Without it the result is deterministic. What is not settled
        by then has both bounds.

    Raises
    ------
    UnknownJobError
        No running job has a name given in `protected` or `weights`.
    InfeasibleError
        Every placement has more than `max_partial_nodes` partial nodes.
    UndecidedError
        No placement with so few partial nodes was found in time, but there may be one.
    SolverError
        A solver returned nonsense.
    ValueError
        A limit or a weight is negative.
    """
    weights = weights or {}
    _check(snapshot, limits, protected, weights)
    search = RelocationSearch(fix_jobs(snapshot, protected), weights, Deadline(time_limit))
    if limits.max_migrations is None and limits.max_jobs_disturbed is None:
        _check_reachable(search, limits.max_partial_nodes)
    goal = limits.max_partial_nodes or 0
    choice = search.best(goal, limits.max_migrations)
    if limits.max_jobs_disturbed is not None and len(choice.selection.jobs) > limits.max_jobs_disturbed:
        choice = disturb_fewer(search, choice, goal, limits.max_migrations, limits.max_jobs_disturbed)
    return _plan(search, choice)


def relocations(selection: Selection) -> tuple[Relocation, ...]:
    """Return moves that carry out a selection: of each pool and demand, whoever leaves goes where one arrives.

    Instances of one job go to neighbouring destinations in the order of names.
    """
    leaving: defaultdict[tuple[int, int], list[tuple[Resident, str]]] = defaultdict(list)
    arriving: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for change in selection.changes:
        for resident in change.leaving:
            leaving[change.node.pool, resident.gpus].append((resident, change.node.name))
        for demand, count in change.option.arrives:
            arriving[change.node.pool, demand] += [change.node.name] * count
    return tuple(
        sorted(
            Relocation(resident.job, resident.instance, resident.gpus, source, destination)
            for key, residents in leaving.items()
            for (resident, source), destination in zip(sorted(residents), sorted(arriving[key]), strict=True)
        )
    )


def _status(*, settled: bool) -> Status:
    return Status.OPTIMAL if settled else Status.UNKNOWN


def _check(snapshot: Snapshot, limits: Limits, protected: Collection[str], weights: Mapping[str, int]) -> None:
    known = {job.name for job in snapshot.jobs}
    for name in (*protected, *weights):
        if name not in known:
            raise UnknownJobError(f"no running job is named {name!r}")
    for name, weight in weights.items():
        if weight < 0:
            raise ValueError(f"the weight of job {name!r} is {weight}; expected at least 0")
    for limit in fields(limits):
        value = getattr(limits, limit.name)
        if value is not None and value < 0:
            raise ValueError(f"{limit.name} is {value}; expected at least 0")


def _check_reachable(search: RelocationSearch, most: int | None) -> None:
    lower = sum(inherent.lower_bound for inherent in search.pools.inherent)
    if most is not None and most < lower:
        raise InfeasibleError(f"at least {lower} nodes are partial, however instances are moved")
    if most is not None and most < search.pools.fewest:
        raise UndecidedError(
            f"no plan that leaves {most} partial nodes was found in time; whether there is one is not known"
        )


def _plan(search: RelocationSearch, choice: Choice) -> RelocationPlan:
    disturbance, gpus = choice.selection.cost(search.weights)
    return RelocationPlan(
        relocations=relocations(choice.selection),
        partial_nodes_before=search.pools.present,
        partial_nodes_after=choice.partial_nodes,
        partial_nodes_lower_bound=choice.partial_lower_bound,
        migrations_lower_bound=choice.migrations_lower_bound,
        jobs_disturbed_lower_bound=choice.jobs_lower_bound,
        disturbance=disturbance,
        disturbance_lower_bound=choice.weight_lower_bound,
        gpus_copied=gpus,
        plans=dict(zip(search.names, choice.plans, strict=True)),
    )
