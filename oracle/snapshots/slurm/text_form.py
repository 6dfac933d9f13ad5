"""The plain text of ``scontrol show node -d`` and ``scontrol show job -d`` as records, also with ``-o``.

A record begins with NodeName= or JobId= and goes on to the next one; the two kinds may share a file. What users write
themselves (job names, comments, commands) stands between Slurm's own fields without any quotes, so that those fields
are looked for outside of it, and a field that seems to occur twice with two values is an error, not a choice.

A text that is cut off must not pass for a smaller cluster with more free GPUs. scontrol prints the fields of
`_NODE_ALWAYS` and `_JOB_ALWAYS` in every record, in all versions from 20.11 to 24.11, and the last of them stands
behind all that tells who holds what; a record that lacks one is cut off. So may be a value at the very end of a text
whose last line does not end. A text cut between two records is one of fewer jobs, or nodes: what the nodes report in
use stays in use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.snapshots.model import shown
from oracle.snapshots.slurm.gres import is_nothing
from oracle.snapshots.slurm.records import JobNumbers, JobRecord, NodeRecord, Records, TextPlace
from oracle.snapshots.slurm.states import state_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.document import Document

_RECORD_START = re.compile(r"\s*(NodeName|JobId)=")
NO_NODES = "No nodes in the system"
NO_JOBS = "No jobs in the system"

# Slurm's names of the fields that matter, and the names they have in its JSON.
_NODE_FIELDS = {
    "NodeName": "name",
    "State": "state",
    "Gres": "gres",
    "GresUsed": "gres_used",
    "GresDrain": "gres_drained",
    "CfgTRES": "tres",
    "AllocTRES": "tres_used",
    "Partitions": "partitions",
}
_JOB_FIELDS = {
    "JobId": "job_id",
    "ArrayJobId": "array_job_id",
    "ArrayTaskId": "array_task_string",
    "HetJobId": "het_job_id",
    "HetJobOffset": "het_job_offset",
    "Priority": "priority",
    "JobState": "job_state",
    "Reason": "state_reason",
    "Requeue": "requeue",
    "BatchFlag": "batch_flag",
    "Partition": "partition",
    "NodeList": "nodes",
    "NumNodes": "node_count",
    "NumTasks": "tasks",
    "TRES": "tres",
    "ReqTRES": "tres_req_str",
    "AllocTRES": "tres_alloc_str",
    "NtasksPerN:B:S:C": "tasks_per_node",
    "JOB_GRES": "job_gres",
    "MinCPUsNode": "minimum_cpus_per_node",
    "TresPerJob": "tres_per_job",
    "TresPerNode": "tres_per_node",
    "TresPerSocket": "tres_per_socket",
    "TresPerTask": "tres_per_task",
}
# Fields of every record, in the order in which they are printed.
_NODE_ALWAYS = ("State", "CfgTRES", "AllocTRES")
_JOB_ALWAYS = ("JobState", "NumNodes", "MinCPUsNode")
# Free text begins here. A node has nothing else after it; a job has its TresPer... behind it when all is one line.
_NODE_FREE = frozenset({"Reason", "Comment", "Extra"})
_JOB_FREE = frozenset({
    "Command", "WorkDir", "SubmitLine", "StdErr", "StdIn", "StdOut", "Comment", "AdminComment", "SystemComment",
    "Extra",
})  # fmt: skip
_AFTER_JOB_FREE = frozenset({"TresPerJob", "TresPerNode", "TresPerSocket", "TresPerTask"})
_JOB_NAME = "JobName"
_AFTER_JOB_NAME = " UserId="


def _tokens(names: set[str]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\S)({alternatives})=(\S*)")


_NODE_TOKEN = _tokens({*_NODE_FIELDS, *_NODE_FREE})
_JOB_TOKEN = _tokens({*_JOB_FIELDS, *_JOB_FREE, _JOB_NAME, "Nodes", "GRES"})


_NAMES = frozenset({*_NODE_FIELDS, *_JOB_FIELDS, "Nodes", "GRES"})


@dataclass(slots=True)
class _Block:
    """One record while it is read: values by their names in Slurm's JSON, and where each of them stood."""

    place: TextPlace
    values: dict[str, str] = field(default_factory=dict[str, str])
    details: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def set(self, key: str, name: str, value: str, line: int) -> None:
        """Take a value; a second one for the same field must be the same."""
        if self.values.setdefault(key, value) != value:
            self.place.fields[key] = (name, line)
            problem = (
                f"a second value {shown(value)} beside {shown(self.values[key])}; is it part of a name or a comment?"
            )
            raise self.place.error(key, problem)
        self.place.fields.setdefault(key, (name, line))

    def get(self, key: str) -> str:
        """Return a value, empty where there is none or Slurm printed a placeholder."""
        value = self.values.get(key, "")
        return "" if is_nothing(value) else value

    def number(self, key: str) -> int | None:
        """Return a value as a whole number, None where there is none."""
        value = self.get(key)
        if not value or value == "*":
            return None
        if not re.fullmatch(r"[0-9]{1,18}", value):
            raise self.place.error(key, f"expected a whole number, got {shown(value)}")
        return int(value)


def read_text(document: Document) -> Records:
    """Return the nodes and the jobs in the text that scontrol prints.

    Raises
    ------
    SnapshotError
        A record is malformed or cut off; with the number of the line. A text without any record has no nodes and no
        jobs, and is for the caller to refuse.
    """
    nodes: list[NodeRecord] = []
    jobs: list[JobRecord] = []
    # Only names and comments can be other than ASCII, and nothing is read from those.
    text = document.content.decode("utf-8", errors="replace")
    for block in _blocks(document, text):
        if "job_id" in block.values:
            jobs.append(_job_record(block))
        else:
            nodes.append(_node_record(block))
    return Records(
        nodes=nodes if nodes or NO_NODES in text else None,
        jobs=jobs if jobs or NO_JOBS in text else None,
    )


def _blocks(document: Document, text: str) -> Iterator[_Block]:
    block: _Block | None = None
    is_job = False
    # Not `splitlines`: users' words may have a form feed or a separator of Unicode in them.
    for number, line in enumerate(text.split("\n"), start=1):
        start = _RECORD_START.match(line)
        if start:
            if block is not None:
                yield block
            block, is_job = _Block(TextPlace(document, number, {})), start[1] == "JobId"
        if block is None:
            continue
        if is_job:
            _read_job_line(block, line, number)
        else:
            _read_node_line(block, line, number)
    if block is not None:
        _check_last_word(document, text)
        yield block


def _check_last_word(document: Document, text: str) -> None:
    """Refuse a text that stops without a line end in a field that matters, or in what could be the name of one."""
    lines = text.split("\n")
    if not lines[-1] or lines[-1][-1].isspace():
        return
    word = lines[-1].split()[-1]
    name, equals, _ = word.partition("=")
    if name in _NAMES if equals else any(known.startswith(word) for known in _NAMES):
        problem = f"the text seems to be cut off in {shown(word)}: its last line has no end; print it again"
        raise document.error(f"line {len(lines)}", problem)


def _check_whole(block: _Block, what: str, always: tuple[str, ...], names: dict[str, str]) -> None:
    for name in always:
        if names[name] not in block.values:
            raise block.place.error("", f"{what} has no {name}=, which scontrol always prints; is the text cut off?")


def _read_node_line(block: _Block, line: str, number: int) -> None:
    for match in _NODE_TOKEN.finditer(line):
        name, value = match.groups()
        if name in _NODE_FREE:
            return
        block.set(_NODE_FIELDS[name], name, value, number)


def _read_job_line(block: _Block, line: str, number: int) -> None:
    position, in_free_text = 0, False
    while match := _JOB_TOKEN.search(line, position):
        name, value = match.groups()
        position = match.end()
        if name == _JOB_NAME:
            position = line.find(_AFTER_JOB_NAME, match.end(1))
            if position < 0:
                return
        elif name in _JOB_FREE:
            in_free_text = True
        elif in_free_text and name not in _AFTER_JOB_FREE:
            continue
        elif name == "Nodes":
            block.details.append((value, ""))
        elif name == "GRES":
            _set_detail(block, value, number)
        else:
            block.set(_JOB_FIELDS[name], name, value, number)


def _set_detail(block: _Block, gres: str, number: int) -> None:
    if not block.details:
        raise block.place.error("", f"GRES={gres} in line {number} has no Nodes= before it")
    block.details[-1] = (block.details[-1][0], gres)
    block.place.fields.setdefault("gres_detail", ("GRES", number))


def _node_record(block: _Block) -> NodeRecord:
    name = block.get("name")
    if not name:
        raise block.place.error("name", "expected the name of a node")
    _check_whole(block, f"node {shown(name)}", _NODE_ALWAYS, _NODE_FIELDS)
    if not block.get("state"):
        raise block.place.error("state", f"expected the state of node {shown(name)}")
    return NodeRecord(
        place=block.place,
        name=name,
        states=state_words([block.get("state")]),
        gres=block.get("gres"),
        gres_used=block.get("gres_used") or None,
        gres_drained=block.get("gres_drained"),
        tres=block.get("tres"),
        tres_used=block.get("tres_used"),
        partitions=frozenset(block.get("partitions").split(",")) - {""},
    )


def _job_record(block: _Block) -> JobRecord:
    job_id = block.number("job_id")
    if job_id is None:
        raise block.place.error("job_id", "expected the number of a job")
    _check_whole(block, f"job {job_id}", _JOB_ALWAYS, _JOB_FIELDS)
    if not block.get("job_state"):
        raise block.place.error("job_state", f"expected the state of job {job_id}")
    min_nodes, max_nodes = _node_range(block)
    return JobRecord(
        place=block.place,
        numbers=_numbers(block, job_id),
        states=state_words([block.get("job_state")]),
        reason=block.get("state_reason"),
        held=block.get("priority") == "0",
        movable=block.get("requeue") != "0" and block.get("batch_flag") != "0",
        partition=block.get("partition"),
        nodes=block.get("nodes"),
        details=tuple(block.details),
        job_gres=block.get("job_gres"),
        # TRES is what both were called before Slurm 23.02.
        alloc_tres=block.get("tres_alloc_str") or block.get("tres"),
        req_tres=block.get("tres_req_str") or block.get("tres"),
        per_node=block.get("tres_per_node"),
        per_job=block.get("tres_per_job"),
        per_task=block.get("tres_per_task"),
        per_socket=block.get("tres_per_socket"),
        min_nodes=min_nodes or None,
        max_nodes=max_nodes or None,
        num_tasks=block.number("tasks") or None,
        tasks_per_node=_first_number(block.get("tasks_per_node")),
    )


def _numbers(block: _Block, job_id: int) -> JobNumbers:
    tasks = block.get("array_task_string")
    is_one = re.fullmatch(r"[0-9]{1,9}", tasks) is not None
    return JobNumbers(
        job_id=job_id,
        array_id=block.number("array_job_id") or None,
        task=int(tasks) if is_one else None,
        tasks="" if is_one else tasks,
        het_id=block.number("het_job_id") or None,
        het_offset=block.number("het_job_offset"),
    )


def _node_range(block: _Block) -> tuple[int | None, int | None]:
    """Return the least and the largest number of nodes: ``NumNodes=4`` leaves the upper end open, ``2-4`` does not."""
    text = block.get("node_count")
    match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    if text and match is None:
        raise block.place.error("node_count", f"expected a number of nodes or a range, got {shown(text)}")
    if match is None:
        return None, None
    return int(match[1]), int(match[2]) if match[2] else None


def _first_number(text: str) -> int | None:
    """Return the number before the first colon (``8:0:*:*``), None where it is 0 or ``*``."""
    first = text.partition(":")[0]
    return int(first) or None if re.fullmatch(r"[0-9]{1,9}", first) else None
