"""`sifopt plan`: the table, the JSON, the limits, the exit statuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias, cast

import pytest

from tests.oracle.cli.files import data_of, written
from tests.oracle.snapshots import kubernetes_objects as kubernetes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt
    from tests.oracle.cli.files import Case

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
Proved: no plan leaves fewer partial nodes, or as few with fewer moves.
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return written(tmp_path, CLUSTER)


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

    def test_a_long_frontier_is_summarised(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes: list[object] = [{"name": f"n{k}", "gpus": 8} for k in range(40)]
        jobs: list[object] = [
            {"name": f"j{k}", "gpus_per_instance": 4, "instances": [{"node": f"n{k}"}]} for k in range(40)
        ]
        cluster = written(tmp_path, {**CLUSTER, "nodes": nodes, "jobs": jobs})
        full, short = (sifopt("plan", cluster, "--frontier", *more).out for more in (["-v"], []))
        tables = [text.rpartition("fewest migrations\n")[2].splitlines() for text in (full, short)]
        rows, shown = (
            [line.split() for line in table if line[:1].isdigit() and "left out" not in line] for table in tables
        )
        # 40, 39, ..., 0 and "0 at least"; two nodes are full with each move
        assert rows[:-1] == [[f"{partial}", f"{(40 - partial + 1) // 2}"] for partial in range(40, -1, -1)]
        assert len(shown) == 25
        assert (shown[0], shown[-2:]) == (rows[0], rows[-2:])
        assert all(row in rows for row in shown)
        between = "Between two rows: at least the migrations of the upper one, at most those of the lower one.\n"
        assert short.endswith("17 rows of 41 left out (-v lists them).\n" + between)
        assert "left out" not in full
        assert "Between" not in full

    def test_nothing_to_move(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster, "--protect", "team")
        assert result.status == 0
        assert (
            result.out == "Nothing to move: 3 partial nodes, 0 empty.\n"
            "Immovable or protected: 3 of 3 instances.\n"
            "Proved: no plan leaves fewer partial nodes, or as few with fewer moves.\n"
        )

    def test_nothing_to_move_because_all_is_well_names_nothing_immovable(self, sifopt: Sifopt, tmp_path: Path) -> None:
        jobs = [{"name": "a", "gpus_per_instance": 8, "instances": [{"node": "n1", "movable": False}]}]
        result = sifopt("plan", written(tmp_path, CLUSTER | {"jobs": jobs}))
        assert "Nothing to move: 0 partial nodes, 2 empty.\n" in result.out
        assert "Immovable" not in result.out

    def test_what_is_immovable_is_counted_in_the_pool_that_was_asked_for(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes = [{"name": name, "gpus": 8, "pool": pool} for name, pool in (("n1", "x"), ("n2", "x"), ("n3", "y"))]
        places = [{"node": "n1"}, {"node": "n2", "movable": False}, {"node": "n3", "movable": False}]
        jobs = [{"name": "a", "gpus_per_instance": 5, "instances": places}]
        result = sifopt("plan", written(tmp_path, CLUSTER | {"nodes": nodes, "jobs": jobs}), "--pool", "x")
        assert "Nothing to move in pool x: 2 partial nodes, 0 empty.\n" in result.out
        assert "Immovable or protected: 1 of 2 instances.\n" in result.out

    def test_a_picture_under_the_name_of_another_format_is_refused(self, sifopt: Sifopt, cluster: Path) -> None:
        picture = cluster.with_name("plan.png")
        result = sifopt("plan", cluster, "--plot", picture)
        assert (result.status, result.out) == (2, "")
        assert "argument --plot: expected a name such as plan.svg, because SVG is written" in result.err
        assert not picture.exists()

    def test_live_moves_that_do_not_lead_as_far(self, sifopt: Sifopt, tmp_path: Path) -> None:
        result = sifopt("plan", written(tmp_path, EXCHANGE), "--moves", "live")
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
        data = data_of(result.out)
        assert result.status == 0
        assert data["schema"] == "compass-abs/plan/2"
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
        assert "frontier" not in data_of(sifopt("plan", cluster, "-o", "json").out)


class TestLimits:
    def test_migrations(self, sifopt: Sifopt, cluster: Path) -> None:
        data = data_of(sifopt("plan", cluster, "--max-migrations", "1", "-o", "json").out)
        assert (data["migrations"], data["partial_nodes_after"], data["status"]) == (1, 2, "optimal")

    def test_partial_nodes(self, sifopt: Sifopt, cluster: Path) -> None:
        data = data_of(sifopt("plan", cluster, "--max-partial-nodes", "2", "-o", "json").out)
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
            (["--max-jobs", "-1"], "expected a whole number, 0 or more, got '-1'"),
            (["--max-per-job-at-once", "0"], "expected a whole number, 1 or more, got '0'"),
            (["--weight", "team/a"], "expected a job and a whole number, such as team/train=5, got 'team/a'"),
            (["--weight", "team/a=-2"], "such as team/train=5, got 'team/a=-2'"),
            (["--weight", "=2"], "got '=2'"),
            (["--weight", "nobody=2"], "no running job is named 'nobody'"),
            (["--pool", "h100"], "no node is in a pool named 'h100'; pools: 'default'"),
            (["--protect", "team/b:2"], "'team/b:2'"),
            (["--max-jobs", "0", "--max-partial-nodes", "2"], "0 disturbed jobs leave at least 3 partial nodes, not 2"),
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
        path = written(tmp_path, {"schema": "compass-abs/snapshot/1", "nodes": nodes, "jobs": jobs})
        result = sifopt("plan", path, "--time-limit", "0")
        assert result.status in {0, 3}
        assert ("Not proved" in result.out) == (result.status == 3)


class TestOptions:
    def test_jobs(self, sifopt: Sifopt, cluster: Path) -> None:
        data = data_of(sifopt("plan", cluster, "--max-jobs", "0", "-o", "json").out)
        assert (data["migrations"], data["max_jobs_disturbed"], data["status"]) == (0, 0, "optimal")

    def test_weights(self, sifopt: Sifopt, cluster: Path) -> None:
        data = data_of(sifopt("plan", cluster, "--weight", "team/b=5", "--max-partial-nodes", "2", "-o", "json").out)
        assert data["weights"] == {"team/b": 5}
        assert (data["disturbance"], data["disturbance_lower_bound"]) == (1, 1)
        assert {move["job"] for move in cast("list[dict[str, object]]", data["moves"])} == {"team/a"}

    def test_a_job_may_have_an_equals_sign(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = tmp_path / "named.json"
        path.write_text(json.dumps(CLUSTER).replace("team/b", "team=b"))
        assert data_of(sifopt("plan", path, "--weight", "team=b=3", "-o", "json").out)["weights"] == {"team=b": 3}

    def test_one_at_a_time(self, sifopt: Sifopt, cluster: Path) -> None:
        data = data_of(sifopt("plan", cluster, "--max-per-job-at-once", "1", "-o", "json").out)
        assert [move["step"] for move in cast("list[dict[str, object]]", data["moves"])] == [1, 2]

    def test_an_instance_is_protected(self, sifopt: Sifopt, cluster: Path) -> None:
        data = data_of(sifopt("plan", cluster, "--protect", "team/b:1", "-o", "json").out)
        moved = {(move["job"], move["instance"]) for move in cast("list[dict[str, object]]", data["moves"])}
        assert moved == {("team/a", 0), ("team/b", 0)}

    def test_live_moves_do_not_pause(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster, "--moves", "live")
        assert "1 job will be moved live: team/b." in result.out
        assert "pause" not in result.out

    def test_a_pool(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes = [*cast("list[object]", CLUSTER["nodes"]), {"name": "h", "gpus": 8, "pool": "h100"}]
        running = [*cast("list[object]", CLUSTER["jobs"])]
        running.append({"name": "c", "gpus_per_instance": 1, "instances": [{"node": "h"}]})
        path = written(tmp_path, {**CLUSTER, "nodes": nodes, "jobs": running})
        data = data_of(sifopt("plan", path, "--pool", "h100", "-o", "json").out)
        assert (data["partial_nodes_before"], data["migrations"], data["pool"]) == (1, 0, "h100")
        data = data_of(sifopt("plan", path, "--pool", "default", "-o", "json").out)
        assert (data["partial_nodes_before"], data["partial_nodes_after"]) == (3, 0)

    def test_every_option_is_explained_with_an_example(self, sifopt: Sifopt) -> None:
        text = " ".join(sifopt("plan", "--help").out.split())
        for example in ("plan.svg", "team/train=5", "--max-jobs 3", "--pool h100", "--max-per-job-at-once 1"):
            assert example in text


class TestPlot:
    def test_a_plan(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        path = tmp_path / "plan.svg"
        result = sifopt("plan", cluster, "--plot", path)
        assert (result.status, result.out, result.err) == (0, TABLE, "")
        assert "Φ 3 → 0: 2 migrations of 1 job" in path.read_text(encoding="utf-8")

    def test_a_frontier(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        path = tmp_path / "frontier.svg"
        assert sifopt("plan", cluster, "--frontier", "--plot", path).status == 0
        assert "Φ 3 → 0 with 2 migrations" in path.read_text(encoding="utf-8")

    def test_one_pool(self, sifopt: Sifopt, tmp_path: Path) -> None:
        nodes = [*cast("list[object]", CLUSTER["nodes"]), {"name": "elsewhere", "gpus": 8, "pool": "h100"}]
        cluster, path = written(tmp_path, {**CLUSTER, "nodes": nodes}), tmp_path / "plan.svg"
        assert sifopt("plan", cluster, "--pool", "default", "--plot", path).status == 0
        assert "elsewhere" not in path.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("name", "reason"), [("no/such/plan.svg", "No such file or directory"), (".", "Is a directory"), ("\0", "null")]
    )
    def test_a_path_that_cannot_be_written_costs_the_picture_only(
        self, sifopt: Sifopt, cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, name: str, reason: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = sifopt("plan", cluster, "--plot", name)
        assert (result.status, result.out) == (2, TABLE)
        assert result.err.startswith("sifopt plan: cannot write the picture to ")
        assert reason in result.err
        assert result.err.count("\n") == 1


# One of T's instances has to stop, so that k and it can change places; the other is where it is to go.
STOPPING: dict[str, tuple[int, list[str]]] = {
    "T": (3, ["A", "B"]),
    "x": (4, ["A"]),
    "k": (2, ["B"]),
    "l": (2, ["B"]),
    "late": (2, []),
}
Written: TypeAlias = "Callable[[Path, Mapping[str, Sequence[str | None]]], Path]"


def as_native(path: Path, places: Mapping[str, Sequence[str | None]]) -> Path:
    """Write a cluster without names; what is on no node does not run."""
    jobs = [
        {"name": job, "gpus_per_instance": STOPPING[job][0], "instances": [{"node": node} for node in nodes if node]}
        for job, nodes in places.items()
    ]
    nodes = [{"name": name, "gpus": 8} for name in "AB"]
    path.write_text(json.dumps({"schema": "compass-abs/snapshot/1", "nodes": nodes, "jobs": jobs}))
    return path


def as_pods(path: Path, places: Mapping[str, Sequence[str | None]]) -> Path:
    """Write a cluster of indexed Jobs."""
    pods = [
        kubernetes.pod(
            f"{job}-{index}",
            STOPPING[job][0],
            node=node,
            owner=("Job", job),
            labels={"batch.kubernetes.io/job-completion-index": f"{index}"},
        )
        for job, nodes in places.items()
        for index, node in enumerate(nodes)
        if node
    ]
    path.write_bytes(kubernetes.listing(*(kubernetes.node(name) for name in "AB"), *pods).content)
    return path


@pytest.mark.parametrize("written_as", [as_native, as_pods])
class TestResumeWhatIsStopped:
    """T[0] goes from A to B and is stopped for it; what is left of T is then on B, where T[0] is to go."""

    @pytest.fixture
    def stored(self, sifopt: Sifopt, tmp_path: Path, written_as: Written) -> Path:
        before = written_as(tmp_path / "before.json", {job: [*nodes] for job, (_, nodes) in STOPPING.items()})
        stored = tmp_path / "plan.json"
        stored.write_text(sifopt("plan", before, "-o", "json").out)
        data = data_of(stored.read_text())
        assert len(cast("list[object]", data["moves"])) == 2
        assert len(cast("list[object]", data["stopped_first"])) == 1
        return stored

    def at(self, path: Path, written_as: Written, **places: Sequence[str | None]) -> Path:
        return written_as(path, {job: [*nodes] for job, (_, nodes) in STOPPING.items()} | places)

    def test_it_is_stopped(self, sifopt: Sifopt, stored: Path, tmp_path: Path, written_as: Written) -> None:
        now = self.at(tmp_path / "now.json", written_as, T=[None, "B"])
        result = sifopt("plan", "--resume", stored, "--snapshot", now)
        assert (result.status, result.err) == (0, "")
        assert "0 moves done, 2 moves left." in result.out
        assert "is stopped" in result.out
        assert "Stopped by the plan, and to be restarted whatever becomes of it: " in result.out

    def test_and_the_other_has_moved(self, sifopt: Sifopt, stored: Path, tmp_path: Path, written_as: Written) -> None:
        now = self.at(tmp_path / "later.json", written_as, T=[None, "B"], k=["A"])
        result = sifopt("plan", "--resume", stored, "--snapshot", now)
        assert result.status == 0
        assert "1 move done, 1 move left." in result.out
        data = data_of(sifopt("plan", "--resume", stored, "--snapshot", now, "-o", "json").out)
        (move,), (stop,) = (cast("list[dict[str, object]]", data[key]) for key in ("moves", "stopped"))
        assert (move["from"], move["to"], stop["from"]) == ("A", "B", "A")
        assert (data["missing"], data["gone"], data["stopped_first"]) == ([], [], [])

    def test_and_it_runs_again(self, sifopt: Sifopt, stored: Path, tmp_path: Path, written_as: Written) -> None:
        now = self.at(tmp_path / "last.json", written_as, T=["B", "B"], k=["A"])
        result = sifopt("plan", "--resume", stored, "--snapshot", now)
        assert (result.status, result.out.splitlines()[0]) == (0, "2 moves done, 0 moves left.")

    def test_and_its_place_is_taken(self, sifopt: Sifopt, stored: Path, tmp_path: Path, written_as: Written) -> None:
        now = self.at(tmp_path / "taken.json", written_as, T=[None, "B"], k=["A"], late=["B"])
        result = sifopt("plan", "--resume", stored, "--snapshot", now)
        assert result.status == 1
        assert "Stopped by the plan, and to be restarted whatever becomes of it: " in result.out

    def test_an_older_plan(self, sifopt: Sifopt, stored: Path, tmp_path: Path, written_as: Written) -> None:
        now = self.at(tmp_path / "now.json", written_as)
        data = data_of(stored.read_text())
        del data["jobs_at_start"]
        stored.write_text(json.dumps(data))
        result = sifopt("plan", "--resume", stored, "--snapshot", now)
        assert (result.status, result.out) == (2, "")
        assert "plan.json: jobs_at_start: is missing" in result.err
        assert result.err.count("\n") == 1

    def test_another_instance_is_missing(
        self, sifopt: Sifopt, stored: Path, tmp_path: Path, written_as: Written
    ) -> None:
        now = self.at(tmp_path / "now.json", written_as, T=[None, None])
        result = sifopt("plan", "--resume", stored, "--snapshot", now)
        assert "Not running any more, and not stopped by the plan: " in result.out


class TestNames:
    def test_pods_are_named(self, sifopt: Sifopt, tmp_path: Path) -> None:
        before = as_pods(tmp_path / "before.json", {job: [*nodes] for job, (_, nodes) in STOPPING.items()})
        result = sifopt("plan", before)
        assert result.out.splitlines()[0].split()[:5] == ["step", "job", "instance", "name", "GPUs"]
        assert "default/T[0] (T-0) on A before step 1" in result.out
        data = data_of(sifopt("plan", before, "-o", "json").out)
        assert {move["name"] for move in cast("list[dict[str, object]]", data["moves"])} == {"T-0", "k-0"}
        # The same plan from the native format.
        native = tmp_path / "native.json"
        native.write_text(sifopt("convert", before).out)
        assert result.out.startswith(sifopt("plan", native).out)

    def test_a_pod_is_protected_by_its_name(self, sifopt: Sifopt, tmp_path: Path) -> None:
        before = as_pods(tmp_path / "before.json", {job: [*nodes] for job, (_, nodes) in STOPPING.items()})
        assert sifopt("plan", before, "--protect", "default/k:k-0").out != sifopt("plan", before).out
        result = sifopt("plan", before, "--protect", "default/k:k-1")
        assert (result.status, result.out) == (2, "")

    def test_a_name_that_is_another_fails_the_check(self, sifopt: Sifopt, tmp_path: Path) -> None:
        before = as_pods(tmp_path / "before.json", {job: [*nodes] for job, (_, nodes) in STOPPING.items()})
        plan = sifopt("plan", before, "-o", "json").out
        stored = tmp_path / "plan.json"
        for old, new in (('"name": "k-0"', '"name": "k-1"'), ('"index": "1"', '"index": "2"'), ('"T-1"', '"T-2"')):
            stored.write_text(plan.replace(old, new, 1))
            assert sifopt("verify", stored, "--snapshot", before).status == 1
        stored.write_text(plan)
        assert sifopt("verify", stored, "--snapshot", before).status == 0


class TestResume:
    def test_a_plan_that_holds(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored = tmp_path / "plan.json"
        stored.write_text(sifopt("plan", cluster, "-o", "json").out)
        result = sifopt("plan", "--resume", stored, "--snapshot", cluster)
        assert (result.status, result.err) == (0, "")
        assert (
            "0 moves done, 2 moves left.\nThe rest can be carried out as planned: partial nodes 3 -> 0.\n" in result.out
        )
        assert sifopt("plan", cluster, "--resume", stored).out == result.out

    def test_a_plan_half_done(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored, now = tmp_path / "plan.json", tmp_path / "now.json"
        stored.write_text(sifopt("plan", cluster, "-o", "json").out)
        now.write_text(json.dumps(CLUSTER).replace('"n2"}, {"node": "n3"}', '"n1"}, {"node": "n3"}'))
        data = data_of(sifopt("plan", now, "--resume", stored, "-o", "json").out)
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

    def test_what_the_plan_protects_is_read_from_it(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        # With the plan stored, what it protects is changed to the very job that it moves.
        stored = tmp_path / "plan.json"
        stored.write_text(json.dumps({**data_of(sifopt("plan", cluster, "-o", "json").out), "protected": ["team/b"]}))
        result = sifopt("plan", "--resume", stored, "--snapshot", cluster)
        assert result.status == 1
        assert "it cannot be moved" in result.out

    def test_what_was_protected_may_have_ended(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored = tmp_path / "plan.json"
        stored.write_text(json.dumps({**data_of(sifopt("plan", cluster, "-o", "json").out), "protected": ["gone"]}))
        assert sifopt("plan", "--resume", stored, "--snapshot", cluster).status == 0
        result = sifopt("plan", "--resume", stored, "--snapshot", cluster, "--protect", "gone")
        assert (result.status, result.out) == (2, "")

    def test_how_many_may_move_at_a_time_is_read_from_it(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored = tmp_path / "plan.json"
        stored.write_text(json.dumps({**data_of(sifopt("plan", cluster, "-o", "json").out), "max_per_job_at_once": 1}))
        result = sifopt("plan", "--resume", stored, "--snapshot", cluster)
        assert result.status == 1
        assert "at most 1 may" in result.out

    def test_live_moves_do_not_pause(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored = tmp_path / "plan.json"
        stored.write_text(sifopt("plan", cluster, "--moves", "live", "-o", "json").out)
        result = sifopt("plan", "--resume", stored, "--snapshot", cluster)
        assert "will be moved live" in result.out
        assert "pause" not in result.out

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
            ('{"schema": "compass-abs/snapshot/1"}', [], "expected a plan or an admission, got the schema"),
            ("no", [], "not valid JSON"),
            ('{"moves": []}', ["--frontier"], "--resume takes no limits"),
            ('{"moves": []}', ["--max-migrations", "1"], "--resume takes no limits"),
            ('{"moves": []}', ["--max-jobs", "0"], "--resume takes no limits"),
            ('{"moves": []}', ["--weight", "team/a=2"], "--resume takes no limits"),
            ('{"moves": []}', ["--pool", "default"], "--resume takes no limits"),
            ('{"moves": []}', ["--plot", "a.svg"], "--resume takes no limits"),
            ('{"moves": [], "max_per_job_at_once": 0}', [], "max_per_job_at_once"),
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

    def test_a_job_with_two_weights(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster, "--weight", "team/a=2", "--weight", "team/b=2", "--weight", "team/a=3")
        assert (result.status, result.out) == (2, "")
        assert "one weight a job, and 'team/a' is given two" in result.err

    def test_leading_zeros_are_no_digits_too_many(self, sifopt: Sifopt, cluster: Path) -> None:
        assert sifopt("plan", cluster, "--max-per-job-at-once", "1".zfill(30)).status == 0

    def test_a_time_limit_longer_than_any_clock(self, sifopt: Sifopt, cluster: Path) -> None:
        result = sifopt("plan", cluster, "--time-limit", "1e300")
        assert (result.status, result.out) == (0, TABLE)

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
        path, expected = written(tmp_path, case["snapshot"]), case["expected"]
        result = sifopt("plan", path, "-o", "json", "--moves", mode)
        data = data_of(result.out)
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
