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
    """One condition of a node, such as Ready."""

    type: str = ""
    status: str = ""


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
    """The nodes a pod may be put on; preferences are no concern of a snapshot."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class Affinity(KubernetesObject, frozen=True):
    """The node part of a pod's affinity."""

    node_affinity: NodeAffinity | None = None


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


class SchedulingGate(KubernetesObject, frozen=True):
    """A reason for which the scheduler does not look at the pod yet; whoever put it there takes it away."""

    name: str = ""


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


class PodStatus(KubernetesObject, frozen=True):
    """How far a pod has come."""

    phase: str | None = None


class Pod(KubernetesObject, frozen=True):
    """A pod."""

    metadata: Metadata | None = None
    spec: PodSpec | None = None
    status: PodStatus | None = None
