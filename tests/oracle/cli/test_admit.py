"""`sifopt admit`: the verdicts in words and as JSON, and the exit statuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict, cast

import pytest

import oracle
import oracle.admission
from oracle.admission import Admission, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt

CLUSTER: dict[str, object] = {
    "schema": "compass-abs/snapshot/1",
    "nodes": [{"name": "n1", "gpus": 8}, {"name": "n2", "gpus": 8}, {"name": "h", "gpus": 4, "pool": "h100"}],
    "jobs": [
        {"name": "a", "gpus_per_instance": 3, "instances": [{"node": "n1"}]},
        {"name": "b", "gpus_per_instance": 2, "instances": [{"node": "n2"}]},
    ],
}


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


def test_the_public_name() -> None:
    assert oracle.admit is oracle.admission.admit


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
        data = _data(sifopt("admit", cluster, "--job", "1X8", "-o", "json").out)
        assert data["schema"] == "compass-abs/admit/1"
        assert (data["verdict"], data["migrations"]) == ("fits_after", 1)
        assert len(cast("list[object]", data["moves"])) == 1
        assert len(cast("list[object]", data["placements"])) == 1
        assert data["job"] == {"instances": 1, "gpus_per_instance": 8, "pool": None}
        assert isinstance(data["reason"], str)

    def test_cannot(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("admit", cluster, "--job", "2x8")
        assert result.status == 1
        assert "2x8 GPUs cannot start: " in result.out
        assert "What stands in its way:" in result.out
        assert _data(sifopt("admit", cluster, "--job", "2x8", "-o", "json").out)["verdict"] == "cannot"

    def test_what_is_protected_stays(self, sifopt: Sifopt, cluster: Path) -> None:
        assert sifopt("admit", cluster, "--job", "1x8", "--protect", "a").status == 0
        assert sifopt("admit", cluster, "--job", "1x8", "--protect", "a", "--protect", "b").status == 1

    def test_pool(self, sifopt: Sifopt, cluster: Path) -> None:
        assert sifopt("admit", cluster, "--job", "1x4", "--pool", "h100").status == 0
        assert sifopt("admit", cluster, "--job", "1x5", "--pool", "h100").status == 1
        result = sifopt("admit", cluster, "--job", "1x5", "--pool", "none")
        assert result.status == 1
        assert "no node is in a pool named 'none'" in result.out

    @pytest.mark.parametrize("output", ["table", "json"])
    def test_unknown(self, sifopt: Sifopt, cluster: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
        def give_up(*_args: object, **_options: object) -> Admission:
            return Admission(verdict=Verdict.UNKNOWN, reason="time ran out", lower_bound=1)

        monkeypatch.setattr(oracle.admission, "admit", give_up)
        result = sifopt("admit", cluster, "--job", "1x8", "-o", output)
        assert result.status == 3
        assert "time ran out" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: --job"),
        (["--job", "4"], "expected instances x GPUs of each, both at least 1, such as 2x4, got '4'"),
        (["--job", "0x4"], "got '0x4'"),
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
        path = _write(tmp_path, case["snapshot"])
        pool = str(pending[0].get("pool", "default"))
        result = sifopt("admit", path, "--job", job, "--pool", pool, "--moves", mode, "-o", "json")
        data = _data(result.out)
        assert data["verdict"] == expected["admit"], case["id"]
        assert result.status == (1 if expected["admit"] == "cannot" else 0), case["id"]
        assert data["migrations"] == (expected["admit_migrations"] if mode == "checkpoint" else live), case["id"]
        stored = tmp_path / "admission.json"
        stored.write_text(result.out)
        assert sifopt("verify", stored, "--snapshot", path).status == 0, case["id"]
    assert asked > 10
