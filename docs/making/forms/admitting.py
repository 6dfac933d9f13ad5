"""The forms of `sifopt admit -o json`, for one job and for the queue."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from docs.making.forms.base import Form, Overlooked, says
from docs.making.forms.certificates import Solution, Weights
from docs.making.forms.moving import JobAtStart, Mode, Move, Stop

Verdict = Literal["fits_now", "fits_after", "cannot", "unknown"]


class Placement(Form):
    """Where one instance would go."""

    instance: Annotated[int, says("number of the instance, from 0")]
    node: Annotated[str, says("name of the node")]


class JobPlacement(Placement):
    """Where one instance of one job of the queue would go."""

    job: Annotated[str, says("name of the job")]


class Blocker(Form):
    """One thing that stands in the way."""

    kind: Annotated[
        Literal[
            "demand", "capacity", "node", "cordon", "immovable", "outside", "distinct", "resource", "overcommitted"
        ],
        says(
            "too large for any node; too few GPUs; too few on a node; a closed node; what cannot move; a node outside "
            "the job's node sets; instances that may not share a node; too little of something else on a node; a node "
            "that holds too much"
        ),
    ]
    gpus: Annotated[
        int, says("GPUs missing; of an instance, its demand; of other restrictions of a node, those free on it")
    ]
    pool: Annotated[str, says("name of the pool")]
    alone: Annotated[bool, says("whether lifting this one would be enough")]
    text: Annotated[str, says("the same in words")]
    node: Annotated[str | UnsetType, says("name of the node, if it is about one")] = UNSET
    job: Annotated[str | UnsetType, says("name of the job, if it is about one")] = UNSET
    instance: Annotated[int | UnsetType, says("number of the instance, if it is about one")] = UNSET
    sets: Annotated[tuple[str, ...] | UnsetType, says("node sets that the node is outside of")] = UNSET
    resource: Annotated[str | UnsetType, says("the further resource, if it is about one")] = UNSET
    amount: Annotated[
        int | UnsetType, says("how much of it is free; of `distinct`, different nodes that have room as it is")
    ] = UNSET
    wanted: Annotated[
        int | UnsetType, says("what an instance takes of it; of `distinct`, how many different nodes it takes")
    ] = UNSET


class RoomEvidence(Form):
    """Weights about one pool, the instances that wait counted among those that run there."""

    pool: Annotated[str, says("name of the pool")]
    argument: Annotated[
        Weights | None, says("why the job does not fit, or why it takes several moves; null without weights for it")
    ]
    no_more: Annotated[
        Weights | None,
        says("of instances that start one by one, why no more fit than start; null without weights for it"),
    ]


class AdmissionEvidence(Form):
    """What can be checked of a verdict without a solver."""

    pools: Annotated[tuple[RoomEvidence, ...], says("the pools that were searched")]


class Verdicts(Form):
    """The verdict on one job."""

    verdict: Annotated[Verdict, says("whether it can start")]
    pool: Annotated[str | None, says("pool it would start in, or pools joined by `and`; null without one")]
    migrations: Annotated[int | None, says("moves before it can start; null if it cannot, or if that is unknown")]
    lower_bound: Annotated[int, says("moves before it can start, at least; without meaning if it cannot")]
    starting: Annotated[int, says("instances that start: all, or as many as can of those that start one by one")]
    most: Annotated[int, says("no more of its instances can start: proved")]
    status: Annotated[
        Solution, says("`optimal` if the verdict is settled, as many start as can, and the moves are fewest")
    ]
    moves: Annotated[tuple[Move, ...], says("what has to move first, sorted by step")]
    stopped_first: Annotated[tuple[Stop, ...], says("instances that stop before their destination is free")]
    placements: Annotated[tuple[Placement, ...], says("a node for each instance that starts")]
    reason: Annotated[str, says("one line")]
    proof: Annotated[str, says("what rules out better answers: weights, a solver with its version, a search")]
    blockers: Annotated[tuple[Blocker, ...], says("what stands in the way, if it cannot start")]
    certificate: Annotated[AdmissionEvidence, says("the evidence")]


class AskedPart(Form):
    """Instances of the job that are alike."""

    instances: Annotated[int, says("instances")]
    gpus_per_instance: Annotated[int, says("GPUs of each")]
    within: Annotated[tuple[str, ...], says("node sets of the snapshot that they may not leave")]
    resources: Annotated[dict[str, int], says("what each takes of further resources")]


class AskedJob(AskedPart):
    """The job that was asked about."""

    pool: Annotated[str | None, says("pool it must run in; null for any one")]
    distinct_nodes: Annotated[bool, says("whether no two instances may be on one node")]
    further_parts: Annotated[tuple[AskedPart, ...], says("its instances that are unlike these")]
    together: Annotated[bool, says("whether all start at one time; otherwise each as soon as it can")]
    more_of: Annotated[
        str | None, says("the running job whose further instances these are, if they may not be on its nodes")
    ]
    within_one_of: Annotated[
        tuple[str, ...],
        says("node sets in one of which all its instances have to be, whichever; empty if they need not"),
    ]


class QueuedJob(AskedJob):
    """A job that waits."""

    name: Annotated[str, says("name of the job")]


class Admission(Verdicts):
    """Printed by `sifopt admit --job WxG -o json`."""

    schema: Literal["compass-abs/admit/3"]
    jobs_at_start: Annotated[tuple[JobAtStart, ...], says("the jobs of which an instance moves, as they were")]
    job: Annotated[AskedJob, says("the job")]
    not_looked_at: Annotated[tuple[Overlooked, ...], says("constraints of jobs that the answer does not keep")]
    mode: Annotated[Mode, says("what was asked for with `--moves`")]
    protected: Annotated[tuple[str, ...], says("jobs, namespaces and instances that stay")]
    max_per_job_at_once: Annotated[int | None, says("limit asked for, instances; null for none")]
    max_per_budget: Annotated[int | None, says("limit asked for, instances of a disruption budget; null for none")]
    max_priority: Annotated[int | None, says("jobs of a higher or an unknown priority stay; null for no limit")]
    interrupted: Annotated[bool, says("whether the search was ended by Ctrl-C")]


class NamedVerdict(Verdicts):
    """The verdict on one job of the queue."""

    name: Annotated[str, says("name of the job")]


class Together(Form):
    """Waiting jobs that can start together."""

    jobs: Annotated[tuple[str, ...], says("their names, in queue order")]
    migrations: Annotated[int, says("moves before they can start")]
    moves: Annotated[tuple[Move, ...], says("what has to move first, sorted by step")]
    stopped_first: Annotated[tuple[Stop, ...], says("instances that stop before their destination is free")]
    placements: Annotated[tuple[JobPlacement, ...], says("a node for each instance that starts")]
    starting: Annotated[
        int, says("how many these are: a job counts once, but each instance of those that start one by one")
    ]
    most: Annotated[int, says("no more can start together: proved")]
    moves_lower_bound: Annotated[int, says("so many take at least so many moves: proved")]
    status: Annotated[Solution, says("`optimal` if both bounds are met")]


class QueueAdmission(Form):
    """Printed by `sifopt admit -o json` without `--job`."""

    schema: Literal["compass-abs/admit-queue/3"]
    passed_over: Annotated[tuple[NamedVerdict, ...], says("jobs before the first that can start, in queue order")]
    first: Annotated[NamedVerdict | None, says("the first that can start; null if none is known to")]
    together: Annotated[Together, says("the most that can start together")]
    jobs: Annotated[tuple[QueuedJob, ...], says("the queue")]
    pool: Annotated[str | None, says("the only pool asked about; null for all")]
    not_looked_at: Annotated[tuple[Overlooked, ...], says("constraints of jobs that the answer does not keep")]
    mode: Annotated[Mode, says("what was asked for with `--moves`")]
    protected: Annotated[tuple[str, ...], says("jobs, namespaces and instances that stay")]
    max_per_job_at_once: Annotated[int | None, says("limit asked for, instances; null for none")]
    max_per_budget: Annotated[int | None, says("limit asked for, instances of a disruption budget; null for none")]
    max_priority: Annotated[int | None, says("jobs of a higher or an unknown priority stay; null for no limit")]
    interrupted: Annotated[bool, says("whether the search was ended by Ctrl-C")]
