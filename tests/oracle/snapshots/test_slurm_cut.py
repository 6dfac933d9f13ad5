"""Text that is cut off: an error, or nothing free that is not. Wherever the text ends."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.snapshots import generate_slurm
from oracle.snapshots.model import Snapshot, SnapshotError
from oracle.snapshots.slurm import read_slurm
from tests.oracle.snapshots.slurm_inputs import fault, text
from tests.oracle.snapshots.test_slurm_text import JOB, NODE, WAITING, one_line

if TYPE_CHECKING:
    from oracle.snapshots.document import Document

NODES_TEXT, JOBS_TEXT = generate_slurm.slurm_text_example()


def records(content: str) -> list[str]:
    return re.findall(r"\S[^\0]*?\n\n", content)


def some_jobs() -> str:
    """Return records of the example of each sort: on one node and on several, with and without GPUs, waiting."""
    jobs = records(JOBS_TEXT)
    several = [record for record in jobs if "JobState=RUNNING" in record and "NodeList=a100-[" in record]
    waiting = [record for record in jobs if "JobState=PENDING" in record]
    single = [record for record in jobs if "JobState=RUNNING" in record and "NodeList=a100-0" in record]
    return several[0] + waiting[0] + single[0] + waiting[-1]


def check(whole: Snapshot, *documents: Document) -> bool:
    """Check what is read of a damaged text against what is read of the whole one; return whether anything is."""
    try:
        found = read_slurm(documents)
    except SnapshotError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most texts are refused
        return False
    used, all_used = found.used_gpus(), whole.used_gpus()
    all_nodes = {node.name: node for node in whole.nodes}
    for node in found.nodes:
        whole_node = all_nodes[node.name]
        assert replace(node, resources=whole_node.resources) == whole_node
        # What jobs have that are not listed is not there for those that are.
        assert all(amount <= whole_node.resources[name] for name, amount in node.resources.items())
        assert used[node.name] >= all_used[node.name]
    jobs = {job.name: job for job in whole.jobs}
    for job in found.jobs:
        assert job.name.startswith("unexplained:") or jobs[job.name] == job
    # The last waiting job may have lost a line that says in which shape it asks; it holds nothing.
    assert set(found.pending[:-1]) <= set(whole.pending)
    return True


@pytest.mark.parametrize("layout", [str, one_line])
@pytest.mark.parametrize("order", [(NODE, JOB, WAITING), (WAITING, JOB, NODE), (WAITING, NODE, JOB)])
def test_every_end_of_one_text(layout: type[str], order: tuple[str, ...]) -> None:
    content = "".join(map(layout, order))
    whole = read_slurm([text(content)])
    assert sum(check(whole, text(content[:end])) for end in range(len(content))) < len(content) / 2


def test_every_end_of_a_text_of_jobs() -> None:
    nodes, jobs = text("".join(record for record in records(NODES_TEXT) if "=a100-0" in record)), some_jobs()
    whole = read_slurm([nodes, text(jobs)])
    assert sum(check(whole, nodes, text(jobs[:end])) for end in range(len(jobs)))


def test_every_end_of_a_text_of_nodes() -> None:
    nodes = "".join(records(NODES_TEXT)[:4])
    jobs = text("No jobs in the system\n")
    whole = read_slurm([text(nodes), jobs])
    assert sum(check(whole, text(nodes[:end]), jobs) for end in range(len(nodes)))


@given(node_end=st.integers(0, len(NODES_TEXT)), job_end=st.integers(0, len(JOBS_TEXT)))
def test_any_end_of_both_texts_of_the_example(node_end: int, job_end: int) -> None:
    whole = read_slurm([text(NODES_TEXT), text(JOBS_TEXT)])
    check(whole, text(NODES_TEXT), text(JOBS_TEXT[:job_end]))
    check(whole, text(NODES_TEXT[:node_end]), text(JOBS_TEXT))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            NODE.partition("   Partitions")[0],
            "line 1: node 'n1' has no CfgTRES=, which scontrol always prints; is the text",
        ),
        (
            NODE.partition("   AllocTRES")[0],
            "line 1: node 'n1' has no AllocTRES=, which scontrol always prints; is the",
        ),
        (NODE.partition("=6\n   Reason")[0] + "=6", "line 14: the text seems to be cut off in 'AllocTRES="),
        (
            JOB.partition("   NumNodes")[0],
            "line 1: job 30214 has no NumNodes=, which scontrol always prints; is the text",
        ),
        (JOB.partition("   MinCPUsNode")[0], "line 1: job 30214 has no MinCPUsNode=, which scontrol always prints"),
        (WAITING + JOB.partition("   Features")[0], "line 18: job 30214 has no Features=, which scontrol always"),
        (WAITING + JOB.partition("Licenses")[0] + "\n", "line 18: job 30214 has no Licenses=, which scontrol always"),
        (
            JOB.partition("   Socks")[0] + "   Tr",
            "line 13: the text seems to be cut off in 'Tr': its last line has no end",
        ),
        (
            WAITING[:-2],
            "line 16: the text seems to be cut off in 'TresPerNode=gres/gpu:4': its last line has no end; pri",
        ),
        (
            JOB.partition("   Min")[0] + "\n" + NODE,
            "line 1: job 30214 has no MinCPUsNode=, which scontrol always prints",
        ),
    ],
)
def test_what_is_said(content: str, message: str) -> None:
    assert fault(text(content, "a.txt")).startswith(f"a.txt: {message}")


def test_a_last_line_without_an_end_may_say_what_does_not_matter() -> None:
    nodes = NODE.replace("Comment=(null)\n\n", "Comment=(null)")
    jobs = JOB.replace("TresPerTask=cpu=1\n\n", "NtasksPerTRES:0")
    assert read_slurm([text(nodes), text(jobs)]) == read_slurm([text(NODE), text(JOB)])
