"""Kubernetes: objects that real clusters printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from oracle.snapshots.document import read_document
from oracle.snapshots.kubernetes import KubernetesOptions, read_kubernetes
from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotError, SnapshotNode
from tests.oracle.snapshots.kubernetes_objects import OPTIONS, left_out, listing, node

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.snapshots.document import Document

pytestmark = pytest.mark.real_data

FRACTION_NODE = "i-0b498db53280b86a6"


@pytest.fixture
def folder(real_data: Path) -> Path:
    return real_data / "snapshots" / "kubernetes"


def read_files(
    folder: Path, *names: str, extra: tuple[Document, ...] = (), options: KubernetesOptions = OPTIONS
) -> Snapshot:
    return read_kubernetes([*(read_document(folder / name) for name in names), *extra], options)


class TestOpenPai:
    """Lists of OpenPAI clusters: items without kind, a pod without spec, an eviction."""

    def test_a_bound_pending_pod_on_a_node_that_was_not_printed(self, folder: Path) -> None:
        with pytest.raises(SnapshotError, match=r"pai_pod_list\.json: items\[2\]\.spec\.nodeName: no node is named"):
            read_files(folder, "pai_node_list.json", "pai_pod_list.json")

    def test_with_that_node(self, folder: Path) -> None:
        snapshot = read_files(
            folder, "pai_node_list.json", "pai_pod_list.json", extra=(listing(node("test_node_1", 4)),)
        )
        assert [(n.name, n.gpus, n.schedulable) for n in snapshot.nodes] == [
            ("test_node_0", 4, True),
            ("test_node_1", 4, True),
        ]
        (job,) = snapshot.jobs
        assert job.name.startswith("default/f1up4zk9ehfpjx2z")
        (one,) = job.instances
        assert one == RunningInstance(
            node="test_node_1", gpus=1, movable=one.movable, name=one.name, resources=one.resources
        )
        assert dict(one.resources) == {"cpu_millicores": 4_000, "memory_mib": 40 << 10, "github.com/fuse": 1}
        assert one.name is not None
        assert one.name.endswith("-taskrole-28")
        assert left_out(snapshot) == {
            why.PODS_WITHOUT_GPUS: ("default/log-manager-ds-nxm2k",),
            why.PODS_WITHOUT_SPEC: ("default/end-to-end-test-deployment-6d865cf95c-tm68r",),
        }

    def test_an_evicted_pod_holds_nothing(self, folder: Path) -> None:
        snapshot = read_files(folder, "pai_node_list.json", "pai_no_condition_pod.json")
        assert snapshot == Snapshot.build(nodes=[SnapshotNode(name="test_node_0", gpus=4)])
        assert left_out(snapshot) == {why.PODS_FINISHED: ("default/yarn-frameworklauncher-ds-2684q",)}

    def test_the_resource_of_kubernetes_1_9_is_counted_if_named(self, folder: Path) -> None:
        names = ("pai_dlws_node_list_with_unschedulable.json", "pai_no_condition_pod.json")
        assert left_out(read_files(folder, *names))[why.NODES_UNCOUNTED] == (
            "dltsp40-infra01: alpha.kubernetes.io/nvidia-gpu",
        )
        options = KubernetesOptions(resources=("alpha.kubernetes.io/nvidia-gpu",))
        assert read_files(folder, *names, options=options).nodes == (
            SnapshotNode(name="dltsp40-infra01", gpus=4, schedulable=False),
        )


class TestRunAi:
    """Nodes and pods of run:ai clusters, as YAML with the comments of `kubectl edit`."""

    @pytest.mark.parametrize(
        ("node_file", "pod_file", "devices"),
        [
            ("runai_ge2.9__mig__node__7g-40gb.yaml", "runai_ge2.9__mig__pod__7g-5gb.yaml", "1 nvidia.com/mig-7g.40gb"),
            (
                "runai_lt2.9__mig__node__3_instances.yaml",
                "runai_lt2.9__mig__pod__1g-5gb.yaml",
                "2 nvidia.com/mig-1g.5gb, 1 nvidia.com/mig-2g.10gb",
            ),
            (
                "runai_lt2.9__mig__node__4_instances.yaml",
                "runai_lt2.9__mig__pod__1g-5gb.yaml",
                "3 nvidia.com/mig-1g.5gb, 1 nvidia.com/mig-2g.10gb",
            ),
        ],
    )
    def test_mig(self, folder: Path, node_file: str, pod_file: str, devices: str) -> None:
        snapshot = read_files(folder, node_file, pod_file)
        # Of whole GPUs they have the key, and none.
        assert snapshot.nodes == ()
        skipped = left_out(snapshot)
        assert skipped[why.NODES_MIG] == (f"qa-mig-worker-gpu-a100: {devices}",)
        assert len(skipped[why.PODS_MIG]) == 1

    def test_a_fraction_and_its_reservation_take_one_gpu(self, folder: Path) -> None:
        names = ("runai_2.17__fractional_pod.yaml", "runai_2.17__fractional_pod_reservation.yaml")
        for chosen in (names, names[:1], names[1:]):
            snapshot = read_files(folder, *chosen, extra=(listing(node(FRACTION_NODE, 4)),))
            assert snapshot == Snapshot.build(nodes=[SnapshotNode(name=FRACTION_NODE, gpus=3)])

    def test_a_fraction_on_a_node_that_was_not_printed(self, folder: Path) -> None:
        with pytest.raises(
            SnapshotError, match=rf"fractional_pod\.yaml: spec\.nodeName: no node is named '{FRACTION_NODE}'"
        ):
            read_files(folder, "runai_lt2.9__fraction__node__1_workload.yaml", "runai_2.17__fractional_pod.yaml")

    def test_a_node_for_fractions_offers_whole_gpus(self, folder: Path) -> None:
        snapshot = read_files(
            folder, "runai_lt2.9__fraction__node__1_workload.yaml", extra=(listing(kind="PodList", name="pods.json"),)
        )
        assert snapshot.nodes == (SnapshotNode(name="qa-mig-worker-gpu-1", gpus=2, pool="Tesla-T4"),)


def test_every_file_alone_is_refused_because_it_is_half_a_cluster(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        with pytest.raises(SnapshotError, match=r": (nodes, but no pods|pods, but no nodes)") as caught:
            read_files(folder, path.name)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)


def test_a_snapshot_without_any_job_names_no_job(folder: Path) -> None:
    snapshot = read_files(folder, "pai_node_list.json", "pai_no_condition_pod.json")
    jobs: tuple[RunningJob, ...] = snapshot.jobs
    assert (jobs, snapshot.pending) == ((), ())
