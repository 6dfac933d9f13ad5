"""`sifopt measure`: the figures in three forms, the sentences, the exit statuses."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle.cli.measure import CSV_FIGURES
from oracle.snapshots.native import write_native
from tests.oracle.cli.files import written
from tests.oracle.snapshots.strategies import snapshots

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.snapshots.model import Snapshot
    from tests.oracle.cli.conftest import Sifopt

CLUSTER: dict[str, object] = {
    "schema": "compass-abs/snapshot/1",
    "nodes": [
        {"name": "a0", "gpus": 8, "pool": "a100"},
        {"name": "a1", "gpus": 8, "pool": "a100"},
        {"name": "a2", "gpus": 8, "pool": "a100"},
        {"name": "h0", "gpus": 8, "pool": "h100"},
        {"name": "h1", "gpus": 7, "pool": "h100"},
        {"name": "h2", "gpus": 8, "pool": "h100", "schedulable": False},
    ],
    "jobs": [
        {"name": "x", "gpus_per_instance": 2, "instances": [{"node": "a0"}, {"node": "a1"}, {"node": "a2"}]},
        {"name": "y", "gpus_per_instance": 8, "instances": [{"node": "h1"}]},
        {"name": "z", "gpus_per_instance": 3, "instances": [{"node": "h0", "movable": False}]},
        {"name": "u", "gpus_per_instance": 5, "instances": [{"node": "h2", "movable": False}]},
        {"name": "gone", "gpus_per_instance": 5, "instances": []},
    ],
    "pending": [
        {"name": "w", "gpus_per_instance": 8, "instances": 2, "pool": "a100"},
        {"name": "v", "gpus_per_instance": 8, "pool": None},
        {"name": "q", "gpus_per_instance": 1, "pool": "h100"},
    ],
}

NOTHING: list[object] = []

TABLE = """\
                          partial  inherent  avoidable              empty     largest
pool   nodes  GPUs  used        Φ        Φ*       Φ-Φ*    SIF  WCC  nodes  free block
─────────────────────────────────────────────────────────────────────────────────────
a100       3    24     6        3         1          2  0.667  yes      0           6
h100       3    23    16        2         2          0  0.000   no      0           5
─────────────────────────────────────────────────────────────────────────────────────
total      6    47    22        5         3          2  0.333   no      0           6

2 of the 5 partial nodes could be avoided: moving running instances can leave 3 partial and 2 empty (0 empty now).
If everything could move everywhere, 1 partial would do, instead of 3.
Pool h100: partial nodes that one constraint alone costs: immovable 2.
Closed to new instances, counted as found: 1 node.
Overcommitted, counted as full: h1 (8 in use, 7 offered).
Waiting: 3 jobs: w (2x8 GPUs, a100), v (1x8 GPUs, any pool), q (1x1 GPUs, h100).
Left out 1 (-v lists them): running jobs without an instance (1).
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return written(tmp_path, CLUSTER)


class TestTable:
    """`-o table`: per pool and in total, then what could be gained and what to know."""

    def test_the_whole_text(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("measure", cluster)
        assert result.err == ""
        assert result.out == TABLE
        assert result.status == 0

    def test_verbose_lists_what_was_left_out_and_why(self, sifopt: Sifopt, cluster: Path) -> None:
        lines = sifopt("measure", cluster, "-v").out.splitlines()
        assert lines[-3:] == ["Left out 1:", "  running jobs without an instance (1):", "    gone"]

    def test_one_pool(self, sifopt: Sifopt, cluster: Path) -> None:
        out = sifopt("measure", cluster, "--pool", "h100").out
        assert "a100" not in out
        assert "No partial node is avoidable." in out
        assert "Waiting: 2 jobs: v (1x8 GPUs, any pool), q (1x1 GPUs, h100)." in out

    def test_an_unknown_pool_names_those_there_are(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("measure", cluster, "--pool", "b200")
        assert (result.status, result.out) == (2, "")
        assert result.err == "sifopt: no node is in a pool named 'b200'; pools: 'a100', 'h100'\n"

    def test_an_empty_cluster_is_a_result(self, sifopt: Sifopt, tmp_path: Path) -> None:
        result = sifopt("measure", written(tmp_path, CLUSTER | {"nodes": NOTHING, "jobs": NOTHING}))
        assert result.status == 0
        assert "The snapshot has no GPU nodes." in result.out

    @pytest.mark.parametrize("output", ["table", "json", "csv"])
    def test_a_check_of_no_gpus_does_not_pass(self, sifopt: Sifopt, tmp_path: Path, output: str) -> None:
        nodes: dict[str, object] = {"nodes": [{"name": "n", "gpus": 0}], "jobs": NOTHING}
        for cluster in (CLUSTER | {"nodes": NOTHING, "jobs": NOTHING}, CLUSTER | nodes):
            result = sifopt("measure", written(tmp_path, cluster), "--exit-code", "-o", output)
            assert result.status == 2
            assert result.err == (
                "sifopt measure: --exit-code: there are no GPUs, so that nothing can be said of them\n"
            )
            assert result.out

    def test_a_check_of_no_domains_does_not_pass(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes: dict[str, object] = {"nodes": [{"name": "n", "gpus": 8}], "jobs": NOTHING, "pending": NOTHING}
        path = written(tmp_path, CLUSTER | nodes)
        assert sifopt("measure", path, "--exit-code").status == 0
        result = sifopt("measure", path, "--exit-code", "--hierarchical")
        assert result.status == 2
        assert "there are no domains" in result.err

    def test_an_idle_cluster(self, sifopt: Sifopt, tmp_path: Path) -> None:
        result = sifopt("measure", written(tmp_path, CLUSTER | {"jobs": NOTHING, "pending": NOTHING}))
        assert "No node is partly used." in result.out
        assert "Waiting" not in result.out

    def test_a_long_list_is_cut_unless_verbose(self, sifopt: Sifopt, tmp_path: Path) -> None:
        pending = [{"name": f"w{i}", "gpus_per_instance": 1, "pool": "a100"} for i in range(7)]
        path = written(tmp_path, CLUSTER | {"pending": pending})
        assert "w4 (1x1 GPUs, a100) and 2 more (-v lists them)." in sifopt("measure", path).out
        assert "w6 (1x1 GPUs, a100)." in sifopt("measure", path, "-v").out

    def test_names_cannot_steer_the_terminal(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes = [{"name": "n", "gpus": 8, "pool": "[red]\x1b[31m\n"}]
        out = sifopt("measure", written(tmp_path, CLUSTER | {"nodes": nodes, "jobs": []})).out
        assert "\x1b" not in out
        assert r"[red]\x1b[31m\n" in out

    @pytest.mark.parametrize(("columns", "heading"), [("200", "free block"), ("60", "largest free block")])
    def test_a_terminal(
        self, sifopt: Sifopt, cluster: Path, monkeypatch: pytest.MonkeyPatch, columns: str, heading: str
    ) -> None:
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        out = sifopt("measure", cluster).out
        assert "\x1b[" in out
        assert heading in out
        assert ("largest free block" in out) == (columns == "60")
        assert "0.667" in out


class TestJson:
    """`-o json`: the contract's keys, the schema first."""

    KEYS = frozenset({*CSV_FIGURES, "instances"})

    def test_the_keys_of_the_contract(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("measure", cluster, "-o", "json")
        assert (result.status, result.err) == (0, "")
        data = json.loads(result.out)
        assert next(iter(data)) == "schema"
        assert data["schema"] == "compass-abs/measure/1"
        assert data.keys() >= self.KEYS
        assert [pool["pool"] for pool in data["pools"]] == ["a100", "h100"]
        assert all(pool.keys() >= self.KEYS for pool in data["pools"])

    def test_the_figures(self, sifopt: Sifopt, cluster: Path) -> None:
        data = json.loads(sifopt("measure", cluster, "-o", "json").out)
        assert {key: data[key] for key in self.KEYS - {"sif"}} == {
            "nodes": 6,
            "gpus": 47,
            "used_gpus": 22,
            "instances": {"2": 3, "3": 1, "5": 1, "8": 1},
            "partial_nodes": 5,
            "inherent_partial_nodes": 3,
            "ideal_partial_nodes": 1,
            "avoidable_partial_nodes": 2,
            "empty_nodes": 0,
            "largest_free_block": 6,
            "overcommitted": ["h1"],
            "wcc": False,
            "wcc_supply": 0,
            "wcc_need": 4,
            "status": "optimal",
            "inherent_lower_bound": 3,
            "ideal_lower_bound": 1,
        }
        assert data["sif"] == pytest.approx(2 / 6)

    def test_what_was_left_out_goes_to_standard_error(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("measure", cluster, "-o", "json", "-v")
        assert result.err.splitlines()[0] == "Left out 1:"
        json.loads(result.out)


class TestCsv:
    """`-o csv`: one row a pool plus the total, under a heading that does not change."""

    def test_the_rows(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("measure", cluster, "-o", "csv")
        assert result.out == (
            "scope,pool,nodes,gpus,used_gpus,partial_nodes,inherent_partial_nodes,ideal_partial_nodes,"
            "avoidable_partial_nodes,sif,empty_nodes,largest_free_block,overcommitted,wcc,wcc_supply,wcc_need,status,"
            "inherent_lower_bound,ideal_lower_bound\n"
            "pool,a100,3,24,6,3,1,1,2,0.6666666666666666,0,6,0,true,0,0,optimal,1,1\n"
            "pool,h100,3,23,16,2,2,0,0,0.0,0,5,1,false,0,4,optimal,2,0\n"
            "total,,6,47,22,5,3,1,2,0.3333333333333333,0,6,1,false,0,4,optimal,3,1\n"
        )

    def test_a_pool_named_like_a_heading(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = written(tmp_path, CLUSTER | {"nodes": [{"name": "n", "gpus": 8, "pool": 'a,"b"'}], "jobs": []})
        rows = list(csv.DictReader(io.StringIO(sifopt("measure", path, "-o", "csv").out)))
        assert [(row["scope"], row["pool"]) for row in rows] == [("pool", 'a,"b"'), ("total", "")]
        assert list(rows[0]) == ["scope", "pool", *CSV_FIGURES]


class TestExitStatus:
    """0 done, 1 only where asked for, 2 bad input, 3 not settled."""

    def test_exit_code(self, sifopt: Sifopt, cluster: Path) -> None:
        assert sifopt("measure", cluster).status == 0
        assert sifopt("measure", cluster, "--exit-code").status == 1
        assert sifopt("measure", cluster, "--exit-code", "--pool", "h100").status == 0

    def test_bad_input(self, sifopt: Sifopt, tmp_path: Path) -> None:
        jobs = [{"name": "a", "gpus_per_instance": 1, "instances": [{"node": "n9"}]}]
        path = written(tmp_path, CLUSTER | {"jobs": jobs})
        result = sifopt("measure", path)
        assert (result.status, result.out) == (2, "")
        assert result.err == f"sifopt: {path}: jobs[0].instances[0].node: no node is named 'n9'\n"

    @pytest.mark.parametrize("output", ["table", "json", "csv"])
    def test_not_settled_in_time(self, sifopt: Sifopt, tmp_path: Path, output: str) -> None:
        # Sevens and threes on nodes of nine and odd sizes: nothing that a bound settles without a solver.
        result = sifopt("measure", written(tmp_path, _hard()), "-o", output, "--time-limit", "0", "--exit-code")
        assert result.status == 3
        assert ("Not settled within the time limit" if output == "table" else "unknown") in result.out


def _hard() -> dict[str, object]:
    sizes = [5, 7, 8, 9, 11, 13]
    nodes = [{"name": f"n{i}", "gpus": sizes[i % 6]} for i in range(36)]
    jobs = [{"name": f"j{i}", "gpus_per_instance": 2 + i % 4, "instances": [{"node": f"n{i}"}]} for i in range(36)]
    return {"schema": "compass-abs/snapshot/1", "nodes": nodes, "jobs": jobs}


class TestRobustness:
    """Whatever the input, the status is one of the contract and nothing is raised."""

    @given(snapshots(), st.sampled_from(["table", "json", "csv"]))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_snapshot_is_measured(self, tmp_path: Path, sifopt: Sifopt, snapshot: Snapshot, output: str) -> None:
        path = tmp_path / "cluster.json"
        path.write_text(write_native(snapshot), encoding="utf-8")
        result = sifopt("measure", path, "-o", output, "--exit-code", "--time-limit", "5")
        has_gpus = any(node.gpus for node in snapshot.nodes)
        assert result.status in ({0, 1, 3} if has_gpus else {2})
        # What a table says of constraints is said beside data.
        assert (result.err == "") == (has_gpus and (output == "table" or not snapshot.not_looked_at))

    @given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\n =NodeNamekindtems01', max_size=60).map(str.encode))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_bytes_are_refused_in_one_line(self, tmp_path: Path, sifopt: Sifopt, content: bytes) -> None:
        path = tmp_path / "cluster"
        path.write_bytes(content)
        result = sifopt("measure", path)
        assert result.status == 2
        assert result.err.count("\n") == 1


class Expected(msgspec.Struct):
    """What a published case says of measuring; the rest of it is for plans and admission."""

    partial_nodes: int
    inherent_partial_nodes: int
    ideal_partial_nodes: int
    used_gpus: int
    overcommitted: list[str] = []


class Case(msgspec.Struct):
    """One case of the shared collection."""

    id: str
    snapshot: msgspec.Raw
    expected: Expected


@pytest.mark.real_data
def test_the_published_cases(real_data: Path, sifopt: Sifopt, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    for case in msgspec.json.decode((real_data / "cases.json").read_bytes(), type=list[Case]):
        path.write_bytes(case.snapshot)
        result = msgspec.json.decode(sifopt("measure", path, "-o", "json").out, type=Expected)
        assert result == case.expected, case.id
