"""Constraints that were not looked at stand beside whatever is proved, in every form of every answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

import pytest

from oracle.snapshots.model import Skipped, Snapshot
from oracle.snapshots.native import write_native
from oracle.snapshots.overlooked import overlooked
from tests.oracle.cli.files import data_of, written

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt

CLUSTER: dict[str, object] = {
    "schema": "compass-abs/snapshot/2",
    "nodes": [{"name": f"n{i}", "gpus": 8, "pool": "b" if i > 1 else "a"} for i in range(4)],
    "jobs": [{"name": f"j{i}", "gpus_per_instance": 4, "instances": [{"node": f"n{i}"}]} for i in range(4)],
    "pending": [
        {"name": "w", "gpus_per_instance": 8, "pool": None},
        {"name": "v", "gpus_per_instance": 2, "pool": "b"},
    ],
}
NOTES = [
    {"reason": "topology spread", "items": ["j0", "j1"]},
    {"reason": "preferred affinity", "items": ["j1", "j2"]},
]
SENTENCE = "3 jobs have constraints that were not looked at: topology spread; preferred affinity (-v lists them).\n"
COMMANDS = {
    "measure": ("measure",),
    "plan": ("plan",),
    "admit": ("admit", "--job", "1x8"),
    "queue": ("admit",),
}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return written(tmp_path, CLUSTER | {"not_looked_at": NOTES})


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
class TestEveryAnswer:
    def test_text(self, sifopt: Sifopt, cluster: Path, command: tuple[str, ...]) -> None:
        result = sifopt(*command, cluster)
        assert result.out.count(SENTENCE) == 1
        assert result.err == ""

    def test_verbose_names_the_jobs(self, sifopt: Sifopt, cluster: Path, command: tuple[str, ...]) -> None:
        assert (
            "3 jobs have constraints that were not looked at:\n"
            "  topology spread (2):\n    j0\n    j1\n  preferred affinity (2):\n    j1\n    j2\n"
        ) in sifopt(*command, cluster, "-v").out

    def test_json(self, sifopt: Sifopt, cluster: Path, command: tuple[str, ...]) -> None:
        result = sifopt(*command, cluster, "-o", "json")
        assert data_of(result.out)["not_looked_at"] == [
            {"reason": note["reason"], "jobs": note["items"]} for note in NOTES
        ]
        assert result.err == SENTENCE

    def test_nothing_where_there_is_none(self, sifopt: Sifopt, tmp_path: Path, command: tuple[str, ...]) -> None:
        path = written(tmp_path, CLUSTER)
        assert "not looked at" not in sifopt(*command, path).out
        result = sifopt(*command, path, "-o", "json")
        assert (data_of(result.out)["not_looked_at"], result.err) == ([], "")

    @pytest.mark.parametrize("lie", ["removed", "emptied", "fewer jobs", "other words", "one more"])
    def test_verify_compares_it(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, command: tuple[str, ...], lie: str
    ) -> None:
        data = data_of(sifopt(*command, cluster, "-o", "json").out)
        stored = tmp_path / "stored.json"
        stored.write_text(json.dumps(data))
        assert sifopt("verify", stored, "--snapshot", cluster).status == 0
        named = cast("list[dict[str, object]]", data["not_looked_at"])
        match lie:
            case "removed":
                del data["not_looked_at"]
            case "emptied":
                named.clear()
            case "fewer jobs":
                named[0]["jobs"] = ["j0"]
            case "other words":
                named[0]["reason"] = "nothing of importance"
            case _:
                named.append(named[0])
        stored.write_text(json.dumps(data))
        result = sifopt("verify", stored, "--snapshot", cluster)
        assert result.status == 1
        assert re.search("^fails +what was not looked at is named", result.out, re.MULTILINE)

    def test_without_a_snapshot_it_is_not_rechecked(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, command: tuple[str, ...]
    ) -> None:
        stored = tmp_path / "stored.json"
        stored.write_text(sifopt(*command, cluster, "-o", "json").out)
        assert "not rechecked  what was not looked at is named" in sifopt("verify", stored).out


def test_beside_csv(sifopt: Sifopt, cluster: Path) -> None:
    assert sifopt("measure", cluster, "-o", "csv").err == SENTENCE


def test_beside_what_is_left_of_a_plan(sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
    stored = tmp_path / "plan.json"
    stored.write_text(sifopt("plan", cluster, "-o", "json").out)
    assert SENTENCE in sifopt("plan", "--resume", stored, "--snapshot", cluster).out


def test_of_one_pool_only_its_jobs(sifopt: Sifopt, cluster: Path) -> None:
    line = "1 job has constraints that were not looked at: preferred affinity (-v lists them).\n"
    for command in (("measure",), ("plan",), ("admit", "--job", "1x8"), ("admit",)):
        assert line in sifopt(*command, cluster, "--pool", "b").out


def test_nobody_s_and_unknown_jobs_stay() -> None:
    """A job that no list has may be in any pool, and so may a constraint that names no job."""
    groups = (Skipped(reason="a", items=("gone", "j0"), kept=True), Skipped(reason="b", items=(), kept=True))
    snapshot = Snapshot.build(nodes=[], not_looked_at=groups)
    assert overlooked(snapshot, "x") == groups


def test_of_nobody(sifopt: Sifopt, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    note = Skipped(reason="topology spread", items=())
    path.write_text(write_native(Snapshot.build(nodes=[], not_looked_at=[note])))
    line = "Some jobs have constraints that were not looked at: topology spread (-v lists them).\n"
    assert line in sifopt("measure", path).out
