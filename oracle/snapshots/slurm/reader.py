"""From Slurm's records to one snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from immutables import Map

from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotError, shown
from oracle.snapshots.slurm.allowed import Places, Reservations
from oracle.snapshots.slurm.amounts import CPU, counted, shares_of
from oracle.snapshots.slurm.hosts import Host, kind_resource
from oracle.snapshots.slurm.notes import Notes
from oracle.snapshots.slurm.queue import PATIENCE, Queue
from oracle.snapshots.slurm.records import hosts_at
from oracle.snapshots.slurm.running import DOUBTS, ELSEWHERE, ENDING, Amounts, lay, running_jobs
from oracle.snapshots.slurm.states import JOB_STATES, NODE_STATES, holds_gpus, is_known_job_state, is_waiting
from oracle.snapshots.slurm.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from oracle.snapshots.slurm.records import JobRecord, NodeRecord, ReservationRecord, SlurmOptions, TopologyRecord

UNEXPLAINED = "unexplained"

_NO_GPUS = "nodes without GPUs"
_NODE_SLICES = "MIG devices, which are no whole GPUs"
_NODE_SHARES = "GPUs taken by MPS or shard, which no whole-GPU instance can use"
_DRAINED = "GPUs that Slurm has drained on a node in service"
_STRANGE_STATE = "node states of unknown meaning; the nodes are taken as closed"
_UNEXPLAINED = "GPUs in use that no listed job holds: counted as held, immovably; print the jobs of all users"
_UNNAMED = (
    "reserved nodes that do not say by which reservation, counted as closed: print `scontrol show reservation` as well"
)
_NO_PARTITION = "nodes that are in no partition, taken to be alike"
_FINISHED = "finished jobs"
# These are in the snapshot, and something about them is to be known.
_KEPT = frozenset({_STRANGE_STATE, _UNEXPLAINED, _UNNAMED, _NO_PARTITION, DOUBTS, ENDING, ELSEWHERE, PATIENCE})


def assemble(
    nodes: Iterable[NodeRecord],
    jobs: Iterable[JobRecord],
    reservations: Iterable[ReservationRecord],
    topology: Iterable[TopologyRecord],
    options: SlurmOptions,
) -> Snapshot:
    """Return the snapshot of these nodes, jobs, reservations, switches and blocks.

    Raises
    ------
    SnapshotError
        A malformed field, one name for two different nodes or jobs, a job on an unknown node, a job whose GPUs on each
        node cannot be told, or a node that does not say how many of its GPUs are in use.
    """
    found, notes = _distinct_nodes(nodes), Notes()
    sorted_jobs = _Jobs(_distinct_jobs(jobs), notes)
    hosts = {name: Host.of(record) for name, record in found.items()}
    laid = lay(sorted_jobs.holding, hosts, notes)
    unexplained = [job for host in hosts.values() for job in _unexplained(host, notes)]
    _check_told(hosts, sorted_jobs.holding)
    kept = {name: host for name, host in hosts.items() if host.is_kept}
    if options.pool == "partition":
        _check_partitions(kept, notes)

    reserved = Reservations(found, sorted_jobs.holding, reservations)
    places = Places([host.record for host in kept.values()], reserved, Topology(topology, kept))
    mixed = {kind for host in kept.values() if len(host.kinds) > 1 for kind in host.kinds}
    amounts = Amounts(laid, kept, counted(found.values(), sorted_jobs.holding), notes)
    running = list(running_jobs(laid, places, amounts, mixed, notes))
    queue = Queue(kept, places, options, mixed=mixed, amounts=amounts.names, running=sorted_jobs.holding, notes=notes)
    pending = list(queue.pending(sorted_jobs.waiting))
    for host in hosts.values():
        _list_left_out(host, notes)
    notes.skip(_UNNAMED, [name for name in reserved.unnamed if name in kept])
    return Snapshot.build(
        nodes=[
            host.snapshot_node(
                options, mixed=mixed, amounts=amounts.of_node[name], reservation_known=name in reserved.known
            )
            for name, host in kept.items()
        ],
        jobs=[*running, *(_in_kinds(job, kinds, mixed) for job, kinds in unexplained)],
        pending=pending,
        node_sets=list(places.sets.values()),
        skipped=notes.skipped(_KEPT),
        not_looked_at=notes.not_looked_at(),
    )


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


class _Jobs:
    """The jobs by what becomes of them; those that have finished are listed."""

    def __init__(self, jobs: Iterable[JobRecord], notes: Notes) -> None:
        self.holding: list[JobRecord] = []
        self.waiting: list[JobRecord] = []
        names: dict[str, int] = {}
        for job in jobs:
            if not is_known_job_state(job.states):
                problem = f"job {job.name} is in a state of unknown meaning: {shown('+'.join(sorted(job.states)))}"
                raise job.place.error("job_state", f"{problem}; expected one of {', '.join(sorted(JOB_STATES))}")
            if holds_gpus(job.states):
                self.holding.append(job)
            elif is_waiting(job.states):
                self.waiting.append(job)
            else:
                notes.skip(_FINISHED, [job.name])
                continue
            # The two would be taken for one.
            if names.setdefault(job.name, job.numbers.job_id) != job.numbers.job_id:
                both = f"jobs {names[job.name]} and {job.numbers.job_id} both are {job.name}"
                raise job.place.error("job_id", f"{both}; expected one moment of one cluster")


def _unexplained(host: Host, notes: Notes) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield the node whose GPUs in use no listed job holds, and how many of each kind; from now on they are held."""
    gaps = host.unexplained()
    if gaps:
        host.held.update(gaps)
        notes.skip(_UNEXPLAINED, [f"{host.name}: {sum(gaps.values())}"])
        yield host.name, gaps


def _in_kinds(node: str, gaps: Mapping[str, int], mixed: Collection[str]) -> RunningJob:
    resources = Map({kind_resource(kind): gpus for kind, gpus in gaps.items() if kind in mixed})
    instance = RunningInstance(node=node, gpus=sum(gaps.values()), movable=False, resources=resources)
    return RunningJob(name=f"{UNEXPLAINED}:{node}", instances=(instance,))


def _check_told(hosts: Mapping[str, Host], holding: Sequence[JobRecord]) -> None:
    """Refuse a node of which neither it nor the jobs tell how many of its GPUs are in use: it may be any number.

    Listed jobs explain a node if they have all the CPUs that it says are in use; where it does not say that either, one
    listed job will do.
    """
    mute = {name: 0 for name, host in hosts.items() if host.is_mute}
    explained: set[str] = set()
    for job in holding if mute else ():
        shares = shares_of(job, CPU)
        for name in hosts_at(job.place, "nodes", job.nodes):
            if name in mute:
                explained.update([name] if shares is None or hosts[name].record.cpus_used is None else [])
                mute[name] += (shares or {}).get(name, 0)
    for name, cpus in mute.items():
        record = hosts[name].record
        if name not in explained and (record.cpus_used is None or cpus < record.cpus_used):
            problem = (
                f"node {name} is in use by jobs that are not listed, and does not say how many of its GPUs are; print "
                "the nodes with `scontrol show node -d` and the jobs of all users"
            )
            raise record.place.error("state", problem)


def _check_partitions(hosts: Mapping[str, Host], notes: Notes) -> None:
    """Refuse pools by partition where no node is in any, and list nodes in none: nothing tells those apart."""
    without = [name for name, host in hosts.items() if not host.record.partitions]
    if hosts and len(without) == len(hosts):
        raise SnapshotError("", "no node with GPUs is in a partition, and partitions are to tell the pools")
    notes.skip(_NO_PARTITION, without)


def _list_left_out(host: Host, notes: Notes) -> None:
    """List what a node has that is not, or not all, in its node of the snapshot."""
    name, kinds = host.name, host.kinds
    strange = sorted(host.record.states - NODE_STATES)
    slices = host.configured.slices
    shared = sum(map(host.shared_gpus, kinds))
    drained = sum(map(host.drained_gpus, kinds))
    notes.skip(_STRANGE_STATE, [f"{name}: {'+'.join(strange)}"] if strange else [])
    notes.skip(_NODE_SLICES, [f"{name}: {slices}"] if slices else [])
    notes.skip(_NODE_SHARES, [f"{name}: {shared}"] if shared else [])
    notes.skip(_DRAINED, [f"{name}: {drained}"] if drained else [])
    notes.skip(DOUBTS, [f"{name}: {doubt}" for doubt in host.used.doubts])
    if not (kinds or slices or host.held):
        notes.skip(_NO_GPUS, [name])
