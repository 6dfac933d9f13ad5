"""The example cluster: what the file shows, and that it is the one its generator writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from immutables import Map

from examples.snapshots.generate_kubernetes import A100, H100, OUTPUT, kubernetes_example
from oracle.snapshots.document import read_document
from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes import read_kubernetes
from oracle.snapshots.model import PendingJob, Snapshot
from tests.oracle.snapshots.kubernetes_objects import left_out

TEAM_JOB = "team-a/finetune-007"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read_kubernetes([read_document(OUTPUT)])


def partial_nodes(snapshot: Snapshot) -> list[str]:
    used = snapshot.used_gpus()
    return [node.name for node in snapshot.nodes if 0 < used[node.name] < node.gpus]


def test_the_file_is_what_the_generator_writes() -> None:
    text = kubernetes_example()
    assert text == kubernetes_example() == Path(OUTPUT).read_text(encoding="utf-8")
    assert len(text) < 400_000


def test_two_pools_with_a_cordoned_node_and_a_broken_gpu(snapshot: Snapshot) -> None:
    assert snapshot.pools == (A100, H100)
    assert len(snapshot.nodes) == 40
    assert sorted({node.gpus for node in snapshot.nodes}) == [4, 7, 8]
    assert [node.name for node in snapshot.nodes if not node.schedulable] == ["gpu-a100-05"]


def test_three_quarters_of_the_gpus_are_held_and_most_nodes_are_partly_used(snapshot: Snapshot) -> None:
    held, offered = sum(snapshot.used_gpus().values()), sum(node.gpus for node in snapshot.nodes)
    assert 0.7 < held / offered < 0.8
    # The GPUs that are free would make 9 empty nodes of 8; as it is, three nodes of four have some of them.
    assert offered - held >= 9 * 8
    assert len(partial_nodes(snapshot)) >= 30


def test_a_gang_waits_for_whole_nodes_that_its_pool_could_have(snapshot: Snapshot) -> None:
    (waiting,) = snapshot.pending
    assert waiting == PendingJob(
        name="science/llm-finetune",
        instances=2,
        gpus_per_instance=8,
        pool=H100,
        within=(f"selector nvidia.com/gpu.product={H100}",),
        resources=Map(cpu_millicores=64_000, memory_mib=512 << 10),
        reason="0/43 nodes are available: not enough whole nodes with free nvidia.com/gpu.",
    )
    used = snapshot.used_gpus()
    free = [node.gpus - used[node.name] for node in snapshot.nodes if node.pool == H100]
    assert max(free) < 8
    assert sum(free) > 40


def test_every_sort_of_workload(snapshot: Snapshot) -> None:
    jobs = {job.name: job for job in snapshot.jobs}
    assert [instance.gpus for instance in jobs["research/llm-pretrain"].instances] == [8, 8, 8, 8]
    assert len(jobs["science/gnn-sweep"].instances) == 6
    assert [instance.gpus for instance in jobs[TEAM_JOB].instances] == [2]
    immovable = {job.name for job in snapshot.jobs if not all(i.movable for i in job.instances)}
    assert immovable == {
        "notebooks/notebook-ada",
        "notebooks/notebook-emmy",
        "notebooks/notebook-sofia",
        "team-a/eval-retired",
        "team-b/debug-nccl",
    }
    assert {reason: len(items) for reason, items in left_out(snapshot).items()} == {
        why.NODES_WITHOUT_GPUS: 3,
        why.PODS_WITHOUT_GPUS: 43,
        why.PODS_FINISHED: 10,
    }
