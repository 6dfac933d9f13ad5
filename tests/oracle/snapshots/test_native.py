"""The native format: what it takes, what it refuses, and with which words."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracle.snapshots.document import Document
from oracle.snapshots.model import (
    PendingJob,
    RunningInstance,
    RunningJob,
    Skipped,
    Snapshot,
    SnapshotError,
    SnapshotNode,
)
from oracle.snapshots.native import SCHEMA, native_json_schema, read_native, write_native
from tests.oracle.snapshots.strategies import snapshots

NODE = {"name": "n0", "gpus": 8}


def read(value: object) -> Snapshot:
    return read_native(Document("cluster.json", json.dumps(value).encode()))


def cluster(
    nodes: list[object] | None = None, jobs: list[object] | None = None, pending: list[object] | None = None
) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "nodes": [NODE] if nodes is None else nodes,
        "jobs": jobs or [],
        "pending": pending or [],
    }


def job(**changes: object) -> dict[str, object]:
    return {"name": "a", "gpus_per_instance": 2, "instances": [{"node": "n0"}], **changes}


class TestFormat:
    """The native format of the contract, with the extensions of decision 0002."""

    def test_the_example_of_the_contract(self) -> None:
        text = """
            {"schema": "compass-abs/snapshot/1",
             "nodes": [{"name": "n0", "gpus": 8, "pool": "h100", "schedulable": true}, {"name": "n1", "gpus": 8}],
             "jobs": [{"name": "a", "gpus_per_instance": 4,
                       "instances": [{"node": "n0"}, {"node": "n1", "movable": false}]}],
             "pending": [{"name": "b", "instances": 2, "gpus_per_instance": 4, "pool": "h100"}]}"""
        assert read_native(Document("x", text.encode())) == Snapshot.build(
            nodes=[SnapshotNode(name="n0", gpus=8, pool="h100"), SnapshotNode(name="n1", gpus=8)],
            jobs=[
                RunningJob(
                    name="a",
                    instances=(
                        RunningInstance(node="n0", gpus=4),
                        RunningInstance(node="n1", gpus=4, movable=False),
                    ),
                )
            ],
            pending=[PendingJob(name="b", instances=2, gpus_per_instance=4, pool="h100")],
        )

    def test_jobs_and_pending_may_be_left_out(self) -> None:
        assert read({"schema": SCHEMA, "nodes": []}) == Snapshot.build(nodes=[])

    def test_a_pending_job_has_one_instance_in_the_default_pool_unless_it_says_otherwise(self) -> None:
        snapshot = read(cluster(pending=[{"name": "w", "gpus_per_instance": 4}]))
        assert snapshot.pending == (PendingJob(name="w", instances=1, gpus_per_instance=4, pool="default"),)

    def test_a_pending_job_with_pool_null_takes_any_pool(self) -> None:
        snapshot = read(cluster(pending=[{"name": "w", "gpus_per_instance": 4, "pool": None}]))
        assert snapshot.pending[0].pool is None

    def test_an_instance_may_hold_another_number_of_gpus_than_its_siblings(self) -> None:
        snapshot = read(cluster(jobs=[job(instances=[{"node": "n0"}, {"node": "n0", "gpus": 5}])]))
        assert [instance.gpus for instance in snapshot.jobs[0].instances] == [2, 5]

    @pytest.mark.parametrize("gpus", [0, 1, 4, 9, 16, 72, 1024])
    def test_a_node_may_have_any_number_of_gpus_up_to_1024(self, gpus: int) -> None:
        assert read(cluster(nodes=[{"name": "n0", "gpus": gpus}])).nodes[0].gpus == gpus

    def test_a_node_may_hold_more_than_it_offers(self) -> None:
        snapshot = read(cluster(nodes=[{"name": "n0", "gpus": 1}], jobs=[job()]))
        assert snapshot.used_gpus() == {"n0": 2}

    def test_a_job_without_an_instance_is_left_out_and_listed(self) -> None:
        snapshot = read(cluster(jobs=[job(name="gone", instances=[]), job()]))
        assert [running.name for running in snapshot.jobs] == ["a"]
        assert snapshot.skipped == (Skipped(reason="running jobs without an instance", items=("gone",)),)


REFUSALS: list[tuple[object, str]] = [
    ({"nodes": []}, "cluster.json: schema: is missing, expected 'compass-abs/snapshot/1'"),
    (
        {"schema": "compass-abs/snapshot/2", "nodes": [], "racks": []},
        "cluster.json: schema: expected 'compass-abs/snapshot/1', got 'compass-abs/snapshot/2'",
    ),
    (cluster() | {"schema": 1}, "cluster.json: schema: Expected 'str', got 'int'"),
    (cluster() | {"job": []}, "cluster.json: Object contains unknown field 'job'"),
    (cluster([{"name": "n0", "gpu": 8}]), "cluster.json: nodes[0]: Object contains unknown field 'gpu'"),
    (cluster([{"name": "n0"}]), "cluster.json: nodes[0]: Object missing required field 'gpus'"),
    (cluster([{"name": 7, "gpus": 8}]), "cluster.json: nodes[0].name: Expected 'str', got 'int'"),
    (cluster([{"name": "n0", "gpus": True}]), "cluster.json: nodes[0].gpus: Expected 'int', got 'bool'"),
    (cluster([{"name": "n0", "gpus": 7.5}]), "cluster.json: nodes[0].gpus: Expected 'int', got 'float'"),
    (cluster([{"name": "n0", "gpus": "8"}]), "cluster.json: nodes[0].gpus: Expected 'int', got 'str'"),
    (
        cluster([NODE, {"name": "n1", "gpus": -1}]),
        "cluster.json: nodes[1].gpus: expected 0 to 1024 GPUs on a node, got -1",
    ),
    (
        cluster([{"name": "n0", "gpus": 1025}]),
        "cluster.json: nodes[0].gpus: expected 0 to 1024 GPUs on a node, got 1025",
    ),
    (cluster([NODE, NODE]), "cluster.json: nodes[1].name: the name 'n0' is already taken by nodes[0]"),
    (
        cluster([{"name": "n0", "gpus": 8, "schedulable": 1}]),
        "cluster.json: nodes[0].schedulable: Expected 'bool', got 'int'",
    ),
    (cluster(jobs=[job(), job()]), "cluster.json: jobs[1].name: the name 'a' is already taken by jobs[0]"),
    (
        cluster(jobs=[job(instances=[{"node": "n0", "name": "x"}, {"node": "n0"}, {"node": "n0", "name": "x"}])]),
        "cluster.json: jobs[0].instances[2].name: the name 'x' is already taken by instances[0]",
    ),
    (
        cluster(jobs=[job(instances=[{"node": "n0", "index": "1"}, {"node": "n0", "index": "1"}])]),
        "cluster.json: jobs[0].instances[1].index: the index '1' is already taken by instances[0]",
    ),
    (
        cluster(jobs=[job(instances=[{"node": "n0", "name": ""}])]),
        "cluster.json: jobs[0].instances[0].name: expected the name of an instance, got an empty text",
    ),
    (
        cluster(pending=[{"name": "p", "gpus_per_instance": gpus} for gpus in (2, 4)]),
        "cluster.json: pending[1].name: the name 'p' is already taken by pending[0]",
    ),
    (
        cluster(jobs=[job(name="e", instances=[]), job(instances=[{"node": "x"}])]),
        "cluster.json: jobs[1].instances[0].node: no node is named 'x'",
    ),
    (
        cluster(jobs=[job(gpus_per_instance=0)]),
        "cluster.json: jobs[0].gpus_per_instance: expected a demand of 1 to 1024 GPUs, got 0",
    ),
    (
        cluster(jobs=[job(gpus_per_instance=-2)]),
        "cluster.json: jobs[0].gpus_per_instance: expected a demand of 1 to 1024 GPUs, got -2",
    ),
    (
        cluster(jobs=[job(gpus_per_instance=0.5)]),
        "cluster.json: jobs[0].gpus_per_instance: Expected 'int', got 'float'",
    ),
    (
        cluster(jobs=[job(instances=[{"node": "n0", "gpus": 0}])]),
        "cluster.json: jobs[0].instances[0].gpus: expected a demand of 1 to 1024 GPUs, got 0",
    ),
    (
        cluster(jobs=[job(instances=[{"node": "n0", "gpus": None}])]),
        "cluster.json: jobs[0].instances[0].gpus: Expected 'int', got 'null'",
    ),
    (
        cluster(pending=[{"name": "w", "gpus_per_instance": 1, "instances": 0}]),
        "cluster.json: pending[0].instances: expected 1 to 9223372036854775807 instances, got 0",
    ),
    (
        cluster(pending=[{"name": "w", "gpus_per_instance": -4}]),
        "cluster.json: pending[0].gpus_per_instance: expected a demand of 1 to 9223372036854775807 GPUs, got -4",
    ),
    ([], "cluster.json: Expected 'object', got 'array'"),
]


class TestRefusals:
    """Errors carry the path to the item, what stood there and what was expected."""

    @pytest.mark.parametrize(("value", "message"), REFUSALS)
    def test_says_where_and_what(self, value: object, message: str) -> None:
        with pytest.raises(SnapshotError) as caught:
            read(value)
        assert str(caught.value) == message

    def test_a_number_of_five_thousand_digits_is_no_crash(self) -> None:
        text = json.dumps(cluster()).replace("8", "9" * 5000)
        with pytest.raises(SnapshotError, match=r"nodes\[0\]\.gpus"):
            read_native(Document("cluster.json", text.encode()))


class TestWriting:
    """`write_native` is canonical and loses nothing."""

    @given(snapshots())
    def test_reading_what_was_written_gives_the_snapshot_back(self, snapshot: Snapshot) -> None:
        assert read_native(Document("x", write_native(snapshot).encode())) == snapshot

    @given(snapshots())
    def test_writing_is_stable(self, snapshot: Snapshot) -> None:
        text = write_native(snapshot)
        assert write_native(read_native(Document("x", text.encode()))) == text

    def test_one_line_holds_one_node_or_one_job(self) -> None:
        snapshot = read(
            cluster(
                nodes=[NODE, {"name": "n1", "gpus": 4, "pool": "a100", "schedulable": False}],
                jobs=[job(instances=[{"node": "n0"}, {"node": "n1", "gpus": 3}])],
            )
        )
        assert write_native(snapshot).splitlines() == [
            '{"schema": "compass-abs/snapshot/1",',
            ' "nodes": [',
            '  {"name": "n0", "gpus": 8},',
            '  {"name": "n1", "gpus": 4, "pool": "a100", "schedulable": false}],',
            ' "jobs": [',
            '  {"name": "a", "gpus_per_instance": 2, "instances": [{"node": "n0"}, {"node": "n1", "gpus": 3}]}],',
            ' "pending": []}',
        ]


class Definition(msgspec.Struct, rename="camel"):
    """One object of a JSON Schema, as far as the tests look at it."""

    description: str
    properties: dict[str, dict[str, object]]
    additional_properties: bool


class TestJsonSchema:
    """`sifopt schema` describes what the reader takes."""

    def test_everything_has_a_description_and_unknown_fields_are_refused_as_by_the_reader(self) -> None:
        for name, definition in msgspec.convert(native_json_schema()["$defs"], dict[str, Definition]).items():
            assert definition.description, name
            assert not definition.additional_properties, name
            for field, described in definition.properties.items():
                assert described["description"], (name, field)

    def test_it_is_json_and_names_the_version(self) -> None:
        assert SCHEMA in json.dumps(native_json_schema())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["schema", "nodes", "jobs", "pending", "name", "gpus", "instances", "node", "movable", "pool"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


class TestRobustness:
    """Whatever the input, the answer is a snapshot or a `SnapshotError`."""

    @given(st.binary(max_size=200))
    @example(b'{"schema": "\xff"}')
    @example(b"[" * 100_000)
    def test_arbitrary_bytes(self, content: bytes) -> None:
        _read_or_refuse(content)

    @given(JSON_VALUES, JSON_VALUES, JSON_VALUES)
    def test_arbitrary_json_in_the_sections(self, nodes: object, jobs: object, pending: object) -> None:
        value = {"schema": SCHEMA, "nodes": nodes, "jobs": jobs, "pending": pending}
        _read_or_refuse(json.dumps(value).encode())

    @given(snapshots(), st.data())
    def test_a_damaged_file(self, snapshot: Snapshot, data: st.DataObject) -> None:
        content = bytearray(write_native(snapshot).encode())
        position = data.draw(st.integers(0, len(content) - 1))
        content[position : position + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        _read_or_refuse(bytes(content))


def _read_or_refuse(content: bytes) -> None:
    try:
        snapshot = read_native(Document("x", content))
    except SnapshotError as error:
        assert str(error).startswith("x: ")  # noqa: PT017 - a snapshot is as good an answer as an error
    else:
        assert isinstance(snapshot, Snapshot)
