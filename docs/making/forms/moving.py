"""The forms of `sifopt plan -o json`, also with `--resume`."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType, field

from docs.making.forms.base import Form, Overlooked, says
from docs.making.forms.certificates import (
    Branches,
    Certificate,
    ChangedNodes,
    MigrationCertificate,
    Solution,
    Weights,
)

Mode = Literal["checkpoint", "live"]


class Move(Form):
    """One instance goes to another node."""

    step: Annotated[int, says("step, from 1; moves of one step may run at the same time")]
    job: Annotated[str, says("name of the job")]
    instance: Annotated[int, says("number of the instance in its job, from 0")]
    gpus: Annotated[int, says("its demand in GPUs")]
    from_: Annotated[str, says("node it leaves")] = field(name="from")
    to: Annotated[str, says("node it goes to")]
    name: Annotated[str | UnsetType, says("what its cluster calls it, such as its pod; left out if it has no name")] = (
        UNSET
    )


class Stop(Form):
    """One instance is stopped so that others can have its GPUs; its own move restarts it."""

    job: Annotated[str, says("name of the job")]
    instance: Annotated[int, says("number of the instance in its job, from 0")]
    gpus: Annotated[int, says("its demand in GPUs")]
    from_: Annotated[str, says("node it is stopped on")] = field(name="from")
    before_step: Annotated[int, says("step before which it has stopped")]
    name: Annotated[str | UnsetType, says("what its cluster calls it; left out if it has no name")] = UNSET


class InstanceAtStart(Form):
    """One instance as it was when the moves were found. Its number in its job is its place in the list, from 0."""

    node: Annotated[str, says("node it was on")]
    gpus: Annotated[int, says("its demand in GPUs")]
    name: Annotated[str | UnsetType, says("what its cluster calls it; left out if it has no name")] = UNSET
    index: Annotated[str | UnsetType, says("what it keeps when it is started anew; left out if it has none")] = UNSET


class JobAtStart(Form):
    """A job as it was when the moves were found: by it `sifopt plan --resume` recognises the job's instances."""

    job: Annotated[str, says("name of the job")]
    instances: Annotated[tuple[InstanceAtStart, ...], says("all its instances, those that do not move included")]


class FrontierPoint(Form):
    """The fewest migrations for one limit on partial nodes, if instances may be stopped first.

    A limit between two points takes at least the `lower_bound` of the one before, at most the `migrations` of the next.
    """

    partial_nodes: Annotated[int, says("partial nodes that may be left")]
    migrations: Annotated[int, says("moves: attained")]
    lower_bound: Annotated[int, says("moves: proved")]


class PoolEvidence(Form):
    """What is proved about one pool."""

    pool: Annotated[str, says("name of the pool")]
    inherent: Annotated[Certificate, says("the fewest partial nodes it can have")]
    migrations: Annotated[MigrationCertificate, says("the fewest migrations to as many as the plan leaves it")]
    further: Annotated[tuple[Weights | Branches, ...], says("bounds where other plans leave it more or fewer")]


class PoolFrontier(Form):
    """Why the frontier of one pool is what it is."""

    pool: Annotated[str, says("name of the pool")]
    plans: Annotated[tuple[tuple[ChangedNodes, ...], ...] | None, says("plans that attain it; null if too many")]
    arguments: Annotated[tuple[Weights | Branches, ...], says("why no plan is cheaper")]


class FrontierEvidence(Form):
    """The evidence for a frontier."""

    pools: Annotated[tuple[PoolFrontier, ...], says("pool by pool")]


class PlanEvidence(Form):
    """The certificates of a plan."""

    pools: Annotated[tuple[PoolEvidence, ...], says("pool by pool")]
    frontier: Annotated[FrontierEvidence | UnsetType, says("with `--frontier`")] = UNSET


class Plan(Form):
    """Printed by `sifopt plan -o json`. With `--pool` all figures are about that pool."""

    schema: Literal["compass-abs/plan/2"]
    status: Annotated[Solution, says("`optimal` if no plan within the limits is better")]
    interrupted: Annotated[bool, says("whether the search was ended by Ctrl-C")]
    mode: Annotated[Mode, says("what was asked for with `--moves`")]
    max_partial_nodes: Annotated[int | None, says("limit asked for; null for none")]
    max_migrations: Annotated[int | None, says("limit asked for, moves; null for none")]
    max_jobs_disturbed: Annotated[int | None, says("limit asked for, jobs; null for none")]
    max_per_job_at_once: Annotated[int | None, says("limit asked for, instances; null for none")]
    max_per_budget: Annotated[int | None, says("limit asked for, instances of a disruption budget; null for none")]
    max_priority: Annotated[int | None, says("jobs of a higher or an unknown priority stay; null for no limit")]
    protected: Annotated[tuple[str, ...], says("jobs, namespaces and instances that stay")]
    weights: Annotated[dict[str, int], says("what disturbing a job counts, where not 1")]
    pool: Annotated[str | None, says("the only pool planned; null for all")]
    partial_nodes_before: Annotated[int, says("partial nodes now")]
    partial_nodes_after: Annotated[int, says("partial nodes after the last step: attained")]
    partial_nodes_lower_bound: Annotated[int, says("the same after every plan within the limits: proved")]
    empty_nodes_before: Annotated[int, says("empty nodes now")]
    empty_nodes_after: Annotated[int, says("empty nodes after the last step")]
    migrations: Annotated[int, says("moves, those to a parking place included: attained")]
    migrations_lower_bound: Annotated[int, says("moves of every plan that leaves as few partial nodes: proved")]
    jobs_disturbed: Annotated[int, says("jobs of which an instance moves: attained")]
    jobs_disturbed_lower_bound: Annotated[int, says("the same for every plan as good: proved")]
    disturbance: Annotated[int, says("weight of the jobs disturbed: attained")]
    disturbance_lower_bound: Annotated[int, says("the same for every plan as good: proved")]
    gpus_copied: Annotated[int, says("GPUs of the instances that move, each counted once")]
    moves: Annotated[tuple[Move, ...], says("the moves, sorted by step")]
    live: Annotated[bool, says("whether every move goes into space that is free")]
    stopped_first: Annotated[tuple[Stop, ...], says("instances that stop before their destination is free")]
    jobs_at_start: Annotated[tuple[JobAtStart, ...], says("the jobs of which an instance moves, as they were")]
    not_looked_at: Annotated[tuple[Overlooked, ...], says("constraints of jobs that the plan does not keep")]
    certificate: Annotated[PlanEvidence, says("the evidence")]
    frontier_mode: Annotated[
        Literal["checkpoint"] | UnsetType,
        says("with `--frontier`: its moves may stop instances first, whatever `mode` is"),
    ] = UNSET
    frontier: Annotated[
        tuple[FrontierPoint, ...] | UnsetType, says("with `--frontier`, from most partial nodes to fewest")
    ] = UNSET


class Failure(Form):
    """Why the rest of a plan cannot be carried out."""

    step: Annotated[int, says("step of the plan")]
    reason: Annotated[str, says("one line")]


class MissingInstance(Form):
    """An instance that ran when the plan was made, does not run now, and was not stopped by the plan."""

    job: Annotated[str, says("name of the job")]
    instance: Annotated[int, says("number that the instance had in its job, from 0")]
    gpus: Annotated[int, says("the demand in GPUs that it had")]
    from_: Annotated[str, says("node it was on")] = field(name="from")
    name: Annotated[str | UnsetType, says("what its cluster called it; left out if it had no name")] = UNSET


class Resumption(Form):
    """Printed by `sifopt plan --resume PLAN -o json`."""

    schema: Literal["compass-abs/resume/1"]
    holds: Annotated[bool, says("whether the rest can be carried out")]
    failure: Annotated[Failure | None, says("why not; null if it can")]
    partial_nodes_now: Annotated[int, says("partial nodes now")]
    partial_nodes_after: Annotated[int | None, says("partial nodes after the rest; null if that cannot be done")]
    moves: Annotated[tuple[Move, ...], says("what is left to do")]
    stopped_first: Annotated[tuple[Stop, ...], says("instances of these that stop first")]
    stopped: Annotated[tuple[Stop, ...], says("instances that are stopped: the first of their moves restarts them")]
    missing: Annotated[tuple[MissingInstance, ...], says("instances of its jobs that ended, or are missing unasked")]
    done: Annotated[tuple[Move, ...], says("moves that are done")]
    gone: Annotated[tuple[Move, ...], says("moves of instances that no longer run")]
