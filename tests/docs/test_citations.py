"""What pages, docstrings and comments name is there: sections of the theory, modules and what is in them, files."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("compass_core", "oracle", "proofs", "simulation")
FOLDERS = (*PACKAGES, "tests", "docs", "examples", "benchmarks", "requirements", ".ci", ".github")

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts),
]
MODULES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__)]

SECTION = re.compile(r"^(?P<marks>##|###) (?P<number>\d+(?:\.\d+)?) ", re.MULTILINE)
# Comments and docstrings break lines: between the words there may be an end of line and a number sign.
_SPACE = r"(?:\s|#)+"
CITATION = re.compile(
    rf"\btheory{_SPACE}(?P<numbers>§\d+(?:\.\d+)?(?:(?:,|{_SPACE}(?:and|to)){_SPACE}§\d+(?:\.\d+)?)*)", re.IGNORECASE
)
NAME = re.compile(rf"`(?P<name>(?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]\w*)+)`")
FILE = re.compile(rf"`(?P<path>(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*)`")


def found(pattern: re.Pattern[str], group: str) -> list[tuple[str, str]]:
    """Return what is cited, with the file that cites it, each pair once."""
    pairs = {
        (match[group], str(path.relative_to(ROOT)))
        for path in [*PAGES, *MODULES]
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    }
    return sorted(pairs)


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            # A field of a class without a default is no attribute of it.
            fields: dict[str, object] = getattr(value, "__annotations__", {})
            if not hasattr(value, attribute) and attribute not in fields:
                return False
            value = getattr(value, attribute, None)
        return True
    return False


def sections() -> list[str]:
    """Return the numbers of the sections of the theory, in their order."""
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    return [match["number"] for match in SECTION.finditer(text)]


def test_the_sections_of_the_theory_are_numbered_throughout() -> None:
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    headings = re.findall(r"^###? ", text, re.MULTILINE)
    expected: list[str] = []
    for n, (_, group) in enumerate(groupby(sections(), key=lambda number: number.partition(".")[0]), 1):
        expected += [str(n), *(f"{n}.{m}" for m in range(1, len(list(group))))]
    assert sections() == expected
    assert len(headings) == len(expected)


def test_every_section_of_the_theory_that_is_cited_is_there() -> None:
    cited = [(number, file) for text, file in found(CITATION, "numbers") for number in re.findall(r"[\d.]+\d|\d", text)]
    assert len(cited) > 20
    assert [pair for pair in cited if pair[0] not in sections()] == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("as said (theory §1, §2).", "§1, §2"),
        ("Theory §1 and §3, once more", "§1 and §3"),
        ("# see theory\n    # §4.2, order of moves", "§4.2"),
        ("Counterpart of §6.4 of the paper", None),
    ],
)
def test_how_the_theory_is_cited(text: str, numbers: str | None) -> None:
    match = CITATION.search(text)
    assert (match and match["numbers"]) == numbers


def test_every_name_of_our_packages_that_is_cited_is_there() -> None:
    cited = found(NAME, "name")
    assert len(cited) > 100
    assert [pair for pair in cited if not is_there(pair[0])] == []


def test_names_that_are_not_there() -> None:
    assert is_there("oracle.measure")
    assert is_there("oracle.optimum")
    assert is_there("oracle.optimum.weights.Weights.verify") is False
    assert is_there("oracle.no_such_module") is False


def test_every_file_that_is_cited_is_there() -> None:
    cited = found(FILE, "path")
    assert len(cited) > 20
    made = "docs/_build"
    lacking = [(path, file) for path, file in cited if not list(ROOT.glob(path.rstrip("/")))]
    assert [pair for pair in lacking if not pair[0].startswith(made)] == []
