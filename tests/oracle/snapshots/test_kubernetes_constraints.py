"""Kubernetes: where pods may be put, what else they hold, who waits and what starts together."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.model import SnapshotError
from tests.oracle.snapshots.kubernetes_objects import (
    GPU,
    PRODUCT,
    Json,
    left_out,
    node,
    only_instance,
    only_job,
    only_pending,
    pod,
    read,
)

if TYPE_CHECKING:
    from oracle.snapshots.model import Snapshot

HOST = "kubernetes.io/hostname"
WEB: Json = {"matchLabels": {"app": "web"}}
GATE = [{"name": "kueue.x-k8s.io/admission"}]


def allowed(snapshot: Snapshot, names: tuple[str, ...]) -> set[str]:
    sets = {node_set.name: node_set.nodes for node_set in snapshot.node_sets}
    return {n.name for n in snapshot.nodes if all(n.name in sets[name] for name in names)}


def required(*terms: list[Json], fields: list[Json] | None = None) -> Json:
    listed: list[Json] = [{"matchExpressions": term} for term in terms]
    if fields is not None:
        listed.append({"matchFields": fields})
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": listed}}}


def on(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": [*values]}


def takes(requirement: Json, labels: dict[str, str]) -> bool:
    """Return whether a node has what is required: the words of the API's documentation, one by one."""
    key, operator = str(requirement["key"]), requirement["operator"]
    values = cast("list[str]", requirement["values"])
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if key not in labels or not labels[key].lstrip("-").isdecimal():
        return False
    return int(labels[key]) > int(values[0]) if operator == "Gt" else int(labels[key]) < int(values[0])


LABELS = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "1", "-2", "10"]), max_size=2)
REQUIREMENTS = st.one_of(
    st.builds(on, st.sampled_from(["a", "b"]), st.sampled_from(["In", "NotIn"]), st.sampled_from(["x", "1"])),
    st.builds(on, st.sampled_from(["a", "b"]), st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(on, st.sampled_from(["a", "b"]), st.sampled_from(["Gt", "Lt"]), st.sampled_from(["-3", "1", "5"])),
)


class TestNodes:
    """Selectors, affinity, taints and kinds of GPU become the nodes on which a pod may be put."""

    @given(
        nodes=st.lists(LABELS, min_size=1, max_size=4),
        terms=st.lists(st.lists(REQUIREMENTS, min_size=1, max_size=2), min_size=1, max_size=2),
        selector=LABELS,
    )
    def test_labels(self, nodes: list[dict[str, str]], terms: list[list[Json]], selector: dict[str, str]) -> None:
        items = [node(f"n{i}", labels=labels) for i, labels in enumerate(nodes)]
        snapshot = read(*items, pod(node=None, nodeSelector=selector, affinity=required(*terms)))
        right = {
            f"n{i}"
            for i, labels in enumerate(nodes)
            if any(all(takes(one, labels) for one in term) for term in terms) and selector.items() <= labels.items()
        }
        assert allowed(snapshot, snapshot.pending[0].within) == right

    def test_names(self) -> None:
        fields = [on("metadata.name", "In", "n1")]
        snapshot = read(node("n0"), node("n1"), pod(node=None, affinity=required(fields=fields)))
        assert allowed(snapshot, snapshot.pending[0].within) == {"n1"}

    def test_an_operator_that_kubernetes_does_not_have(self) -> None:
        affinity = required([on("a", "Like", "x")])
        with pytest.raises(SnapshotError, match=r"matchExpressions\[0\]\.operator: expected one of In, .* got 'Like'$"):
            read(node(), pod(affinity=affinity))

    def test_taints(self) -> None:
        taint: Json = {"key": "team", "value": "a", "effect": "NoSchedule"}
        mine = [{"key": "team", "operator": "Equal", "value": "a"}]
        items = [node("n0", taints=[taint]), node("n1")]
        snapshot = read(*items, pod("a", tolerations=mine), pod("b", node="n1", owner=("Job", "b")))
        within = {job.name: allowed(snapshot, job.instances[0].within) for job in snapshot.jobs}
        assert within == {"default/web-1": {"n0", "n1"}, "default/b": {"n1"}}

    def test_kinds_of_gpu(self) -> None:
        snapshot = read(node("n0"), node("n1", key="amd.com/gpu"), pod())
        assert allowed(snapshot, snapshot.jobs[0].instances[0].within) == {"n0"}

    def test_equal_constraints_are_one_set_and_what_all_nodes_meet_is_none(self) -> None:
        items = [node(f"n{i}", labels={"zone": "a", "team": f"{i % 2}"}) for i in range(4)]
        pods = [pod(f"p{i}", node=f"n{i % 2}", nodeSelector={"zone": "a", "team": f"{i % 2}"}) for i in range(8)]
        assert len(read(*items, *pods).node_sets) == 2
        assert read(*items, pod(nodeSelector={"zone": "a"})).node_sets == ()

    def test_a_team_stays_on_its_nodes(self) -> None:
        """Same product, two teams' nodes, every pod has a selector."""
        items = [node(name, labels={PRODUCT: "H100", "team": team}) for name, team in (("n1", "a"), ("n2", "b"))]
        snapshot = read(
            *items,
            pod("pa", 4, node="n1", nodeSelector={"team": "a"}, owner=("ReplicaSet", "a")),
            pod("pb", 4, node="n2", nodeSelector={"team": "b"}, owner=("ReplicaSet", "b")),
            pod("w", 8, node=None, nodeSelector={"team": "b"}, owner=("ReplicaSet", "w")),
        )
        within = [allowed(snapshot, job.instances[0].within) for job in snapshot.jobs]
        assert (within, allowed(snapshot, snapshot.pending[0].within)) == ([{"n1"}, {"n2"}], {"n2"})


def apart(selector: Json, key: str = HOST, **term: object) -> Json:
    terms = [{"labelSelector": selector, "topologyKey": key, **term}]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


PREFERS = "preferredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Json = {PREFERS: [{"weight": 1, "preference": {}}]}


def reasons(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    return {note.reason: note.items for note in snapshot.not_looked_at}


class TestPods:
    """What pods require of other pods."""

    def cluster(self, affinity: Json, *more: Json) -> Snapshot:
        pods = [pod(f"p{i}", node=f"n{i}", labels={"app": "web"}, affinity=affinity) for i in range(2)]
        return read(node("n0"), node("n1"), *pods, *more)

    def test_one_pod_a_node(self) -> None:
        snapshot = self.cluster(apart(WEB))
        assert snapshot.jobs[0].distinct_nodes
        assert all(instance.movable for instance in snapshot.jobs[0].instances)
        assert snapshot.not_looked_at == ()

    @pytest.mark.parametrize(
        "affinity",
        [
            apart({"matchLabels": {"app": "web"}}, "zone"),
            apart({"matchLabels": {"app": "web"}}, namespaceSelector={}),
            {"podAffinity": apart({"matchLabels": {"app": "web"}})["podAntiAffinity"]},
        ],
    )
    def test_other_terms_keep_pods_in_place_and_are_named(self, affinity: Json) -> None:
        snapshot = self.cluster(affinity)
        assert not snapshot.jobs[0].distinct_nodes
        assert not any(instance.movable for instance in snapshot.jobs[0].instances)
        assert [(note.reason, note.items) for note in snapshot.not_looked_at] == [
            (why.TIED_TO_PODS, ("default/web-1",))
        ]

    def test_other_jobs_are_another_matter(self) -> None:
        other = pod("q", node="n1", labels={"app": "web"}, owner=("ReplicaSet", "other"))
        assert reasons(self.cluster(apart(WEB), other)) == {
            why.TIED_TO_PODS: ("default/web-1",),
            why.AWAY_FROM_PODS: ("default/other",),
        }
        apart_from_none = self.cluster(apart({"matchLabels": {"app": "nobody"}}))
        assert (apart_from_none.jobs[0].distinct_nodes, apart_from_none.not_looked_at) == (False, ())

    def test_spread(self) -> None:
        spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
        snapshot = read(node(), pod(topologySpreadConstraints=spread))
        assert reasons(snapshot) == {why.TOPOLOGY_SPREAD: ("default/web-1",)}

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            ({"affinity": {"nodeAffinity": PREFERRED}}, why.PREFERENCES),
            ({"affinity": {"podAffinity": PREFERRED}}, why.PREFERENCES),
            ({"affinity": {"podAntiAffinity": PREFERRED}}, why.PREFERENCES),
            ({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}, why.PREFERENCES),
            ({"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "a"}}]}, why.VOLUMES),
            (
                {
                    "volumes": [
                        {"name": "a", "hostPath": {"path": "/dev"}},
                        {"name": "b", "emptyDir": {"medium": "Memory"}},
                    ]
                },
                None,
            ),
            ({"affinity": {"nodeAffinity": {PREFERS: None}}, "volumes": None, "topologySpreadConstraints": None}, None),
        ],
    )
    def test_what_else_is_named(self, spec: Json, expected: str | None) -> None:
        waiting = pod("w", node=None, owner=("Job", "w"), **spec)  # type: ignore[arg-type]  # a spec has fields of any type
        snapshot = read(node(), pod(**spec), waiting)  # type: ignore[arg-type]  # as above
        assert reasons(snapshot) == ({} if expected is None else {expected: ("default/w", "default/web-1")})

    @pytest.mark.parametrize("sort", ["podset-required-topology", "podset-preferred-topology"])
    def test_topologies_of_queues(self, sort: str) -> None:
        snapshot = read(node(), pod(annotations={f"kueue.x-k8s.io/{sort}": "rack"}))
        assert reasons(snapshot) == {why.TOPOLOGY_DOMAIN: ("default/web-1",)}

    def test_what_belongs_to_its_node_goes_nowhere(self) -> None:
        daemon = pod(owner=("DaemonSet", "d"), affinity={"nodeAffinity": PREFERRED})
        assert reasons(read(node(), daemon)) == {}

    def test_jobs_that_are_not_in_the_snapshot_are_not_named(self) -> None:
        gated = pod(
            "g", node=None, owner=("Job", "g"), schedulingGates=[{"name": "x"}], affinity={"nodeAffinity": PREFERRED}
        )
        idle = pod("i", owner=("Job", "i"), asked={"cpu": "1"}, affinity={"nodeAffinity": PREFERRED})
        assert reasons(read(node(), gated, idle)) == {}


KUEUE, KAI = "kueue.x-k8s.io/podset-required-topology", "kai.scheduler/topology-required-placement"
RACK = "cloud/rack"


class TestTopology:
    """A gang that has to be near one another: all its pods are on nodes of one value of a label, whichever."""

    RACKS: ClassVar[list[Json]] = [node(f"n{i}", labels={RACK: f"r{i // 2}"} if i < 4 else {}) for i in range(5)]

    @staticmethod
    def gang(*nodes: str | None, key: str = KUEUE, label: str = RACK, **more: str) -> list[Json]:
        marks = {key: label, **more}
        return [
            pod(f"g-{i}", gpus=8 if on is None else 1, node=on, owner=("JobSet", "g"), annotations=marks)
            for i, on in enumerate(nodes)
        ]

    @pytest.mark.parametrize("key", [KUEUE, KAI])
    def test_a_waiting_gang(self, key: str) -> None:
        snapshot = read(*self.RACKS, pod("o", owner=("Job", "o")), *self.gang(None, None, key=key))
        (job,) = snapshot.pending
        assert job.within_one_of == ("topology cloud/rack=r0", "topology cloud/rack=r1")
        assert [allowed(snapshot, (one,)) for one in job.within_one_of] == [{"n0", "n1"}, {"n2", "n3"}]
        assert {one.kind for one in snapshot.node_sets} == {"topology"}
        assert (job.within, reasons(snapshot)) == ((), {})

    def test_a_running_gang_keeps_to_its_domain(self) -> None:
        snapshot = read(*self.RACKS, *self.gang("n2", "n3", "n2"))
        assert [allowed(snapshot, i.within) for i in snapshot.jobs[0].instances] == [{"n2", "n3"}] * 3
        assert reasons(snapshot) == {}

    def test_pods_that_join_a_running_gang_go_to_its_domain(self) -> None:
        pods = [*self.gang("n2"), pod("g-9", node=None, owner=("JobSet", "g"), annotations={KUEUE: RACK})]
        snapshot = read(*self.RACKS, *pods)
        assert (snapshot.pending[0].within_one_of, allowed(snapshot, snapshot.pending[0].within)) == ((), {"n2", "n3"})

    @pytest.mark.parametrize(
        "pods",
        [
            gang("n1", "n2"),  # in two domains
            gang("n1", "n4"),  # on a node without the label
            gang(None, None, label="unheard"),
            [*gang(None), pod("g-9", node=None, owner=("JobSet", "g"))],
            [*gang(None), pod("g-9", gpus=4, node=None, owner=("JobSet", "g"), annotations={KUEUE: RACK})],
            [*gang(None, None, **{"kueue.x-k8s.io/podset-slice-required-topology": RACK})],
            [pod(f"g-{i}", node=None, owner=("ReplicaSet", "g"), annotations={KUEUE: RACK}) for i in range(2)],
        ],
    )
    def test_what_is_named_instead(self, pods: list[Json]) -> None:
        snapshot = read(*self.RACKS, pod("o", owner=("Job", "o")), *pods)
        assert reasons(snapshot) == {why.TOPOLOGY_DOMAIN: ("default/g",)}

    def test_pod_sets_may_be_in_different_domains(self) -> None:
        pods = [
            pod(f"g-{i}", node=None, owner=("JobSet", "g"), annotations={KUEUE: RACK},
                labels={"kueue.x-k8s.io/podset": f"set{i}"}) for i in range(2)
        ]  # fmt: skip
        snapshot = read(*self.RACKS, pod("o", owner=("Job", "o")), *pods)
        assert (snapshot.pending[0].within_one_of, [*reasons(snapshot)]) == ((), [why.TOPOLOGY_DOMAIN])

    def test_a_group_of_a_leader_worker_set_is_alone_too_which_is_named(self) -> None:
        key = "leaderworkerset.sigs.k8s.io/exclusive-topology"
        snapshot = read(*self.RACKS, pod("o", owner=("Job", "o")), *self.gang(None, None, key=key))
        assert len(snapshot.pending[0].within_one_of) == 2
        assert reasons(snapshot) == {why.TOPOLOGY_DOMAIN: ("default/g",)}

    def test_a_workload_says_it_in_a_field_of_its_own(self) -> None:
        asked: Json = {"containers": [{"name": "c", "resources": {"requests": {GPU: "8"}}}]}
        sets: list[Json] = [
            {"name": name, "count": 2, "template": {"spec": asked}, "topologyRequest": {"required": RACK}}
            for name in "ab"
        ]
        snapshot = read(*self.RACKS, pod("o", owner=("Job", "o")), workload(owner="train", podSets=sets[:1]))
        assert (len(snapshot.pending[0].within_one_of), reasons(snapshot)) == (2, {})
        snapshot = read(*self.RACKS, pod("o", owner=("Job", "o")), workload(owner="train", podSets=sets))
        assert snapshot.pending[0].within_one_of == ()
        assert reasons(snapshot) == {why.TOPOLOGY_DOMAIN: ("default/train",)}

    def test_one_domain_for_all_says_nothing(self) -> None:
        nodes = [node(f"n{i}", labels={RACK: "r"}) for i in range(2)]
        snapshot = read(*nodes, pod("o", owner=("Job", "o")), *self.gang(None, None))
        assert (snapshot.pending[0].within_one_of, snapshot.node_sets, reasons(snapshot)) == ((), (), {})


class TestResources:
    """CPU and memory in millicores and MiB: what is asked for rounded up, what is there rounded down."""

    def test_what_is_left_for_pods_with_gpus(self) -> None:
        item = node(allocatable={"cpu": "10", "memory": "1073741823", GPU: "8", "rdma/hca": "4"})
        used = pod("used", asked={"cpu": "1500m", "memory": "1", GPU: "1", "rdma/hca": "1"})
        idle = pod("idle", asked={"cpu": "0.5", "memory": "1Mi"})
        snapshot = read(item, used, idle, pod("gone", asked={"cpu": "4"}, phase="Succeeded"))
        assert dict(snapshot.nodes[0].resources) == {"cpu_millicores": 9_500, "memory_mib": 1022, "rdma/hca": 4}
        (instance,) = snapshot.jobs[0].instances
        assert dict(instance.resources) == {"cpu_millicores": 1500, "memory_mib": 1, "rdma/hca": 1}

    def test_overhead_and_resources_of_the_whole_pod(self) -> None:
        extra = {"overhead": {"cpu": "250m"}, "resources": {"requests": {"cpu": "2"}}}
        found = only_instance(node(), pod(asked={"cpu": "1", GPU: "1"}, **extra))  # type: ignore[arg-type]  # a spec has fields of any type
        assert dict(found.resources) == {"cpu_millicores": 2250}

    def test_what_nobody_asks_for_is_no_limit_and_an_unknown_amount_is_none(self) -> None:
        assert dict(read(node(), pod()).nodes[0].resources) == {}
        bare = node()
        bare["status"] = {"allocatable": {GPU: "8"}}
        assert dict(read(bare, pod(asked={"cpu": "1", GPU: "1"})).nodes[0].resources) == {}
        assert dict(read(bare, pod(asked={"rdma/hca": "1", GPU: "1"})).nodes[0].resources) == {"rdma/hca": 0}

    def test_a_quantity_that_is_none(self) -> None:
        with pytest.raises(SnapshotError, match=r'limits\["cpu"\]: expected a quantity of at least 0, got \'much\'$'):
            read(node(), pod(asked={"cpu": "much", GPU: "1"}))


def budget(name: str = "web", allowed: int | None = 0, **spec: object) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        "status": {} if allowed is None else {"disruptionsAllowed": allowed},
    }


class TestBudgetsAndPriorities:
    """Which disruptions are allowed, and who matters more."""

    def test_a_budget(self) -> None:
        pods = [pod("a", labels={"app": "web"}), pod("b", labels={"app": "x"}, owner=("Job", "b"))]
        snapshot = read(node(), budget(), budget("other", 1, selector={"matchLabels": {"app": "none"}}), *pods)
        assert dict(snapshot.budgets) == {"default/web": 0}
        assert {job.name: job.instances[0].budgets for job in snapshot.jobs} == {
            "default/web-1": ("default/web",),
            "default/b": (),
        }

    @pytest.mark.parametrize(("selector", "counts"), [({}, True), (None, False)])
    def test_an_empty_selector_takes_all_pods_and_none_takes_none(self, selector: object, counts: bool) -> None:
        assert bool(only_instance(node(), budget(selector=selector), pod()).budgets) is counts

    def test_a_budget_that_does_not_say_how_many(self) -> None:
        snapshot = read(node(), budget(allowed=None), pod(labels={"app": "web"}))
        assert dict(snapshot.budgets) == {}
        assert left_out(snapshot)[why.BUDGETS_UNKNOWN] == ("default/web",)

    def test_priorities(self) -> None:
        high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
        assert only_job(node(), high, pod(priority=-3)).priority == -3
        assert only_job(node(), high, pod(priorityClassName="high")).priority == 9
        assert only_job(node(), pod()).priority is None


class TestTogether:
    """What starts as one, and what starts pod by pod."""

    @pytest.mark.parametrize(
        ("kind", "together"), [("ReplicaSet", False), ("StatefulSet", False), ("Job", False), ("PyTorchJob", True)]
    )
    def test_by_controller(self, kind: str, together: bool) -> None:
        pods = [pod(f"p{i}", 8, node=None, owner=(kind, "x")) for i in range(3)]
        found = only_pending(node(), *pods)
        assert (found.instances, found.together) == (3, together)

    def test_an_indexed_job(self) -> None:
        key = "batch.kubernetes.io/job-completion-index"
        pods = [pod(f"p{i}", 8, node=None, owner=("Job", "x"), labels={key: str(i)}) for i in range(3)]
        assert only_pending(node(), *pods).together

    def test_unlike_pods_of_a_gang_are_parts_of_one_job(self) -> None:
        marks = {"scheduling.x-k8s.io/pod-group": "g"}
        pods = [pod("a", 4, node=None, labels=marks)]
        pods += [pod(f"b{i}", 8, node=None, labels=marks, nodeSelector={PRODUCT: "H100"}) for i in range(2)]
        snapshot = read(node("n0", labels={PRODUCT: "H100"}), node("n1", labels={PRODUCT: "A100"}), *pods)
        (found,) = snapshot.pending
        assert (found.instances, found.gpus_per_instance, found.pool) == (2, 8, None)
        assert allowed(snapshot, found.within) == {"n0"}
        (part,) = found.further_parts
        assert (part.instances, part.gpus_per_instance, part.within) == (1, 4, ())

    @pytest.mark.parametrize(
        ("least", "jobs"),
        [
            (2, [("default/g", 2, True), ("default/g [more]", 2, False)]),
            (4, [("default/g", 4, True)]),
            (9, [("default/g", 4, True)]),
        ],
    )
    def test_a_group_starts_with_its_least_number(self, least: int, jobs: list[tuple[str, int, bool]]) -> None:
        group: Json = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "spec": {"minMember": least}}
        group["metadata"] = {"name": "g", "namespace": "default"}
        pods = [pod(f"p{i}", 8, node=None, labels={"scheduling.x-k8s.io/pod-group": "g"}) for i in range(4)]
        assert [(j.name, j.instances, j.together) for j in read(node(), group, *pods).pending] == jobs


def workload(status: str = "False", name: str = "job-train-x", owner: str = "", **spec: object) -> Json:
    asked = {"containers": [{"name": "c", "resources": {"requests": {GPU: "8"}}}]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": [{"kind": "Job", "name": owner, "controller": True}] if owner else [],
        },
        "spec": {"podSets": [{"name": "main", "count": 2, "template": {"spec": asked}}], **spec},
        "status": {"conditions": [{"type": "QuotaReserved", "status": status}]},
    }


def suspended(name: str = "train", labels: dict[str, str] | None = None) -> Json:
    asked = {"containers": [{"name": "c", "resources": {"limits": {GPU: "8"}}}]}
    spec = {"suspend": True, "parallelism": 4, "completions": 2, "template": {"spec": asked}}
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


QUEUE = {"kueue.x-k8s.io/queue-name": "q"}


class TestQueues:
    """Demand that a queue holds, with pods or without; and what shows that it was not printed."""

    def test_a_gate_that_a_queue_takes_away(self) -> None:
        snapshot = read(node(), pod(gpus=8, node=None, schedulingGates=GATE))
        (found,) = snapshot.pending
        assert (found.instances, found.gpus_per_instance, found.reason) == (1, 8, "gate kueue.x-k8s.io/admission")
        assert why.QUEUE_NOT_VISIBLE in left_out(snapshot)
        assert why.QUEUE_NOT_VISIBLE not in left_out(read(node(), pod(node=None, schedulingGates=GATE), workload()))

    def test_one_more_gate(self) -> None:
        gates = [*GATE, {"name": "example.com/hold"}]
        assert read(node(), pod(node=None, schedulingGates=gates)).pending == ()

    @pytest.mark.parametrize(
        "items",
        [
            [workload(owner="train")],
            [suspended(labels=QUEUE)],
            [workload(owner="train"), suspended(labels=QUEUE)],
            [suspended(labels=QUEUE), workload(owner="train")],
        ],
    )
    def test_a_job_without_pods(self, items: list[Json]) -> None:
        found = only_pending(node(), *items)
        assert (found.name, found.instances, found.gpus_per_instance, found.together) == ("default/train", 2, 8, True)

    @pytest.mark.parametrize("item", [workload("True"), workload(active=False), suspended()])
    def test_what_no_room_would_start(self, item: Json) -> None:
        assert read(node(), pod(), item).pending == ()

    def test_pods_that_are_there_tell_it_themselves(self) -> None:
        waiting = pod("x-0", 8, node=None, owner=("Job", "train"), schedulingGates=GATE)
        assert only_pending(node(), workload(owner="train"), suspended(labels=QUEUE), waiting).instances == 1

    def test_a_group_whose_pods_are_not_there(self) -> None:
        spec = {"minMember": 2, "minResources": {GPU: "16"}}
        group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "spec": spec}
        group |= {"metadata": {"name": "g", "namespace": "default"}, "status": {"phase": "Pending"}}
        assert left_out(read(node(), group))[why.QUEUED_UNCLEAR] == ("default/g: 16 GPUs for at least 2 pods",)

    def test_a_job_of_volcano_tells_the_shape_of_its_group(self) -> None:
        asked = {"containers": [{"name": "c", "resources": {"limits": {GPU: "8"}}}]}
        job: Json = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "v"}}
        job |= {"spec": {"tasks": [{"replicas": 2, "template": {"spec": asked}}]}}
        group: Json = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
        group |= {"metadata": {"name": "v-1f", "ownerReferences": [{"kind": "Job", "name": "v"}]}}
        group |= {"spec": {"minMember": 2, "minResources": {GPU: "16"}}}
        snapshot = read(node(), group, job)
        assert [(found.name, found.instances, found.together) for found in snapshot.pending] == [("default/v", 2, True)]
        assert why.QUEUED_UNCLEAR not in left_out(snapshot)
        running = job | {"status": {"state": {"phase": "Running"}}}
        assert read(node(), running, pod()).pending == ()

    @pytest.mark.parametrize(("labels", "instances"), [(QUEUE, [6]), ({}, [])])
    def test_a_suspended_job_set(self, labels: dict[str, str], instances: list[int]) -> None:
        asked = {"containers": [{"name": "c", "resources": {"limits": {GPU: "8"}}}]}
        jobs = [{"replicas": 2, "template": {"spec": {"parallelism": 3, "template": {"spec": asked}}}}]
        item: Json = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
        item |= {"metadata": {"name": "s", "labels": labels}, "spec": {"suspend": True, "replicatedJobs": jobs}}
        assert [found.instances for found in read(node(), item).pending] == instances

    def test_a_leader_worker_set(self) -> None:
        def asking(gpus: int) -> Json:
            return {"spec": {"containers": [{"name": "c", "resources": {"limits": {GPU: str(gpus)}}}]}}

        template = {"size": 3, "leaderTemplate": asking(4), "workerTemplate": asking(8)}
        item: Json = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
        item |= {"metadata": {"name": "s"}, "spec": {"replicas": 2, "leaderWorkerTemplate": template}}
        found = read(node(), item).pending
        assert [(job.name, job.instances, job.gpus_per_instance) for job in found] == [
            ("default/s-0", 2, 8),
            ("default/s-1", 2, 8),
        ]
        assert [(part.instances, part.gpus_per_instance) for part in found[0].further_parts] == [(1, 4)]


class TestProducts:
    """Where the label of the product is missing: those of clouds, else what pods choose by."""

    def test_the_label_of_a_cloud(self) -> None:
        key = "cloud.google.com/gke-accelerator"
        items = [node("n0", labels={key: "t4"}), node("n1", labels={key: "h100"})]
        assert read(*items).pools == ("h100", "t4")
        assert only_pending(*items, pod(node=None, nodeSelector={key: "h100"})).pool == "h100"

    def test_what_pods_choose_by(self) -> None:
        items = [node(f"n{i}", labels={"model": model, "rack": str(i)}) for i, model in enumerate(["t4", "h100"])]
        assert read(*items).pools == ("default",)
        assert read(*items, pod(nodeSelector={"model": "t4"})).pools == ("model=h100", "model=t4")

    def test_unlike_nodes_are_not_alike_in_silence(self) -> None:
        assert left_out(read(node("n0", 4), node("n1", 8), pod()))[why.NODES_WITHOUT_POOL_LABEL] == ("n0", "n1")
        broken = node("n1", allocatable={GPU: "7"}, capacity={GPU: "8"})
        assert left_out(read(node("n0", 8), broken, pod())) == {}
