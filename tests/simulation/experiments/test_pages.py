"""The pages on simulation and results: links lead somewhere, tables are those of the files, commands are understood."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from oracle.cli.command import Parser
from simulation.cli.main import main
from simulation.cli.plotting import PLOT, PlotArguments
from simulation.cli.sweeping import SWEEP, SweepArguments
from simulation.demand import peak_demand
from simulation.engine import replay
from simulation.experiments import (
    blocked,
    case_study,
    composition_days,
    coverage,
    etas,
    migration_cost,
    overall,
    trace_composition,
    variants,
)
from simulation.schedulers.registry import make_scheduler
from simulation.traces import Selection, load_trace, select
from tests.simulation.experiments.naive import JOBS
from tests.simulation.sweep.small import as_csv

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results"
PAGE = (DOCS / "results.md").read_text("utf-8")
COLUMNS = {
    "blocked": blocked.COLUMNS,
    "case-study": case_study.COLUMNS,
    "composition-days": composition_days.COLUMNS,
    "coverage-buckets": coverage.BUCKET_COLUMNS,
    "eta": etas.COLUMNS,
    "migration-cost": migration_cost.COLUMNS,
    "overall": overall.COLUMNS,
    "top-1": coverage.TOP_COLUMNS,
    "trace-composition": trace_composition.COLUMNS,
    "variants": variants.COLUMNS,
}
HOUR_S = 3_600

close = pytest.approx


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tables_of_page(heading: str) -> list[list[list[str]]]:
    """Return the cells of the tables of the page that begin with this heading."""
    found: list[list[list[str]]] = []
    for block in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        if rows[0][0] == heading:
            found.append(rows[2:])
    return found


@pytest.mark.parametrize("name", ["results.md", "simulation.md"])
def test_links(name: str) -> None:
    text = (DOCS / name).read_text("utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (DOCS / link).exists(), link


@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.csv")), ids=lambda path: str(path.relative_to(RESULTS)))
def test_files_go_together(path: Path) -> None:
    assert tuple(table(path)[0]) == COLUMNS[path.stem]
    caption = path.with_suffix(".md").read_text("utf-8")
    match = re.search(r"```sh\ncompass-sim plot (.*)\n```", caption)
    assert match
    parser = Parser()
    PLOT.add_arguments(parser)
    options = parser.parse_intermixed_args(shlex.split(match[1]), namespace=PlotArguments())
    assert DOCS.parent / options.out == path.parent
    assert f"compass-sim plot {match[1]}" in PAGE.replace("$ALL", ",".join(options.schedulers))
    assert all(path.with_suffix(form).exists() for form in (".svg", ".png"))


def test_commands_of_the_pages_are_understood() -> None:
    text = (PAGE + (DOCS / "simulation.md").read_text("utf-8")).replace("$ALL", "gfs,exact").replace("HOST", "h")
    lines = re.findall(r"^compass-sim (sweep|plot) ([^#\n]*)", text, re.MULTILINE)
    assert len(lines) > 8
    for name, arguments in lines:
        parser = Parser()
        command, options = (SWEEP, SweepArguments()) if name == "sweep" else (PLOT, PlotArguments())
        command.add_arguments(parser)
        parser.parse_intermixed_args(shlex.split(arguments), namespace=options)


def test_tables_of_the_page_are_those_of_the_files() -> None:
    wide, scarce = tables_of_page("scheduler")
    for rows, path in ((wide, RESULTS / "overall.csv"), (scarce, RESULTS / "scarce" / "overall.csv")):
        files = table(path)
        assert [row[0] for row in rows] == [row["scheduler"] for row in files]
        for row, of in zip(rows, files, strict=True):
            name, afr, most, ajct, hours, *agu, migrations = (cell.replace(",", "") for cell in row)
            assert float(afr) == round(float(of["afr"]), 4), name
            assert int(most) == int(of["max_avoidable_partial_nodes"]), name
            assert float(ajct) == close(float(of["ajct_s"]), abs=0.05 if "." in ajct else 0.5), name
            digits = len(hours.partition(".")[2])
            assert float(hours) == round(float(of["fragmentation_blocked_s"]) / HOUR_S, digits), name
            assert [float(share) for share in agu] == [round(float(of["agu"]), 3)][: len(agu)], name
            assert int(migrations) == int(of["migrations"]), name
    (top,) = tables_of_page("no other is better in (of 564)")
    by_name = {row["scheduler"]: row for row in table(RESULTS / "top-1.csv")}
    for name, *counts in top:
        assert by_name[name]["replays"] == "564"
        assert counts == [by_name[name][column] for column in ("best_afr", "best_ajct", "best_agu")], name


def test_why_compass_blocks_is_that_of_the_files() -> None:
    (row,) = [r for r in table(RESULTS / "variants.csv") if (r["nodes"], r["scheduler"]) == ("59", "compass")]
    all_s, structure_s = float(row["fragmentation_blocked_s"]), float(row["structure_blocked_s"])
    hours, structure, badly = (round(seconds / HOUR_S) for seconds in (all_s, structure_s, all_s - structure_s))
    said = " ".join(PAGE.split())
    assert f"jobs wait for {hours} h of the week on 59 nodes although as many GPUs are free" in said
    assert f"For {structure} h of these the free GPUs lie well" in said
    assert f"for the other {badly} h they lie badly" in said


@pytest.mark.slow
@pytest.mark.real_data
def test_the_files_are_what_replays_give(real_data: Path) -> None:
    trace = load_trace(real_data / "traces" / "helios_venus.csv.gz").trace
    week = select(trace, Selection(days=(168, 174))).trace
    assert (len(week), peak_demand(week)) == (6_506, 929)
    for path in (RESULTS / "overall.csv", RESULTS / "scarce" / "overall.csv"):
        for row in table(path):
            if row["scheduler"] not in {"exact", "compass", "printed", "gfs", "fgd", "mcg", "drr"}:
                continue
            result = replay(week, make_scheduler(row["scheduler"], int(row["nodes"]), week.jobs)).result
            assert float(row["afr"]) == close(result.afr, rel=1e-6)
            assert float(row["ajct_s"]) == close(result.jct_s.mean, rel=1e-6)
            assert int(row["migrations"]) == result.migrations
            assert int(row["undefined_arrivals"]) == result.undefined_arrivals


def test_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text(as_csv(JOBS))
    assert main(["sweep", "trace.csv", "--schedulers", "gfs,exact", "--out", "venus", "--processes", "1"]) == 0
    (code,) = re.findall(
        r"(?<!of yours -->\n)```python\n(.*?)```\n", (DOCS / "simulation.md").read_text("utf-8"), re.DOTALL
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "exact" in done.stdout
