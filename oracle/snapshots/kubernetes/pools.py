"""Pools: nodes among which a GPU pod may move, told by label, kind of GPU and taints.

The label says which GPUs are alike. Two things divide the nodes of one label further, and both only where they differ:

* the kind of GPU (``nvidia.com/gpu``, ``amd.com/gpu``): a pod that asks for one kind cannot use the other;
* taints that set nodes aside for somebody. Taints of the control plane and of autoscalers are not judged here (the node
  is out of service), nor is a taint named like the GPU resource (every GPU pod tolerates it). Of the other taints, each
  is judged by the GPU pods of the snapshot, daemons and static pods excepted:

  - all of them tolerate it: it keeps away pods without GPUs, and is of no importance here;
  - some of them name it in a toleration: the nodes are set aside for those, and form a pool of their own;
  - none does: the node is closed, as if it were cordoned. A toleration of everything is no sign to the contrary.

  Where there is no GPU pod, there is nobody to keep away, and the node is open.

A pod may be on a node that would not take it today: the taint or the label came later. It cannot move, since no node
of its pool would take it either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.pods import required_value, tolerates
from oracle.snapshots.model import DEFAULT_POOL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from oracle.snapshots.kubernetes.ledger import Ledger
    from oracle.snapshots.kubernetes.nodes import ClusterNode, TaintKey
    from oracle.snapshots.kubernetes.objects import Toleration
    from oracle.snapshots.kubernetes.pods import GpuPod

_Tolerations = tuple["Toleration", ...]


@dataclass(frozen=True, slots=True)
class _Compartment:
    """Nodes that are alike in all that matters."""

    label: str
    kinds: frozenset[str]
    set_aside: frozenset[TaintKey]

    def takes(self, pod: GpuPod) -> bool:
        """Return whether a pod of this kind and with these tolerations may be put here.

        A compartment without a kind is one of nodes that offer nothing at present; nobody fits there anyway.
        """
        is_of_kind = not self.kinds or set(pod.gpus) <= self.kinds
        return is_of_kind and all(_is_tolerated(taint, pod.spec.tolerations or ()) for taint in self.set_aside)


@dataclass(frozen=True, slots=True)
class Pools:
    """The pool of every node, the nodes that a taint closes with the taint that does, and those of several kinds."""

    of_node: Mapping[str, str]
    closed_by: Mapping[str, str]
    mixed: frozenset[str]
    _placed: Mapping[str, _Compartment]
    _members: Mapping[_Compartment, frozenset[str]]
    _names: Mapping[_Compartment, str]
    _left_out: Collection[str]
    _keys: Collection[str]

    def set_aside(self) -> dict[str, frozenset[TaintKey]]:
        """Return the taints by which each node is set aside for some pods."""
        return {name: compartment.set_aside for name, compartment in self._placed.items()}

    def would_take(self, pod: GpuPod, selected: Collection[str]) -> bool:
        """Return whether some node of a running pod's pool would take the pod, were it to come anew.

        `selected` are the nodes that its selectors take.
        """
        compartment = self._placed[pod.node or ""]
        return compartment.takes(pod) and not self._members[compartment].isdisjoint(selected)

    def for_waiting(self, pod: GpuPod, selected: Collection[str], ledger: Ledger) -> tuple[bool, str | None]:
        """Return whether some pool may take a waiting pod, and which one; None is any.

        A pod that may use several pools of one label gets the one set aside for it: that is what tolerations are
        written for. Where a pod may use several pools without naming any, but not all, its node sets say which.
        """
        label = self._required(pod)
        candidates = [
            c for c, nodes in self._members.items() if label in {None, c.label} and not nodes.isdisjoint(selected)
        ]
        if not candidates:
            if label in self._left_out:
                ledger.add(why.PODS_LEFT_OUT_POOL, pod.name)
                return False, None
            return True, label
        fitting = [c for c in candidates if c.takes(pod)]
        if not fitting:
            ledger.add(why.PODS_NO_NODE, pod.name)
            return False, None
        if label is None and (len(fitting) > 1 or len(self._names) == 1):
            if len(fitting) < len(self._names):
                ledger.add(why.PODS_SOME_POOLS, pod.name)
            return True, None
        best = max(fitting, key=lambda c: (len(c.set_aside), self._names[c]))
        return True, self._names[best]

    def _required(self, pod: GpuPod) -> str | None:
        """Return the pool label that a pod insists on."""
        for key in self._keys:
            label = required_value(pod.spec, key)
            if label is not None:
                # Nodes whose label is empty are in the default pool.
                return label or DEFAULT_POOL
        return None


def divide(
    nodes: Iterable[ClusterNode],
    kinds: Mapping[str, frozenset[str]],
    pods: Iterable[GpuPod],
    left_out: Iterable[ClusterNode],
    told: Mapping[str, str],
) -> Pools:
    """Return the pools of the nodes.

    Parameters
    ----------
    nodes
        The nodes that are kept.
    kinds
        The kinds of GPU of each of them, by name.
    pods
        All pods that hold or wait for whole GPUs: the judges of taints.
    left_out
        The nodes that are not kept.
    told
        What tells apart nodes without a label, by name.
    """
    nodes = [*nodes]
    judges = {tuple(pod.spec.tolerations or ()) for pod in pods if not pod.is_bound_to_node}
    closing, set_aside = _judge({taint for node in nodes for taint in node.taints}, judges)
    placed = {
        node.name: _Compartment(
            node.pool_label or told.get(node.name, DEFAULT_POOL), kinds[node.name], node.taints & set_aside
        )
        for node in nodes
    }
    members: dict[_Compartment, set[str]] = {}
    for name, compartment in placed.items():
        members.setdefault(compartment, set()).add(name)
    names = _name(members.keys())
    return Pools(
        of_node={node: names[compartment] for node, compartment in placed.items()},
        closed_by={node.name: _listed(node.taints & closing) for node in nodes if node.taints & closing},
        mixed=frozenset(name for name, kind in kinds.items() if len(kind) > 1),
        _placed=placed,
        _members={compartment: frozenset(own) for compartment, own in members.items()},
        _names=names,
        _left_out={node.pool_label for node in left_out if node.pool_label} - {c.label for c in names},
        _keys=tuple(dict.fromkeys(node.pool_key for node in nodes)),
    )


def _judge(
    taints: Iterable[TaintKey], judges: Collection[_Tolerations]
) -> tuple[frozenset[TaintKey], frozenset[TaintKey]]:
    """Return the taints that close a node and those that set it aside."""
    disputed = {t for t in taints if not all(_is_tolerated(t, tolerations) for tolerations in judges)}
    set_aside = {
        taint
        for taint in disputed
        if any(_is_tolerated(taint, [t for t in tolerations if t.key]) for tolerations in judges)
    }
    return frozenset(disputed - set_aside), frozenset(set_aside)


def _name(compartments: Collection[_Compartment]) -> dict[_Compartment, str]:
    """Return a name for each compartment: its label, and after a colon what tells it from others of that label."""
    names: dict[_Compartment, str] = {}
    for compartment in compartments:
        siblings = [other for other in compartments if other.label == compartment.label]
        parts = [compartment.label]
        if len({other.kinds for other in siblings if other.kinds}) > 1 and compartment.kinds:
            parts.append("+".join(sorted(compartment.kinds)))
        if len({other.set_aside for other in siblings}) > 1 and compartment.set_aside:
            parts.append(_listed(compartment.set_aside))
        names[compartment] = ":".join(parts)
    return names


def _listed(taints: Iterable[TaintKey]) -> str:
    return ",".join(sorted(str(taint) for taint in taints))


def _is_tolerated(taint: TaintKey, tolerations: Iterable[Toleration]) -> bool:
    return tolerates(tolerations, taint.key, taint.value, taint.effect)
