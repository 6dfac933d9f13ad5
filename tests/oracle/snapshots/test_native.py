"""The native format: what it takes, what it refuses, and with which words."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from immutables import Map

from oracle.snapshots.document import Document
from oracle.snapshots.model import (
    PendingJob,
    PendingPart,
    RunningInstance,
    RunningJob,
    Skipped,
    Snapshot,
    SnapshotError,
    SnapshotNode,
)
from oracle.snapshots.native import native_json_schema, read_native, write_native
from oracle.snapshots.native_form import FIRST_SCHEMA, SCHEMA
from tests.oracle.snapshots.strategies import snapshots

NODE = {"name": "n0", "gpus": 8}
EITHER = "'compass-abs/snapshot/2' or 'compass-abs/snapshot/1'"


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


LABELLED: list[object] = [
    {"name": "n0", "gpus": 8, "labels": {"zone": "a", "team": "x"}, "resources": {"cpu": 64}},
    {"name": "n1", "gpus": 8, "labels": {"zone": "a"}},
    {"name": "n2", "gpus": 8},
]
LAB: dict[str, object] = {"name": "partition lab", "kind": "partition", "nodes": ["n1", "n2"]}


WHERE: list[tuple[dict[str, object], set[str]]] = [
    ({}, {"n0", "n1", "n2"}),
    ({"allowed_nodes": ["n2", "n0"]}, {"n0", "n2"}),
    ({"allowed_nodes": []}, set()),
    ({"requires": {"zone": "a"}}, {"n0", "n1"}),
    ({"requires": {"zone": "a", "team": "x"}}, {"n0"}),
    ({"requires": {"zone": "b"}}, set()),
    ({"requires": {}}, {"n0", "n1", "n2"}),
    ({"within": ["partition lab"]}, {"n1", "n2"}),
    ({"within": ["partition lab"], "requires": {"zone": "a"}, "allowed_nodes": ["n0", "n1"]}, {"n1"}),
]


def allowed(snapshot: Snapshot, names: tuple[str, ...]) -> set[str]:
    """Return the nodes that are in all the sets: what the constraints mean, however they are put."""
    sets = {node_set.name: node_set.nodes for node_set in snapshot.node_sets}
    return {node.name for node in snapshot.nodes if all(node.name in sets[name] for name in names)}


class TestConstraints:
    """The second version: where instances may stand, what else they hold, what starts together."""

    @pytest.mark.parametrize(
        ("says", "nodes"),
        WHERE,
    )
    def test_where_instances_may_stand(self, says: dict[str, object], nodes: set[str]) -> None:
        part: dict[str, object] = {"gpus_per_instance": 1, **says}
        value = cluster(LABELLED, [job(**says)], [{"name": "w", **part}, {"name": "v", **part, "parts": [part]}])
        snapshot = read(value | {"node_sets": [LAB]})
        found = [snapshot.jobs[0].instances[0].within, *(waiting.within for waiting in snapshot.pending)]
        found.append(snapshot.pending[1].further_parts[0].within)
        assert [allowed(snapshot, within) for within in found] == [nodes] * 4
        assert len(set(found)) == 1  # equal constraints are one set

    def test_a_set_of_the_file_keeps_its_name_whatever_others_are_called(self) -> None:
        lab = LAB | {"name": "labels zone=a"}
        says = {"requires": {"zone": "a"}, "within": ["labels zone=a"]}
        snapshot = read(cluster(LABELLED, [job(**says)]) | {"node_sets": [lab]})
        assert [(s.name, {*s.nodes}) for s in snapshot.node_sets] == [
            ("labels zone=a", {"n1", "n2"}),
            ("labels zone=a (2)", {"n0", "n1"}),
        ]
        assert allowed(snapshot, snapshot.jobs[0].instances[0].within) == {"n1"}

    @given(st.lists(st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), min_size=1), min_size=1, max_size=5))
    def test_labels_mean_what_they_say(self, wanted: list[dict[str, str]]) -> None:
        nodes: list[object] = [{"name": f"n{i}", "gpus": 8, "labels": labels} for i, labels in enumerate(wanted)]
        jobs: list[object] = [job(name=f"j{i}", requires=labels) for i, labels in enumerate(wanted)]
        snapshot = read(cluster(nodes, jobs))
        for labels, running in zip(wanted, snapshot.jobs, strict=True):
            having = {f"n{i}" for i, others in enumerate(wanted) if labels.items() <= others.items()}
            assert allowed(snapshot, running.instances[0].within) == having

    def test_an_instance_may_say_it_in_place_of_its_job(self) -> None:
        own: dict[str, object] = {"within": [], "resources": {"cpu": 2}, "budgets": []}
        instances: list[dict[str, object]] = [{"node": "n0"}, {"node": "n0", **own}]
        running = job(instances=instances, within=["partition lab"], resources={"cpu": 8}, budgets=["web"], priority=-1)
        snapshot = read(
            cluster(LABELLED, [running | {"distinct_nodes": True}]) | {"node_sets": [LAB], "budgets": {"web": 1}}
        )
        found = snapshot.jobs[0]
        assert (found.distinct_nodes, found.priority, dict(snapshot.budgets)) == (True, -1, {"web": 1})
        assert [(i.within, i.budgets, dict(i.resources)) for i in found.instances] == [
            (("partition lab",), ("web",), {"cpu": 8}),
            ((), (), {"cpu": 2}),
        ]
        assert dict(snapshot.nodes[0].resources) == {"cpu": 64}

    def test_what_waits(self) -> None:
        part = {"gpus_per_instance": 8, "instances": 2, "resources": {"cpu": 8}}
        says = {"parts": [part], "together": False, "reason": "Resources", "priority": 3, "distinct_nodes": True}
        (found,) = read(cluster(pending=[{"name": "w", "gpus_per_instance": 1, **says}])).pending
        assert found == PendingJob(
            name="w",
            instances=1,
            gpus_per_instance=1,
            further_parts=(PendingPart(instances=2, gpus_per_instance=8, resources=Map(cpu=8)),),
            together=False,
            reason="Resources",
            priority=3,
            distinct_nodes=True,
        )

    def test_what_was_not_looked_at(self) -> None:
        note = {"reason": "topology spread", "items": ["a"]}
        assert read(cluster() | {"not_looked_at": [note]}).not_looked_at == (
            Skipped(reason="topology spread", items=("a",), kept=True),
        )


class TestVersions:
    """The first version is read as ever, and written where it is enough."""

    @pytest.mark.parametrize(
        ("value", "path"),
        [
            (cluster([{**NODE, "resources": {"cpu": 1}}]), "nodes[0].resources"),
            (cluster([{**NODE, "labels": {"a": "b"}}]), "nodes[0].labels"),
            (cluster(jobs=[job(), job(name="b", distinct_nodes=True)]), "jobs[1].distinct_nodes"),
            (cluster(jobs=[job(instances=[{"node": "n0", "budgets": ["a"]}])]), "jobs[0].instances[0].budgets"),
            (cluster(pending=[{"name": "w", "gpus_per_instance": 1, "together": False}]), "pending[0].together"),
            (cluster() | {"node_sets": [LAB]}, "node_sets"),
            (cluster() | {"budgets": {"a": 1}}, "budgets"),
            (cluster() | {"not_looked_at": [{"reason": "a", "items": ["b"]}]}, "not_looked_at"),
        ],
    )
    def test_the_first_has_no_key_of_the_second(self, value: dict[str, object], path: str) -> None:
        with pytest.raises(SnapshotError) as caught:
            read(value | {"schema": FIRST_SCHEMA})
        assert str(caught.value) == f"cluster.json: {path}: is a key of '{SCHEMA}', and this is '{FIRST_SCHEMA}'"

    @given(snapshots())
    def test_what_is_written_in_the_first_has_no_constraint(self, snapshot: Snapshot) -> None:
        plain = Snapshot.build(
            nodes=[replace(node, resources=Map()) for node in snapshot.nodes],
            jobs=[
                RunningJob(
                    name=running.name,
                    instances=tuple(replace(one, within=(), budgets=(), resources=Map()) for one in running.instances),
                )
                for running in snapshot.jobs
            ],
            pending=[
                PendingJob(
                    name=waiting.name,
                    instances=waiting.instances,
                    gpus_per_instance=waiting.gpus_per_instance,
                    pool=waiting.pool,
                )
                for waiting in snapshot.pending
            ],
        )
        assert f'"{FIRST_SCHEMA}"' in write_native(plain)
        assert (f'"{FIRST_SCHEMA}"' in write_native(snapshot)) is (snapshot == plain)


REFUSALS: list[tuple[object, str]] = [
    ({"nodes": []}, f"cluster.json: schema: is missing, expected {EITHER}"),
    (
        {"schema": "compass-abs/snapshot/3", "nodes": [], "racks": []},
        f"cluster.json: schema: expected {EITHER}, got 'compass-abs/snapshot/3'",
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
        "cluster.json: pending[0].gpus_per_instance: expected a demand of 1 to 999999999999 GPUs, got -4",
    ),
    (
        cluster(jobs=[job(allowed_nodes=["n0", "x"])]),
        "cluster.json: jobs[0].allowed_nodes[1]: no node is named 'x'",
    ),
    (
        cluster(pending=[{"name": "w", "gpus_per_instance": 1, "parts": [{"gpus_per_instance": 1, "within": ["x"]}]}]),
        "cluster.json: pending[0].parts[0].within[0]: no node set is named 'x'",
    ),
    # What a list of the file is called by the reader is no name of the file's.
    (
        cluster(jobs=[job(allowed_nodes=["n0"]), job(name="b", within=["nodes n0"])]),
        "cluster.json: jobs[1].within[0]: no node set is named 'nodes n0'",
    ),
    (
        cluster(jobs=[job(allowed_nodes=["n0"], instances=[{"node": "n0", "within": ["nodes n0"]}])]),
        "cluster.json: jobs[0].instances[0].within[0]: no node set is named 'nodes n0'",
    ),
    (cluster(jobs=[job(within=["x"])]), "cluster.json: jobs[0].within[0]: no node set is named 'x'"),
    (cluster(jobs=[job(budgets=["x"])]), "cluster.json: jobs[0].budgets[0]: no budget is named 'x'"),
    (
        cluster(jobs=[job(resources={"cpu": -1})]),
        "cluster.json: jobs[0].resources['cpu']: expected 0 to 9223372036854775807 units, got -1",
    ),
    (cluster(jobs=[job(resources={"cpu": 0.5})]), "cluster.json: jobs[0].resources[...]: Expected 'int', got 'float'"),
    (
        cluster() | {"node_sets": [LAB]},
        "cluster.json: node_sets[0].nodes: no node is named 'n1'",
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

    def test_what_the_second_version_adds(self) -> None:
        waiting = {"name": "w", "gpus_per_instance": 1, "requires": {"zone": "a"}, "together": False}
        note = {"reason": "topology spread", "items": ["a"]}
        running = job(within=["partition lab"])
        value = cluster(LABELLED, [running], [waiting]) | {"node_sets": [LAB], "budgets": {"b": 1, "a": 0}}
        assert write_native(read(value | {"not_looked_at": [note]})).splitlines() == [
            '{"schema": "compass-abs/snapshot/2",',
            ' "nodes": [',
            '  {"name": "n0", "gpus": 8, "resources": {"cpu": 64}},',
            '  {"name": "n1", "gpus": 8},',
            '  {"name": "n2", "gpus": 8}],',
            ' "jobs": [',
            '  {"name": "a", "gpus_per_instance": 2, "instances": [{"node": "n0"}], "within": ["partition lab"]}],',
            ' "pending": [',
            '  {"name": "w", "gpus_per_instance": 1, "within": ["labels zone=a"], "together": false}],',
            ' "node_sets": [',
            '  {"name": "partition lab", "kind": "partition", "nodes": ["n1", "n2"]},',
            '  {"name": "labels zone=a", "kind": "selector", "nodes": ["n0", "n1"]}],',
            ' "budgets": {"a": 0, "b": 1},',
            ' "not_looked_at": [',
            '  {"reason": "topology spread", "items": ["a"]}]}',
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


KEYS = [
    *("nodes", "jobs", "name", "gpus", "gpus_per_instance", "instances", "node", "movable", "pool", "within"),
    *("allowed_nodes", "requires", "resources", "labels", "budgets", "parts", "priority", "kind"),
]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
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

    @given(JSON_VALUES, JSON_VALUES, JSON_VALUES, JSON_VALUES)
    def test_arbitrary_json_in_the_sections(self, nodes: object, jobs: object, pending: object, sets: object) -> None:
        value = {"schema": SCHEMA, "nodes": nodes, "jobs": jobs, "pending": pending, "node_sets": sets}
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
