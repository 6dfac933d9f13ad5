"""What comes with an extra: imported behind one wall each, and one clear line where it is missing."""

from __future__ import annotations

import ast
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.processes import ended
from tests.simulation.sweep.processes import ENTER
from tests.simulation.sweep.small import as_csv, made_up

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[3] / "simulation"
WALLS = {
    "polars": {"sweep/frames.py"},
    "matplotlib": {"plots/drawing.py", "plots/fitting.py"},
    "distributed": {"sweep/distributed.py"},
}


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a module imports, by statement or by name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module":
            yield from (str(of.value).partition(".")[0] for of in node.args if isinstance(of, ast.Constant))


def test_each_stands_behind_one_wall() -> None:
    found: dict[str, set[str]] = {name: set() for name in (*WALLS, "dask")}
    for path in PACKAGE.rglob("*.py"):
        for name in found.keys() & set(imported(path)):
            found[name].add(path.relative_to(PACKAGE).as_posix())
    assert found == {**WALLS, "dask": set()}


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "extra", "arguments"),
    [
        ("polars", "simulation", ["sweep", "trace.csv"]),
        ("polars", "simulation", ["plot", "overall", "trace.csv"]),
        ("matplotlib", "simulation", ["plot", "trace-composition", "trace.csv"]),
        ("distributed", "cluster", ["sweep", "trace.csv", "--dask", "local"]),
    ],
)
def test_a_missing_one_is_one_line(tmp_path: Path, module: str, extra: str, arguments: list[str]) -> None:
    (tmp_path / "trace.csv").write_text(as_csv(made_up(20, seed=1)))
    program = f"import sys; sys.modules[{module!r}] = None; {ENTER}"
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments, "--out", "out", "--processes", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"compass-sim: {module} is not installed, expected: ")
    assert f"compass-abs[{extra}]" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.long
def test_progress_is_for_terminals(tmp_path: Path) -> None:
    """A terminal sees cells counted; a pipe sees nothing."""
    (tmp_path / "trace.csv").write_text(as_csv(made_up(20, seed=1)))
    sweep = [sys.executable, "-c", ENTER, "sweep", "trace.csv", "--processes", "1", "--out"]
    result = subprocess.run([*sweep, "one"], cwd=tmp_path, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")

    terminal, child = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    started = subprocess.Popen([*sweep, "two"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=child, env=env)
    with ended(started) as process:
        os.close(child)
        seen = b""
        try:
            while chunk := os.read(terminal, 4096):
                seen += chunk
        except OSError:  # what Linux says at the end of a pseudo-terminal
            pass
        stdout, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 0
    assert b"30/30" in seen
    assert b"30 run now" in stdout
