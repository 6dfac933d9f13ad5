"""Pods: which of them hold or wait for GPUs, what kind of GPUs, and which may be moved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

import msgspec

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.demand import other_devices_of, read_demands, read_further
from oracle.snapshots.kubernetes.devices import MIG_PREFIX, Device
from oracle.snapshots.model import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.snapshots.kubernetes.devices import KubernetesOptions
    from oracle.snapshots.kubernetes.items import Place
    from oracle.snapshots.kubernetes.ledger import Ledger
    from oracle.snapshots.kubernetes.objects import Metadata, OwnerReference, Pod, PodSpec, Requirement, Toleration

GPU_FRACTION = "gpu-fraction"
GPU_MEMORY = "gpu-memory"
GPU_INDEX = "runai-gpu"

HOSTNAME = "kubernetes.io/hostname"
_NODE_NAME_FIELD = "metadata.name"
_MIRROR = "kubernetes.io/config.mirror"
_DEFAULT_NAMESPACE = "default"

_RESERVATION_NAMES = frozenset({"runai-reservation", "kai-resource-reservation"})
_RESERVATION_LABEL = "app.runai.resource.reservation"

_FINISHED = frozenset({"Succeeded", "Failed"})
_PENDING = "Pending"
_PHASES = frozenset({_PENDING, "Running", "Unknown"}) | _FINISHED

# Gates that a queue takes away as soon as there is room.
_QUEUE_GATES = frozenset({"kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"})

# Annotations that ask everyone to leave the pod where it is.
_STAY = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "karpenter.sh/do-not-disrupt": "true",
    "karpenter.sh/do-not-evict": "true",
}


class Use(Enum):
    """In which way a pod uses GPUs."""

    WHOLE = auto()
    SHARED = auto()
    RESERVATION = auto()
    MIG = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPod:
    """A pod that holds GPUs (`node` is set) or waits for some.

    `gpus` counts whole GPUs by resource key, `shared` the units of resources by which GPUs are shared, `further` what
    else it asks for. `reason` says why it waits. One that stands for pods which are not there yet has their number in
    `copies`, and in `made_for` the name of what would make them.
    """

    place: Place
    namespace: str
    own_name: str
    node: str | None
    use: Use
    gpus: Mapping[str, int]
    shared: Mapping[str, int]
    metadata: Metadata
    spec: PodSpec
    further: Mapping[str, int] = field(default_factory=dict[str, int])
    copies: int = 1
    made_for: str | None = None
    part: str = ""
    reason: str | None = None
    priority: int | None = None

    def changed(self, *, reason: str | None, part: str = "", priority: int | None = None) -> GpuPod:
        """Return the pod with why it waits, of which part of its job it is, and the priority that its queue has."""
        return replace(self, reason=reason, part=part, priority=priority)

    def annotated(self, key: str, value: str) -> GpuPod:
        """Return the pod with one annotation more."""
        annotations = {**(self.metadata.annotations or {}), key: value}
        return replace(self, metadata=msgspec.structs.replace(self.metadata, annotations=annotations))

    @property
    def name(self) -> str:
        """The name that is unique in the cluster."""
        return f"{self.namespace}/{self.own_name}"

    @property
    def demand(self) -> int:
        """Whole GPUs of all kinds together."""
        return sum(self.gpus.values())

    @property
    def controller(self) -> OwnerReference | None:
        """The object that would make the pod anew, None for a bare or static pod."""
        owners = self.metadata.owner_references or []
        return next((owner for owner in owners if owner.controller and owner.kind != "Node"), None)

    @property
    def is_bound_to_node(self) -> bool:
        """Whether the pod belongs to its node: daemons and static pods, which tolerate all and go nowhere."""
        owner = self.controller
        is_static = _MIRROR in (self.metadata.annotations or {})
        is_static |= any(owner.kind == "Node" for owner in self.metadata.owner_references or ())
        return is_static or (owner is not None and owner.kind == "DaemonSet")

    @property
    def is_movable(self) -> bool:
        """Whether the pod may be evicted and will come back elsewhere.

        Not if it is tied to its node, asks to be left alone, is being deleted, or has no controller to replace it.
        """
        annotations = self.metadata.annotations or {}
        return not (
            self.is_bound_to_node
            or self.controller is None
            or self.metadata.deletion_timestamp is not None
            or any(annotations.get(key) == value for key, value in _STAY.items())
            or required_value(self.spec, HOSTNAME) is not None
            or _is_pinned_by_field(self.spec)
        )


def full_name(place: Place, metadata: Metadata | None) -> tuple[str, str]:
    """Return namespace and name of a pod.

    Raises
    ------
    SnapshotError
        It has no name: whatever it holds could not be told from what others hold.
    """
    if metadata is None or not metadata.name:
        raise place.error("metadata.name", "missing; every pod has a name")
    return metadata.namespace or _DEFAULT_NAMESPACE, metadata.name


def read_pod(
    place: Place, pod: Pod, options: KubernetesOptions, ledger: Ledger, claimed: Mapping[str, int] | None = None
) -> GpuPod | None:
    """Return the pod if it uses GPUs or waits for them; note it in the ledger and return None if not.

    `claimed` are the devices that its claims have or ask for, by driver.

    Raises
    ------
    SnapshotError
        No name, a phase Kubernetes does not have, a demand that is no whole number, or a pod that runs nowhere.
    """
    namespace, own_name = full_name(place, pod.metadata)
    name, metadata = f"{namespace}/{own_name}", pod.metadata
    phase = _phase(place, pod)
    if phase in _FINISHED:
        ledger.add(why.PODS_FINISHED, name)
        return None
    if pod.spec is None or metadata is None:
        ledger.add(why.PODS_WITHOUT_SPEC, name)
        return None
    demands = read_demands(place, pod.spec, options)
    if claimed and Device.WHOLE not in demands:  # else the claims stand for what the containers ask for
        demands[Device.WHOLE] = dict(claimed)
    use = _use(namespace, metadata, demands)
    if use is None:
        is_listed = bool(pod.spec.resource_claims) and claimed is None
        _note_unused(name, pod.spec, demands, options, ledger, is_listed=is_listed)
        return None
    node = pod.spec.node_name or None
    if node is None and phase != _PENDING:
        raise place.error("spec.nodeName", f"missing; expected the node that pod {name} is on, its phase is {phase}")
    if node is None and metadata.deletion_timestamp is not None:
        ledger.add(why.PODS_LEAVING, name)
        return None
    gates = [gate.name for gate in pod.spec.scheduling_gates or ()] if node is None else []
    if not set(gates) <= _QUEUE_GATES:
        ledger.add(why.PODS_GATED, name)
        return None
    return GpuPod(
        place=place,
        namespace=namespace,
        own_name=own_name,
        node=node,
        use=use,
        gpus=demands.get(Device.WHOLE, {}),
        shared=demands.get(Device.SHARED, {}),
        metadata=metadata,
        spec=pod.spec,
        further=read_further(place, pod.spec, options),
        reason=None if node is not None else _why_waiting(pod, gates),
        priority=pod.spec.priority,
    )


def _why_waiting(pod: Pod, gates: Sequence[str]) -> str | None:
    if gates:
        return f"gate {', '.join(sorted(gates))}"
    conditions = (pod.status.conditions if pod.status else None) or ()
    return next((c.message for c in conditions if c.type == "PodScheduled" and c.status == "False" and c.message), None)


def _note_unused(
    name: str,
    spec: PodSpec,
    demands: Mapping[Device, Mapping[str, int]],
    options: KubernetesOptions,
    ledger: Ledger,
    *,
    is_listed: bool,
) -> None:
    if uncounted := demands.get(Device.UNCOUNTED):
        ledger.add(why.PODS_UNCOUNTED, f"{name}: {', '.join(sorted(uncounted))}")
    elif others := other_devices_of(spec, options):
        ledger.add(why.PODS_OTHER_DEVICES, f"{name}: {', '.join(others)}")
    elif not is_listed:
        ledger.add(why.PODS_WITHOUT_GPUS, name)


def is_finished(pod: Pod) -> bool:
    """Return whether a pod has ended, and holds nothing."""
    return (pod.status.phase if pod.status else None) in _FINISHED


def selected_labels(spec: PodSpec) -> set[str]:
    """Return the node labels that a pod's required selectors name."""
    named = {requirement.key for expressions, _ in _terms(spec) for requirement in expressions}
    return named | set(spec.node_selector or ())


def required_value(spec: PodSpec, label: str) -> str | None:
    """Return the one value of a node label that the pod insists on, None if there is no such value.

    The terms of a node affinity are alternatives, so that all of them must demand the same value.
    """
    if value := (spec.node_selector or {}).get(label):
        return value
    found = [_only_value(expressions, label) for expressions, _ in _terms(spec)]
    return found[0] if found and all(value == found[0] for value in found) else None


def tolerates(tolerations: Iterable[Toleration], key: str, value: str, effect: str) -> bool:
    """Return whether one of the tolerations matches the taint."""
    return any(_matches(toleration, key, value, effect) for toleration in tolerations)


def _matches(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == key
    return toleration.operator in {None, "", "Equal"} and (toleration.key, toleration.value or "") == (key, value)


def _phase(place: Place, pod: Pod) -> str:
    # The API server sets the phase of every pod to Pending; a pod that never met one has none.
    phase = (pod.status.phase if pod.status else None) or _PENDING
    if phase not in _PHASES:
        raise place.error("status.phase", f"expected one of {', '.join(sorted(_PHASES))}, got {shown(phase)}")
    return phase


def _use(namespace: str, metadata: Metadata, demands: Mapping[Device, Mapping[str, int]]) -> Use | None:
    annotations, labels = metadata.annotations or {}, metadata.labels or {}
    if Device.WHOLE in demands:
        is_reservation = namespace in _RESERVATION_NAMES or _RESERVATION_LABEL in labels
        if is_reservation or labels.get("app") in _RESERVATION_NAMES:
            return Use.RESERVATION
        return Use.SHARED if Device.SHARED in demands else Use.WHOLE
    if Device.SHARED in demands or GPU_FRACTION in annotations or GPU_MEMORY in annotations:
        return Use.SHARED
    # Run:ai hands out MIG devices by annotation, past the resources of the pod.
    if Device.MIG in demands or any(key.startswith(MIG_PREFIX) for key in annotations):
        return Use.MIG
    return None


def _is_pinned_by_field(spec: PodSpec) -> bool:
    terms = _terms(spec)
    return bool(terms) and all(_only_value(fields, _NODE_NAME_FIELD) is not None for _, fields in terms)


def _terms(spec: PodSpec) -> list[tuple[list[Requirement], list[Requirement]]]:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    terms = (required.node_selector_terms if required else None) or []
    return [(term.match_expressions or [], term.match_fields or []) for term in terms]


def _only_value(requirements: Iterable[Requirement], key: str) -> str | None:
    for requirement in requirements:
        if (requirement.key, requirement.operator) == (key, "In") and len(requirement.values or ()) == 1:
            return (requirement.values or [""])[0]
    return None
