"""From the output of kubectl to a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.devices import KubernetesOptions
from oracle.snapshots.kubernetes.items import NULL, items_of
from oracle.snapshots.kubernetes.jobs import job_names, pending_jobs, running_jobs
from oracle.snapshots.kubernetes.ledger import Ledger, natural_key
from oracle.snapshots.kubernetes.nodes import Standing, read_node
from oracle.snapshots.kubernetes.objects import Node, Pod, TracesOnNode
from oracle.snapshots.kubernetes.pods import Use, full_name, read_pod
from oracle.snapshots.kubernetes.pools import divide
from oracle.snapshots.kubernetes.sharing import gpus_taken
from oracle.snapshots.model import Snapshot, SnapshotError, SnapshotNode, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.snapshots.document import Document
    from oracle.snapshots.kubernetes.items import Item, Place
    from oracle.snapshots.kubernetes.nodes import ClusterNode
    from oracle.snapshots.kubernetes.pods import GpuPod
    from oracle.snapshots.kubernetes.pools import Pools

_DEFAULTS = KubernetesOptions()
_BOTH = "`kubectl get nodes,pods -A -o json`"
_OF_KUBERNETES = "kube-system"

_LEFT_OUT_USES = {
    Use.MIG: why.PODS_MIG,
    Use.SHARED: why.PODS_SHARED,
    Use.RESERVATION: why.PODS_RESERVATION,
}


@dataclass(slots=True)
class _Input:
    """What the documents hold, as far as it matters."""

    nodes: dict[str, ClusterNode] = field(default_factory=dict[str, "ClusterNode"])
    pods: list[GpuPod] = field(default_factory=list["GpuPod"])
    pod_places: dict[tuple[str, str], Place] = field(default_factory=dict[tuple[str, str], "Place"])
    lists: set[str] = field(default_factory=set[str])
    has_pod_list: bool = False
    others: int = 0


@dataclass(slots=True)
class _Sorted:
    """The GPU pods by what becomes of them."""

    running: list[GpuPod] = field(default_factory=list["GpuPod"])
    waiting: list[GpuPod] = field(default_factory=list["GpuPod"])
    sharing: dict[str, list[GpuPod]] = field(default_factory=dict[str, "list[GpuPod]"])


def read_kubernetes(documents: Sequence[Document], options: KubernetesOptions = _DEFAULTS) -> Snapshot:
    """Return the snapshot that the documents make up together.

    Parameters
    ----------
    documents
        The output of ``kubectl get nodes,pods -A -o json`` (or ``-o yaml``), whole or in parts: lists of nodes, of
        pods, of both, single objects, several YAML documents in one file. Objects of other kinds are counted and
        skipped. The order of the parts and of the objects is of no importance.
    options
        Which resources are GPUs, and which node label tells the pool.

    Returns
    -------
    Snapshot
        Nodes, jobs and waiting jobs in natural order of their names. Jobs are named ``namespace/name``. Every node and
        pod that is in none of them is in `skipped`, with the reason.

    Raises
    ------
    SnapshotError
        The input is malformed or lacks nodes or pods, a GPU pod is on no known node, a demand is no whole number, an
        object is listed twice, or an option that was asked for matches nothing. The path names the item:
        ``pods.json: items[12].spec.nodeName``.

    Notes
    -----
    Nodes without pods are accepted where a plain ``List`` was given, as ``kubectl get nodes,pods`` prints it in a
    cluster without pods; `skipped` then says that pods may have been forgotten. ``kubectl get nodes`` prints the same,
    so that nodes on which pods have left traces (images, volumes) are refused, as are lists of nodes alone
    (``NodeList``) and single nodes: a busy cluster would look empty. A list of no pods, given as well, is taken at its
    word. Where all pods are of one namespace, `skipped` says so.

    A node that offers two kinds of GPU counts with the sum of both, but a snapshot cannot tell one kind from the other:
    nothing is put on such a node or moved off. Counting one kind only (`KubernetesOptions.resources`) lifts that.
    """
    ledger = Ledger()
    found = _read(documents, options, ledger)
    _refuse_half(documents, found, ledger)
    pods = _sort(found, ledger)
    busy = {pod.node for pod in pods.running}
    nodes = {n.name: n for n in found.nodes.values() if n.standing is Standing.WHOLE or n.name in busy}
    left_out = [node for node in found.nodes.values() if node.name not in nodes]
    for node in left_out:
        ledger.add(node.reason, f"{node.name}: {node.detail}" if node.detail else node.name)
    _refuse_unmatched(found, nodes, options)
    _note_unlabelled(nodes, options, ledger)
    kinds = _kinds(nodes, pods.running)
    mixed = {name for name, kind in kinds.items() if len(kind) > 1}
    pools = divide(nodes.values(), kinds, [*pods.running, *pods.waiting], left_out)
    waiting = [(pod, *pools.for_waiting(pod, options.pool_label, ledger)) for pod in pods.waiting]
    names = job_names([*pods.running, *pods.waiting])
    return Snapshot.build(
        nodes=_snapshot_nodes(nodes, pods.sharing, pools, mixed, ledger),
        jobs=running_jobs(
            pods.running,
            names,
            lambda pod: pod.node not in mixed and pools.would_take(pod, options.pool_label),
        ),
        pending=pending_jobs([(pod, pool) for pod, is_placeable, pool in waiting if is_placeable], names),
        skipped=ledger.entries(),
    )


def _read(documents: Sequence[Document], options: KubernetesOptions, ledger: Ledger) -> _Input:
    found = _Input()
    for document in documents:
        kinds: set[str] = set()
        for item in items_of(document):
            kinds.add(item.kind)
            if item.kind == "Node":
                _add_node(found, item, options)
            elif item.kind == "Pod":
                _add_pod(found, item, options, ledger)
            elif item.kind == NULL:
                ledger.add(why.NULL_ITEMS, str(item.place))
            elif item.kind.endswith("List"):
                found.lists.add(item.kind)
            else:
                found.others += 1
                ledger.add(why.OTHER_OBJECTS, f"{item.kind} at {item.place}")
        # A list on its own without a node in it is one of pods, also if there are none: kubectl calls both "List".
        found.has_pod_list |= "PodList" in kinds or ("List" in kinds and "Node" not in kinds)
    return found


def _add_node(found: _Input, item: Item, options: KubernetesOptions) -> None:
    node = read_node(item.place, item.decode(Node), options)
    if node.name in found.nodes:
        first = found.nodes[node.name].place
        raise item.place.error("metadata.name", f"node {shown(node.name)} is listed twice, first at {first}")
    found.nodes[node.name] = node


def _add_pod(found: _Input, item: Item, options: KubernetesOptions, ledger: Ledger) -> None:
    pod = item.decode(Pod)
    name = full_name(item.place, pod.metadata)
    if name in found.pod_places:
        problem = f"pod {shown('/'.join(name))} is listed twice, first at {found.pod_places[name]}"
        raise item.place.error("metadata.name", problem)
    found.pod_places[name] = item.place
    gpu_pod = read_pod(item.place, pod, options, ledger)
    if gpu_pod is not None:
        found.pods.append(gpu_pod)


def _refuse_half(documents: Sequence[Document], found: _Input, ledger: Ledger) -> None:
    """Refuse an input in which nodes or pods were forgotten: what it shows would not be the cluster."""
    name = ", ".join(document.name for document in documents)
    if not found.nodes and found.pod_places:
        problem = f"pods, but no nodes; add the output of `kubectl get nodes -o json`, or print both with {_BOTH}"
        raise SnapshotError(name, problem)
    if not found.nodes and (found.others or not found.lists & {"List", "NodeList"}):
        raise SnapshotError(name, f"no nodes; expected the output of {_BOTH}")
    if found.nodes and not found.pod_places and not found.has_pod_list:
        trace = _trace_of_pods(documents)
        if trace or "List" not in found.lists:
            problem = (
                f"nodes, but no pods, so that a busy cluster would look empty{trace}; "
                f"add the output of `kubectl get pods -A -o json`, or print both with {_BOTH}"
            )
            raise SnapshotError(name, problem)
        ledger.add(why.NO_PODS, name)
    namespaces = {namespace for namespace, _ in found.pod_places}
    # A cluster that nobody uses has the pods of Kubernetes itself, and no others.
    if len(namespaces) == 1 and not namespaces & {_OF_KUBERNETES}:
        ledger.add(why.ONE_NAMESPACE, min(namespaces))


def _trace_of_pods(documents: Sequence[Document]) -> str:
    """Return what shows that pods have run on a node; nothing if nothing does."""
    for item in (item for document in documents for item in items_of(document) if item.kind == "Node"):
        node = item.decode(TracesOnNode)
        if node.status is not None and (node.status.images or node.status.volumes_in_use):
            what = "volumes are in use" if node.status.volumes_in_use else "there are images of containers"
            return f" ({what} on node {shown(node.metadata.name if node.metadata else None)})"
    return ""


def _refuse_unmatched(found: _Input, nodes: Mapping[str, ClusterNode], options: KubernetesOptions) -> None:
    """Refuse an option that matches nothing: what it was to tell apart would be taken to be alike, or be left out."""
    if "resources" in options.asked:
        known = {key for node in found.nodes.values() for key in node.known}
        known |= {key for pod in found.pods for key in pod.gpus}
        for key in options.resources:
            if key not in known:
                raise SnapshotError("", f"no node has and no pod asks for the resource {shown(key)}")
    if not nodes:
        return
    if "pool_label" in options.asked and all(node.pool_label is None for node in nodes.values()):
        raise SnapshotError("", f"no GPU node has the label {shown(options.pool_label)}, which is to tell its pool")
    if "domain_label" in options.asked and all(node.domain is None for node in nodes.values()):
        raise SnapshotError("", f"no GPU node has the label {shown(options.domain_label)}, which is to tell its domain")


def _note_unlabelled(nodes: Mapping[str, ClusterNode], options: KubernetesOptions, ledger: Ledger) -> None:
    without_pool = [name for name, node in nodes.items() if node.pool_label is None]
    if len(without_pool) < len(nodes):
        for name in without_pool:
            ledger.add(why.NODES_WITHOUT_POOL_LABEL, name)
    if "domain_label" in options.asked:
        for name, node in nodes.items():
            if node.domain is None:
                ledger.add(why.NODES_WITHOUT_DOMAIN_LABEL, name)


def _sort(found: _Input, ledger: Ledger) -> _Sorted:
    pods = _Sorted()
    for pod in found.pods:
        node = found.nodes.get(pod.node) if pod.node is not None else None
        if pod.node is not None and node is None:
            problem = f"no node is named {shown(pod.node)}; were all nodes printed ({_BOTH})?"
            raise pod.place.error("spec.nodeName", problem)
        if node is not None and node.standing is Standing.DIVIDED:
            ledger.add(why.PODS_ON_LEFT_OUT, pod.name)
        elif pod.use in _LEFT_OUT_USES:
            ledger.add(_LEFT_OUT_USES[pod.use], pod.name)
            if node is not None and pod.use is not Use.MIG:
                pods.sharing.setdefault(node.name, []).append(pod)
        elif node is not None:
            pods.running.append(pod)
        elif len(pod.gpus) > 1:
            ledger.add(why.PODS_TWO_KINDS, pod.name)
        else:
            pods.waiting.append(pod)
    return pods


def _kinds(nodes: Mapping[str, ClusterNode], running: Sequence[GpuPod]) -> dict[str, frozenset[str]]:
    """Return the kinds of GPU of each node: those it offers or has pods on, else the only one it knows."""
    held: dict[str, set[str]] = {}
    for pod in running:
        held.setdefault(pod.node or "", set()).update(pod.gpus)
    kinds: dict[str, frozenset[str]] = {}
    for name, node in nodes.items():
        in_use = {key for key, gpus in node.offered.items() if gpus} | held.get(name, set())
        kinds[name] = frozenset(in_use or (node.offered if len(node.offered) == 1 else ()))
    return kinds


def _snapshot_nodes(
    nodes: Mapping[str, ClusterNode],
    sharing: Mapping[str, Sequence[GpuPod]],
    pools: Pools,
    mixed: set[str],
    ledger: Ledger,
) -> list[SnapshotNode]:
    result: list[SnapshotNode] = []
    for name in sorted(nodes, key=natural_key):
        node = nodes[name]
        taken = gpus_taken(sharing.get(name, ()), node.gpu_memory)
        if taken:
            ledger.add(why.SHARED_GPUS, f"{name}: {taken}")
        if node.mig:
            ledger.add(why.MIG_DEVICES, f"{name}: {', '.join(node.mig)}")
        if name in mixed:
            ledger.add(why.MIXED_NODES, name)
        if name in pools.closed_by:
            ledger.add(why.CLOSED_BY_TAINT, f"{name}: {pools.closed_by[name]}")
        result.append(
            SnapshotNode(
                name=name,
                gpus=max(0, sum(node.offered.values()) - taken),
                pool=pools.of_node[name],
                schedulable=node.in_service and name not in pools.closed_by and name not in mixed,
                domain=node.domain,
            )
        )
    return result
