"""From Slurm's records to one snapshot."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Skipped, Snapshot, SnapshotError, shown
from oracle.snapshots.slurm.gres import UNTYPED
from oracle.snapshots.slurm.holdings import holding_of
from oracle.snapshots.slurm.hosts import Host, partition_pool, type_pool
from oracle.snapshots.slurm.records import hosts_at
from oracle.snapshots.slurm.states import (
    JOB_STATES,
    NODE_STATES,
    bar_to_start,
    holds_gpus,
    is_ending,
    is_known_job_state,
    is_waiting,
)
from oracle.snapshots.slurm.waiting import MAX_WAITING_TASKS, NoShape, Shape, array_tasks, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oracle.snapshots.slurm.gres import Devices
    from oracle.snapshots.slurm.holdings import Holding
    from oracle.snapshots.slurm.records import JobRecord, NodeRecord, SlurmOptions

UNEXPLAINED = "unexplained"

_NO_GPUS = "nodes without GPUs"
_NODE_SLICES = "MIG devices, which are no whole GPUs"
_NODE_SHARES = "GPUs taken by MPS or shard, which no whole-GPU instance can use"
_DRAINED = "GPUs that Slurm has drained on a node in service"
_STRANGE_STATE = "node states of unknown meaning; the nodes are taken as closed"
_UNEXPLAINED = "GPUs in use that no listed job holds: counted as held, immovably; print the jobs of all users"
_MUTE = (
    "nodes in use by no listed job that do not say how many of their GPUs are: counted as idle; "
    "print the nodes with -d and the jobs of all users"
)
_NO_PARTITION = "nodes that are in no partition, taken to be alike"
_FINISHED = "finished jobs"
_JOB_NO_GPUS = "jobs without GPUs"
_JOB_SLICES = "running jobs on MIG devices, which are no whole GPUs"
_JOB_SHARES = "running jobs on MPS or shard, which are no whole GPUs"
_DOUBTS = "device lists that contradict their count; the count is used"
_ENDING = "ending jobs whose GPUs per node are not told; what their nodes report in use is counted as held"
# These are in the snapshot, and something about them is to be known.
_KEPT = frozenset({_STRANGE_STATE, _UNEXPLAINED, _MUTE, _NO_PARTITION, _DOUBTS, _ENDING})


def assemble(nodes: Iterable[NodeRecord], jobs: Iterable[JobRecord], options: SlurmOptions) -> Snapshot:
    """Return the snapshot of these nodes and jobs.

    Raises
    ------
    SnapshotError
        A malformed field, one name for two different nodes or jobs, a job on an unknown node, or a job whose GPUs on
        each node cannot be told.
    """
    return _Assembly(_distinct_nodes(nodes), _distinct_jobs(jobs), options).snapshot()


def _distinct_nodes(records: Iterable[NodeRecord]) -> dict[str, NodeRecord]:
    """Return the nodes by name; a node in several partitions may be printed for each, and is in all of them."""
    found: dict[str, NodeRecord] = {}
    for record in records:
        first = found.setdefault(record.name, record)
        if first != record:
            problem = f"node {record.name} was printed before with other values; expected one moment of one cluster"
            raise record.place.error("", problem)
        found[record.name] = replace(first, partitions=first.partitions | record.partitions)
    return found


def _distinct_jobs(records: Iterable[JobRecord]) -> list[JobRecord]:
    found: dict[int, JobRecord] = {}
    for record in records:
        if found.setdefault(record.numbers.job_id, record) != record:
            problem = (
                f"job {record.numbers.job_id} was printed before with other values; expected one moment of one cluster"
            )
            raise record.place.error("", problem)
    return list(found.values())


class _Assembly:
    """The snapshot while it is put together; `hosts` gather what the jobs hold as the jobs are read."""

    def __init__(self, nodes: Mapping[str, NodeRecord], jobs: list[JobRecord], options: SlurmOptions) -> None:
        self.hosts = {name: Host.of(record) for name, record in nodes.items()}
        self.jobs = jobs
        self.options = options
        self.capacity = {name: host.configured.gpus for name, host in self.hosts.items()}
        self.largest_node = max(self.capacity.values(), default=0)
        self.skipped: defaultdict[str, list[str]] = defaultdict(list)
        self.names: dict[str, int] = {}
        self.waiting_tasks = 0

    def snapshot(self) -> Snapshot:
        """Return the snapshot. Jobs come first: what they hold decides which nodes there are, and how large."""
        running: list[RunningJob] = []
        pending: list[PendingJob] = []
        for job in self.jobs:
            if not is_known_job_state(job.states):
                problem = f"job {job.name} is in a state of unknown meaning: {shown('+'.join(sorted(job.states)))}"
                raise job.place.error("job_state", f"{problem}; expected one of {', '.join(sorted(JOB_STATES))}")
            if holds_gpus(job.states):
                running.extend(self._running(job))
            elif is_waiting(job.states):
                pending.extend(self._pending(job))
            else:
                self._skip(_FINISHED, [job.name])
        for host in self.hosts.values():
            running.extend(self._unexplained(host))
        self._list_mute()
        if self.options.pool == "partition":
            self._check_partitions()
        nodes = [node for host in self.hosts.values() for node in host.snapshot_nodes(self.options)]
        for host in self.hosts.values():
            self._list_left_out(host)
        skipped = [
            Skipped(reason=reason, items=tuple(items), kept=reason in _KEPT) for reason, items in self.skipped.items()
        ]
        return Snapshot.build(nodes=nodes, jobs=running, pending=pending, skipped=skipped)

    def _running(self, job: JobRecord) -> Iterator[RunningJob]:
        holding = holding_of(job, self.capacity)
        movable = job.movable and not is_ending(job.states)
        instances = [
            RunningInstance(node=node, gpus=gpus, movable=movable)
            for name, devices in holding.by_node.items()
            for node, gpus in self._hold(job, name, devices)
        ]
        self._list_running(job, holding, has_instances=bool(instances))
        if instances:
            self._take_name(job, job.name)
            yield RunningJob(name=job.name, instances=tuple(instances))

    def _hold(self, job: JobRecord, name: str, devices: Devices) -> Iterator[tuple[str, int]]:
        """Count a job's devices on a node as held; yield the snapshot's nodes and the whole GPUs on them."""
        host = self.hosts.get(name)
        if host is None:
            raise job.place.error("nodes", f"job {job.name} holds GPUs on node {name}, which is not among the nodes")
        host.slices += devices.slices
        host.units += devices.units
        on_kind: defaultdict[str, int] = defaultdict(int)
        for type_, gpus in devices.whole.items():
            kind = host.kind_of(job, type_)
            host.held[kind] += gpus
            on_kind[kind] += gpus
        yield from ((host.node_name(kind), gpus) for kind, gpus in on_kind.items() if gpus)

    def _list_running(self, job: JobRecord, holding: Holding, *, has_instances: bool) -> None:
        self._skip(_DOUBTS, [f"{job.name}: {doubt}" for doubt in holding.doubts])
        slices = any(devices.slices for devices in holding.by_node.values())
        shares = any(devices.units for devices in holding.by_node.values())
        self._skip(_JOB_SLICES, [job.name] if slices else [])
        self._skip(_JOB_SHARES, [job.name] if shares else [])
        if not holding.is_told:
            self._skip(_ENDING, [job.name])
        elif not (has_instances or slices or shares):
            self._skip(_JOB_NO_GPUS, [job.name])

    def _pending(self, job: JobRecord) -> Iterable[PendingJob]:
        request = self._request(job)
        if isinstance(request, NoShape):
            self._skip(request.reason, [job.name])
            return []
        tasks = array_tasks(job, MAX_WAITING_TASKS - self.waiting_tasks)
        if isinstance(tasks, NoShape):
            self._skip(tasks.reason, [job.name])
            return []
        names = [job.name] if tasks is None else [f"{job.numbers.array_id}_{task}" for task in tasks]
        self.waiting_tasks += len(names)
        for name in names:
            self._take_name(job, name)
        shape, pool = request
        return [
            PendingJob(name=name, instances=shape.instances, gpus_per_instance=shape.gpus, pool=pool) for name in names
        ]

    def _request(self, job: JobRecord) -> tuple[Shape, str | None] | NoShape:
        shape = shape_of(job, self.largest_node)
        if isinstance(shape, NoShape):
            return shape
        bar = bar_to_start(job.states, job.reason, held=job.held)
        if bar is not None:
            return NoShape(f"waiting jobs that no room would start: {bar}")
        pool = self._pool(job, shape)
        return pool if isinstance(pool, NoShape) else (shape, pool)

    def _pool(self, job: JobRecord, shape: Shape) -> str | NoShape | None:
        """Return the pool that a waiting job is bound to, None for any."""
        if self.options.pool == "type":
            return None if shape.type == UNTYPED else type_pool(shape.type)
        partitions = set(job.partition.split(","))
        records = (host.record for host in self.hosts.values() if host.kinds)
        pools = {partition_pool(record) for record in records if record.partitions & partitions}
        return pools.pop() if len(pools) == 1 else NoShape("waiting jobs whose partition is no pool, or several")

    def _unexplained(self, host: Host) -> Iterator[RunningJob]:
        gaps = host.unexplained()
        if not gaps:
            return
        instances: list[RunningInstance] = []
        for kind, gpus in gaps.items():
            host.held[kind] += gpus
            instances.append(RunningInstance(node=host.node_name(kind), gpus=gpus, movable=False))
        self._skip(_UNEXPLAINED, [f"{host.name}: {sum(gaps.values())}"])
        yield RunningJob(name=f"{UNEXPLAINED}:{host.name}", instances=tuple(instances))

    def _list_mute(self) -> None:
        """List nodes of which neither they themselves nor the jobs tell what is in use."""
        mute = [name for name, host in self.hosts.items() if host.is_mute]
        if mute:
            holding = (job for job in self.jobs if holds_gpus(job.states))
            explained = {name for job in holding for name in hosts_at(job.place, "nodes", job.nodes)}
            self._skip(_MUTE, [name for name in mute if name not in explained])

    def _check_partitions(self) -> None:
        """Refuse pools by partition where no node is in any, and list nodes in none: nothing tells those apart."""
        hosts = [host for host in self.hosts.values() if host.kinds or host.held]
        without = [host.name for host in hosts if not host.record.partitions]
        if hosts and len(without) == len(hosts):
            raise SnapshotError("", "no node with GPUs is in a partition, and partitions are to tell the pools")
        self._skip(_NO_PARTITION, without)

    def _take_name(self, job: JobRecord, name: str) -> None:
        """Refuse a second job of the same name: the two would be taken for one."""
        job_id = job.numbers.job_id
        if self.names.setdefault(name, job_id) != job_id:
            problem = f"jobs {self.names[name]} and {job_id} both are {name}; expected one moment of one cluster"
            raise job.place.error("job_id", problem)

    def _list_left_out(self, host: Host) -> None:
        """List what a node has that is not, or not all, in its node of the snapshot."""
        name, kinds = host.name, host.kinds
        strange = sorted(host.record.states - NODE_STATES)
        slices = host.configured.slices
        shared = sum(map(host.shared_gpus, kinds))
        drained = sum(map(host.drained_gpus, kinds))
        self._skip(_STRANGE_STATE, [f"{name}: {'+'.join(strange)}"] if strange else [])
        self._skip(_NODE_SLICES, [f"{name}: {slices}"] if slices else [])
        self._skip(_NODE_SHARES, [f"{name}: {shared}"] if shared else [])
        self._skip(_DRAINED, [f"{name}: {drained}"] if drained else [])
        self._skip(_DOUBTS, [f"{name}: {doubt}" for doubt in host.used.doubts])
        if not (kinds or slices or host.held):
            self._skip(_NO_GPUS, [name])

    def _skip(self, reason: str, items: list[str]) -> None:
        if items:
            self.skipped[reason].extend(items)
