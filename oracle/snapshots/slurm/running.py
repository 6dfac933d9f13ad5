"""Running jobs: first all are laid on their nodes, then, when it is known what the nodes have, they become instances.

A job has one instance on each of its nodes. The components of a heterogeneous job are one job, called by the number
that they share: Slurm requeues them together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from immutables import Map

from oracle.snapshots.model import RunningInstance, RunningJob
from oracle.snapshots.slurm.amounts import offered, shares_of, total_of
from oracle.snapshots.slurm.holdings import holding_of
from oracle.snapshots.slurm.hosts import kind_resource
from oracle.snapshots.slurm.requirements import SHARES, WHOLE_NODES
from oracle.snapshots.slurm.states import is_ending

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from oracle.snapshots.slurm.allowed import Places
    from oracle.snapshots.slurm.holdings import Holding
    from oracle.snapshots.slurm.hosts import Host
    from oracle.snapshots.slurm.notes import Notes
    from oracle.snapshots.slurm.records import JobRecord

JOB_NO_GPUS = "jobs without GPUs"
_JOB_SLICES = "running jobs on MIG devices, which are no whole GPUs"
_JOB_SHARES = "running jobs on MPS or shard, which are no whole GPUs"
DOUBTS = "device lists that contradict their count; the count is used"
ENDING = "ending jobs whose GPUs per node are not told; what their nodes report in use is counted as held"
ELSEWHERE = "running jobs outside the nodes that they could have now, as far as those are told: cannot be moved"


@dataclass(frozen=True, slots=True)
class Laid:
    """A job on its nodes: the whole GPUs that it has, by node and kind."""

    job: JobRecord
    kinds: Mapping[str, Mapping[str, int]]


def lay(jobs: Iterable[JobRecord], hosts: Mapping[str, Host], notes: Notes) -> list[Laid]:
    """Count what the jobs hold as held on their nodes; return those that hold whole GPUs.

    Raises
    ------
    SnapshotError
        A field is malformed, a job is on an unknown node, or its GPUs on each node cannot be told.
    """
    capacity = {name: host.configured.gpus for name, host in hosts.items()}
    laid: list[Laid] = []
    for job in jobs:
        holding = holding_of(job, capacity)
        kinds = dict(_held(job, holding, hosts))
        _list(job, holding, notes, has_gpus=bool(kinds))
        if kinds:
            laid.append(Laid(job, kinds))
    return laid


def _held(job: JobRecord, holding: Holding, hosts: Mapping[str, Host]) -> Iterator[tuple[str, Mapping[str, int]]]:
    for name, told in holding.by_node.items():
        host = hosts.get(name)
        if host is None:
            raise job.place.error("nodes", f"job {job.name} holds GPUs on node {name}, which is not among the nodes")
        devices = host.sorted_out(job, told)
        host.slices += devices.slices
        host.units += devices.units
        kinds = Counter[str]()
        for type_, gpus in devices.whole.items():
            kind = host.kind_of(job, type_)
            host.held[kind] += gpus
            kinds[kind] += gpus
        if kinds.total():
            yield name, kinds


def _list(job: JobRecord, holding: Holding, notes: Notes, *, has_gpus: bool) -> None:
    notes.skip(DOUBTS, [f"{job.name}: {doubt}" for doubt in holding.doubts])
    shares = any(devices.units for devices in holding.by_node.values())
    slices = any(devices.slices for devices in holding.by_node.values())
    # What has no type may have turned out to be MIG devices on its node.
    slices = slices or (bool(holding.by_node) and not (has_gpus or shares))
    notes.skip(_JOB_SLICES, [job.name] if slices else [])
    notes.skip(_JOB_SHARES, [job.name] if shares else [])
    if not holding.is_told:
        notes.skip(ENDING, [job.name])
    elif not (has_gpus or slices or shares):
        notes.skip(JOB_NO_GPUS, [job.name])


class Amounts:
    """CPUs and memory: what every node has for the jobs with GPUs on it, and what each of these has there."""

    def __init__(self, laid: Iterable[Laid], hosts: Mapping[str, Host], names: Sequence[str], notes: Notes) -> None:
        records = [host.record for host in hosts.values()]
        self.names = tuple(name for name in names if any(total_of(record, name) is not None for record in records))
        self._shares: dict[tuple[int, str], Mapping[str, int]] = {}
        held: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for one in laid:
            for name in self.names:
                shares = shares_of(one.job, name)
                notes.overlook([SHARES] if shares is None else [], one.job.name)
                self._shares[one.job.numbers.job_id, name] = shares or {}
                for host in one.kinds:
                    held[host][name] += (shares or {}).get(host, 0)
        self.of_node: dict[str, Mapping[str, int]] = {}
        for record in records:
            amounts = {name: offered(record, name, held[record.name][name]) for name in self.names}
            self.of_node[record.name] = {name: amount for name, amount in amounts.items() if amount is not None}

    def of_job(self, job: JobRecord, host: str) -> dict[str, int]:
        """Return what a running job has on a node."""
        amounts = {name: self._shares[job.numbers.job_id, name].get(host, 0) for name in self.names}
        return {name: amount for name, amount in amounts.items() if amount}


def running_jobs(
    laid: Iterable[Laid], places: Places, amounts: Amounts, mixed: Collection[str], notes: Notes
) -> Iterator[RunningJob]:
    """Yield the running jobs of the snapshot, in the order of the input."""
    wholes: defaultdict[str, list[Laid]] = defaultdict(list)
    for one in laid:
        wholes[one.job.numbers.whole].append(one)
    for name, parts in wholes.items():
        movable = all(one.job.movable and not is_ending(one.job.states) for one in parts)
        instances = [
            instance for one in parts for instance in _instances(one, places, amounts, mixed, notes, movable=movable)
        ]
        priorities = [one.job.priority for one in parts if one.job.priority is not None]
        yield RunningJob(
            name=name,
            instances=tuple(instances),
            distinct_nodes=len(instances) > 1 and len({instance.node for instance in instances}) == len(instances),
            priority=max(priorities, default=None),
            components=tuple(one.job.name for one in parts) if parts[0].job.numbers.het_id else (),
        )


def _instances(
    one: Laid, places: Places, amounts: Amounts, mixed: Collection[str], notes: Notes, *, movable: bool
) -> Iterator[RunningInstance]:
    job = one.job
    allowed = places.of(job, max(len(one.kinds), job.min_nodes or 1))
    notes.overlook([*job.unread, *allowed.unread, *([WHOLE_NODES] if job.exclusive else [])], job.name)
    elsewhere: list[str] = []
    # It keeps to the switch or the block that it is in. One that waited long enough is on several, and is free.
    switch = next(((name,) for name in allowed.one_of if all(places.holding([name], host) for host in one.kinds)), ())
    for host, kinds in one.kinds.items():
        bound = allowed.within
        if allowed.required and places.holding([allowed.required], host):
            bound += (allowed.required,)
        bound += switch
        # Partitions and reservations change: a set that it stands outside of cannot bind it.
        within = places.holding(bound, host)
        stays = len(within) < len(bound) or not allowed.is_known
        elsewhere.extend([host] if stays and movable else [])
        resources = {kind_resource(kind): gpus for kind, gpus in sorted(kinds.items()) if gpus and kind in mixed}
        yield RunningInstance(
            node=host,
            gpus=sum(kinds.values()),
            movable=movable and not stays,
            name=job.name if job.numbers.het_id and len(one.kinds) == 1 else None,
            within=within,
            resources=Map({**resources, **amounts.of_job(job, host)}),
        )
    notes.skip(ELSEWHERE, [f"{job.name}: {', '.join(elsewhere)}"] if elsewhere else [])
