"""The plain text of ``scontrol show node -d``, ``job -d``, ``reservation`` and ``topology`` as records.

A record begins with NodeName=, JobId=, ReservationName=, SwitchName= or BlockName= and goes on to the next one; the
kinds may share a file, also printed with ``-o``; a topology.conf has the last two as well, and BlockSizes=. What
users write themselves (job names, comments, commands) stands between Slurm's own fields without any quotes, so that
those fields are looked for outside of it, and a field that seems to occur twice with two values is an error, not a
choice.

A text that is cut off must not pass for a smaller cluster with more free GPUs. scontrol prints the fields of
`_NODE_ALWAYS` and `_JOB_ALWAYS` in every record, in all versions from 20.11 to 24.11, and the last of them stands
behind all that tells who holds what; a record that lacks one is cut off, as is one that lacks a field of
`_JOB_ALWAYS_OR_NEVER` which another one has. So may be a value at the very end of a text
whose last line does not end. A text cut between two records is one of fewer jobs, or nodes: what the nodes report in
use stays in use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.snapshots.model import shown
from oracle.snapshots.slurm.gres import index_count, is_nothing
from oracle.snapshots.slurm.records import (
    JobNumbers,
    JobRecord,
    NodeRecord,
    Records,
    ReservationRecord,
    TextPlace,
    TopologyRecord,
)
from oracle.snapshots.slurm.requirements import unread
from oracle.snapshots.slurm.states import state_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.document import Document

# A node names its reservation in a line of its own, too, but nothing else follows there.
_RECORD_START = re.compile(
    r"\s*(?:(NodeName|JobId|(?i:SwitchName|BlockName|AggregatedBlock|BlockSizes))=|(ReservationName)=\S+\s+StartTime=)"
)
NO_NODES = "No nodes in the system"
NO_JOBS = "No jobs in the system"
NO_RESERVATIONS = "No reservations in the system"
NO_TOPOLOGY = "No topology information available"

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
    "CPUAlloc": "alloc_cpus",
    "CPUEfctv": "effective_cpus",
    "CPUTot": "cpus",
    "RealMemory": "real_memory",
    "AllocMem": "alloc_memory",
    "MemSpecLimit": "specialized_memory",
    "AvailableFeatures": "features",
    "ActiveFeatures": "active_features",
    "ReservationName": "reservation",
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
    # What TresPerNode was called before Slurm 19.05.
    "Gres": "gres",
    "NumCPUs": "cpus",
    "ArrayTaskThrottle": "array_max_tasks",
    "ReqNodeList": "required_nodes",
    "ExcNodeList": "excluded_nodes",
    "Features": "features",
    "Reservation": "resv_name",
    "OverSubscribe": "shared",
    "Licenses": "licenses",
    "Switches": "required_switches",
    "SegmentSize": "segment_size",
    "Contiguous": "contiguous",
    "CoreSpec": "core_spec",
    "ThreadSpec": "thread_spec",
    "Network": "network",
    "GresEnforceBind": "enforce_binding",
    "ReqB:S:C:T": "cpu_layout",
    "Socks/Node": "sockets_per_node",
}
_RESERVATION_FIELDS = {"ReservationName": "resv_name", "Nodes": "node_list", "Flags": "flags", "State": "state"}
# Switches above others have Switches=, blocks of blocks are AggregatedBlock=. What base blocks are planned for is their
# BlockSize=, or the first of BlockSizes=. In topology.conf names of fields have letters of any case.
_TOPOLOGY_FIELDS = {
    "SwitchName": "switch",
    "BlockName": "block",
    "AggregatedBlock": "aggregated",
    "Nodes": "nodes",
    "Switches": "switches",
    "BlockSize": "size",
    "BlockSizes": "sizes",
}
# What a job has on the nodes of a line that begins with Nodes=.
_DETAIL_FIELDS = frozenset({"CPU_IDs", "Mem", "GRES", "GRES_IDX"})
# Fields of every record, in the order in which they are printed.
_NODE_ALWAYS = ("State", "CfgTRES", "AllocTRES")
_JOB_ALWAYS = ("JobState", "NumNodes", "MinCPUsNode")
_RESERVATION_ALWAYS = ("Nodes", "State")
# These stand behind all that tells where a job may be. Records that somebody has made shorter have none of them.
_JOB_ALWAYS_OR_NEVER = ("Features", "OverSubscribe", "Licenses", "Network")
# Free text begins here. A node has nothing else after it; a job has its TresPer... behind it when all is one line.
_NODE_FREE = frozenset({"Reason", "Comment", "Extra"})
_JOB_FREE = frozenset({
    "Command", "WorkDir", "SubmitLine", "StdErr", "StdIn", "StdOut", "Comment", "AdminComment", "SystemComment",
    "Extra",
})  # fmt: skip
_AFTER_JOB_FREE = frozenset(
    {"Switches", "SegmentSize", "GresEnforceBind", "TresPerJob", "TresPerNode", "TresPerSocket", "TresPerTask"}
)
_MEMORY = re.compile(r"[0-9]{1,15}")
_JOB_NAME = "JobName"
_AFTER_JOB_NAME = " UserId="


def _tokens(names: set[str]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\S)({alternatives})=(\S*)")


_NODE_TOKEN = _tokens({*_NODE_FIELDS, *_NODE_FREE})
_JOB_TOKEN = _tokens({*_JOB_FIELDS, *_JOB_FREE, *_DETAIL_FIELDS, _JOB_NAME, "Nodes"})
_RESERVATION_TOKEN = _tokens({*_RESERVATION_FIELDS})
_TOPOLOGY_TOKEN = re.compile(_tokens({*_TOPOLOGY_FIELDS}).pattern, re.IGNORECASE)
_TOPOLOGY_NAMES = {name.lower(): name for name in _TOPOLOGY_FIELDS}


_NAMES = frozenset({*_NODE_FIELDS, *_JOB_FIELDS, *_RESERVATION_FIELDS, *_TOPOLOGY_FIELDS, *_DETAIL_FIELDS})


@dataclass(slots=True)
class _Block:
    """One record while it is read: values by their names in Slurm's JSON, and where each of them stood."""

    place: TextPlace
    values: dict[str, str] = field(default_factory=dict[str, str])
    details: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

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
    reservations: list[ReservationRecord] = []
    topology: list[TopologyRecord] = []
    lacking: list[tuple[_Block, str]] = []
    printed: set[str] = set()
    # Only names and comments can be other than ASCII, and nothing is read from those.
    text = document.content.decode("utf-8", errors="replace")
    for block in _blocks(document, text):
        if "job_id" in block.values:
            jobs.append(_job_record(block))
            lacks = [name for name in _JOB_ALWAYS_OR_NEVER if _JOB_FIELDS[name] not in block.values]
            printed.update(set(_JOB_ALWAYS_OR_NEVER).difference(lacks))
            lacking.extend((block, name) for name in lacks[:1])
        elif "name" in block.values:
            nodes.append(_node_record(block))
        elif "resv_name" in block.values:
            reservations.append(_reservation_record(block))
        else:
            topology.extend(_topology_records(block))
    for block, name in lacking:
        if name in printed:
            _check_whole(block, f"job {block.get('job_id')}", (name,), _JOB_FIELDS)
    return Records(
        nodes=nodes if nodes or NO_NODES in text else None,
        jobs=jobs if jobs or NO_JOBS in text else None,
        reservations=reservations if reservations or NO_RESERVATIONS in text else None,
        topology=topology if topology or NO_TOPOLOGY in text else None,
    )


def _blocks(document: Document, text: str) -> Iterator[_Block]:
    block: _Block | None = None
    kind = ""
    # Not `splitlines`: users' words may have a form feed or a separator of Unicode in them.
    for number, line in enumerate(text.split("\n"), start=1):
        start = _RECORD_START.match(line)
        if start:
            if block is not None:
                yield block
            block, kind = _Block(TextPlace(document, number, {})), start[1] or start[2]
        if block is None:
            continue
        if kind == "JobId":
            _read_job_line(block, line, number)
        elif kind == "NodeName":
            _read_node_line(block, line, number)
        elif kind == "ReservationName":
            for match in _RESERVATION_TOKEN.finditer(line):
                block.set(_RESERVATION_FIELDS[match[1]], match[1], match[2], number)
        else:
            _read_topology_line(block, line.partition("#")[0], number)
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


def _read_topology_line(block: _Block, line: str, number: int) -> None:
    for match in _TOPOLOGY_TOKEN.finditer(line):
        name = _TOPOLOGY_NAMES[match[1].lower()]
        block.set(_TOPOLOGY_FIELDS[name], name, match[2], number)


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
            block.details.append({name: value})
        elif name in _DETAIL_FIELDS:
            _set_detail(block, name, value, number)
        else:
            block.set(_JOB_FIELDS[name], name, value, number)


def _set_detail(block: _Block, name: str, value: str, number: int) -> None:
    if not block.details:
        raise block.place.error("", f"{name}={value} in line {number} has no Nodes= before it")
    # Before Slurm 19.05 the name was another one.
    key = "GRES" if name == "GRES_IDX" else name
    block.details[-1][key] = value
    if key == "GRES":
        block.place.fields.setdefault("gres_detail", (name, number))


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
        cpus=block.number("effective_cpus") or block.number("cpus"),
        cpus_used=block.number("alloc_cpus"),
        memory=_less(block.number("real_memory"), block.number("specialized_memory")),
        memory_used=block.number("alloc_memory"),
        features=frozenset((block.get("active_features") or block.get("features")).split(",")) - {""},
        reservation=block.get("reservation"),
        partitions=frozenset(block.get("partitions").split(",")) - {""},
    )


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None else max(0, whole - (part or 0))


def _reservation_record(block: _Block) -> ReservationRecord:
    name = block.get("resv_name")
    if not name:
        raise block.place.error("resv_name", "expected the name of a reservation")
    _check_whole(block, f"reservation {shown(name)}", _RESERVATION_ALWAYS, _RESERVATION_FIELDS)
    return ReservationRecord(
        place=block.place,
        name=name,
        nodes=block.get("node_list"),
        flags=frozenset(block.get("flags").upper().split(",")) - {""},
        is_active=block.get("state").upper() == "ACTIVE",
    )


def _topology_records(block: _Block) -> Iterator[TopologyRecord]:
    """Yield the switch, the base block or the sizes of a record; blocks of blocks follow from these."""
    if "sizes" in block.values:
        yield TopologyRecord(place=block.place, size=_size(block))
        return
    key = "block" if "block" in block.values else "switch"
    name, nodes = block.get(key), block.get("nodes")
    if not name and "aggregated" not in block.values:
        raise block.place.error(key, f"expected the name of a {key}")
    if not nodes and not block.get("switches"):
        raise block.place.error("", f"{key} {shown(name)} has no Nodes=, which scontrol always prints; is it cut off?")
    if name:
        yield TopologyRecord(
            place=block.place,
            name=name,
            nodes=nodes,
            switches=block.get("switches"),
            is_block=key == "block",
            size=block.number("size"),
        )


def _size(block: _Block) -> int:
    """Return the first of the sizes of blocks, that of a base block: ``BlockSizes=4,8,16``."""
    sizes = block.get("sizes")
    if not re.fullmatch(r"[0-9]{1,9}(?:,[0-9]{1,9})*", sizes):
        raise block.place.error("sizes", f"expected sizes of blocks, such as 4,8,16, got {shown(sizes)}")
    return int(sizes.partition(",")[0])


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
        priority=block.number("priority") or None,
        movable=block.get("requeue") != "0" and block.get("batch_flag") != "0",
        partition=block.get("partition"),
        reservation=block.get("resv_name"),
        features=block.get("features"),
        required_nodes=block.get("required_nodes"),
        excluded_nodes=block.get("excluded_nodes"),
        nodes=block.get("nodes"),
        details=tuple((detail["Nodes"], detail.get("GRES", "")) for detail in block.details),
        shares=tuple(_share(detail) for detail in block.details),
        cpus=_first_number(block.get("cpus").partition("-")[0]),
        min_cpus=_first_number(block.get("minimum_cpus_per_node")),
        job_gres=block.get("job_gres"),
        # TRES is what both were called before Slurm 23.02.
        alloc_tres=block.get("tres_alloc_str") or block.get("tres"),
        req_tres=block.get("tres_req_str") or block.get("tres"),
        per_node=block.get("tres_per_node") or block.get("gres"),
        per_job=block.get("tres_per_job"),
        per_task=block.get("tres_per_task"),
        per_socket=block.get("tres_per_socket"),
        min_nodes=min_nodes or None,
        max_nodes=max_nodes or None,
        num_tasks=block.number("tasks") or None,
        tasks_per_node=_first_number(block.get("tasks_per_node")),
        throttle=block.number("array_max_tasks") or None,
        switches=_switches(block.get("required_switches")),
        segment=block.number("segment_size") or None,
        exclusive=block.get("shared").upper() in {"NO", "EXCLUSIVE"},
        unread=unread(_asked(block), {block.get("shared").upper()}),
    )


def _switches(text: str) -> int | None:
    """Return the number before the time that Slurm waits for it (``1@00:05:00``), None if that is no time."""
    number, _, time = text.partition("@")
    return None if time and not time.strip("0:-") else _first_number(number)


def _asked(block: _Block) -> dict[str, str]:
    """Return the fields of constraints that the snapshot cannot say."""
    tasks, layout = (block.get(key).split(":") for key in ("tasks_per_node", "cpu_layout"))
    # Boards, sockets and cores; boards, sockets, cores and threads. Newer versions put other flags behind a comma.
    apart = [part for part in (*tasks[1:], *layout) if part not in {"", "0", "*"}]
    binding = block.get("enforce_binding").partition(",")[0]
    return {**block.values, "tasks_per_socket": "".join(apart[:1]), "enforce_binding": binding}


def _share(detail: dict[str, str]) -> tuple[str, int | None, int | None]:
    memory = detail.get("Mem", "")
    return detail["Nodes"], index_count(detail.get("CPU_IDs", "")), int(memory) if _MEMORY.fullmatch(memory) else None


def _numbers(block: _Block, job_id: int) -> JobNumbers:
    # Slurm prints NO_VAL, 4294967294, for an array of which no task is left.
    tasks = block.get("array_task_string") if block.get("array_task_string") != "4294967294" else ""
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
