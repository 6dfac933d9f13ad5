"""Random snapshots, made without the code under test: names, numbers and places are drawn, not read."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode

NAMES = st.one_of(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?", fullmatch=True), st.text(min_size=1, max_size=6))
POOLS = st.sampled_from(["default", "h100", "a100", 'é "\\\n'])


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Return any snapshot the model allows: broken nodes, overcommitted ones, jobs of several demands."""
    node_names = draw(st.lists(NAMES, max_size=5, unique=True))
    nodes = [
        SnapshotNode(
            name=name,
            gpus=draw(st.one_of(st.sampled_from([4, 8]), st.integers(0, 1024))),
            pool=draw(POOLS),
            schedulable=draw(st.booleans()),
        )
        for name in node_names
    ]
    jobs = [] if not nodes else [draw(_jobs(name, node_names)) for name in draw(_unique_names())]
    pending = [draw(_pending(name)) for name in draw(st.lists(NAMES, max_size=3, unique=True))]
    return Snapshot.build(nodes=nodes, jobs=jobs, pending=pending)


def _unique_names() -> st.SearchStrategy[list[str]]:
    return st.lists(NAMES, max_size=4, unique=True)


@st.composite
def _jobs(draw: st.DrawFn, name: str, nodes: list[str]) -> RunningJob:
    instance = st.builds(
        RunningInstance,
        node=st.sampled_from(nodes),
        gpus=st.one_of(st.integers(1, 8), st.integers(1, 1024)),
        movable=st.booleans(),
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
def _pending(draw: st.DrawFn, name: str) -> PendingJob:
    return PendingJob(
        name=name,
        instances=draw(st.integers(1, 2**63 - 1)),
        gpus_per_instance=draw(st.integers(1, 2**63 - 1)),
        pool=draw(st.none() | POOLS),
    )
