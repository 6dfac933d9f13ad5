"""Kubernetes: what holds for every cluster, whatever its objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.document import Document
from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes import read_kubernetes
from oracle.snapshots.model import SnapshotError
from tests.oracle.snapshots.kubernetes_objects import GPU, PRODUCT, Json, cpu_node, left_out, listing, node, pod, read

if TYPE_CHECKING:
    from collections.abc import Sequence

NODES = ["n1", "n2", "n10"]
TEAM: Json = {"key": "team", "value": "a", "effect": "NoSchedule"}


def pods(name: str) -> st.SearchStrategy[Json]:
    """Return a pod that holds, shares or waits for GPUs, or has nothing to do with them."""
    return st.builds(
        pod,
        st.just(name),
        st.integers(0, 4),
        node=st.sampled_from([*NODES, None]),
        key=st.sampled_from([GPU, GPU, "amd.com/gpu", "nvidia.com/mig-1g.5gb"]),
        owner=st.sampled_from([("Job", "a"), ("Job", "b"), ("DaemonSet", "d"), None]),
        annotations=st.sampled_from([{}, {"gpu-fraction": "0.5"}]),
        tolerations=st.lists(st.just(TEAM), max_size=1),
    )


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    """Return nodes and pods of all sorts; every pod's node is among the nodes."""
    items = [
        node(
            name,
            allocatable={draw(st.sampled_from([GPU, "amd.com/gpu"])): draw(st.integers(0, 8))},
            labels={PRODUCT: draw(st.sampled_from(["H100", "A100", "A100-MIG-1g.5gb", ""]))},
            taints=draw(st.lists(st.just(TEAM), max_size=1)),
            unschedulable=draw(st.booleans()),
        )
        for name in NODES
    ]
    return items + [draw(pods(f"p-{number}")) for number in range(draw(st.integers(0, 8)))]


IRRELEVANT: list[Json] = [
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": 3}},
    cpu_node("cpu"),
    pod("finished", 8, phase="Succeeded", node="gone"),
    pod("idle", 0, node="cpu"),
]


@given(cluster=clusters(), data=st.data())
def test_the_order_of_items_never_matters(cluster: list[Json], data: st.DataObject) -> None:
    one, other = read(*cluster), read(*data.draw(st.permutations(cluster)))
    assert one == other
    assert [entry.reason for entry in one.skipped] == [entry.reason for entry in other.skipped]


@given(cluster=clusters(), data=st.data())
def test_how_items_are_spread_over_files_never_matters(cluster: list[Json], data: st.DataObject) -> None:
    homes = data.draw(st.lists(st.integers(0, 2), min_size=len(cluster), max_size=len(cluster)))
    files = [[item for item, home in zip(cluster, homes, strict=True) if home == number] for number in range(3)]
    assert read(*cluster) == read_kubernetes([listing(*items, name=f"{i}.json") for i, items in enumerate(files)])


@given(cluster=clusters(), extra=st.lists(st.sampled_from(IRRELEVANT), unique_by=str))
def test_items_that_hold_no_gpus_change_nothing(cluster: list[Json], extra: list[Json]) -> None:
    assert read(*cluster) == read(*cluster, *extra)


@given(cluster=clusters())
def test_every_node_and_pod_is_accounted_for(cluster: list[Json]) -> None:
    snapshot = read(*cluster)
    in_snapshot = sum(len(job.instances) for job in snapshot.jobs) + sum(job.instances for job in snapshot.pending)
    # The one reason for which a pod is mentioned though it is in the snapshot.
    skipped = [entry.items for entry in snapshot.skipped if entry.reason != why.PODS_SOME_POOLS]
    mentioned = [item for items in skipped for item in items if item.startswith("default/")]
    assert in_snapshot + len(mentioned) == len(cluster) - len(NODES)
    left_out = {item.partition(":")[0] for items in skipped for item in items}
    assert {n.name for n in snapshot.nodes} | left_out >= set(NODES)


@given(
    cluster=clusters(), mover=st.sampled_from(NODES), tolerant=st.booleans(), kind=st.sampled_from([GPU, "amd.com/gpu"])
)
def test_what_may_move_has_a_node_of_its_pool_that_would_take_it(
    cluster: list[Json], mover: str, tolerant: bool, kind: str
) -> None:
    tolerations = [TEAM] if tolerant else []
    snapshot = read(*cluster, pod("mover", node=mover, key=kind, owner=("Job", "m"), tolerations=tolerations))
    tainted = {item["metadata"]["name"] for item in cluster if item["kind"] == "Node" and "taints" in item["spec"]}  # type: ignore[index,operator]  # plain JSON
    closed = {item.partition(":")[0] for item in left_out(snapshot).get(why.CLOSED_BY_TAINT, ())}
    for found in snapshot.jobs:
        if found.name == "default/m" and found.instances[0].movable:
            pools = {n.name: n.pool for n in snapshot.nodes}
            like_it = {name for name, pool in pools.items() if pool == pools[mover]}
            assert tolerant or like_it - (tainted - closed)


@given(cluster=clusters(), text=st.text(max_size=8), cut=st.integers(0, 10_000))
def test_damage_is_an_error_or_a_snapshot_but_never_a_crash(cluster: Sequence[Json], text: str, cut: int) -> None:
    content = json.dumps({"kind": "List", "items": cluster}).encode()
    cut %= len(content)
    damaged = content[:cut] + text.encode("utf-8", "replace") + content[cut + len(text) :]
    try:
        read_kubernetes([Document("x", damaged)])
    except SnapshotError as error:
        assert str(error).startswith("x")  # noqa: PT017 - most damage is refused, some is harmless
