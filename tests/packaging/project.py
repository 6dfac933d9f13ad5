"""What pyproject.toml says of the distribution."""

from __future__ import annotations

import tomllib

import msgspec

from tests.packaging.environment import ROOT


class Project(msgspec.Struct, rename="kebab"):
    """The table `project`, as far as tests compare it."""

    name: str
    version: str
    license: str
    requires_python: str
    dependencies: list[str]
    optional_dependencies: dict[str, list[str]]
    scripts: dict[str, str]


PROJECT = msgspec.convert(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"], Project)
