"""What is shipped, built once, and environments in which it is installed and as little else as it says it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = ("compass_core", "oracle", "proofs", "simulation")


@dataclass(frozen=True)
class Built:
    """The two archives."""

    sdist: Path
    wheel: Path


def build(source: Path, folder: Path) -> Built:
    """Build both archives from a source tree, as `make dist` does."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


@dataclass(frozen=True)
class Environment:
    """An environment, and an empty folder to run things in."""

    home: Path
    folder: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.home / "bin" / "python")

    def run(self, *words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run one of its programs with nothing else of this process's environment than a path to the system's."""
        path = os.pathsep.join([str(self.home / "bin"), os.defpath])
        command = [str(self.home / "bin" / words[0]), *words[1:]]
        return subprocess.run(
            command, cwd=self.folder, env={"PATH": path}, input=text, capture_output=True, text=True, check=False
        )


def new_environment(folder: Path) -> Environment:
    """Return an environment without packages, pip among them."""
    venv.create(folder / "environment", with_pip=False, symlinks=True)
    (folder / "work").mkdir()
    return Environment(folder / "environment", folder / "work")


def base_closure(requirements: list[str]) -> set[str]:
    """Return the names of the installed distributions that these requirements bring, directly or not."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += [Requirement(text) for text in distribution(name).requires or ()]
    return found


def link(names: set[str], environment: Environment) -> None:
    """Make distributions of the environment of the tests, and no others, importable in another one."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = environment.home / "lib" / version / "site-packages"
    for name in names:
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top not in {"..", "__pycache__"} and not (packages / top).exists():
                (packages / top).symlink_to(Path(str(distribution(name).locate_file(top))))


def install_without_index(wheel: Path, environment: Environment) -> None:
    """Install a wheel and nothing else."""
    command = [sys.executable, "-m", "pip", "--python", environment.python, "install", "--quiet"]
    command += ["--disable-pip-version-check", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
