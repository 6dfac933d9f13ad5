"""What is in the wheel and in the sdist, and what is not."""

from __future__ import annotations

import configparser
import subprocess
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from tests.packaging.environment import PACKAGES, ROOT, build
from tests.packaging.project import PROJECT

if TYPE_CHECKING:
    from tests.packaging.environment import Built

INFO = f"{PROJECT.name.replace('-', '_')}-{PROJECT.version}"


def text_in(wheel: Path, name: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"{INFO}.dist-info/{name}").decode()


def files_of(packages: tuple[str, ...]) -> set[str]:
    """Return the files of packages of this tree, without what Python and tools leave there."""
    paths = (path for package in packages for path in (ROOT / package).rglob("*"))
    return {path.relative_to(ROOT).as_posix() for path in paths if path.is_file() and "__pycache__" not in path.parts}


class TestWheel:
    """The four packages and nothing else."""

    def test_it_has_every_file_of_the_packages_and_its_own_record(self, built: Built) -> None:
        with zipfile.ZipFile(built.wheel) as archive:
            names = set(archive.namelist())
        record = {name for name in names if name.startswith(f"{INFO}.dist-info/")}
        assert names - record == files_of(PACKAGES)
        parts = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
        assert record == {f"{INFO}.dist-info/{part}" for part in parts}

    def test_no_test_no_page_no_example(self, built: Built) -> None:
        with zipfile.ZipFile(built.wheel) as archive:
            parts = {part for name in archive.namelist() for part in Path(name).parts}
        assert not parts & {"tests", "docs", "examples", "benchmarks", "requirements", "conftest.py", "Makefile"}
        assert not {part for part in parts if part.startswith(("test_", "bench_")) or part.endswith((".md", ".ipynb"))}

    def test_every_package_is_marked_as_typed(self, built: Built) -> None:
        with zipfile.ZipFile(built.wheel) as archive:
            assert {f"{package}/py.typed" for package in PACKAGES} <= set(archive.namelist())

    def test_what_it_says_of_itself_is_what_pyproject_says(self, built: Built) -> None:
        said = Parser().parsestr(text_in(built.wheel, "METADATA"))
        assert (said["Name"], said["Version"]) == (PROJECT.name, PROJECT.version)
        assert (said["License-Expression"], said["Requires-Python"]) == (PROJECT.license, PROJECT.requires_python)
        assert said.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
        required = [Requirement(text) for text in said.get_all("Requires-Dist", [])]
        base = {str(requirement).lower() for requirement in required if requirement.marker is None}
        assert base == {str(Requirement(text)).lower() for text in PROJECT.dependencies}
        assert set(said.get_all("Provides-Extra", [])) == set(PROJECT.optional_dependencies)

    def test_the_programs(self, built: Built) -> None:
        points = configparser.ConfigParser()
        points.read_string(text_in(built.wheel, "entry_points.txt"))
        assert dict(points["console_scripts"]) == PROJECT.scripts


class TestSdist:
    """What it takes to build, test and read the project, and nothing a tool left behind."""

    def test_what_is_in_it(self, built: Built) -> None:
        with tarfile.open(built.sdist) as archive:
            tops = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
        folders = {*PACKAGES, "tests", "docs", "examples", "benchmarks", "requirements"}
        pages = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md"}
        files = pages | {"CITATION.cff", "LICENSE", "Makefile"}
        assert tops == folders | files | {"pyproject.toml", "PKG-INFO", ".gitignore"}

    def test_nothing_git_ignores_is_in_it(self, built: Built) -> None:
        with tarfile.open(built.sdist) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
        asked = subprocess.run(
            ["git", "check-ignore", "--stdin", "--no-index"],  # noqa: S607 - whichever git there is
            cwd=ROOT,
            input="\n".join(names),
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode not in {0, 1}:
            pytest.skip("this tree is no checkout of git")
        assert asked.stdout == ""

    @pytest.mark.long
    def test_the_wheel_built_from_it_is_the_same_to_the_byte(self, built: Built, tmp_path: Path) -> None:
        with tarfile.open(built.sdist) as archive:
            archive.extractall(tmp_path, filter="data")
        again = build(tmp_path / INFO, tmp_path / "dist")
        assert again.wheel.read_bytes() == built.wheel.read_bytes()
