"""Constraints of pods that the snapshot has no word for: which of them a pod has, as reasons of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.topology import LEADER_WORKER_SET, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.kubernetes.objects import Metadata, PodSpec

_HARD = "DoNotSchedule"

# Pods of a set near one another in a way that no snapshot says, which whoever made the pods sees to.
_TOPOLOGY = (
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-group-name",
    "kai.scheduler/topology-preferred-placement",
    "alpha.jobset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
    LEADER_WORKER_SET,
)


def overlooked_by(metadata: Metadata, spec: PodSpec, *, is_near: bool) -> Iterator[str]:
    """Yield the reasons, each once; with `is_near` the snapshot says that the pods of the job are in one domain."""
    spread = [constraint.when_unsatisfiable for constraint in spec.topology_spread_constraints or ()]
    if _HARD in spread:
        yield why.TOPOLOGY_SPREAD
    if (spread and _HARD not in spread) or _prefers(spec):
        yield why.PREFERENCES
    if not (metadata.annotations or {}).keys().isdisjoint(_TOPOLOGY if is_near else (*_TOPOLOGY, *REQUIRED)):
        yield why.TOPOLOGY_DOMAIN
    if any(volume.persistent_volume_claim is not None for volume in spec.volumes or ()):
        yield why.VOLUMES


def _prefers(spec: PodSpec) -> bool:
    affinity = spec.affinity
    return affinity is not None and any(
        part is not None and part.preferred_during_scheduling_ignored_during_execution
        for part in (affinity.node_affinity, affinity.pod_affinity, affinity.pod_anti_affinity)
    )
