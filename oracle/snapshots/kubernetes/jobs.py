"""Which pods make up one job, in which order, and what waiting jobs ask for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from immutables import Map

from oracle.snapshots.kubernetes.ledger import natural_key
from oracle.snapshots.model import PendingJob, PendingPart, RunningInstance, RunningJob

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.snapshots.kubernetes.pods import GpuPod

# Labels or annotations that name the group a pod is started with, and what the name is the name of. The first one
# found counts: groups made for a gang scheduler, then training jobs. A JobSet's pods carry the name of their own Job
# too, a part of the set, so that the set comes first.
_GROUPS = (
    ("scheduling.x-k8s.io/pod-group", "PodGroup"),
    ("pod-group.scheduling.sigs.k8s.io", "PodGroup"),
    ("scheduling.k8s.io/group-name", "PodGroup"),
    ("kueue.x-k8s.io/pod-group-name", "pod group"),
    ("volcano.sh/job-name", "Volcano job"),
    ("training.kubeflow.org/job-name", "training job"),
    ("leaderworkerset.sigs.k8s.io/name", "LeaderWorkerSet"),
    ("jobset.sigs.k8s.io/jobset-name", "JobSet"),
    ("batch.kubernetes.io/job-name", "Job"),
    ("job-name", "Job"),
    ("ray.io/cluster", "RayCluster"),
)
_LEGACY_JOB_NAME = "job-name"
_LEADER_WORKER_SET = "leaderworkerset.sigs.k8s.io/name"
_LEADER_WORKER_GROUP = "leaderworkerset.sigs.k8s.io/group-index"

# Controllers whose pods are started, and are of use, one by one.
_ONE_BY_ONE = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet", "RayCluster"})
_COMPLETION = "batch.kubernetes.io/job-completion-index"

# Labels or annotations that number the pods of a job, the coarser first.
_INDEXES = (
    "jobset.sigs.k8s.io/job-global-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "batch.kubernetes.io/job-completion-index",
    "training.kubeflow.org/replica-index",
    "volcano.sh/task-index",
    "apps.kubernetes.io/pod-index",
)
# What else tells pods of one index apart.
_ROLES = (
    "leaderworkerset.sigs.k8s.io/group-index",
    "training.kubeflow.org/replica-type",
    "volcano.sh/task-spec",
)


class JobKey(NamedTuple):
    """What makes two pods parts of one job."""

    namespace: str
    name: str
    source: str


def job_of(pod: GpuPod) -> JobKey:
    """Return the job a pod belongs to: its group, else its controller, else the pod itself.

    The pods of a ReplicaSet, StatefulSet or DaemonSet are no gang, but one piece of work of one owner: moving three of
    them disturbs one job.
    """
    if pod.made_for is not None:
        return JobKey(pod.namespace, f"{pod.made_for}{pod.part}", "queue")
    owner = pod.controller
    for key, source in _GROUPS:
        name = _mark(pod, key)
        # The old label of Jobs has no prefix: others use it for what they like, and a Job's own pods name it as owner.
        if not name or (key == _LEGACY_JOB_NAME and owner is not None):
            continue
        # Each group of a LeaderWorkerSet starts and fails as one; its leader pod is named like this.
        group = _mark(pod, _LEADER_WORKER_GROUP) if key == _LEADER_WORKER_SET else None
        return JobKey(pod.namespace, f"{name}-{group}" if group else name, source)
    if owner is not None and owner.name:
        return JobKey(pod.namespace, owner.name, owner.kind or "controller")
    return JobKey(pod.namespace, pod.own_name, "Pod")


def job_names(pods: Iterable[GpuPod]) -> dict[JobKey, str]:
    """Return a unique name for each job: ``namespace/name``, with the source where a Job and a Pod share a name."""
    keys = {job_of(pod) for pod in pods}
    shared = Counter((key.namespace, key.name) for key in keys)
    return {
        key: f"{key.namespace}/{key.name}" + (f" ({key.source})" if shared[key.namespace, key.name] > 1 else "")
        for key in keys
    }


class Facts(Protocol):
    """What else is known of pods and jobs."""

    def within(self, pod: GpuPod) -> tuple[str, ...]:
        """Return the names of the node sets that the pod may not leave."""
        ...

    def is_movable(self, pod: GpuPod) -> bool:
        """Return whether the pod, once evicted, could be put on a node of its pool again."""
        ...

    def budgets(self, pod: GpuPod) -> tuple[str, ...]:
        """Return the names of the disruption budgets in which it counts."""
        ...

    def priority(self, pod: GpuPod) -> int | None:
        """Return its priority."""
        ...

    def is_distinct(self, key: JobKey) -> bool:
        """Return whether no two pods of the job may be on one node."""
        ...

    def one_of(self, key: JobKey) -> tuple[str, ...]:
        """Return the names of the node sets in one of which all pods of the job have to be, whichever."""
        ...

    def least(self, key: JobKey) -> int | None:
        """Return with how many pods the job starts, None if that is not known."""
        ...


def running_jobs(pods: Iterable[GpuPod], names: Mapping[JobKey, str], facts: Facts) -> list[RunningJob]:
    """Return the jobs of pods that are on nodes, in natural order of their names.

    Parameters
    ----------
    pods
        Pods with a node and a demand of at least 1.
    names
        A name for each job.
    facts
        What else is known of them.
    """
    jobs: list[RunningJob] = []
    for key, members in by_job(pods).items():
        numbered = _numbered(members)
        instances = [
            RunningInstance(
                node=pod.node or "",
                gpus=pod.demand,
                movable=pod.is_movable and facts.is_movable(pod),
                name=pod.own_name,
                index=index,
                within=facts.within(pod),
                budgets=facts.budgets(pod),
                resources=Map(pod.further),
            )
            for pod, index in zip(numbered, _lasting_indexes(numbered, key), strict=True)
        ]
        jobs.append(
            RunningJob(
                name=names[key],
                instances=tuple(instances),
                distinct_nodes=facts.is_distinct(key),
                priority=_highest(members, facts),
            )
        )
    return sorted(jobs, key=lambda job: natural_key(job.name))


class _Part(NamedTuple):
    """Waiting pods that are alike."""

    demand: int
    pool: str | None
    within: tuple[str, ...]
    resources: tuple[tuple[str, int], ...]


def pending_jobs(
    pods: Iterable[tuple[GpuPod, str | None]], running: Iterable[GpuPod], names: Mapping[JobKey, str], facts: Facts
) -> list[PendingJob]:
    """Return the waiting jobs in natural order of their names.

    What starts as one is one job, its unlike pods parts of it. Of what starts pod by pod, such as the replicas of a
    Deployment, unlike pods are jobs of their own.

    Parameters
    ----------
    pods
        Waiting pods, each with the pool it asks for; None: any.
    running
        The pods that run.
    names
        A name for each job.
    facts
        What else is known of them.
    """
    pods = [*pods]
    pools = {id(pod): pool for pod, pool in pods}
    started = Counter(job_of(pod) for pod in running)
    jobs: list[PendingJob] = []
    for key, members in by_job(pod for pod, _ in pods).items():
        parts: Counter[_Part] = Counter()
        for pod in members:
            parts[_part(pod, pools[id(pod)], facts)] += pod.copies
        ordered = sorted(parts.items(), key=lambda one: (-one[0].demand, one[0].pool or "", one[0][2:]))
        common = PendingJob(
            name=names[key],
            instances=1,
            gpus_per_instance=1,
            distinct_nodes=facts.is_distinct(key),
            priority=_highest(members, facts),
            reason=next((pod.reason for pod in members if pod.reason), None),
        )
        together = starts_together(key, members)
        least = facts.least(key)
        still = None if least is None else max(0, least - started[key])
        if together and still is not None and still < parts.total() and len(ordered) == 1:
            jobs += _split(common, ordered[0][0], still, parts.total())
        elif together:
            jobs.append(replace(_gang(common, ordered), within_one_of=facts.one_of(key)))
        else:
            jobs += _one_by_one(common, ordered)
    return sorted(jobs, key=lambda job: natural_key(job.name))


def _part(pod: GpuPod, pool: str | None, facts: Facts) -> _Part:
    return _Part(pod.demand, pool, facts.within(pod), tuple(sorted(pod.further.items())))


def _as_asked(common: PendingJob, part: _Part, instances: int) -> PendingJob:
    return replace(
        common,
        instances=instances,
        gpus_per_instance=part.demand,
        pool=part.pool,
        within=part.within,
        resources=Map(part.resources),
    )


def _split(common: PendingJob, part: _Part, least: int, count: int) -> list[PendingJob]:
    """Return the pods that a group starts with, and those that may come later."""
    jobs = [_as_asked(common, part, least)] if least else []
    name = f"{common.name} [more]" if least else common.name
    return [*jobs, replace(_as_asked(common, part, count - least), name=name, together=count - least == 1)]


def _gang(common: PendingJob, parts: Sequence[tuple[_Part, int]]) -> PendingJob:
    (first, count), *rest = parts
    job = _as_asked(common, first, count)
    further = tuple(
        PendingPart(instances=number, gpus_per_instance=part.demand, within=part.within, resources=Map(part.resources))
        for part, number in rest
    )
    # A pool is one for the whole job: where parts ask for several, their node sets say which.
    return replace(job, further_parts=further, pool=first.pool if len({part.pool for part, _ in parts}) == 1 else None)


def _one_by_one(common: PendingJob, parts: Sequence[tuple[_Part, int]]) -> list[PendingJob]:
    jobs: list[PendingJob] = []
    words = [
        [f"{part.demand} GPU"] * (len({other.demand for other, _ in parts}) > 1)
        + [part.pool or "any pool"] * (len({other.pool for other, _ in parts}) > 1)
        for part, _ in parts
    ]
    alike = Counter(", ".join(word) for word in words)
    numbers: Counter[str] = Counter()
    for (part, count), word in zip(parts, words, strict=True):
        text = ", ".join(word)
        if alike[text] > 1:  # they differ in what else they ask for
            numbers[text] += 1
            text = ", ".join([*word, str(numbers[text])])
        name = f"{common.name} [{text}]" if text else common.name
        jobs.append(replace(_as_asked(common, part, count), name=name, together=count == 1))
    return jobs


def starts_together(key: JobKey, pods: Sequence[GpuPod]) -> bool:
    """Return whether the pods of a job are of no use one by one.

    Pods of an indexed Job know one another by their numbers; those of other Jobs take what work there is.
    """
    if sum(pod.copies for pod in pods) == 1:
        return True
    if key.source == "Job":
        return any(_mark(pod, _COMPLETION) for pod in pods)
    return key.source not in _ONE_BY_ONE


def _highest(pods: Iterable[GpuPod], facts: Facts) -> int | None:
    return max((priority for pod in pods if (priority := facts.priority(pod)) is not None), default=None)


def by_job(pods: Iterable[GpuPod]) -> dict[JobKey, list[GpuPod]]:
    """Return the pods of each job."""
    members: dict[JobKey, list[GpuPod]] = {}
    for pod in pods:
        members.setdefault(job_of(pod), []).append(pod)
    return members


def _numbered(pods: Sequence[GpuPod]) -> list[GpuPod]:
    """Return the pods of a job in the order of the indexes that all of them have, then of their names."""
    shared = [key for key in _INDEXES if all((_mark(pod, key) or "").isdecimal() for pod in pods)]
    return sorted(
        pods,
        key=lambda pod: ([natural_key(_mark(pod, key) or "") for key in shared], natural_key(pod.own_name)),
    )


def _lasting_indexes(pods: Sequence[GpuPod], job: JobKey) -> list[str | None]:
    """Return what each pod of a job shares with the pod that takes its place, None for those of which nothing is known.

    While a pod is being deleted its successor may run already: the index is the successor's.
    """
    found = [_lasting_index(pod, job) for pod in pods]
    every = Counter(found)
    staying = Counter(index for pod, index in zip(pods, found, strict=True) if pod.metadata.deletion_timestamp is None)
    return [
        index if every[index] == 1 or (staying[index] == 1 and pod.metadata.deletion_timestamp is None) else None
        for pod, index in zip(pods, found, strict=True)
    ]


def _lasting_index(pod: GpuPod, job: JobKey) -> str | None:
    """Return the pod's numbers in its job, with the part of the job that counts them: ``3``, ``worker/3``.

    A pod of a StatefulSet has its ordinal in its name; all others get a new name with every start.
    """
    owner = pod.controller
    numbers = [mark for key in _INDEXES if (mark := _mark(pod, key)) and mark.isdecimal()]
    if not numbers and owner is not None and owner.kind == "StatefulSet" and owner.name:
        ordinal = pod.own_name.removeprefix(f"{owner.name}-")
        numbers = [ordinal] if ordinal.isdecimal() else []
    if not numbers:
        return None
    counted_by = [owner.name] if owner is not None and owner.name and owner.name != job.name else []
    roles = [mark for key in _ROLES if (mark := _mark(pod, key))]
    return "/".join([*counted_by, *roles, *numbers])


def _mark(pod: GpuPod, key: str) -> str | None:
    return (pod.metadata.labels or {}).get(key) or (pod.metadata.annotations or {}).get(key) or None
