"""Kubernetes nodes: what they offer, whether anything may be put on them, and their pools."""

from __future__ import annotations

import pytest

from oracle import measure
from oracle.snapshots.kubernetes import KubernetesOptions
from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.model import SnapshotError
from tests.oracle.snapshots.kubernetes_objects import (
    GPU,
    PRODUCT,
    Json,
    left_out,
    node,
    only_instance,
    only_node,
    only_pending,
    pod,
    read,
)

AMD = "amd.com/gpu"
NO_SCHEDULE = "NoSchedule"


def taint(key: str, value: str = "", effect: str = NO_SCHEDULE) -> Json:
    return {"key": key, "value": value, "effect": effect}


def tolerating(*keys: str) -> list[Json]:
    return [{"key": key, "operator": "Exists"} for key in keys]


class TestOffer:
    """Allocatable counts, in whole GPUs of the counted resources."""

    @pytest.mark.parametrize(
        ("quantity", "gpus"),
        [("8", 8), (8, 8), (8.0, 8), ("1e1", 10), ("1E2", 100), ("8000m", 8), ("1k", 1000), ("1Ki", 1024)],
    )
    def test_quantities_that_are_whole_numbers(self, quantity: object, gpus: int) -> None:
        assert only_node(node(allocatable={GPU: quantity})).gpus == gpus

    @pytest.mark.parametrize(
        "quantity",
        ["1.5", 1.5, "500m", -1, "-1", "eight", "", "8 ", "1e999", "1x", "0x8", "９"],
    )
    def test_quantities_that_are_none(self, quantity: object) -> None:
        message = r'items\[0\]\.status\.allocatable\["nvidia\.com/gpu"\]: expected a whole number of devices, got '
        with pytest.raises(SnapshotError, match=message):
            read(node(allocatable={GPU: quantity}))

    @pytest.mark.parametrize("quantity", [True, [8], {"n": 8}])
    def test_values_that_are_no_quantities(self, quantity: object) -> None:
        with pytest.raises(SnapshotError, match=r"^all\.json: items\[0\]\.status\.allocatable\[\.\.\.\]: Expected"):
            read(node(allocatable={GPU: quantity}))

    def test_a_number_no_machine_has(self) -> None:
        with pytest.raises(SnapshotError, match=r"expected at most 1024 GPUs on a node, got 80000$"):
            read(node(gpus=80_000))

    def test_broken_gpus_are_not_offered(self) -> None:
        assert only_node(node(allocatable={GPU: "7"}, capacity={GPU: "8"})).gpus == 7

    @pytest.mark.parametrize("allocatable", [{}, {GPU: "0"}])
    def test_a_node_whose_device_plugin_is_down_stays_with_none(self, allocatable: Json) -> None:
        assert only_node(node(allocatable=allocatable, capacity={GPU: "8"})).gpus == 0

    def test_without_allocatable_the_capacity_counts_as_the_api_defines(self) -> None:
        bare = node()
        bare["status"] = {"capacity": {GPU: "4"}}
        assert only_node(bare).gpus == 4

    def test_a_gpu_pod_on_a_node_that_offers_none_keeps_the_node(self) -> None:
        snapshot = read(node(allocatable={}), pod(gpus=2))
        assert [(n.name, n.gpus) for n in snapshot.nodes] == [("n0", 0)]
        assert snapshot.used_gpus() == {"n0": 2}

    def test_a_pod_without_gpus_keeps_no_node(self) -> None:
        assert read(node(allocatable={}), pod(gpus=0)).nodes == ()
        assert read(pod(gpus=0, node="elsewhere"), node()).jobs == ()

    def test_more_held_than_offered_is_real(self) -> None:
        snapshot = read(node(allocatable={GPU: "3"}), pod(gpus=4))
        assert (snapshot.nodes[0].gpus, snapshot.used_gpus()["n0"]) == (3, 4)


class TestResources:
    """The resource key is data."""

    @pytest.mark.parametrize("key", [GPU, AMD, "gpu.intel.com/i915", "gpu.intel.com/xe"])
    def test_keys_counted_by_default(self, key: str) -> None:
        snapshot = read(node(key=key), pod(gpus=3, key=key))
        assert (snapshot.nodes[0].gpus, snapshot.used_gpus()["n0"]) == (8, 3)

    def test_named_keys_replace_them(self) -> None:
        options = KubernetesOptions(resources=("alpha.kubernetes.io/nvidia-gpu",))
        items = [node("n0", 4, key="alpha.kubernetes.io/nvidia-gpu"), node("n1")]
        snapshot = read(*items, options=options)
        assert [(n.name, n.gpus) for n in snapshot.nodes] == [("n0", 4)]
        assert left_out(snapshot)[why.NODES_UNCOUNTED] == (f"n1: {GPU}",)

    def test_mig_devices_named_as_units_are_counted(self) -> None:
        options = KubernetesOptions(resources=("nvidia.com/mig-3g.20gb",))
        assert only_node(node(gpus=2, key="nvidia.com/mig-3g.20gb"), options=options).gpus == 2

    def test_two_kinds_on_one_node_are_summed_and_frozen(self) -> None:
        snapshot = read(node(allocatable={GPU: "4", AMD: "2"}), pod(gpus=3), pod("q", 2, key=AMD))
        assert (snapshot.nodes[0].gpus, snapshot.nodes[0].schedulable) == (6, False)
        assert snapshot.used_gpus() == {"n0": 5}
        assert not any(i.movable for job in snapshot.jobs for i in job.instances)
        assert left_out(snapshot) == {why.MIXED_NODES: ("n0",)}

    def test_two_kinds_with_no_pod_or_through_one(self) -> None:
        assert not only_node(node(allocatable={GPU: "4", AMD: "2"})).schedulable
        assert not only_node(node(), pod(key=AMD)).schedulable

    def test_a_pod_with_two_kinds_holds_their_sum(self) -> None:
        assert only_instance(node(allocatable={GPU: "4", AMD: "2"}), pod(asked={GPU: "1", AMD: "2"})).gpus == 3

    def test_counting_one_kind_lifts_that(self) -> None:
        options = KubernetesOptions(resources=(GPU,))
        mixed = node(allocatable={GPU: "4", AMD: "2"})
        found = only_node(mixed, pod("q", 2, key=AMD), options=options)
        assert (found.gpus, found.schedulable) == (4, True)

    def test_a_second_kind_of_which_none_is_there_changes_nothing(self) -> None:
        assert only_node(node(allocatable={GPU: "4", AMD: "0"})).schedulable

    def test_a_waiting_pod_with_two_kinds_is_listed(self) -> None:
        snapshot = read(node(), pod(asked={GPU: "1", AMD: "2"}, node=None))
        assert snapshot.pending == ()
        assert left_out(snapshot)[why.PODS_TWO_KINDS] == ("default/p0",)


class TestService:
    """Nothing new is put on nodes that are cordoned, not ready, or on their way out."""

    def test_a_plain_node_takes_pods(self) -> None:
        assert only_node(node()).schedulable

    def test_cordon(self) -> None:
        assert not only_node(node(unschedulable=True)).schedulable
        assert only_node(node(unschedulable=False)).schedulable

    @pytest.mark.parametrize("ready", ["False", "Unknown"])
    def test_not_ready(self, ready: str) -> None:
        assert not only_node(node(ready=ready)).schedulable

    @pytest.mark.parametrize("conditions", [[], None, [{"type": "DiskPressure", "status": "True"}]])
    def test_no_word_on_readiness_is_no_sign_of_trouble(self, conditions: object) -> None:
        item = node()
        item["status"] = {"allocatable": {GPU: "8"}, "conditions": conditions}
        assert only_node(item).schedulable

    def test_being_deleted(self) -> None:
        item = node()
        item["metadata"] = {"name": "n0", "deletionTimestamp": "2026-01-01T00:00:00Z"}
        assert not only_node(item).schedulable

    @pytest.mark.parametrize(
        "key",
        [
            "node.kubernetes.io/unschedulable",
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/disk-pressure",
            "node.cloudprovider.kubernetes.io/shutdown",
            "node.cloudprovider.kubernetes.io/uninitialized",
            "ToBeDeletedByClusterAutoscaler",
            "karpenter.sh/disrupted",
        ],
    )
    @pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
    def test_taints_of_the_system_even_if_tolerated(self, key: str, effect: str) -> None:
        snapshot = read(node(taints=[taint(key, effect=effect)]), pod(tolerations=tolerating(key)))
        assert (snapshot.nodes[0].schedulable, snapshot.nodes[0].pool) == (False, "default")
        assert snapshot.used_gpus() == {"n0": 1}
        assert left_out(read(node(taints=[taint(key, effect=effect)]), pod())) == {}

    @pytest.mark.parametrize("key", ["node.kubernetes.io/disk-pressure", "DeletionCandidateOfClusterAutoscaler", "x"])
    def test_preferences_do_not_close_a_node(self, key: str) -> None:
        assert only_node(node(taints=[taint(key, effect="PreferNoSchedule")]), pod()).schedulable


class TestTaints:
    """Taints of administrators are judged by the GPU pods: what these tolerate is no obstacle."""

    @pytest.mark.parametrize("tolerations", [[], tolerating(GPU)])
    def test_a_taint_named_like_the_resource_is_none(self, tolerations: list[Json]) -> None:
        items = [node(taints=[taint(GPU, "present")]), pod(tolerations=tolerations)]
        found = only_node(*items)
        assert (found.schedulable, found.pool) == (True, "default")

    def test_one_that_all_gpu_pods_tolerate_is_none(self) -> None:
        items = [node(taints=[taint("sku", "gpu")]), node("n1"), pod(tolerations=tolerating("sku"))]
        assert [(n.schedulable, n.pool) for n in read(*items).nodes] == [(True, "default")] * 2

    def test_one_that_no_gpu_pod_tolerates_closes_the_node(self) -> None:
        snapshot = read(node(taints=[taint("repair", "rma-17")]), node("n1"), pod(node="n1"))
        assert [n.schedulable for n in snapshot.nodes] == [False, True]
        assert snapshot.pools == ("default",)
        assert left_out(snapshot)[why.CLOSED_BY_TAINT] == ("n0: repair=rma-17:NoSchedule",)

    def test_only_the_taint_that_closes_a_node_is_named(self) -> None:
        taints = [taint("repair"), taint("sku"), taint("a", effect="NoExecute")]
        snapshot = read(node(taints=taints), node("n1"), pod(node="n1", tolerations=tolerating("sku")))
        assert left_out(snapshot)[why.CLOSED_BY_TAINT] == ("n0: a:NoExecute,repair:NoSchedule",)

    def test_what_all_tolerate_by_tolerating_everything(self) -> None:
        items = [node(taints=[taint("repair")]), pod(tolerations=[{"operator": "Exists"}])]
        assert only_node(*items).schedulable

    def test_no_value_is_the_empty_value(self) -> None:
        bare: Json = {"key": "team", "effect": NO_SCHEDULE}
        items = [node(taints=[bare]), node("n1"), pod(node="n1", tolerations=[{"key": "team", "operator": "Equal"}])]
        assert read(*items).nodes[0].schedulable

    def test_without_gpu_pods_there_is_nobody_to_keep_away(self) -> None:
        assert only_node(node(taints=[taint("sku", "gpu")]), pod(gpus=0)).schedulable

    def test_daemons_and_a_toleration_of_everything_prove_nothing(self) -> None:
        everything: list[Json] = [{"operator": "Exists"}]
        items = [node(taints=[taint("repair")]), node("n1"), pod(node="n1")]
        daemon = pod("d", owner=("DaemonSet", "d"), tolerations=tolerating("repair"))
        assert [n.schedulable for n in read(*items, daemon).nodes] == [False, True]
        assert [n.schedulable for n in read(*items, pod("e", tolerations=everything)).nodes] == [False, True]

    def test_one_that_some_tolerate_makes_a_pool_of_its_own(self) -> None:
        items = [
            node("n0", taints=[taint("team", "a")], labels={PRODUCT: "H100"}),
            node("n1", labels={PRODUCT: "H100"}),
            pod("a", tolerations=[{"key": "team", "value": "a", "effect": NO_SCHEDULE}]),
            pod("b", node="n1"),
        ]
        snapshot = read(*items)
        assert [(n.schedulable, n.pool) for n in snapshot.nodes] == [(True, "H100:team=a:NoSchedule"), (True, "H100")]

    def test_a_pod_that_its_own_pool_would_not_take_again_stays(self) -> None:
        team_a = tolerating("team")
        items = [node(f"n{i}", taints=[taint("team", "a")]) for i in (1, 2, 3)]
        items += [pod("b", node="n1", owner=("Job", "b")), pod("c", node="n2", owner=("Job", "c"))]
        items += [pod("a", 8, node="n3", owner=("Job", "a"), tolerations=team_a)]
        snapshot = read(*items)
        assert {job.name: job.instances[0].movable for job in snapshot.jobs} == {
            "default/a": True,
            "default/b": False,
            "default/c": False,
        }
        measurement = measure(snapshot)
        assert (measurement.inherent_partial_nodes, measurement.sif) == (2, 0)

    def test_a_pool_that_is_tainted_throughout_keeps_its_name(self) -> None:
        items = [node("n0", taints=[taint("team", "a")]), pod("a", tolerations=tolerating("team")), pod("b")]
        assert (only_node(*items).schedulable, only_node(*items).pool) == (True, "default")

    @pytest.mark.parametrize(
        ("toleration", "matches"),
        [
            ({"key": "team", "operator": "Equal", "value": "a"}, True),
            ({"key": "team", "value": "a", "effect": "NoSchedule"}, True),
            ({"key": "team", "operator": "Exists"}, True),
            ({"key": "team", "value": "b"}, False),
            ({"key": "team"}, False),
            ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, False),
            ({"key": "tea", "operator": "Exists"}, False),
            ({"key": "team", "operator": "Gt", "value": "a"}, False),
        ],
    )
    def test_how_tolerations_match(self, toleration: Json, matches: bool) -> None:
        items = [node(taints=[taint("team", "a")]), node("n1"), pod(node="n1", tolerations=[toleration])]
        assert read(*items).nodes[0].schedulable is matches


class TestPools:
    """Instances never leave their pool, so that a pool holds what is alike and nothing else."""

    def test_the_product_label_names_the_pool(self) -> None:
        assert only_node(node(labels={PRODUCT: "H100"})).pool == "H100"
        assert only_node(node(labels={})).pool == only_node(node(labels={PRODUCT: ""})).pool == "default"

    def test_another_label(self) -> None:
        options = KubernetesOptions(pool_label="team")
        assert only_node(node(labels={PRODUCT: "H100", "team": "red"}), options=options).pool == "red"

    def test_unlike_kinds_of_gpu_never_share_a_pool(self) -> None:
        snapshot = read(node("n0"), node("n1", key=AMD))
        assert [n.pool for n in snapshot.nodes] == ["default:nvidia.com/gpu", "default:amd.com/gpu"]

    def test_a_node_that_offers_none_is_of_the_only_kind_it_knows(self) -> None:
        snapshot = read(node("n0"), node("n1", allocatable={AMD: "0"}, capacity={AMD: "8"}))
        assert snapshot.pools == ("default:amd.com/gpu", "default:nvidia.com/gpu")

    def test_one_kind_needs_no_mention(self) -> None:
        assert read(node("n0", key=AMD), node("n1", key=AMD)).pools == ("default",)

    def test_a_node_with_its_plugin_down_divides_nothing(self) -> None:
        down = node("n2", allocatable={GPU: "0", AMD: "0"}, capacity={GPU: "8", AMD: "8"})
        snapshot = read(node("n0"), down, pod(node=None))
        assert snapshot.pools == ("default",)
        assert [job.pool for job in snapshot.pending] == [None]
        assert left_out(snapshot) == {}
        pools = [n.pool for n in read(node("n0"), node("n1", key=AMD), down).nodes]
        assert pools == ["default:nvidia.com/gpu", "default:amd.com/gpu", "default"]


class TestStayingPools:
    """A running pod that asks for another pool than it is in cannot move within that pool."""

    @pytest.mark.parametrize(("wanted", "movable"), [("H100", True), ("A100", False), (None, True)])
    def test_by_node_selector(self, wanted: str | None, movable: bool) -> None:
        selector = {} if wanted is None else {PRODUCT: wanted}
        instance = only_instance(node(labels={PRODUCT: "H100"}), pod(nodeSelector=selector))
        assert instance.movable is movable

    def test_the_empty_label_is_the_default_pool(self) -> None:
        empty: Json = {"matchExpressions": [{"key": PRODUCT, "operator": "In", "values": [""]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [empty]}}
        affinity = {"nodeAffinity": required}
        snapshot = read(node(labels={PRODUCT: ""}), pod("a", affinity=affinity), pod("b", node=None, affinity=affinity))
        assert snapshot.jobs[0].instances[0].movable
        assert [job.pool for job in snapshot.pending] == ["default"]


class TestWaitingPools:
    """A waiting job asks for the pool its pods insist on; None is any."""

    def pool(self, *items: Json, **spec: object) -> str | None:
        return only_pending(*items, pod(node=None, **spec)).pool  # type: ignore[arg-type]  # a spec has fields of any type

    def affinity(self, *terms: list[Json]) -> Json:
        required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    def test_any(self) -> None:
        items = [node(labels={PRODUCT: "H100"}), node("n1")]
        assert self.pool(*items) is None
        assert left_out(read(*items, pod(node=None))) == {why.NODES_WITHOUT_POOL_LABEL: ("n1",)}

    def test_by_node_selector(self) -> None:
        assert self.pool(node(labels={PRODUCT: "H100"}), nodeSelector={PRODUCT: "H100"}) == "H100"

    def test_a_pool_nobody_is_in(self) -> None:
        assert self.pool(node(labels={PRODUCT: "H100"}), nodeSelector={PRODUCT: "B200"}) == "B200"

    def test_by_required_affinity(self) -> None:
        in_h100: Json = {"key": PRODUCT, "operator": "In", "values": ["H100"]}
        other: Json = {"key": "zone", "operator": "In", "values": ["a"]}
        either: Json = {"key": PRODUCT, "operator": "In", "values": ["H100", "A100"]}
        void: Json = {"key": PRODUCT, "operator": "In", "values": None}
        no_a100: Json = {"key": PRODUCT, "operator": "NotIn", "values": ["A100"]}
        item = node(labels={PRODUCT: "H100"})
        assert self.pool(item, affinity=self.affinity([other, in_h100])) == "H100"
        assert self.pool(item, affinity=self.affinity([in_h100], [in_h100, other])) == "H100"
        assert self.pool(item, affinity=self.affinity([in_h100], [other])) is None
        assert self.pool(item, affinity=self.affinity([either])) is None
        assert self.pool(item, affinity=self.affinity([no_a100])) is None
        assert self.pool(item, affinity=self.affinity([void])) is None
        assert self.pool(item, affinity=self.affinity()) is None

    def test_the_only_pool_of_its_kind_of_gpu(self) -> None:
        items = [node("n0", labels={PRODUCT: "H100"}), node("n1", key=AMD)]
        assert self.pool(*items) == "H100"

    def test_a_kind_of_gpu_nobody_has(self) -> None:
        snapshot = read(node(), pod(key=AMD, node=None))
        assert snapshot.pending == ()
        assert left_out(snapshot)[why.PODS_NO_NODE] == ("default/p0",)

    def test_nodes_set_aside_for_others(self) -> None:
        items = [
            node("n0", taints=[taint("team", "a")], labels={PRODUCT: "H100"}),
            node("n1", labels={PRODUCT: "H100"}),
            pod("a", tolerations=tolerating("team")),
        ]
        selector = {PRODUCT: "H100"}
        assert self.pool(*items, nodeSelector=selector) == "H100"
        assert self.pool(*items, nodeSelector=selector, tolerations=tolerating("team")) == "H100"
        assert self.pool(*items, pod("b", node="n1"), nodeSelector=selector, tolerations=tolerating("team")) == (
            "H100:team=a:NoSchedule"
        )

    def test_a_pod_that_tolerates_none_of_its_nodes(self) -> None:
        items = [node(taints=[taint("team", "a")]), pod("a", tolerations=tolerating("team")), pod(node=None)]
        assert left_out(read(*items))[why.PODS_NO_NODE] == ("default/p0",)

    def test_some_pools_but_not_all_are_shown_as_any_with_a_note(self) -> None:
        items = [
            node("n0", taints=[taint("team", "a")]),
            node("n1", labels={PRODUCT: "H100"}),
            node("n2", labels={PRODUCT: "A100"}),
            pod("a", tolerations=tolerating("team")),
            pod(node=None),
        ]
        snapshot = read(*items)
        assert [job.pool for job in snapshot.pending] == [None]
        assert left_out(snapshot)[why.PODS_SOME_POOLS] == ("default/p0",)

    def test_a_pool_whose_nodes_are_left_out(self) -> None:
        items = [node(), node("n1", 7, labels={PRODUCT: "A100-MIG-1g.5gb"})]
        snapshot = read(*items, pod(node=None, nodeSelector={PRODUCT: "A100-MIG-1g.5gb"}))
        assert snapshot.pending == ()
        assert left_out(snapshot)[why.PODS_LEFT_OUT_POOL] == ("default/p0",)
