"""The list of dependencies says what is locked, and nothing in it has a licence that asks for more than notice."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from packaging.utils import canonicalize_name

from tests.packaging.environment import ROOT
from tests.packaging.project import PROJECT

PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
ROWS = [
    row
    for row in re.findall(r"^\| ([\w.-]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    if row[0] != "package"  # the head of a table
]
BASE = PAGE.partition("## The base")[2].partition("##")[0]

# Permissive ones; and the two that bind changes to the package itself, which is used here unchanged.
ALLOWED = re.compile(r"MIT|BSD|Apache|PSF|Python Software Foundation|MPL-2\.0|LGPL|Zlib|CC0-1\.0|0BSD")


def locked(name: str) -> set[tuple[str, str]]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return set(re.findall(r"^([\w.-]+)==([^ ]+)", text, re.MULTILINE))


def listed(text: str) -> set[tuple[str, str]]:
    rows = re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|", text, re.MULTILINE)
    return {
        (name, version)
        for name, versions in rows
        for version in re.findall(r"(?:^|, )([\d.]+\w*)(?= \(|,|$)", versions)
    }


def test_it_is_what_its_command_writes() -> None:
    command = [sys.executable, str(ROOT / "docs" / "dependency_list.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_base_is_the_lock_file_of_the_base() -> None:
    assert listed(BASE) == locked("runtime")


def test_what_the_extras_add_is_locked_for_development() -> None:
    assert listed(PAGE) <= locked("dev")


def test_every_direct_requirement_is_marked() -> None:
    ours = {name for name, _, _, by in ROWS if by == "compass-abs"}
    extras = [PROJECT.optional_dependencies[extra] for extra in ("proofs", "simulation", "cluster")]
    required = [*PROJECT.dependencies, *(text for extra in extras for text in extra)]
    names = {canonicalize_name(re.split(r"[^\w.-]", text)[0]) for text in required}
    assert ours == names - {"compass-abs"}


@pytest.mark.parametrize(("name", "licence"), [(row[0], row[2]) for row in ROWS])
def test_the_licence_is_one_the_project_can_depend_on(name: str, licence: str) -> None:
    parts = re.split(r" AND | OR |, (?!Version)", licence)
    assert all(ALLOWED.search(part) for part in parts), f"{name}: {licence}"
    assert not re.search(r"(?<!L)GPL", licence), f"{name}: {licence}"
