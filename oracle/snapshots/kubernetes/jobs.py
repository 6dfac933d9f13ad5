"""Which pods make up one job, in which order, and what waiting jobs ask for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from oracle.snapshots.kubernetes.ledger import natural_key
from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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


def running_jobs(
    pods: Iterable[GpuPod], names: Mapping[JobKey, str], can_come_back: Callable[[GpuPod], bool]
) -> list[RunningJob]:
    """Return the jobs of pods that are on nodes, in natural order of their names.

    Parameters
    ----------
    pods
        Pods with a node and a demand of at least 1.
    names
        A name for each job.
    can_come_back
        Whether a pod, once evicted, could be put on a node of its pool again.
    """
    jobs: list[RunningJob] = []
    for key, members in _by_job(pods).items():
        numbered = _numbered(members)
        instances = [
            RunningInstance(
                node=pod.node or "",
                gpus=pod.demand,
                movable=pod.is_movable and can_come_back(pod),
                name=pod.own_name,
                index=index,
            )
            for pod, index in zip(numbered, _lasting_indexes(numbered, key), strict=True)
        ]
        jobs.append(RunningJob(name=names[key], instances=tuple(instances)))
    return sorted(jobs, key=lambda job: natural_key(job.name))


def pending_jobs(pods: Iterable[tuple[GpuPod, str | None]], names: Mapping[JobKey, str]) -> list[PendingJob]:
    """Return the waiting jobs, one for each demand and pool of a job, in natural order of their names.

    Parameters
    ----------
    pods
        Waiting pods, each with the pool it asks for; None: any.
    names
        A name for each job.
    """
    counts = Counter((job_of(pod), pod.demand, pool) for pod, pool in pods)
    demands: dict[JobKey, set[int]] = {}
    pools: dict[JobKey, set[str | None]] = {}
    for key, demand, pool in counts:
        demands.setdefault(key, set()).add(demand)
        pools.setdefault(key, set()).add(pool)
    jobs: list[PendingJob] = []
    for (key, demand, pool), instances in counts.items():
        # A job of unlike parts is several waiting jobs; their names say what tells them apart.
        parts = [f"{demand} GPU"] if len(demands[key]) > 1 else []
        parts += [pool or "any pool"] if len(pools[key]) > 1 else []
        name = names[key] + (f" [{', '.join(parts)}]" if parts else "")
        jobs.append(PendingJob(name=name, instances=instances, gpus_per_instance=demand, pool=pool))
    return sorted(jobs, key=lambda job: natural_key(job.name))


def _by_job(pods: Iterable[GpuPod]) -> dict[JobKey, list[GpuPod]]:
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
