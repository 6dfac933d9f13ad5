"""From files to one snapshot: the format is told from the content, and what cannot be told is explained."""

from __future__ import annotations

import gzip
import io
import json
import resource
import sys
import time
from typing import TYPE_CHECKING, TypedDict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracle.snapshots.detection import Format, detect
from oracle.snapshots.document import Document
from oracle.snapshots.loader import load_snapshot
from oracle.snapshots.model import Snapshot, SnapshotError, SnapshotNode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeAlias

    Write: TypeAlias = Callable[[str, str | bytes], Path]

NATIVE = '{"nodes": [{"name": "n0", "gpus": 8}], "schema": "compass-abs/snapshot/1"}'
K8S_NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n0", "labels": {"nvidia.com/gpu.product": "h100", "team": "red"}},
    "status": {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]},
}
K8S = json.dumps({"kind": "List", "apiVersion": "v1", "items": [K8S_NODE]})
K8S_PODS = json.dumps({"kind": "PodList", "apiVersion": "v1", "items": []})
SLURM_JSON = '{"meta": {}, "nodes": [{"name": "n0", "gres": "gpu:8", "state": ["IDLE"], "partitions": ["batch"]}]}'


class Options(TypedDict, total=False):
    pool_label: str
    domain_label: str
    resources: list[str]


SLURM_TEXT = "NodeName=n0 Arch=x86_64\n   Gres=gpu:h100:8\n"


class TestDetection:
    """The format is told from the top of the content."""

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (NATIVE, "native"),
            ('{"schema": 7}', "native"),
            ('{"nodes": [{"name": "n0", "gpus": 8}]}', "native"),
            (K8S, "kubernetes"),
            ('{"items": []}', "kubernetes"),
            ('\n {"apiVersion": "v1", "kind": "Pod"}', "kubernetes"),
            ("apiVersion: v1\nitems: []\n", "kubernetes"),
            ("# Please edit the object below.\n---\nkind: Node\n", "kubernetes"),
            (SLURM_JSON, "slurm"),
            ('{"jobs": []}', "slurm"),
            ('{"meta": {}, "nodes": [], "errors": []}', "slurm"),
            (SLURM_TEXT, "slurm"),
            ("\nJobId=7 JobName=a\n   Nodes=n0 CPU_IDs=0 Mem=0\n", "slurm"),
        ],
    )
    def test_formats(self, content: str, expected: Format) -> None:
        assert detect(Document("f", content.encode())) == expected

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "f: the input is empty; expected the output of `kubectl get nodes,pods -A -o json`"),
            (b" \n\t", "f: the input is empty; expected "),
            (b"NAME  STATUS\nn0  Ready\n", "f: cannot tell what this is, it begins with 'NAME STATUS n0 Ready'; "),
            (b"<html>\xff", "f: cannot tell what this is, it begins with '<html>\ufffd'; expected "),
            (b"[{}]", "f: cannot tell what this is, it begins with '[{}]'; expected "),
            (b"{}", "f: cannot tell what this is, it begins with '{}'; expected "),
            ("{}".encode("utf-16"), "f: this is UTF-16, as PowerShell's `>` writes it; save it as UTF-8; expected "),
            (b'{"kind": "List", "items": [', "f: not valid JSON: "),
            (b'{"items": ' + b"[" * 200_000, "f: nested too deep to be a snapshot"),
        ],
    )
    def test_what_cannot_be_told(self, content: bytes, message: str) -> None:
        with pytest.raises(SnapshotError) as caught:
            detect(Document("f", content))
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)

    @given(st.binary(max_size=100) | st.text(alphabet='{}[]":, \nkinditemsschema=#-', max_size=60).map(str.encode))
    @example(b'{"nodes": 1}')
    def test_arbitrary_content(self, content: bytes) -> None:
        try:
            detect(Document("f", content))
        except SnapshotError as error:
            assert str(error).startswith("f: ")  # noqa: PT017 - a few of them are formats


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


class TestLoading:
    """`load_snapshot(*sources, format=..., resources=..., pool_label=...)`."""

    def test_a_native_file(self, write: Write) -> None:
        expected = Snapshot.build(nodes=[SnapshotNode(name="n0", gpus=8)])
        assert load_snapshot(write("a", NATIVE)) == expected
        assert load_snapshot(str(write("a", NATIVE)), format="native") == expected
        assert load_snapshot(write("a.txt", gzip.compress(NATIVE.encode()))) == expected

    def test_an_empty_cluster_is_a_snapshot(self, write: Write) -> None:
        assert load_snapshot(write("a", NATIVE.replace('{"name": "n0", "gpus": 8}', ""))).nodes == ()

    def test_the_parts_of_a_kubernetes_cluster_in_any_order(self, write: Write) -> None:
        nodes = write("nodes.json", json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": [K8S_NODE]}))
        pods = write("pods.json.gz", gzip.compress(K8S_PODS.encode()))
        expected = Snapshot.build(nodes=[SnapshotNode(name="n0", gpus=8, pool="h100")])
        assert load_snapshot(nodes, pods) == load_snapshot(pods, nodes) == expected

    def test_the_parts_of_a_slurm_cluster(self, write: Write) -> None:
        nodes, jobs = write("nodes.json", SLURM_JSON), write("jobs.json", '{"jobs": []}')
        assert load_snapshot(nodes, jobs).nodes[0].gpus == 8
        assert load_snapshot(nodes, jobs, pool_label="type").pools == ("gpu",)
        assert load_snapshot(nodes, jobs, pool_label="partition").pools == ("batch",)

    def test_kubernetes_as_yaml(self, write: Write) -> None:
        path = write("nodes.yaml", "apiVersion: v1\nkind: List\nitems:\n- " + json.dumps(K8S_NODE) + "\n")
        assert load_snapshot(path).pools == ("h100",)

    def test_the_pool_label_and_the_resources_of_kubernetes(self, write: Write) -> None:
        path = write("k8s.json", K8S)
        assert load_snapshot(path, pool_label="team").pools == ("red",)
        assert load_snapshot(path, resources="nvidia.com/gpu").nodes[0].gpus == 8

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"pool_label": "taem"}, "no GPU node has the label 'taem', which is to tell its pool"),
            ({"domain_label": "tema"}, "no GPU node has the label 'tema', which is to tell its domain"),
            ({"resources": ["amd.com/gpu"]}, "no node has and no pod asks for the resource 'amd.com/gpu'"),
            ({"resources": ["nvidia.com/gpu", "x"]}, "no node has and no pod asks for the resource 'x'"),
            # The labels that count by themselves may be missing, but not where they are asked for.
            ({"domain_label": "nvidia.com/gpu.clique"}, "no GPU node has the label 'nvidia.com/gpu.clique'"),
        ],
    )
    def test_an_option_that_matches_nothing_is_refused(self, write: Write, options: Options, problem: str) -> None:
        path = write("k8s.json", K8S)
        with pytest.raises(SnapshotError) as caught:
            load_snapshot(path, **options)
        assert str(caught.value).startswith(problem)

    def test_partitions_that_no_node_is_in(self, write: Write) -> None:
        nodes = write("nodes.json", SLURM_JSON.replace('"batch"', ""))
        with pytest.raises(SnapshotError, match="no node with GPUs is in a partition"):
            load_snapshot(nodes, write("jobs.json", '{"jobs": []}'), pool_label="partition")

    def test_options_of_another_format_are_refused(self, write: Write) -> None:
        native = write("a", NATIVE)
        with pytest.raises(SnapshotError, match=r"no pool label applies, got 'team'"):
            load_snapshot(native, pool_label="team")
        with pytest.raises(SnapshotError, match="and this is a native snapshot"):
            load_snapshot(native, resources=["amd.com/gpu"])
        with pytest.raises(SnapshotError, match="and this is a Slurm snapshot"):
            load_snapshot(write("b", SLURM_JSON), resources=["amd.com/gpu"])
        with pytest.raises(SnapshotError, match=r"expected 'type' or 'partition' .* got 'team'"):
            load_snapshot(write("b", SLURM_JSON), pool_label="team")

    def test_a_part_on_standard_input(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(K8S_PODS.encode())))
        assert load_snapshot(write("nodes.json", K8S), "-").pools == ("h100",)

    def test_standard_input_twice(self) -> None:
        with pytest.raises(SnapshotError, match="standard input can be only one of the parts"):
            load_snapshot("-", "-")

    def test_no_source(self) -> None:
        with pytest.raises(SnapshotError, match="expected at least one snapshot file"):
            load_snapshot()

    def test_mixed_formats(self, write: Write) -> None:
        k8s, native = write("k8s.json", K8S), write("native.json", NATIVE)
        with pytest.raises(SnapshotError, match=rf"^{native}: this is native, but {k8s} is kubernetes; "):
            load_snapshot(k8s, native)

    def test_two_native_files(self, write: Write) -> None:
        with pytest.raises(SnapshotError, match=r"b: a native snapshot is one file, and .*a is one already"):
            load_snapshot(write("a", NATIVE), write("b", NATIVE))

    def test_a_given_format_is_not_second_guessed(self, write: Write) -> None:
        with pytest.raises(SnapshotError, match="schema: is missing, expected 'compass-abs/snapshot/2' or "):
            load_snapshot(write("k8s.json", K8S), format="native")

    def test_a_native_file_without_its_schema_is_told_so(self, write: Write) -> None:
        with pytest.raises(SnapshotError, match="schema: is missing, expected 'compass-abs/snapshot/2' or "):
            load_snapshot(write("a", '{"nodes": [{"name": "n0", "gpus": 8}]}'))


@pytest.mark.slow
def test_two_hundred_megabytes(tmp_path: Path) -> None:
    """Reading is dominated by parsing: seconds, and a small multiple of the file in memory."""
    path = tmp_path / "large.json"
    with path.open("w") as file:
        file.write('{"schema": "compass-abs/snapshot/1", "nodes": [')
        file.write(",".join(f'{{"name": "node-{i:06}", "gpus": 8, "pool": "h100"}}' for i in range(100_000)))
        file.write('], "jobs": [')
        for i in range(1_600_000):
            instances = f'[{{"node": "node-{i % 100_000:06}"}}, {{"node": "node-{(i * 7) % 100_000:06}"}}]'
            comma = "," if i else ""
            file.write(f'{comma}{{"name": "team/job-{i:08}", "gpus_per_instance": 1, "instances": {instances}}}')
        file.write("]}")
    assert path.stat().st_size > 180_000_000
    start = time.process_time()
    snapshot = load_snapshot(path)
    assert time.process_time() - start < 60
    assert len(snapshot.jobs) == 1_600_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4_000_000  # kilobytes
