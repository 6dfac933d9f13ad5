"""One random cluster, printed as JSON and as text in both layouts, is one snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.slurm import read_slurm
from tests.oracle.snapshots.slurm_inputs import Fields, document, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.snapshots.model import Snapshot

TYPES = ("", "a100", "h100", "1g.10gb")
NODE_STATES = (
    ["IDLE"],
    ["MIXED", "DRAIN"],
    ["DOWN", "NOT_RESPONDING"],
    ["MIXED", "PLANNED"],
    ["ALLOCATED", "COMPLETING"],
)
RUNNING = ("RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "COMPLETED", "FAILED")
REASONS = ("Resources", "Priority", "Dependency", "JobHeldUser", "BeginTime")


@dataclass(frozen=True)
class Machine:
    """A node: its GPUs by type, how many of them it says are in use, how it prints that, and what else it is."""

    name: str
    gpus: tuple[tuple[str, int], ...]
    used: tuple[int, ...] | None
    state: list[str]
    partitions: tuple[str, ...]
    features: tuple[str, ...]
    reservation: str
    cpus: int

    def gres(self) -> str:
        return ",".join(entry(type_, count) for type_, count in self.gpus)

    def gres_used(self) -> str:
        pairs = zip(self.gpus, self.used or (), strict=False)
        return ",".join(entry(type_, min(used, count)) for (type_, count), used in pairs)

    def as_json(self) -> Fields:
        return {
            "name": self.name,
            "state": self.state,
            "gres": self.gres(),
            "gres_used": self.gres_used(),
            "gres_drained": "N/A",
            "tres": f"cpu=64,gres/gpu={sum(count for _, count in self.gpus)}",
            "tres_used": "cpu=1,mem=1G",
            "partitions": list(self.partitions),
            "active_features": list(self.features),
            "reservation": self.reservation,
            "cpus": 64,
            "effective_cpus": 64,
            "alloc_cpus": self.cpus,
            "real_memory": 1000,
            "alloc_memory": 10 * self.cpus,
        }

    def as_text(self) -> list[str]:
        return [
            f"NodeName={self.name} Arch=x86_64 CoresPerSocket=20 ",
            f"CPUAlloc={self.cpus} CPUEfctv=64 CPUTot=64 CPULoad=0.10",
            f"ActiveFeatures={','.join(self.features) or '(null)'}",
            f"Gres={self.gres() or '(null)'}",
            f"RealMemory=1000 AllocMem={10 * self.cpus} FreeMem=1",
            "GresDrain=N/A",
            *([f"GresUsed={self.gres_used()}"] if self.gres_used() else []),
            "OS=Linux 5.15.0 #99-Ubuntu SMP Fri Mar 6 23:50:11 UTC 2026 ",
            f"State={'+'.join(self.state)} ThreadsPerCore=1 TmpDisk=0",
            f"Partitions={','.join(self.partitions)} ",
            f"CfgTRES=cpu=64,gres/gpu={sum(count for _, count in self.gpus)}",
            "AllocTRES=cpu=1,mem=1G",
            "CurrentWatts=0 AveWatts=0",
            *([f"ReservationName={self.reservation}"] if self.reservation else []),
        ]


@dataclass(frozen=True)
class Work:
    """A job: on nodes, with GPUs on each of them, or waiting for GPUs in one of the ways to ask for them."""

    number: int
    state: str
    reason: str
    held: tuple[tuple[str, str], ...]
    request: tuple[str, str]
    nodes: int
    most_nodes: int | None
    tasks: int | None
    array: str
    requeue: bool
    partition: str
    features: str
    reservation: str
    required: str
    excluded: str
    licenses: str
    exclusive: bool
    cpus: int

    def as_json(self) -> Fields:
        key, value = self.request
        single = self.array.isdigit()
        return {
            "job_id": self.number,
            "job_state": [self.state],
            "state_reason": self.reason,
            "priority": wrapped(5),
            "partition": self.partition,
            "features": self.features,
            "resv_name": self.reservation,
            "required_nodes": self.required,
            "excluded_nodes": self.excluded,
            "licenses": self.licenses,
            "shared": ["none"] if self.exclusive else [],
            "cpus": wrapped(self.cpus),
            "minimum_cpus_per_node": wrapped(1),
            "tres_req_str": f"cpu={self.cpus},mem={self.cpus}G,node=1,gres/gpu=1",
            "tres_alloc_str": f"cpu={self.cpus},mem={self.cpus}G,node=1" if self.state != "PENDING" else "",
            "job_resources": {
                "nodes": {
                    "list": ",".join(name for name, _ in self.held),
                    "allocation": [
                        {"name": name, "cpus": {"count": 4, "used": 0}, "memory": {"used": 0, "allocated": 100}}
                        for name, _ in self.held
                    ],
                }
            },
            "requeue": self.requeue,
            "nodes": ",".join(name for name, _ in self.held),
            "gres_detail": [gres for _, gres in self.held],
            "node_count": wrapped(self.nodes),
            "max_nodes": wrapped(self.most_nodes or 0),
            "tasks": wrapped(self.tasks),
            "array_job_id": wrapped(self.number if self.array else 0),
            "array_task_id": wrapped(int(self.array) if single else None),
            "array_task_string": "" if single else self.array,
            key: value,
        }

    def as_text(self) -> list[str]:
        key, value = self.request
        name = {"tres_per_node": "TresPerNode", "tres_per_job": "TresPerJob", "tres_per_task": "TresPerTask"}[key]
        nodes = f"{self.nodes}-{self.most_nodes}" if self.most_nodes else f"{self.nodes}"
        array = f"ArrayJobId={self.number} ArrayTaskId={self.array} " if self.array else ""
        return [
            f"JobId={self.number} {array}JobName=x NodeList=none",
            "UserId=user(1) GroupId=user(1) MCS_label=N/A",
            f"Priority=5 Nice=0 Account=a QOS=normal JobState={self.state} Reason={self.reason} Dependency=(null)",
            f"Requeue={int(self.requeue)} Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0",
            f"Partition={self.partition} AllocNode:Sid=login:4",
            f"ReqNodeList={self.required or '(null)'} ExcNodeList={self.excluded or '(null)'}",
            f"NodeList={','.join(name for name, _ in self.held) or '(null)'}",
            f"NumNodes={nodes} NumCPUs={self.cpus} NumTasks={self.tasks or 'N/A'} CPUs/Task=1",
            f"ReqTRES=cpu={self.cpus},mem={self.cpus}G,node=1,gres/gpu=1",
            f"AllocTRES={f'cpu={self.cpus},mem={self.cpus}G,node=1' if self.state != 'PENDING' else '(null)'}",
            *(f"  Nodes={node} CPU_IDs=0-2,9 Mem=100 GRES={gres}" for node, gres in self.held),
            "MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0",
            f"Features={self.features or '(null)'} DelayBoot=00:00:00",
            *([f"Reservation={self.reservation}"] if self.reservation else []),
            f"OverSubscribe={'NO' if self.exclusive else 'OK'} Contiguous=0 Licenses={self.licenses or '(null)'}",
            "Command=/bin/true State=DOWN",
            f"{name}={value}",
        ]


def entry(type_: str, count: int) -> str:
    index = "N/A" if not count else f"0-{count - 1}" if count > 1 else "0"
    return f"gpu:{type_}:{count}(IDX:{index})" if type_ else f"gpu:{count}(IDX:{index})"


@st.composite
def machines(draw: st.DrawFn, name: str) -> Machine:
    types = draw(st.lists(st.sampled_from(TYPES), max_size=2, unique=True))
    gpus = tuple((type_, draw(st.integers(1, 8))) for type_ in types)
    used = draw(st.none() | st.tuples(*(st.integers(0, 8) for _ in gpus)))
    return Machine(
        name,
        gpus,
        used,
        draw(st.sampled_from(NODE_STATES)),
        partitions=tuple(draw(st.lists(st.sampled_from(["main", "long"]), unique=True))),
        features=tuple(draw(st.lists(st.sampled_from(["ib", "big"]), unique=True))),
        reservation=draw(st.sampled_from(["", "", "course"])),
        cpus=draw(st.integers(0, 64)),
    )


@st.composite
def works(draw: st.DrawFn, number: int, nodes: list[Machine]) -> Work:
    waits = draw(st.booleans()) or not nodes
    places = [] if waits else draw(st.lists(st.sampled_from(nodes), max_size=3, unique_by=lambda machine: machine.name))
    held = tuple((machine.name, draw(_gres_on(machine))) for machine in places)
    request = draw(st.sampled_from(["tres_per_node", "tres_per_job", "tres_per_task"])), draw(st.integers(0, 8))
    # Where a job runs without holding anything, a request for GPUs would be an error in both forms.
    amount = request[1] if waits else 0
    type_ = draw(st.sampled_from(["", "a100:"]))
    return Work(
        number=number,
        state="PENDING" if waits else draw(st.sampled_from(RUNNING)),
        reason=draw(st.sampled_from(REASONS)) if waits else "None",
        held=held,
        request=(request[0], f"gres/gpu:{type_}{amount}"),
        nodes=draw(st.integers(1, 4)),
        most_nodes=draw(st.none() | st.integers(4, 5)) if waits else None,
        tasks=draw(st.none() | st.integers(1, 8)),
        array=draw(st.sampled_from(["", "3", "1-4%2", "2,5,7-8"])) if waits else draw(st.sampled_from(["", "3"])),
        requeue=draw(st.booleans()),
        partition=draw(st.sampled_from(["main", "long", "main,long"])),
        features=draw(st.sampled_from(["", "ib", "ib&big", "ib|big", "[ib|big]", "ib*2"])),
        reservation=draw(st.sampled_from(["", "", "course", "other"])),
        required=draw(st.sampled_from(["", "", "n0", "n[0-1]"])),
        excluded=draw(st.sampled_from(["", "", "n2", "n[1-2]"])),
        licenses=draw(st.sampled_from(["", "matlab:1"])),
        exclusive=draw(st.booleans()),
        cpus=draw(st.integers(1, 8)),
    )


def _gres_on(machine: Machine) -> st.SearchStrategy[str]:
    entries = [entry(type_, n) for type_, count in machine.gpus for n in range(count + 1)]
    return st.sampled_from(["", *entries])


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Machine], list[Work]]:
    nodes = [draw(machines(f"n{n}")) for n in range(draw(st.integers(0, 4)))]
    jobs = [draw(works(number, nodes)) for number in range(1, draw(st.integers(1, 6)))]
    return nodes, jobs


@given(clusters())
def test_json_and_text_read_to_the_same_snapshot(cluster: tuple[list[Machine], list[Work]]) -> None:
    nodes, jobs = cluster
    as_json = read_slurm([document({"nodes": [n.as_json() for n in nodes], "jobs": [j.as_json() for j in jobs]})])
    records = [*(n.as_text() for n in nodes), *(j.as_text() for j in jobs)]
    none = "No nodes in the system\nNo jobs in the system\n"
    for separator, end in (("\n   ", "\n\n"), (" ", "\n")):
        as_text = read_slurm([text(none + "".join(separator.join(record) + end for record in records))])
        assert as_text == as_json
        assert as_text.skipped == as_json.skipped
    assert sum(j.state in {"COMPLETED", "FAILED"} for j in jobs) == sum(
        len(entry.items) for entry in as_json.skipped if entry.reason == "finished jobs"
    )


@given(clusters())
def test_what_a_job_or_a_node_says_is_in_use_is_never_free(cluster: tuple[list[Machine], list[Work]]) -> None:
    nodes, jobs = cluster
    snapshot = read_slurm([document({"nodes": [n.as_json() for n in nodes], "jobs": [j.as_json() for j in jobs]})])
    used = snapshot.used_gpus()
    for machine in nodes:
        whole = [(type_, count) for type_, count in machine.gpus if type_ != "1g.10gb"]
        reported = {type_: min(n, count) for (type_, count), n in zip(machine.gpus, machine.used or (), strict=False)}
        for type_, count in whole:
            held = by_type(snapshot, machine.name, type_) if len(whole) > 1 else used[machine.name]
            assert held >= sum(in_use(job, machine.name, type_, count) for job in jobs)
            assert held >= reported.get(type_, 0)


def by_type(snapshot: Snapshot, node: str, type_: str) -> int:
    """Return how many GPUs of a type instances on a node of several types hold, as they say themselves."""
    there = [i for job in snapshot.jobs for i in job.instances if i.node == node]
    return sum(i.resources.get(f"gpu:{type_ or 'gpu'}", 0) for i in there)


def in_use(work: Work, node: str, type_: str, count: int) -> int:
    """Return the GPUs of a type that a job has on a node, by looking for the entry that says so."""
    if work.state in {"COMPLETED", "FAILED"}:
        return 0
    held = [gres for name, gres in work.held if name == node]
    return next((n for n in range(1, count + 1) if entry(type_, n) in held), 0)


FEATURES: dict[str, Callable[[tuple[str, ...]], bool]] = {
    "": lambda _: True,
    "ib": lambda has: "ib" in has,
    "ib&big": lambda has: "ib" in has and "big" in has,
    "ib|big": lambda has: "ib" in has or "big" in has,
    "[ib|big]": lambda has: "ib" in has or "big" in has,
    "ib*2": lambda _: True,
}


def may_stand(work: Work, machine: Machine, machines_: list[Machine]) -> bool:
    """Return whether a job may stand on a node, one constraint after the other; what it requires is left aside."""
    lists = {"": (), "n2": ("n2",), "n[1-2]": ("n1", "n2")}
    names_partitions = any(other.partitions for other in machines_ if has_whole(other))
    return (
        (not names_partitions or bool({*work.partition.split(",")} & {*machine.partitions}))
        and FEATURES[work.features](machine.features)
        and machine.name not in lists[work.excluded]
        and machine.reservation == work.reservation
    )


def has_whole(machine: Machine) -> bool:
    return any(type_ != "1g.10gb" for type_, _ in machine.gpus)


@given(clusters())
def test_the_sets_of_an_instance_are_the_nodes_that_each_constraint_allows(
    cluster: tuple[list[Machine], list[Work]],
) -> None:
    nodes, jobs = cluster
    snapshot = read_slurm([document({"nodes": [n.as_json() for n in nodes], "jobs": [j.as_json() for j in jobs]})])
    sets = {one.name: one.nodes for one in snapshot.node_sets}
    assert len(sets) == len(snapshot.node_sets)
    every = {node.name for node in snapshot.nodes}
    kept = [machine for machine in nodes if machine.name in every]
    by_number = {str(work.number): work for work in jobs}

    def allowed(within: tuple[str, ...]) -> set[str]:
        named = (sets[name] for name in within if not name.startswith("nodes "))
        return every.intersection(*named)

    for job in snapshot.jobs:
        work = by_number.get(job.name.partition("_")[0])
        for instance in job.instances if work else ():
            assert all(instance.node in sets[name] for name in instance.within)
            expected = {machine.name for machine in kept if work and may_stand(work, machine, kept)}
            if instance.movable:
                assert allowed(instance.within) == expected
            elif work and work.requeue and work.state != "COMPLETING":
                assert instance.node not in expected
    for waits in snapshot.pending:
        work = by_number[waits.name.partition("_")[0]]
        expected = {machine.name for machine in kept if may_stand(work, machine, kept)}
        assert allowed(waits.within) == expected
        required = {"": [], "n0": ["n0"], "n[0-1]": ["n0", "n1"]}[work.required]
        bound = [name for name in waits.within if name.startswith("nodes ")]
        assert all(sets[name] == every & {*required} for name in bound)
        assert bool(bound) == bool(required and every - {*required})
