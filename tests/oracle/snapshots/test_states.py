"""`Snapshot.from_state`: what the core says of its state, the oracle says of the snapshot."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import (
    ClusterState,
    Job,
    Variant,
    add_node,
    arrive,
    depart,
    drain_node,
    fail_node,
    return_node,
    sif,
)
from oracle import Snapshot, SnapshotError, inherent_partial_nodes, measure, plan, verify
from oracle.snapshots.document import Document
from oracle.snapshots.native import read_native, write_native
from proofs.events import Arrival, Departure, NodeEvent, NodeEventKind
from proofs.strategies import Region, cluster_states, event_lists

if TYPE_CHECKING:
    from proofs.events import Event

STATES = st.sampled_from([2, 4, 8]).flatmap(lambda capacity: cluster_states(capacity=capacity, region=Region.ANY))


def back(snapshot: Snapshot, state: ClusterState) -> ClusterState:
    """Return the state that a snapshot of one without lost instances was made from."""
    placement = [
        (Job(job.name, len(job.instances), job.instances[0].gpus), [int(one.node) for one in job.instances])
        for job in snapshot.jobs
    ]
    return ClusterState.from_placement(placement, nodes=len(snapshot.nodes), capacity=state.capacity)


@given(STATES)
def test_the_figures_are_those_of_the_core(state: ClusterState) -> None:
    measured = measure(Snapshot.from_state(state))
    assert measured.nodes == state.node_count
    assert measured.gpus == state.total_gpus
    assert measured.used_gpus == state.used_gpus
    assert measured.free_gpus == state.free_gpus
    assert measured.partial_nodes == state.partial_nodes
    assert measured.empty_nodes == state.empty_nodes
    assert measured.largest_free_block == state.largest_free_block
    assert measured.wcc == state.wcc
    assert measured.instances == {gpus: count for gpus, count in enumerate(state.counts, start=1) if count}
    inherent = partial(inherent_partial_nodes, capacity=state.capacity)
    assert measured.sif == pytest.approx(sif(state, inherent))


@given(STATES)
def test_there_and_back(state: ClusterState) -> None:
    snapshot = Snapshot.from_state(state)
    assert back(snapshot, state) == state
    assert read_native(Document("state", write_native(snapshot).encode())) == snapshot


def followed(state: ClusterState, event: Event) -> ClusterState:  # noqa: PLR0911 - an event a line
    """Return the state after an event; the same one where it means nothing."""
    match event:
        case Arrival(job):
            return arrive(state, job, variant=Variant.EXACT).state
        case Departure(name) if name in state.jobs_by_name:
            return depart(state, name, variant=Variant.EXACT).state
        case NodeEvent(NodeEventKind.ADD):
            return add_node(state).state
        case NodeEvent(NodeEventKind.DRAIN, index) if state.is_online(index):
            return drain_node(state, index, variant=Variant.EXACT).state
        case NodeEvent(NodeEventKind.FAIL, index) if state.is_online(index):
            return fail_node(state, index).state
        case NodeEvent(NodeEventKind.RETURN, index) if index in state.offline_nodes:
            return return_node(state, index).state
        case _:
            return state


@given(event_lists(max_events=12, nodes=3))
def test_after_any_events(events: tuple[Event, ...]) -> None:
    """Nodes come, leave and fail on the way, and instances with them."""
    state = ClusterState.empty(nodes=3)
    for event in events:
        state = followed(state, event)
    snapshot = Snapshot.from_state(state)
    measured = measure(snapshot)
    assert (measured.nodes, measured.partial_nodes) == (state.node_count, state.partial_nodes)
    standing = Counter((job.name, one.node, one.gpus) for job in snapshot.jobs for one in job.instances)
    expected = Counter(
        (one.job, str(index), one.gpus) for index, node in enumerate(state.nodes) for one in node.instances
    )
    assert standing == expected
    gone = {job.name for job in state.jobs} - {job.name for job in snapshot.jobs}
    assert {name for group in snapshot.skipped for name in group.items} == gone


def test_jobs_whose_instances_a_failed_node_took() -> None:
    state = ClusterState.from_placement([(Job("a", 3, 2), [0, 1, 1]), (Job("b", 1, 4), [0])], nodes=3)
    snapshot = Snapshot.from_state(fail_node(state, 0).state)
    assert [node.name for node in snapshot.nodes] == ["1", "2"]
    assert [(job.name, [one.node for one in job.instances]) for job in snapshot.jobs] == [("a", ["1", "1"])]
    assert [(group.reason, group.items) for group in snapshot.skipped] == [("jobs of which no instance runs", ("b",))]


def test_what_no_snapshot_can_hold() -> None:
    with pytest.raises(SnapshotError, match="expected the name of a job"):
        Snapshot.from_state(ClusterState.from_placement([(Job(""), [0])], nodes=1))
    with pytest.raises(SnapshotError, match="expected 0 to 1024 GPUs"):
        Snapshot.from_state(ClusterState.empty(nodes=1, capacity=2000))


def test_a_state_is_planned_and_the_plan_verified() -> None:
    state = ClusterState.from_placement([(Job(f"j{n}", 1, 4), [n]) for n in range(4)], nodes=4)
    snapshot = Snapshot.from_state(state)
    found = plan(snapshot)
    assert (found.partial_nodes_before, found.partial_nodes_after, found.migrations) == (4, 0, 2)
    checks = verify(json.loads(json.dumps(found.to_dict())), snapshot)
    assert checks
    assert all(check.holds is not False for check in checks)
    forged = found.to_dict() | {"partial_nodes_before": 3}
    assert any(check.holds is False for check in verify(forged, snapshot))
