"""From the output of kubectl to a snapshot."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from immutables import Map

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.constraints import Budgets, Placement, read_apartness, read_budget
from oracle.snapshots.kubernetes.demand import read_further
from oracle.snapshots.kubernetes.devices import KubernetesOptions
from oracle.snapshots.kubernetes.dra import Claims
from oracle.snapshots.kubernetes.items import NULL, items_of
from oracle.snapshots.kubernetes.jobs import by_job, job_names, job_of, pending_jobs, running_jobs, starts_together
from oracle.snapshots.kubernetes.ledger import Ledger, natural_key, natural_sorted
from oracle.snapshots.kubernetes.nodes import Standing, read_node
from oracle.snapshots.kubernetes.objects import DisruptionBudget, Node, Pod, PriorityClass, TracesOnNode
from oracle.snapshots.kubernetes.overlooked import overlooked_by
from oracle.snapshots.kubernetes.pods import HOSTNAME, Use, full_name, is_finished, read_pod, selected_labels
from oracle.snapshots.kubernetes.pools import divide
from oracle.snapshots.kubernetes.queues import Queues
from oracle.snapshots.kubernetes.selectors import NODE_NAME
from oracle.snapshots.kubernetes.sharing import gpus_taken
from oracle.snapshots.kubernetes.topology import required_label
from oracle.snapshots.model import Skipped, Snapshot, SnapshotError, SnapshotNode, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from oracle.snapshots.document import Document
    from oracle.snapshots.kubernetes.constraints import Budget
    from oracle.snapshots.kubernetes.items import Item, Place
    from oracle.snapshots.kubernetes.jobs import JobKey
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

    claims: Claims
    nodes: dict[str, ClusterNode] = field(default_factory=dict[str, "ClusterNode"])
    pods: list[GpuPod] = field(default_factory=list["GpuPod"])
    pod_places: dict[tuple[str, str], Place] = field(default_factory=dict[tuple[str, str], "Place"])
    lists: set[str] = field(default_factory=set[str])
    budgets: list[Budget] = field(default_factory=list["Budget"])
    priorities: dict[str, int] = field(default_factory=dict[str, int])
    queues: Queues = field(default_factory=Queues)
    claiming: list[tuple[Place, str, Pod]] = field(default_factory=list["tuple[Place, str, Pod]"])
    held: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    has_pod_list: bool = False
    others: int = 0

    def hold(self, node: str, amounts: Mapping[str, int]) -> None:
        """Count what pods that are in no job hold of a node."""
        self.held.setdefault(node, Counter()).update(amounts)


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
        pods, of both, single objects, several YAML documents in one file. Disruption budgets, priority classes, slices
        and claims of DRA and the objects of queues are read where they are given; all other kinds are counted and
        skipped. The order of the parts and of the objects is of no importance.
    options
        Which resources are GPUs, and which node label tells the pool.

    Returns
    -------
    Snapshot
        Nodes, jobs and waiting jobs in natural order of their names. Jobs are named ``namespace/name``. Every node and
        pod that is in none of them is in `skipped`, with the reason. Constraints that pods have and the snapshot has no
        word for are in `not_looked_at`.

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
    _settle_claims(found, options, ledger)
    _refuse_half(documents, found, ledger)
    pods = _sort(found, ledger)
    busy = {pod.node for pod in pods.running}
    nodes = {n.name: n for n in found.nodes.values() if n.standing is Standing.WHOLE or n.name in busy}
    left_out = [node for node in found.nodes.values() if node.name not in nodes]
    for node in left_out:
        ledger.add(node.reason, f"{node.name}: {node.detail}" if node.detail else node.name)
    _refuse_unmatched(found, nodes, options)
    for name in sorted(
        {pod.node or "" for pod in pods.running if not set(pod.gpus) & set(nodes[pod.node or ""].known)}
    ):
        ledger.add(why.NODES_OFFER_UNKNOWN, name)
    kinds = _kinds(nodes, pods.running)
    pods.waiting += found.queues.waiting(found.pods, ledger)
    told = _told_by_selectors(nodes, [*pods.running, *pods.waiting])
    _note_unlabelled(nodes, told, options, ledger)
    pools = divide(nodes.values(), kinds, [*pods.running, *pods.waiting], left_out, told)
    facts = _Facts(found, pools, Placement(nodes, kinds, pools.set_aside()), by_job([*pods.running, *pods.waiting]))
    waiting = [(pod, *pools.for_waiting(pod, facts.placement.selected(pod), ledger)) for pod in pods.waiting]
    placeable = [(pod, pool) for pod, is_placeable, pool in waiting if is_placeable]
    names = job_names([*pods.running, *pods.waiting])
    budgets = facts.budgets_of(pods.running, ledger)
    jobs = running_jobs(pods.running, names, facts)
    pending = pending_jobs(placeable, pods.running, names, facts)
    return Snapshot.build(
        nodes=_snapshot_nodes(nodes, pods, found, pools, ledger),
        jobs=jobs,
        pending=pending,
        node_sets=sorted(facts.placement.sets.all(), key=lambda node_set: natural_key(node_set.name)),
        budgets=budgets,
        skipped=ledger.entries(),
        not_looked_at=facts.not_looked_at(names, {job.name for job in jobs} | {job.name for job in pending}),
    )


class _Near(NamedTuple):
    """The set of nodes that a running gang keeps to, or those in one of which a waiting one has to be."""

    within: tuple[str, ...]
    one_of: tuple[str, ...]


class _Facts:
    """What else is known of the pods of a snapshot."""

    def __init__(
        self,
        found: _Input,
        pools: Pools,
        placement: Placement,
        jobs: Mapping[JobKey, Sequence[GpuPod]],
    ) -> None:
        self.placement = placement
        self._found = found
        self._pools = pools
        self._jobs = jobs
        self._apart = read_apartness(jobs)
        self._budgets = Budgets(budget for budget in found.budgets if budget.allowed is not None)
        self._near = {key: near for key in jobs if (near := self._near_of(key)) is not None}

    def within(self, pod: GpuPod) -> tuple[str, ...]:
        near = self._near.get(job_of(pod))
        return (*self.placement.within(pod), *(near.within if near else ()))

    def one_of(self, key: JobKey) -> tuple[str, ...]:
        near = self._near.get(key)
        return near.one_of if near else ()

    def is_movable(self, pod: GpuPod) -> bool:
        is_free = pod.node not in self._pools.mixed and pod.name not in self._apart.tied
        return is_free and self._pools.would_take(pod, self.placement.selected(pod))

    def budgets(self, pod: GpuPod) -> tuple[str, ...]:
        return tuple(f"{budget.namespace}/{budget.name}" for budget in self._budgets.of(pod))

    def priority(self, pod: GpuPod) -> int | None:
        if pod.priority is not None:
            return pod.priority
        return self._found.priorities.get(pod.spec.priority_class_name or "")

    def is_distinct(self, key: JobKey) -> bool:
        return key in self._apart.distinct

    def least(self, key: JobKey) -> int | None:
        return self._found.queues.groups.get((key.namespace, key.name)) if key.source == "PodGroup" else None

    def _near_of(self, key: JobKey) -> _Near | None:
        """Return in which domain of the topology a gang is, or has to be; None where no set of nodes says it."""
        pods, least = self._jobs[key], self.least(key)
        label = required_label(pods) if starts_together(key, pods) else None
        if label is None or (least is not None and least < sum(pod.copies for pod in pods)):
            return None
        domains = self.placement.domains(label)
        there = {self.placement.domain(label, pod.node) for pod in pods if pod.node is not None}
        if not there:
            # One of all nodes keeps nobody from anything.
            return _Near((), tuple(name for one in domains.values() for name in one)) if domains else None
        only = there.pop()
        return None if there or only is None else _Near(domains[only], ())

    def budgets_of(self, running: Sequence[GpuPod], ledger: Ledger) -> dict[str, int]:
        """Return the budgets in which pods with GPUs count; those that say nothing are noted."""
        for budget in self._found.budgets:
            if budget.allowed is None:
                ledger.add(why.BUDGETS_UNKNOWN, f"{budget.namespace}/{budget.name}")
        counted = {f"{b.namespace}/{b.name}": b.allowed or 0 for pod in running for b in self._budgets.of(pod)}
        return dict(sorted(counted.items()))

    def not_looked_at(self, names: Mapping[JobKey, str], kept: AbstractSet[str]) -> list[Skipped]:
        """Return the constraints of pods that the snapshot has no word for, with those of its jobs that have them."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for key, pods in self._jobs.items():
            for pod in pods:
                for reason in self._overlooked_by(pod, is_near=key in self._near):
                    found[reason].add(names[key])
        listed = ((reason, natural_sorted(found[reason] & kept)) for reason in sorted(found))
        return [Skipped(reason=reason, items=tuple(jobs)) for reason, jobs in listed if jobs]

    def _overlooked_by(self, pod: GpuPod, *, is_near: bool) -> Iterator[str]:
        if pod.name in self._apart.tied:
            yield why.TIED_TO_PODS
        if pod.name in self._apart.shunned:
            yield why.AWAY_FROM_PODS
        # What belongs to its node goes nowhere, whatever it would like.
        if not pod.is_bound_to_node:
            yield from overlooked_by(pod.metadata, pod.spec, is_near=is_near)


def _read(documents: Sequence[Document], options: KubernetesOptions, ledger: Ledger) -> _Input:
    found = _Input(Claims(options))
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
            elif not _add_other(found, item, options, ledger):
                found.others += 1
                ledger.add(why.OTHER_OBJECTS, f"{item.kind} at {item.place}")
        # A list on its own of pods, or of nothing, is one of pods, also if there are none: kubectl calls all "List".
        found.has_pod_list |= "PodList" in kinds or ("List" in kinds and kinds <= {"List", "Pod", NULL})
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
    if pod.spec is not None and pod.spec.resource_claims and not is_finished(pod):
        # Claims may stand behind their pods: these are read when all are known.
        found.claiming.append((item.place, "/".join(name), pod))
        return
    _add_read(found, item.place, pod, read_pod(item.place, pod, options, ledger), options)


def _add_read(found: _Input, place: Place, pod: Pod, gpu_pod: GpuPod | None, options: KubernetesOptions) -> None:
    found.queues.note_traces(pod.metadata, pod.spec)
    if gpu_pod is not None:
        found.pods.append(gpu_pod)
    elif pod.spec is not None and pod.spec.node_name and not is_finished(pod):
        found.hold(pod.spec.node_name, read_further(place, pod.spec, options))


def _settle_claims(found: _Input, options: KubernetesOptions, ledger: Ledger) -> None:
    """Give nodes the devices of their slices, and pods those of their claims."""
    asked = found.claims.settle([(name, pod) for _, name, pod in found.claiming], ledger)
    for place, name, pod in found.claiming:
        _add_read(found, place, pod, read_pod(place, pod, options, ledger, asked.get(name)), options)
    for name, counts in found.claims.offered.items():
        node = found.nodes.get(name)
        if node is None:
            ledger.add(why.DEVICES_NOT_OF_A_NODE, f"{', '.join(sorted(counts))}: no node is named {name}")
            continue
        if node.standing is Standing.DIVIDED or any(node.offered.values()):
            continue  # a driver and a device plugin offer the same GPUs only while one is taken over by the other
        product = found.claims.products.get(name)
        found.nodes[name] = replace(
            node,
            standing=Standing.WHOLE,
            offered=counts,
            known=(*node.known, *counts),
            built=tuple(f"{count} {driver}" for driver, count in sorted(counts.items())),
            pool_label=product if node.pool_key not in node.labels else node.pool_label,
        )


def _add_other(found: _Input, item: Item, options: KubernetesOptions, ledger: Ledger) -> bool:
    """Read an object that says something of pods or queues; return whether it is one."""
    kind, _, rest = item.kind.partition(" (")
    group = rest.partition("/")[0]
    if (kind, group) == ("PodDisruptionBudget", "policy"):
        found.budgets.append(read_budget(item.place, item.decode(DisruptionBudget)))
    elif (kind, group) == ("PriorityClass", "scheduling.k8s.io"):
        priority = item.decode(PriorityClass)
        if priority.metadata is not None and priority.metadata.name and priority.value is not None:
            found.priorities[priority.metadata.name] = priority.value
    else:
        return found.claims.add(item) or found.queues.add(item, options, ledger)
    return True


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


def _told_by_selectors(nodes: Mapping[str, ClusterNode], pods: Sequence[GpuPod]) -> dict[str, str]:
    """Return what tells apart the nodes without a label for their pool: the labels by which pods choose among them."""
    without = [node for node in nodes.values() if node.pool_label is None]
    if not without:
        return {}
    keys = {key for pod in pods for key in selected_labels(pod.spec)} - {HOSTNAME, NODE_NAME}
    telling = sorted(key for key in keys if len({node.labels.get(key) for node in without}) > 1)
    told = {
        node.name: ",".join(f"{key}={node.labels[key]}" for key in telling if key in node.labels) for node in without
    }
    return {name: words for name, words in told.items() if words}


def _note_unlabelled(
    nodes: Mapping[str, ClusterNode], told: Mapping[str, str], options: KubernetesOptions, ledger: Ledger
) -> None:
    without = [name for name, node in nodes.items() if node.pool_label is None and name not in told]
    # Alike in silence are only nodes that look alike.
    looks = {(nodes[name].built, nodes[name].gpu_memory) for name in without if any(nodes[name].offered.values())}
    if len(without) < len(nodes) or len(looks) > 1:
        for name in without:
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
            if node is not None:
                found.hold(node.name, pod.further)
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
    pods: _Sorted,
    found: _Input,
    pools: Pools,
    ledger: Ledger,
) -> list[SnapshotNode]:
    asked = {key for pod in [*pods.running, *pods.waiting] for key in pod.further}
    result: list[SnapshotNode] = []
    for name in sorted(nodes, key=natural_key):
        node = nodes[name]
        taken = gpus_taken(pods.sharing.get(name, ()), node.gpu_memory)
        if taken:
            ledger.add(why.SHARED_GPUS, f"{name}: {taken}")
        if node.mig:
            ledger.add(why.MIG_DEVICES, f"{name}: {', '.join(node.mig)}")
        if name in pools.mixed:
            ledger.add(why.MIXED_NODES, name)
        if name in pools.closed_by:
            ledger.add(why.CLOSED_BY_TAINT, f"{name}: {pools.closed_by[name]}")
        result.append(
            SnapshotNode(
                name=name,
                gpus=max(0, sum(node.offered.values()) - taken),
                pool=pools.of_node[name],
                schedulable=node.in_service and name not in pools.closed_by and name not in pools.mixed,
                domain=node.domain,
                resources=_resources(node, asked, found.held.get(name, {})),
            )
        )
    return result


def _resources(node: ClusterNode, asked: Collection[str], held: Mapping[str, int]) -> Map[str, int]:
    """Return what a node has of what pods with GPUs ask for, less what other pods hold of it.

    Of a device that a node does not name it has none; where it does not name CPU or memory, somebody has trimmed it.
    """
    has = {key: node.further.get(key, 0) for key in asked if key in node.further or "/" in key}
    return Map({key: max(0, amount - held.get(key, 0)) for key, amount in has.items()})
