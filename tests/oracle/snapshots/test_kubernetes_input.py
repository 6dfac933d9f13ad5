"""Kubernetes: the forms in which nodes and pods arrive, and what is said of those that are no use."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
import yaml

from oracle.snapshots.detection import detect
from oracle.snapshots.document import Document
from oracle.snapshots.kubernetes import is_kubernetes, read_kubernetes
from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotError, SnapshotNode
from tests.oracle.snapshots.kubernetes_objects import GPU, Json, cpu_node, left_out, listing, node, pod, read

EXPECTED = Snapshot.build(
    nodes=[SnapshotNode(name="n0", gpus=8)],
    jobs=[RunningJob(name="default/web-1", instances=(RunningInstance(node="n0", gpus=1, name="p0"),))],
)
SERVICE: Json = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"containers": 3}}


def document(value: object, name: str = "all.json") -> Document:
    return Document(name, json.dumps(value).encode())


def as_yaml(*values: object, head: str = "") -> Document:
    dumped = [yaml.safe_dump(value) for value in values]  # pyright: ignore[reportUnknownMemberType]  # half typed stubs
    documents = "---\n".join(dumped)
    return Document("all.yaml", (head + documents).encode())


def without_kind(item: Json) -> Json:
    return {key: value for key, value in item.items() if key not in {"kind", "apiVersion"}}


class TestForms:
    """The same objects mean the same cluster, in whatever form kubectl or a script prints them."""

    def test_one_list(self) -> None:
        assert read(node(), pod()) == EXPECTED

    def test_a_list_of_nodes_and_a_list_of_pods_in_any_order(self) -> None:
        parts = [listing(node(), name="nodes.json"), listing(pod(), name="pods.json"), listing(name="empty.json")]
        assert all(read_kubernetes(order) == EXPECTED for order in permutations(parts))

    def test_typed_lists_whose_items_do_not_repeat_their_kind(self) -> None:
        nodes = listing(without_kind(node()), kind="NodeList")
        assert read_kubernetes([nodes, listing(without_kind(pod()), kind="PodList")]) == EXPECTED

    def test_single_objects(self) -> None:
        assert read_kubernetes([document(node()), document(pod())]) == EXPECTED

    def test_lists_within_lists(self) -> None:
        inner = {"apiVersion": "v1", "kind": "List", "items": [pod()]}
        assert read(node(), inner) == EXPECTED

    def test_a_bare_array(self) -> None:
        assert read_kubernetes([document([node(), pod()])]) == EXPECTED

    def test_a_list_that_does_not_say_so(self) -> None:
        assert read_kubernetes([document({"items": [node(), pod()]})]) == EXPECTED

    @pytest.mark.parametrize("head", ["", "# Please edit the object below.\n#\n", "---\n---\n"])
    def test_yaml_documents(self, head: str) -> None:
        assert read_kubernetes([as_yaml(node(), pod(), head=head)]) == EXPECTED

    def test_a_yaml_list_and_a_yaml_array(self) -> None:
        assert read_kubernetes([as_yaml({"kind": "List", "items": [node(), pod()]})]) == EXPECTED
        assert read_kubernetes([as_yaml([node(), pod()])]) == EXPECTED

    def test_yaml_and_json_together(self) -> None:
        assert read_kubernetes([as_yaml(node()), listing(pod())]) == EXPECTED

    def test_a_value_a_line(self) -> None:
        lines = b"\n".join(json.dumps(item).encode() for item in (node(), pod()))
        for content in (lines, b"\n" + lines + b"\r\n"):
            assert detect(Document("x", content)) == "kubernetes"
            assert read_kubernetes([Document("x", content)]) == EXPECTED

    @pytest.mark.parametrize("bare", [False, True])
    def test_a_list_for_each_kind(self, bare: bool) -> None:
        nodes, pods = [node()], [pod()]
        if bare:
            nodes, pods = [without_kind(item) for item in nodes], [without_kind(item) for item in pods]
        sections = {"pods": pods, "nodes": nodes, "pvs": [], "priorityClasses": None}
        for value in (sections, {"config": {}, "rawObjects": sections}):
            assert detect(document(value)) == "kubernetes"
            assert read_kubernetes([document(value)]) == EXPECTED
            assert read_kubernetes([as_yaml(value)]) == EXPECTED

    def test_an_array_is_told_from_others(self) -> None:
        assert detect(document([None, node(), pod()])) == "kubernetes"
        for other in ([], [1], [{"name": "n0"}]):
            with pytest.raises(SnapshotError, match="cannot tell what this is"):
                detect(document(other))

    def test_white_space_before_json(self) -> None:
        content = listing(node(), pod()).content
        assert read_kubernetes([Document("x", b"\n \t" + content)]) == EXPECTED


class TestOtherObjects:
    """What is neither node nor pod is counted and skipped, whatever its fields look like."""

    def test_other_kinds_are_listed(self) -> None:
        snapshot = read(node(), SERVICE, pod())
        assert snapshot == EXPECTED
        assert left_out(snapshot)[why.OTHER_OBJECTS] == ("Service at all.json: items[1]",)

    def test_a_node_of_another_api_group_is_no_node(self) -> None:
        longhorn = {"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "n0"}, "status": 1}
        snapshot = read(node(), pod(), longhorn)
        assert snapshot == EXPECTED
        assert left_out(snapshot)[why.OTHER_OBJECTS] == ("Node (longhorn.io/v1beta2) at all.json: items[2]",)

    def test_a_typed_list_of_another_api_group(self) -> None:
        foreign = {"apiVersion": "longhorn.io/v1beta2", "kind": "NodeList", "items": [without_kind(node("x"))]}
        assert read(node(), pod(), foreign) == EXPECTED

    def test_null_items_are_listed(self) -> None:
        for snapshot in (read(node(), None, pod()), read_kubernetes([as_yaml([node(), None, pod()])])):
            assert snapshot == EXPECTED
            assert len(left_out(snapshot)[why.NULL_ITEMS]) == 1

    def test_secrets_are_never_decoded(self) -> None:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": 7, "data": {"x": "eA=="}}
        assert read(node(), secret, pod()) == EXPECTED


class TestEmptiness:
    """An empty cluster is a result; half a cluster is not, it would be taken for an empty or an idle one."""

    @pytest.mark.parametrize("items", [[], None])
    def test_a_list_without_items(self, items: object) -> None:
        assert read_kubernetes([document({"kind": "List", "apiVersion": "v1", "items": items})]) == Snapshot.build(
            nodes=[]
        )

    def test_lists_that_lack_their_items(self) -> None:
        assert read_kubernetes([document({"kind": "NodeList"}), document({"kind": "PodList"})]).nodes == ()

    def test_empty_lists_of_nodes_and_pods(self) -> None:
        for documents in ([listing()], [listing(kind="NodeList")], [listing(kind="NodeList"), listing(kind="PodList")]):
            snapshot = read_kubernetes(documents)
            assert (snapshot.nodes, snapshot.skipped) == ((), ())

    def test_a_list_of_nodes_in_a_cluster_without_pods(self) -> None:
        snapshot = read(node())
        assert snapshot.nodes == EXPECTED.nodes
        assert left_out(snapshot)[why.NO_PODS] == ("all.json",)

    def test_an_explicit_list_of_no_pods_is_taken_at_its_word(self) -> None:
        snapshot = read_kubernetes([listing(node(), kind="NodeList"), listing(kind="PodList")])
        assert snapshot.nodes == EXPECTED.nodes
        assert left_out(snapshot) == {}

    @pytest.mark.parametrize("kind", ["List", "NodeList"])
    @pytest.mark.parametrize("pods", [listing(), listing(kind="PodList")])
    def test_a_list_of_its_own_without_pods_says_that_there_are_none(self, kind: str, pods: Document) -> None:
        nodes = listing(node(), kind=kind)
        for documents in ([nodes, pods], [pods, nodes]):
            assert read_kubernetes(documents).skipped == ()

    def test_a_list_of_other_things_says_nothing_of_pods(self) -> None:
        with pytest.raises(SnapshotError, match="nodes, but no pods"):
            read_kubernetes([listing(node(), kind="NodeList"), listing(SERVICE, kind="ServiceList")])
        assert left_out(read_kubernetes([listing(node()), listing(SERVICE)]))[why.NO_PODS] == ("all.json, all.json",)

    @pytest.mark.parametrize(
        ("status", "trace"),
        [
            ({"images": [{"names": ["registry/cuda:12"]}]}, "there are images of containers"),
            ({"volumesInUse": ["kubernetes.io/csi/ebs^vol-1"], "images": None}, "volumes are in use"),
        ],
    )
    def test_nodes_alone_are_refused_where_pods_have_left_traces(self, status: Json, trace: str) -> None:
        used = node("used")
        used["status"] = {"allocatable": {GPU: "8"}} | status
        for listed in (listing(node(), used), as_yaml({"kind": "List", "items": [node(), used]})):
            with pytest.raises(SnapshotError) as caught:
                read_kubernetes([listed])
            problem = f"nodes, but no pods, so that a busy cluster would look empty ({trace} on node 'used'); add "
            assert problem in str(caught.value)
        assert left_out(read_kubernetes([listing(node(), used), listing()])) == {}
        assert left_out(read(node(), used, pod(gpus=0))) == {why.PODS_WITHOUT_GPUS: ("default/p0",)}

    def test_pods_of_one_namespace_may_not_be_all(self) -> None:
        def told(*items: Json) -> list[tuple[str, ...]]:
            return [entry.items for entry in read(node(), *items).skipped if entry.reason == why.ONE_NAMESPACE]

        team, other = pod(namespace="team"), pod("other", namespace="team")
        assert told(team, other) == [("team",)]
        assert told(pod(gpus=0, namespace="team")) == [("team",)]
        assert told(team, pod(namespace="b")) == []
        assert told(team, pod("proxy", gpus=0, namespace="kube-system")) == []
        # An idle cluster runs nothing but itself.
        assert told(pod("proxy", gpus=0, namespace="kube-system")) == []
        assert told() == []

    @pytest.mark.parametrize("nodes", [listing(node(), kind="NodeList"), document(node())])
    def test_nodes_alone_are_refused(self, nodes: Document) -> None:
        with pytest.raises(
            SnapshotError, match=r"^all\.json: nodes, but no pods.* add the output of `kubectl get pods"
        ):
            read_kubernetes([nodes])

    @pytest.mark.parametrize("kind", ["List", "PodList"])
    def test_pods_alone_are_refused(self, kind: str) -> None:
        with pytest.raises(SnapshotError, match=r"^all\.json: pods, but no nodes; .*`kubectl get nodes -o json`"):
            read_kubernetes([listing(pod(gpus=0), kind=kind)])

    def test_an_empty_list_of_pods_alone_is_refused(self) -> None:
        with pytest.raises(
            SnapshotError, match=r"^all\.json: no nodes; expected the output of `kubectl get nodes,pods"
        ):
            read_kubernetes([listing(kind="PodList")])

    def test_services_alone_are_refused(self) -> None:
        with pytest.raises(SnapshotError, match=r"^all\.json: no nodes; "):
            read(SERVICE)

    @pytest.mark.parametrize("content", [b"", b" \n", b"---\n", b"# nothing\n"])
    def test_an_empty_input_is_refused(self, content: bytes) -> None:
        with pytest.raises(SnapshotError, match="the input is empty; expected"):
            read_kubernetes([Document("x", content)])


class TestFaults:
    """A message has one line that says where, what stood there and what was expected."""

    @pytest.mark.parametrize(
        ("item", "message"),
        [
            ({"apiVersion": "v1"}, r"items\[1\]\.kind: missing; expected Node, Pod or List"),
            (7, r"items\[1\]: Expected 'object', got 'int'"),
            ({**pod(), "metadata": {}}, r"items\[1\]\.metadata\.name: missing; every pod has a name"),
            ({**pod(), "metadata": None}, r"items\[1\]\.metadata\.name: missing; every pod has a name"),
            ({**node(), "metadata": {}}, r"items\[1\]\.metadata\.name: missing; every node has a name"),
            ({**node(), "metadata": None}, r"items\[1\]\.metadata\.name: missing; every node has a name"),
            ({**pod(), "spec": []}, r"items\[1\]\.spec: Expected 'object \| null', got 'array'"),
            ({**node("n1"), "spec": {"taints": [{"key": 1}]}}, r"items\[1\]\.spec\.taints\[0\]\.key: Expected 'str'"),
            (pod(phase="Crashed"), r"items\[1\]\.status\.phase: expected one of Failed, .*Unknown, got 'Crashed'"),
            (node(), r"items\[1\]\.metadata\.name: node 'n0' is listed twice, first at all\.(json|yaml): items\[0\]$"),
            (pod(node="n9"), r"items\[1\]\.spec\.nodeName: no node is named 'n9'; were all nodes printed"),
            (
                pod(node=None, phase="Running"),
                r"items\[1\]\.spec\.nodeName: missing; expected the node that pod default/p0",
            ),
        ],
    )
    def test_the_path_to_the_item(self, item: object, message: str) -> None:
        for document in (listing(node(), item), as_yaml({"kind": "List", "items": [node(), item]})):
            with pytest.raises(SnapshotError, match=message) as caught:
                read_kubernetes([document])
            assert str(caught.value).startswith(f"{document.name}: items[1]")
            assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("number", [".inf", ".nan", "-.inf", "1.5"])
    def test_numbers_only_yaml_has(self, number: str) -> None:
        text = f"kind: Node\nmetadata: {{name: n}}\nstatus: {{allocatable: {{nvidia.com/gpu: {number}}}}}"
        with pytest.raises(
            SnapshotError, match=r'^x: status\.allocatable\["nvidia\.com/gpu"\]: expected a whole number'
        ):
            read_kubernetes([Document("x", text.encode())])

    def test_a_pod_listed_twice(self) -> None:
        message = (
            r"^b\.json: items\[0\]\.metadata\.name: pod 'default/p0' is listed twice, first at a\.json: items\[1\]$"
        )
        with pytest.raises(SnapshotError, match=message):
            read_kubernetes([listing(node(), pod(gpus=0), name="a.json"), listing(pod(gpus=0), name="b.json")])
        assert len(read(node(), pod(namespace="a"), pod(namespace="b")).jobs) == 2

    def test_a_node_listed_twice_as_a_single_object(self) -> None:
        message = r"^b\.json: metadata\.name: node 'n0' is listed twice, first at a\.json$"
        with pytest.raises(SnapshotError, match=message):
            read_kubernetes([document(node(), "a.json"), document(node(), "b.json")])

    def test_the_path_in_a_single_object(self) -> None:
        with pytest.raises(SnapshotError, match=r"^pod\.json: spec\.nodeName: Expected 'str \| null', got 'int'$"):
            read_kubernetes([listing(node()), document({**pod(), "spec": {"nodeName": 3}}, "pod.json")])

    def test_the_path_in_one_of_several_yaml_documents(self) -> None:
        with pytest.raises(SnapshotError, match=r"^all\.yaml: documents\[1\]\.spec\.nodeName: no node is named 'n9'"):
            read_kubernetes([as_yaml(node(), pod(node="n9"))])

    def test_the_path_through_nested_lists(self) -> None:
        inner = {"kind": "List", "items": [pod(node="n9")]}
        with pytest.raises(SnapshotError, match=r"^all\.json: items\[1\]\.items\[0\]\.spec\.nodeName: "):
            read(node(), inner)

    def test_truncated_json(self) -> None:
        content = listing(node(), pod()).content
        for end in range(1, len(content)):
            with pytest.raises(SnapshotError, match=r"^x: not valid JSON: "):
                read_kubernetes([Document("x", content[:end])])

    def test_as_much_nesting_as_scripts_make(self) -> None:
        value: Json = {"kind": "List", "items": [node(), pod()]}
        for _ in range(7):
            value = {"kind": "List", "items": [value]}
        assert read_kubernetes([document(value)]) == EXPECTED
        with pytest.raises(SnapshotError, match="lists nested more than 8 deep"):
            read(value)

    @pytest.mark.parametrize("count", [10, 1_000, 100_000])
    def test_nesting_without_end(self, count: int) -> None:
        lists = '{"kind":"List","items":[' * count + "]}" * count
        for content in (lists, "[" * count + "]" * count):
            with pytest.raises(SnapshotError, match="nested"):
                read_kubernetes([Document("x", content.encode())])


class TestNothingLost:
    """Every node and pod is in the snapshot, or in its list of what was left out."""

    def test_all_reasons_together(self) -> None:
        items = [
            node("n0"),
            node("n1", key="alpha.kubernetes.io/nvidia-gpu"),
            cpu_node("n2"),
            node("n3", 7, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}),
            node("n4", 32, labels={"nvidia.com/gpu.replicas": "4"}),
            node("n5", allocatable={"nvidia.com/gpu": "1", "nvidia.com/mig-1g.5gb": "7"}),
            pod("running"),
            pod("waiting", node=None, owner=("Job", "j")),
            pod("finished", phase="Succeeded"),
            pod("failed", phase="Failed"),
            pod("idle", 0),
            pod("old", key="alpha.kubernetes.io/nvidia-gpu", node="n1"),
            pod("mig", key="nvidia.com/mig-1g.5gb", node="n5"),
            pod("on-slice", node="n3"),
            pod("on-replica", node="n4"),
            pod("share", asked={}, annotations={"gpu-fraction": "0.5"}),
            pod("leaving", node=None, deleted=True),
            pod("claims", 0, resourceClaims=[{"name": "gpu"}]),
            {**pod("bare"), "spec": None},
            None,
            SERVICE,
        ]
        snapshot = read(*items)
        assert [n.name for n in snapshot.nodes] == ["n0", "n5"]
        assert left_out(snapshot) == {
            why.NODES_UNCOUNTED: ("n1: alpha.kubernetes.io/nvidia-gpu",),
            why.NODES_WITHOUT_GPUS: ("n2",),
            why.NODES_WITHOUT_POOL_LABEL: ("n0", "n5"),  # of 8 GPUs and of 1
            why.NODES_MIG: ("n3",),
            why.NODES_SHARED: ("n4",),
            why.MIG_DEVICES: ("n5: 7 nvidia.com/mig-1g.5gb",),
            why.PODS_FINISHED: ("default/failed", "default/finished"),
            why.PODS_WITHOUT_GPUS: ("default/idle",),
            why.PODS_UNCOUNTED: ("default/old: alpha.kubernetes.io/nvidia-gpu",),
            why.PODS_MIG: ("default/mig",),
            why.PODS_ON_LEFT_OUT: ("default/on-replica", "default/on-slice"),
            why.PODS_SHARED: ("default/share",),
            why.SHARED_GPUS: ("n0: 1",),
            why.PODS_LEAVING: ("default/leaving",),
            why.PODS_CLAIMS: ("default/claims",),
            why.PODS_WITHOUT_SPEC: ("default/bare",),
            why.NULL_ITEMS: ("all.json: items[19]",),
            why.OTHER_OBJECTS: ("Service at all.json: items[20]",),
        }

    def test_absent_and_null_fields_are_the_same(self) -> None:
        nulls = {"labels": None, "annotations": None, "ownerReferences": None}
        bare_pod = {
            "kind": "Pod",
            "metadata": {"name": "p", **nulls},
            "spec": {"containers": None, "tolerations": None},
        }
        bare_node = {"kind": "Node", "metadata": {"name": "n", **nulls}, "spec": None, "status": None}
        snapshot = read(node(), bare_node, bare_pod, {**pod("q"), "status": None})
        assert left_out(snapshot) == {why.NODES_WITHOUT_GPUS: ("n",), why.PODS_WITHOUT_GPUS: ("default/p",)}
        assert len(snapshot.jobs) == 1


class TestDetection:
    """`is_kubernetes` looks at the top-level keys alone."""

    @pytest.mark.parametrize(
        "probe",
        [
            {"kind": "List"},
            {"kind": "NodeList", "items": []},
            {"kind": "Pod", "apiVersion": "v1"},
            {"kind": "Service", "apiVersion": "v1"},
            {"items": []},
        ],
    )
    def test_kubernetes(self, probe: Json) -> None:
        assert is_kubernetes(probe)

    @pytest.mark.parametrize(
        "probe", [{}, {"schema": "x", "items": []}, {"nodes": []}, {"kind": 3}, {"kind": "Service"}]
    )
    def test_not_kubernetes(self, probe: Json) -> None:
        assert not is_kubernetes(probe)
