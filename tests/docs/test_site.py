"""The site builds without a warning, what is made in it is up to date, and its code runs."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.making.made import stale

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# A block behind this comment is not run; the comment says why.
NOT_RUN = "<!-- not run: "
CODE = re.compile(r"(?P<comment><!-- [^\n]* -->\n)?```python\n(?P<code>.*?)```\n", re.DOTALL)
# Each of the others is run block by block with the transcripts of its page, or with the output beside it.
ELSEWHERE = {"conformance.md"}


def blocks(page: Path) -> list[str]:
    """Return the code of a page that is to be run, with line numbers as in the page."""
    text = page.read_text(encoding="utf-8")
    found = [match for match in CODE.finditer(text) if not (match["comment"] or "").startswith(NOT_RUN)]
    return ["\n" * text.count("\n", 0, match.start("code")) + match["code"] for match in found]


PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if blocks(page) and page.name not in ELSEWHERE and "```console\n$ sifopt " not in page.read_text(encoding="utf-8")
]


def test_every_page_is_read_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "dummy", "-d", str(tmp_path / "trees")]
    done = subprocess.run([*command, str(DOCS), str(tmp_path / "site")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_made_is_up_to_date() -> None:
    assert {path.name for path in stale()} == set(), "run python -m docs.making"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_code_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {"__name__": page.stem}
    for code in blocks(page):  # the blocks of a page follow on one another
        exec(compile(code, str(page), "exec"), names)  # noqa: S102 - code of our own pages


def examples_in(package: str) -> list[str]:
    """Return the modules of a package of which a docstring has an example for a doctest."""
    files = [path for path in sorted((ROOT / package).rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]


@pytest.mark.parametrize(
    "module", [name for package in ("compass_core", "oracle", "proofs", "simulation") for name in examples_in(package)]
)
def test_examples_of_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_blocks_are_found_and_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\n<!-- not run: no trace -->\n```python\nx = 2\n```\n")
    assert blocks(page) == ["\n\n\nx = 1\n"]
