"""`sifopt admit`: the verdicts in words and as JSON, and the exit statuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

import oracle
import oracle.admission.jobs
from oracle.admission.answer import Admission, Verdict
from oracle.admission.question import AskedJob, Question
from tests.oracle.cli.files import data_of, written

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt
    from tests.oracle.cli.files import Case

CLUSTER: dict[str, object] = {
    "schema": "compass-abs/snapshot/1",
    "nodes": [{"name": "n1", "gpus": 8}, {"name": "n2", "gpus": 8}, {"name": "h", "gpus": 4, "pool": "h100"}],
    "jobs": [
        {"name": "a", "gpus_per_instance": 3, "instances": [{"node": "n1"}]},
        {"name": "b", "gpus_per_instance": 2, "instances": [{"node": "n2"}]},
    ],
}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return written(tmp_path, CLUSTER)


def test_the_public_name() -> None:
    assert oracle.admit is oracle.admission.jobs.admit


class TestVerdicts:
    def test_fits_now(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("admit", cluster, "--job", "2x5")
        assert result.status == 0
        assert result.out == (
            "2x5 GPUs can start now: 2 of 2 instances fit in pool default as it is.\n"
            "Then its instances go to: 0 on n1, 1 on n2.\n"
        )

    def test_fits_after(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("admit", cluster, "--job", "1x8")
        assert result.status == 0
        assert "1x8 GPUs can start after 1 move:" in result.out
        assert "Proved: it takes no fewer moves." in result.out
        data = data_of(sifopt("admit", cluster, "--job", "1X8", "-o", "json").out)
        assert data["schema"] == "compass-abs/admit/3"
        assert (data["verdict"], data["migrations"]) == ("fits_after", 1)
        assert len(cast("list[object]", data["moves"])) == 1
        assert len(cast("list[object]", data["placements"])) == 1
        assert data["job"] == AskedJob(1, 8, None).to_json()
        assert isinstance(data["reason"], str)

    def test_cannot(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("admit", cluster, "--job", "2x8")
        assert result.status == 1
        assert "2x8 GPUs cannot start: " in result.out
        assert "What stands in its way:" in result.out
        assert data_of(sifopt("admit", cluster, "--job", "2x8", "-o", "json").out)["verdict"] == "cannot"

    def test_what_is_protected_stays(self, sifopt: Sifopt, cluster: Path) -> None:
        assert sifopt("admit", cluster, "--job", "1x8", "--protect", "a").status == 0
        assert sifopt("admit", cluster, "--job", "1x8", "--protect", "a", "--protect", "b").status == 1

    def test_pool(self, sifopt: Sifopt, cluster: Path) -> None:
        assert sifopt("admit", cluster, "--job", "1x4", "--pool", "h100").status == 0
        assert sifopt("admit", cluster, "--job", "1x5", "--pool", "h100").status == 1
        result = sifopt("admit", cluster, "--job", "1x5", "--pool", "none")
        assert (result.status, result.out) == (2, "")
        assert result.err == "sifopt: no node is in a pool named 'none'; pools: 'default', 'h100'\n"

    @pytest.mark.parametrize("output", ["table", "json"])
    def test_unknown(self, sifopt: Sifopt, cluster: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
        def give_up(*_args: object, **_options: object) -> Admission:
            return Admission(
                job=AskedJob(1, 8, None),
                question=Question.of("checkpoint", (), None),
                verdict=Verdict.UNKNOWN,
                reason="time ran out",
                lower_bound=1,
            )

        monkeypatch.setattr(oracle.admission.jobs, "admit", give_up)
        result = sifopt("admit", cluster, "--job", "1x8", "-o", output)
        assert result.status == 3
        assert "time ran out" in result.out


class TestOneOfSeveralSets:
    @pytest.fixture
    def racks(self, tmp_path: Path) -> Path:
        sets = [{"name": f"rack {i}", "kind": "topology", "nodes": [f"n{2 * i}", f"n{2 * i + 1}"]} for i in range(12)]
        nodes = [{"name": f"n{n}", "gpus": 8} for n in range(24)]
        jobs = [{"name": "all", "gpus_per_instance": 1, "instances": [{"node": f"n{n}"} for n in range(24)]}]
        content = {"schema": "compass-abs/snapshot/2", "nodes": nodes, "node_sets": sets, "jobs": jobs}
        return written(tmp_path, content)

    def test_it_starts_in_one(self, sifopt: Sifopt, racks: Path) -> None:
        result = sifopt("admit", racks, "--job", "2x8", "--within-one-of", "rack 3", "--within-one-of", "rack 4")
        assert result.status == 0
        assert "after 2 moves: 0 of 2 instances fit in pool default (all in rack " in result.out
        assert sifopt("admit", racks, "--job", "3x8").status == 0

    def test_many_that_are_too_small(self, sifopt: Sifopt, racks: Path) -> None:
        asked = [text for i in range(12) for text in ("--within-one-of", f"rack {i}")]
        result = sifopt("admit", racks, "--job", "3x8", *asked)
        assert result.status == 1
        assert (
            "(all in rack 7) that take new ones, however running instances are moved; and likewise 4 more."
            in result.out
        )
        assert " more (-v lists them)\n" in result.out
        everything = sifopt("admit", racks, "--job", "3x8", *asked, "-v").out
        assert all(f"(all in rack {i})" in everything or f"outside rack {i}" in everything for i in range(8))
        assert everything.count("is short of") > result.out.count("is short of")

    def test_what_cannot_be_asked(self, sifopt: Sifopt, racks: Path) -> None:
        result = sifopt("admit", racks, "--job", "2x8", "--within-one-of", "rack")
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith("sifopt: no node set is named 'rack'; node sets: 'rack 0'")
        result = sifopt("admit", racks, "--within-one-of", "rack 1")
        assert (result.status, result.out) == (2, "")
        assert "argument --within-one-of: expected with --job" in result.err


class TestQueue:
    # Only one of w0 and w1 can have an empty node; w2 and w3 fit in anyway.
    PENDING: tuple[dict[str, object], ...] = (
        {"name": "w0", "instances": 2, "gpus_per_instance": 8},
        {"name": "w1", "gpus_per_instance": 8},
        {"name": "w2", "gpus_per_instance": 3},
        {"name": "w3", "gpus_per_instance": 4, "pool": "h100"},
    )

    @pytest.fixture
    def queue(self, tmp_path: Path) -> Path:
        return written(tmp_path, {**CLUSTER, "pending": list(self.PENDING)})

    def test_table(self, sifopt: Sifopt, queue: Path) -> None:
        result = sifopt("admit", queue)
        assert (result.status, result.err) == (0, "")
        rows = [line.split() for line in result.out.splitlines() if line.startswith("w") and "cannot start" not in line]
        assert [row[0] for row in rows] == ["w0", "w1", "w2", "w3"]
        assert [" ".join(row[3:]) for row in rows] == [
            "cannot waits", "after 1 move starts", "not asked starts", "not asked starts",
        ]  # fmt: skip
        assert "w0 cannot start: " in result.out
        assert "First in queue order: w1 can start after 1 move: " in result.out
        assert "Most that can start together: 3 jobs of 4 after 1 move: w1, w2, w3." in result.out

    def test_json(self, sifopt: Sifopt, queue: Path) -> None:
        result = sifopt("admit", queue, "-o", "json", "--max-per-job-at-once", "1")
        data = json.loads(result.out)
        assert (result.status, data["schema"]) == (0, "compass-abs/admit-queue/3")
        assert [job["name"] for job in data["jobs"]] == ["w0", "w1", "w2", "w3"]
        assert [(one["name"], one["verdict"]) for one in data["passed_over"]] == [("w0", "cannot")]
        assert (data["first"]["name"], data["first"]["migrations"]) == ("w1", 1)
        together = data["together"]
        assert (together["jobs"], together["migrations"], together["status"]) == (["w1", "w2", "w3"], 1, "optimal")
        assert len(together["placements"]) == 3
        assert (data["pool"], data["max_per_job_at_once"], data["interrupted"]) == (None, 1, False)

    def test_one_pool(self, sifopt: Sifopt, queue: Path) -> None:
        data = json.loads(sifopt("admit", queue, "-o", "json", "--pool", "h100").out)
        assert [job["name"] for job in data["jobs"]] == ["w3"]
        assert data["pool"] == "h100"

    def test_one_job_is_told_as_one_job(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = written(tmp_path, {**CLUSTER, "pending": [self.PENDING[1]]})
        named = sifopt("admit", path).out.replace("w1 (1x8 GPUs)", "1x8 GPUs")
        assert named == sifopt("admit", path, "--job", "1x8", "--pool", "default").out

    def test_nobody_waits(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("admit", cluster)
        assert (result.status, result.out, result.err) == (0, "The snapshot has no waiting job.\n", "")

    def test_nobody_can_start(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = written(tmp_path, {**CLUSTER, "pending": [self.PENDING[0], self.PENDING[0] | {"name": "again"}]})
        result = sifopt("admit", path)
        assert result.status == 1
        assert "No job is known to be able to start." in result.out


def test_live_moves_do_not_pause(sifopt: Sifopt, cluster: Path) -> None:
    assert "pause" in sifopt("admit", cluster, "--job", "1x8").out
    result = sifopt("admit", cluster, "--job", "1x8", "--moves", "live")
    assert "will be moved live" in result.out
    assert "pause" not in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-per-job-at-once", "0"], "expected a whole number, 1 or more, got '0'"),
        (["--pool", "none"], "no node is in a pool named 'none'; pools: 'default', 'h100'"),
        (["--job", "4"], "expected instances x GPUs of each, both at least 1, such as 2x4, got '4'"),
        (["--job", "0x4"], "got '0x4'"),
        (["--job", "1x4", "--job", "2x4"], "argument --job: expected once"),
        (["--job", "2x0"], "got '2x0'"),
        (["--job", "1x8", "--protect", "nobody"], "'nobody'"),
        (["--job", "1x8", "--time-limit", "-1"], "expected a number of seconds"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(sifopt: Sifopt, cluster: Path, arguments: list[str], message: str) -> None:
    result = sifopt("admit", cluster, *arguments)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.real_data
@pytest.mark.parametrize("mode", ["checkpoint", "live"])
def test_every_case(sifopt: Sifopt, real_data: Path, tmp_path: Path, mode: str) -> None:
    cases = cast("list[Case]", json.loads((real_data / "cases.json").read_bytes()))
    asked = 0
    for case in cases:
        expected = case["expected"]
        pending = cast("list[dict[str, object]]", case["snapshot"].get("pending", []))
        if len(pending) != 1 or "admit" not in expected:
            continue
        live = expected.get("live_admit_migrations")
        if mode == "live" and live is None:
            continue
        asked += 1
        job = f"{pending[0].get('instances', 1)}x{pending[0]['gpus_per_instance']}"
        path = written(tmp_path, case["snapshot"])
        pool = str(pending[0].get("pool", "default"))
        result = sifopt("admit", path, "--job", job, "--pool", pool, "--moves", mode, "-o", "json")
        data = data_of(result.out)
        assert data["verdict"] == expected["admit"], case["id"]
        assert result.status == (1 if expected["admit"] == "cannot" else 0), case["id"]
        assert data["migrations"] == (expected["admit_migrations"] if mode == "checkpoint" else live), case["id"]
        stored = tmp_path / "admission.json"
        stored.write_text(result.out)
        assert sifopt("verify", stored, "--snapshot", path).status == 0, case["id"]
    assert asked > 10
