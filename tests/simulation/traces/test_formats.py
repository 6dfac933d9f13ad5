"""Each format: the sound row, and every rule that says what becomes of one that is not so plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simulation.jobs import TraceError, TraceJob
from simulation.traces import (
    Exclusion,
    Fractions,
    LoadedTrace,
    NodeGroup,
    Note,
    ReadOptions,
    Shape,
    ShapeRule,
    load_trace,
)
from tests.simulation.traces.files import GOOD, PAI_JOB, attempt, philly_job, row, write, write_json

if TYPE_CHECKING:
    from pathlib import Path

# 18:41:27 of day 0, which is the day of the first submission.
_HELIOS_SUBMIT_S = 18 * 3600 + 41 * 60 + 27.0

_FROM_GOOD_ROW = {
    "native": (TraceJob("a", 10.0, 20.5, 3, 2, "h100"), Shape.GIVEN),
    "helios": (TraceJob("1425512", _HELIOS_SUBMIT_S, 249.0, 1, 4, "vchbv"), Shape.BY_NODES),
    "helios-repackaged": (TraceJob("363167#0", 0.0, 172_800.0, 4, 8), Shape.BY_TOTAL),
    "philly-repackaged": (TraceJob("line-2", 7 * 3600 + 115.0, 66.0, 1, 1, "11cb48"), Shape.BY_TOTAL),
    "openb": (TraceJob("openb-pod-0017", 9_437_497.0, 1_332_354.0, 1, 8), Shape.GIVEN),
    "alibaba-spot": (TraceJob("437261", 9_589_663.0, 71_718.0, 94, 1, "A100-SXM4-80GB"), Shape.GIVEN),
    "alibaba-spot-sample": (TraceJob("347976", 15_768_200.0, 73.0, 15, 8), Shape.GIVEN),
    "alibaba-pai": (TraceJob("4f057009a5d481acec67b088/worker", 1_739_162.0, 38.0, 2, 4, "V100"), Shape.GIVEN),
    "acme": (TraceJob("dlctk696s0jbvitv", 11 * 3600 + 58.0, 8.0, 8, 8), Shape.BY_NODES),
}


def load(tmp_path: Path, format_: str, *changes: dict[str, str], options: ReadOptions | None = None) -> LoadedTrace:
    """Return the trace of good rows with fields changed."""
    path = write(tmp_path / "trace.csv", [row(format_, **change) for change in changes])
    return load_trace(path, options=options)


def test_there_is_a_good_row_of_each_format() -> None:
    assert _FROM_GOOD_ROW.keys() == GOOD.keys()


@pytest.mark.parametrize("format_", sorted(GOOD))
@pytest.mark.parametrize("forced", [False, True])
def test_the_good_row(tmp_path: Path, format_: str, *, forced: bool) -> None:
    path = write(tmp_path / "trace.csv", [GOOD[format_]])
    loaded = load_trace(path, format=format_ if forced else None, strict=True)
    job, shape = _FROM_GOOD_ROW[format_]
    assert loaded.trace.jobs == (job,)
    assert loaded.report.format == format_
    assert loaded.report.shapes == {shape: 1}
    assert (loaded.report.rows, loaded.report.jobs) == (1, 1)
    assert loaded.trace.source == str(path)


@pytest.mark.parametrize("format_", sorted(GOOD))
def test_columns_in_another_order_and_more_of_them(tmp_path: Path, format_: str) -> None:
    shuffled = {"extra": "x,y", **dict(reversed(GOOD[format_].items()))}
    loaded = load_trace(write(tmp_path / "trace.csv", [shuffled]), strict=True)
    assert loaded.trace.jobs == (_FROM_GOOD_ROW[format_][0],)


class TestWhatIsLeftOut:
    """Rows that a rule leaves out are counted with their line, and are no reason for strict reading to fail."""

    @pytest.mark.parametrize(
        ("format_", "change", "exclusion"),
        [
            ("native", {"gpus_per_instance": "0"}, Exclusion.NO_GPU),
            ("helios", {"gpu_num": "0"}, Exclusion.NO_GPU),
            ("helios", {"gpu_num": "0", "start_time": ""}, Exclusion.NO_GPU),
            ("helios", {"start_time": ""}, Exclusion.NEVER_STARTED),
            ("helios", {"start_time": "None"}, Exclusion.NEVER_STARTED),
            ("helios", {"end_time": ""}, Exclusion.NOT_FINISHED),
            ("helios", {"state": "RUNNING"}, Exclusion.NOT_FINISHED),
            ("helios-repackaged", {"gpu_count": "0"}, Exclusion.NO_GPU),
            ("philly-repackaged", {"num_gpus": "0"}, Exclusion.NO_GPU),
            ("openb", {"num_gpu": "0", "gpu_milli": "0"}, Exclusion.NO_GPU),
            ("openb", {"num_gpu": "1", "gpu_milli": "460"}, Exclusion.FRACTION),
            ("openb", {"scheduled_time": "", "pod_phase": "Pending"}, Exclusion.NEVER_STARTED),
            ("openb", {"deletion_time": ""}, Exclusion.NOT_FINISHED),
            ("openb", {"gpu_spec": "A100-MIG-1g.5gb"}, Exclusion.MIG),
            ("alibaba-spot", {"gpu_request": "0"}, Exclusion.NO_GPU),
            ("alibaba-spot", {"gpu_request": "0.5"}, Exclusion.FRACTION),
            ("alibaba-spot", {"gpu_model": "mig-1g.10gb"}, Exclusion.MIG),
            ("alibaba-spot", {"duration": ""}, Exclusion.NOT_FINISHED),
            ("alibaba-spot-sample", {"g": "0.01"}, Exclusion.FRACTION),
            ("alibaba-pai", {"plan_gpu": ""}, Exclusion.NO_GPU),
            ("alibaba-pai", {"plan_gpu": "50.0"}, Exclusion.FRACTION),
            ("alibaba-pai", {"plan_gpu": "150.0"}, Exclusion.FRACTION),
            ("alibaba-pai", {"start_time": ""}, Exclusion.NEVER_STARTED),
            ("alibaba-pai", {"end_time": ""}, Exclusion.NOT_FINISHED),
            ("alibaba-pai", {"status": "Running"}, Exclusion.NOT_FINISHED),
            ("acme", {"gpu_num": "0", "node_num": "1"}, Exclusion.NO_GPU),
            ("acme", {"end_time": "nan"}, Exclusion.NOT_FINISHED),
        ],
    )
    def test_left_out(self, tmp_path: Path, format_: str, change: dict[str, str], exclusion: Exclusion) -> None:
        path = write(tmp_path / "trace.csv", [GOOD[format_], row(format_, **change)])
        loaded = load_trace(path, strict=True)
        assert len(loaded.trace) == 1
        assert {kind: [place.number for place in places] for kind, places in loaded.report.excluded.items()} == {
            exclusion: [3]
        }

    @pytest.mark.parametrize("model", ["V100M16|V100M32", "MIGHTY-GPU", "A100-SXM4-80GB", "G2"])
    def test_no_mig(self, tmp_path: Path, model: str) -> None:
        assert load(tmp_path, "alibaba-spot", {"gpu_model": model}).trace.jobs[0].pool == model


class TestPartsOfAGpu:
    """With rounding up a part becomes a whole GPU, and the report says how many were."""

    @pytest.mark.parametrize(
        ("format_", "change", "gpus"),
        [
            ("openb", {"num_gpu": "1", "gpu_milli": "460"}, 1),
            ("alibaba-spot", {"gpu_request": "1.5"}, 2),
            ("alibaba-pai", {"plan_gpu": "25"}, 1),
            ("alibaba-pai", {"plan_gpu": "150"}, 2),
        ],
    )
    def test_rounded_up(self, tmp_path: Path, format_: str, change: dict[str, str], gpus: int) -> None:
        loaded = load(tmp_path, format_, change, options=ReadOptions(fractions=Fractions.ROUND_UP))
        assert loaded.trace.jobs[0].gpus == gpus
        assert loaded.report.notes[Note.ROUNDED_UP] == 1

    def test_every_note_of_a_job_is_counted(self, tmp_path: Path) -> None:
        options = ReadOptions(fractions=Fractions.ROUND_UP)
        change = {"num_gpu": "1", "gpu_milli": "460", "pod_phase": "Running", "deletion_time": "9437500"}
        notes = load(tmp_path, "openb", change, options=options).report.notes
        assert notes == {Note.ROUNDED_UP: 1, Note.STILL_RUNNING: 1, Note.ZERO_DURATION: 1}
        notes = load(tmp_path, "alibaba-pai", {"plan_gpu": "50"}, options=options).report.notes
        assert notes == {Note.ROUNDED_UP: 1, Note.LAUNCH_TIME: 1}

    def test_none_stays_none(self, tmp_path: Path) -> None:
        options = ReadOptions(fractions=Fractions.ROUND_UP)
        loaded = load(tmp_path, "openb", {"num_gpu": "0", "gpu_milli": "0"}, options=options)
        assert set(loaded.report.excluded) == {Exclusion.NO_GPU}


class TestDurations:
    def test_zero_is_kept_and_noted(self, tmp_path: Path) -> None:
        loaded = load(tmp_path, "native", {"duration_s": "0"})
        assert loaded.trace.jobs[0].duration_s == 0
        assert loaded.report.notes == {Note.ZERO_DURATION: 1}

    def test_the_difference_is_taken_where_the_column_says_otherwise(self, tmp_path: Path) -> None:
        # Kalos: 18 s from submission to end, 8 s of them from start to end.
        loaded = load(tmp_path, "acme", {"duration": "18"})
        assert loaded.trace.jobs[0].duration_s == 8
        assert loaded.report.notes == {Note.OTHER_DURATION: 1}

    @pytest.mark.parametrize("column", ["249", "250", "248", ""])
    def test_rounding_is_no_difference(self, tmp_path: Path, column: str) -> None:
        assert not load(tmp_path, "helios", {"duration": column}).report.notes

    def test_pods_recorded_as_running_are_kept(self, tmp_path: Path) -> None:
        loaded = load(tmp_path, "openb", {"pod_phase": "Running"})
        assert (len(loaded.trace), loaded.report.notes) == (1, {Note.STILL_RUNNING: 1})


class TestInstances:
    """Helios and Acme: by nodes where that divides and gives at most 8 a node, else by the total."""

    @pytest.mark.parametrize(
        ("gpus", "nodes", "expected"),
        [
            ("16", "2", (2, 8, Shape.BY_NODES)),
            ("8", "4", (4, 2, Shape.BY_NODES)),
            ("8", "3", (1, 8, Shape.BY_TOTAL)),
            ("16", "1", (2, 8, Shape.BY_TOTAL)),
            ("12", "0", (2, 6, Shape.BY_TOTAL)),
        ],
    )
    def test_by_nodes(self, tmp_path: Path, gpus: str, nodes: str, expected: tuple[int, int, Shape]) -> None:
        loaded = load(tmp_path, "helios", {"gpu_num": gpus, "node_num": nodes})
        (job,) = loaded.trace
        assert (job.instances, job.gpus, *loaded.report.shapes) == expected

    def test_the_total_alone_if_asked_for(self, tmp_path: Path) -> None:
        options = ReadOptions(shape=ShapeRule.TOTAL)
        loaded = load(tmp_path, "helios", {"gpu_num": "8", "node_num": "4"}, options=options)
        assert (loaded.trace.jobs[0].instances, loaded.trace.jobs[0].gpus) == (1, 8)
        assert Shape.BY_TOTAL.description in loaded.trace.rule

    def test_the_rule_says_how_many_jobs_each_way_touched(self, tmp_path: Path) -> None:
        changes = [{"job_id": "a"}, {"job_id": "b"}, {"job_id": "c", "gpu_num": "7", "node_num": "2"}]
        rule = load(tmp_path, "helios", *changes).report.rule
        assert "by-nodes for 2 jobs" in rule
        assert "by-total for 1 job:" in rule

    def test_no_rule_where_the_trace_says_both(self, tmp_path: Path) -> None:
        assert not load(tmp_path, "native", {}).trace.rule


class TestTime:
    def test_days_are_calendar_days_of_the_clock_of_the_trace(self, tmp_path: Path) -> None:
        changes = [
            {"job_id": "b", "submit_time": "2020-04-03 00:00:00", "start_time": "2020-04-03 00:00:00"},
            {"job_id": "a", "submit_time": "2020-04-01 23:59:59", "start_time": "2020-04-02 00:00:00"},
        ]
        ends = {"end_time": "2020-04-03 00:00:09", "duration": ""}
        loaded = load(tmp_path, "helios", *({**change, **ends} for change in changes))
        assert [(job.name, job.submit_s) for job in loaded.trace] == [("a", 86_399.0), ("b", 172_800.0)]
        assert loaded.report.day_zero == "2020-04-01"

    def test_seconds_are_kept_as_they_are(self, tmp_path: Path) -> None:
        loaded = load(tmp_path, "helios-repackaged", {"arrival_s": "-5.25"})
        assert loaded.trace.jobs[0].submit_s == -5.25
        assert loaded.report.day_zero is None

    def test_offsets_from_utc_count(self, tmp_path: Path) -> None:
        changes = [
            {"job_id": "a", "submit_time": "2023-05-17 11:00:00+08:00"},
            {"job_id": "b", "submit_time": "2023-05-17 04:00:00+00:00"},
        ]
        jobs = load(tmp_path, "acme", *changes).trace.jobs
        assert jobs[1].submit_s - jobs[0].submit_s == 3600

    def test_jobs_of_one_instant_keep_the_order_of_the_file(self, tmp_path: Path) -> None:
        changes = [{"job_id": name, "submit_s": at} for name, at in (("z", "1"), ("y", "0"), ("x", "1"), ("w", "0"))]
        assert [job.name for job in load(tmp_path, "native", *changes).trace] == ["y", "w", "z", "x"]

    def test_states_are_counted(self, tmp_path: Path) -> None:
        changes = [{"job_id": str(i), "state": state} for i, state in enumerate(("FAILED", "COMPLETED", "FAILED"))]
        assert load(tmp_path, "helios", *changes).report.states == {"FAILED": 2, "COMPLETED": 1}


class TestPai:
    """Tables with and without a header line; the job table has the times of submission."""

    @pytest.mark.parametrize("task_header", [False, True])
    @pytest.mark.parametrize("job_header", [False, True])
    @pytest.mark.parametrize("job_table_first", [False, True])
    def test_both_tables(self, tmp_path: Path, *, task_header: bool, job_header: bool, job_table_first: bool) -> None:
        tasks = write(tmp_path / "tasks.csv", [GOOD["alibaba-pai"]], header=task_header)
        jobs = write(tmp_path / "jobs.csv", [PAI_JOB], header=job_header)
        loaded = load_trace(*((jobs, tasks) if job_table_first else (tasks, jobs)), strict=True)
        assert [(job.submit_s, job.duration_s) for job in loaded.trace] == [(1_739_000.0, 38.0)]
        assert not loaded.report.notes
        assert loaded.report.rows == 1

    def test_without_the_job_table_the_launch_is_taken_and_noted(self, tmp_path: Path) -> None:
        loaded = load_trace(write(tmp_path / "tasks.csv", [GOOD["alibaba-pai"]], header=False))
        assert loaded.trace.jobs[0].submit_s == 1_739_162.0
        assert loaded.report.notes == {Note.LAUNCH_TIME: 1}

    def test_tasks_of_one_job_are_jobs(self, tmp_path: Path) -> None:
        rows = [row("alibaba-pai"), row("alibaba-pai", task_name="evaluator", plan_gpu="100", inst_num="1")]
        loaded = load_trace(write(tmp_path / "tasks.csv", rows))
        assert [(job.name.split("/")[1], job.instances, job.gpus) for job in loaded.trace] == [
            ("worker", 2, 4),
            ("evaluator", 1, 1),
        ]

    def test_bad_rows_of_the_job_table(self, tmp_path: Path) -> None:
        tasks = write(tmp_path / "tasks.csv", [GOOD["alibaba-pai"], row("alibaba-pai", job_name="other")])
        jobs = write(tmp_path / "jobs.csv", [PAI_JOB, PAI_JOB, PAI_JOB | {"job_name": "other", "start_time": ""}])
        loaded = load_trace(tasks, jobs)
        assert len(loaded.trace) == 1
        assert [(row.place.source, row.place.number) for row in loaded.report.bad] == [
            (str(jobs), 3),  # twice
            (str(jobs), 4),  # no time
            (str(tasks), 3),  # so that the job is not known
        ]

    def test_two_job_tables(self, tmp_path: Path) -> None:
        tables = [write(tmp_path / f"{i}.csv", [PAI_JOB]) for i in range(2)]
        with pytest.raises(TraceError, match=r"1\.csv: a second job table, expected one at most"):
            load_trace(write(tmp_path / "tasks.csv", [GOOD["alibaba-pai"]]), *tables)

    def test_a_row_of_the_job_table_that_is_cut(self, tmp_path: Path) -> None:
        tasks, jobs = write(tmp_path / "tasks.csv", [GOOD["alibaba-pai"]]), write(tmp_path / "jobs.csv", [PAI_JOB])
        jobs.write_text(jobs.read_text() + "half,a row\n")
        assert [str(bad) for bad in load_trace(tasks, jobs).report.bad] == [f"{jobs}:3: 2 fields, expected 6"]

    def test_the_job_table_alone_has_no_gpus(self, tmp_path: Path) -> None:
        with pytest.raises(TraceError, match="no jobs with their GPUs"):
            load_trace(write(tmp_path / "jobs.csv", [PAI_JOB]))

    def test_the_job_table_beside_another_trace(self, tmp_path: Path) -> None:
        jobs = write(tmp_path / "jobs.csv", [PAI_JOB])
        with pytest.raises(TraceError, match="job table of PAI"):
            load_trace(write(tmp_path / "trace.csv", [GOOD["native"]]), jobs)


class TestNodes:
    """OpenB and the spot trace come with a list of nodes."""

    def test_openb(self, tmp_path: Path) -> None:
        pods = write(tmp_path / "pods.csv", [GOOD["openb"]])
        kinds = [("P100", "2"), ("G2", "8"), ("P100", "2"), ("", "0")]
        rows = [{"sn": f"n{i}", "cpu_milli": "1", "gpu": gpus, "model": model} for i, (model, gpus) in enumerate(kinds)]
        nodes = write(tmp_path / "nodes.csv", rows)
        expected = (NodeGroup("G2", 8, 1), NodeGroup("P100", 2, 2))
        assert load_trace(pods, nodes).nodes == expected
        assert load_trace(nodes, pods, format="openb").nodes == expected

    def test_spot(self, tmp_path: Path) -> None:
        jobs = write(tmp_path / "jobs.csv", [GOOD["alibaba-spot"]])
        node = {"node_name": "0", "gpu_model": "A10", "gpu_capacity_num": "1", "cpu_num": "192"}
        assert load_trace(jobs, write(tmp_path / "nodes.csv", [node])).nodes == (NodeGroup("A10", 1, 1),)

    def test_a_list_with_a_row_that_is_cut(self, tmp_path: Path) -> None:
        pods, nodes = write(tmp_path / "pods.csv", [GOOD["openb"]]), tmp_path / "nodes.csv"
        nodes.write_text("sn,gpu,model\nn,8\n")
        with pytest.raises(TraceError, match=r"nodes\.csv:2: 2 fields, expected 3"):
            load_trace(pods, nodes)

    def test_a_list_with_a_bad_row(self, tmp_path: Path) -> None:
        pods = write(tmp_path / "pods.csv", [GOOD["openb"]])
        nodes = write(tmp_path / "nodes.csv", [{"sn": "n", "gpu": "two", "model": "G2"}])
        with pytest.raises(TraceError, match=r"nodes\.csv:2: gpu: expected a whole number"):
            load_trace(pods, nodes)


class TestPhillyLog:
    """The JSON log: the sum of the attempts, on what the last one held."""

    def load(self, tmp_path: Path, *jobs: object, options: ReadOptions | None = None) -> LoadedTrace:
        return load_trace(write_json(tmp_path / "cluster_job_log", list(jobs)), options=options)

    def test_attempts_add_up(self, tmp_path: Path) -> None:
        job = philly_job(
            "application_1",
            attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", 8),
            attempt("2017-10-07 01:13:30", "2017-10-07 02:13:30", 8),
        )
        loaded = self.load(tmp_path, job)
        assert loaded.trace.jobs == (TraceJob("application_1", 3600.0, 3674.0, 1, 8, "ee9e8c"),)
        assert (loaded.report.shapes, loaded.report.states) == ({Shape.BY_SERVERS: 1}, {"Pass": 1})
        assert loaded.report.day_zero == "2017-10-07"

    @pytest.mark.parametrize(
        ("servers", "rule", "expected"),
        [
            ((4, 4), ShapeRule.RECORDED, (2, 4, Shape.BY_SERVERS)),
            ((4, 4), ShapeRule.TOTAL, (1, 8, Shape.BY_TOTAL)),
            ((5, 3), ShapeRule.RECORDED, (1, 8, Shape.BY_TOTAL)),
            ((8, 8, 8), ShapeRule.RECORDED, (3, 8, Shape.BY_SERVERS)),
        ],
    )
    def test_servers(
        self, tmp_path: Path, servers: tuple[int, ...], rule: ShapeRule, expected: tuple[int, int, Shape]
    ) -> None:
        job = philly_job("a", attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", *servers))
        loaded = self.load(tmp_path, job, options=ReadOptions(shape=rule))
        assert (loaded.trace.jobs[0].instances, loaded.trace.jobs[0].gpus, *loaded.report.shapes) == expected

    def test_left_out(self, tmp_path: Path) -> None:
        begin, end = "2017-10-07 01:12:09", "2017-10-07 01:13:23"
        loaded = self.load(
            tmp_path,
            philly_job("no attempt"),
            philly_job("running", attempt(begin, end, 1), attempt(begin, None, 1)),
            philly_job("running too", attempt(begin, "None", 1)),
            philly_job("no time at all", attempt(None, None, 1)),
            philly_job("no GPU", attempt(begin, end)),
        )
        places = {kind: [place.number for place in places] for kind, places in loaded.report.excluded.items()}
        assert places == {
            Exclusion.NEVER_STARTED: [1, 4],
            Exclusion.NOT_FINISHED: [2, 3],
            Exclusion.NO_GPU: [5],
        }

    def test_an_attempt_that_was_not_logged_whole(self, tmp_path: Path) -> None:
        begin, end = "2017-10-07 01:12:09", "2017-10-07 01:13:09"
        loaded = self.load(tmp_path, philly_job("a", attempt(begin, None, 2), attempt(begin, end, 2)))
        assert loaded.trace.jobs[0].duration_s == 60
        assert loaded.report.notes == {Note.OPEN_ATTEMPT: 1}

    def test_bad_items_are_named_and_the_others_kept(self, tmp_path: Path) -> None:
        good = attempt("2017-10-07 01:12:09", "2017-10-07 01:13:09", 2)
        loaded = self.load(
            tmp_path,
            philly_job("a", good),
            "no job",
            philly_job("b", good, submitted_time=None),
            philly_job("a", good),
            philly_job("c", attempt("2017-10-07 01:13:09", "2017-10-07 01:12:09", 2)),
            philly_job("d", good, jobid=7),
        )
        assert [job.name for job in loaded.trace] == ["a"]
        assert [row.place.number for row in loaded.report.bad] == [2, 3, 4, 5, 6]
        assert str(loaded.report.bad[0].place).endswith("cluster_job_log: item 2")

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ('{"jobs": []}', "expected a JSON array of jobs"),
            ("[1, 2", "expected a JSON array of jobs"),
            ("[" * 100_000, "nested too deep"),
        ],
    )
    def test_no_log(self, tmp_path: Path, content: str, expected: str) -> None:
        path = tmp_path / "cluster_job_log"
        path.write_text(content)
        with pytest.raises(TraceError, match=expected) as caught:
            load_trace(path)
        assert "\n" not in str(caught.value)

    def test_an_empty_log(self, tmp_path: Path) -> None:
        loaded = self.load(tmp_path)
        assert (len(loaded.trace), loaded.report.rows, loaded.report.day_zero) == (0, 0, None)
