"""What keeps pods where they are: selectors, taints, other pods, disruption budgets, priorities.

Where a pod may be put becomes node sets, one for each constraint however many pods have it. A constraint that every
node of the snapshot meets keeps nobody from anything, and has no set.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from oracle.snapshots.kubernetes.pods import HOSTNAME, tolerates
from oracle.snapshots.kubernetes.selectors import (
    NODE_NAME,
    LabelIndex,
    Term,
    equal_to,
    holds,
    read_selector,
    read_terms,
)
from oracle.snapshots.node_sets import NodeSets

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from oracle.snapshots.kubernetes.items import Place
    from oracle.snapshots.kubernetes.nodes import ClusterNode, TaintKey
    from oracle.snapshots.kubernetes.objects import DisruptionBudget, PodAffinityTerm, PodSpec
    from oracle.snapshots.kubernetes.pods import GpuPod

Key = TypeVar("Key")

_LONGEST_NAME = 120

# Stands for pods that nobody looked for; no pod is called so.
_UNKNOWN = ""


class Placement:
    """Where each pod may be put."""

    def __init__(
        self,
        nodes: Mapping[str, ClusterNode],
        kinds: Mapping[str, frozenset[str]],
        set_aside: Mapping[str, frozenset[TaintKey]],
    ) -> None:
        self.sets = NodeSets()
        self._everywhere = frozenset(nodes)
        self._labels = {name: node.labels for name, node in nodes.items()}
        self._kinds = kinds
        self._index = LabelIndex({name: {**node.labels, NODE_NAME: name} for name, node in nodes.items()})
        self._set_aside = {name: taints for name, taints in set_aside.items() if taints}
        self._taints = frozenset(taint for taints in self._set_aside.values() for taint in taints)
        self._domains: dict[str, dict[str, tuple[str, ...]]] = {}
        self._known: dict[Hashable, tuple[str | None, frozenset[str]]] = {}
        self._selected: dict[tuple[object, ...], frozenset[str]] = {}

    def within(self, pod: GpuPod) -> tuple[str, ...]:
        """Return the names of the sets that the pod may not leave."""
        if pod.is_bound_to_node:
            return ()
        found = [*self._by_labels(pod), self._by_kind(pod), self._by_taints(pod)]
        return tuple(name for name, _ in found if name is not None)

    def selected(self, pod: GpuPod) -> frozenset[str]:
        """Return the nodes that the pod's selectors take, taints left aside."""
        found = self._by_labels(pod)
        key = tuple(name for name, _ in found)
        if key not in self._selected:
            self._selected[key] = self._everywhere.intersection(*(nodes for _, nodes in found))
        return self._selected[key]

    def domains(self, label: str) -> dict[str, tuple[str, ...]]:
        """Return the nodes of each value of a label as a set, by its name; no name for one of all nodes."""
        if label not in self._domains:
            nodes: defaultdict[str, set[str]] = defaultdict(set)
            for name, labels in self._labels.items():
                if value := labels.get(label):
                    nodes[value].add(name)
            named = {
                value: self._set("topology", (label, value), f"{label}={value}", names.copy)[0]
                for value, names in sorted(nodes.items())
            }
            self._domains[label] = {value: () if name is None else (name,) for value, name in named.items()}
        return self._domains[label]

    def domain(self, label: str, node: str) -> str | None:
        """Return the value of a label that a node has."""
        return self._labels.get(node, {}).get(label)

    def _by_labels(self, pod: GpuPod) -> list[tuple[str | None, frozenset[str]]]:
        found: list[tuple[str | None, frozenset[str]]] = []
        if pod.spec.node_selector:
            term = equal_to(pod.spec.node_selector)
            found.append(self._set("selector", term, _words([term]), lambda: self._index.taken_by([term])))
        terms = required_terms(pod.place, pod.spec)
        if terms is not None:
            key = frozenset(terms)
            found.append(self._set("affinity", key, _words(terms), lambda: self._index.taken_by(terms)))
        return found

    def _by_kind(self, pod: GpuPod) -> tuple[str | None, frozenset[str]]:
        wanted = frozenset(pod.gpus)
        words = "+".join(sorted(wanted))
        return self._set("resource", wanted, words, lambda: {n for n, kinds in self._kinds.items() if wanted <= kinds})

    def _by_taints(self, pod: GpuPod) -> tuple[str | None, frozenset[str]]:
        tolerations = pod.spec.tolerations or ()
        kept_off = frozenset(t for t in self._taints if not tolerates(tolerations, t.key, t.value, t.effect))
        words = "without " + ", ".join(sorted(map(str, kept_off)))
        return self._set("taint", kept_off, words, lambda: self._everywhere - self._tainted(kept_off))

    def _tainted(self, taints: frozenset[TaintKey]) -> frozenset[str]:
        return frozenset(name for name, own in self._set_aside.items() if own & taints)

    def _set(
        self, kind: str, constraint: Hashable, words: str, nodes: Callable[[], Iterable[str]]
    ) -> tuple[str | None, frozenset[str]]:
        if (kind, constraint) not in self._known:
            found = frozenset(nodes())
            text = f"{kind} {words}"
            text = text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."
            name = None if found == self._everywhere else self.sets.name_of(kind, constraint, text, lambda: found)
            self._known[kind, constraint] = name, found
        return self._known[kind, constraint]


def required_terms(place: Place, spec: PodSpec) -> tuple[Term, ...] | None:
    """Return the alternatives of a pod's required node affinity, None if it has none."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None:
        return None
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    return read_terms(place.at(path), required.node_selector_terms or ())


@dataclass(frozen=True, slots=True)
class Apartness(Generic[Key]):
    """Which jobs keep their pods on different nodes, which pods require something else of others, and of which."""

    distinct: frozenset[Key]
    tied: frozenset[str]
    shunned: frozenset[str]


def read_apartness(jobs: Mapping[Key, Sequence[GpuPod]]) -> Apartness[Key]:
    """Return what pods require of other pods.

    Required anti-affinity on the host name that takes the pods of the own job, and no other pod with GPUs, is told by
    one word. Whatever else is required is not: pods with it are named, and the pods near which they must not be.
    """
    concerned = {key: pods for key, pods in jobs.items() if any(map(_has_pod_affinity, pods))}
    if not concerned:
        return Apartness(frozenset(), frozenset(), frozenset())
    selected = _SelectedPods(pod for pods in jobs.values() for pod in pods)
    distinct: set[Key] = set()
    tied: set[str] = set()
    shunned: set[str] = set()
    for key, pods in concerned.items():
        names = frozenset(pod.name for pod in pods)
        taken = {pod.name: [selected.by(pod, selector) for selector in _pod_terms(pod)] for pod in pods}
        # Pods that are kept from some of their own job only are told by no word, either.
        if all(names in sets for sets in taken.values()):
            distinct.add(key)
        tied |= {name for name, sets in taken.items() if any(found and found != names for found in sets)}
        shunned |= frozenset[str]().union(*(found for sets in taken.values() for found in sets)) - names - {_UNKNOWN}
    return Apartness(frozenset(distinct), frozenset(tied), frozenset(shunned))


class _SelectedPods:
    """The pods with GPUs that selectors take."""

    def __init__(self, pods: Iterable[GpuPod]) -> None:
        labels: dict[str, dict[str, Mapping[str, str | None]]] = {}
        for pod in pods:
            labels.setdefault(pod.namespace, {})[pod.name] = pod.metadata.labels or {}
        self._indexes = {namespace: LabelIndex(own) for namespace, own in labels.items()}
        self._taken: dict[tuple[str, Term], frozenset[str]] = {}

    def by(self, pod: GpuPod, selector: Term | None) -> frozenset[str]:
        """Return the pods of a pod's namespace that a selector takes; some other pod where there is no selector."""
        if selector is None:
            return frozenset({_UNKNOWN})
        key = pod.namespace, selector
        if key not in self._taken:
            self._taken[key] = self._indexes[pod.namespace].taken_by([selector])
        return self._taken[key]


def _has_pod_affinity(pod: GpuPod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and any(
        part is not None and part.required_during_scheduling_ignored_during_execution
        for part in (affinity.pod_affinity, affinity.pod_anti_affinity)
    )


def _pod_terms(pod: GpuPod) -> list[Term | None]:
    """Return the selectors of a pod's anti-affinity on the host name; None for a requirement of another sort."""
    affinity = pod.spec.affinity
    if affinity is None:
        return []
    near = affinity.pod_affinity.required_during_scheduling_ignored_during_execution if affinity.pod_affinity else None
    away = affinity.pod_anti_affinity
    terms = (away.required_during_scheduling_ignored_during_execution if away else None) or []
    place = pod.place.at("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution")
    found: list[Term | None] = [None for _ in near or ()]
    for n, term in enumerate(terms):
        if term.label_selector is None and _in_own_namespace(term, pod):
            continue  # it takes no pod
        is_plain = term.topology_key == HOSTNAME and _in_own_namespace(term, pod)
        selector = term.label_selector
        found.append(
            read_selector(place.at(f"[{n}].labelSelector"), selector) if is_plain and selector is not None else None
        )
    return found


def _in_own_namespace(term: PodAffinityTerm, pod: GpuPod) -> bool:
    return term.namespace_selector is None and set(term.namespaces or [pod.namespace]) == {pod.namespace}


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget: the pods of one namespace that it counts, and how many of them may be evicted now."""

    namespace: str
    name: str
    selector: Term | None
    allowed: int | None

    def counts(self, pod: GpuPod) -> bool:
        """Return whether a pod of its namespace counts in it."""
        return self.selector is not None and holds(self.selector, pod.metadata.labels or {})


def read_budget(place: Place, budget: DisruptionBudget) -> Budget:
    """Return what the snapshot needs to know of a PodDisruptionBudget.

    Raises
    ------
    SnapshotError
        It has no name, or allows fewer than no disruptions.
    """
    metadata = budget.metadata
    if metadata is None or not metadata.name:
        raise place.error("metadata.name", "missing; every disruption budget has a name")
    allowed = budget.status.disruptions_allowed if budget.status else None
    if allowed is not None and allowed < 0:
        raise place.error("status.disruptionsAllowed", f"expected at least 0, got {allowed}")
    selector = budget.spec.selector if budget.spec else None
    term = None if selector is None else read_selector(place.at("spec.selector"), selector)
    return Budget(metadata.namespace or "default", metadata.name, term, allowed)


class Budgets:
    """The budgets of a cluster, found by a label that they ask for."""

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self._by_label: dict[tuple[str, str, str] | str, list[Budget]] = {}
        for budget in budgets:
            self._by_label.setdefault(_label_of(budget), []).append(budget)

    def of(self, pod: GpuPod) -> list[Budget]:
        """Return the budgets in which a pod counts, by name."""
        labels = pod.metadata.labels or {}
        found = [*self._by_label.get(pod.namespace, ())]
        for key, value in labels.items():
            found += self._by_label.get((pod.namespace, key, value or ""), ())
        return sorted((budget for budget in found if budget.counts(pod)), key=lambda budget: budget.name)


def _label_of(budget: Budget) -> tuple[str, str, str] | str:
    equal = (c for c in budget.selector or () if c.operator == "In" and len(c.values) == 1)
    least = min(equal, key=lambda c: (c.key, c.values), default=None)
    return budget.namespace if least is None else (budget.namespace, least.key, least.values[0])


def _words(terms: Iterable[Term]) -> str:
    return " or ".join(sorted(", ".join(sorted(map(str, term))) for term in terms)) or "that takes no node"
