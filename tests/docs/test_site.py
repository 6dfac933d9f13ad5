"""The site is made without a warning, its links lead somewhere, what is made in it is up to date, its code runs."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.making.links import check, main
from docs.making.made import stale

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# A block behind this comment is not run; the comment says why.
NOT_RUN = "<!-- not run: "
CODE = re.compile(r"(?P<comment><!-- [^\n]* -->\n)?```python\n(?P<code>.*?)```\n", re.DOTALL)
# Each of the others is run block by block with the transcripts of its page, or with the output beside it.
ELSEWHERE = {"conformance.md"}
WIDEST = 116  # characters in a line of a code block where the window is 1,400 pixels wide: docs/_static/site.css


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


@pytest.mark.long
def test_the_site_is_made_without_a_warning_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    done = subprocess.run([*command, str(DOCS), str(tmp_path / "site")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = check(tmp_path / "site")
    assert found.broken == []
    assert found.links > 10_000
    assert found.pages > len(list(DOCS.rglob("*.md")))


class TestLinks:
    """A site of two pages: what leads somewhere, and what does not."""

    @pytest.fixture
    def site(self, tmp_path: Path) -> Path:
        (tmp_path / "sub").mkdir()
        other = '<h2 id="φ*-of-it">x</h2><a name="old"></a><img src="../a%20b.png"/>'
        (tmp_path / "sub" / "index.html").write_text(other, encoding="utf-8")
        (tmp_path / "a b.png").touch()
        return tmp_path

    @pytest.mark.parametrize(
        "link",
        [
            "sub/index.html",
            "sub/",
            "/sub/index.html",
            "sub/index.html#old",
            "sub/index.html#%CF%86*-of-it",
            "sub/../index.html?q=1#here",
            "#here",
            "#",
            "#top",
            "",
            "a%20b.png",
        ],
    )
    def test_these_lead_somewhere(self, site: Path, link: str) -> None:
        (site / "index.html").write_text(f'<p id="here"><a href="{link}">x</a>')
        assert check(site) == (2, 2, [])

    @pytest.mark.parametrize(
        "link",
        ["none.html", "sub/none.html#old", "sub/index.html#none", "#none", "a b.png.gz", "../", "sub/index.html/x"],
    )
    @pytest.mark.parametrize("element", ['<a href="{}">x</a>', '<img alt="x" src="{}"/>', '<link href="{}">'])
    def test_these_do_not(self, site: Path, link: str, element: str) -> None:
        (site / "index.html").write_text(element.format(link))
        assert check(site).broken == [f"index.html: {link}"]

    @pytest.mark.parametrize("link", ["https://a.example/x#y", "//a.example/x", "mailto:a@a.example", "data:,x"])
    def test_these_leave_the_site(self, site: Path, link: str) -> None:
        (site / "index.html").write_text(f'<a href="{link}">x</a>')
        assert check(site) == (1, 2, [])

    @pytest.mark.parametrize(("link", "status"), [("sub/", 0), ("none", 1)])
    def test_the_command(
        self,
        site: Path,
        link: str,
        status: int,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        (site / "index.html").write_text(f'<a href="{link}">x</a>')
        monkeypatch.setattr("sys.argv", ["links", str(site)])
        assert main() == status
        lines = ["broken: index.html: none"] * status + [f"2 links checked in 2 pages, {status} broken"]
        assert capsys.readouterr().out.splitlines() == lines

    def test_a_folder_without_pages_is_no_site(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.argv", ["links", str(tmp_path)])
        assert main() == 1


def test_tables_of_commands_fit_the_column() -> None:
    rules = [line for page in DOCS.rglob("*.md") for line in page.read_text().splitlines() if set(line) == {"─"}]
    assert 0 < max(map(len, rules)) <= WIDEST


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
