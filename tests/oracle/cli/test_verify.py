"""`sifopt verify`: what is printed can be checked again, and what was changed is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from oracle.admission.jobs import admit
from oracle.admission.question import AskedJob
from oracle.admission.queues import admit_queue
from oracle.snapshots.loader import load_snapshot

if TYPE_CHECKING:
    from tests.oracle.cli.conftest import Sifopt

EXAMPLES = Path(__file__).parents[3] / "examples" / "snapshots"
CLUSTER: dict[str, object] = {
    "schema": "compass-abs/snapshot/1",
    "nodes": [{"name": f"n{i}", "gpus": 8, "pool": "a" if i < 4 else "b"} for i in range(7)],
    "jobs": [
        {"name": "x", "gpus_per_instance": 2, "instances": [{"node": f"n{i}"} for i in (0, 1, 2, 4, 5)]},
        {"name": "y", "gpus_per_instance": 5, "instances": [{"node": "n3"}, {"node": "n6"}]},
    ],
}

NO_WEIGHTS = {"argument": "weights", "partial": 0, "arrival": -1, "demands": [0], "branches": []}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(CLUSTER))
    return path


def _stored(folder: Path, text: str) -> Path:
    path = folder / "result.json"
    path.write_text(text)
    return path


COMMANDS = [
    ["plan"],
    ["plan", "--moves", "live"],
    ["plan", "--max-migrations", "1"],
    ["plan", "--max-partial-nodes", "4", "--frontier"],
    ["plan", "--protect", "y"],
    ["measure"],
    ["measure", "--pool", "a"],
    ["admit", "--job", "1x6"],
    ["admit", "--job", "2x8"],
    ["admit", "--job", "9x8"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
class TestWhatIsPrinted:
    def test_holds(self, sifopt: Sifopt, cluster: Path, tmp_path: Path, command: list[str]) -> None:
        stored = _stored(tmp_path, sifopt(*command, cluster, "-o", "json").out)
        result = sifopt("verify", stored, "--snapshot", cluster)
        assert (result.status, result.err) == (0, "")
        assert "fails" not in result.out
        assert result.out.splitlines()[-1].startswith(("Everything holds", "What could be checked holds"))

    def test_holds_as_far_as_it_can_be_checked_alone(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, command: list[str]
    ) -> None:
        stored = _stored(tmp_path, sifopt(*command, cluster, "-o", "json").out)
        result = sifopt("verify", stored, "-o", "json")
        data = cast("dict[str, object]", json.loads(result.out))
        assert (result.status, data["schema"]) == (0, "compass-abs/verify/1")
        assert (data["holds"], data["complete"]) == (True, False)


class TestWhatTheLibraryAnswers:
    """A program stores an answer, and `sifopt verify` checks it as it checks what `sifopt admit` prints."""

    PENDING: tuple[dict[str, object], ...] = (
        {"name": "large", "instances": 5, "gpus_per_instance": 8, "pool": "a"},
        {"name": "anywhere", "instances": 2, "gpus_per_instance": 8, "pool": None},
        {"name": "small", "gpus_per_instance": 6, "pool": "b"},
    )

    @pytest.mark.parametrize(
        ("instances", "gpus", "verdict"), [(1, 6, "fits_now"), (2, 8, "fits_after"), (9, 8, "cannot")]
    )
    @pytest.mark.parametrize("limit", [None, 1])
    def test_of_one_job(
        self,
        sifopt: Sifopt,
        cluster: Path,
        tmp_path: Path,
        *,
        instances: int,
        gpus: int,
        verdict: str,
        limit: int | None,
    ) -> None:
        found = admit(
            load_snapshot(cluster),
            instances=instances,
            gpus=gpus,
            moves="live",
            protected=["y", "y"],
            max_per_job_at_once=limit,
        )
        assert found.verdict == verdict
        data = self._verified(sifopt, cluster, tmp_path, found.to_dict())
        asked = ["--job", f"{instances}x{gpus}", "--protect", "y", "--moves", "live", *_limit(limit)]
        assert data == json.loads(sifopt("admit", cluster, *asked, "-o", "json").out)
        assert data["job"] == AskedJob(instances, gpus, None).to_json()
        assert (data["mode"], data["protected"], data["max_per_job_at_once"]) == ("live", ["y"], limit)

    @pytest.mark.parametrize("pool", [None, "a", "b"])
    @pytest.mark.parametrize("limit", [None, 1])
    def test_of_a_queue(self, sifopt: Sifopt, tmp_path: Path, pool: str | None, limit: int | None) -> None:
        path = tmp_path / "queue.json"
        path.write_text(json.dumps({**CLUSTER, "pending": list(self.PENDING)}))
        found = admit_queue(load_snapshot(path), pool=pool, max_per_job_at_once=limit)
        assert found.together.order.moves
        data = self._verified(sifopt, path, tmp_path, found.to_dict())
        asked = [*([] if pool is None else ["--pool", pool]), *_limit(limit)]
        assert data == json.loads(sifopt("admit", path, *asked, "-o", "json").out)
        names = [str(job["name"]) for job in self.PENDING if pool is None or job["pool"] in {None, pool}]
        assert [job["name"] for job in cast("list[dict[str, object]]", data["jobs"])] == names
        assert (data["pool"], data["mode"], data["max_per_job_at_once"]) == (pool, "checkpoint", limit)

    def test_of_another_question_is_refused(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        data = admit(load_snapshot(cluster), instances=2, gpus=8).to_dict()
        for change in ({"instances": 3}, {"gpus_per_instance": 9}, {"pool": "b"}):
            stored = {**data, "job": {"instances": 2, "gpus_per_instance": 8, "pool": None, **change}}
            assert sifopt("verify", _stored(tmp_path, json.dumps(stored)), "--snapshot", cluster).status == 1

    @staticmethod
    def _verified(sifopt: Sifopt, snapshot: Path, folder: Path, answer: dict[str, object]) -> dict[str, object]:
        """Store an answer, have it verified, and return what was stored."""
        stored = _stored(folder, json.dumps(answer))
        result = sifopt("verify", stored, "--snapshot", snapshot)
        assert (result.status, result.err) == (0, "")
        assert "fails" not in result.out
        return cast("dict[str, object]", json.loads(stored.read_text()))


def _limit(instances: int | None) -> list[str]:
    return [] if instances is None else ["--max-per-job-at-once", str(instances)]


class TestWhatWasChanged:
    @pytest.mark.parametrize(
        ("command", "change"),
        [
            (["plan"], {"migrations": 1}),
            (["plan"], {"partial_nodes_after": 0}),
            (["plan"], {"protected": ["x"]}),
            (["measure"], {"partial_nodes": 2}),
            (["measure"], {"inherent_partial_nodes": 1}),
            (["measure"], {"largest_free_block": 8}),
            (["admit", "--job", "2x8"], {"moves": []}),
            (["admit", "--job", "2x8"], {"placements": []}),
            (["admit", "--job", "2x8"], {"protected": ["x"]}),
            (["admit", "--job", "2x8"], {"job": {"instances": 2, "gpus_per_instance": 9, "pool": None}}),
        ],
    )
    def test_is_refused(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, command: list[str], change: dict[str, object]
    ) -> None:
        data = cast("dict[str, object]", json.loads(sifopt(*command, cluster, "-o", "json").out))
        assert not change.items() <= data.items()
        result = sifopt("verify", _stored(tmp_path, json.dumps({**data, **change})), "--snapshot", cluster)
        assert result.status == 1
        assert " not hold.\n" in result.out

    @pytest.mark.parametrize(
        ("command", "where", "change"),
        [
            (["plan"], (), {"migrations_lower_bound": 1, "max_partial_nodes": 10**30}),
            (["plan"], (), {"partial_nodes_lower_bound": 10**30}),
            (["plan", "--frontier"], ("frontier", 0), {"migrations": 5}),
            (["plan", "--frontier"], ("frontier", 3), {"migrations": 2, "lower_bound": 2}),
            (["plan", "--frontier"], ("frontier", 2), {"migrations": 3, "lower_bound": 3}),
            (["plan", "--frontier"], ("certificate", "frontier", "pools", 0), {"plans": []}),
            (["plan", "--frontier"], ("certificate", "frontier", "pools", 0), {"pool": "b"}),
            (["plan", "--max-migrations", "1"], (), {"partial_nodes_lower_bound": 7}),
            (["plan", "--moves", "live"], (), {"status": "optimal", "migrations_lower_bound": 2}),
            (["measure"], (), {"sif": 0.5}),
            (["measure"], ("pools", 0), {"empty_nodes_after": 3}),
            (["measure"], ("pools", 0), {"full_nodes": 1}),
            (["measure"], ("pools", 0), {"status": "unknown"}),
            (["admit", "--job", "2x8"], (), {"lower_bound": 3}),
            (["admit", "--job", "2x8"], (), {"lower_bound": 1}),
            (["admit", "--job", "2x8"], (), {"verdict": "cannot", "moves": [], "migrations": None, "pool": None}),
            (["admit", "--job", "2x8"], ("job",), {"instances": 10**12}),
            (["admit", "--job", "9x8"], ("job",), {"instances": 2}),
            (["admit", "--job", "9x8"], ("blockers", 0), {"gpus": 1}),
            (["admit", "--job", "9x8"], ("certificate", "pools", 0), {"argument": NO_WEIGHTS}),
        ],
    )  # fmt: skip
    def test_deeper_down(
        self,
        sifopt: Sifopt,
        cluster: Path,
        tmp_path: Path,
        *,
        command: list[str],
        where: tuple[str | int, ...],
        change: dict[str, object],
    ) -> None:
        data = json.loads(sifopt(*command, cluster, "-o", "json").out)
        place = data
        for step in where:
            place = place[step]
        assert not change.items() <= place.items()
        place.update(change)
        result = sifopt("verify", _stored(tmp_path, json.dumps(data)), "--snapshot", cluster)
        assert result.status == 1, result.out

    @pytest.mark.parametrize("command", [["plan"], ["measure"]], ids=" ".join)
    def test_a_certificate(self, sifopt: Sifopt, cluster: Path, tmp_path: Path, command: list[str]) -> None:
        text = sifopt(*command, cluster, "-o", "json").out
        changed = text.replace('"packing": [', '"packing": [{"node_class": 0, "pattern": [1], "nodes": 1},', 1)
        assert changed != text
        assert sifopt("verify", _stored(tmp_path, changed), "--snapshot", cluster).status == 1

    @pytest.mark.parametrize("command", [["plan"], ["measure"], ["admit", "--job", "2x8"]], ids=" ".join)
    def test_another_cluster(self, sifopt: Sifopt, cluster: Path, tmp_path: Path, command: list[str]) -> None:
        stored = _stored(tmp_path, sifopt(*command, cluster, "-o", "json").out)
        other = tmp_path / "other.json"
        other.write_text(json.dumps({**CLUSTER, "jobs": []}))
        assert sifopt("verify", stored, "--snapshot", other).status == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid JSON"),
        ("[]", "Expected"),
        ("{}", "schema"),
        ('{"schema": "compass-abs/snapshot/1"}', "expected a plan, an admission, a measurement or a certificate"),
        ('{"schema": "compass-abs/plan/2"}', "missing required field"),
        ('{"schema": "compass-abs/admit/3", "verdict": "perhaps"}', "perhaps"),
        ('{"schema": "compass-abs/certificate/2"}', "missing required field"),
    ],
)
def test_no_result_is_one_line_and_status_2(sifopt: Sifopt, tmp_path: Path, content: str, message: str) -> None:
    result = sifopt("verify", _stored(tmp_path, content))
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"migrations": 3', '"migrations": 1, "migrations": 3', "the key 'migrations' is there twice"),
        ('"arrival": ', '"arrival": 9, "arrival": ', "the key 'arrival' is there twice"),
        ('"migrations": 3', '"migrations": NaN', "not valid JSON"),
        ('"migrations": 3', '"migrations": 1e999', "out of range"),
        ('"migrations": 3', f'"migrations": 1{"0" * 5000}', "out of range"),
        ('"migrations": 3', '"migrations": 3.5', "int"),
        ('"pool": "b"', '"pool": "a"', "one pool twice"),
    ],
)
def test_what_no_two_programs_read_alike(
    sifopt: Sifopt, cluster: Path, tmp_path: Path, *, before: str, after: str, message: str
) -> None:
    text = sifopt("plan", cluster, "-o", "json").out
    assert before in text
    result = sifopt("verify", _stored(tmp_path, text.replace(before, after)), "--snapshot", cluster)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_tree_that_is_too_deep(sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
    data = json.loads(sifopt("plan", cluster, "-o", "json").out)
    migrations = data["certificate"]["pools"][0]["migrations"]
    leaf = json.dumps(migrations["argument"])
    branch = (
        f'{{"argument": "migration branches", "counted": {{"count": "full"}}, "at_most": 1, "above": {leaf}, "below": '
    )
    migrations["argument"] = "tree"
    text = json.dumps(data).replace('"tree"', branch * 20_000 + leaf + "}" * 20_000)
    result = sifopt("verify", _stored(tmp_path, text))
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "too deep" in result.err


def test_one_certificate(sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
    data = json.loads(sifopt("plan", cluster, "-o", "json").out)
    for kind in ("inherent", "migrations"):
        result = sifopt("verify", _stored(tmp_path, json.dumps(data["certificate"]["pools"][0][kind])))
        assert (result.status, result.out.splitlines()[-1]) == (0, "Everything holds.")


def test_a_snapshot_without_its_option_is_told_which(sifopt: Sifopt) -> None:
    result = sifopt("verify", "plan.json", "nodes.json", "jobs.json")
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "sifopt verify: expected one result, and 'nodes.json' is there too; for the snapshot say --snapshot nodes.json "
        "jobs.json (sifopt verify --help says more)\n"
    )
    assert "unrecognized arguments: more --bad" in sifopt("verify", "plan.json", "more", "--bad").err


def test_the_files_of_a_snapshot_may_be_named_one_by_one(sifopt: Sifopt, tmp_path: Path) -> None:
    files = [EXAMPLES / "slurm_nodes.txt", EXAMPLES / "slurm_jobs.txt"]
    stored = _stored(tmp_path, sifopt("measure", *files, "-o", "json").out)
    together = sifopt("verify", stored, "--snapshot", *files)
    assert (together.status, together.err) == (0, "")
    assert sifopt("verify", stored, "--snapshot", files[0], "--snapshot", files[1]) == together
