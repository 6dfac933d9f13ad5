"""An option that names something which is not in the input: one line and status 2, whatever the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.cli.files import data_of, written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt

KUBERNETES = "examples/snapshots/kubernetes.json"
SLURM = ("examples/snapshots/slurm_nodes.txt", "examples/snapshots/slurm_jobs.txt")
NATIVE = "examples/snapshots/native.json"

READING = {
    ("--pool-label", "nosuch/label"): "no GPU node has the label 'nosuch/label', which is to tell its pool",
    ("--resource", "nosuch.com/gpu"): "no node has and no pod asks for the resource 'nosuch.com/gpu'",
}
DOMAINS = {("--domain-label", "rack"): "no GPU node has the label 'rack', which is to tell its domain"}
POOL = {("--pool", "v100"): "no node is in a pool named 'v100'; pools: "}
MOVING = {
    (
        "--protect",
        "nobody",
    ): "no running job, namespace or instance (job:number, job:name) is named 'nobody'; it cannot be protected"
}
WEIGHT = {("--weight", "nobody=3"): "no running job is named 'nobody'; it cannot be given a weight"}

COMMANDS: dict[tuple[str, ...], dict[tuple[str, str], str]] = {
    ("measure", KUBERNETES): READING | DOMAINS | POOL,
    ("measure", KUBERNETES, "--hierarchical"): DOMAINS,
    ("convert", KUBERNETES): READING | DOMAINS,
    ("plan", KUBERNETES): READING | POOL | MOVING | WEIGHT,
    ("admit", KUBERNETES): READING | POOL | MOVING,
    ("admit", KUBERNETES, "--job", "1x8"): READING | POOL | MOVING,
    ("verify", "PLAN", "--snapshot", KUBERNETES): READING | DOMAINS,
    ("plan", KUBERNETES, "--resume", "PLAN"): READING | MOVING,
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    moves: dict[str, object] = {"schema": "compass-abs/plan/2", "moves": []}
    return written(tmp_path_factory.mktemp("plan"), moves)


@pytest.mark.parametrize(
    ("command", "option", "problem"),
    [(command, option, problem) for command, options in COMMANDS.items() for option, problem in options.items()],
)
def test_it_is_refused(sifopt: Sifopt, plan: Path, command: Sequence[str], option: Sequence[str], problem: str) -> None:
    result = sifopt(*(plan if word == "PLAN" else word for word in command), *option)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"sifopt: {problem}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("command", [("measure",), ("plan",), ("admit",), ("admit", "--job", "1x1"), ("convert",)])
@pytest.mark.parametrize("files", [SLURM, (NATIVE,)])
def test_labels_and_resources_of_another_format(sifopt: Sifopt, command: Sequence[str], files: Sequence[str]) -> None:
    for option in (("--pool-label", "parttition"), ("--resource", "nvidia.com/gpu")):
        result = sifopt(*command, *files, *option)
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)


def test_a_stored_plan_of_a_pool_that_is_not_there(sifopt: Sifopt, tmp_path: Path) -> None:
    path = written(tmp_path, {"schema": "compass-abs/plan/2", "moves": [], "pool": "v100"})
    result = sifopt("plan", NATIVE, "--resume", path)
    assert (result.status, result.out) == (2, "")
    assert result.err == f"sifopt: {path}: pool: no node is in a pool named 'v100'; pools: 'a100', 'h100', 'l40s'\n"


class TestWhatIsSaid:
    """What makes a snapshot doubtful stands in the output itself, and beside it where that is for machines."""

    NOTE = "Note: GPU nodes without the label that tells the pool, taken to be alike (1; -v lists them).\n"
    OTHER = "Note: all pods are of one namespace: if there are others, print the pods of all"

    @pytest.fixture
    def cluster(self, tmp_path: Path) -> Path:
        nodes = [
            {
                "kind": "Node",
                "metadata": {"name": f"n{k}", "labels": {"team": "red"} if k else {}},
                "status": {"allocatable": {"nvidia.com/gpu": "8"}},
            }
            for k in range(3)
        ]
        pod = {
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "blue"},
            "spec": {"nodeName": "n1", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
        }
        return written(tmp_path, {"kind": "List", "items": [*nodes, pod]})

    @pytest.mark.parametrize(
        "command", [("measure",), ("plan",), ("admit",), ("admit", "--job", "1x1"), ("plan", "--resume", "PLAN")]
    )
    def test_by_commands(self, sifopt: Sifopt, plan: Path, cluster: Path, command: Sequence[str]) -> None:
        words = [*(plan if word == "PLAN" else word for word in command), cluster, "--pool-label", "team"]
        table, json, verbose = sifopt(*words), sifopt(*words, "-o", "json"), sifopt(*words, "-o", "json", "-v")
        assert table.err == ""
        for text in (table.out, json.err):
            assert self.NOTE in text
            assert self.OTHER in text
        assert data_of(json.out)
        assert "    n0\n" in verbose.err

    def test_by_verify(self, sifopt: Sifopt, cluster: Path, tmp_path: Path) -> None:
        stored = tmp_path / "measured.json"
        stored.write_text(sifopt("measure", cluster, "--pool-label", "team", "-o", "json").out)
        words = ("verify", stored, "--pool-label", "team", "--snapshot", cluster)
        assert self.NOTE in sifopt(*words).out
        assert self.NOTE in sifopt(*words, "-o", "json").err
        assert "    n0\n" in sifopt(*words, "-v").out

    def test_by_convert(self, sifopt: Sifopt, cluster: Path) -> None:
        assert self.NOTE in sifopt("convert", cluster, "--pool-label", "team").err
        told = sifopt("convert", cluster, "--domain-label", "team").err
        assert "Note: GPU nodes without the label that tells the domain (1; -v lists them).\n" in told
