"""Slurm's JSON, data_parser v0.0.37 to v0.0.44, as records.

The structs name the few fields that matter; msgspec passes over the rest without building it. Every version prints
the same things in its own way: a number may be bare or wrapped in ``{"set", "infinite", "number"}``, a state may be a
word or a list, the nodes of a job's resources a hostlist, a list or a dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from oracle.snapshots.document import decode_json
from oracle.snapshots.model import shown
from oracle.snapshots.slurm.gres import is_nothing
from oracle.snapshots.slurm.records import (
    JOB_COMMAND,
    NODE_COMMAND,
    JobNumbers,
    JobRecord,
    JsonPlace,
    NodeRecord,
    Records,
    ReservationRecord,
    hosts_at,
)
from oracle.snapshots.slurm.requirements import unread
from oracle.snapshots.slurm.states import state_words
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.document import Document

# NO_VAL and INFINITE of 32 bits: how the versions without wrapped numbers say "not set".
_UNSET_FROM = 0xFFFF_FFFE
# The same of 16 bits, for the fields that have no more.
_UNSET_FROM_16_BITS = 0xFFFE
_ABSENT = msgspec.Raw()
_UNREAD = (
    "licenses", "required_switches", "contiguous", "core_spec", "thread_spec", "network", "tres_per_socket",
    "sockets_per_node", "threads_per_core", "tasks_per_socket", "tasks_per_core", "tasks_per_board",
)  # fmt: skip


class _Wrapped(msgspec.Struct, rename={"is_set": "set"}):
    is_set: bool = True
    infinite: bool = False
    number: int | float | None = None


_Number: TypeAlias = int | float | _Wrapped | None
_Words: TypeAlias = str | list[str] | None
_Flag: TypeAlias = bool | int | None


class _Node(msgspec.Struct):
    name: str | None = None
    state: _Words = None
    state_flags: _Words = None
    gres: str | None = None
    gres_used: str | None = None
    gres_drained: str | None = None
    tres: str | None = None
    tres_used: str | None = None
    partitions: _Words = None
    alloc_cpus: _Number = None
    effective_cpus: _Number = None
    cpus: _Number = None
    real_memory: _Number = None
    alloc_memory: _Number = None
    specialized_memory: _Number = None
    features: _Words = None
    active_features: _Words = None
    reservation: str | None = None


class _CountedCpus(msgspec.Struct):
    count: int | None = None


class _AllocatedMemory(msgspec.Struct):
    allocated: int | None = None


class _AllocatedNode(msgspec.Struct):
    name: str | None = None
    nodename: str | None = None
    cpus: _CountedCpus | int | None = None
    memory: _AllocatedMemory | int | None = None
    memory_allocated: int | None = None


class _ResourceNodes(msgspec.Struct, rename={"hosts": "list"}):
    hosts: str | None = None
    allocation: list[_AllocatedNode] | None = None


class _JobResources(msgspec.Struct):
    nodes: str | _ResourceNodes | None = None
    allocated_nodes: list[_AllocatedNode] | dict[str, _AllocatedNode] | None = None


class _Job(msgspec.Struct):
    job_id: _Number = None
    job_state: _Words = None
    state_reason: str | None = None
    state_description: str | None = None
    hold: _Flag = None
    priority: _Number = None
    requeue: _Flag = None
    batch_flag: _Flag = None
    partition: str | None = None
    resv_name: str | None = None
    features: str | None = None
    required_nodes: _Words = None
    excluded_nodes: _Words = None
    # These have had other types in every other version.
    shared: object = None
    exclusive: object = None
    licenses: object = None
    contiguous: object = None
    core_spec: object = None
    thread_spec: object = None
    network: object = None
    flags: object = None
    sockets_per_node: object = None
    threads_per_core: object = None
    tasks_per_socket: object = None
    tasks_per_core: object = None
    tasks_per_board: object = None
    cpus: _Number = None
    minimum_cpus_per_node: _Number = None
    nodes: str | None = None
    node_count: _Number = None
    max_nodes: _Number = None
    tasks: _Number = None
    tasks_per_node: _Number = None
    job_resources: _JobResources | None = None
    gres_detail: list[str] | None = None
    tres_alloc_str: str | None = None
    tres_req_str: str | None = None
    tres_per_node: str | None = None
    tres_per_job: str | None = None
    tres_per_task: str | None = None
    tres_per_socket: str | None = None
    array_job_id: _Number = None
    array_task_id: _Number = None
    array_task_string: str | None = None
    array_max_tasks: _Number = None
    required_switches: _Number = None
    maximum_switch_wait_time: _Number = None
    segment_size: _Number = None
    het_job_id: _Number = None
    het_job_offset: _Number = None


class _Reservation(msgspec.Struct):
    name: str | None = None
    node_list: str | None = None
    flags: _Words = None


class _Fault(msgspec.Struct):
    description: str | None = None
    error: str | None = None


class _Probe(msgspec.Struct):
    """The keys that tell what a document is; `Raw` leaves their values undecoded, however large."""

    nodes: msgspec.Raw = _ABSENT
    jobs: msgspec.Raw = _ABSENT
    job_id: msgspec.Raw = _ABSENT
    name: msgspec.Raw = _ABSENT
    reservations: msgspec.Raw = _ABSENT
    sinfo: msgspec.Raw = _ABSENT
    errors: list[_Fault | str] | None = None


class _Output(msgspec.Struct):
    nodes: list[_Node] | None = None
    jobs: list[_Job] | None = None
    reservations: list[_Reservation] | None = None


def read_json(document: Document) -> Records:
    """Return the nodes and the jobs of a JSON document: an output of Slurm, or a single node or job out of one.

    Raises
    ------
    SnapshotError
        Malformed JSON, an output of Slurm that reports an error or is another command's, or a malformed record; with
        the path to the item.
    """
    if document.content.lstrip().startswith(b"["):
        problem = f"is a JSON array, expected the whole output of {NODE_COMMAND} or {JOB_COMMAND}"
        raise document.error("", problem)
    probe = decode_json(document, _Probe)
    if probe.errors:
        first = probe.errors[0]
        text = first if isinstance(first, str) else first.description or first.error or ""
        raise document.error("errors[0]", f"Slurm itself reports an error, so this is no full answer: {shown(text)}")
    # A job has "nodes" too (a hostlist), so that "job_id" is asked first.
    if _present(probe.job_id):
        return Records(jobs=[_job_record(document, "", decode_json(document, _Job))])
    if any(map(_present, (probe.nodes, probe.jobs, probe.reservations))):
        return _read_output(document, decode_json(document, _Output))
    if _present(probe.name):
        return Records(nodes=[_node_record(document, "", decode_json(document, _Node))])
    seems = (
        "this seems to be the output of `sinfo --json`" if _present(probe.sinfo) else 'there is no "nodes" or "jobs"'
    )
    raise document.error("", f"{seems}; expected the output of {NODE_COMMAND} or {JOB_COMMAND}")


def _present(value: msgspec.Raw) -> bool:
    return len(memoryview(value)) > 0


def _read_output(document: Document, output: _Output) -> Records:
    nodes, jobs, found = output.nodes, output.jobs, output.reservations
    return Records(
        nodes=None if nodes is None else [_node_record(document, f"nodes[{n}]", x) for n, x in enumerate(nodes)],
        jobs=None if jobs is None else [_job_record(document, f"jobs[{j}]", x) for j, x in enumerate(jobs)],
        reservations=None if found is None else [_reservation_record(document, r, x) for r, x in enumerate(found)],
    )


def _reservation_record(document: Document, number: int, reservation: _Reservation) -> ReservationRecord:
    place = JsonPlace(document, f"reservations[{number}]")
    if not reservation.name:
        raise place.error("name", "expected the name of a reservation")
    flags = frozenset(word.upper() for word in _words(reservation.flags))
    return ReservationRecord(place=place, name=reservation.name, nodes=reservation.node_list or "", flags=flags)


def _node_record(document: Document, path: str, node: _Node) -> NodeRecord:
    place = JsonPlace(document, path)
    if not node.name:
        raise place.error("name", "expected the name of a node")
    if node.state is None:
        raise place.error("state", f"expected the state of node {node.name}, as {NODE_COMMAND} prints it")
    return NodeRecord(
        place=place,
        name=node.name,
        states=state_words([*_words(node.state), *_words(node.state_flags)]),
        gres=node.gres or "",
        gres_used=None if is_nothing(node.gres_used) else node.gres_used,
        gres_drained=node.gres_drained or "",
        tres=node.tres or "",
        tres_used=node.tres_used or "",
        cpus=_number(place, "effective_cpus", node.effective_cpus) or _number(place, "cpus", node.cpus),
        cpus_used=_number(place, "alloc_cpus", node.alloc_cpus),
        memory=_memory(place, node),
        memory_used=_number(place, "alloc_memory", node.alloc_memory),
        features=frozenset(",".join(_words(node.active_features) or _words(node.features)).split(",")) - {""},
        reservation=node.reservation or "",
        partitions=frozenset(",".join(_words(node.partitions)).split(",")) - {""},
    )


def _memory(place: JsonPlace, node: _Node) -> int | None:
    whole = _number(place, "real_memory", node.real_memory)
    return (
        None if whole is None else max(0, whole - (_number(place, "specialized_memory", node.specialized_memory) or 0))
    )


def _job_record(document: Document, path: str, job: _Job) -> JobRecord:
    place = JsonPlace(document, path)
    job_id = _number(place, "job_id", job.job_id)
    if job_id is None:
        raise place.error("job_id", "expected the number of a job")
    if job.job_state is None:
        problem = f"expected the state of job {job_id}, as {JOB_COMMAND} prints it (`sacct --json` prints other things)"
        raise place.error("job_state", problem)
    priority = _number(place, "priority", job.priority)
    sharing = _loose_words(job.shared, job.exclusive)
    return JobRecord(
        place=place,
        numbers=_numbers(place, job_id, job),
        states=state_words(_words(job.job_state)),
        # The text has the description instead of the reason, too.
        reason=job.state_description or job.state_reason or "",
        held=bool(job.hold) or priority == 0,
        priority=priority or None,
        # Slurm moves a job by requeueing it, which it does with batch jobs only, and not with those that forbid it.
        movable=not _is_off(job.requeue) and not _is_off(job.batch_flag),
        partition=job.partition or "",
        reservation=job.resv_name or "",
        features=job.features or "",
        required_nodes=",".join(_words(job.required_nodes)),
        excluded_nodes=",".join(_words(job.excluded_nodes)),
        nodes=job.nodes or "",
        details=_details(place, job),
        shares=_shares(job),
        cpus=_number(place, "cpus", job.cpus) or None,
        min_cpus=_number(place, "minimum_cpus_per_node", job.minimum_cpus_per_node) or None,
        alloc_tres=job.tres_alloc_str or "",
        req_tres=job.tres_req_str or "",
        per_node=job.tres_per_node or "",
        per_job=job.tres_per_job or "",
        per_task=job.tres_per_task or "",
        per_socket=job.tres_per_socket or "",
        min_nodes=_number(place, "node_count", job.node_count) or None,
        max_nodes=_number(place, "max_nodes", job.max_nodes) or None,
        num_tasks=_number(place, "tasks", job.tasks) or None,
        tasks_per_node=_small(_number(place, "tasks_per_node", job.tasks_per_node)),
        throttle=_number(place, "array_max_tasks", job.array_max_tasks) or None,
        switches=_switches(place, job),
        segment=_small(_number(place, "segment_size", job.segment_size)),
        exclusive=bool({"NONE", "TRUE"} & sharing),
        unread=unread(_asked(job), sharing),
    )


def _switches(place: JsonPlace, job: _Job) -> int | None:
    waits = _number(place, "maximum_switch_wait_time", job.maximum_switch_wait_time) != 0
    return (_number(place, "required_switches", job.required_switches) or None) if waits else None


def _asked(job: _Job) -> dict[str, str]:
    """Return the fields of constraints that the snapshot cannot say."""
    binding = "Yes" if "GRES_BINDING_ENFORCED" in _loose_words(job.flags) else ""
    return {**{key: _plain(getattr(job, key)) for key in _UNREAD}, "enforce_binding": binding}


def _loose_words(*values: object) -> set[str]:
    """Return the words in values of any type; what is neither a word nor a list of some says nothing."""
    listed = [
        value for value in values for value in (cast("list[object]", value) if isinstance(value, list) else [value])
    ]
    return {str(value).upper() for value in listed if isinstance(value, (str, bool))}


def _plain(value: object) -> str:
    """Return a value of any type as the text prints it; empty where it is not set."""
    if isinstance(value, dict):
        wrapped = cast("dict[str, object]", value)
        value = wrapped.get("number") if wrapped.get("set") and not wrapped.get("infinite") else None
    return (
        ""
        if value is None or isinstance(value, (list, dict))
        else str(int(value) if isinstance(value, bool) else value)
    )


def _numbers(place: JsonPlace, job_id: int, job: _Job) -> JobNumbers:
    task = _number(place, "array_task_id", job.array_task_id)
    return JobNumbers(
        job_id=job_id,
        array_id=_number(place, "array_job_id", job.array_job_id) or None,
        task=task,
        tasks=(job.array_task_string or "") if task is None else "",
        het_id=_number(place, "het_job_id", job.het_job_id) or None,
        het_offset=_number(place, "het_job_offset", job.het_job_offset),
    )


def _words(value: _Words) -> Sequence[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


def _is_off(flag: _Flag) -> bool:
    return flag is not None and not flag


def _number(place: JsonPlace, key: str, value: _Number) -> int | None:
    """Return a whole number, None where it is not set or infinite."""
    if isinstance(value, _Wrapped):
        value = value.number if value.is_set and not value.infinite else None
    if value is None or value >= _UNSET_FROM:
        return None
    if value != int(value) or value < 0:
        raise place.error(key, f"expected a whole number, got {shown(value)}")
    return int(value)


def _small(value: int | None) -> int | None:
    return None if value is None or value >= _UNSET_FROM_16_BITS else value or None


def _shares(job: _Job) -> tuple[tuple[str, int | None, int | None], ...]:
    """Return the CPUs and the memory that the job has on each node, as far as they are there."""
    return tuple((node.name or node.nodename or "", _cpus(node), _allocated(node)) for node in _allocation(job))


def _cpus(node: _AllocatedNode) -> int | None:
    return node.cpus.count if isinstance(node.cpus, _CountedCpus) else node.cpus


def _allocated(node: _AllocatedNode) -> int | None:
    return node.memory.allocated if isinstance(node.memory, _AllocatedMemory) else node.memory_allocated


def _details(place: JsonPlace, job: _Job) -> tuple[tuple[str, str], ...]:
    """Return what the job has on each node: gres_detail has one text a node, in the order of the job's resources."""
    if not job.gres_detail:
        return ()
    hosts = _resource_hosts(place, job)
    if len(hosts) != len(job.gres_detail):
        problem = (
            f"expected one entry for each of the {count(len(hosts), 'node')} of the job, got {len(job.gres_detail)}"
        )
        raise place.error("gres_detail", problem)
    return tuple(zip(hosts, job.gres_detail, strict=True))


def _resource_hosts(place: JsonPlace, job: _Job) -> tuple[str, ...]:
    """Return the job's nodes in the order of its resources.

    While a job ends, `nodes` may be fewer: the nodes where it still ends. The resources keep all of them.
    """
    names = [node.name or node.nodename for node in _allocation(job)]
    if names and all(names):
        return tuple(name for name in names if name)
    resources = job.job_resources or _JobResources()
    hosts = resources.nodes.hosts if isinstance(resources.nodes, _ResourceNodes) else resources.nodes
    if hosts:
        return hosts_at(place, "job_resources.nodes", hosts)
    return hosts_at(place, "nodes", job.nodes or "")


def _allocation(job: _Job) -> Sequence[_AllocatedNode]:
    """Return the nodes of a job's resources one by one, in their order; none where they are a hostlist only."""
    resources = job.job_resources or _JobResources()
    inner = resources.nodes if isinstance(resources.nodes, _ResourceNodes) else _ResourceNodes()
    listed = inner.allocation or resources.allocated_nodes or []
    return list(listed.values()) if isinstance(listed, dict) else listed
