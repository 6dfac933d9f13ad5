"""`compass-sim run` and `compass-sim compare`: figures, forms of output, and what the options change."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from oracle.cli.command import Parser
from oracle.cli.tables import Screen
from simulation.cli.comparing import RUN
from simulation.cli.options import load
from simulation.cli.replays import ReplayArguments, compare
from simulation.cli.report import report
from simulation.schedulers.registry import SCHEDULERS
from tests.simulation.cli.conftest import HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.simulation.cli.conftest import CompassSim

RUN_PARSER = Parser()
RUN.add_arguments(RUN_PARSER)

# What the contract fixes for an entry of `compare -o json`, in this order.
CONTRACT: Mapping[str, type] = {
    "schema": str,
    "scheduler": str,
    "nodes": int,
    "jobs": int,
    "ajct_s": float,
    "afr": float,
    "agu": float,
    "max_avoidable_partial_nodes": int,
    "fragmentation_blocked_s": float,
    "capacity_blocked_s": float,
    "migrations": int,
    "wcc_coverage": float,
    "events": int,
    "wall_s": float,
}


def test_the_json_of_the_contract(compass_sim: CompassSim, trace: Path) -> None:
    result = compass_sim("compare", trace, "--nodes", "2", "--schedulers", "exact,gfs", "-o", "json")
    entries = json.loads(result.out)
    assert (result.status, result.err) == (0, "")
    assert [entry["scheduler"] for entry in entries] == ["exact", "gfs"]
    for entry in entries:
        assert entry["schema"] == "compass-abs/replay/1"
        for key, kind in CONTRACT.items():
            assert isinstance(entry[key], kind), key


def test_figures_by_hand(compass_sim: CompassSim, trace: Path) -> None:
    """Best fit puts a and b on one node, so that c starts at once; worst fit does not, and c waits for a to end."""
    result = compass_sim(
        "compare", trace, "--nodes", "2", "--days", "0", "--schedulers", "best-fit,worst-fit", "-ojson"
    )
    best, worst = json.loads(result.out)
    assert best["ajct_s"] == pytest.approx((100 + 200 + 50) / 3)
    assert worst["ajct_s"] == pytest.approx((100 + 200 + 140) / 3)
    assert (best["fragmentation_blocked_s"], worst["fragmentation_blocked_s"]) == (0, 90)
    assert (best["events"], worst["events"]) == (6, 6)
    # From 0 to 100 s two nodes are partial where none need be; then b alone is, and 4 GPUs cannot fill a node.
    assert (best["afr"], worst["afr"]) == (0, pytest.approx(0.5 * 2 * 100 / 200))


def test_run_gives_one_entry(compass_sim: CompassSim, trace: Path) -> None:
    entry = json.loads(compass_sim("run", trace, "--nodes", "2", "-o", "json").out)
    assert (entry["scheduler"], entry["jobs"], entry["nodes"], entry["eta"]) == ("exact", 4, 2, None)


def test_what_was_assumed_is_in_the_json(compass_sim: CompassSim, tmp_path: Path) -> None:
    path = tmp_path / "helios.csv"
    path.write_text("job_id,arrival_s,service_sec,gpu_count\na,0,10,16\nb,0,10,3\n")
    arguments = ("--eta", "0.5", "--queue", "backfill", "--migration-cost", "2.5", "--cost-per-instance", "--seed", "9")
    entry = json.loads(compass_sim("run", path, *arguments, "-o", "json").out)
    assert entry["trace"] == str(path)
    assert entry["instances_rule"].startswith("by-total for 2 jobs: ")
    # 16 + 3 GPUs at most, half of which are 9.5: two nodes.
    assert (entry["peak_demand_gpus"], entry["eta"], entry["nodes"]) == (19, 0.5, 2)
    assert (entry["queue"], entry["migration_cost_s"], entry["cost_per_instance"], entry["seed"]) == (
        "backfill",
        2.5,
        True,
        9,
    )


def test_csv(compass_sim: CompassSim, trace: Path) -> None:
    result = compass_sim("compare", trace, "--nodes", "2", "--schedulers", "gfs,exact", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [row["scheduler"] for row in rows] == ["gfs", "exact"]
    assert (rows[0]["jobs"], rows[0]["eta"], rows[0]["cost_per_instance"]) == ("4", "", "false")
    assert set(CONTRACT) - {"schema"} <= set(rows[0])


def test_table(compass_sim: CompassSim, trace: Path) -> None:
    result = compass_sim("compare", trace, "--nodes", "2", "--schedulers", "gfs,worst-fit")
    lines = result.out.splitlines()
    assert (result.status, result.err) == (0, "")
    assert lines[1].split()[0] == "scheduler"
    assert [line.split()[0] for line in lines[3:5]] == ["gfs", "worst-fit"]
    assert "2 nodes of 8 GPUs (peak demand: 16 GPUs)." in lines
    assert f"4 jobs from 4 rows of {trace} (the format of compass-abs)." in lines
    assert "\x1b" not in result.out


def test_table_of_the_default_cluster(compass_sim: CompassSim, trace: Path) -> None:
    # 0.9 of 16 GPUs are 14.4: two nodes.
    assert "2 nodes of 8 GPUs: η = 0.9 (peak demand: 16 GPUs)." in compass_sim("run", trace).out


def test_every_scheduler_runs(compass_sim: CompassSim, trace: Path) -> None:
    result = compass_sim("compare", trace, "--nodes", "3", "--schedulers", ",".join(SCHEDULERS), "-o", "json")
    entries = json.loads(result.out)
    assert [entry["scheduler"] for entry in entries] == list(SCHEDULERS)
    assert {entry["completed_jobs"] for entry in entries} == {4}


def test_the_schedulers_of_the_paper_by_default(compass_sim: CompassSim, trace: Path) -> None:
    entries = json.loads(compass_sim("compare", trace, "--nodes", "2", "-o", "json").out)
    names = "compass exact printed sifopt gfs fgd cafgd mcg fft drr"
    assert [entry["scheduler"] for entry in entries] == names.split()


def test_jobs_larger_than_the_cluster(compass_sim: CompassSim, trace: Path) -> None:
    result = compass_sim("run", trace, "--nodes", "1")
    assert "Not even the idle cluster has room, refused: 1 of 4 jobs." in result.out
    assert json.loads(compass_sim("run", trace, "--nodes", "1", "-o", "json").out)["refused_jobs"] == 1


def test_eta_refuses_no_job_for_its_size(compass_sim: CompassSim, tmp_path: Path) -> None:
    """0.9 of the peak of 40 GPUs would be 5 nodes, on which the job that sets it does not fit: 5 GPUs a node."""
    path = tmp_path / "trace.csv"
    path.write_text(HEADER + "a,0,5,8,5,\nb,9,50,2,8,\n")
    result = compass_sim("run", path, "--eta", "0.9")
    assert "8 nodes of 8 GPUs, which the largest job needs: η = 0.9 would be 5 (peak demand: 40 GPUs)." in result.out
    assert "refused" not in result.out
    entry = json.loads(compass_sim("run", path, "--eta", "0.9", "-o", "json").out)
    assert (entry["nodes"], entry["jobs"], entry["refused_jobs"]) == (8, 2, 0)


def test_jobs_the_print_has_no_rule_for(compass_sim: CompassSim, tmp_path: Path) -> None:
    """P5: on one node, after `1x3, 1x3, 2x1`, neither 3-GPU job can depart: its filler would have no legal home."""
    path = tmp_path / "trace.csv"
    path.write_text(HEADER + "a,0,5,1,3,\nb,1,50,1,3,\nc,2,50,2,1,\n")
    assert (
        "printed: its rules say nothing about 2 arrivals and departures."
        in compass_sim("run", path, "--nodes", "1", "--schedulers", "printed").out
    )


def test_jobs_that_never_started_are_said(trace: Path) -> None:
    options = RUN_PARSER.parse_args([str(trace), "--nodes", "2"], namespace=ReplayArguments())
    comparison = compare(load(options)[0].trace, options)
    result = replace(comparison.results[0], unstarted_jobs=3)
    text = report(replace(comparison, results=(result,)), ["About the trace."], Screen(None))
    assert "exact: 3 of 4 jobs never started; its figures are about the others.\n" in text
    assert text.endswith("About the trace.\n")


class TestOptions:
    """Each option changes the figure that it is about."""

    def entry(self, compass_sim: CompassSim, *arguments: str | Path) -> dict[str, object]:
        result = compass_sim("run", *arguments, "-o", "json")
        assert result.status == 0, result.err
        return json.loads(result.out)  # type: ignore[no-any-return]  # of the contract above

    def test_pool(self, compass_sim: CompassSim, trace: Path) -> None:
        assert self.entry(compass_sim, trace, "--pool", "x")["jobs"] == 3
        assert self.entry(compass_sim, trace, "--pool", "x", "--pool", "y")["jobs"] == 4

    @pytest.mark.parametrize(("days", "jobs"), [("0", 3), ("1-1", 1), ("0-1", 4)])
    def test_days(self, compass_sim: CompassSim, trace: Path, days: str, jobs: int) -> None:
        assert self.entry(compass_sim, trace, "--days", days)["jobs"] == jobs

    def test_demand(self, compass_sim: CompassSim, trace: Path) -> None:
        assert self.entry(compass_sim, trace, "--demand", "4,5")["jobs"] == 2

    def test_queue(self, compass_sim: CompassSim, tmp_path: Path) -> None:
        """On one node b waits for a; c would be done before a is, and a job of one GPU is the last of largest first."""
        path = tmp_path / "trace.csv"
        path.write_text(HEADER + "a,0,100,1,4,\nb,1,100,1,8,\nc,2,50,1,1,\nd,3,100,1,8,\n")
        completions = {
            queue: self.entry(compass_sim, path, "--nodes", "1", "--schedulers", "gfs", "--queue", queue)["ajct_s"]
            for queue in ("fifo", "backfill", "largest-first")
        }
        assert completions["fifo"] == pytest.approx((100 + 199 + 248 + 347) / 4)
        assert completions["backfill"] == pytest.approx((100 + 199 + 50 + 297) / 4)
        assert completions["largest-first"] == pytest.approx((100 + 199 + 348 + 297) / 4)

    def test_migration_cost(self, compass_sim: CompassSim, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(HEADER + "a,0,10,1,8,\nb,0,100,1,4,\nc,0,10,1,4,\nd,1,100,1,4,\n")
        free, paid = (self.entry(compass_sim, path, "--nodes", "3", "--migration-cost", c) for c in ("0", "7"))
        assert free["migrations"] == paid["migrations"] == 1
        assert (free["paused_s"], paid["paused_s"]) == (0, 7)

    def test_seed(self, compass_sim: CompassSim, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(HEADER + "".join(f"j{i},{i},1000,1,1,\n" for i in range(12)))

        def partial(seed: str) -> object:
            arguments = ("--nodes", "8", "--schedulers", "random", "--seed", seed)
            return self.entry(compass_sim, path, *arguments)["partial_share"]

        assert partial("1") == partial("1")
        assert len({str(partial(str(seed))) for seed in range(6)}) > 1

    def test_shape(self, compass_sim: CompassSim, tmp_path: Path) -> None:
        columns = "job_id,vc,gpu_num,node_num,state,submit_time,start_time,end_time,duration"
        path = tmp_path / "cluster_log.csv"
        path.write_text(
            f"{columns}\na,v,8,4,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:00:00,2020-06-09 18:01:00,60\n"
        )
        recorded, total = (self.entry(compass_sim, path, "--shape", rule) for rule in ("recorded", "total"))
        assert str(recorded["instances_rule"]).startswith("by-nodes for 1 job: ")
        assert str(total["instances_rule"]).startswith("by-total for 1 job: ")

    def test_format(self, compass_sim: CompassSim, trace: Path) -> None:
        assert self.entry(compass_sim, trace, "--trace-format", "native")["jobs"] == 4

    def test_options_may_stand_between_the_files(self, compass_sim: CompassSim, tmp_path: Path) -> None:
        pods, nodes = tmp_path / "pods.csv", tmp_path / "nodes.csv"
        columns = "name,num_gpu,gpu_milli,pod_phase,creation_time,deletion_time,scheduled_time"
        pods.write_text(f"{columns}\np,8,1000,Succeeded,0,50,10\nq,1,500,Running,0,50,10\n")
        nodes.write_text("sn,gpu,model\nn0,8,G2\nn1,2,T4\n")
        result = compass_sim("run", pods, "--nodes", "2", nodes, "--fractions", "round-up")
        assert "The cluster of the trace (nodes x GPUs): 1 x 8 G2, 1 x 2 T4." in result.out
        assert "Note: a part of a GPU rounded up to whole ones, as asked for (1 job)." in result.out
        assert "Left out: asks for a part of a GPU (1 row)." in compass_sim("run", pods, "--nodes", "2").out


class TestBadRows:
    def test_said_without_asking(self, compass_sim: CompassSim, trace: Path) -> None:
        trace.write_text(trace.read_text() + "e,0,x,1,1,\n")
        for output, stream in (("table", "out"), ("json", "err"), ("csv", "err")):
            result = compass_sim("run", trace, "--nodes", "2", "-o", output)
            assert result.status == 0
            assert f"  {trace}:6: duration_s: expected a number of at most 1e+12, got 'x'" in getattr(result, stream)

    def test_strict(self, compass_sim: CompassSim, trace: Path) -> None:
        trace.write_text(trace.read_text() + "e,0,x,1,1,\n")
        result = compass_sim("run", trace, "--strict")
        assert (result.status, result.out) == (2, "")
        assert result.err == f"compass-sim: {trace}:6: duration_s: expected a number of at most 1e+12, got 'x'\n"

    def test_verbose(self, compass_sim: CompassSim, trace: Path) -> None:
        trace.write_text(trace.read_text() + "e,0,1,1,0,\n")
        assert f"Left out: asks for no GPU (1 row: {trace}:6)." in compass_sim("run", trace, "-v").out
        assert f"{trace}:6" in compass_sim("run", trace, "-v", "-o", "json").err
        assert compass_sim("run", trace, "-o", "json").err == ""


@pytest.mark.slow
@pytest.mark.real_data
def test_the_week_of_venus(compass_sim: CompassSim, real_data: Path) -> None:
    """Days 168 to 174: 6,506 jobs with a peak of 929 GPUs, and EXACT wastes no node on 105."""
    arguments = ("--days", "168-174", "--nodes", "105", "--schedulers", "gfs,exact", "-o", "json")
    gfs, exact = json.loads(compass_sim("compare", real_data / "traces" / "helios_venus.csv.gz", *arguments).out)
    assert (gfs["jobs"], exact["jobs"], exact["peak_demand_gpus"]) == (6_506, 6_506, 929)
    assert (exact["max_avoidable_partial_nodes"], exact["afr"]) == (0, 0)
    assert gfs["afr"] > 0.03
