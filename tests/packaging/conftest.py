"""The archives, built once for all tests, and an environment with the wheel and what its base needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.packaging.environment import (
    ROOT,
    Built,
    Environment,
    base_closure,
    build,
    install_without_index,
    link,
    new_environment,
)
from tests.packaging.project import PROJECT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Return the archives of this tree."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def base(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with the wheel and what its base requires; no index is asked."""
    environment = new_environment(tmp_path_factory.mktemp("base"))
    install_without_index(built.wheel, environment)
    link(base_closure(PROJECT.dependencies), environment)
    return environment


@pytest.fixture
def example_tree(base: Environment) -> Path:
    """Return the folder programs of `base` run in, with the examples that the README names."""
    examples = base.folder / "examples"
    if not examples.exists():
        examples.symlink_to(ROOT / "examples")
    return base.folder
