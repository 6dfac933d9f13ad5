"""Kubernetes pods: how many GPUs they hold, which of them hold any, and which may be moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.demand import peak_demand
from oracle.snapshots.model import SnapshotError
from tests.oracle.snapshots.kubernetes_objects import (
    GPU,
    Json,
    container,
    left_out,
    node,
    only_instance,
    only_job,
    only_pending,
    owned,
    pod,
    read,
)


def gpus_of(containers: list[Json], initial: list[Json]) -> int:
    return only_instance(node(), pod(containers=containers, initContainers=initial)).gpus


def gpu(amount: int, *, sidecar: bool = False) -> Json:
    return container({GPU: str(amount)}, sidecar=sidecar)


def most_at_once(containers: list[int], initial: list[tuple[int, bool]]) -> int:
    """Start the containers as the kubelet does, one event at a time, and watch how many devices are in use."""
    in_use = 0
    seen = [0]
    for demand, is_sidecar in initial:
        in_use += demand
        seen.append(in_use)
        if not is_sidecar:
            in_use -= demand  # it has to end before the next one starts
    for demand in containers:
        in_use += demand
        seen.append(in_use)
    return max(seen)


class TestDemand:
    """KEP-753: the most that runs at once; init containers one by one, sidecars from their turn to the end."""

    def test_containers_run_side_by_side(self) -> None:
        assert gpus_of([gpu(1), gpu(2), container()], []) == 3

    def test_init_containers_run_one_by_one_before_them(self) -> None:
        assert gpus_of([gpu(1)], [gpu(3), gpu(2)]) == 3
        assert gpus_of([gpu(4)], [gpu(3), gpu(2)]) == 4

    def test_sidecars_run_beside_the_containers(self) -> None:
        assert gpus_of([gpu(1)], [gpu(1, sidecar=True)]) == 2

    def test_sidecars_run_beside_later_init_containers_only(self) -> None:
        assert gpus_of([gpu(1)], [gpu(1, sidecar=True), gpu(4)]) == 5
        assert gpus_of([gpu(1)], [gpu(4), gpu(1, sidecar=True)]) == 4

    @given(
        containers=st.lists(st.integers(0, 8), max_size=4),
        initial=st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=5),
    )
    def test_the_formula_is_what_runs_at_once(self, containers: list[int], initial: list[tuple[int, bool]]) -> None:
        assert peak_demand(containers, initial) == most_at_once(containers, initial)

    def test_requests_count_and_limits_stand_in_for_them(self) -> None:
        for section in ("requests", "limits"):
            assert gpus_of([container({GPU: 2}, section=section)], []) == 2
        both: Json = {"name": "c", "resources": {"requests": {GPU: "2"}, "limits": {GPU: "2"}}}
        assert gpus_of([both], []) == 2

    def test_requests_of_other_things_do_not_hide_the_limit(self) -> None:
        mixed: Json = {"name": "c", "resources": {"requests": {"cpu": "4", GPU: None}, "limits": {GPU: "2"}}}
        assert gpus_of([mixed], []) == 2

    def test_a_container_that_asks_for_nothing(self) -> None:
        assert gpus_of([{"name": "c"}, {"name": "d", "resources": None}, gpu(1)], [{"name": "i"}]) == 1

    def test_overhead_and_pod_level_resources_are_about_other_things(self) -> None:
        extra = {"overhead": {GPU: "1"}, "resources": {"limits": {GPU: "8"}}}
        assert only_instance(node(), pod(gpus=2, **extra)).gpus == 2  # type: ignore[arg-type]  # a spec has fields of any type

    @pytest.mark.parametrize("amount", ["0.5", "500m", "-1", "two"])
    def test_a_demand_that_is_no_whole_number(self, amount: str) -> None:
        place = r"items\[1\]\.spec\.{}\[1\]\.resources\.limits\[\"nvidia\.com/gpu\"\]"
        message = f": expected a whole number of devices, got '{amount}'$"
        with pytest.raises(SnapshotError, match=place.format("containers") + message):
            read(node(), pod(containers=[gpu(1), container({GPU: amount})]))
        with pytest.raises(SnapshotError, match=place.format("initContainers") + message):
            read(node(), pod(initContainers=[gpu(1), container({GPU: amount})]))

    def test_a_demand_no_node_can_have(self) -> None:
        with pytest.raises(
            SnapshotError, match=r"items\[1\]\.spec\.containers: expected a demand of at most 1024 GPUs"
        ):
            read(node(), pod(gpus="1e9", node=None))

    def test_a_demand_the_largest_node_can_have(self) -> None:
        assert only_pending(node(), pod(gpus=1024, node=None)).gpus_per_instance == 1024

    def test_a_finished_pod_may_ask_for_what_it_likes(self) -> None:
        assert read(node(), pod(gpus="0.5", phase="Failed")).jobs == ()


class TestHolding:
    """Pods hold GPUs from the moment they are bound to a node until they have finished."""

    @pytest.mark.parametrize("phase", ["Running", "Pending", "Unknown"])
    def test_bound_pods_hold(self, phase: str) -> None:
        assert read(node(), pod(gpus=2, phase=phase)).used_gpus() == {"n0": 2}

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_finished_pods_do_not(self, phase: str) -> None:
        snapshot = read(node(), pod(gpus=2, phase=phase), pod("q", phase=phase, node="gone"))
        assert (snapshot.jobs, snapshot.pending) == ((), ())
        assert left_out(snapshot)[why.PODS_FINISHED] == ("default/p0", "default/q")

    def test_a_pod_that_is_being_deleted_holds_until_it_has_ended(self) -> None:
        assert only_instance(node(), pod(deleted=True)).gpus == 1
        assert read(node(), pod(deleted=True, phase="Failed")).jobs == ()

    def test_a_pod_without_status_is_as_far_as_its_node_says(self) -> None:
        bound, unbound = pod("a", gpus=2), pod("b", node=None)
        del bound["status"], unbound["status"]
        snapshot = read(node(), bound, unbound)
        assert (snapshot.used_gpus(), len(snapshot.pending)) == ({"n0": 2}, 1)

    def test_gated_pods_are_listed_and_the_others_wait(self) -> None:
        gates = [{"name": "example.com/quota"}]
        gated, waiting = pod("a", 4, node=None, schedulingGates=gates), pod("b", 2, node=None, schedulingGates=[])
        snapshot = read(node(), gated, waiting, pod("c", schedulingGates=gates), pod("d", 0, schedulingGates=gates))
        assert [(job.instances, job.gpus_per_instance) for job in snapshot.pending] == [(1, 2)]
        assert snapshot.used_gpus() == {"n0": 1}
        assert left_out(snapshot)[why.PODS_GATED] == ("default/a",)

    def test_a_waiting_pod_that_is_being_deleted_does_not(self) -> None:
        assert read(node(), pod(node=None, deleted=True)).pending == ()

    def test_an_empty_node_name_is_none(self) -> None:
        assert len(read(node(), pod(node=None, nodeName="")).pending) == 1


class TestMovable:
    """A pod may be moved if its controller makes it anew, and nobody asked to leave it alone."""

    @pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job", "PyTorchJob", "RayCluster"])
    def test_pods_of_controllers(self, kind: str) -> None:
        assert only_instance(node(), pod(owner=(kind, "x"))).movable

    def test_daemons(self) -> None:
        assert not only_instance(node(), pod(owner=("DaemonSet", "x"))).movable

    def test_bare_pods(self) -> None:
        assert not only_instance(node(), pod(owner=None)).movable

    def test_an_owner_that_does_not_control(self) -> None:
        item = pod()
        item["metadata"] = {"name": "p0", "ownerReferences": [owned("ReplicaSet", "x") | {"controller": False}]}
        assert not only_instance(node(), item).movable

    def test_static_pods(self) -> None:
        assert not only_instance(node(), pod(owner=("Node", "n0"))).movable
        mirror = {"kubernetes.io/config.mirror": "abc"}
        assert not only_instance(node(), pod(annotations=mirror)).movable

    def test_pods_that_are_being_deleted(self) -> None:
        assert not only_instance(node(), pod(deleted=True)).movable

    @pytest.mark.parametrize(
        ("key", "value", "movable"),
        [
            ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false", False),
            ("cluster-autoscaler.kubernetes.io/safe-to-evict", "true", True),
            ("karpenter.sh/do-not-disrupt", "true", False),
            ("karpenter.sh/do-not-disrupt", "false", True),
            ("karpenter.sh/do-not-evict", "true", False),
        ],
    )
    def test_annotations(self, key: str, value: str, movable: bool) -> None:
        assert only_instance(node(), pod(annotations={key: value})).movable is movable

    def test_pods_tied_to_their_node_by_name(self) -> None:
        field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}}
        assert not only_instance(node(), pod(nodeSelector={"kubernetes.io/hostname": "n0"})).movable
        assert not only_instance(node(), pod(affinity={"nodeAffinity": required})).movable
        assert only_instance(node(labels={"zone": "a"}), pod(nodeSelector={"zone": "a"})).movable
        assert not only_instance(node(), pod(nodeSelector={"zone": "a"})).movable

    def test_other_demands_on_nodes_tie_no_pod(self) -> None:
        zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [zone]}}
        assert only_instance(node(labels={"zone": "a"}), pod(affinity={"nodeAffinity": required})).movable
        assert only_instance(node(), pod(affinity={"podAntiAffinity": {}})).movable

    def test_one_immovable_pod_does_not_tie_its_job(self) -> None:
        job = only_job(node(), pod("a"), pod("b", deleted=True))
        assert [instance.movable for instance in job.instances] == [True, False]
