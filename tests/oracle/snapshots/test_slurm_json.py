"""The JSON of scontrol and squeue in the shapes of all its versions, alone, together and damaged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.document import Document
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.snapshots.slurm import read_slurm
from tests.oracle.snapshots.slurm_inputs import (
    Fields,
    document,
    fault,
    fault_of,
    held,
    job,
    node,
    on,
    read,
    text,
    waiting,
    wrapped,
)

ONE = Snapshot.build(
    nodes=[SnapshotNode(name="n1", gpus=8, pool="a100")],
    jobs=[RunningJob(name="1", instances=(RunningInstance(node="n1", gpus=4),))],
)
NODE, JOB = node(), job(**on("n1", "gpu:a100:4(IDX:0-3)"))


class TestDocuments:
    """Nodes and jobs, in one input or several, in any order, whole outputs or single records."""

    @pytest.mark.parametrize(
        "values",
        [
            [{"nodes": [NODE], "jobs": [JOB]}],
            [{"nodes": [NODE]}, {"jobs": [JOB]}],
            [{"jobs": [JOB]}, {"nodes": [NODE]}],
            [NODE, JOB],
            [{"jobs": [JOB]}, NODE],
            [{"nodes": [NODE], "jobs": []}, {"jobs": [JOB]}],
            [
                {"nodes": [NODE], "last_update": wrapped(1), "meta": {"plugin": {}}, "errors": [], "warnings": ["x"]},
                JOB,
            ],
        ],
    )
    def test_combined(self, values: list[object]) -> None:
        assert read_slurm([document(value) for value in values]) == ONE

    def test_json_and_text(self) -> None:
        nodes = text("NodeName=n1\n   Gres=gpu:a100:8\n   State=IDLE\n   CfgTRES=gres/gpu=8\n   AllocTRES=\n")
        assert read_slurm([nodes, document({"jobs": [JOB]})]) == ONE

    def test_an_empty_cluster_is_a_result(self) -> None:
        assert read([], []) == Snapshot.build(nodes=[])

    def test_no_input_is_none(self) -> None:
        assert "expected at least one input" in fault()

    def test_only_nodes(self) -> None:
        message = fault(document({"nodes": [NODE]}, "a.json"), document(NODE, "b.json"))
        assert message == (
            "a.json, b.json: there are only nodes here; "
            "expected the output of `squeue --json` (or `scontrol show job -d`) as well"
        )

    def test_only_jobs(self) -> None:
        message = fault(document({"jobs": [JOB], "nodes": None}, "a.json"))
        assert message.startswith(
            "a.json: there are only jobs here; expected the output of `scontrol show nodes --json`"
        )

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "slurm.json: the input is empty"),
            (b"{", "slurm.json: not valid JSON"),
            (b'{"nodes": [{"name": "n1"', "slurm.json: not valid JSON"),
            (b"[]", "is a JSON array"),
            (b"{}", 'there is no "nodes" or "jobs"'),
            (b'{"sinfo": []}', "seems to be the output of `sinfo --json`"),
            (b'{"nodes": {}, "jobs": []}', "slurm.json: nodes: Expected 'array | null', got 'object'"),
            (b'{"nodes": [7], "jobs": []}', "slurm.json: nodes[0]: Expected 'object', got 'int'"),
            (b'{"nodes": null, "jobs": null}', "nothing here says which job holds which GPUs"),
            (b'{"nodes": [], "errors": [{"description": "no contact", "error_number": 1}]}', "errors[0]: Slurm itself"),
            (b'{"nodes": [], "errors": ["no contact"]}', "'no contact'"),
            (b'{"nodes": [], "errors": [{"error": "no contact", "errno": 1}]}', "'no contact'"),
            (b'{"jobs": [{"job_id": 1, "state": {"current": ["RUNNING"]}}]}', "`sacct --json` prints other things"),
            (b'{"jobs": [{"job_state": "RUNNING"}]}', "jobs[0].job_id: expected the number of a job"),
        ],
    )
    def test_refused(self, content: bytes, words: str) -> None:
        assert words in fault(Document("slurm.json", content))


class TestNumbers:
    """A number may be bare, wrapped, unset or infinite; true is no number, and half a node is none."""

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (1.5, "jobs[0].node_count: expected a whole number, got 1.5"),
            (-1, "jobs[0].node_count: expected a whole number, got -1"),
            ({"set": True, "infinite": False, "number": 2.5}, "expected a whole number, got 2.5"),
            (True, "jobs[0].node_count: Expected"),
            ("2", "jobs[0].node_count: Expected"),
        ],
    )
    def test_refused(self, value: object, words: str) -> None:
        assert words in fault_of([NODE], [waiting(tres_per_node="gres/gpu:1", node_count=value)])

    @pytest.mark.parametrize(
        "value", [2, 2.0, wrapped(2), {"number": 2}, {"set": True, "infinite": False, "number": 2.0}]
    )
    def test_taken(self, value: object) -> None:
        assert read([NODE], [waiting(tres_per_node="gres/gpu:1", node_count=value)]).pending[0].instances == 2

    @pytest.mark.parametrize(
        "value", [None, 0, wrapped(None), 4294967294, {"set": True, "infinite": True, "number": 7}]
    )
    def test_unset(self, value: object) -> None:
        assert (
            read([NODE], [waiting(tres_per_node="gres/gpu:1", node_count=1, max_nodes=value)]).pending[0].instances == 1
        )


NUMBERS = ("node_count", "max_nodes", "tasks", "tasks_per_node", "array_job_id", "array_task_id", "priority")
VALUES = st.one_of(st.none(), st.integers(0, 12))
REQUESTS = st.sampled_from(["tres_per_node", "tres_per_job", "tres_per_task"])


@given(
    st.dictionaries(st.sampled_from(NUMBERS), VALUES),
    st.dictionaries(REQUESTS, st.integers(0, 8).map("gres/gpu:{}".format)),
    st.sampled_from(["PENDING", "RUNNING"]),
    st.booleans(),
)
def test_how_a_number_or_a_state_is_wrapped_never_matters(
    numbers: dict[str, int | None], requests: Fields, state: str, running_on_a_node: bool
) -> None:
    held_gpus = on("n1", "gpu:a100:2(IDX:0-1)") if running_on_a_node else {}
    bare = job(**{**held_gpus, **requests, **numbers, "job_state": state})
    full = {**bare, **{key: wrapped(value) for key, value in numbers.items()}, "job_state": [state]}
    assert outcome(bare) == outcome(full)


def outcome(record: Fields) -> object:
    value = document({"nodes": [NODE], "jobs": [record]})
    try:
        snapshot = read_slurm([value])
    except Exception as error:  # noqa: BLE001 - whatever one form raises, the other must raise too
        return type(error), str(error)
    return snapshot, snapshot.skipped


def test_versions() -> None:
    """The same cluster as data_parser v0.0.37 and v0.0.44 would print it."""
    old_node: Fields = {
        "name": "n1",
        "state": "mixed",
        "state_flags": ["DRAIN"],
        "gres": "gpu:a100:8",
        "tres_used": None,
    }
    old_job: Fields = {
        "job_id": 5,
        "job_state": "RUNNING",
        "nodes": "n1",
        "gres_detail": ["gpu:a100:2(IDX:0-1)"],
        "array_job_id": 0,
        "array_task_id": None,
        "job_resources": {
            "nodes": "n1",
            "allocated_hosts": 1,
            "allocated_nodes": {"0": {"sockets": {"0": "assigned"}}},
        },
        "tasks_per_node": None,
        "priority": 4000,
    }
    new_node: Fields = {**old_node, "state": ["MIXED", "DRAIN"], "state_flags": None, "partitions": ["main"]}
    new_job: Fields = {
        **old_job,
        "job_state": ["RUNNING"],
        "array_job_id": wrapped(0),
        "array_task_id": wrapped(None),
        "job_resources": {"nodes": {"count": 1, "list": "n1", "allocation": [{"index": 0, "name": "n1"}]}},
        "tasks_per_node": wrapped(0),
        "priority": wrapped(4000),
    }
    assert read([old_node], [old_job]) == read([new_node], [new_job])
    assert held(read([old_node], [old_job])) == {"5": [("n1", 2)]}


@pytest.mark.slow
def test_two_hundred_megabytes() -> None:
    """A large cluster's `squeue --json` is mostly cores that nobody asks about."""
    sockets = [{"index": s, "cores": [{"index": c, "status": ["ALLOCATED"]} for c in range(64)]} for s in range(2)]
    resources: Fields = {"nodes": {"list": "n1", "allocation": [{"index": 0, "name": "n1", "sockets": sockets}]}}
    one = json.dumps(job(987654321, job_resources=resources, **on("n1", "gpu:a100:1(IDX:0)")))
    jobs = ",".join(one.replace("987654321", str(number)) for number in range(1, 40_001))
    content = f'{{"nodes": [{json.dumps(NODE)}], "jobs": [{jobs}]}}'.encode()
    assert len(content) > 200_000_000
    assert len(read_slurm([Document("large.json", content)]).jobs) == 40_000
