"""Nodes: what they offer, whether anything may be put on them, and which of them offer no whole GPUs at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.demand import further_of_node, whole_number
from oracle.snapshots.kubernetes.devices import NVIDIA, NVIDIA_SHARED, Device, device_of, other_devices
from oracle.snapshots.model import MAX_GPUS_PER_NODE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.snapshots.kubernetes.devices import KubernetesOptions
    from oracle.snapshots.kubernetes.items import Place
    from oracle.snapshots.kubernetes.objects import Metadata, Node, NodeStatus, Quantities, Taint

_PRODUCT = "nvidia.com/gpu.product"
_REPLICAS = "nvidia.com/gpu.replicas"
_STRATEGY = "nvidia.com/gpu.sharing-strategy"
_MEMORY = "nvidia.com/gpu.memory"
_GKE_STRATEGY = "cloud.google.com/gke-gpu-sharing-strategy"
_GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
_HAMI_NODE = "hami.io/node-nvidia-register"
_MIG_STRATEGY = "nvidia.com/mig.strategy"
_MIG_CONFIG = "nvidia.com/mig.config"
_MIG_OFF = "all-disabled"
_MIG_PRODUCT = re.compile(r"-MIG-(?:[0-9]|INVALID)")
_SHARED_SUFFIX = "-SHARED"

_KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})

# Taints by which the control plane, a cloud or an autoscaler takes a node out of service. Pods do tolerate some of
# them, for a while, so as not to be evicted at the first hiccup; that does not make the node fit for new ones.
_OUT_OF_SERVICE = (
    "node.kubernetes.io/",
    "node.alpha.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "karpenter.sh/unregistered",
)


# Why a node without whole GPUs is left out, by what it has; the first counts.
_WITHOUT_WHOLE = (
    (Device.MIG, why.NODES_MIG),
    (Device.SHARED, why.NODES_SHARED),
    (Device.UNCOUNTED, why.NODES_UNCOUNTED),
)


class Standing(Enum):
    """What a node is to the snapshot."""

    WHOLE = auto()  # offers whole GPUs, or would if its device plugin were up
    NONE = auto()  # offers none; comes in with 0 GPUs if a pod holds some on it all the same
    DIVIDED = auto()  # what it offers are parts of GPUs: left out together with its pods


@dataclass(frozen=True, slots=True)
class TaintKey:
    """A taint that keeps pods off, in a form that can be compared."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A node of the input.

    `reason` and `detail` say why the node is left out, should it be. `offered` has an entry for each counted resource
    the node knows, 0 if it offers none at present; `known` are these resources, also of a node that is left out, and
    `built` says how many of them the machine has. `pool_key` is the label that tells its pool,
    `further` what else it has.
    `in_service` is False for nodes that are cordoned, not ready or on their way out. `taints` are those left to judge:
    neither signs of an outage nor the mark of a counted resource.
    """

    place: Place
    name: str
    standing: Standing
    reason: str
    detail: str
    offered: Mapping[str, int]
    known: tuple[str, ...]
    mig: tuple[str, ...]
    in_service: bool
    taints: frozenset[TaintKey]
    pool_label: str | None
    pool_key: str
    labels: Mapping[str, str | None]
    built: tuple[str, ...]
    further: Mapping[str, int]
    domain: str | None
    gpu_memory: str | None


def read_node(place: Place, node: Node, options: KubernetesOptions) -> ClusterNode:
    """Return what the snapshot needs to know of a node.

    Allocatable counts, not capacity: the difference is broken, or reserved for the system. Where a status has no
    allocatable at all, Kubernetes takes the capacity for it, and so do we.

    Raises
    ------
    SnapshotError
        It has no name, or offers a number of GPUs that is no whole number or far too large.
    """
    metadata = node.metadata
    if metadata is None or not metadata.name:
        raise place.error("metadata.name", "missing; every node has a name")
    capacity = (node.status.capacity if node.status else None) or {}
    allocatable, section = (node.status.allocatable if node.status else None), "allocatable"
    if allocatable is None:
        allocatable, section = capacity, "capacity"
    known = [key for key in dict.fromkeys(options.resources) if key in allocatable or key in capacity]
    # A key with nothing behind it is no key: with MIG under names of its own, nvidia.com/gpu stays there with 0.
    counted = [key for key in known if _is_some(allocatable.get(key)) or _is_some(capacity.get(key))]
    labels = metadata.labels or {}
    pool_key = next((key for key in options.pool_labels if key in labels), options.pool_label)
    standing, reason = _standing(metadata, allocatable, counted, options)
    offered = {} if standing is Standing.DIVIDED else _offered(place.at(f"status.{section}"), allocatable, counted)
    return ClusterNode(
        place=place,
        name=metadata.name,
        standing=standing,
        reason=reason,
        detail=", ".join(_devices_of(reason, allocatable, options)),
        offered=offered,
        known=tuple(known),
        mig=_mig_devices(allocatable, options),
        in_service=_in_service(node, metadata),
        taints=_taints_to_judge(node, options),
        pool_label=labels[pool_key] or "" if pool_key in labels else None,
        pool_key=pool_key,
        labels=labels,
        built=tuple(f"{capacity.get(key, allocatable.get(key))} {key}" for key in counted),
        further=further_of_node(place.at(f"status.{section}"), allocatable, options),
        domain=(metadata.labels or {}).get(options.domain_label) or None,
        gpu_memory=(metadata.labels or {}).get(_MEMORY),
    )


def _offered(place: Place, allocatable: Quantities, counted: list[str]) -> dict[str, int]:
    offered = {key: whole_number(place, f'["{key}"]', allocatable.get(key)) for key in counted}
    if sum(offered.values()) > MAX_GPUS_PER_NODE:
        most = max(offered, key=lambda key: offered[key])
        raise place.error(f'["{most}"]', f"expected at most {MAX_GPUS_PER_NODE} GPUs on a node, got {offered[most]}")
    return offered


def _standing(
    metadata: Metadata, allocatable: Quantities, counted: list[str], options: KubernetesOptions
) -> tuple[Standing, str]:
    """Return the standing of a node and, unless it offers whole GPUs, the reason to leave it out."""
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    devices = {device_of(key, options) for key, value in allocatable.items() if _is_some(value)}
    if NVIDIA in counted:
        if _are_slices(labels):
            return Standing.DIVIDED, why.NODES_MIG
        # Who asks for replicas by name (`--resource nvidia.com/gpu.shared`) shall have them counted.
        is_shared = _are_replicas(labels) or _HAMI_NODE in annotations or _is_some(allocatable.get(NVIDIA_SHARED))
        if is_shared and NVIDIA_SHARED not in options.resources:
            return Standing.DIVIDED, why.NODES_SHARED
    if counted:
        return Standing.WHOLE, ""
    reason = next((reason for device, reason in _WITHOUT_WHOLE if device in devices), None)
    if reason is None:
        reason = why.NODES_OTHER_DEVICES if other_devices(allocatable, options) else why.NODES_WITHOUT_GPUS
    return Standing.NONE, reason


def _are_slices(labels: Mapping[str, str | None]) -> bool:
    """Return whether each GPU that is offered is, or may be, a part of one, cut out by MIG.

    With the strategy "single" MIG devices go by the name of whole GPUs. Every node of the cluster has the label of the
    strategy, with MIG or without. The product names the size of the devices, but it is feature discovery that says so,
    and it may lag behind or be off; where MIG is configured at all, nothing there counts as whole.
    """
    if _MIG_PRODUCT.search(labels.get(_PRODUCT) or "") or _GKE_PARTITION in labels:
        return True
    return labels.get(_MIG_STRATEGY) == "single" and (labels.get(_MIG_CONFIG) or _MIG_OFF) != _MIG_OFF


def _are_replicas(labels: Mapping[str, str | None]) -> bool:
    """Return whether the NVIDIA device plugin, or GKE, offers each GPU several times."""
    replicas = labels.get(_REPLICAS) or "1"
    return (
        (labels.get(_STRATEGY) or "none") != "none"
        or (replicas.isdecimal() and replicas.lstrip("0") not in {"", "1"})
        or (labels.get(_PRODUCT) or "").endswith(_SHARED_SUFFIX)
        or bool(labels.get(_GKE_STRATEGY))
    )


def _mig_devices(allocatable: Quantities, options: KubernetesOptions) -> tuple[str, ...]:
    return tuple(
        f"{value} {key}"
        for key, value in sorted(allocatable.items())
        if device_of(key, options) is Device.MIG and _is_some(value)
    )


def _devices_of(reason: str, allocatable: Quantities, options: KubernetesOptions) -> Sequence[str]:
    """Return the devices of a node that is left out for what they are."""
    if reason == why.NODES_MIG:
        return _mig_devices(allocatable, options)
    if reason == why.NODES_UNCOUNTED:
        return _uncounted(allocatable, options)
    return other_devices(allocatable, options) if reason == why.NODES_OTHER_DEVICES else ()


def _uncounted(allocatable: Quantities, options: KubernetesOptions) -> list[str]:
    return sorted(key for key in allocatable if device_of(key, options) is Device.UNCOUNTED)


def _is_some(quantity: float | str | None) -> bool:
    return quantity is not None and str(quantity) != "0"


def _in_service(node: Node, metadata: Metadata) -> bool:
    taints = (node.spec.taints if node.spec else None) or []
    return not (
        (node.spec is not None and node.spec.unschedulable)
        or metadata.deletion_timestamp is not None
        or not _is_ready(node.status)
        or any(taint.effect in _KEEPS_OFF and taint.key.startswith(_OUT_OF_SERVICE) for taint in taints)
    )


def _is_ready(status: NodeStatus | None) -> bool:
    # No Ready condition at all: a trimmed file, not a silent node, whose condition would be "Unknown".
    conditions = (status.conditions if status else None) or []
    return all(condition.status == "True" for condition in conditions if condition.type == "Ready")


def _taints_to_judge(node: Node, options: KubernetesOptions) -> frozenset[TaintKey]:
    taints: list[Taint] = (node.spec.taints if node.spec else None) or []
    return frozenset(
        TaintKey(taint.key, taint.value or "", taint.effect)
        for taint in taints
        # A taint named like the resource marks a GPU node as such; the admission plugin ExtendedResourceToleration
        # gives every pod that asks for the resource the toleration.
        if taint.effect in _KEEPS_OFF
        and taint.key not in options.resources
        and not taint.key.startswith(_OUT_OF_SERVICE)
    )
