"""Slurm clusters: the JSON and the plain text of scontrol and squeue, read to one snapshot.

Decisions that hold for both forms, each explained where it is made:

- nodes: which states take new work (`states`), what is a whole GPU (`gres`), what of a node can be used (`hosts`);
- running jobs: one instance for each job and node (`running`, `holdings`); a job that ends, forbids requeueing or is no
  batch job cannot be moved (`states`, `json_form`);
- waiting jobs: which wait for room (`states`), and in which shape (`waiting`, `queue`);
- where a job may stand (`allowed`, `features`, `topology`), and what it has of CPUs and memory (`amounts`);
- whatever is left out is listed with its reason (`reader`), as are constraints that no snapshot says (`requirements`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.snapshots.model import SnapshotError
from oracle.snapshots.slurm.detect import is_slurm_json, is_slurm_text, refusal
from oracle.snapshots.slurm.json_form import read_json
from oracle.snapshots.slurm.reader import assemble
from oracle.snapshots.slurm.records import (
    JOB_COMMAND,
    NODE_COMMAND,
    JobRecord,
    NodeRecord,
    Records,
    ReservationRecord,
    SlurmOptions,
    TopologyRecord,
)
from oracle.snapshots.slurm.text_form import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.document import Document
    from oracle.snapshots.model import Snapshot

__all__ = ["SlurmOptions", "is_slurm_json", "is_slurm_text", "read_slurm"]

_DEFAULTS = SlurmOptions()


def read_slurm(documents: Sequence[Document], options: SlurmOptions = _DEFAULTS) -> Snapshot:
    """Return the snapshot in the output of Slurm's commands.

    Parameters
    ----------
    documents
        The nodes (``scontrol show nodes --json`` or ``scontrol show node -d``) and the jobs (``squeue --json``,
        ``scontrol show jobs --json`` or ``scontrol show job -d``), in any number of inputs and in any order, also both
        in one; with them the reservations (``scontrol show reservation``) and the topology (``scontrol show topology``,
        or the file topology.conf), if there are any. A single node or job out of the JSON will do, too, and so will
        ``-o`` for the text.
    options
        What makes a pool.

    Returns
    -------
    Snapshot
        One instance for each job and node, in the order of the input. GPUs that a node reports in use and no job
        accounts for are held by an immovable job ``unexplained:NODE``; `Snapshot.skipped` lists all that was left out.

    Raises
    ------
    SnapshotError
        Nodes or jobs are missing altogether, an input is not Slurm's or is malformed, or the GPUs of a job or those in
        use on a node cannot be told; the message names the input and the line or the path in it.
    """
    nodes: list[NodeRecord] = []
    jobs: list[JobRecord] = []
    reservations: list[ReservationRecord] = []
    topology: list[TopologyRecord] = []
    has_nodes = has_jobs = False
    for document in documents:
        records = _read(document)
        has_nodes, has_jobs = has_nodes or records.nodes is not None, has_jobs or records.jobs is not None
        nodes += records.nodes or []
        jobs += records.jobs or []
        reservations += records.reservations or []
        topology += records.topology or []
    if not documents:
        raise SnapshotError("", f"expected at least one input: the output of {NODE_COMMAND} and {JOB_COMMAND}")
    if not (has_nodes and has_jobs):
        others = "reservations" if reservations else "switches or blocks"
        given, lacking = ("jobs", NODE_COMMAND) if has_jobs else ("nodes" if has_nodes else others, JOB_COMMAND)
        names = ", ".join(document.name for document in documents)
        raise SnapshotError(names, f"there are only {given} here; expected the output of {lacking} as well")
    return assemble(nodes, jobs, reservations, topology, options)


def _read(document: Document) -> Records:
    head = document.content.lstrip()[:1]
    records = read_json(document) if head in {b"{", b"["} else read_text(document)
    if records == Records():
        raise document.error("", refusal(document.content) if head else "the input is empty")
    return records
