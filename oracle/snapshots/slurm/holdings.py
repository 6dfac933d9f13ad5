"""Which GPUs a running job holds on which node; nothing is guessed.

Sources, best first: the resources that Slurm lists node by node (``gres_detail``, the ``GRES=`` of ``scontrol -d``);
for nodes where that list is blank, the job's total, as long as only one distribution of it is possible; where no TRES
counts GPUs, what the job asked for, as long as that leaves no choice.

An ending job (COMPLETING) holds its GPUs until it is over, in both forms. Slurm has then blanked the list by node, and
no longer counts them in use on the node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.snapshots.slurm.gres import UNTYPED, Devices
from oracle.snapshots.slurm.records import gres_at, hosts_at, tres_at
from oracle.snapshots.slurm.states import is_ending
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.snapshots.slurm.records import JobRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What a job holds.

    Attributes
    ----------
    by_node
        The devices on each node where there are any.
    doubts
        Entries whose device list contradicts their count.
    is_told
        False for an ending job of which only the total is known, over more nodes than still end.
    """

    by_node: Mapping[str, Devices] = field(default_factory=dict[str, Devices])
    doubts: tuple[str, ...] = ()
    is_told: bool = True


def holding_of(job: JobRecord, capacity: Mapping[str, int]) -> Holding:
    """Return what a job that holds GPUs has on each node.

    Parameters
    ----------
    job
        A job in one of the states that hold GPUs.
    capacity
        Whole GPUs of every node, to recognise jobs that have all GPUs of their nodes.

    Raises
    ------
    SnapshotError
        A malformed field, or a job whose GPUs per node cannot be told.
    """
    nodes = hosts_at(job.place, "nodes", job.nodes)
    listed = _listed(job, nodes)
    total = _total(job)
    if not nodes and not listed:
        _check_may_lack_nodes(job, total)
        return Holding()
    by_node = {host: devices for host, devices in listed.items() if devices}
    blank = [host for host in listed or nodes if host not in by_node]
    missing = total.gpus - sum(devices.gpus for devices in by_node.values())
    if blank and missing > 0:
        spread = _spread(job, blank, total, missing, capacity)
        if spread is None:
            return Holding(is_told=False)
        by_node |= spread
    elif blank and not by_node and not total and _requested(job):
        asked = _asked(job, len(blank))
        if asked is None and is_ending(job.states):
            return Holding(is_told=False)
        if asked is None:
            raise job.place.error("", _untold(job, "it asked for GPUs"))
        by_node = dict.fromkeys(blank, asked) if asked else {}
    _add_shares(by_node, blank, total)
    doubts = tuple(doubt for devices in by_node.values() for doubt in devices.doubts)
    # The resources of an ending job may name more nodes than those where it still ends. A node that it is not done with
    # says so itself, and then counts as holding what no job accounts for.
    known = set(nodes)
    return Holding(by_node={h: devices for h, devices in by_node.items() if not known or h in known}, doubts=doubts)


def _listed(job: JobRecord, nodes: tuple[str, ...]) -> dict[str, Devices]:
    """Return the devices listed node by node, in the order of the list; either no node is in it or all are."""
    devices: dict[str, Devices] = {}
    for hosts, gres in job.details:
        on_each = gres_at(job.place, "gres_detail", gres)
        for host in hosts_at(job.place, "gres_detail", hosts):
            if host in devices:
                raise job.place.error("gres_detail", f"job {job.name} has node {host} twice")
            devices[host] = on_each
    lacking = [host for host in nodes if host not in devices]
    if devices and lacking:
        raise job.place.error("gres_detail", f"job {job.name} has node {lacking[0]}, but lists no resources for it")
    return devices


def _total(job: JobRecord) -> Devices:
    stated = gres_at(job.place, "job_gres", job.job_gres)
    return stated or tres_at(job.place, "tres_alloc_str", job.alloc_tres)


def _check_may_lack_nodes(job: JobRecord, total: Devices) -> None:
    # An ending job may be done with all its nodes; any other has GPUs somewhere, and they would be counted free.
    if not is_ending(job.states) and (total or _requested(job)):
        raise job.place.error("nodes", f"job {job.name} holds GPUs, but the list of its nodes is empty")


def _requested(job: JobRecord) -> bool:
    return any(_requests(job))


def _requests(job: JobRecord) -> list[Devices]:
    fields = {
        "tres_per_node": job.per_node,
        "tres_per_job": job.per_job,
        "tres_per_task": job.per_task,
        "tres_per_socket": job.per_socket,
    }
    return [gres_at(job.place, key, text) for key, text in fields.items()]


def _spread(
    job: JobRecord, blank: list[str], total: Devices, missing: int, capacity: Mapping[str, int]
) -> dict[str, Devices] | None:
    """Return the `missing` GPUs on the `blank` nodes where only one distribution is possible; None for ending jobs."""
    asked = gres_at(job.place, "tres_per_node", job.per_node)
    per_node = asked.gpus + asked.slices
    if is_ending(job.states) and not job.details and job.min_nodes != len(blank):
        return None
    if asked.slices and per_node * len(blank) == missing:
        return dict.fromkeys(blank, asked)
    if len(blank) == 1 and missing == total.gpus:
        return {blank[0]: _whole_or_not(job, total)}
    type_ = next(iter(total.whole)) if len(total.whole) == 1 else UNTYPED
    room = [capacity.get(host, 0) for host in blank]
    if len(blank) == 1:
        counts = [missing]
    elif per_node * len(blank) == missing:
        counts = [per_node] * len(blank)
    elif sum(room) == missing:
        counts = room
    elif is_ending(job.states):
        return None
    else:
        raise job.place.error("", _untold(job, f"it has {count(total.gpus, 'GPU')} on {count(len(blank), 'node')}"))
    return {host: Devices(whole={type_: count}) for host, count in zip(blank, counts, strict=True) if count}


def _asked(job: JobRecord, nodes: int) -> Devices | None:
    """Return what a job has on each of its nodes by what it asked for; None where that leaves a choice.

    An exclusive job has all GPUs of its nodes, whatever it asked for.
    """
    if job.exclusive or (is_ending(job.states) and job.min_nodes != nodes):
        return None
    per_node = gres_at(job.place, "tres_per_node", job.per_node)
    if per_node:
        return per_node
    per_job = gres_at(job.place, "tres_per_job", job.per_job)
    return per_job if per_job and nodes == 1 else None


def _whole_or_not(job: JobRecord, total: Devices) -> Devices:
    """Return the total of a job on one node; if all it asked for is MIG devices, what has no type in it is such."""
    requests = _requests(job)
    is_mig = any(devices.slices for devices in requests) and not any(devices.gpus for devices in requests)
    if not is_mig or set(total.whole) != {UNTYPED}:
        return total
    return Devices(mig={**total.mig, UNTYPED: total.gpus}, shared=total.shared)


def _untold(job: JobRecord, what: str) -> str:
    return (
        f"job {job.name}: {what}, but how many on each node is not told; expected gres_detail as in the output of "
        "`squeue --json`, or the lines Nodes=... GRES=... of `scontrol show job -d`"
    )


def _add_shares(by_node: dict[str, Devices], blank: list[str], total: Devices) -> None:
    """Put the units of MPS and shard on the nodes that list nothing: all of them on each, as any may have them."""
    if not total.units or any(devices.units for devices in by_node.values()):
        return
    for host in blank:
        known = by_node.get(host, Devices())
        by_node[host] = Devices(whole=known.whole, mig=known.mig, shared=total.shared, doubts=known.doubts)
