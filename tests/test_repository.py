"""Things said twice in the repository agree."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import msgspec
import yaml

ROOT = Path(__file__).parents[1]


class Project(msgspec.Struct, rename="kebab"):
    """The part of pyproject.toml that other files repeat."""

    version: str
    license: str
    classifiers: list[str]
    dependencies: list[str]
    optional_dependencies: dict[str, list[str]]


PROJECT = msgspec.convert(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"], Project)


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_version_and_the_licence() -> None:
    citation = yaml.safe_load(_text("CITATION.cff"))
    assert citation["version"] == PROJECT.version == version("compass-abs")
    assert citation["license"] == PROJECT.license == "Apache-2.0"
    assert "Apache License" in _text("LICENSE")
    assert "## [Unreleased]" in _text("CHANGELOG.md")


def test_every_dependency_has_its_reason() -> None:
    reasons = _text("docs/decisions/0001-dependencies.md").lower()
    extras = [PROJECT.optional_dependencies[extra] for extra in ("proofs", "simulation", "cluster", "learn")]
    for requirement in [*PROJECT.dependencies, *(name for extra in extras for name in extra)]:
        name = re.split(r"[<>=\[]", requirement)[0].lower()
        assert name == "compass-abs" or name in reasons, f"{name} has no paragraph"


def test_ci_runs_the_one_script_on_every_python() -> None:
    workflow = yaml.safe_load(_text(".github/workflows/ci.yml"))["jobs"]["check-and-test"]
    pythons = [line.rpartition(" ")[2] for line in PROJECT.classifiers if re.search(r":: 3\.\d+$", line)]
    assert workflow["strategy"]["matrix"]["python"] == pythons
    assert workflow["steps"][-1]["run"] == "bash .ci/run"


def test_every_package_is_typed() -> None:
    for package in ("compass_core", "oracle", "proofs", "simulation"):
        assert (ROOT / package / "py.typed").exists()


def test_issue_templates_say_what_they_are_for() -> None:
    templates = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert templates
    for path in templates:
        head = yaml.safe_load(_text(str(path)).split("---\n")[1])
        assert head.keys() == {"name", "about"}
