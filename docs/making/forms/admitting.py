"""The forms of `sifopt admit -o json`, for one job and for the queue."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from docs.making.forms.base import Form, says
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
        Literal["demand", "capacity", "node", "cordon", "immovable", "overcommitted"],
        says(
            "too large for any node; too few GPUs; too few on a node; a closed node; what cannot move; a node that "
            "holds too much"
        ),
    ]
    gpus: Annotated[int, says("GPUs missing; of a closed node, those free on it; of an instance, its demand")]
    pool: Annotated[str, says("name of the pool")]
    alone: Annotated[bool, says("whether lifting this one would be enough")]
    text: Annotated[str, says("the same in words")]
    node: Annotated[str | UnsetType, says("name of the node, if it is about one")] = UNSET
    job: Annotated[str | UnsetType, says("name of the job, if it is about one")] = UNSET
    instance: Annotated[int | UnsetType, says("number of the instance, if it is about one")] = UNSET


class RoomEvidence(Form):
    """Weights about one pool, the instances that wait counted among those that run there."""

    pool: Annotated[str, says("name of the pool")]
    argument: Annotated[
        Weights | None, says("why the job does not fit, or why it takes several moves; null without weights for it")
    ]


class AdmissionEvidence(Form):
    """What can be checked of a verdict without a solver."""

    pools: Annotated[tuple[RoomEvidence, ...], says("the pools that were searched")]


class Verdicts(Form):
    """The verdict on one job."""

    verdict: Annotated[Verdict, says("whether it can start")]
    pool: Annotated[str | None, says("pool it would start in; null without one")]
    migrations: Annotated[int | None, says("moves before it can start; null if it cannot, or if that is unknown")]
    lower_bound: Annotated[int, says("moves before it can start, at least; without meaning if it cannot")]
    status: Annotated[Solution, says("`optimal` if the verdict is settled and its moves are fewest")]
    moves: Annotated[tuple[Move, ...], says("what has to move first, sorted by step")]
    stopped_first: Annotated[tuple[Stop, ...], says("instances that stop before their destination is free")]
    placements: Annotated[tuple[Placement, ...], says("a node for each instance of the job")]
    reason: Annotated[str, says("one line")]
    proof: Annotated[str, says("what rules out better answers: weights, a solver with its version, a search")]
    blockers: Annotated[tuple[Blocker, ...], says("what stands in the way, if it cannot start")]
    certificate: Annotated[AdmissionEvidence, says("the evidence")]


class AskedJob(Form):
    """The job that was asked about."""

    instances: Annotated[int, says("instances")]
    gpus_per_instance: Annotated[int, says("GPUs of each")]
    pool: Annotated[str | None, says("pool it must run in; null for any one")]


class QueuedJob(AskedJob):
    """A job that waits."""

    name: Annotated[str, says("name of the job")]


class Admission(Verdicts):
    """Printed by `sifopt admit --job WxG -o json`."""

    schema: Literal["compass-abs/admit/2"]
    jobs_at_start: Annotated[tuple[JobAtStart, ...], says("the jobs of which an instance moves, as they were")]
    job: Annotated[AskedJob, says("the job")]
    mode: Annotated[Mode, says("what was asked for with `--moves`")]
    protected: Annotated[tuple[str, ...], says("jobs, namespaces and instances that stay")]
    max_per_job_at_once: Annotated[int | None, says("limit asked for, instances; null for none")]
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
    placements: Annotated[tuple[JobPlacement, ...], says("a node for each instance of each job")]
    most: Annotated[int, says("no more jobs can start together: proved")]
    moves_lower_bound: Annotated[int, says("so many jobs take at least so many moves: proved")]
    status: Annotated[Solution, says("`optimal` if both bounds are met")]


class QueueAdmission(Form):
    """Printed by `sifopt admit -o json` without `--job`."""

    schema: Literal["compass-abs/admit-queue/2"]
    passed_over: Annotated[tuple[NamedVerdict, ...], says("jobs before the first that can start, in queue order")]
    first: Annotated[NamedVerdict | None, says("the first that can start; null if none is known to")]
    together: Annotated[Together, says("the most that can start together")]
    jobs: Annotated[tuple[QueuedJob, ...], says("the queue")]
    pool: Annotated[str | None, says("the only pool asked about; null for all")]
    mode: Annotated[Mode, says("what was asked for with `--moves`")]
    protected: Annotated[tuple[str, ...], says("jobs, namespaces and instances that stay")]
    max_per_job_at_once: Annotated[int | None, says("limit asked for, instances; null for none")]
    interrupted: Annotated[bool, says("whether the search was ended by Ctrl-C")]
