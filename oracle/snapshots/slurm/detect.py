"""Which inputs are Slurm's, and what to say of those that are but cannot be used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oracle.snapshots.slurm.records import JOB_COMMAND, NODE_COMMAND
from oracle.snapshots.slurm.text_form import NO_JOBS, NO_NODES, NO_RESERVATIONS, NO_TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Mapping

# Headings and hundreds of rows: a large file is not searched to its end for words that it does not have.
_HEAD_BYTES = 65_536
_RECORD = re.compile(
    rb"^\s*(?:(?:NodeName|JobId|(?i:SwitchName|BlockName|BlockSizes))=|ReservationName=\S+\s+StartTime=)", re.MULTILINE
)
_EMPTY = re.compile(f"^(?:{NO_NODES}|{NO_JOBS}|{NO_RESERVATIONS}|{NO_TOPOLOGY})".encode(), re.MULTILINE)
_OTHER_RECORD = re.compile(rb"^\s*(Partition|Reservation|Step|License|Burst)\w*=", re.MULTILINE)
_NATIVE_KEYS = frozenset({"schema", "pending"})
_KUBERNETES_KEYS = frozenset({"kind", "apiVersion", "items"})

# Words of Slurm's tables that hardly stand together in anything else: headings first, then the states in a column of
# their own, since many tables are printed without headings.
_HEADINGS = {
    "sacct": re.compile(rb"\A[^\n]*\bJobIDRaw\b|\A[^\n]*\bJobID\b[^\n]*\b(?:AllocTRES|Elapsed|ExitCode)\b"),
    "sinfo": re.compile(
        rb"\A[^\n]*\b(?:NODELIST|HOSTNAMES?|NODES)\b[^\n]*\bSTATE\b|\A[^\n]*\bSTATE\b[^\n]*\bNODELIST\b"
    ),
    "squeue": re.compile(rb"\A[^\n]*\bJOBID\b[^\n]*\b(?:ST|STATE|NODELIST)\b"),
}
_COLUMN = rb"(?:^|[|\t ])[#]?(?:%s)[*~#!%%$@^-]?\s*(?:[|\t ]|$)"
_JOB_COLUMN = re.compile(_COLUMN % rb"RUNNING|PENDING|COMPLETED|COMPLETING|CANCELLED|FAILED|TIMEOUT", re.MULTILINE)
_NODE_COLUMN = re.compile(
    _COLUMN % rb"(?:idle|mix|mixed|alloc|allocated|down|drain|drained|draining)(?:\+[a-z]+)*", re.MULTILINE
)
_SACCT_ROW = re.compile(
    rb"^[0-9_]+\|[0-9_.a-z]+\|[^\n]*(?:RUNNING|PENDING|COMPLETED)\|[0-9]{4}-|\|(?:Unknown)\|", re.MULTILINE
)
_SEPARATED = re.compile(rb"^[^\n]*(?:\||\S +\S)", re.MULTILINE)


def is_slurm_json(probe: Mapping[str, object]) -> bool:
    """Return whether the top-level keys of a JSON object are those of Slurm's output, or of one node or job in it.

    The native format has "nodes" and "jobs" as well; its "schema" tells it apart.
    """
    keys = probe.keys()
    if keys & _NATIVE_KEYS or keys & _KUBERNETES_KEYS:
        return False
    return bool(keys & {"nodes", "jobs", "reservations", "job_id", "sinfo"}) or {"name", "gres"} <= keys


def is_slurm_text(head: bytes) -> bool:
    """Return whether a text begins like one that scontrol, sinfo, squeue or sacct print.

    The tables of the last three are no snapshots. They are recognised so that `read_slurm` can say what to print
    instead.
    """
    head = head[:_HEAD_BYTES]
    return is_scontrol_text(head) or other_output(head) is not None


def is_scontrol_text(head: bytes) -> bool:
    """Return whether a text has records of nodes or jobs, or says that there are none."""
    return _RECORD.search(head) is not None or _EMPTY.search(head) is not None


def other_output(head: bytes) -> str | None:
    """Return which output of Slurm that cannot be read a text seems to be, None if it seems to be none."""
    other = _OTHER_RECORD.search(head)
    if other:
        return f"`scontrol show {other[1].decode().lower()}`"
    if head.lstrip()[:1] in {b"{", b"["} or not _SEPARATED.search(head):
        return None
    for command, heading in _HEADINGS.items():
        if heading.search(head):
            return f"`{command}`"
    if _JOB_COLUMN.search(head):
        return "`sacct`" if _SACCT_ROW.search(head) else "`squeue`"
    return "`sinfo`" if _NODE_COLUMN.search(head) else None


def refusal(head: bytes) -> str:
    """Return what to say of an input that has no node and no job that could be read."""
    seems = other_output(head[:_HEAD_BYTES])
    what = f"this seems to be the output of {seems}, which does not say" if seems else "nothing here says"
    return f"{what} which job holds which GPUs; print {NODE_COMMAND} and {JOB_COMMAND} instead"
