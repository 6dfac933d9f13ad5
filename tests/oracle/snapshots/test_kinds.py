"""Kinds of instances: no demand of any input is taken for a group, nor a group for GPUs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core.errors import InvalidJobError
from oracle import admit
from oracle.admission.queues import admit_queue
from oracle.snapshots.faults import MAX_DEMAND, MAX_GPUS_PER_NODE, MAX_NODES, SnapshotError
from oracle.snapshots.kinds import gpus_of, group_of, kind_of, total_gpus
from oracle.snapshots.model import NodeSet, PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode

GPUS = st.integers(1, MAX_DEMAND)
GROUPS = st.integers(0, 1 << 20)


@given(st.lists(st.tuples(GPUS, GROUPS), max_size=5))
def test_a_kind_tells_its_gpus_and_its_group(told: list[tuple[int, int]]) -> None:
    kinds = [kind_of(gpus, group) for gpus, group in told]
    assert [(gpus_of(kind), group_of(kind)) for kind in kinds] == told
    assert total_gpus(kinds) == sum(gpus for gpus, _ in told)


def test_not_even_all_gpus_of_a_cluster_are_taken_for_a_group() -> None:
    assert MAX_NODES * MAX_GPUS_PER_NODE <= MAX_DEMAND


@pytest.mark.parametrize("gpus", [9, 1024, 2047, 2048, 2050, 2**20 + 2, 10**6 + 2, 2**31 + 2, 2**32 + 2, MAX_DEMAND])
def test_whoever_wants_more_gpus_than_a_node_has_is_in_no_group(gpus: int) -> None:
    """Two GPUs within the set are a group of their own, which fits now; nothing else is taken for it."""
    snapshot = Snapshot.build(
        nodes=[SnapshotNode(name="a", gpus=8), SnapshotNode(name="b", gpus=8)],
        jobs=[RunningJob(name="j", instances=(RunningInstance(node="a", gpus=2, within=("set",)),))],
        pending=[
            PendingJob(name="small", instances=1, gpus_per_instance=2, within=("set",)),
            PendingJob(name="large", instances=1, gpus_per_instance=gpus),
            PendingJob(name="large within", instances=1, gpus_per_instance=gpus, within=("set",)),
        ],
        node_sets=[NodeSet(name="set", kind="partition", nodes=frozenset("a"))],
    )
    assert admit(snapshot, job="small").verdict == "fits_now"
    assert admit(snapshot, job="large").verdict == "cannot"
    assert admit(snapshot, job="large within").verdict == "cannot"
    assert admit(snapshot, instances=1, gpus=gpus).verdict == "cannot"
    queue = admit_queue(snapshot)
    assert queue.first is not None
    assert (queue.first[0], queue.together.jobs) == ("small", ("small",))


def test_a_demand_beyond_all_is_refused() -> None:
    waiting = PendingJob(name="w", instances=1, gpus_per_instance=MAX_DEMAND + 1)
    nodes = [SnapshotNode(name="a", gpus=8)]
    with pytest.raises(
        SnapshotError, match=r"^pending\[0\]\.gpus_per_instance: .* 999999999999 GPUs, got 1000000000000$"
    ):
        Snapshot.build(nodes=nodes, pending=[waiting])
    with pytest.raises(InvalidJobError, match="at most 999999999999, got 1 of 1000000000000"):
        admit(Snapshot.build(nodes=nodes), instances=1, gpus=MAX_DEMAND + 1)
