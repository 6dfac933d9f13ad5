"""The workflow to copy: its steps are run as GitHub runs them, in one folder, with a cluster that is a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SNAPSHOTS = ROOT / "examples" / "snapshots"


class Step(msgspec.Struct):
    """A step that runs something, or uses an action."""

    name: str = ""
    run: str = ""
    uses: str = ""
    env: dict[str, str] = {}


class Job(msgspec.Struct):
    """The steps of a job."""

    steps: list[Step]


class Workflow(msgspec.Struct):
    """The parts of a workflow that are run."""

    env: dict[str, str]
    jobs: dict[str, Job]


def _workflow() -> Workflow:
    data = yaml.safe_load((ROOT / "examples" / "github-actions.yml").read_text(encoding="utf-8"))
    return msgspec.convert({name: data[name] for name in ("env", "jobs")}, Workflow)  # YAML reads the key `on` as true


WORKFLOW = _workflow()
BASH, JQ = shutil.which("bash") or "", shutil.which("jq")

KUBECTL = """#!/bin/sh
test "$(cat "$2")" = "the secret" || exit 3
test "$*" = "--kubeconfig kubeconfig get nodes,pods -A -o json" || exit 4
cat "$SNAPSHOT"
"""


def statuses(folder: Path, snapshot: str, max_sif: str) -> Iterator[tuple[str, int, str]]:
    """Run the steps in their order and yield the name, the status and the output of each, up to the first that fails.

    `python -m pip` only says what it would install: packaging tests do that. `kubectl` prints a file.
    """
    tools = folder / "tools"
    tools.mkdir()
    for name, text in (("kubectl", KUBECTL), ("python", '#!/bin/sh\necho "$@"\n')):
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "SNAPSHOT": snapshot, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    environment |= WORKFLOW.env | {"MAX_SIF": max_sif}
    (job,) = WORKFLOW.jobs.values()
    for step in job.steps:
        if not step.run:
            continue
        secrets = {name: value.replace("${{ secrets.KUBECONFIG }}", "the secret") for name, value in step.env.items()}
        command = [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.run]
        result = subprocess.run(
            command, cwd=folder, env=environment | secrets, capture_output=True, text=True, check=False
        )
        yield step.name, result.returncode, result.stdout + result.stderr
        if result.returncode:
            return


@pytest.mark.skipif(not BASH or not JQ, reason="needs bash and jq, which GitHub's runners have")
class TestWorkflow:
    """What a run comes to."""

    @pytest.mark.long
    def test_a_fragmented_cluster_fails_in_the_last_step(self, tmp_path: Path) -> None:
        done = list(statuses(tmp_path, str(SNAPSHOTS / "native.json"), "0.55"))
        assert [status for _, status, _ in done] == [0, 0, 0, 0, 1]
        assert done[0][2] == "-m pip install compass_abs-*.whl\n"
        assert done[-1][2].splitlines() == [
            "::error::pool a100: SIF 0.6, the limit is 0.55",
            "::error::pool l40s: SIF 0.6, the limit is 0.55",
        ]
        summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
        assert "9 of the 12 partial nodes could be avoided" in summary
        assert "Proved: no plan leaves fewer partial nodes" in summary
        assert summary.count("```") == 4
        assert not (tmp_path / "kubeconfig").exists()

    @pytest.mark.long
    def test_a_cluster_within_the_limit_passes(self, tmp_path: Path) -> None:
        done = list(statuses(tmp_path, str(SNAPSHOTS / "kubernetes.json"), "0.75"))
        assert [status for _, status, _ in done] == [0] * 5
        assert done[-1][2] == ""

    def test_a_cluster_without_gpus_does_not_pass(self, tmp_path: Path) -> None:
        empty = tmp_path / "empty.json"
        empty.write_text('{"kind": "List", "items": []}', encoding="utf-8")
        done = list(statuses(tmp_path, str(empty), "0.75"))
        assert [status for _, status, _ in done] == [0, 0, 0, 0, 1]
        assert done[-1][2] == "::error::the snapshot has no GPUs\n"


def test_only_the_actions_of_github_are_used() -> None:
    (job,) = WORKFLOW.jobs.values()
    assert {step.uses.partition("@")[0] for step in job.steps if step.uses} == {
        "actions/checkout",
        "actions/setup-python",
        "actions/upload-artifact",
    }
    assert (ROOT / "examples" / "github-actions.yml").read_text(encoding="utf-8").isascii()
