"""Gangs of which all pods have to be in one domain of the topology, such as a rack: nodes of one value of a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.snapshots.kubernetes.pods import GpuPod

# Annotations whose value is the node label of which all pods of a set have to meet one value. Those of a
# LeaderWorkerSet, besides, keep other groups out of the domain, which no snapshot says.
LEADER_WORKER_SET = "leaderworkerset.sigs.k8s.io/exclusive-topology"
KUEUE_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
REQUIRED = (
    KUEUE_TOPOLOGY,
    "kai.scheduler/topology-required-placement",
    LEADER_WORKER_SET,
)
_POD_SET = "kueue.x-k8s.io/podset"


def required_label(pods: Sequence[GpuPod]) -> str | None:
    """Return the node label of which all pods of a gang have to meet one value, whichever.

    None if they ask for none, or not as one set of pods that are alike: each set may be in a domain of its own.
    """
    asked = {(*_labels_of(pod), _set_of(pod), pod.demand, tuple(sorted(pod.further.items()))) for pod in pods}
    if len(asked) != 1 or len({pod.place for pod in pods if pod.made_for is not None}) > 1:
        return None
    labels = _labels_of(pods[0])
    return labels[0] if len(labels) == 1 else None


def _labels_of(pod: GpuPod) -> tuple[str, ...]:
    annotations = pod.metadata.annotations or {}
    return tuple(dict.fromkeys(label for key in REQUIRED if (label := annotations.get(key))))


def _set_of(pod: GpuPod) -> str | None:
    marks: Mapping[str, str | None] = {**(pod.metadata.annotations or {}), **(pod.metadata.labels or {})}
    return marks.get(_POD_SET)
