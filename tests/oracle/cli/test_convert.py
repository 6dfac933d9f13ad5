"""`sifopt convert` and `sifopt schema`."""

from __future__ import annotations

import gzip
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from oracle.snapshots.native import native_json_schema, write_native
from tests.oracle.snapshots.strategies import snapshots

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.snapshots.model import Snapshot
    from tests.oracle.cli.conftest import Sifopt

RACKED = {
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"rack": "r7", "nvidia.com/gpu.clique": "c.0"}},
    "status": {"allocatable": {"nvidia.com/gpu": "8"}},
}

NATIVE = """{"schema": "compass-abs/snapshot/1",
 "nodes": [
  {"name": "nœud", "gpus": 8}],
 "jobs": [],
 "pending": []}
"""


class TestConvert:
    """`sifopt convert SNAPSHOT... > native.json`."""

    @pytest.mark.parametrize(("options", "domain"), [((), "c.0"), (("--domain-label", "rack"), "r7")])
    def test_domains_come_from_the_label_asked_for(
        self, tmp_path: Path, sifopt: Sifopt, options: tuple[str, ...], domain: str
    ) -> None:
        path = tmp_path / "nodes.json"
        path.write_text(json.dumps({"kind": "List", "items": [RACKED]}), encoding="utf-8")
        assert json.loads(sifopt("convert", path, *options).out)["nodes"][0]["domain"] == domain

    @given(snapshots())
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_the_native_format_is_its_own_conversion(self, tmp_path: Path, sifopt: Sifopt, snapshot: Snapshot) -> None:
        path = tmp_path / "native.json"
        path.write_text(write_native(snapshot), encoding="utf-8")
        assert sifopt("convert", path).out == write_native(snapshot)

    def test_standard_input_and_gzip(self, sifopt: Sifopt, monkeypatch: pytest.MonkeyPatch) -> None:
        content = gzip.compress(NATIVE.encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        result = sifopt("convert", "-")
        assert (result.status, result.out, result.err) == (0, NATIVE, "")

    def test_what_was_left_out_is_said_on_standard_error(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = tmp_path / "native.json"
        job = r'{"name": "gone\u0007", "gpus_per_instance": 1, "instances": []}'
        path.write_text(NATIVE.replace('"jobs": []', f'"jobs": [{job}]'), encoding="utf-8")
        result = sifopt("convert", path)
        assert (result.status, result.out) == (0, NATIVE)
        assert result.err == "Left out 1 (-v lists them): running jobs without an instance (1).\n"
        assert sifopt("convert", path, "-v").err.splitlines() == [
            "Left out 1:",
            "  running jobs without an instance (1):",
            "    gone\\x07",
        ]


class TestSchema:
    """`sifopt schema`."""

    def test_it_prints_the_json_schema(self, sifopt: Sifopt) -> None:
        result = sifopt("schema")
        assert result.status == 0
        assert json.loads(result.out) == json.loads(json.dumps(native_json_schema()))
