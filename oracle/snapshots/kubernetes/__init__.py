"""Reader of Kubernetes clusters, from what ``kubectl get nodes,pods -A -o json`` prints.

`items` finds the objects in the documents, `nodes` and `pods` read one object each, `sharing`, `pools` and `jobs`
relate them, and `reader` puts the snapshot together. `constraints` says where pods may be put, by `selectors`; `queues`
what waits without pods; `dra` who has which devices that are handed out dynamically. `devices` knows the resource
keys, `demand` the arithmetic of the scheduler, and `ledger` all that is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.snapshots.kubernetes.devices import KubernetesOptions
from oracle.snapshots.kubernetes.reader import read_kubernetes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KubernetesOptions", "is_kubernetes", "read_kubernetes"]

_KINDS = frozenset({"List", "NodeList", "PodList", "Node", "Pod"})


def is_kubernetes(probe: Mapping[str, object]) -> bool:
    """Return whether an object with these top-level keys is one of Kubernetes, or a list of them.

    Any kind with an API version will do: a file that begins with a Service may hold nodes further down. Items alone
    count too, unless a ``schema`` says whose they are.
    """
    kind = probe.get("kind")
    if kind is None:
        return "schema" not in probe and ("items" in probe or "rawObjects" in probe or "pods" in probe)
    return kind in _KINDS or (isinstance(kind, str) and "apiVersion" in probe)
