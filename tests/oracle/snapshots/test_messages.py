"""Messages are one line of bounded length, however long the names and values that they quote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.document import Document
from oracle.snapshots.hostlist import HostlistError, expand_hostlist
from oracle.snapshots.kubernetes import read_kubernetes
from oracle.snapshots.model import (
    PendingJob,
    RunningInstance,
    RunningJob,
    Snapshot,
    SnapshotError,
    SnapshotNode,
    shown,
)
from oracle.snapshots.native import read_native
from oracle.snapshots.slurm import read_slurm
from tests.oracle.snapshots.kubernetes_objects import GPU, listing, node, pod
from tests.oracle.snapshots.slurm_inputs import job, on
from tests.oracle.snapshots.slurm_inputs import node as slurm_node

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = "x" * 100_000
LONGEST = 1_500


def native(**sections: object) -> Document:
    return Document("f", json.dumps({"schema": "compass-abs/snapshot/1", "nodes": [], **sections}).encode())


def slurm(nodes: list[object], jobs: list[object]) -> Snapshot:
    return read_slurm([Document("f", json.dumps({"nodes": nodes, "jobs": jobs}).encode())])


NAMED = {"name": LONG, "gpus": 8}
FAULTS: dict[str, Callable[[], object]] = {
    "native name twice": lambda: read_native(native(nodes=[NAMED, NAMED])),
    "native node": lambda: read_native(
        native(jobs=[{"name": "a", "gpus_per_instance": 1, "instances": [{"node": LONG}]}])
    ),
    "native schema": lambda: read_native(native(schema=LONG)),
    "native field": lambda: read_native(native(**{LONG: 1})),
    "native number": lambda: read_native(native(nodes=[{"name": "a", "gpus": 10**4000}])),
    "kubernetes quantity": lambda: read_kubernetes([listing(node(gpus=LONG), pod())]),
    "kubernetes key": lambda: read_kubernetes([listing(node(), pod(asked={GPU + LONG: "x"}))]),
    "kubernetes node": lambda: read_kubernetes([listing(node(), pod(node=LONG))]),
    "kubernetes pod": lambda: read_kubernetes([listing(node(), pod(LONG), pod(LONG))]),
    "kubernetes phase": lambda: read_kubernetes([listing(node(), pod(phase=LONG))]),
    "kubernetes share": lambda: read_kubernetes([listing(node(), pod(asked={}, annotations={"gpu-fraction": LONG}))]),
    "kubernetes tag": lambda: read_kubernetes([Document("f", f"kind: !{LONG} x".encode())]),
    "slurm gres": lambda: slurm([slurm_node(gres=f"gpu:{LONG}:x:y")], []),
    "slurm state": lambda: slurm([slurm_node()], [job(job_state=[LONG])]),
    "slurm node": lambda: slurm([slurm_node()], [job(**on(LONG, "gpu:1"))]),
    "slurm array": lambda: slurm([slurm_node()], [job(array_job_id=1, array_task_string=LONG, **on("n2", "gpu:1"))]),
    "slurm error": lambda: read_slurm([Document("f", json.dumps({"nodes": [], "errors": [LONG]}).encode())]),
    "slurm text": lambda: read_slurm([Document("f", f"NodeName=n1 State={LONG} Gres=gpu:{LONG}:x:y".encode())]),
    "slurm two values": lambda: read_slurm([Document("f", f"NodeName=n1 Gres={LONG}\nGres=a\n".encode())]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_message_grows_with_the_input(name: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        FAULTS[name]()
    assert len(str(caught.value)) < LONGEST
    assert str(caught.value).isprintable()


@given(path=st.text(max_size=10), problem=st.text(), times=st.integers(1, 2_000))
def test_any_message_is_one_short_line(path: str, problem: str, times: int) -> None:
    message = str(SnapshotError(path * times, problem * times))
    assert message.isprintable()
    assert len(message) < LONGEST


def test_the_end_of_a_long_message_stays() -> None:
    message = str(SnapshotError("a.json", f"found {LONG}, expected a number"))
    assert message.startswith("a.json: found xxx")
    assert message.endswith("x, expected a number")


@given(st.text(max_size=300) | st.integers() | st.floats(), st.integers(5, 100))
def test_what_is_short_is_shown_whole(value: str | float, limit: int) -> None:
    whole = len(value) <= limit if isinstance(value, str) else len(repr(value)) <= limit
    assert (shown(value, limit) == repr(value)) is whole


@pytest.mark.parametrize("text", [f"{LONG}[", f"n[{LONG}]", f"n[{'9' * 18}-{'1' * 18}]{LONG}"])
def test_hostlists(text: str) -> None:
    with pytest.raises(HostlistError) as caught:
        expand_hostlist(text)
    assert len(str(caught.value)) < 300


NODE = SnapshotNode(name="n", gpus=8)


class TestEmptyNames:
    """What has no name cannot be named in any message or result."""

    @pytest.mark.parametrize(
        ("build", "message"),
        [
            (
                lambda: Snapshot.build(nodes=[NODE, SnapshotNode(name="", gpus=8)]),
                "nodes[1].name: expected the name of",
            ),
            (lambda: Snapshot.build(nodes=[SnapshotNode(name="n", gpus=8, pool="")]), "nodes[0].pool: expected the"),
            (
                lambda: Snapshot.build(
                    nodes=[NODE], jobs=[RunningJob(name="", instances=(RunningInstance(node="n", gpus=1),))]
                ),
                "jobs[0].name: expected the name of a job, got an empty text",
            ),
            (
                lambda: Snapshot.build(nodes=[], pending=[PendingJob(name="", instances=1, gpus_per_instance=1)]),
                "pending[0].name: expected the name of a pending job, got an empty text",
            ),
            (
                lambda: Snapshot.build(
                    nodes=[], pending=[PendingJob(name="a", instances=1, gpus_per_instance=1, pool="")]
                ),
                "pending[0].pool: expected the name of a pool, got an empty text",
            ),
            (lambda: read_native(native(nodes=[{"name": "", "gpus": 1}])), "f: nodes[0].name: expected the name of a"),
        ],
    )
    def test_refused(self, build: Callable[[], object], message: str) -> None:
        with pytest.raises(SnapshotError) as caught:
            build()
        assert str(caught.value).startswith(message)
