"""The text of scontrol: both layouts, lists of hosts, and users' own words between Slurm's fields."""

from __future__ import annotations

import pytest
from immutables import Map

from oracle.snapshots.document import Document
from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.snapshots.slurm import read_slurm
from tests.oracle.snapshots.slurm_inputs import document, fault, held, job, listed, node, on, read_text, skipped, text

NODE = """\
NodeName=n1 Arch=x86_64 CoresPerSocket=20
   CPUAlloc=28 CPUTot=80 CPULoad=12.08
   AvailableFeatures=x86_64,turing,48gb
   ActiveFeatures=x86_64,turing,48gb
   Gres=gpu:rtx8000:8(S:0-1)
   GresDrain=N/A
   GresUsed=gpu:rtx8000:6(IDX:0-3,6-7)
   NodeAddr=n1 NodeHostName=n1 Version=20.11.8
   OS=Linux 4.15.0-99-generic #100-Ubuntu SMP Wed Apr 22 20:32:56 UTC 2020
   RealMemory=386619 AllocMem=196608 FreeMem=321881 Sockets=2 Boards=1
   State=MIXED+DRAIN ThreadsPerCore=2 TmpDisk=3600000 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=main,long
   CfgTRES=cpu=80,mem=386619M,billing=136,gres/gpu=8
   AllocTRES=cpu=28,mem=192G,gres/gpu=6
   Reason=GPU broken, State=DOWN says the vendor [root@2026-03-09T08:12:40]
   Comment=(null)

"""
JOB = """\
JobId=30214 ArrayJobId=30185 ArrayTaskId=28 ArrayTaskThrottle=100 JobName=demo
   UserId=user(1001) GroupId=user(1001) MCS_label=N/A
   Priority=1000000 Nice=0 Account=test QOS=normal
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   Partition=main AllocNode:Sid=login:1839813
   ReqNodeList=(null) ExcNodeList=n9
   NodeList=n1
   BatchHost=n1
   NumNodes=1 NumCPUs=256 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu=1,mem=7G,node=1,billing=1
   AllocTRES=cpu=28,mem=192G,node=1,billing=608,gres/gpu=6
   Socks/Node=* NtasksPerN:B:S:C=1:0:*:* CoreSpec=*
   JOB_GRES=gpu:rtx8000:6
     Nodes=n1 CPU_IDs=0-255 Mem=1835008 GRES=gpu:rtx8000:6(IDX:0-3,6-7)
   MinCPUsNode=1 MinMemoryCPU=7G MinTmpDiskNode=0
   Features=turing DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command=/home/user/launcher.sh
   TresPerNode=gres/gpu:0
   TresPerTask=cpu=1

"""
WAITING = """\
JobId=77 JobName=sweep
   UserId=user(1001) GroupId=user(1001) MCS_label=N/A
   Priority=9 Nice=0 Account=test QOS=normal
   JobState=PENDING Reason=Priority Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   Partition=main AllocNode:Sid=login:4
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList= SchedNodeList=gpu-15
   NumNodes=2-2 NumCPUs=4 NumTasks=2 CPUs/Task=4 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu=8,mem=120G,node=2,billing=99,gres/gpu=8
   AllocTRES=(null)
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   MinCPUsNode=4 MinMemoryNode=60G MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   TresPerNode=gres/gpu:4

"""
EXPECTED = Snapshot.build(
    nodes=[
        SnapshotNode(name="n1", gpus=8, pool="rtx8000", schedulable=False, resources=Map({"cpu": 80, "memory": 386619}))
    ],
    jobs=[
        RunningJob(
            name="30185_28",
            instances=(RunningInstance(node="n1", gpus=6, resources=Map({"cpu": 28, "memory": 196608})),),
            priority=1000000,
        )
    ],
    pending=[
        PendingJob(
            name="77",
            instances=2,
            gpus_per_instance=4,
            pool=None,
            resources=Map({"cpu": 4, "memory": 60 << 10}),
            distinct_nodes=True,
            priority=9,
            reason="Priority",
        )
    ],
)


def one_line(record: str) -> str:
    return record.strip().replace("\n", " ") + "\n"


def changed(record: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in record
        record = record.replace(old, new)
    return record


class TestLayouts:
    """Indented lines, or one line a record (`-o`); nodes and jobs in one text or in several."""

    @pytest.mark.parametrize(
        "texts",
        [
            [NODE + JOB + WAITING],
            [JOB + WAITING + NODE],
            [NODE, JOB, WAITING],
            [one_line(NODE) + one_line(JOB) + one_line(WAITING)],
            [one_line(NODE), JOB, one_line(WAITING)],
            [NODE.replace("\n", "\r\n"), JOB, WAITING],
            ["$ scontrol show node -d\n" + NODE.replace("\n", "\n  "), JOB.replace("   ", "\t"), WAITING[:-1]],
        ],
    )
    def test_read(self, texts: list[str]) -> None:
        snapshot = read_slurm([text(content) for content in texts])
        assert snapshot == EXPECTED
        assert skipped(snapshot) == {}

    @pytest.mark.parametrize(
        ("nodes", "jobs"), [(NODE, "No jobs in the system\n"), ("No nodes in the system\n", WAITING)]
    )
    def test_scontrol_says_so_when_there_are_none(self, nodes: str, jobs: str) -> None:
        assert len(read_slurm([text(nodes), text(jobs)]).nodes) == (nodes == NODE)

    def test_an_empty_cluster(self) -> None:
        assert read_text("No nodes in the system\nNo jobs in the system\n") == Snapshot.build(nodes=[])

    def test_names_in_any_encoding(self) -> None:
        content = (NODE + JOB.replace("demo", "d\xe9mo")).encode("latin-1")
        assert held(read_slurm([Document("x", content)])) == {"30185_28": [("n1", 6)]}


class TestUsersWords:
    """Names, comments and commands may look like Slurm's fields; no value is ever taken from them."""

    @pytest.mark.parametrize("layout", [str, one_line])
    @pytest.mark.parametrize(
        "words",
        [
            "OOD Code Server",
            "x JobState=PENDING",
            "NodeList=n7 NumNodes=9",
            "Requeue=0 BatchFlag=0 Priority=0",
            "JobId=5",
            "a=b",
            "MinCPUsNode=1",
            "x\x0cJobId=5",
            "x\u2028JobId=5",
        ],
    )
    def test_job_names(self, words: str, layout: type[str]) -> None:
        named = changed(JOB, ("JobName=demo", f"JobName={words}"))
        assert read_text(layout(NODE) + layout(named)).jobs == EXPECTED.jobs

    @pytest.mark.parametrize("layout", [str, one_line])
    def test_commands_and_comments(self, layout: type[str]) -> None:
        written = changed(
            JOB, ("launcher.sh", "run.sh NodeList=n7 JobState=PENDING\n   Comment=Requeue=0 and Partition=x")
        )
        assert read_text(layout(NODE) + layout(written)).jobs == EXPECTED.jobs

    def test_a_field_with_two_values_is_refused(self) -> None:
        forged = changed(JOB, ("JobName=demo", "JobName=x UserId=y NodeList=n7"))
        message = fault(text(NODE + forged, "jobs.txt"))
        assert message.startswith("jobs.txt: line 25: NodeList: a second value 'n1' beside 'n7'")


class TestDetails:
    """``Nodes=... GRES=...`` is what the job has on every node of that list."""

    def test_every_node_of_the_list(self) -> None:
        nodes = "".join(changed(NODE, ("n1", f"n{n}")) for n in (1, 2, 3, 4))
        spread = changed(
            JOB,
            ("NodeList=n1", "NodeList=n[1-4]"),
            ("=gpu:rtx8000:6\n", "=gpu:rtx8000:21\n"),
            ("Nodes=n1 ", "Nodes=n[1,3-4] "),
            ("(IDX:0-3,6-7)\n", "(IDX:0-3,6-7)\n     Nodes=n2 CPU_IDs=0-7 Mem=0 GRES=gpu:rtx8000:3(IDX:0-2)\n"),
        )
        expected = {"30185_28": [("n1", 6), ("n3", 6), ("n4", 6), ("n2", 3)]}
        for layout in (str, one_line):
            jobs = read_text(nodes + layout(spread)).jobs[:1]
            assert {job.name: [(i.node, i.gpus) for i in job.instances] for job in jobs} == expected

    def test_blank_gres_on_one_node_is_the_total(self) -> None:
        blank = changed(JOB, ("GRES=gpu:rtx8000:6(IDX:0-3,6-7)", "GRES="))
        assert read_text(NODE + blank).jobs == EXPECTED.jobs
        without_total = changed(blank, ("JOB_GRES=gpu:rtx8000:6", "JOB_GRES=(null)"))
        assert read_text(NODE + without_total).jobs == EXPECTED.jobs

    def test_text_without_d(self) -> None:
        plain = "\n".join(line for line in JOB.splitlines() if "GRES=" not in line)
        assert read_text(NODE + plain).jobs == EXPECTED.jobs

    def test_blank_gres_on_several_nodes_is_refused(self) -> None:
        blank = changed(
            JOB,
            ("NodeList=n1", "NodeList=n[1-2]"),
            ("Nodes=n1 ", "Nodes=n[1-2] "),
            ("GRES=gpu:rtx8000:6(IDX:0-3,6-7)", "GRES="),
        )
        message = fault(text(NODE + blank, "jobs.txt"))
        assert message.startswith("jobs.txt: line 18: job 30185_28: it has 6 GPUs on 2 nodes, but how many on each")

    def test_the_older_name_of_the_totals(self) -> None:
        older = changed(
            "\n".join(line for line in JOB.splitlines() if "GRES=" not in line and "ReqTRES" not in line),
            ("AllocTRES=", "TRES="),
        )
        assert read_text(NODE + older).jobs == EXPECTED.jobs

    def test_gres_without_nodes(self) -> None:
        assert "GRES=gpu:1 in line 20 has no Nodes= before it" in fault(
            text(NODE + "JobId=1\n   JobState=RUNNING\n   GRES=gpu:1\n")
        )


class TestFields:
    """Each field where it stands, and the line where it is wrong."""

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("Gres=gpu:rtx8000:8(S:0-1)", "Gres=gpu:rtx8000:eight", "line 5: Gres: 'gpu:rtx8000:eight' is no number"),
            ("GresUsed=gpu:rtx8000:6(", "GresUsed=gpu:rtx8000:6((", "line 7: GresUsed: the parentheses"),
            ("State=MIXED+DRAIN ", "", "line 1: node 'n1' has no State=, which scontrol always"),
            ("State=MIXED+DRAIN ", "State= ", "line 11: State: expected the state of node 'n1'"),
            ("JobState=RUNNING ", "JobState=N/A ", "line 21: JobState: expected the state of job 30214"),
            ("NodeName=n1", "NodeName=", "line 1: NodeName: expected the name of a node"),
            ("JobState=RUNNING ", "", "line 18: job 30214 has no JobState=, which scontrol"),
            (
                "JobState=RUNNING",
                "JobState=DREAMING",
                "line 21: JobState: job 30185_28 is in a state of unknown meaning",
            ),
            ("JobId=30214", "JobId=x", "line 18: JobId: expected a whole number, got 'x'"),
            ("JobId=30214", "JobId=", "line 18: JobId: expected the number of a job"),
            ("NumNodes=1 ", "NumNodes=few ", "line 27: NumNodes: expected a number of nodes or a range, got 'few'"),
            ("NodeList=n1", "NodeList=n[1", "line 25: NodeList: 'n[1' is no host name"),
            ("NodeList=n1", "NodeList=n2", "line 32: GRES: job 30185_28 has node n2, but lists no resources for it"),
            ("Nodes=n1 ", "Nodes=n2 ", "line 32: GRES: job 30185_28 has node n1, but lists no resources for it"),
            ("GRES=gpu:rtx8000:6(IDX", "GRES=gpu:x:y:6(IDX", "line 32: GRES: 'gpu:x:y:6(IDX:0-3,6-7)' is no number"),
        ],
    )
    def test_wrong(self, old: str, new: str, words: str) -> None:
        assert fault(text(changed(NODE + JOB, (old, new)), "both.txt")).startswith(f"both.txt: {words}")

    def test_cut_off(self) -> None:
        assert "is the text cut off?" in fault(text(NODE + JOB[:90]))

    def test_gres_of_a_node_is_null(self) -> None:
        null = changed(NODE, ("Gres=gpu:rtx8000:8(S:0-1)", "Gres=(null)"))
        (found,) = read_text(null + JOB).nodes
        assert (found.name, found.gpus, found.pool, found.schedulable) == ("n1", 8, "gpu", False)

    @pytest.mark.parametrize(
        "change", [("Requeue=1", "Requeue=0"), ("BatchFlag=1", "BatchFlag=0"), ("=RUNNING", "=COMPLETING")]
    )
    def test_immovable(self, change: tuple[str, str]) -> None:
        assert not read_text(NODE + changed(JOB, change)).jobs[0].instances[0].movable

    def test_held(self) -> None:
        snapshot = read_text(NODE + changed(WAITING, ("Priority=9", "Priority=0")))
        assert snapshot.pending == ()
        assert listed(snapshot, "start: held") == ("77",)

    @pytest.mark.parametrize(
        ("changes", "shape"),
        [
            ([("NumNodes=2-2", "NumNodes=3")], (3, 4)),
            ([("NumNodes=2-2", "NumNodes=2-4")], None),
            ([("TresPerNode=", "TresPerJob=")], (2, 2)),
            ([("TresPerNode=", "TresPerJob="), ("NumNodes=2-2", "NumNodes=1")], None),
            ([("TresPerNode=gres/gpu:4", "Gres=gpu:4")], (2, 4)),
            ([("TresPerNode=gres/gpu:4", "TresPerTask=gres/gpu:1"), ("NumTasks=2", "NumTasks=8")], (2, 4)),
            ([("TresPerNode=gres/gpu:4", "TresPerTask=gres/gpu:1"), ("NumTasks=2", "NumTasks=N/A")], None),
            ([("TresPerNode=gres/gpu:4", "Power=")], (2, 4)),
            ([("TresPerNode=gres/gpu:4", "TresPerSocket=gres/gpu:1")], None),
        ],
    )
    def test_waiting(self, changes: list[tuple[str, str]], shape: tuple[int, int] | None) -> None:
        found = [(p.instances, p.gpus_per_instance) for p in read_text(NODE + changed(WAITING, *changes)).pending]
        assert found == ([] if shape is None else [shape])

    def test_tasks_of_an_array(self) -> None:
        array = changed(WAITING, ("JobId=77 ", "JobId=77 ArrayJobId=70 ArrayTaskId=8-11%4 ArrayTaskThrottle=4 "))
        assert [p.name for p in read_text(NODE + array).pending] == ["70_8", "70_9", "70_10", "70_11"]
        fewer = changed(array, ("11%4 ArrayTaskThrottle=4", "11%2 ArrayTaskThrottle=2"))
        assert [p.name for p in read_text(NODE + fewer).pending] == ["70_8", "70_9"]

    def test_parts_of_a_heterogeneous_job(self) -> None:
        part = changed(JOB, ("ArrayJobId=30185 ArrayTaskId=28 ArrayTaskThrottle=100", "HetJobId=30213 HetJobOffset=1"))
        (job,) = read_text(NODE + part).jobs
        assert (job.name, job.components) == ("30213", ("30213+1",))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ReqB:S:C:T=0:0:*:*", "ReqB:S:C:T=0:2:*:*", ["tasks or CPUs by sockets, cores or threads"]),
        ("ReqB:S:C:T=0:0:*:*", "ReqB:S:C:T=0:0:*:1", ["tasks or CPUs by sockets, cores or threads"]),
        ("NtasksPerN:B:S:C=1:0:*:*", "NtasksPerN:B:S:C=1:0:2:*", ["tasks or CPUs by sockets, cores or threads"]),
        ("NtasksPerN:B:S:C=1:0:*:*", "NtasksPerN:B:S:C=8:0:*:*", []),
        ("Socks/Node=*", "Socks/Node=1", ["tasks or CPUs by sockets, cores or threads"]),
        ("   TresPerTask", "   GresEnforceBind=Yes\n   TresPerTask", ["GPUs bound to the sockets of the CPUs"]),
        ("   TresPerTask", "   GresEnforceBind=Yes,\n   TresPerTask", ["GPUs bound to the sockets of the CPUs"]),
        ("   TresPerTask", "   GresEnforceBind=No,\n   TresPerTask", []),
    ],
)
def test_what_is_not_looked_at(old: str, new: str, words: list[str]) -> None:
    snapshot = read_text(NODE + changed(JOB, (old, new)))
    assert [(e.reason, e.items) for e in snapshot.not_looked_at] == [(word, ("30185_28",)) for word in words]


def test_text_and_json_of_one_cluster_may_be_mixed() -> None:
    jobs = document({"jobs": [job(8, **on("n1", "gpu:rtx8000:2(IDX:0-1)"))]})
    assert held(read_slurm([text(NODE), jobs])) == {"8": [("n1", 2)], "unexplained:n1": [("n1", 4)]}
    assert held(read_slurm([document({"nodes": [node()]}), text(JOB)])) == {"30185_28": [("n1", 6)]}
