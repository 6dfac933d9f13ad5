"""The manual names every option, and every exit status in it is one that the command really ends with."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from docs.making.made import DOCS
from docs.making.manual import manual_pages, parsers_of, statuses
from oracle import load_snapshot
from oracle.cli.main import SIFOPT
from oracle.cli.main import main as sifopt
from proofs.cli import main as compass_prove
from simulation.cli.main import COMPASS_SIM
from simulation.cli.main import main as compass_sim

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.cli.program import Program

SNAPSHOTS = DOCS.parent / "examples" / "snapshots"
NATIVE, KUBERNETES = str(SNAPSHOTS / "native.json"), str(SNAPSHOTS / "kubernetes.json")
PAGES = manual_pages()
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

# A call for each status of each command of sifopt; {name} are files of the fixture.
CALLS: list[tuple[str, int, list[str]]] = [
    ("measure", 0, [NATIVE]),
    ("measure", 1, [NATIVE, "--exit-code"]),
    ("measure", 2, ["no-such-file.json"]),
    ("measure", 3, [KUBERNETES, "--time-limit", "0"]),
    ("plan", 0, [NATIVE]),
    ("plan", 1, ["--resume", "{plan}", "--snapshot", "{other}"]),
    ("plan", 2, [NATIVE, "--max-partial-nodes", "0"]),
    ("plan", 3, [KUBERNETES, "--time-limit", "0"]),
    ("admit", 0, [NATIVE, "--job", "1x8"]),
    ("admit", 1, [NATIVE, "--job", "9x8"]),
    ("admit", 2, [NATIVE, "--job", "8"]),
    ("admit", 3, [KUBERNETES, "--time-limit", "0"]),
    ("verify", 0, ["{plan}", "--snapshot", NATIVE]),
    ("verify", 1, ["{forged}", "--snapshot", NATIVE]),
    ("verify", 2, [NATIVE]),
    ("verify", 3, ["{plan}", "--snapshot", NATIVE, "--time-limit", "0"]),
    ("convert", 0, [NATIVE]),
    ("convert", 2, [NATIVE, "--resource", "amd.com/gpu"]),
    ("schema", 0, []),
    ("schema", 2, ["more"]),
    ("completion", 0, ["bash"]),
    ("completion", 2, ["no-such-shell"]),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("manual")
    plan, forged, other = folder / "plan.json", folder / "forged.json", folder / "other.json"
    data = plan_of_the_example()
    plan.write_text(json.dumps(data))
    forged.write_text(json.dumps({**data, "partial_nodes_after": 0}))
    snapshot = json.loads((SNAPSHOTS / "native.json").read_text())
    for node in snapshot["nodes"]:
        node["schedulable"] = False
    other.write_text(json.dumps(snapshot))
    return {"plan": plan, "forged": forged, "other": other}


def plan_of_the_example() -> dict[str, object]:
    from oracle import plan  # noqa: PLC0415 - loaded when it is first asked for

    return plan(load_snapshot(NATIVE)).to_dict()


@pytest.mark.parametrize(("command", "status", "arguments"), CALLS)
def test_each_status_of_sifopt(command: str, status: int, arguments: list[str], files: dict[str, Path]) -> None:
    filled = [argument.format(**files) if argument.startswith("{") else argument for argument in arguments]
    assert sifopt([command, *filled]) == status


@pytest.mark.parametrize("command", parsers_of(SIFOPT))
def test_the_statuses_of_sifopt_are_all_of_them(command: str) -> None:
    called = {status for name, status, _ in CALLS if name == command}
    assert set(statuses(parsers_of(SIFOPT)[command])) == called | {130}


@pytest.mark.parametrize("command", ["measure", "verify"])
def test_an_interrupt_before_there_is_a_result(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.read_bytes", interrupted)
    monkeypatch.setattr("pathlib.Path.open", interrupted)
    assert sifopt([command, NATIVE]) == 130


def test_the_statuses_of_compass_sim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compass_sim(["synthesize", "--jobs", "20", "--seed", "1"]) == 0
    trace = tmp_path / "trace.csv"
    trace.write_text(capsys.readouterr().out)
    for command in ("run", "compare", "convert"):
        assert compass_sim([command, str(trace)]) == 0
    for command in parsers_of(COMPASS_SIM):
        assert compass_sim([command, "--no-such-option"]) == 2
        assert set(statuses(parsers_of(COMPASS_SIM)[command])) == {0, 2, 130}


def test_the_statuses_of_compass_prove() -> None:
    assert set(re.findall(r"^\| (\d+) \|", PAGES["manual/compass-prove.md"], re.MULTILINE)) == {
        "0",
        "1",
        "2",
        "3",
        "130",
    }
    assert compass_prove(["--claim", "P4"]) == 0
    assert compass_prove(["--claim", "no-such-claim"]) == 2


@pytest.mark.parametrize("program", [SIFOPT, COMPASS_SIM], ids=lambda program: program.name)
def test_every_option_is_in_the_manual(program: Program) -> None:
    page = PAGES[f"manual/{program.name}.md"]
    for name, parser in parsers_of(program).items():
        section = page.partition(f"## {program.name} {name}\n")[2].partition("\n## ")[0]
        shown = set(OPTION.findall(parser.format_usage()))
        described = {
            option for line in re.findall(r"^`-.*`$", section, re.MULTILINE) for option in OPTION.findall(line)
        }
        assert shown <= described, name
        assert described <= set(OPTION.findall(parser.format_help())), name
