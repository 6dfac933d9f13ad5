"""What `Snapshot.build` promises: constraints name what is there, amounts are counts, messages say where."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from immutables import Map

from oracle.snapshots.model import (
    NodeSet,
    PendingJob,
    PendingPart,
    RunningInstance,
    RunningJob,
    Skipped,
    Snapshot,
    SnapshotError,
    SnapshotNode,
)
from tests.oracle.snapshots.strategies import snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = (SnapshotNode(name="n0", gpus=8, resources=Map(cpu=64)), SnapshotNode(name="n1", gpus=8))
LAB = NodeSet(name="partition lab", kind="partition", nodes=frozenset({"n0"}))
ON_N0 = RunningInstance(node="n0", gpus=2, within=("partition lab",), budgets=("web",), resources=Map(cpu=8))
JOB = RunningJob(name="a", instances=(ON_N0,), distinct_nodes=True, priority=-5)
PART = PendingPart(instances=1, gpus_per_instance=8, within=("partition lab",), resources=Map(cpu=1))
WAITING = PendingJob(
    name="w", instances=2, gpus_per_instance=4, within=("partition lab",), further_parts=(PART,), reason="Resources"
)


def build(
    *,
    nodes: tuple[SnapshotNode, ...] = NODES,
    node_sets: tuple[NodeSet, ...] = (LAB,),
    instance: RunningInstance = ON_N0,
    job: RunningJob = JOB,
    waiting: PendingJob = WAITING,
    budgets: dict[str, int] | None = None,
    not_looked_at: tuple[Skipped, ...] = (),
) -> Snapshot:
    return Snapshot.build(
        nodes=nodes,
        jobs=[replace(job, instances=(instance,))],
        pending=[waiting],
        node_sets=node_sets,
        budgets={"web": 1} if budgets is None else budgets,
        not_looked_at=not_looked_at,
    )


def part(**changes: object) -> PendingJob:
    return replace(WAITING, further_parts=(PART, replace(PART, **changes)))  # type: ignore[arg-type]  # fields of any type


def test_what_is_right_is_kept() -> None:
    looked_over = (Skipped(reason="topology spread", items=("a",), kept=True),)
    snapshot = build(not_looked_at=looked_over)
    assert (snapshot.node_sets, dict(snapshot.budgets), snapshot.not_looked_at) == ((LAB,), {"web": 1}, looked_over)
    assert hash(snapshot) == hash(build(not_looked_at=looked_over))


def test_an_instance_may_stand_where_it_may_not_be_put_and_a_set_may_be_empty() -> None:
    # The label or the partition was changed after it had started.
    assert build(instance=replace(ON_N0, node="n1")).jobs[0].instances[0].node == "n1"
    assert build(node_sets=(replace(LAB, nodes=frozenset()),)).node_sets[0].nodes == frozenset()


BIG = 2**63
FAULTS: list[tuple[Callable[[], Snapshot], str]] = [
    (lambda: build(node_sets=(LAB, LAB)), "node_sets[1].name: the name 'partition lab' is already taken by node_sets"),
    (lambda: build(node_sets=(LAB, replace(LAB, name=""))), "node_sets[1].name: expected the name of a node set, got"),
    (lambda: build(node_sets=(replace(LAB, kind=""),)), "node_sets[0].kind: expected the kind of a constraint, got an"),
    (
        lambda: build(node_sets=(replace(LAB, nodes=frozenset({"n0", "x"})),)),
        "node_sets[0].nodes: no node is named 'x'",
    ),
    (lambda: build(instance=replace(ON_N0, within=("gone",))), "jobs[0].instances[0].within[0]: no node set is named"),
    (
        lambda: build(instance=replace(ON_N0, within=("partition lab", "partition lab"))),
        "jobs[0].instances[0].within[1]: the node set 'partition lab' is there twice, expected once",
    ),
    (lambda: build(instance=replace(ON_N0, budgets=("x",))), "jobs[0].instances[0].budgets[0]: no budget is named 'x'"),
    (lambda: build(waiting=replace(WAITING, within=("x",))), "pending[0].within[0]: no node set is named 'x'"),
    (lambda: build(waiting=replace(WAITING, within_one_of=("x",))), "pending[0].within_one_of[0]: no node set is"),
    (
        lambda: build(waiting=replace(WAITING, within_one_of=("partition lab",), together=False)),
        "pending[0].within_one_of: expected none of a job whose instances start one by one",
    ),
    (lambda: build(waiting=part(within=("x",))), "pending[0].parts[1].within[0]: no node set is named 'x'"),
    (lambda: build(waiting=part(instances=0)), "pending[0].parts[1].instances: expected 1 to 9223372036854775807 inst"),
    (lambda: build(waiting=part(gpus_per_instance=0)), "pending[0].parts[1].gpus_per_instance: expected a demand of 1"),
    (lambda: build(waiting=part(resources=Map(cpu=-1))), "pending[0].parts[1].resources['cpu']: expected 0 to 9223372"),
    (
        lambda: build(nodes=(replace(NODES[0], resources=Map(cpu=BIG)), NODES[1])),
        f"nodes[0].resources['cpu']: expected 0 to {BIG - 1} units, got {BIG}",
    ),
    (
        lambda: build(instance=replace(ON_N0, resources=Map({"": 1}))),
        "jobs[0].instances[0].resources: expected the name of a resource, got an empty text",
    ),
    (lambda: build(budgets={"web": -1}), f"budgets['web']: expected 0 to {BIG - 1} instances, got -1"),
    (lambda: build(budgets={"web": 1, "": 1}), "budgets: expected the name of a budget, got an empty text"),
    (lambda: build(job=replace(JOB, priority=BIG)), "jobs[0].priority: expected a priority of at most 64 bits, got"),
    (lambda: build(waiting=replace(WAITING, priority=-BIG)), "pending[0].priority: expected a priority of at most 64"),
    (lambda: build(waiting=replace(WAITING, reason="")), "pending[0].reason: expected why the job waits, got an empty"),
    (
        lambda: build(not_looked_at=(Skipped(reason="", items=()),)),
        "not_looked_at[0].reason: expected a constraint, got an empty text",
    ),
]


@pytest.mark.parametrize(("make", "message"), FAULTS)
def test_what_is_wrong_is_refused_with_its_place(make: Callable[[], Snapshot], message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        make()
    assert str(caught.value).startswith(message)


@given(snapshots())
def test_building_again_gives_the_same(snapshot: Snapshot) -> None:
    assert snapshot == Snapshot.build(
        nodes=snapshot.nodes,
        jobs=snapshot.jobs,
        pending=snapshot.pending,
        node_sets=snapshot.node_sets,
        budgets=snapshot.budgets,
        not_looked_at=snapshot.not_looked_at,
    )
