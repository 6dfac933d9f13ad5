"""Inputs for the tests of the Slurm readers, in the shapes that Slurm prints, made without the code under test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from oracle.snapshots.document import Document
from oracle.snapshots.model import SnapshotError
from oracle.snapshots.slurm import SlurmOptions, read_slurm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.model import Snapshot

Fields = dict[str, object]


def wrapped(number: int | None) -> Fields:
    """Return a number as data_parser v0.0.39 and later print it; None is one that is not set."""
    return {"set": number is not None, "infinite": False, "number": number or 0}


def node(name: str = "n1", /, **fields: object) -> Fields:
    """Return an idle node of 8 a100."""
    return {"name": name, "state": ["IDLE"], "gres": "gpu:a100:8(S:0-1)", "gres_drained": "N/A", **fields}


def job(job_id: int = 1, /, **fields: object) -> Fields:
    """Return a running job that holds nothing."""
    return {"job_id": job_id, "job_state": ["RUNNING"], "state_reason": "None", "nodes": "", **fields}


def on(nodes: str, *gres: str, **fields: object) -> Fields:
    """Return the fields of a job that holds `gres` on the nodes of a hostlist, one entry a node."""
    return {"nodes": nodes, "gres_detail": list(gres), **fields}


def waiting(job_id: int = 1, /, **fields: object) -> Fields:
    """Return a job that waits for room, on one node unless `fields` say otherwise."""
    return {**job(job_id), "job_state": ["PENDING"], "state_reason": "Resources", "node_count": wrapped(1), **fields}


def document(value: object, name: str = "slurm.json") -> Document:
    return Document(name, json.dumps(value).encode())


def text(content: str, name: str = "slurm.txt") -> Document:
    return Document(name, content.encode())


def read(nodes: Sequence[Fields], jobs: Sequence[Fields] = (), options: SlurmOptions | None = None) -> Snapshot:
    """Return the snapshot of nodes and jobs in one JSON document."""
    return read_slurm([document({"nodes": list(nodes), "jobs": list(jobs)})], options or SlurmOptions())


def read_text(content: str) -> Snapshot:
    """Return the snapshot of one text that has both nodes and jobs."""
    return read_slurm([text(content)])


def fault(*documents: Document) -> str:
    """Return the message with which the documents are refused: one line."""
    with pytest.raises(SnapshotError) as caught:
        read_slurm(documents)
    message = str(caught.value)
    assert "\n" not in message
    return message


def fault_of(nodes: Sequence[Fields], jobs: Sequence[Fields] = ()) -> str:
    return fault(document({"nodes": list(nodes), "jobs": list(jobs)}))


def held(snapshot: Snapshot) -> dict[str, list[tuple[str, int]]]:
    """Return what each running job holds: nodes and GPUs."""
    return {job.name: [(instance.node, instance.gpus) for instance in job.instances] for job in snapshot.jobs}


def skipped(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    return {entry.reason: entry.items for entry in snapshot.skipped}


def listed(snapshot: Snapshot, words: str) -> tuple[str, ...]:
    """Return the items listed for the one reason that has these words in it."""
    found = [items for reason, items in skipped(snapshot).items() if words in reason]
    assert len(found) == 1, f"{words!r} in {list(skipped(snapshot))}"
    return found[0]
