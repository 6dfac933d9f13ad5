"""The project as its users have it: a built wheel in an environment of its own, and the two type checkers run there."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import venv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Consumer:
    """An environment with the wheel installed, and a folder for programs that use it."""

    python: Path
    folder: Path

    def run(self, code: str) -> str:
        """Return what a program prints; the project is imported from the wheel."""
        result = subprocess.run(
            [self.python, "-I", "-W", "error", "-c", code], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return result.stdout

    def mypy(self, program: str) -> dict[int, list[Message]]:
        """Return what ``mypy --strict`` says, by line."""
        path = self._written(program)
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={self.python}"]
        command += ["--no-error-summary", "--no-pretty", f"--cache-dir={self.folder / 'cache'}", str(path)]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert result.returncode in {0, 1}, result.stdout + result.stderr
        messages: defaultdict[int, list[Message]] = defaultdict(list)
        for line in result.stdout.splitlines():
            match = re.fullmatch(r"(?P<file>.*?):(?P<line>\d+): (error|note): (?P<text>.*?)(  \[(?P<code>.*)\])?", line)
            assert match, line
            assert match["file"] == path.name, f"the wheel itself is not clean: {line}"
            messages[int(match["line"])].append(Message(match["text"], match["code"] or ""))
        return messages

    def pyright(self, program: str) -> dict[int, list[Message]]:
        """Return what pyright in strict mode says, by line."""
        path = self._written(f"{program}\n# pyright: strict\n")
        command = [sys.executable, "-m", "pyright", "--pythonpath", str(self.python), "--outputjson", str(path)]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert result.returncode in {0, 1}, result.stdout + result.stderr
        report = msgspec.json.decode(result.stdout, type=_Report)
        messages: defaultdict[int, list[Message]] = defaultdict(list)
        for found in report.general_diagnostics:
            messages[found.range.start.line + 1].append(Message(found.message, found.rule))
        return messages

    def _written(self, program: str) -> Path:
        path = self.folder / "program.py"
        path.write_text(program, encoding="utf-8")
        return path


@dataclass(frozen=True)
class Message:
    """One message of a type checker; the code is empty for a revealed type."""

    text: str
    code: str


class _Position(msgspec.Struct):
    line: int


class _Range(msgspec.Struct):
    start: _Position


class _Diagnostic(msgspec.Struct):
    message: str
    range: _Range
    rule: str = ""


class _Report(msgspec.Struct, rename="camel"):
    general_diagnostics: list[_Diagnostic]


def installed(folder: Path) -> Consumer:
    """Build the wheel, install it into a new environment without a network, and return that.

    What the project depends on is taken from the environment of the tests; the project itself, which is installed
    there for editing, is not.
    """
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    home = folder / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = home / "lib" / version / "site-packages"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, "--target", str(packages), str(wheel)], check=True, capture_output=True)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    programs = folder / "programs"
    programs.mkdir()
    return Consumer(home / "bin" / "python", programs)
