"""What the reader saw and did not turn into nodes, jobs or waiting jobs: nothing may be lost without a word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oracle.snapshots.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable

# Objects
OTHER_OBJECTS = "objects that are neither nodes nor pods"
NULL_ITEMS = "null items"
NO_PODS = "inputs with nodes but no pod: if this is `kubectl get nodes`, add `kubectl get pods -A -o json`"
ONE_NAMESPACE = (
    "all pods are of one namespace: if there are others, print the pods of all with `kubectl get pods -A -o json`"
)

# Nodes that are left out
NODES_WITHOUT_GPUS = "nodes without GPUs"
NODES_UNCOUNTED = "nodes whose GPU resource is not counted (--resource names those that are)"
NODES_SHARED = "nodes whose GPUs are shared (time-slicing, MPS, vGPU): what they offer are no whole GPUs"
NODES_MIG = "nodes whose GPUs are split by MIG: what they offer are no whole GPUs"

# Nodes that are kept
MIG_DEVICES = "MIG devices of nodes that are kept"
SHARED_GPUS = "GPUs left out of the count of a node because pods share them"
MIXED_NODES = "nodes with two kinds of GPU, kept as they are: nothing is put on them or moved off"
NODES_WITHOUT_POOL_LABEL = "GPU nodes without the label that tells the pool, taken to be alike"
NODES_WITHOUT_DOMAIN_LABEL = "GPU nodes without the label that tells the domain"
CLOSED_BY_TAINT = "nodes kept but closed, by a taint that no GPU pod is meant to tolerate"

# Pods
PODS_FINISHED = "pods that have finished"
PODS_WITHOUT_GPUS = "pods that ask for no GPU"
PODS_WITHOUT_SPEC = "pods without a spec"
PODS_CLAIMS = (
    "pods with resource claims (DRA) that do not tell which devices: add resourceclaims,resourceslices to what kubectl "
    "prints"
)
DEVICES_UNCOUNTED = "devices of DRA drivers that are not counted (--resource names those that are)"
DEVICES_NOT_OF_A_NODE = "devices of DRA drivers that are not those of one node"
DEVICES_DIVIDED = "devices of DRA drivers that are parts of a device, or may be had by several at a time"
SLICES_MISSING = "pools of DRA drivers of which slices are missing: they may have more devices"
CLAIMED_OTHERWISE = "devices left out of the count of a node because no pod, or several, have them"
NODES_OFFER_UNKNOWN = (
    "nodes on which pods hold GPUs that the node does not offer: if DRA hands them out, add "
    "resourceclaims,resourceslices to what kubectl prints"
)
NODES_OTHER_DEVICES = "nodes without GPUs that have other devices (--resource counts them)"
PODS_OTHER_DEVICES = "pods that ask for no GPU and for other devices (--resource counts them)"
PODS_UNCOUNTED = "pods that ask for a GPU resource that is not counted"
PODS_MIG = "pods on MIG devices"
PODS_SHARED = "pods on shared or fractional GPUs"
PODS_RESERVATION = "pods that reserve a GPU for fractional pods"
PODS_ON_LEFT_OUT = "pods on nodes that are left out"
PODS_LEAVING = "waiting pods that are being deleted"
PODS_GATED = "waiting pods held back by scheduling gates that no room would take away"
QUEUED_HELD = "waiting jobs that are held back: no room would start them"
QUEUED_UNCLEAR = "queued jobs that ask for GPUs in a shape that is not in the input: ask for them with admit --job"
QUEUE_NOT_VISIBLE = "queues of which the input does not show all that waits"
BUDGETS_UNKNOWN = "disruption budgets that do not say how many disruptions they allow"
# Constraints
TIED_TO_PODS = "required affinity to other pods, or anti-affinity beyond the own job: pods that run stay where they are"
AWAY_FROM_PODS = "required anti-affinity of pods of other jobs to these"
TOPOLOGY_SPREAD = "required topology spread"
TOPOLOGY_DOMAIN = (
    "pods of a set near one another, or alone in their domain (topology of Kueue, KAI, JobSet, LeaderWorkerSet)"
)
PREFERENCES = "preferred affinity or topology spread"
VOLUMES = "persistent volumes, which may be of one node or zone"

PODS_TWO_KINDS = "waiting pods that ask for two kinds of GPU"
PODS_LEFT_OUT_POOL = "waiting pods for a pool whose nodes are left out"
PODS_NO_NODE = "waiting pods that no GPU node takes, for its kind of GPU or its taints"
PODS_SOME_POOLS = "waiting pods that only some pools take, shown as if any did"

# These are in the snapshot, and something about them is to be known.
_KEPT = frozenset(
    {
        NO_PODS,
        ONE_NAMESPACE,
        NODES_WITHOUT_POOL_LABEL,
        NODES_WITHOUT_DOMAIN_LABEL,
        MIXED_NODES,
        CLOSED_BY_TAINT,
        PODS_SOME_POOLS,
        QUEUED_UNCLEAR,
        PODS_CLAIMS,
        SLICES_MISSING,
        CLAIMED_OTHERWISE,
        NODES_OFFER_UNKNOWN,
        QUEUE_NOT_VISIBLE,
        BUDGETS_UNKNOWN,
    }
)

_NUMBER = re.compile(r"([0-9]+)")


class Ledger:
    """Collects items by reason while an input is read."""

    def __init__(self) -> None:
        self._items: dict[str, list[str]] = {}

    def add(self, reason: str, item: str) -> None:
        """Note one item."""
        self._items.setdefault(reason, []).append(item)

    def entries(self) -> tuple[Skipped, ...]:
        """Return everything noted, in an order that does not depend on that of the input."""
        return tuple(
            Skipped(reason=reason, items=tuple(natural_sorted(items)), kept=reason in _KEPT)
            for reason, items in sorted(self._items.items())
        )


def natural_key(text: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts ``n10`` after ``n9``.

    Digits are compared by length and then as text: no name, however long, becomes a number too large to convert.
    """
    pieces = _NUMBER.split(text)
    digits = [piece.lstrip("0") for piece in pieces[1::2]]
    parts: list[tuple[int, str]] = [(0, piece) for piece in pieces]
    parts[1::2] = [(len(number), number) for number in digits]
    return (*parts, (0, text))


def natural_sorted(names: Iterable[str]) -> list[str]:
    """Return the names in natural order."""
    return sorted(names, key=natural_key)
