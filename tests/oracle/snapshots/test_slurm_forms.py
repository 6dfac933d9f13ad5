"""One random cluster, printed as JSON and as text in both layouts, is one snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.slurm import read_slurm
from tests.oracle.snapshots.slurm_inputs import Fields, document, text, wrapped

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
    """A node: its GPUs by type, how many of them it says are in use, and how it prints that."""

    name: str
    gpus: tuple[tuple[str, int], ...]
    used: tuple[int, ...] | None
    state: list[str]

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
            "partitions": ["main"],
        }

    def as_text(self) -> list[str]:
        return [
            f"NodeName={self.name} Arch=x86_64 CoresPerSocket=20 ",
            f"Gres={self.gres() or '(null)'}",
            "GresDrain=N/A",
            *([f"GresUsed={self.gres_used()}"] if self.gres_used() else []),
            "OS=Linux 5.15.0 #99-Ubuntu SMP Fri Mar 6 23:50:11 UTC 2026 ",
            f"State={'+'.join(self.state)} ThreadsPerCore=1 TmpDisk=0",
            "Partitions=main ",
            f"CfgTRES=cpu=64,gres/gpu={sum(count for _, count in self.gpus)}",
            "AllocTRES=",
            "CurrentWatts=0 AveWatts=0",
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

    def as_json(self) -> Fields:
        key, value = self.request
        single = self.array.isdigit()
        return {
            "job_id": self.number,
            "job_state": [self.state],
            "state_reason": self.reason,
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
            f"ReqNodeList=(null) ExcNodeList=(null) NodeList={','.join(name for name, _ in self.held) or '(null)'}",
            f"NumNodes={nodes} NumCPUs=4 NumTasks={self.tasks or 'N/A'} CPUs/Task=1",
            *(f"  Nodes={node} CPU_IDs=0-3 Mem=0 GRES={gres}" for node, gres in self.held),
            "MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0",
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
    return Machine(name, gpus, used, draw(st.sampled_from(NODE_STATES)))


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
            name = f"{machine.name}/{type_ or 'gpu'}" if len(whole) > 1 else machine.name
            assert used[name] >= sum(in_use(job, machine.name, type_, count) for job in jobs)
            assert used[name] >= reported.get(type_, 0)


def in_use(work: Work, node: str, type_: str, count: int) -> int:
    """Return the GPUs of a type that a job has on a node, by looking for the entry that says so."""
    if work.state in {"COMPLETED", "FAILED"}:
        return 0
    held = [gres for name, gres in work.held if name == node]
    return next((n for n in range(1, count + 1) if entry(type_, n) in held), 0)
