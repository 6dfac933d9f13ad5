"""Telling Slurm's output from other formats, and what is said of outputs that cannot be read."""

from __future__ import annotations

import pytest

from oracle.snapshots.slurm import is_slurm_json, is_slurm_text
from tests.oracle.snapshots.slurm_inputs import fault, text

SINFO = """\
PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
main*        up   infinite      2    mix gpu[1-2]
"""
SQUEUE = """\
             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
               123      main    train     dana  R    1:02:03      1 gpu1
"""
SACCT = """\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
123               train       main   research          8  COMPLETED      0:0
"""
BARE_SINFO = "gpu-[1,5-6]|mixed|\ngpu-2|mixed+drain|\ngpu-3|idle|\n"
BARE_SQUEUE = "N/A|123|train|RUNNING|dana|24|1|gpu1|\n"
BARE_SACCT = "1879824|1879824|dana|ac1|RUNNING|2025-09-12T14:06:12|Unknown|gpu-2|\n"


@pytest.mark.parametrize(
    "keys",
    [
        ["nodes"],
        ["jobs"],
        ["nodes", "jobs"],
        ["jobs", "meta", "errors"],
        ["job_id", "name", "nodes"],
        ["name", "gres"],
        ["sinfo"],
        ["reservations", "meta"],
    ],
)
def test_slurm_json(keys: list[str]) -> None:
    assert is_slurm_json(dict.fromkeys(keys))


@pytest.mark.parametrize(
    "keys",
    [
        ["schema", "nodes", "jobs"],
        ["nodes", "jobs", "pending"],
        ["kind", "apiVersion", "items"],
        ["kind", "nodes"],
        ["name"],
        [],
    ],
)
def test_json_of_others(keys: list[str]) -> None:
    assert not is_slurm_json(dict.fromkeys(keys))


@pytest.mark.parametrize(
    "content",
    [
        "NodeName=n1 Arch=x86_64\n",
        "JobId=1 JobName=x\n",
        "\n  NodeName=n1",
        "No jobs in the system\n",
        "No nodes in the system",
        "ReservationName=maint StartTime=2026-03-09\n",
        "No reservations in the system\n",
    ],
)
def test_slurm_text(content: str) -> None:
    assert is_slurm_text(content.encode())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "hello\n",
        "apiVersion: v1\nkind: List\n",
        '{"nodes": []}',
        "NAME STATUS ROLES AGE\nn1 Ready <none> 3d\n",
        "nodes:\n- a\n",
    ],
)
def test_text_of_others(content: str) -> None:
    assert not is_slurm_text(content.encode())


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (SINFO, "sinfo"),
        (SQUEUE, "squeue"),
        (SACCT, "sacct"),
        (BARE_SINFO, "sinfo"),
        (BARE_SQUEUE, "squeue"),
        (BARE_SACCT, "sacct"),
        ("PartitionName=main AllowGroups=ALL\n   Nodes=n[1-2]\n", "scontrol show partition"),
        ("StepId=1.0 UserId=0\n", "scontrol show step"),
    ],
)
def test_other_outputs_of_slurm_are_named_with_what_to_print_instead(content: str, command: str) -> None:
    assert is_slurm_text(content.encode())
    assert fault(text(content, "x.txt")) == (
        f"x.txt: this seems to be the output of `{command}`, which does not say which job holds which GPUs; "
        "print `scontrol show nodes --json` (or `scontrol show node -d`) "
        "and `squeue --json` (or `scontrol show job -d`) instead"
    )


def test_what_is_no_output_of_slurm() -> None:
    assert "nothing here says which job holds which GPUs; print `scontrol show nodes --json`" in fault(text("hello\n"))
