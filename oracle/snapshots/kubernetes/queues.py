"""Demand that waits in the objects of queues, before there is any pod; and what shows that a queue was not printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.demand import read_demands, read_further, whole_number
from oracle.snapshots.kubernetes.devices import Device
from oracle.snapshots.kubernetes.objects import (
    BatchJob,
    JobSet,
    LeaderWorkerSet,
    Metadata,
    PodGroup,
    PodSpec,
    VolcanoJob,
    Workload,
)
from oracle.snapshots.kubernetes.pods import GpuPod, Use
from oracle.snapshots.kubernetes.topology import KUEUE_TOPOLOGY
from oracle.snapshots.model import MAX_COUNT, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oracle.snapshots.kubernetes.devices import KubernetesOptions
    from oracle.snapshots.kubernetes.items import Item, Place
    from oracle.snapshots.kubernetes.ledger import Ledger
    from oracle.snapshots.kubernetes.objects import Condition, PodTemplate

KUEUE_LABEL = "kueue.x-k8s.io/queue-name"
VOLCANO_JOB = "volcano.sh/job-name"

# Labels or annotations of pods that name what has made them, or the group that they are queued in.
_NAMING = (
    "scheduling.k8s.io/group-name",
    VOLCANO_JOB,
    "kueue.x-k8s.io/pod-group-name",
    "leaderworkerset.sigs.k8s.io/name",
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "batch.kubernetes.io/job-name",
    "job-name",
)

# Each group of a LeaderWorkerSet is a job; more than these are no cluster's.
_MOST_GROUPS = 1024

_KUEUE = "Kueue: add workloads.kueue.x-k8s.io to what kubectl prints"
_VOLCANO = "Volcano: add podgroups.scheduling.volcano.sh to what kubectl prints"


@dataclass(slots=True)
class Queues:
    """What queues hold. `groups` has the least number of pods that each pod group starts with."""

    asked: list[tuple[str, GpuPod]] = field(default_factory=list[tuple[str, GpuPod]])
    groups: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    seen: set[str] = field(default_factory=set[str])
    traces: set[str] = field(default_factory=set[str])
    unclear: list[tuple[str, frozenset[str], str]] = field(default_factory=list[tuple[str, frozenset[str], str]])

    def note_traces(self, metadata: Metadata | None, spec: PodSpec | None) -> None:
        """Note which queues an object is managed by."""
        labels = (metadata.labels if metadata else None) or {}
        annotations = (metadata.annotations if metadata else None) or {}
        gates = (spec.scheduling_gates if spec else None) or ()
        if KUEUE_LABEL in labels or any(gate.name.startswith("kueue.x-k8s.io/") for gate in gates):
            self.traces.add(_KUEUE)
        if VOLCANO_JOB in labels or VOLCANO_JOB in annotations:  # the pods of these are made late
            self.traces.add(_VOLCANO)

    def add(self, item: Item, options: KubernetesOptions, ledger: Ledger) -> bool:
        """Read an object if it is one of a queue; return whether it is."""
        kind, _, rest = item.kind.partition(" (")
        group = rest.partition("/")[0]
        read = _READERS.get((kind, group))
        if read is None:
            return False
        read(self, item, options, ledger)
        return True

    def waiting(self, pods: Iterable[GpuPod], ledger: Ledger) -> list[GpuPod]:
        """Return what waits without pods: demand of which a pod is there, running or waiting, is told by the pods."""
        present = {pod.namespace + "/" + name for pod in pods for name in _names(pod)}
        found: list[GpuPod] = []
        told: dict[str, str] = {}
        # A workload comes first: it is what the queue holds, and the job that it stands for may be there as well.
        for source, pod in sorted(self.asked, key=lambda one: one[0] != "Workload"):
            name = f"{pod.namespace}/{pod.made_for}"
            if name not in present and told.setdefault(name, source) == source:
                found.append(pod)
        for name, names, words in self.unclear:
            if names.isdisjoint(present | told.keys()):
                ledger.add(why.QUEUED_UNCLEAR, f"{name}: {words}")
        for trace in sorted(self.traces - self.seen):
            ledger.add(why.QUEUE_NOT_VISIBLE, trace)
        return found


def _names(pod: GpuPod) -> set[str]:
    labels, annotations = pod.metadata.labels or {}, pod.metadata.annotations or {}
    names = {labels.get(key) or annotations.get(key) for key in _NAMING} | {pod.own_name}
    names |= {owner.name for owner in pod.metadata.owner_references or ()}
    return {name for name in names if name}


def _named(place: Place, metadata: Metadata | None) -> tuple[str, str, Metadata]:
    if metadata is None or not metadata.name:
        raise place.error("metadata.name", "missing; every object has a name")
    return metadata.namespace or "default", metadata.name, metadata


def _add_workload(queues: Queues, item: Item, options: KubernetesOptions, ledger: Ledger) -> None:
    workload = item.decode(Workload)
    namespace, name, metadata = _named(item.place, workload.metadata)
    queues.seen.add(_KUEUE)
    conditions = (workload.status.conditions if workload.status else None) or []
    if any(_is(conditions, type_, "True") for type_ in ("Finished", "Admitted", "QuotaReserved")):
        return
    if workload.spec is None or workload.spec.active is False:
        ledger.add(why.QUEUED_HELD, f"{namespace}/{name}")
        return
    # Workloads are named after their job, with a hash behind; the owner has the name that people know.
    owner = next((one.name for one in metadata.owner_references or () if one.name), None)
    reason = next((c.message for c in conditions if c.type == "QuotaReserved" and c.message), None)
    for n, pods in enumerate(workload.spec.pod_sets or ()):
        place = item.place.at(f"spec.podSets[{n}]")
        count = _count(place, "count", pods.count)
        pod = _asked(place, (namespace, owner or name), pods.template, count, options)
        if pod is not None:
            words = reason or f"Kueue has no room for workload {name}"
            request = pods.topology_request
            if request is not None and request.required:
                pod = pod.annotated(KUEUE_TOPOLOGY, request.required)
            queues.asked.append(("Workload", _with(pod, reason=words, priority=workload.spec.priority)))


def _add_job(queues: Queues, item: Item, options: KubernetesOptions, ledger: Ledger) -> None:
    job = item.decode(BatchJob)
    namespace, name, metadata = _named(item.place, job.metadata)
    queues.note_traces(metadata, None)
    if job.spec is None or not job.spec.suspend:
        return
    count = _count(item.place, "spec.parallelism", job.spec.parallelism)
    if job.spec.completions is not None:
        count = min(count, _count(item.place, "spec.completions", job.spec.completions))
    pod = _asked(item.place.at("spec"), (namespace, name), job.spec.template, count, options)
    if pod is None:
        return
    if KUEUE_LABEL in (metadata.labels or {}):
        queues.asked.append(("Job", _with(pod, reason=f"suspended in queue {(metadata.labels or {})[KUEUE_LABEL]}")))
    else:
        ledger.add(why.QUEUED_HELD, f"{namespace}/{name}")


def _add_job_set(queues: Queues, item: Item, options: KubernetesOptions, ledger: Ledger) -> None:
    found = item.decode(JobSet)
    namespace, name, metadata = _named(item.place, found.metadata)
    queues.note_traces(metadata, None)
    if found.spec is None or not found.spec.suspend:
        return
    queue = (metadata.labels or {}).get(KUEUE_LABEL)
    for n, jobs in enumerate(found.spec.replicated_jobs or ()):
        place = item.place.at(f"spec.replicatedJobs[{n}]")
        spec = jobs.template.spec if jobs.template else None
        count = _count(place, "replicas", jobs.replicas)
        count *= _count(place, "template.spec.parallelism", spec.parallelism if spec else None)
        pod = _asked(place, (namespace, name), spec.template if spec else None, min(count, MAX_COUNT), options)
        if pod is not None and queue:
            queues.asked.append(("JobSet", _with(pod, reason=f"suspended in queue {queue}")))
        elif pod is not None:
            ledger.add(why.QUEUED_HELD, f"{namespace}/{name}")
            return


def _add_volcano_job(queues: Queues, item: Item, options: KubernetesOptions, _: Ledger) -> None:
    job = item.decode(VolcanoJob)
    namespace, name, _metadata = _named(item.place, job.metadata)
    queues.seen.add(_VOLCANO)
    state = job.status.state if job.status else None
    if state is not None and state.phase not in {None, "", "Pending"}:
        return
    for n, task in enumerate((job.spec.tasks if job.spec else None) or ()):
        place = item.place.at(f"spec.tasks[{n}]")
        count = _count(place, "replicas", task.replicas)
        pod = _asked(place, (namespace, name), task.template, count, options)
        if pod is not None:
            queues.asked.append(("Volcano job", _with(pod, reason="Volcano has made no pods yet")))


def _add_leader_worker_set(queues: Queues, item: Item, options: KubernetesOptions, _: Ledger) -> None:
    found = item.decode(LeaderWorkerSet)
    namespace, name, metadata = _named(item.place, found.metadata)
    queues.note_traces(metadata, None)
    template = found.spec.leader_worker_template if found.spec else None
    if found.spec is None or template is None:
        return
    replicas = _count(item.place, "spec.replicas", found.spec.replicas)
    size = _count(item.place, "spec.leaderWorkerTemplate.size", template.size)
    place = item.place.at("spec.leaderWorkerTemplate")
    leader = template.leader_template or template.worker_template
    # Each group starts as one, and is a job of its own.
    for group in range(min(replicas, _MOST_GROUPS)):
        for role, count in ((leader, 1), (template.worker_template, size - 1)):
            pod = _asked(place, (namespace, name), role, count, options) if count > 0 else None
            if pod is not None:
                queues.asked.append(("LeaderWorkerSet", _with(pod, part=f"-{group}", reason="no pod is there yet")))
    if replicas > _MOST_GROUPS:
        whole = f"{namespace}/{name}"
        queues.unclear.append((whole, frozenset({whole}), f"{replicas} groups"))


def _add_pod_group(queues: Queues, item: Item, options: KubernetesOptions, _: Ledger) -> None:
    group = item.decode(PodGroup)
    namespace, name, metadata = _named(item.place, group.metadata)
    queues.seen.add(_VOLCANO)
    if group.spec is None:
        return
    least = _count(item.place, "spec.minMember", group.spec.min_member)
    queues.groups[namespace, name] = least
    if group.status is not None and group.status.phase not in {None, "Pending", "Inqueue"}:
        return
    needs = group.spec.min_resources or {}
    place = item.place.at("spec.minResources")
    gpus = {key: whole_number(place, f'["{key}"]', needs.get(key)) for key in options.resources if key in needs}
    if sum(gpus.values()):
        # How they are divided among its pods stands in whatever makes these.
        names = {name, *(owner.name for owner in metadata.owner_references or () if owner.name)}
        whole = frozenset(f"{namespace}/{one}" for one in names)
        queues.unclear.append((f"{namespace}/{name}", whole, f"{sum(gpus.values())} GPUs for at least {least} pods"))


def _is(conditions: Iterable[Condition], type_: str, status: str) -> bool:
    return any(condition.type == type_ and condition.status == status for condition in conditions)


def _count(place: Place, path: str, value: int | None) -> int:
    if value is None:
        return 1
    if not 0 <= value <= MAX_COUNT:
        raise place.error(path, f"expected a number of at least 0, got {shown(value)}")
    return value


def _asked(
    place: Place, called: tuple[str, str], template: PodTemplate | None, count: int, options: KubernetesOptions
) -> GpuPod | None:
    """Return so many pods of a template as one that stands for all; None if they ask for no whole GPU."""
    spec = template.spec if template else None
    if template is None or spec is None or not count:
        return None
    demands = read_demands(place.at("template"), spec, options)
    if set(demands) != {Device.WHOLE} or len(demands[Device.WHOLE]) != 1:
        return None
    metadata = template.metadata or Metadata()
    namespace, name = called
    return GpuPod(
        place=place.at("template"),
        namespace=namespace,
        own_name=f"{name} {place.path}",
        node=None,
        use=Use.WHOLE,
        gpus=demands[Device.WHOLE],
        shared={},
        metadata=metadata,
        spec=spec,
        further=read_further(place.at("template"), spec, options),
        copies=count,
        made_for=name,
    )


def _with(pod: GpuPod, *, reason: str, part: str = "", priority: int | None = None) -> GpuPod:
    return pod.changed(reason=reason, part=part, priority=priority)


_READERS: dict[tuple[str, str], Callable[[Queues, Item, KubernetesOptions, Ledger], None]] = {
    ("Workload", "kueue.x-k8s.io"): _add_workload,
    ("Job", "batch"): _add_job,
    ("JobSet", "jobset.x-k8s.io"): _add_job_set,
    ("Job", "batch.volcano.sh"): _add_volcano_job,
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io"): _add_leader_worker_set,
    ("PodGroup", "scheduling.volcano.sh"): _add_pod_group,
    ("PodGroup", "scheduling.x-k8s.io"): _add_pod_group,
}
