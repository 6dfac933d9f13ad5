"""Kubernetes: devices that are handed out dynamically, and devices of which nobody said what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from oracle.snapshots.kubernetes import KubernetesOptions
from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.model import SnapshotError
from tests.oracle.snapshots.kubernetes_objects import GPU, Json, left_out, node, only_pending, pod, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oracle.snapshots.model import Snapshot

DRIVER = "gpu.nvidia.com"


def resource_slice(
    name: str | None = "n0",
    devices: Iterable[Json] = ({"name": "gpu-0"}, {"name": "gpu-1"}, {"name": "gpu-2"}, {"name": "gpu-3"}),
    *,
    driver: str = DRIVER,
    version: str = "v1",
    generation: int = 1,
    slices: int = 1,
) -> Json:
    pool = {"name": name or "all", "generation": generation, "resourceSliceCount": slices}
    where: Json = {"allNodes": True} if name is None else {"nodeName": name}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{driver}-{generation}"},
        "spec": {"driver": driver, "pool": pool, "devices": [*devices], **where},
    }


def claim(name: str, *devices: str, node: str = "n0", request: Json | None = None, **result: object) -> Json:
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": device, **result} for device in devices]
    exact: Json = {"name": "r", "exactly": {"deviceClassName": DRIVER, "count": 2}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [exact if request is None else request]}},
        "status": {"allocation": {"devices": {"results": results}}} if devices else {},
    }


def claiming(name: str, claim_name: str = "c", *, node: str | None = "n0", job: str = "") -> Json:
    claims = [{"name": "gpu", "resourceClaimName": claim_name}]
    return pod(name, 0, asked={}, node=node, owner=("Job", job or name), resourceClaims=claims)


def bare(name: str = "n0") -> Json:
    return node(name, allocatable={})


def used(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    held = snapshot.used_gpus()
    return {n.name: (held[n.name], n.gpus) for n in snapshot.nodes}


class TestDevices:
    """Slices say what nodes have, claims who holds it."""

    def test_two_nodes_of_four(self) -> None:
        items = [bare("n0"), bare("n1"), resource_slice("n0"), resource_slice("n1")]
        items += [claim("c", "gpu-0", "gpu-1"), claim("d", "gpu-3", node="n1")]
        snapshot = read(*items, claiming("p"), claiming("q", "d", node="n1"))
        assert used(snapshot) == {"n0": (2, 4), "n1": (1, 4)}
        assert left_out(snapshot) == {}

    def test_the_order_of_objects_is_of_no_importance(self) -> None:
        items = [bare(), resource_slice(), claim("c", "gpu-0"), claiming("p")]
        assert read(*items) == read(*reversed(items))

    def test_the_form_of_v1beta1(self) -> None:
        product = {"productName": {"string": "GB200"}, "type": {"string": "gpu"}}
        device: Json = {"name": "gpu-0", "basic": {"attributes": product}}
        snapshot = read(bare(), resource_slice(devices=[device], version="v1beta1"), pod(gpus=0))
        assert [(n.gpus, n.pool) for n in snapshot.nodes] == [(1, "GB200")]

    @pytest.mark.parametrize(
        "part",
        [
            {"attributes": {"type": {"string": "mig"}}},
            {"consumesCounters": [{"counterSet": "gpu-0"}]},
            {"allowMultipleAllocations": True},
            {"basic": {"consumesCounters": [{"counterSet": "gpu-0"}]}},
            {"attributes": {f"{DRIVER}/type": {"string": "mig"}}},
        ],
    )
    def test_parts_and_shared_devices_are_left_out(self, part: Json) -> None:
        snapshot = read(bare(), resource_slice(devices=[{"name": "gpu-0"}, {"name": "part", **part}]), pod(gpus=0))
        assert used(snapshot) == {"n0": (0, 1)}
        assert left_out(snapshot)[why.DEVICES_DIVIDED] == ("n0: part",)

    def test_of_several_generations_the_newest_counts(self) -> None:
        old, new = resource_slice(), resource_slice(devices=[{"name": "gpu-0"}], generation=2)
        assert used(read(bare(), old, new, pod(gpus=0))) == {"n0": (0, 1)}

    def test_a_slice_that_is_missing(self) -> None:
        snapshot = read(bare(), resource_slice(slices=2), pod(gpus=0))
        assert left_out(snapshot)[why.SLICES_MISSING] == (f"{DRIVER} pool n0",)

    def test_drivers_of_other_things_and_devices_of_no_node(self) -> None:
        nic = "nic.example.com"
        snapshot = read(bare(), resource_slice(driver=nic), resource_slice(None), pod(gpus=0))
        assert snapshot.nodes == ()
        assert left_out(snapshot)[why.DEVICES_UNCOUNTED] == (f"{nic} of n0",)
        assert left_out(snapshot)[why.DEVICES_NOT_OF_A_NODE] == (f"{DRIVER} pool all",)
        options = KubernetesOptions(resources=(nic,), asked=frozenset({"resources"}))
        assert [n.gpus for n in read(bare(), resource_slice(driver=nic), pod(gpus=0), options=options).nodes] == [4]

    def test_more_devices_than_any_machine_has(self) -> None:
        devices: list[Json] = [{"name": f"gpu-{i}"} for i in range(1025)]
        with pytest.raises(SnapshotError, match=r"expected at most 1024 devices on node 'n0', got 1025"):
            read(bare(), resource_slice(devices=devices), pod(gpus=0))


class TestClaims:
    """What a claim holds is its pod's; what is unclear is listed."""

    def test_a_claim_that_several_pods_have(self) -> None:
        snapshot = read(bare(), resource_slice(), claim("c", "gpu-0"), claiming("p"), claiming("q"))
        assert used(snapshot) == {"n0": (0, 3)}
        assert left_out(snapshot)[why.CLAIMED_OTHERWISE] == ("n0: gpu-0",)
        assert left_out(snapshot)[why.PODS_SHARED] == ("default/p", "default/q")

    def test_a_claim_without_a_pod_is_not_free(self) -> None:
        assert used(read(bare(), resource_slice(), claim("c", "gpu-0"), pod(gpus=0))) == {"n0": (0, 3)}

    def test_an_administrator_holds_nothing(self) -> None:
        items = [bare(), resource_slice(), claim("c", "gpu-0", adminAccess=True), claiming("p")]
        assert used(read(*items)) == {"n0": (0, 4)}

    def test_claims_that_are_not_in_the_input(self) -> None:
        snapshot = read(bare(), claiming("p"))
        assert left_out(snapshot)[why.PODS_CLAIMS] == ("default/p",)
        assert any(entry.kept for entry in snapshot.skipped if entry.reason == why.PODS_CLAIMS)

    def test_a_pod_that_waits_for_devices(self) -> None:
        found = only_pending(bare(), resource_slice(), claim("c"), claiming("p", node=None))
        assert (found.instances, found.gpus_per_instance) == (1, 2)

    @pytest.mark.parametrize(
        "request_",
        [
            {"name": "r", "exactly": {"deviceClassName": "fast", "count": 1}},
            {"name": "r", "exactly": {"deviceClassName": DRIVER, "allocationMode": "All"}},
            {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": DRIVER}]},
            {"name": "r", "deviceClassName": DRIVER, "selectors": [{"cel": {"expression": "true"}}]},
        ],
    )
    def test_a_request_that_cannot_be_told(self, request_: Json) -> None:
        snapshot = read(bare(), resource_slice(), claim("c", request=request_), claiming("p", node=None))
        assert snapshot.pending == ()
        assert left_out(snapshot)[why.PODS_CLAIMS] == ("default/p",)

    def test_gpus_that_no_node_offers_are_said(self) -> None:
        assert left_out(read(bare(), pod(gpus=2)))[why.NODES_OFFER_UNKNOWN] == ("n0",)


class TestOtherDevices:
    """Devices that may be accelerators are named, so that they can be asked for."""

    def test_nodes_and_pods(self) -> None:
        key = "habana.ai/gaudi"
        items = [node("g", key=key), node("r", allocatable={"rdma/hca": "1"}), pod(gpus=4, key=key, node="g")]
        skipped = left_out(read(*items))
        assert skipped[why.NODES_OTHER_DEVICES] == (f"g: {key}",)
        assert skipped[why.PODS_OTHER_DEVICES] == (f"default/p0: {key}",)
        assert skipped[why.NODES_WITHOUT_GPUS] == ("r",)
        options = KubernetesOptions(resources=(key,), asked=frozenset({"resources"}))
        assert used(read(*items, options=options)) == {"g": (4, 8)}

    def test_a_key_with_nothing_behind_it_is_no_key(self) -> None:
        mig: Json = {"nvidia.com/mig-1g.10gb": "56"}
        with_zero, without = node("m", allocatable=mig | {GPU: "0"}), node("m", allocatable=mig)
        assert read(node(), with_zero, pod()) == read(node(), without, pod())
        assert left_out(read(node(), with_zero, pod())) == left_out(read(node(), without, pod()))
