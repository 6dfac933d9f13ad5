"""What waiting jobs ask for, as so many instances of so many GPUs; what a request leaves open stays open.

Slurm takes requests for GPUs per node, per task, per socket and per job. The oracle knows one shape, equal instances
on different nodes. A request that can be met in other shapes, too, is no such job, and is listed with the reason: GPUs
in all or per task, without an upper end for the nodes, are on as many nodes as Slurm finds them on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.snapshots.model import shown
from oracle.snapshots.slurm.gres import UNTYPED, Devices
from oracle.snapshots.slurm.records import gres_at, tres_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle.snapshots.model import SnapshotError
    from oracle.snapshots.slurm.records import JobRecord

# Tasks of waiting arrays in one snapshot. Slurm's own limit for one array is 4,000,001 (MaxArraySize); with a million
# in all, an input of a few bytes cannot fill the memory, and arrays of 10,000 tasks are far below.
MAX_WAITING_TASKS = 1_000_000

_TASKS = re.compile(r"\[?(?P<ranges>[0-9,:-]+)(?:%(?P<most>[0-9]{1,9}))?\]?")
_RANGE = re.compile(r"(?P<low>[0-9]{1,9})(?:-(?P<high>[0-9]{1,9})(?::(?P<step>[1-9][0-9]{0,8}))?)?")


@dataclass(frozen=True, slots=True)
class Shape:
    """A request of `instances` nodes with `gpus` GPUs on each, of these numbers by type; the rest of any type."""

    instances: int
    gpus: int
    types: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NoShape:
    """A request that is not to be listed as a waiting job, and why."""

    reason: str


NO_GPUS = NoShape("jobs without GPUs")
_MIG = NoShape("waiting jobs for MIG devices, which are no whole GPUs")
_SHARES = NoShape("waiting jobs for MPS or shard, which are no whole GPUs")
TYPES = NoShape("waiting jobs that ask for several types of GPU at once")
_SOCKETS = NoShape("waiting jobs that ask for GPUs per socket")
_NODES = NoShape("waiting jobs whose number of nodes is open")
_UNEVEN = NoShape("waiting jobs whose GPUs do not divide evenly over their nodes")
_CONTRADICTION = NoShape("waiting jobs whose requests per node and per job do not agree")


def shape_of(job: JobRecord) -> Shape | NoShape:
    """Return the shape of a waiting job's request, or why it has none.

    Raises
    ------
    SnapshotError
        A field is malformed.
    """
    per_node = gres_at(job.place, "tres_per_node", job.per_node)
    per_job = gres_at(job.place, "tres_per_job", job.per_job)
    per_task = gres_at(job.place, "tres_per_task", job.per_task)
    per_socket = gres_at(job.place, "tres_per_socket", job.per_socket)
    requests = [per_node, per_job, per_task, per_socket]
    if not any(requests):
        # ReqTRES is Slurm's estimate for accounting, so that it counts only where there is no request to read.
        per_job = tres_at(job.place, "tres_req_str", job.req_tres)
        requests = [per_job]
    unfit = _unfit(requests, per_socket)
    if unfit is not None:
        return unfit
    if per_node.gpus:
        counted = _of_nodes(job, per_node.gpus, per_job.gpus)
    else:
        counted = _of_total(job, per_job.gpus, per_task.gpus)
    if isinstance(counted, NoShape):
        return counted
    instances, gpus = counted
    types = {type_ for devices in requests for type_ in devices.whole} - {UNTYPED}
    named = per_node.whole if per_node.whole.keys() & types else dict.fromkeys(types, gpus)
    return Shape(instances, gpus, {type_: count for type_, count in named.items() if type_ != UNTYPED and count})


def _unfit(requests: list[Devices], per_socket: Devices) -> NoShape | None:
    if not any(requests):
        return NO_GPUS
    if any(devices.slices for devices in requests):
        return _MIG
    if any(devices.units for devices in requests):
        return _SHARES
    types = [devices.whole.keys() - {UNTYPED} for devices in requests if devices]
    if len(set[str]().union(*types)) > 1 and len(types) > 1:
        return TYPES
    return _SOCKETS if per_socket.gpus else None


def _of_nodes(job: JobRecord, per_node: int, per_job: int) -> tuple[int, int] | NoShape:
    nodes = _node_count(job)
    if per_job:
        # Both are given: their ratio is the number of nodes, which then cannot be anything else.
        if per_job % per_node or (nodes not in {None, 1, per_job // per_node}):
            return _CONTRADICTION
        nodes = per_job // per_node
    return _NODES if nodes is None else (nodes, per_node)


def _of_total(job: JobRecord, per_job: int, per_task: int) -> tuple[int, int] | NoShape:
    nodes = _node_count(job)
    if per_task:
        if job.num_tasks is None:
            return NoShape("waiting jobs that ask for GPUs per task and do not say how many tasks")
        if per_job not in {0, per_task * job.num_tasks}:
            return _CONTRADICTION
        per_job = per_task * job.num_tasks
    if nodes is None:
        return _NODES
    if per_job % nodes or (per_task and (per_job // nodes) % per_task):
        return _UNEVEN
    # Slurm prints one node for `--gpus=16` and gives more if need be; but never more than there are GPUs, or tasks.
    if job.max_nodes is None and per_job // (per_task or 1) > nodes:
        return _NODES
    return nodes, per_job // nodes


def _node_count(job: JobRecord) -> int | None:
    """Return the number of nodes if it is settled; ``2-4`` is not."""
    if job.min_nodes is None or (job.max_nodes is not None and job.max_nodes > job.min_nodes):
        return None
    return job.min_nodes


def array_tasks(job: JobRecord, limit: int) -> range | list[int] | NoShape | None:
    """Return the numbers of an array's waiting tasks, at most `limit`; None for a job that is no such array.

    ``1-10%4`` are ten tasks, however many of them may run at a time (`at_a_time`).

    Raises
    ------
    SnapshotError
        The list of tasks is malformed.
    """
    text = job.numbers.tasks
    if not text:
        return None
    match = _TASKS.fullmatch(text)
    if match is None:
        # Slurm cuts long lists off with "..." unless SLURM_BITSTR_LEN=0 is set.
        if "..." in text:
            return NoShape("waiting arrays whose list of tasks is cut off: print it with SLURM_BITSTR_LEN=0")
        raise _no_tasks(job)
    ranges = list(_task_ranges(job, match["ranges"]))
    if sum(map(len, ranges)) > limit:
        return NoShape(f"waiting arrays beyond {MAX_WAITING_TASKS} tasks in all")
    return ranges[0] if len(ranges) == 1 else [task for tasks in ranges for task in tasks]


def at_a_time(job: JobRecord) -> int | None:
    """Return how many tasks of its array may run at a time, None for any number."""
    match = _TASKS.fullmatch(job.numbers.tasks)
    return job.throttle or (int(match["most"] or 0) or None if match else None)


def _task_ranges(job: JobRecord, text: str) -> Iterator[range]:
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None or int(match["high"] or match["low"]) < int(match["low"]):
            raise _no_tasks(job)
        yield range(int(match["low"]), int(match["high"] or match["low"]) + 1, int(match["step"] or 1))


def _no_tasks(job: JobRecord) -> SnapshotError:
    problem = f"expected the tasks of an array, such as 1-10%4 or 3,7, got {shown(job.numbers.tasks)}"
    return job.place.error("array_task_string", problem)
