"""Whatever is read, a key stands once in an object: programs differ in which of two they read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import load_snapshot
from oracle.snapshots.document import Document, decode_yaml, read_document
from oracle.snapshots.model import SnapshotError
from simulation.jobs import TraceError
from simulation.traces.loader import load_trace
from tests.oracle.snapshots.test_source import of_document

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def objects_in(value: object, path: str = "") -> list[tuple[str, dict[str, object]]]:
    """Return every object with a key, with its path."""
    if isinstance(value, list):
        return [found for i, one in enumerate(cast("list[object]", value)) for found in objects_in(one, f"{path}[{i}]")]
    if not isinstance(value, dict):
        return []
    fields = cast("dict[str, object]", value)
    below = [found for key, one in fields.items() for found in objects_in(one, f"{path}.{key}")]
    return [(path, fields), *below] if fields else below


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_what_has_every_key_once_is_read(value: dict[str, object]) -> None:
    text = json.dumps(value).encode()
    assert of_document(text).content == text


@given(st.data())
def test_a_key_that_is_there_twice_is_refused_wherever_it_is(data: st.DataObject) -> None:
    value = data.draw(st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4))
    path, chosen = data.draw(st.sampled_from(objects_in(value)))
    key = data.draw(st.sampled_from(sorted(chosen)))
    mark = "a mark that is nowhere else"
    chosen[mark] = data.draw(VALUES)
    # The same key, perhaps spelled in another way.
    spelled = data.draw(st.sampled_from([json.dumps(key), '"' + "".join(f"\\u{ord(c):04x}" for c in key) + '"']))
    if any(ord(c) > 0xFFFF for c in key):
        spelled = json.dumps(key)
    text = json.dumps(value).replace(json.dumps(mark), spelled)
    with pytest.raises(SnapshotError, match="is there twice, expected once") as caught:
        of_document(text.encode())
    assert caught.value.path == f"standard input: {path.removeprefix('.')}".removesuffix(": ")
    assert caught.value.problem.startswith(f"the key {key!r}")


KUBERNETES = '{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Node", "apiVersion": "v1", "metadata": {%s}}]}'


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            '{"schema": "compass-abs/snapshot/1", "nodes": [{"name": "a", "gpus": 8, "gpus": 4}], "jobs": []}',
            "nodes[0]",
        ),
        ('{"schema": "compass-abs/snapshot/1", "nodes": [], "nodes": [{"name": "a", "gpus": 4}], "jobs": []}', ""),
        (KUBERNETES % '"name": "a", "labels": {"x": "1", "x": "2"}', "items[0].metadata.labels"),
        ('{"nodes": [{"name": "a", "gres": "gpu:8", "gres": ""}], "meta": {}}', "nodes[0]"),
    ],
)
def test_every_reader_of_json(tmp_path: Path, text: str, path: str) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(text)
    with pytest.raises(SnapshotError, match="there twice") as caught:
        load_snapshot(file)
    assert caught.value.path == (f"{file}: {path}" if path else str(file))


def test_traces(tmp_path: Path) -> None:
    file = tmp_path / "cluster_job_log"
    file.write_text('[{"jobid": "a", "jobid": "b", "attempts": []}]')
    with pytest.raises(TraceError, match=r"\[0\]: the key 'jobid' is there twice"):
        load_trace(file)


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "x:\n  - a: 1\n    b: 2\n    a: 1\n", "{a: 1, b: 2, a: 1}\n"])
def test_yaml(text: str) -> None:
    with pytest.raises(SnapshotError, match="the key 'a' is there twice"):
        decode_yaml(Document("f", text.encode()))


@pytest.mark.parametrize("text", ['a: 1\n"1": 2\nx: {a: 1}\ny: {a: 1}\n', "---\na: 1\n---\na: 2\n"])
def test_yaml_with_the_same_key_in_several_objects(text: str) -> None:
    assert decode_yaml(Document("f", text.encode()))


@pytest.mark.parametrize("text", ['{"a": 1, "a"', '{"a": 1} {"a": 1}', '{"a": NaN, "b": \x01}', '{"a": "\xff"}'])
def test_of_what_is_no_json_its_decoder_tells(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("latin-1"))
    assert read_document(path).content == text.encode("latin-1")
