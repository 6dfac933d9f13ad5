"""`sifopt verify`: results that are false in several places at once, so that no two of their keys contradict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt

    Data = dict[str, object]


def _written(folder: Path, name: str, data: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(data))
    return path


def _snapshot(folder: Path, **parts: object) -> Path:
    return _written(folder, "snapshot.json", {"schema": "compass-abs/snapshot/1", **parts})


def _data(text: str) -> Data:
    return cast("Data", json.loads(text))


def _part(data: object, *way: str | int) -> Data:
    for step in way:
        data = cast("dict[str | int, object]", data)[step]
    return cast("Data", data)


class TestDomains:
    """Two domains of three panels: four panels in use, one of them whole, two half, one by 3 of 8."""

    @pytest.fixture
    def cluster(self, tmp_path: Path) -> Path:
        nodes = [{"name": f"{d}{n}", "gpus": 8, "pool": "p", "domain": d} for d in "ab" for n in range(3)]
        jobs = [("j", 8, ["a0"]), ("k", 4, ["b0", "a1"]), ("l", 3, ["b1"])]
        return _snapshot(
            tmp_path,
            nodes=nodes,
            jobs=[
                {"name": name, "gpus_per_instance": gpus, "instances": [{"node": node} for node in where]}
                for name, gpus, where in jobs
            ],
        )

    def _verified(self, sifopt: Sifopt, cluster: Path, data: Data) -> list[Data]:
        stored = _written(cluster.parent, "stored.json", data)
        result = sifopt("verify", stored, "--snapshot", cluster, "-o", "json")
        return cast("list[Data]", _data(result.out)["checks"])

    def test_what_is_measured_holds(self, sifopt: Sifopt, cluster: Path) -> None:
        data = _data(sifopt("measure", cluster, "--hierarchical", "-o", "json").out)
        assert {check["result"] for check in self._verified(sifopt, cluster, data)} == {"holds"}

    @pytest.mark.parametrize("where", [(), ("pools", 0), ("pools", 0, "joint")])
    @pytest.mark.parametrize("by", [-6, -1, 1, 95])
    def test_every_false_number_fails(
        self, sifopt: Sifopt, cluster: Path, where: tuple[str | int, ...], by: int
    ) -> None:
        text = sifopt("measure", cluster, "--hierarchical", "-o", "json").out
        for key, value in _part(_data(text), "domains", *where).items():
            if isinstance(value, int) and not isinstance(value, bool):
                data = _data(text)
                _part(data, "domains", *where)[key] = value + by
                assert "fails" in {check["result"] for check in self._verified(sifopt, cluster, data)}, key

    def test_without_the_snapshot_they_are_named(self, sifopt: Sifopt, cluster: Path) -> None:
        stored = _written(
            cluster.parent, "stored.json", _data(sifopt("measure", cluster, "--hierarchical", "-o", "json").out)
        )
        assert _data(sifopt("verify", stored, "-o", "json").out)["complete"] is False

    def test_a_joint_optimum_of_more_than_can_be_tried_is_named(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes = [{"name": f"n{n}", "gpus": 8, "domain": f"d{n // 8}"} for n in range(96)]
        jobs = [{"name": f"j{n}", "gpus_per_instance": n % 7 + 1, "instances": [{"node": f"n{n}"}]} for n in range(70)]
        cluster = _snapshot(tmp_path, nodes=nodes, jobs=jobs)
        data = _data(sifopt("measure", cluster, "--hierarchical", "-o", "json").out)
        told = _part(data, "domains", "pools", 0)["joint"]
        assert told is not None
        named = [check for check in self._verified(sifopt, cluster, data) if check["result"] == "not rechecked"]
        assert "partial panels and then" in str(named[0]["claim"])


class TestAnOvercommittedNode:
    """9 GPUs held on a node of 8; its instances of 3 could go to nodes of 4, and 8 new ones could then come."""

    @pytest.fixture
    def cluster(self, tmp_path: Path) -> Path:
        nodes = [{"name": "a", "gpus": 8}, *({"name": name, "gpus": 4} for name in "bcd")]
        jobs = [{"name": name, "gpus_per_instance": 3, "instances": [{"node": "a"}]} for name in "xyz"]
        waiting: list[Data] = [{"name": "w", "gpus_per_instance": 8}]
        return _snapshot(tmp_path, nodes=nodes, jobs=jobs, pending=waiting)

    MOVES = tuple(
        {"step": 1, "job": job, "instance": 0, "gpus": 3, "from": "a", "to": to}
        for job, to in zip("xyz", "bcd", strict=True)
    )

    def test_stays_closed_when_enough_has_left(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        true = _data(sifopt("admit", cluster, "--job", "1x8", "-o", "json").out)
        assert true["verdict"] == "cannot"
        assert "on the nodes of pool default that take new ones" in str(true["reason"])
        assert sifopt("verify", _written(tmp_path, "true.json", true), "--snapshot", cluster).status == 0
        false: Data = {
            **true,
            "verdict": "fits_after",
            "pool": "default",
            "migrations": 3,
            "lower_bound": 3,
            "moves": self.MOVES,
            "placements": [{"instance": 0, "node": "a"}],
            "reason": "0 of 1 instances fit in pool default as it is, it does after 3 moves",
            "proof": "zzz",
            "blockers": [],
            "certificate": {"pools": []},
        }
        result = sifopt("verify", _written(tmp_path, "false.json", false), "--snapshot", cluster)
        assert result.status == 1
        assert "node a has 0 free GPUs for what should start there" in result.out
        assert "not rechecked  the proof in words" in result.out

    def test_stays_closed_to_a_queue(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        data = _data(sifopt("admit", cluster, "-o", "json").out)
        _part(data, "together").update(
            jobs=["w"],
            migrations=3,
            moves=self.MOVES,
            placements=[{"job": "w", "instance": 0, "node": "a"}],
            most=1,
            moves_lower_bound=3,
        )
        result = sifopt("verify", _written(tmp_path, "false.json", data), "--snapshot", cluster)
        assert result.status == 1
        assert "node a has 0 free GPUs for what should start there" in result.out


def test_a_proof_in_other_words(sifopt: Sifopt, tmp_path: Path) -> None:
    """What weights prove is said in words that can be made again; any others are false."""
    cluster = _snapshot(
        tmp_path,
        nodes=[{"name": name, "gpus": 8} for name in "ab"],
        jobs=[{"name": "j", "gpus_per_instance": 5, "instances": [{"node": "a"}, {"node": "b"}]}],
    )
    for job in ("1x6", "9x8"):
        data = _data(sifopt("admit", cluster, "--job", job, "-o", "json").out)
        assert data["verdict"] == "cannot"
        assert sifopt("verify", _written(tmp_path, "true.json", data), "--snapshot", cluster).out.endswith("holds.\n")
        for proof in ("zzz", ""):
            stored = _written(tmp_path, "false.json", {**data, "proof": proof})
            assert sifopt("verify", stored, "--snapshot", cluster).status == 1


def test_a_frontier_without_plans(sifopt: Sifopt, tmp_path: Path) -> None:
    jobs = [{"name": f"j{n}", "gpus_per_instance": 4, "instances": [{"node": f"n{n}"}]} for n in range(4)]
    cluster = _snapshot(tmp_path, nodes=[{"name": f"n{n}", "gpus": 8} for n in range(4)], jobs=jobs)
    data = _data(sifopt("plan", cluster, "--frontier", "-o", "json").out)
    _part(data, "certificate", "frontier", "pools", 0)["plans"] = []
    for point in cast("list[Data]", data["frontier"])[1:]:
        point["migrations"] = 1 << 40
    result = sifopt("verify", _written(tmp_path, "false.json", data), "--snapshot", cluster)
    assert result.status == 1
    assert "no stored plan leaves pool default 0 partial nodes" in result.out


class TestAFrontierBesideALivePlan:
    """4 and 3 on one node, 5 and 2 on the other: they can be exchanged, but not by live moves."""

    @pytest.fixture
    def cluster(self, tmp_path: Path) -> Path:
        where = {4: "a", 3: "a", 5: "b", 2: "b"}
        jobs = [{"name": f"j{g}", "gpus_per_instance": g, "instances": [{"node": n}]} for g, n in where.items()]
        return _snapshot(tmp_path, nodes=[{"name": name, "gpus": 8} for name in "ab"], jobs=jobs)

    def test_says_that_its_moves_may_stop_instances(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        table = sifopt("plan", cluster, "--moves", "live", "--frontier").out
        assert "fewest migrations (--moves checkpoint)" in table
        assert "checkpoint" not in sifopt("plan", cluster, "--frontier").out
        data = _data(sifopt("plan", cluster, "--moves", "live", "--frontier", "-o", "json").out)
        assert (data["mode"], data["frontier_mode"]) == ("live", "checkpoint")
        result = sifopt("verify", _written(tmp_path, "true.json", data), "--snapshot", cluster)
        assert "holds  the 2 points of the frontier of checkpoint moves" in result.out
        assert result.out.endswith("Everything holds.\n")

    def test_is_named_where_it_does_not_say_so(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        data = _data(sifopt("plan", cluster, "--moves", "live", "--frontier", "-o", "json").out)
        del data["frontier_mode"]
        result = sifopt("verify", _written(tmp_path, "older.json", data), "--snapshot", cluster)
        assert "not rechecked  the 2 points of the frontier" in result.out

    def test_is_refused_where_it_says_otherwise(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        data = _data(sifopt("plan", cluster, "--moves", "live", "--frontier", "-o", "json").out)
        data["frontier_mode"] = "live"
        result = sifopt("verify", _written(tmp_path, "false.json", data), "--snapshot", cluster)
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)


class TestAQueue:
    NODES = ({"name": "a", "gpus": 8}, {"name": "b", "gpus": 8, "pool": "other"})

    def test_a_job_that_has_room_is_not_passed_over(self, sifopt: Sifopt, tmp_path: Path) -> None:
        pending = [{"name": "A", "gpus_per_instance": 8}, {"name": "B", "gpus_per_instance": 1}]
        cluster = _snapshot(tmp_path, nodes=[*self.NODES, {"name": "c", "gpus": 8}], pending=pending)
        data = _data(sifopt("admit", cluster, "-o", "json").out)
        assert _part(data, "first")["name"] == "A"
        last = _data(sifopt("admit", cluster, "--job", "1x1", "--pool", "default", "-o", "json").out)
        first = _part(data, "first")
        data["passed_over"] = [
            {**first, "verdict": "unknown", "pool": None, "migrations": None, "status": "unknown", "placements": []}
        ]
        data["first"] = {key: last.get(key, "B") for key in first}
        result = sifopt("verify", _written(tmp_path, "false.json", data), "--snapshot", cluster)
        assert result.status == 1
        assert "A: it is not known whether it can start: it has room in pool default as it is" in result.out

    def test_what_nobody_can_tell_of_the_jobs_before_the_first_is_named(self, sifopt: Sifopt, tmp_path: Path) -> None:
        """The first job would have room after a move; that it is unknown cannot be shown to be false."""
        pending = [{"name": "A", "gpus_per_instance": 8}, {"name": "B", "gpus_per_instance": 1}]
        jobs = [{"name": "j", "gpus_per_instance": 1, "instances": [{"node": "a"}, {"node": "c"}]}]
        cluster = _snapshot(tmp_path, nodes=[*self.NODES, {"name": "c", "gpus": 8}], jobs=jobs, pending=pending)
        data = _data(sifopt("admit", cluster, "-o", "json").out)
        last = _data(sifopt("admit", cluster, "--job", "1x1", "--pool", "default", "-o", "json").out)
        first = _part(data, "first")
        unknown: Data = {"verdict": "unknown", "pool": None, "migrations": None, "status": "unknown"}
        data["passed_over"] = [{**first, **unknown, "moves": [], "stopped_first": [], "placements": [], "proof": ""}]
        data["first"] = {key: last.get(key, "B") for key in first}
        result = sifopt("verify", _written(tmp_path, "false.json", data), "--snapshot", cluster)
        assert "not rechecked  no job before B can start: whether A can rests on a search" in result.out

    @pytest.mark.parametrize("pool", [None, "default"])
    def test_a_job_stays_in_one_pool(self, sifopt: Sifopt, tmp_path: Path, pool: str | None) -> None:
        """Also one for any pool: its instances are all in the same."""
        pending = [{"name": "A", "gpus_per_instance": 4, "instances": 2, "pool": pool}]
        cluster = _snapshot(tmp_path, nodes=self.NODES, pending=pending)
        data = _data(sifopt("admit", cluster, "-o", "json").out)
        placements = cast("list[Data]", _part(data, "together")["placements"])
        assert len(placements) == 2
        placements[0]["node"], placements[1]["node"] = "a", "b"
        result = sifopt("verify", _written(tmp_path, "false.json", data), "--snapshot", cluster)
        assert result.status == 1
        assert "the instances of A are not all in its pool" in result.out


@pytest.mark.parametrize("command", ["measure", "plan"])
def test_a_result_of_one_pool_that_does_not_say_so(sifopt: Sifopt, tmp_path: Path, command: str) -> None:
    nodes = [{"name": f"{pool}{n}", "gpus": 8, "pool": pool} for pool in "ab" for n in range(2)]
    jobs = [{"name": "j", "gpus_per_instance": 2, "instances": [{"node": "a0"}, {"node": "a1"}, {"node": "b0"}]}]
    cluster = _snapshot(tmp_path, nodes=nodes, jobs=jobs)
    data = _data(sifopt(command, cluster, "--pool", "a", "-o", "json").out)
    assert data["pool"] == "a"
    assert sifopt("verify", _written(tmp_path, "true.json", data), "--snapshot", cluster).status == 0
    for other in ({"pool": None}, {"pool": "b"}, {"pool": "c"}):
        stored = _written(tmp_path, "false.json", {**data, **other})
        assert sifopt("verify", stored, "--snapshot", cluster).status == 1
    del data["pool"]
    assert sifopt("verify", _written(tmp_path, "older.json", data), "--snapshot", cluster).status == 1


@pytest.mark.parametrize("interrupted", [True, False])
def test_nobody_can_tell_whether_a_search_was_interrupted(sifopt: Sifopt, tmp_path: Path, *, interrupted: bool) -> None:
    """Unless it has settled everything and says that it was not: then nothing depends on it."""
    jobs = [{"name": "j", "gpus_per_instance": 2, "instances": [{"node": "a"}, {"node": "b"}]}]
    cluster = _snapshot(tmp_path, nodes=[{"name": name, "gpus": 8} for name in "ab"], jobs=jobs)
    for command in (["plan"], ["admit", "--job", "1x1"]):
        data = {**_data(sifopt(*command, cluster, "-o", "json").out), "interrupted": interrupted}
        result = sifopt("verify", _written(tmp_path, "stored.json", data), "--snapshot", cluster)
        assert ("not rechecked  the search was ended early by somebody" in result.out) is interrupted
        assert ("Everything holds." in result.out) is not interrupted
