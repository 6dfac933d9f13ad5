"""The version is said once and repeated without fail; the steps of a release exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
import yaml

import oracle.cli.main
import simulation.cli.main
from tests.packaging.environment import ROOT
from tests.packaging.project import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

MAKE = shutil.which("make") or ""
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert version(PROJECT.name) == PROJECT.version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == PROJECT.version
    for name, main in (("sifopt", oracle.cli.main.main), ("compass-sim", simulation.cli.main.main)):
        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"{name} {PROJECT.version}\n"


def test_no_module_says_the_version_again() -> None:
    quoted = re.compile(rf"""["']{re.escape(PROJECT.version)}["']""")
    files = [
        path
        for package in ("compass_core", "oracle", "proofs", "simulation")
        for path in (ROOT / package).rglob("*.py")
    ]
    assert not [path for path in files if quoted.search(path.read_text(encoding="utf-8"))]


def test_make_dist_builds_what_the_tests_look_at() -> None:
    recipe = re.search(r"^dist:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe
    assert recipe[1].splitlines() == ["\trm -rf dist", "\t$(BIN)/python -m hatchling build -d dist"]


def test_every_target_the_procedure_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"`make (?:-s )?([a-z-]+)", (ROOT / "RELEASING.md").read_text(encoding="utf-8")))
    assert {"dist", "lock", "release-notes"} <= named <= targets


@pytest.mark.skipif(not MAKE, reason="make is not installed")
class TestReleaseNotes:
    """`make release-notes` prints one section of the changelog."""

    def notes(self, folder: Path, *words: str) -> list[str]:
        command = [MAKE, "-s", "-f", str(ROOT / "Makefile"), "release-notes", *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()

    def test_what_is_not_yet_released(self) -> None:
        lines = self.notes(ROOT)
        assert lines[0] == "## [Unreleased]"
        assert sum(line.startswith("## ") for line in lines) == 1

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ([], ["## [Unreleased]", "### Added", "- c"]),
            (["VERSION=1.1.0"], ["## [1.1.0] - 2030-01-02", "- b"]),
            (["VERSION=1.0.0"], ["## [1.0.0] - 2030-01-01", "- a, as [1.1.0] did"]),
            (["VERSION=1.1"], []),
        ],
    )
    def test_one_section_to_its_end(self, tmp_path: Path, words: list[str], expected: list[str]) -> None:
        changelog = """# Changelog
## [Unreleased]
### Added
- c
## [1.1.0] - 2030-01-02
- b
## [1.0.0] - 2030-01-01
- a, as [1.1.0] did
"""
        (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
        assert self.notes(tmp_path, *words) == expected
