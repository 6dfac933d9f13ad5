"""The notebooks run in a kernel, from the first cell to the last, and say what their stored outputs say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


class Output(msgspec.Struct):
    """What a cell printed, or what it drew by media type."""

    output_type: str
    text: list[str] = []
    data: dict[str, object] = {}


class Cell(msgspec.Struct):
    """A cell; one of code has outputs."""

    cell_type: str
    source: list[str]
    outputs: list[Output] = []


class Notebook(msgspec.Struct):
    """The cells of a notebook."""

    cells: list[Cell]


def read(path: Path) -> Notebook:
    return msgspec.json.decode(path.read_bytes(), type=Notebook)


def said(notebook: Notebook, *, numbers: bool) -> list[tuple[str, list[str]]]:
    """Return what each output printed, or which kinds of picture it drew; without numbers if they may differ.

    Pictures differ from one version of Matplotlib to another.
    """
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    texts = [
        "".join(output.text) if numbers else re.sub(r"\s*[\d.]+", " N", "".join(output.text)) for output in outputs
    ]
    return [(text, sorted(output.data)) for text, output in zip(texts, outputs, strict=True)]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebooks")
    command = [sys.executable, str(NOTEBOOKS / "execute.py"), "--to", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        pytest.param("mend_a_cluster.ipynb", True, id="mend_a_cluster"),  # optima: they are what they are
        pytest.param("compare_schedulers.ipynb", False, id="compare_schedulers"),  # made up by one version of NumPy
    ],
)
def test_the_stored_outputs_are_current(name: str, numbers: bool, executed: Path) -> None:
    stored, now = read(NOTEBOOKS / name), read(executed / name)
    assert said(stored, numbers=numbers) == said(now, numbers=numbers)
    assert any("image" in kind for _, kinds in said(stored, numbers=numbers) for kind in kinds)


def test_there_are_two_and_nothing_in_them_is_a_secret_of_one_machine() -> None:
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert [path.stem for path in paths] == ["compare_schedulers", "mend_a_cluster"]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert str(Path.home()) not in text
        assert not re.search(r"\d{4}-\d{2}-\d{2}T", text), "a time stamp of a run"
