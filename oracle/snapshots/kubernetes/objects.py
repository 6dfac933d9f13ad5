"""The parts of Kubernetes objects that the reader needs, as msgspec structs; every other field is skipped unread.

The API server omits empty fields, but objects that went through Go code or other tools carry ``null`` in their place,
so that every field may be absent or ``null``. What must not be missing is asked for where it is needed, with a message
that says what for.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

# Quantities are strings on the wire; YAML written by hand has plain numbers.
Quantities: TypeAlias = dict[str, int | float | str | None]


# gc=False: a decoded object never refers back to itself, and a large cluster has millions of them.
class KubernetesObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all structs here: immutable, with the API's camel-case names."""


class OwnerReference(KubernetesObject, frozen=True):
    """What owns an object; at most one of the owners is its controller."""

    kind: str | None = None
    name: str | None = None
    controller: bool | None = None


class Metadata(KubernetesObject, frozen=True):
    """The part that all kinds of objects have in common."""

    name: str | None = None
    namespace: str | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    owner_references: list[OwnerReference] | None = None
    deletion_timestamp: str | None = None


class Taint(KubernetesObject, frozen=True):
    """A mark on a node that keeps off pods without a matching toleration."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class Toleration(KubernetesObject, frozen=True):
    """A pod's leave to ignore the taints it matches. No key: any; no effect: any."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSpec(KubernetesObject, frozen=True):
    """What administrators want of a node."""

    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class Condition(KubernetesObject, frozen=True):
    """One condition of a node, a pod or a workload, such as Ready."""

    type: str = ""
    status: str = ""
    message: str | None = None


class NodeStatus(KubernetesObject, frozen=True):
    """What the kubelet reports of a node."""

    allocatable: Quantities | None = None
    capacity: Quantities | None = None
    conditions: list[Condition] | None = None


class Node(KubernetesObject, frozen=True):
    """A node. Without a spec it is neither cordoned nor tainted."""

    metadata: Metadata | None = None
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class TracesOnNodeStatus(KubernetesObject, frozen=True):
    """What pods leave on a node: the images they were made from, and the volumes they use."""

    images: list[object] | None = None
    volumes_in_use: list[object] | None = None


class TracesOnNode(KubernetesObject, frozen=True):
    """A node, asked whether pods have run on it; only where an input has none is it read so."""

    metadata: Metadata | None = None
    status: TracesOnNodeStatus | None = None


class Requirement(KubernetesObject, frozen=True):
    """One condition on a node's labels."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeSelectorTerm(KubernetesObject, frozen=True):
    """Requirements that must all hold."""

    match_expressions: list[Requirement] | None = None
    match_fields: list[Requirement] | None = None


class NodeSelector(KubernetesObject, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(KubernetesObject, frozen=True):
    """The nodes a pod may be put on; of preferences it is told only that there are some."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[object] | None = None


class LabelSelector(KubernetesObject, frozen=True):
    """A selector of pods; all of it must hold."""

    match_labels: dict[str, str | None] | None = None
    match_expressions: list[Requirement] | None = None


class PodAffinityTerm(KubernetesObject, frozen=True):
    """Pods near which, or away from which, a pod has to be; nearness is a node label of one value."""

    label_selector: LabelSelector | None = None
    topology_key: str | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None


class PodAffinity(KubernetesObject, frozen=True):
    """What a pod requires of the pods near it."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[object] | None = None


class Affinity(KubernetesObject, frozen=True):
    """The affinity of a pod to nodes and to other pods."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class ResourceRequirements(KubernetesObject, frozen=True):
    """What a container asks for. For devices the API demands limits equal to requests."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class Container(KubernetesObject, frozen=True):
    """A container; `restart_policy` is set on sidecars among the init containers only."""

    resources: ResourceRequirements | None = None
    restart_policy: str | None = None


class ResourceClaim(KubernetesObject, frozen=True):
    """A claim to devices that are handed out dynamically; which ones stands in other objects."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGate(KubernetesObject, frozen=True):
    """A reason for which the scheduler does not look at the pod yet; whoever put it there takes it away."""

    name: str = ""


class SpreadConstraint(KubernetesObject, frozen=True):
    """How evenly pods are to be spread over nodes of one label."""

    when_unsatisfiable: str | None = None


class Volume(KubernetesObject, frozen=True):
    """A volume of a pod. Where the claim is one, its volume may be of one node or zone."""

    persistent_volume_claim: object = None


class PodSpec(KubernetesObject, frozen=True):
    """What a pod asks for, and the node it is bound to."""

    node_name: str | None = None
    node_selector: dict[str, str | None] | None = None
    affinity: Affinity | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    tolerations: list[Toleration] | None = None
    resource_claims: list[ResourceClaim] | None = None
    scheduling_gates: list[SchedulingGate] | None = None
    topology_spread_constraints: list[SpreadConstraint] | None = None
    volumes: list[Volume] | None = None
    overhead: Quantities | None = None
    resources: ResourceRequirements | None = None
    priority: int | None = None
    priority_class_name: str | None = None


class PodStatus(KubernetesObject, frozen=True):
    """How far a pod has come."""

    phase: str | None = None
    conditions: list[Condition] | None = None
    resource_claim_statuses: list[ResourceClaim] | None = None


class Pod(KubernetesObject, frozen=True):
    """A pod."""

    metadata: Metadata | None = None
    spec: PodSpec | None = None
    status: PodStatus | None = None


class PriorityClass(KubernetesObject, frozen=True):
    """A name for a priority."""

    metadata: Metadata | None = None
    value: int | None = None


class BudgetSpec(KubernetesObject, frozen=True):
    """Which pods a disruption budget counts."""

    selector: LabelSelector | None = None


class BudgetStatus(KubernetesObject, frozen=True):
    """How many of them may be evicted now."""

    disruptions_allowed: int | None = None


class DisruptionBudget(KubernetesObject, frozen=True):
    """A PodDisruptionBudget."""

    metadata: Metadata | None = None
    spec: BudgetSpec | None = None
    status: BudgetStatus | None = None


class PodTemplate(KubernetesObject, frozen=True):
    """Pods that a controller makes."""

    metadata: Metadata | None = None
    spec: PodSpec | None = None


class TopologyRequest(KubernetesObject, frozen=True):
    """Near one another in which domain the pods of a set have to be: a node label."""

    required: str | None = None


class PodSet(KubernetesObject, frozen=True):
    """So many pods of one template, in a Kueue Workload."""

    name: str | None = None
    count: int | None = None
    template: PodTemplate | None = None
    topology_request: TopologyRequest | None = None


class WorkloadSpec(KubernetesObject, frozen=True):
    """What a workload asks for."""

    pod_sets: list[PodSet] | None = None
    priority: int | None = None
    active: bool | None = None
    queue_name: str | None = None


class WorkloadStatus(KubernetesObject, frozen=True):
    """How far a workload has come."""

    conditions: list[Condition] | None = None


class Workload(KubernetesObject, frozen=True):
    """What Kueue queues."""

    metadata: Metadata | None = None
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None


class BatchJobSpec(KubernetesObject, frozen=True):
    """What a Job is to do."""

    suspend: bool | None = None
    parallelism: int | None = None
    completions: int | None = None
    template: PodTemplate | None = None


class BatchJob(KubernetesObject, frozen=True):
    """A Job."""

    metadata: Metadata | None = None
    spec: BatchJobSpec | None = None


class ReplicatedJob(KubernetesObject, frozen=True):
    """So many Jobs of one template, in a JobSet."""

    name: str | None = None
    replicas: int | None = None
    template: BatchJob | None = None


class JobSetSpec(KubernetesObject, frozen=True):
    """The Jobs of a set."""

    suspend: bool | None = None
    replicated_jobs: list[ReplicatedJob] | None = None


class JobSet(KubernetesObject, frozen=True):
    """A JobSet."""

    metadata: Metadata | None = None
    spec: JobSetSpec | None = None


class VolcanoTask(KubernetesObject, frozen=True):
    """So many pods of one template, in a job of Volcano."""

    replicas: int | None = None
    template: PodTemplate | None = None


class VolcanoJobSpec(KubernetesObject, frozen=True):
    """The pods of a job of Volcano."""

    tasks: list[VolcanoTask] | None = None


class VolcanoJobState(KubernetesObject, frozen=True):
    """How far a job of Volcano has come."""

    phase: str | None = None


class VolcanoJobStatus(KubernetesObject, frozen=True):
    """The same."""

    state: VolcanoJobState | None = None


class VolcanoJob(KubernetesObject, frozen=True):
    """A job of Volcano, which makes its pods when there is room."""

    metadata: Metadata | None = None
    spec: VolcanoJobSpec | None = None
    status: VolcanoJobStatus | None = None


class LeaderWorkerTemplate(KubernetesObject, frozen=True):
    """The pods of one group: a leader, and workers to make up the size."""

    leader_template: PodTemplate | None = None
    worker_template: PodTemplate | None = None
    size: int | None = None


class LeaderWorkerSetSpec(KubernetesObject, frozen=True):
    """So many groups."""

    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate | None = None


class LeaderWorkerSet(KubernetesObject, frozen=True):
    """A LeaderWorkerSet."""

    metadata: Metadata | None = None
    spec: LeaderWorkerSetSpec | None = None


class PodGroupSpec(KubernetesObject, frozen=True):
    """How many pods of a group start together, and what they need."""

    min_member: int | None = None
    min_resources: Quantities | None = None


class PodGroupStatus(KubernetesObject, frozen=True):
    """How far a group has come."""

    phase: str | None = None


class PodGroup(KubernetesObject, frozen=True):
    """A PodGroup of a gang scheduler."""

    metadata: Metadata | None = None
    spec: PodGroupSpec | None = None
    status: PodGroupStatus | None = None


class Attribute(KubernetesObject, frozen=True):
    """One attribute of a device; those of other types are of no use here."""

    string: str | None = None


class BasicDevice(KubernetesObject, frozen=True):
    """A device as v1beta1 has it."""

    attributes: dict[str, Attribute] | None = None
    consumes_counters: list[object] | None = None


class SliceDevice(KubernetesObject, frozen=True):
    """A device of a slice."""

    name: str | None = None
    basic: BasicDevice | None = None
    attributes: dict[str, Attribute] | None = None
    consumes_counters: list[object] | None = None
    allow_multiple_allocations: bool | None = None


class SlicePool(KubernetesObject, frozen=True):
    """The pool of devices that a slice is a part of; of several generations the newest counts."""

    name: str | None = None
    generation: int | None = None
    resource_slice_count: int | None = None


class ResourceSliceSpec(KubernetesObject, frozen=True):
    """Devices of one driver."""

    driver: str | None = None
    node_name: str | None = None
    pool: SlicePool | None = None
    devices: list[SliceDevice] | None = None


class ResourceSlice(KubernetesObject, frozen=True):
    """What a driver offers."""

    metadata: Metadata | None = None
    spec: ResourceSliceSpec | None = None


class DeviceRequest(KubernetesObject, frozen=True):
    """Devices of one class; `exactly` and `first_available` are what v1 and v1beta2 have in place of the rest."""

    device_class_name: str | None = None
    count: int | None = None
    allocation_mode: str | None = None
    selectors: list[object] | None = None
    first_available: list[object] | None = None
    exactly: DeviceRequest | None = None


class DeviceClaim(KubernetesObject, frozen=True):
    """What a claim asks for."""

    requests: list[DeviceRequest] | None = None


class ClaimSpec(KubernetesObject, frozen=True):
    """The spec of a claim; a template has one inside its own."""

    devices: DeviceClaim | None = None
    spec: ClaimSpec | None = None


class AllocatedDevice(KubernetesObject, frozen=True):
    """A device that a claim has."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    admin_access: bool | None = None


class AllocatedDevices(KubernetesObject, frozen=True):
    """The devices that a claim has."""

    results: list[AllocatedDevice] | None = None


class Allocation(KubernetesObject, frozen=True):
    """What a claim has got."""

    devices: AllocatedDevices | None = None


class ClaimStatus(KubernetesObject, frozen=True):
    """How far a claim has come."""

    allocation: Allocation | None = None


class ResourceClaimObject(KubernetesObject, frozen=True):
    """A ResourceClaim or a template of one."""

    metadata: Metadata | None = None
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None
