"""A refusal leaves the state identical and names every reason, with numbers; capacity is told from fragmentation."""

from __future__ import annotations

import pytest

from compass_core import ClusterState, Job, Refusal, RefusalKind, Variant, arrive

REPAIRED = [Variant.COMPASS, Variant.EXACT]


def refused(state: ClusterState, job: Job, variant: Variant) -> Refusal:
    out = arrive(state, job, variant=variant)
    assert not out.admitted
    assert out.state is state
    assert (out.placements, out.migrations) == ((), ())
    assert out.reason is not None
    return out.reason


@pytest.mark.parametrize("variant", Variant)
def test_capacity(variant: Variant) -> None:
    state = ClusterState.from_placement([(Job("a", 1, 8), [0]), (Job("b", 1, 4), [1])], nodes=2)
    reason = refused(state, Job("c", 3, 2), variant)
    assert reason == Refusal(
        kind=RefusalKind.CAPACITY,
        demanded_gpus=6,
        free_gpus=4,
        empty_nodes=0,
        largest_free_block=4,
        instances_that_fit=2,
        instances=3,
        reserved_gpus=18,
        total_gpus=16,
        wcc_need=0,
        wcc_supply=0,
    )
    assert str(reason) == (
        "capacity: 6 GPUs demanded, 4 free; 2 of 3 instances fit as the free GPUs lie (largest free block 4, "
        "0 empty nodes); slots would reserve 18 GPUs, the cluster has 16"
    )


@pytest.mark.parametrize("variant", REPAIRED)
def test_fragmentation(variant: Variant) -> None:
    """7 + 7 GPUs are used of 16: two are free, but on two nodes, and no 1-GPU instance makes way."""
    state = ClusterState.from_placement([(Job("a", 2, 7), [0, 1])], nodes=2)
    reason = refused(state, Job("c", 1, 2), variant)
    assert reason.kind is RefusalKind.FRAGMENTATION
    assert reason.reasons == (
        "0 of 1 instances fit as the free GPUs lie (largest free block 1, 0 empty nodes)",
        "slots would reserve 18 GPUs, the cluster has 16",
        "slots would ask for 2 fillers, there are 0",
    )


@pytest.mark.parametrize("variant", REPAIRED)
def test_structure_without_the_condition(variant: Variant) -> None:
    """{3, 3} has 2 GPUs free and room for a 2-GPU instance, but not for its slot."""
    state = ClusterState.from_placement([(Job("a", 2, 3), [0, 0])], nodes=1)
    reason = refused(state, Job("c", 1, 2), variant)
    assert reason.kind is RefusalKind.STRUCTURE
    assert reason.reasons == (
        "slots would reserve 10 GPUs, the cluster has 8",
        "slots would ask for 2 fillers, there are 0",
    )


def test_structure_under_compass() -> None:
    """P12: ABS keeps slots and ones apart; nothing else speaks against the job."""
    state = ClusterState.from_placement([(Job("a"), [0])], nodes=1)
    reason = refused(state, Job("c", 1, 4), Variant.COMPASS)
    assert (reason.kind, reason.reasons) == (RefusalKind.STRUCTURE, ())
    assert str(reason) == "structure: slots and ones need nodes of their own"


def test_a_cluster_without_nodes() -> None:
    reason = refused(ClusterState.empty(0), Job("a"), Variant.EXACT)
    assert (reason.kind, reason.largest_free_block, reason.empty_nodes) == (RefusalKind.CAPACITY, 0, 0)


@pytest.mark.parametrize("variant", REPAIRED)
def test_a_gang_is_admitted_whole_or_not_at_all(variant: Variant) -> None:
    """Two of three instances fit; none starts."""
    state = ClusterState.from_placement([(Job("a", 1, 8), [0])], nodes=2)
    reason = refused(state, Job("c", 3, 4), variant)
    assert (reason.instances_that_fit, reason.instances) == (2, 3)
    assert arrive(state, Job("c", 2, 4), variant=variant).admitted


def test_room_for_more_than_the_job_is_a_matter_of_structure_too() -> None:
    state = ClusterState.from_placement([(Job("a", 1, 4), [0])], nodes=1)
    reason = arrive(state, Job("b"), variant=Variant.COMPASS).reason
    assert reason is not None
    assert (reason.kind, reason.instances_that_fit) == (RefusalKind.STRUCTURE, 1)


def test_slots_and_ones_that_fit_to_the_last_gpu_but_not_apart() -> None:
    """{4} and four ones reserve the 8 GPUs there are: that is no reason, and no other number is one."""
    state = ClusterState.from_placement([(Job("a", 1, 4), [0])], nodes=1)
    reason = refused(state, Job("b", 4, 1), Variant.COMPASS)
    assert (reason.kind, reason.reserved_gpus, reason.total_gpus) == (RefusalKind.STRUCTURE, 8, 8)
    assert reason.reasons == ()
    assert str(reason) == "structure: slots and ones need nodes of their own"
