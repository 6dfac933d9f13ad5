"""The wheel with what its base requires and nothing more: what works, and what the rest says it needs."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from packaging.utils import canonicalize_name

from tests.packaging.environment import ROOT, base_closure, new_environment
from tests.packaging.project import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.packaging.environment import Built, Environment

IMPORT_ALL = """
import importlib, pkgutil, sys
for package in map(importlib.import_module, ("compass_core", "oracle")):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
assert "site-packages" in sys.modules["oracle"].__file__
print(len([name for name in sys.modules if name.startswith(("compass_core", "oracle"))]))
"""

WITHOUT_DEPENDENCIES = """
import sys, compass_core
from compass_core import ClusterState, Job, arrive
state = arrive(ClusterState.empty(nodes=1), Job("a", instances=1, gpus=2)).state
assert state.partial_nodes == 1
print(*sorted({name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {"__main__"}))
"""


def readme_code() -> str:
    """Return the Python of the README."""
    match = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert match
    return match[1]


class TestWhatWorks:
    """`compass_core`, `oracle` and `sifopt` need no extra."""

    @pytest.mark.long
    def test_every_module_of_the_core_and_the_oracle_is_imported(self, base: Environment) -> None:
        result = base.run("python", "-W", "error", "-c", IMPORT_ALL)
        assert result.stderr == ""
        assert int(result.stdout) > 50

    def test_the_core_loads_one_dependency(self, base: Environment) -> None:
        result = base.run("python", "-I", "-c", WITHOUT_DEPENDENCIES)
        names = set(result.stdout.split())
        assert {name for name in names if not name.startswith("_")} == {"compass_core", "immutables"}, result.stderr

    def test_the_code_of_the_readme(self, base: Environment, example_tree: Path) -> None:
        assert example_tree.is_dir()
        result = base.run("python", "-W", "error", "-c", readme_code())
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.splitlines()[-1] == "2"

    @pytest.mark.long
    @pytest.mark.parametrize("command", ["measure", "plan", "admit", "convert"])
    def test_sifopt(self, base: Environment, example_tree: Path, command: str) -> None:
        assert example_tree.is_dir()
        result = base.run("sifopt", command, "examples/snapshots/native.json")
        assert result.returncode == 0, result.stderr
        assert result.stdout

    def test_a_replay(self, base: Environment) -> None:
        trace = base.run("compass-sim", "synthesize", "--jobs", "20", "--seed", "1").stdout
        result = base.run("compass-sim", "run", "-", "--nodes", "99", "-o", "json", text=trace)
        assert result.returncode == 0, result.stderr


class TestWhatTheRestSays:
    """One line on standard error that can be pasted, and status 2."""

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("words", "module", "extra"),
        [
            (["compass-prove"], "z3", "proofs"),
            (["compass-prove", "--help"], "z3", "proofs"),
            (["compass-sim", "sweep", "-", "--out", "o", "--eta", ".9"], "polars", "simulation"),
            (["compass-sim", "plot", "overall", "-", "--out", "o"], "polars|matplotlib", "simulation"),
        ],
    )
    def test_what_to_install(self, base: Environment, words: list[str], module: str, extra: str) -> None:
        trace = base.run("compass-sim", "synthesize", "--jobs", "20", "--seed", "1").stdout
        result = base.run(*words, text=trace)
        expected = rf"{words[0]}: ({module}) is not installed, expected: pip install 'compass-abs\[{extra}\]'\n"
        assert (result.returncode, result.stdout) == (2, "")
        assert re.fullmatch(expected, result.stderr), result.stderr


def test_the_lock_file_of_the_base_names_what_the_base_brings() -> None:
    lock = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    locked = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    assert base_closure(PROJECT.dependencies) <= locked
    unknown = locked - base_closure(PROJECT.dependencies)
    assert unknown <= {"colorama", "tzdata"}, "only what other systems need may be locked besides"


CONSUMER = """
from oracle import Measurement, load_snapshot, measure, plan

def fewest_moves(path: str) -> int:
    measurement: Measurement = measure(load_snapshot(path))
    found = plan(load_snapshot(path), max_partial_nodes=measurement.inherent_partial_nodes)
    return found.migrations
"""


@pytest.fixture(scope="module")
def fresh(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment in which pip installed the wheel and what it requires; skip where it cannot."""
    environment = new_environment(tmp_path_factory.mktemp("fresh"))
    (environment.folder / "examples").symlink_to(ROOT / "examples")
    pip = [sys.executable, "-m", "pip", "--python", environment.python, "install", "--quiet"]
    probe = subprocess.run([*pip, "--dry-run", "--no-deps", "shtab"], capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip("pip reaches no index")
    subprocess.run([*pip, str(built.wheel)], check=True, capture_output=True)
    return environment


@pytest.mark.slow
class TestFromAnIndex:
    """The whole way of a new user: pip, an index, an empty environment."""

    def test_nothing_is_installed_but_what_the_base_requires(self, fresh: Environment) -> None:
        code = "from importlib.metadata import distributions\nfor d in distributions(): print(d.metadata['Name'])"
        found = {canonicalize_name(name) for name in fresh.run("python", "-c", code).stdout.split()}
        assert found == base_closure(PROJECT.dependencies) | {PROJECT.name}

    def test_what_the_readme_shows(self, fresh: Environment) -> None:
        result = fresh.run("python", "-W", "error", "-c", readme_code())
        assert (result.returncode, result.stderr) == (0, "")
        table = fresh.run("sifopt", "measure", "examples/snapshots/kubernetes.json").stdout
        assert table.rstrip() in (ROOT / "README.md").read_text(encoding="utf-8")
        assert fresh.run("sifopt", "plan", "examples/snapshots/native.json").returncode == 0

    def test_mypy_accepts_a_consumer_and_rejects_a_wrong_one(self, fresh: Environment) -> None:
        cache = fresh.folder / "cache"
        mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={fresh.python}"]
        for code, expected in ((CONSUMER, 0), (CONSUMER.replace("-> int", "-> str"), 1)):
            (fresh.folder / "consumer.py").write_text(code, encoding="utf-8")
            command = [*mypy, f"--cache-dir={cache}", "consumer.py"]
            result = subprocess.run(command, cwd=fresh.folder, capture_output=True, text=True, check=False)
            assert result.returncode == expected, result.stdout
