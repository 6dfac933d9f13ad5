"""Kubernetes: GPUs that are not handed out whole are left out, and nothing they take is counted free."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.kubernetes import KubernetesOptions
from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.model import SnapshotError
from tests.oracle.snapshots.kubernetes_objects import GPU, PRODUCT, Json, left_out, node, only_node, pod, read

GROUP = "runai-gpu-group"


def fraction(
    name: str, share: str = "0.5", *, group: str = "", devices: int = 1, labels: dict[str, str] | None = None
) -> Json:
    annotations = {"gpu-fraction": share} | ({"gpu-fraction-num-devices": str(devices)} if devices > 1 else {})
    return pod(name, asked={"cpu": "1"}, annotations=annotations, labels={GROUP: group} if group else labels)


def reservation(name: str, group: str, **changes: object) -> Json:
    item = pod(name, 1, namespace="runai-reservation", owner=None, labels={GROUP: group} if group else {})
    return item | changes


def free(*items: Json) -> int:
    """Return what is left of 8 GPUs for whole-GPU pods."""
    return only_node(node(), *items).gpus


class TestFractions:
    """Run:ai and KAI: pods of one GPU group share one GPU, which a reservation pod holds for them."""

    def test_a_reservation_holds_the_gpu_of_its_group(self) -> None:
        items = [reservation("r", "g1"), fraction("a", group="g1"), fraction("b", group="g1")]
        snapshot = read(node(), *items)
        assert snapshot.nodes[0].gpus == 7
        assert snapshot.jobs == ()
        assert left_out(snapshot) == {
            why.PODS_RESERVATION: ("runai-reservation/r",),
            why.PODS_SHARED: ("default/a", "default/b"),
            why.SHARED_GPUS: ("n0: 1",),
        }

    def test_groups_without_a_reservation_take_a_gpu_each(self) -> None:
        assert free(fraction("a", group="g1"), fraction("b", group="g1"), fraction("c", group="g2")) == 6
        assert free(reservation("r", "g1"), fraction("a", group="g1"), fraction("b", group="g2")) == 6

    def test_a_reservation_that_names_no_group_stands_for_one(self) -> None:
        assert free(reservation("r", ""), fraction("a", group="g1")) == 7
        assert free(reservation("r", ""), fraction("a", group="g1"), fraction("b", group="g2")) == 6

    def test_a_pod_on_several_gpus(self) -> None:
        groups = {f"{GROUP}/g1": "g1", f"{GROUP}/g2": "g2"}
        assert free(fraction("a", labels=groups), fraction("b", group="g2")) == 6
        assert free(fraction("a", "0.1", devices=3)) == 5

    @pytest.mark.parametrize(
        ("shares", "taken"),
        [
            (["0.5"], 1),
            (["0.5", "0.5"], 1),
            (["0.5", "0.6"], 2),
            (["0.6", "0.6", "0.6"], 3),
            (["1"], 1),
            (["0.25"] * 8, 2),
        ],
    )
    def test_shares_without_a_group_are_packed(self, shares: list[str], taken: int) -> None:
        assert free(*(fraction(f"p{i}", share) for i, share in enumerate(shares))) == 8 - taken

    def test_other_labels_are_no_groups(self) -> None:
        assert free(fraction("a", labels={"app": "x", GROUP: ""}), fraction("b", labels={"app": "y"})) == 7

    def test_shares_without_a_group_are_on_reserved_gpus(self) -> None:
        assert free(reservation("r", "g1"), fraction("a"), fraction("b")) == 7
        assert free(reservation("r", "g1"), fraction("a", "0.9"), fraction("b", "0.9")) == 6

    @given(shares=st.lists(st.integers(1, 100), max_size=12))
    def test_never_fewer_than_the_sum_nor_more_than_one_each(self, shares: list[int]) -> None:
        total = math.ceil(sum(Fraction(share, 100) for share in shares))
        taken = 64 - only_node(node(gpus=64), *(fraction(f"p{i}", f"{s / 100}") for i, s in enumerate(shares))).gpus
        assert total <= taken <= len(shares)

    def test_memory_is_a_share_of_what_the_node_says_its_gpus_have(self) -> None:
        pods = [pod(f"p{i}", asked={}, annotations={"gpu-memory": "4000"}) for i in range(3)]
        assert only_node(node(labels={"nvidia.com/gpu.memory": "16000"}), *pods).gpus == 7
        assert only_node(node(labels={"nvidia.com/gpu.memory": "6000"}), *pods).gpus == 5
        assert only_node(node(), *pods).gpus == 5

    def test_the_index_of_older_releases(self) -> None:
        pods = [pod(f"p{i}", asked={}, annotations={"gpu-fraction": "0.2", "runai-gpu": str(i % 2)}) for i in range(4)]
        assert free(*pods) == 6

    @pytest.mark.parametrize("share", ["", "half", "0", "1.5", "-0.5", "1e-1", "50%"])
    def test_shares_that_are_none(self, share: str) -> None:
        message = (
            rf'^all\.json: items\[1\]\.metadata\.annotations\["gpu-fraction"\]: expected a share .*, got {share!r}$'
        )
        with pytest.raises(SnapshotError, match=message):
            read(node(), fraction("a", share))

    @pytest.mark.parametrize(
        ("key", "value"),
        [("gpu-memory", "many"), *(("gpu-fraction-num-devices", value) for value in ("many", "0", "1.5", "2000", ""))],
    )
    def test_other_numbers_that_are_none(self, key: str, value: str) -> None:
        annotations = {"gpu-memory": "1000"} | {key: value}
        with pytest.raises(SnapshotError, match=rf"annotations\[\"{key}\"\]: expected a number of .*, got '{value}'$"):
            read(node(), pod(asked={}, annotations=annotations))

    def test_finished_and_waiting_ones_take_nothing(self) -> None:
        done = pod("a", asked={}, annotations={"gpu-fraction": "0.5"}, phase="Succeeded")
        waiting = pod("b", asked={}, annotations={"gpu-fraction": "0.5"}, node=None)
        assert free(done, waiting) == 8

    def test_a_pod_with_a_whole_gpu_is_an_ordinary_one(self) -> None:
        snapshot = read(node(), pod(annotations={"gpu-fraction": "0.5"}))
        assert (snapshot.nodes[0].gpus, snapshot.used_gpus()["n0"]) == (8, 1)

    def test_more_taken_than_there_is(self) -> None:
        pods = [fraction(f"p{i}", group=f"g{i}") for i in range(3)]
        assert only_node(node(gpus=2), *pods).gpus == 0

    @pytest.mark.parametrize(
        "changes",
        [
            {"namespace": "kai-resource-reservation"},
            {"labels": {"app": "kai-resource-reservation"}},
            {"labels": {"app.runai.resource.reservation": "runai-reservation-gpu"}},
        ],
    )
    def test_reservations_are_known_by_namespace_or_label(self, changes: Json) -> None:
        snapshot = read(node(), pod("r", owner=None, **changes))  # type: ignore[arg-type]  # of two unlike parameters
        assert (snapshot.nodes[0].gpus, snapshot.jobs) == (7, ())

    def test_on_an_unknown_node(self) -> None:
        item = pod("a", asked={}, annotations={"gpu-fraction": "0.5"}, node="n9")
        with pytest.raises(SnapshotError, match=r"items\[1\]\.spec\.nodeName: no node is named 'n9'"):
            read(node(), item)


class TestVirtualGpus:
    """Resources by which other schedulers share GPUs."""

    def test_hami_pods_on_known_gpus(self) -> None:
        asked: Json = {GPU: "1", "nvidia.com/gpumem": "3000"}
        allocated = [{"hami.io/vgpu-devices-allocated": f"GPU-{i % 2},NVIDIA,3000,0:;"} for i in range(4)]
        assert free(*(pod(f"p{i}", asked=asked, annotations=a) for i, a in enumerate(allocated))) == 6

    def test_hami_pods_that_do_not_say_where(self) -> None:
        snapshot = read(node(), pod(asked={GPU: "2", "nvidia.com/gpucores": "30"}))
        assert (snapshot.nodes[0].gpus, snapshot.jobs) == (6, ())
        assert left_out(snapshot)[why.PODS_SHARED] == ("default/p0",)

    def test_volcano_pods(self) -> None:
        two: Json = {"volcano.sh/vgpu-number": "2", "volcano.sh/vgpu-memory": "3000"}
        ids = {"volcano.sh/vgpu-ids-new": "GPU-a,NVIDIA,1126,0:GPU-b,NVIDIA,1126,0:;"}
        assert free(pod(asked=two)) == 6
        assert free(pod(asked=two, annotations=ids), pod("q", asked=two, annotations=ids)) == 6

    def test_alibaba_pods(self) -> None:
        asked: Json = {"aliyun.com/gpu-mem": "3"}
        indexes = [{"ALIYUN_COM_GPU_MEM_IDX": str(i)} for i in (0, 0, 1)]
        assert free(*(pod(f"p{i}", asked=asked, annotations=index) for i, index in enumerate(indexes))) == 6
        assert free(pod("a", asked=asked), pod("b", asked=asked, annotations={"ALIYUN_COM_GPU_MEM_IDX": "-1"})) == 6

    @pytest.mark.parametrize(
        "key", ["tencent.com/vcuda-core", "koordinator.sh/gpu-core", "aliyun.com/gpu-core.percentage"]
    )
    def test_percentages(self, key: str) -> None:
        assert free(pod("a", asked={key: "50"}), pod("b", asked={key: "50"}), pod("c", asked={key: "200"})) == 5

    def test_a_node_that_offers_nothing_else_is_left_out(self) -> None:
        snapshot = read(node(key="tencent.com/vcuda-core", gpus=800), pod(asked={"tencent.com/vcuda-core": "50"}))
        assert snapshot.nodes == ()
        assert left_out(snapshot) == {why.NODES_SHARED: ("n0",), why.PODS_SHARED: ("default/p0",)}


class TestReplicas:
    """Time-slicing, MPS and HAMi advertise each GPU several times: what the node offers are no GPUs."""

    @pytest.mark.parametrize(
        "labels",
        [
            {"nvidia.com/gpu.replicas": "4"},
            {"nvidia.com/gpu.sharing-strategy": "time-slicing"},
            {"nvidia.com/gpu.sharing-strategy": "mps"},
            {PRODUCT: "Tesla-T4-SHARED"},
            {"cloud.google.com/gke-gpu-sharing-strategy": "time-sharing"},
        ],
    )
    def test_labels(self, labels: dict[str, str]) -> None:
        snapshot = read(node(gpus=32, labels=labels), pod(gpus=1))
        assert (snapshot.nodes, snapshot.jobs) == ((), ())
        assert left_out(snapshot) == {why.NODES_SHARED: ("n0",), why.PODS_ON_LEFT_OUT: ("default/p0",)}

    @pytest.mark.parametrize(
        "labels",
        [
            {"nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.sharing-strategy": "none"},
            {"nvidia.com/gpu.replicas": "0"},
            {"nvidia.com/gpu.replicas": "?"},
        ],
    )
    def test_labels_of_plain_nodes(self, labels: dict[str, str]) -> None:
        assert only_node(node(labels=labels)).gpus == 8

    def test_replicas_under_their_own_name(self) -> None:
        shared: Json = {GPU: "0", "nvidia.com/gpu.shared": "32"}
        item = node(allocatable=shared)
        assert left_out(read(item, pod(key="nvidia.com/gpu.shared"))).keys() == {why.NODES_SHARED, why.PODS_SHARED}
        for resources in (("nvidia.com/gpu.shared",), (GPU, "nvidia.com/gpu.shared")):
            assert only_node(item, options=KubernetesOptions(resources=resources)).gpus == 32

    def test_hami(self) -> None:
        item = node(gpus=80, annotations={"hami.io/node-nvidia-register": "GPU-0,10,24576,100,NVIDIA,0,true:"})
        assert left_out(read(item, pod()))[why.NODES_SHARED] == ("n0",)

    def test_any_number_of_replicas(self) -> None:
        assert read(node(gpus=4_000, labels={"nvidia.com/gpu.replicas": "500"})).nodes == ()

    def test_gpus_of_another_vendor_are_not_concerned(self) -> None:
        assert only_node(node(key="amd.com/gpu", labels={"nvidia.com/gpu.replicas": "4"})).gpus == 8


class TestMig:
    """MIG devices are no GPUs; GPUs of the same node that are not split are."""

    def test_mixed_strategy(self) -> None:
        item = node(allocatable={GPU: "6", "nvidia.com/mig-1g.5gb": "14", "nvidia.com/mig-7g.40gb": "0"})
        snapshot = read(item, pod("a", 2), pod("b", key="nvidia.com/mig-1g.5gb"))
        assert (snapshot.nodes[0].gpus, snapshot.used_gpus()["n0"]) == (6, 2)
        assert left_out(snapshot) == {
            why.MIG_DEVICES: ("n0: 14 nvidia.com/mig-1g.5gb",),
            why.PODS_MIG: ("default/b",),
        }

    def test_a_node_that_offers_nothing_else_is_left_out(self) -> None:
        assert left_out(read(node(key="nvidia.com/mig-1g.5gb", gpus=7), pod(gpus=0)))[why.NODES_MIG] == (
            "n0: 7 nvidia.com/mig-1g.5gb",
        )

    @pytest.mark.parametrize(
        "labels", [{PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, {"cloud.google.com/gke-gpu-partition-size": "1g.5gb"}]
    )
    def test_single_strategy(self, labels: dict[str, str]) -> None:
        snapshot = read(node(gpus=56, labels=labels), pod(gpus=1))
        assert (snapshot.nodes, snapshot.jobs) == ((), ())
        assert left_out(snapshot) == {why.NODES_MIG: ("n0",), why.PODS_ON_LEFT_OUT: ("default/p0",)}

    def test_single_strategy_that_splits_nothing(self) -> None:
        labels = {PRODUCT: "NVIDIA-A100-SXM4-40GB", "nvidia.com/mig.strategy": "single"}
        assert only_node(node(labels=labels)).gpus == 8

    @given(
        strategy=st.sampled_from([None, "none", "single", "mixed"]),
        config=st.sampled_from([None, "", "all-disabled", "all-1g.5gb", "all-enabled", "ours"]),
        product=st.sampled_from([None, "H100", "H100-MIG-1g.5gb", "H100-MIG-INVALID"]),
    )
    def test_a_node_counts_as_whole_only_where_nothing_says_that_it_is_split(
        self, strategy: str | None, config: str | None, product: str | None
    ) -> None:
        labels = {"nvidia.com/mig.strategy": strategy, "nvidia.com/mig.config": config, PRODUCT: product}
        snapshot = read(node(labels={key: value for key, value in labels.items() if value is not None}), pod())
        split = "MIG" in (product or "") or (strategy == "single" and config not in {None, "", "all-disabled"})
        assert (why.NODES_MIG in left_out(snapshot)) is split
        assert [n.gpus for n in snapshot.nodes] == ([] if split else [8])

    def test_devices_handed_out_by_annotation(self) -> None:
        item = pod(asked={"cpu": "1"}, annotations={"nvidia.com/mig-1g.5gb": "1"})
        snapshot = read(node(), item)
        assert snapshot.nodes[0].gpus == 8
        assert left_out(snapshot)[why.PODS_MIG] == ("default/p0",)
