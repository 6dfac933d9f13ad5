"""The way in and out: usage, help, and failures that become one line and a status."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import simulation.cli.making
from simulation.cli.main import COMPASS_SIM, main

if TYPE_CHECKING:
    from tests.simulation.cli.conftest import CompassSim

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "compass-sim: expected a command: run, compare, sweep, plot, synthesize, convert"),
        (["rum"], "invalid choice: 'rum'"),
        (["run"], "compass-sim run: the following arguments are required: TRACE"),
        (["run", "x", "--nodes", "0"], "--nodes: expected a whole number, 1 or more, got '0'"),
        (["run", "x", "--eta", "0"], "--eta: expected a share above 0, such as 0.9, got '0'"),
        (["run", "x", "--eta", "much"], "--eta: expected a share above 0, such as 0.9, got 'much'"),
        (["run", "x", "--eta", "nan"], "--eta: expected a share above 0"),
        (["run", "x", "--eta", "1", "--nodes", "2"], "not allowed with argument --eta"),
        (["run", "x", "--schedulers", "gfs,fgd"], "compass-sim run: expected one scheduler, got gfs,fgd (use compare)"),
        (["compare", "x", "--schedulers", "gfs,slurm"], "expected names out of compass, exact, printed, sifopt, gfs"),
        (["compare", "x", "--schedulers", "gfs,best-fit"], "expected each scheduler once, got 'gfs,best-fit'"),
        (["compare", "x", "--schedulers", ""], "expected names out of compass"),
        (["compare", "x", "--days", "3-1"], "--days: expected the first day before the last, got '3-1'"),
        (["compare", "x", "--days", "monday"], "--days: expected a day or two, such as 168-174, got 'monday'"),
        (["compare", "x", "--demand", "1,0"], "--demand: expected numbers of GPUs, such as 1,2,4, got '1,0'"),
        (["compare", "x", "--migration-cost", "-1"], "--migration-cost: expected a number of seconds, 0 or more"),
        (["compare", "x", "--queue", "lifo"], "--queue: invalid choice: 'lifo'"),
        (["compare", "x", "--trace-format", "swf"], "--trace-format: invalid choice: 'swf'"),
        (["compare", "x", "-o", "xml"], "invalid choice: 'xml'"),
        (["compare", "x", "--sched", "gfs"], "unrecognized arguments: --sched"),
        (["compare", "/nowhere"], "compass-sim: /nowhere: cannot be read: No such file or directory"),
        (["compare", "-", "-"], "compass-sim: standard input can be only one of the files of a trace"),
        (["synthesize", "x"], "unrecognized arguments: x"),
        (["synthesize", "--jobs", "0"], "--jobs: expected a whole number, 1 or more, got '0'"),
        (["synthesize", "--demands", "1"], "--demands: expected GPUs and weights such as 1:0.35,8:0.5, got '1'"),
        (["synthesize", "--demands", "1:a"], "--demands: expected a number, got 'a'"),
        (["synthesize", "--demands", "1:1,1:2"], "--demands: expected GPUs and weights"),
        (["synthesize", "--days", "soon"], "--days: expected a number, got 'soon'"),
    ],
)
def test_one_line_and_status_2(compass_sim: CompassSim, arguments: list[str], message: str) -> None:
    result = compass_sim(*arguments)
    assert result.status == 2
    assert result.out == ""
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pool", "z"], "no job asks for pool 'z'; expected one of: x, y"),
        (["--days", "5-9"], "no job to replay, expected at least one: the 4 jobs read are of days 0 to 1, and none of"),
        (["--demand", "7"], "no job to replay, expected at least one"),
        (["--trace-format", "acme"], ":1: no column gpu_num, node_num"),
    ],
)
def test_a_trace_without_such_jobs(compass_sim: CompassSim, trace: Path, arguments: list[str], message: str) -> None:
    result = compass_sim("run", trace, *arguments)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_trace_of_no_jobs(compass_sim: CompassSim, trace: Path) -> None:
    trace.write_text(trace.read_text().splitlines()[0] + "\na,0,1,1,0,\nb,0,x,1,1,\n")
    result = compass_sim("compare", trace)
    assert result.status == 2
    assert "expected at least one: of 2 rows 1 were left out and 1 are bad" in result.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--help"], "exit status:"),
        (["run", "--help"], "--migration-cost C"),
        (["compare", "-h"], "--schedulers A,B,..."),
        (["synthesize", "-h"], "--wcc-margin X"),
        (["convert", "-h"], "--trace-format F"),
        (["--version"], "compass-sim 0."),
    ],
)
def test_help_and_version(compass_sim: CompassSim, arguments: list[str], text: str) -> None:
    result = compass_sim(*arguments)
    assert (result.status, result.err) == (0, "")
    assert text in result.out


def raise_instead(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(simulation.cli.making, "synthesize_trace", fail)


@pytest.mark.parametrize(
    ("module", "extra"),
    [("polars", "simulation"), ("matplotlib.pyplot", "simulation"), ("distributed", "cluster"), ("torch", "learn")],
)
def test_a_missing_extra(compass_sim: CompassSim, monkeypatch: pytest.MonkeyPatch, module: str, extra: str) -> None:
    raise_instead(monkeypatch, ModuleNotFoundError(f"No module named {module!r}", name=module))
    result = compass_sim("synthesize")
    name = module.split(".", maxsplit=1)[0]
    assert (result.status, result.out) == (2, "")
    assert result.err == f"compass-sim: {name} is not installed, expected: pip install 'compass-abs[{extra}]'\n"


def test_a_missing_module_of_no_extra_is_a_fault(
    compass_sim: CompassSim, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raise_instead(monkeypatch, ModuleNotFoundError("No module named 'x'", name="x"))
    with pytest.raises(ModuleNotFoundError):
        compass_sim("synthesize")
    monkeypatch.delenv("COMPASS_SIM_TRACEBACK")
    assert main(["synthesize"]) == 2
    assert capsys.readouterr().err.startswith("compass-sim: a fault of the program itself, please report it: ")


def test_an_interrupt(compass_sim: CompassSim, monkeypatch: pytest.MonkeyPatch) -> None:
    raise_instead(monkeypatch, KeyboardInterrupt())
    result = compass_sim("synthesize")
    assert (result.status, result.out, result.err) == (130, "", "compass-sim: interrupted\n")


def test_the_distribution_installs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["compass-sim"] == "simulation.cli.main:entry_point"
    extras = project["optional-dependencies"]
    for module, extra in COMPASS_SIM.extras.items():
        assert any(requirement.startswith(module) for requirement in extras[extra])
