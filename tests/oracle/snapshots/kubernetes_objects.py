"""Kubernetes objects for tests, written down as the API server prints them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from oracle.snapshots.document import Document
from oracle.snapshots.kubernetes import KubernetesOptions, read_kubernetes
from oracle.snapshots.kubernetes import ledger as why

if TYPE_CHECKING:
    from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode

Json: TypeAlias = dict[str, object]

GPU = "nvidia.com/gpu"
PRODUCT = "nvidia.com/gpu.product"
OPTIONS = KubernetesOptions()


def node(
    name: str = "n0",
    gpus: object = 8,
    *,
    key: str = GPU,
    allocatable: Json | None = None,
    capacity: Json | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    taints: list[Json] | None = None,
    ready: str = "True",
    **spec: object,
) -> Json:
    """Return a node; quantities are strings, as on the wire."""
    cpu: Json = {"cpu": "64"}
    offers: Json = {key: str(gpus)} if allocatable is None else allocatable
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
        "spec": {**spec, **({"taints": taints} if taints else {})},
        "status": {
            "allocatable": cpu | offers,
            "capacity": cpu | (offers if capacity is None else capacity),
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}],
        },
    }


def cpu_node(name: str = "cpu0") -> Json:
    """Return a node that knows no GPUs."""
    return node(name, allocatable={})


def container(asked: Json | None = None, *, sidecar: bool = False, section: str = "limits") -> Json:
    """Return a container that asks for devices in its limits, as users write it."""
    result: Json = {"name": "c", "resources": {section: asked} if asked else {}}
    return result | ({"restartPolicy": "Always"} if sidecar else {})


def owned(kind: str, name: str) -> Json:
    """Return the reference to a controller."""
    return {"apiVersion": "v1", "kind": kind, "name": name, "controller": True}


def pod(
    name: str = "p0",
    gpus: object = 1,
    *,
    node: str | None = "n0",
    key: str = GPU,
    phase: str = "",
    namespace: str = "default",
    asked: Json | None = None,
    containers: list[Json] | None = None,
    owner: tuple[str, str] | None = ("ReplicaSet", "web-1"),
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    deleted: bool = False,
    **spec: object,
) -> Json:
    """Return a pod: running where it has a node, else pending."""
    metadata: Json = {
        "name": name,
        "namespace": namespace,
        "labels": labels or {},
        "annotations": annotations or {},
        "ownerReferences": [owned(*owner)] if owner else [],
    }
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    main = [container({key: str(gpus)} if asked is None else asked)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": main if containers is None else containers,
            **({"nodeName": node} if node else {}),
            **spec,
        },
        "status": {"phase": phase or ("Running" if node else "Pending")},
    }


def listing(*items: object, kind: str = "List", name: str = "all.json") -> Document:
    """Return a document as kubectl prints it."""
    return Document(name, json.dumps({"apiVersion": "v1", "kind": kind, "items": [*items]}).encode())


def read(*items: object, options: KubernetesOptions = OPTIONS) -> Snapshot:
    """Return the snapshot of one list of these items."""
    return read_kubernetes([listing(*items)], options)


def only_node(*items: object, options: KubernetesOptions = OPTIONS) -> SnapshotNode:
    """Return the one node of the snapshot."""
    (found,) = read(*items, options=options).nodes
    return found


def only_job(*items: object) -> RunningJob:
    """Return the one job of the snapshot."""
    (job,) = read(*items).jobs
    return job


def only_instance(*items: object) -> RunningInstance:
    """Return the one running instance of the snapshot."""
    (instance,) = only_job(*items).instances
    return instance


def only_pending(*items: object) -> PendingJob:
    """Return the one waiting job of the snapshot."""
    (job,) = read(*items).pending
    return job


def left_out(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """Return what was left out, by reason; that all pods are of one namespace is true of most tests, and not it."""
    return {entry.reason: entry.items for entry in snapshot.skipped if entry.reason != why.ONE_NAMESPACE}
