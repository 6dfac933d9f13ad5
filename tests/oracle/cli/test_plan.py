"""`sifopt plan`: the table, the JSON, the limits, the exit statuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict, cast

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt

CLUSTER: dict[str, object] = {
    "schema": "compass-abs/snapshot/1",
    "nodes": [{"name": f"n{i}", "gpus": 8} for i in range(1, 4)],
    "jobs": [
        {"name": "team/a", "gpus_per_instance": 4, "instances": [{"node": "n1"}]},
        {"name": "team/b", "gpus_per_instance": 2, "instances": [{"node": "n2"}, {"node": "n3"}]},
    ],
}

# n1 and n2 can only exchange instances: one has to be stopped first.
EXCHANGE: dict[str, object] = {
    "schema": "compass-abs/snapshot/1",
    "nodes": [{"name": "n1", "gpus": 7}, {"name": "n2", "gpus": 7}],
    "jobs": [
        {"name": "a", "gpus_per_instance": 3, "instances": [{"node": "n1"}, {"node": "n2"}]},
        {"name": "b", "gpus_per_instance": 3, "instances": [{"node": "n1"}]},
        {"name": "c", "gpus_per_instance": 4, "instances": [{"node": "n2"}]},
    ],
}

TABLE = """\
step      job  instance  GPUs  from  to
───────────────────────────────────────
1      team/b         0     2    n2  n1
1      team/b         1     2    n3  n1
───────────────────────────────────────
total   1 job   2 moves     4

2 moves in 1 step: partial nodes 3 -> 0, empty nodes 0 -> 2 (+2).
1 job will pause: team/b.
Every move goes into space that is free before its step.
Moves of one step may run at the same time; the next step begins when all of them are done.
Proved: no plan is better.
"""


class Case(TypedDict):
    id: str
    snapshot: dict[str, object]
    expected: dict[str, object]


def _write(folder: Path, value: object) -> Path:
    path = folder / "cluster.json"
    path.write_text(json.dumps(value))
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return _write(tmp_path, CLUSTER)


def _data(text: str) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(text))


class TestTable:
    def test_a_plan(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster)
        assert (result.status, result.err) == (0, "")
        assert result.out == TABLE

    def test_frontier(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster, "--frontier")
        assert result.status == 0
        rows = [line.split() for line in result.out[len(TABLE) :].splitlines() if line[:1].isdigit()]
        assert rows[:4] == [["3", "0"], ["2", "1"], ["1", "2"], ["0", "2"]]

    def test_nothing_to_move(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster, "--protect", "team")
        assert result.status == 0
        assert result.out == "Nothing to move: 3 partial nodes, 0 empty.\nProved: no plan is better.\n"

    def test_live_moves_that_do_not_lead_as_far(self, sifopt: Sifopt, tmp_path: Path) -> None:
        result = sifopt("plan", _write(tmp_path, EXCHANGE), "--moves", "live")
        assert result.status == 0
        assert "(--moves checkpoint)" not in result.out

    def test_names_cannot_steer_the_terminal(self, sifopt: Sifopt, tmp_path: Path) -> None:
        text = json.dumps(CLUSTER).replace("team/b", "\\u001b[31m")
        path = tmp_path / "bad.json"
        path.write_text(text)
        assert "\x1b" not in sifopt("plan", path).out


class TestJson:
    def test_is_that_of_the_contract(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster, "-o", "json", "--frontier")
        data = _data(result.out)
        assert result.status == 0
        assert data["schema"] == "compass-abs/plan/1"
        expected: dict[str, object] = {
            "status": "optimal",
            "partial_nodes_before": 3,
            "partial_nodes_after": 0,
            "migrations": 2,
            "jobs_disturbed": 1,
            "live": True,
            "stopped_first": [],
            "moves": [
                {"step": 1, "job": "team/b", "instance": 0, "gpus": 2, "from": "n2", "to": "n1"},
                {"step": 1, "job": "team/b", "instance": 1, "gpus": 2, "from": "n3", "to": "n1"},
            ],
        }
        assert {key: data[key] for key in expected} == expected
        frontier = cast("list[dict[str, int]]", data["frontier"])
        assert [(point["partial_nodes"], point["migrations"]) for point in frontier] == [(3, 0), (2, 1), (1, 2), (0, 2)]
        assert "certificate" in data

    def test_frontier_only_if_asked_for(self, sifopt: Sifopt, cluster: Path) -> None:
        assert "frontier" not in _data(sifopt("plan", cluster, "-o", "json").out)


class TestLimits:
    def test_migrations(self, sifopt: Sifopt, cluster: Path) -> None:
        data = _data(sifopt("plan", cluster, "--max-migrations", "1", "-o", "json").out)
        assert (data["migrations"], data["partial_nodes_after"], data["status"]) == (1, 2, "optimal")

    def test_partial_nodes(self, sifopt: Sifopt, cluster: Path) -> None:
        data = _data(sifopt("plan", cluster, "--max-partial-nodes", "2", "-o", "json").out)
        assert (data["migrations"], data["partial_nodes_after"], data["status"]) == (1, 2, "optimal")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--max-migrations", "-1"], "expected a whole number, 0 or more, got '-1'"),
            (["--max-partial-nodes", "few"], "expected a whole number, 0 or more, got 'few'"),
            (["--time-limit", "nan"], "expected a number of seconds, 0 or more, got 'nan'"),
            (["--protect", "nobody"], "'nobody'"),
            (["--protect", "team", "--max-partial-nodes", "1"], "at least 3 nodes are partial"),
            (["--max-migrations", "1", "--max-partial-nodes", "1"], "1 migrations leave at least 2 partial nodes"),
            (["--moves", "fast"], "invalid choice: 'fast'"),
        ],
    )
    def test_bad_usage_is_one_line_and_status_2(
        self, sifopt: Sifopt, cluster: Path, arguments: list[str], message: str
    ) -> None:
        result = sifopt("plan", cluster, *arguments)
        assert (result.status, result.out) == (2, "")
        assert message in result.err
        assert result.err.count("\n") == 1

    def test_no_time(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes = [{"name": f"n{i}", "gpus": 8} for i in range(9)]
        jobs = [
            {"name": f"j{i}", "gpus_per_instance": gpus, "instances": [{"node": f"n{i}"}]}
            for i, gpus in enumerate((3, 3, 3, 6, 6, 5, 5, 4, 2))
        ]
        path = _write(tmp_path, {"schema": "compass-abs/snapshot/1", "nodes": nodes, "jobs": jobs})
        result = sifopt("plan", path, "--time-limit", "0")
        assert result.status in {0, 3}
        assert ("Not proved" in result.out) == (result.status == 3)


class TestResume:
    def test_a_plan_that_holds(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored = tmp_path / "plan.json"
        stored.write_text(sifopt("plan", cluster, "-o", "json").out)
        result = sifopt("plan", "--resume", stored, "--snapshot", cluster)
        assert (result.status, result.err) == (0, "")
        assert "0 moves done, 2 moves left.\nThe rest can be carried out as planned.\n" in result.out
        assert sifopt("plan", cluster, "--resume", stored).out == result.out

    def test_a_plan_half_done(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored, now = tmp_path / "plan.json", tmp_path / "now.json"
        stored.write_text(sifopt("plan", cluster, "-o", "json").out)
        now.write_text(json.dumps(CLUSTER).replace('"n2"}, {"node": "n3"}', '"n1"}, {"node": "n3"}'))
        data = _data(sifopt("plan", now, "--resume", stored, "-o", "json").out)
        assert (data["schema"], data["holds"], data["failure"]) == ("compass-abs/resume/1", True, None)
        assert (len(cast("list[object]", data["done"])), len(cast("list[object]", data["moves"]))) == (1, 1)

    @pytest.mark.parametrize("output", ["table", "json"])
    def test_a_plan_that_does_not_hold(self, sifopt: Sifopt, cluster: Path, tmp_path: Path, output: str) -> None:
        stored, now = tmp_path / "plan.json", tmp_path / "now.json"
        stored.write_text(sifopt("plan", cluster, "-o", "json").out)
        now.write_text(json.dumps(CLUSTER).replace('"gpus_per_instance": 4', '"gpus_per_instance": 8'))
        result = sifopt("plan", "--resume", stored, "--snapshot", now, "-o", output)
        assert result.status == 1
        assert "needs 2 GPUs, the node has 0 free then" in result.out

    def test_everything_done(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored, now = tmp_path / "plan.json", tmp_path / "now.json"
        stored.write_text(sifopt("plan", cluster, "-o", "json").out)
        jobs = json.loads(json.dumps(CLUSTER["jobs"]).replace("n2", "n1").replace("n3", "n1"))
        now.write_text(json.dumps({**CLUSTER, "jobs": jobs}))
        result = sifopt("plan", "--resume", stored, "--snapshot", now)
        assert (result.status, result.out) == (0, "2 moves done, 0 moves left.\n")

    @pytest.mark.parametrize(
        ("content", "arguments", "message"),
        [
            ("{}", [], "moves"),
            ("no", [], "not valid JSON"),
            ('{"moves": []}', ["--frontier"], "--resume takes no limits"),
            ('{"moves": []}', ["--max-migrations", "1"], "--resume takes no limits"),
        ],
    )
    def test_bad_usage(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, *, content: str, arguments: list[str], message: str
    ) -> None:
        stored = tmp_path / "plan.json"
        stored.write_text(content)
        result = sifopt("plan", cluster, "--resume", stored, *arguments)
        assert (result.status, result.out) == (2, "")
        assert message in result.err
        assert result.err.count("\n") == 1

    def test_without_a_snapshot(self, sifopt: Sifopt) -> None:
        result = sifopt("plan")
        assert (result.status, result.out) == (2, "")
        assert "the following arguments are required: SNAPSHOT" in result.err


@pytest.mark.real_data
@pytest.mark.parametrize("mode", ["checkpoint", "live"])
def test_every_case(sifopt: Sifopt, real_data: Path, tmp_path: Path, mode: str) -> None:
    cases = cast("list[Case]", json.loads((real_data / "cases.json").read_bytes()))
    key = "fewest_migrations" if mode == "checkpoint" else "live_migrations"
    asked = 0
    for case in cases:
        path, expected = _write(tmp_path, case["snapshot"]), case["expected"]
        result = sifopt("plan", path, "-o", "json", "--moves", mode)
        data = _data(result.out)
        assert (result.status, data["status"]) == (0, "optimal"), case["id"]
        assert data["partial_nodes_before"] == expected["partial_nodes"], case["id"]
        if mode == "checkpoint" or expected[key] is not None:
            asked += 1
            assert data["migrations"] == expected[key], case["id"]
            assert data["partial_nodes_after"] == expected["inherent_partial_nodes"], case["id"]
        stored = tmp_path / "plan.json"
        stored.write_text(result.out)
        assert sifopt("verify", stored, "--snapshot", path).status == 0, case["id"]
    assert asked > 10
