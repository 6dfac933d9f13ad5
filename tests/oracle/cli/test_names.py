"""Names are whatever somebody wrote into a snapshot: none of them steers a terminal, and JSON keeps them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle import load_snapshot
from oracle.safe_text import csv_name, printable
from oracle.snapshots.native import write_native
from tests.oracle.cli.files import data_of, written
from tests.oracle.test_safe_text import PLAIN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt

NAMES = PLAIN.filter(bool)


def snapshot(node: str, pool: str, job: str) -> dict[str, object]:
    """Return a snapshot in which a move makes room, with these names wherever there can be one."""
    return {
        "schema": "compass-abs/snapshot/1",
        "nodes": [
            {"name": node, "gpus": 8, "pool": pool, "domain": node},
            {"name": f"{node}2", "gpus": 8, "pool": pool, "domain": node},
            {"name": f"{node}3", "gpus": 2, "pool": f"{pool}2", "domain": pool},
        ],
        "jobs": [{"name": job, "gpus_per_instance": 4, "instances": [{"node": node}, {"node": f"{node}2"}]}],
        "pending": [{"name": f"{job}2", "gpus_per_instance": 8, "instances": 1, "pool": pool}],
    }


def clean(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.long
@given(NAMES, NAMES, NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
def test_every_form_of_output(tmp_path: Path, sifopt: Sifopt, node: str, pool: str, job: str) -> None:
    path = written(tmp_path, snapshot(node, pool, job))
    drawing, result = tmp_path / "plan.svg", tmp_path / "result.json"
    plan = sifopt("plan", path, "-o", "json", "--plot", drawing)
    result.write_text(plan.out)
    calls = [
        plan,
        sifopt("measure", path, "-v"),
        sifopt("measure", path, "--hierarchical"),
        sifopt("measure", path, "-o", "csv"),
        sifopt("plan", path, "-v"),
        sifopt("admit", path, "-v"),
        sifopt("admit", path, "--job", "1x8", "-v"),
        sifopt("verify", result, "--snapshot", path),
        sifopt("plan", "--resume", result, "--snapshot", path),
        sifopt("plan", path, "--protect", f"{job}3"),
        sifopt("measure", path, "--pool", f"{pool}3"),
    ]
    for call in calls:
        assert clean(call.out), call.out
        assert clean(call.err), call.err
    assert [call.status for call in calls[:9]] == [0] * 9
    assert calls[-1].status == calls[-2].status == 2

    texts = list(ET.fromstring(drawing.read_text(encoding="utf-8")).itertext())  # noqa: S314 - it was drawn here
    assert all(clean(text) for text in texts)
    assert any(printable(node) in text for text in texts)

    for command in (["measure"], ["measure", "--hierarchical"], ["plan", "--frontier"], ["admit"]):
        answer = sifopt(*command, path, "-o", "json")
        assert clean(answer.out)
        assert answer.status == 0
        data_of(answer.out)
    assert [one["pool"] for one in json.loads(sifopt("measure", path, "-o", "json").out)["pools"]] == sorted(
        (pool, f"{pool}2")
    )
    rows = list(csv.reader(io.StringIO(calls[3].out, newline="")))
    assert [row[1] for row in rows[1:-1]] == [csv_name(name) for name in sorted((pool, f"{pool}2"))]


@given(NAMES, NAMES, NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_native_format_keeps_names(tmp_path: Path, sifopt: Sifopt, node: str, pool: str, job: str) -> None:
    path = written(tmp_path, snapshot(node, pool, job))
    converted = sifopt("convert", path)
    assert clean(converted.out)
    again = tmp_path / "again.json"
    again.write_text(converted.out, encoding="utf-8")
    assert load_snapshot(again) == load_snapshot(path)
    assert write_native(load_snapshot(again)) == converted.out


@given(st.text(max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_no_snapshot_is_named_in_one_clean_line(tmp_path: Path, sifopt: Sifopt, text: str) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(text, encoding="utf-8", newline="")
    for call in (sifopt("measure", path), sifopt("verify", path)):
        assert call.status == 2
        assert clean(call.err)
        assert call.err.count("\n") == 1
