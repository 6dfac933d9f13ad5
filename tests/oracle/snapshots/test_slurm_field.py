"""Places where an instance may not stand, and jobs that do not wait for room, as seen on production clusters.

The texts are those of `scontrol show node -d` and `scontrol show job -d`, made small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle import admit, measure, plan
from oracle.snapshots.slurm import read_slurm
from tests.oracle.snapshots.slurm_inputs import fault, held, listed, skipped, text

if TYPE_CHECKING:
    from oracle.snapshots.model import Snapshot


def node(name: str, used: str = "0(IDX:N/A)", state: str = "MIXED", partitions: str = "p", cpus: int = 8) -> str:
    """Return a node of 8 a100 and 64 CPUs."""
    return f"""\
NodeName={name} Arch=x86_64 CoresPerSocket=32
   CPUAlloc={cpus} CPUEfctv=64 CPUTot=64 CPULoad=1.00
   AvailableFeatures=(null)
   ActiveFeatures=(null)
   Gres=gpu:a100:8(S:0-1)
   GresUsed=gpu:a100:{used}
   RealMemory=1000000 AllocMem=1000 FreeMem=900000 Sockets=2 Boards=1
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions={partitions}
   CfgTRES=cpu=64,mem=1000000M,billing=64,gres/gpu=8,gres/gpu:a100=8
   AllocTRES=cpu={cpus},mem=8G

"""


def job(
    number: int,
    gpus: int,
    nodes: str = "",
    *,
    count: str = "1",
    reason: str = "None",
    partition: str = "p",
    cpus: int = 4,
    extra: str = "OverSubscribe=OK",
    request: str = "TresPerNode=gres/gpu:{gpus}",
    numbers: str = "",
) -> str:
    """Return a job with so many GPUs on each of its nodes, or one that waits if it has none."""
    total = gpus * len(nodes.split(","))
    details = f"   JOB_GRES=gpu:a100:{total}\n     Nodes={nodes} CPU_IDs=0-3 Mem=8192 GRES=gpu:a100:{gpus}\n"
    return f"""\
JobId={number} {numbers} JobName=j{number}
   UserId=u(1) GroupId=g(1) MCS_label=N/A
   Priority=100 Nice=0 Account=a QOS=normal
   JobState={"RUNNING" if nodes else "PENDING"} Reason={reason} Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   Partition={partition} AllocNode:Sid=login:1
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList={nodes or "(null)"}
   NumNodes={count} NumCPUs={cpus} NumTasks=8 CPUs/Task=4 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu={cpus},mem=8G,node={count[:1]},billing=4,gres/gpu={total}
   AllocTRES={f"cpu={cpus},mem=8G,node={count}" if nodes else "(null)"}
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
{details if nodes else ""}   MinCPUsNode=4 MinMemoryNode=8G MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   {extra} Contiguous=0 Licenses=(null) Network=(null)
   Command=/x
   WorkDir=/x
   {request.format(gpus=gpus)}

"""


def read(*records: str) -> Snapshot:
    return read_slurm([text("".join(records) + "No jobs in the system\n")])


def test_a_job_on_two_nodes_is_on_two_different_nodes() -> None:
    snapshot = read(node("a"), node("b"), job(1, 4, "a,b", count="2"), job(2, 4, count="2-2", reason="Resources"))
    assert [(j.distinct_nodes, [i.node for i in j.instances]) for j in snapshot.jobs] == [(True, ["a", "b"])]
    assert [(p.instances, p.distinct_nodes) for p in snapshot.pending] == [(2, True)]


def test_a_job_can_only_use_nodes_of_its_partition() -> None:
    disjoint = read(node("a", partitions="labx"), node("b", partitions="laby"), job(1, 4, "a", partition="labx"))
    assert [(one.name, set(one.nodes)) for one in disjoint.node_sets] == [("partition labx", {"a"})]
    assert disjoint.jobs[0].instances[0].within == ("partition labx",)
    overlap = read(
        *(node("a", partitions="labx,shared"), node("b", partitions="shared")),
        *(job(1, 4, "a", partition="labx"), job(2, 4, "b", partition="shared")),
        job(3, 8, partition="shared", reason="Resources"),
    )
    assert [j.instances[0].within for j in overlap.jobs] == [("partition labx",), ()]
    assert overlap.pending[0].within == ()


def test_reasons_that_are_not_room() -> None:
    limits = ("QOSMaxGRESPerUser", "AssocGrpGRES")
    others = ("ReqNodeNotAvail,_Reserved_for_maintenance", "PartitionTimeLimit", "PartitionNodeLimit", "QOSNotAllowed")
    reasons = (*limits, "JobArrayTaskLimit", *others, "Licenses", "Reservation")
    barred = [job(100 + n, 4, reason=reason) for n, reason in enumerate(reasons)]
    snapshot = read(node("a"), *barred, job(200, 4, reason="Priority"))
    assert [(p.name, p.reason) for p in snapshot.pending] == [("200", "Priority")]
    why = [e.reason for e in snapshot.skipped]
    assert all(reason.startswith("waiting jobs that no room would start: ") for reason in why)
    assert sum("limit of its user/account/QOS reached" in reason for reason in why) == len(limits)
    assert sum(len(e.items) for e in snapshot.skipped) == len(reasons)
    assert all(reason.rpartition(",_")[2].replace("_", " ") in " ".join(why) for reason in reasons)


def test_free_gpus_on_a_node_without_a_free_cpu() -> None:
    snapshot = read(
        node("a", "2(IDX:0-1)", "ALLOCATED", cpus=64),
        node("b", "4(IDX:0-3)", cpus=60),
        *(job(1, 2, "a", cpus=64), job(2, 4, "b", cpus=60), job(3, 6, reason="Resources")),
    )
    offered = {n.name: n.resources["cpu"] for n in snapshot.nodes}
    taken = {i.node: i.resources["cpu"] for j in snapshot.jobs for i in j.instances}
    assert (offered, taken) == ({"a": 64, "b": 64}, {"a": 64, "b": 60})
    assert snapshot.pending[0].resources["cpu"] == 4
    measured = measure(snapshot)
    assert (measured.free_gpus, measured.largest_free_block, measured.avoidable_partial_nodes) == (4, 4, 0)
    assert admit(snapshot, job="3").verdict == "cannot"
    assert plan(snapshot).moves == ()


def test_jobs_of_a_reservation_stay_in_it() -> None:
    inside = "Reservation=course OverSubscribe=OK"
    snapshot = read(
        *(node("a", state="MIXED+RESERVED"), node("b")),
        *(job(1, 4, "a", extra=inside), job(2, 4, "b"), job(3, 4, extra=inside, reason="Resources")),
    )
    assert [j.instances[0].within for j in snapshot.jobs] == [("reservation course",), ("outside reservations",)]
    assert snapshot.pending[0].within == ("reservation course",)
    assert {one.name: set(one.nodes) for one in snapshot.node_sets} == {
        "reservation course": {"a"},
        "outside reservations": {"b"},
    }


def test_gpus_without_nodes_leave_the_shape_open() -> None:
    for request in ("TresPerJob=gres/gpu:8", "TresPerTask=cpu=1,gres/gpu:1"):
        snapshot = read(node("a"), node("b"), job(3, 8, reason="Resources", request=request))
        assert (snapshot.pending, listed(snapshot, "number of nodes is open")) == ((), ("3",))


def test_nodes_that_do_not_say_how_many_of_their_gpus_are_in_use() -> None:
    lines = node("a", state="ALLOCATED", cpus=64).splitlines(keepends=True)
    silent = "".join(line for line in lines if "GresUsed" not in line).replace(",gres/gpu=8,gres/gpu:a100=8", "")
    message = fault(text(silent + "No jobs in the system\n", "nodes.txt"))
    assert message.startswith(
        "nodes.txt: line 7: State: node a is in use by jobs that are not listed, and does not say"
    )


def test_indexes_without_a_count_and_under_their_older_name() -> None:
    older = {"GRES=gpu:a100:4": "GRES=gpu(IDX:0,2-3,5)"}, {"GRES=gpu:a100:4": "GRES_IDX=gpu:a100(IDX:0-3)"}
    for changes in older:
        record = job(1, 4, "a,b", count="2").replace("   JOB_GRES=gpu:a100:8\n", "")
        for old, new in changes.items():
            assert old in record
            record = record.replace(old, new)
        snapshot = read(node("a", "4(IDX:0,2-3,5)"), node("b", "4(IDX:0-3)"), record)
        assert held(snapshot) == {"1": [("a", 4), ("b", 4)]}
        assert skipped(snapshot) == {}


def test_components_of_a_running_heterogeneous_job_are_one_job() -> None:
    snapshot = read(
        *(node("a", "4(IDX:0-3)"), node("b", "4(IDX:0-3)")),
        job(10, 4, "a", numbers="HetJobId=10 HetJobOffset=0"),
        job(11, 4, "b", numbers="HetJobId=10 HetJobOffset=1"),
    )
    assert [(j.name, j.components, len(j.instances)) for j in snapshot.jobs] == [("10", ("10+0", "10+1"), 2)]
