"""Random snapshots, made without the code under test: names, numbers and places are drawn, not read."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from immutables import Map

from oracle.snapshots.model import (
    NodeSet,
    PendingJob,
    PendingPart,
    RunningInstance,
    RunningJob,
    Skipped,
    Snapshot,
    SnapshotNode,
)

NAMES = st.one_of(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?", fullmatch=True), st.text(min_size=1, max_size=6))
POOLS = st.sampled_from(["default", "h100", "a100", 'é "\\\n'])
COUNTS = st.integers(1, 2**63 - 1)
DEMANDS = st.integers(1, 10**12 - 1)
RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "é "]), st.integers(0, 2**63 - 1), max_size=2).map(Map)
PRIORITIES = st.none() | st.integers(1 - 2**63, 2**63 - 1)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Return any snapshot the model allows: broken nodes, overcommitted ones, jobs of several demands, all constraints.

    Half of them have no constraint at all, as those of the first version of the native format.
    """
    node_names = draw(_unique_names(5))
    constrained = draw(st.booleans())
    nodes = [
        SnapshotNode(
            name=name,
            gpus=draw(st.one_of(st.sampled_from([4, 8]), st.integers(0, 1024))),
            pool=draw(POOLS),
            schedulable=draw(st.booleans()),
            resources=draw(RESOURCES) if constrained else Map(),
        )
        for name in node_names
    ]
    node_sets = [draw(_node_sets(name, node_names)) for name in draw(_unique_names(3 if constrained else 0))]
    budgets = draw(st.dictionaries(NAMES, st.integers(0, 2**63 - 1), max_size=3 if constrained else 0))
    jobs = [] if not nodes else [draw(_jobs(name, node_names)) for name in draw(_unique_names(4))]
    pending = [draw(_pending(name)) for name in draw(_unique_names(3))]
    not_looked_at: list[Skipped] = []
    if constrained:
        within, counted = _some([node_set.name for node_set in node_sets]), _some([*budgets])
        jobs = [draw(_constrained(job, within, counted)) for job in jobs]
        pending = [draw(_constrained_pending(job, within)) for job in pending]
        notes = st.builds(Skipped, reason=NAMES, items=st.lists(NAMES, max_size=3).map(tuple))
        not_looked_at = draw(st.lists(notes, max_size=2))
    return Snapshot.build(
        nodes=nodes, jobs=jobs, pending=pending, node_sets=node_sets, budgets=budgets, not_looked_at=not_looked_at
    )


def _unique_names(most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(NAMES, max_size=most, unique=True)


def _some(names: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(names), unique=True).map(tuple) if names else st.just(())


def _node_sets(name: str, nodes: list[str]) -> st.SearchStrategy[NodeSet]:
    return st.builds(NodeSet, name=st.just(name), kind=NAMES, nodes=_some(nodes).map(frozenset))


@st.composite
def _jobs(draw: st.DrawFn, name: str, nodes: list[str]) -> RunningJob:
    instance = st.builds(
        RunningInstance,
        node=st.sampled_from(nodes),
        gpus=st.one_of(st.integers(1, 8), st.integers(1, 1024)),
        movable=st.booleans(),
        within=st.just(()),
        budgets=st.just(()),
        resources=st.just(Map[str, int]()),
    )
    instances = draw(st.lists(instance, min_size=1, max_size=5))
    called = [draw(st.lists(NAMES, min_size=len(instances), max_size=len(instances), unique=True)) for _ in range(2)]
    return RunningJob(
        name=name,
        instances=tuple(
            replace(instance, name=draw(st.sampled_from([None, own])), index=draw(st.sampled_from([None, index])))
            for instance, own, index in zip(instances, *called, strict=True)
        ),
    )


@st.composite
def _constrained(
    draw: st.DrawFn,
    job: RunningJob,
    within: st.SearchStrategy[tuple[str, ...]],
    budgets: st.SearchStrategy[tuple[str, ...]],
) -> RunningJob:
    instances = [
        replace(instance, within=draw(within), budgets=draw(budgets), resources=draw(RESOURCES))
        for instance in job.instances
    ]
    return replace(job, instances=tuple(instances), distinct_nodes=draw(st.booleans()), priority=draw(PRIORITIES))


def _pending(name: str) -> st.SearchStrategy[PendingJob]:
    return st.builds(
        PendingJob,
        name=st.just(name),
        instances=COUNTS,
        gpus_per_instance=DEMANDS,
        pool=st.none() | POOLS,
        within=st.just(()),
        resources=st.just(Map[str, int]()),
    )


@st.composite
def _constrained_pending(draw: st.DrawFn, job: PendingJob, within: st.SearchStrategy[tuple[str, ...]]) -> PendingJob:
    part = st.builds(PendingPart, instances=COUNTS, gpus_per_instance=DEMANDS, within=within, resources=RESOURCES)
    together = draw(st.booleans())
    return replace(
        job,
        within=draw(within),
        within_one_of=draw(within) if together else (),
        resources=draw(RESOURCES),
        distinct_nodes=draw(st.booleans()),
        priority=draw(PRIORITIES),
        further_parts=tuple(draw(st.lists(part, max_size=2))),
        together=together,
        reason=draw(st.none() | NAMES),
    )
