"""Write ``slurm.json``: a made-up cluster in the form that Slurm prints, ``scontrol show nodes`` with ``squeue``.

24 nodes of 8 GPUs in two types, about 70 % of the GPUs in service held: training jobs over several nodes, arrays,
single-node jobs and notebooks of 1 to 4 GPUs, spread as they came and left with gaps by those that ended. A job and
an array wait for whole nodes although far more GPUs than they ask for are free. One node drains, one is down.

``slurm_nodes.txt`` and ``slurm_jobs.txt`` are the same cluster in the text of ``scontrol show node -d`` and of
``scontrol show job -d``. Everything comes from one seed, so that the files are the same wherever they are written::

    python examples/snapshots/generate_slurm.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from random import Random
from typing import TypeAlias

Json: TypeAlias = dict[str, object]

SEED = 2026
GPUS = 8
CPUS_PER_GPU = 24
OUTPUT = Path(__file__).with_name("slurm.json")
NODES_TEXT = Path(__file__).with_name("slurm_nodes.txt")
JOBS_TEXT = Path(__file__).with_name("slurm_jobs.txt")

_NOW = 1_773_066_600
_CPU_NODE = "cpu-01"
_DRAINING, _DOWN = "h100-09", "a100-05"
_REASONS = {_DRAINING: "ECC errors on GPU 3", _DOWN: "Not responding"}
_USERS = ("amara", "bo", "chidi", "dana", "emeka", "farah")
# How many one-node jobs of which demand arrive on each type, and how many of them have ended since.
_DEMANDS = (1, 1, 1, 2, 2, 4, 1, 2, 4, 1, 2, 1)
_ARRIVING, _ENDED = 42, 18


@dataclass(kw_only=True)
class Job:
    """One job: what it asked for, and which GPUs it has on which node (none: it waits)."""

    name: str
    partition: str
    number: int = 0
    user: str = ""
    nodes: int = 1
    gpus: int = 0
    state: tuple[str, ...] = ("RUNNING",)
    reason: str = "None"
    array: tuple[int, str] = (0, "")
    is_batch: bool = True
    may_requeue: bool = True
    priority: int = 4000
    held: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def tres(self) -> str:
        """Return the job's TRES, of its allocation or of its request, which are the same here."""
        cpus = self.nodes * (self.gpus * CPUS_PER_GPU or 8)
        gpus = f",gres/gpu={self.nodes * self.gpus},gres/gpu:{self.partition}={self.nodes * self.gpus}"
        return f"cpu={cpus},mem={cpus * 10}G,node={self.nodes},billing={cpus}" + (gpus if self.gpus else "")

    def gres(self, node: str) -> str:
        """Return what the job has on a node, with the list of its devices."""
        return f"gpu:{self.partition}:{len(self.held[node])}(IDX:{ranges(self.held[node])})" if self.held[node] else ""


@dataclass
class Cluster:
    """The cluster while it is filled: the free GPUs of each node, and the jobs made so far."""

    random: Random = field(default_factory=lambda: Random(SEED))
    free: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    jobs: list[Job] = field(default_factory=list[Job])
    number: int = 48_200

    def add(self, job: Job) -> Job:
        """Add a job, with the next number and some user, and return it."""
        self.number += self.random.randint(1, 9)
        job.number, job.user = self.number, self.random.choice(_USERS)
        self.jobs.append(job)
        return job

    def start(self, job: Job) -> None:
        """Give a job its GPUs, on nodes with many free ones: that is how clusters come to have no whole node left."""
        names = [name for name in self.free if name.startswith(job.partition) and len(self.free[name]) >= job.gpus]
        if len(names) < job.nodes:
            raise ValueError(f"the example has no room for {job.name}")
        names.sort(key=lambda name: (-len(self.free[name]), self.random.random()))
        for name in sorted(names[: job.nodes]):
            job.held[name], self.free[name] = self.free[name][: job.gpus], self.free[name][job.gpus :]

    def end(self, job: Job) -> None:
        """Take a job's GPUs back."""
        for name, indexes in job.held.items():
            self.free[name] = sorted(self.free[name] + indexes)
        self.jobs.remove(job)


def example_cluster() -> Cluster:
    """Return the cluster of the example."""
    cluster = Cluster()
    for partition in ("h100", "a100"):
        cluster.free |= {f"{partition}-{n:02d}": list(range(GPUS)) for n in range(1, 13)}
    del cluster.free[_DOWN]
    for partition, name, nodes, gpus in (
        ("h100", "pretrain-70b", 3, 8),
        ("a100", "pretrain-7b", 2, 8),
        ("h100", "finetune", 2, 4),
        ("a100", "rl-actors", 3, 4),
    ):
        cluster.start(cluster.add(Job(name=name, partition=partition, nodes=nodes, gpus=gpus)))
    for partition in ("h100", "a100"):
        _add_small_jobs(cluster, partition)
    _add_special_jobs(cluster)
    _add_waiting_jobs(cluster)
    return cluster


def _add_small_jobs(cluster: Cluster, partition: str) -> None:
    small: list[Job] = []
    for position in range(_ARRIVING):
        job = cluster.add(Job(name=f"train-{position}", partition=partition, gpus=_DEMANDS[position % len(_DEMANDS)]))
        try:
            cluster.start(job)
        except ValueError:
            cluster.jobs.remove(job)
            continue
        small.append(job)
    for job in cluster.random.sample(small, min(_ENDED, len(small) // 2)):
        cluster.end(job)


def _add_special_jobs(cluster: Cluster) -> None:
    for task in (3, 4, 7):
        cluster.start(cluster.add(Job(name="sweep", partition="a100", gpus=1, array=(48_100, str(task)))))
    cluster.start(cluster.add(Job(name="notebook", partition="a100", gpus=1, is_batch=False)))
    cluster.start(cluster.add(Job(name="no-requeue", partition="h100", gpus=1, may_requeue=False)))
    cluster.start(cluster.add(Job(name="eval", partition="h100", gpus=1, state=("COMPLETED", "COMPLETING"))))
    cluster.add(Job(name="preprocess", partition="cpu", held={_CPU_NODE: []}))


def _add_waiting_jobs(cluster: Cluster) -> None:
    waiting = ("PENDING",)
    cluster.add(Job(name="pretrain-13b", partition="h100", nodes=2, gpus=8, state=waiting, reason="Resources"))
    cluster.add(Job(name="sweep", partition="a100", gpus=8, state=waiting, reason="Priority", array=(48_100, "8-11%4")))
    cluster.add(Job(name="postprocess", partition="a100", gpus=2, state=waiting, reason="Dependency"))
    cluster.add(Job(name="held", partition="a100", gpus=4, state=waiting, reason="JobHeldUser", priority=0))


def slurm_example() -> str:
    """Return the example as JSON: the output of both commands in one object, one line for each node and job."""
    cluster = example_cluster()
    meta: Json = {
        "plugin": {"type": "", "name": "", "data_parser": "data_parser/v0.0.41", "accounting_storage": ""},
        "command": ["show", "nodes"],
        "slurm": {"version": {"major": "24", "micro": "5", "minor": "11"}, "release": "24.11.5", "cluster": "example"},
    }
    nodes = ",\n".join(_compact(_node_json(cluster, name)) for name in _names(cluster))
    jobs = ",\n".join(_compact(_job_json(job)) for job in cluster.jobs)
    rest = _compact({"last_update": _number(_NOW), "meta": meta, "errors": [], "warnings": []})
    return f'{{"nodes":[\n{nodes}\n],\n"jobs":[\n{jobs}\n],\n{rest.removeprefix("{")}\n'


def slurm_text_example() -> tuple[str, str]:
    """Return the same example as text, the nodes and the jobs."""
    cluster = example_cluster()
    nodes = "".join(_node_text(_node_json(cluster, name), _states(cluster, name)) for name in _names(cluster))
    return nodes, "".join(_job_text(job) for job in cluster.jobs)


def ranges(numbers: list[int]) -> str:
    """Return ascending numbers in the short form, such as ``0,4-5``."""
    runs = groupby(enumerate(numbers), key=lambda item: item[1] - item[0])
    ends = [[number for _, number in run] for _, run in runs]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in ends)


def hostlist(names: list[str]) -> str:
    """Return the names of nodes that differ in their last two digits in the short form, such as ``h100-[01,03-04]``."""
    if len(names) < 2:
        return "".join(names)
    numbers = [f"{int(part):02d}" if part.isdigit() else part for part in _split(ranges([int(n[-2:]) for n in names]))]
    return f"{names[0][:-2]}[{''.join(numbers)}]"


def _split(text: str) -> list[str]:
    return text.replace("-", " - ").replace(",", " , ").split(" ")


def _names(cluster: Cluster) -> list[str]:
    return sorted([*cluster.free, _DOWN, _CPU_NODE])


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def _number(value: int | None) -> Json:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def _used(cluster: Cluster, name: str) -> list[int]:
    return sorted(set(range(GPUS)) - set(cluster.free[name])) if name in cluster.free else []


def _states(cluster: Cluster, name: str) -> list[str]:
    used = len(_used(cluster, name))
    if name == _DOWN:
        return ["DOWN", "NOT_RESPONDING"]
    base = "IDLE" if not used else "ALLOCATED" if used == GPUS else "MIXED"
    return [base, "DRAIN"] if name == _DRAINING else [base]


def _node_json(cluster: Cluster, name: str) -> Json:
    type_ = name.partition("-")[0]
    gpus = 0 if name == _CPU_NODE else GPUS
    used = _used(cluster, name)
    cpus = CPUS_PER_GPU * GPUS
    count = f",gres/gpu={{0}},gres/gpu:{type_}={{0}}"
    in_use = f"cpu={len(used) * CPUS_PER_GPU},mem={len(used) * CPUS_PER_GPU * 10}G" + count.format(len(used))
    return {
        "architecture": "x86_64",
        "cores": cpus // 2,
        "cpus": cpus,
        "features": [type_],
        "active_features": [type_],
        "gres": f"gpu:{type_}:{gpus}(S:0-1)" if gpus else "",
        "gres_drained": "N/A",
        "gres_used": f"gpu:{type_}:{len(used)}(IDX:{ranges(used) or 'N/A'})" if gpus else "",
        "name": name,
        "next_state_after_reboot": ["INVALID"],
        "address": name,
        "hostname": name,
        "state": _states(cluster, name),
        "operating_system": "Linux 6.8.0-60-generic #63-Ubuntu SMP PREEMPT_DYNAMIC Tue Apr 15 19:04:15 UTC 2026",
        "partitions": [type_],
        "real_memory": 2_064_000,
        "reason": _REASONS.get(name, ""),
        "alloc_cpus": len(used) * CPUS_PER_GPU,
        "tres_used": in_use if used else "",
        "slurmd_start_time": _number(_NOW - 900_000),
        "sockets": 2,
        "threads": 1,
        "weight": 1,
        "tres": f"cpu={cpus},mem=2064000M,billing={cpus}" + (count.format(gpus) if gpus else ""),
        "version": "24.11.5",
    }


def _job_json(job: Job) -> Json:
    array_id, tasks = job.array
    is_task = tasks.isdigit()
    request = f"gres/gpu:{job.partition}:{job.gpus}" if job.gpus else ""
    return {
        "account": "research",
        "array_job_id": _number(array_id),
        "array_task_id": _number(int(tasks) if is_task else None),
        "array_task_string": "" if is_task else tasks,
        "batch_flag": job.is_batch,
        "cluster": "example",
        "dependency": "afterok:48100_*(unfulfilled)" if job.reason == "Dependency" else "",
        "gres_detail": [job.gres(name) for name in job.held] if job.gpus else [],
        "het_job_id": _number(0),
        "het_job_offset": _number(0),
        "job_id": job.number,
        "job_resources": _resources(job) if job.held else None,
        "job_state": list(job.state),
        "name": job.name,
        "nodes": hostlist(list(job.held)),
        "tasks_per_node": _number(0),
        "cpus": _number(job.nodes * (job.gpus * CPUS_PER_GPU or 8)),
        "node_count": _number(job.nodes),
        "max_nodes": _number(job.nodes if not job.held else 0),
        "tasks": _number(job.nodes),
        "partition": job.partition,
        "hold": job.priority == 0,
        "priority": _number(job.priority),
        "qos": "normal",
        "requeue": job.may_requeue,
        "start_time": _number(_NOW - 7200 if job.held else 0),
        "state_reason": job.reason,
        "submit_time": _number(_NOW - 9000),
        "time_limit": _number(2880),
        "tres_per_job": "",
        "tres_per_node": request,
        "tres_per_socket": "",
        "tres_per_task": "",
        "tres_req_str": job.tres(),
        "tres_alloc_str": job.tres() if job.held else "",
        "user_name": job.user,
    }


def _resources(job: Job) -> Json:
    allocation = [{"index": index, "name": name} for index, name in enumerate(job.held)]
    nodes = {"count": job.nodes, "list": hostlist(list(job.held)), "whole": False, "allocation": allocation}
    return {"select_type": ["CORE", "MEMORY"], "nodes": nodes}


def _node_text(node: Json, states: list[str]) -> str:
    type_ = str(node["name"]).partition("-")[0]
    reason = [f"Reason={node['reason']} [root@2026-03-09T08:12:40]"] if node["reason"] else []
    lines = [
        f"NodeName={node['name']} Arch={node['architecture']} CoresPerSocket={CPUS_PER_GPU * 2} ",
        f"CPUAlloc={node['alloc_cpus']} CPUEfctv={node['cpus']} CPUTot={node['cpus']} CPULoad=0.10",
        f"AvailableFeatures={type_}",
        f"Gres={node['gres'] or '(null)'}",
        "GresDrain=N/A",
        *([f"GresUsed={node['gres_used']}"] if node["gres_used"] else []),
        f"NodeAddr={node['address']} NodeHostName={node['hostname']} Version={node['version']}",
        f"OS={node['operating_system']} ",
        f"RealMemory={node['real_memory']} AllocMem=0 FreeMem=1900000 Sockets={node['sockets']} Boards=1",
        f"State={'+'.join(states)} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A",
        f"Partitions={type_} ",
        f"CfgTRES={node['tres']}",
        f"AllocTRES={node['tres_used']}",
        "CurrentWatts=0 AveWatts=0",
        *reason,
    ]
    return "\n   ".join(lines) + "\n\n"


def _job_text(job: Job) -> str:
    array_id, tasks = job.array
    array = f"ArrayJobId={array_id} ArrayTaskId={tasks} " if array_id else ""
    nodes = f"{job.nodes}" if job.held else f"{job.nodes}-{job.nodes}"
    lines = [
        f"JobId={job.number} {array}JobName={job.name}",
        f"UserId={job.user}(1001) GroupId=research(1000) MCS_label=N/A",
        f"Priority={job.priority} Nice=0 Account=research QOS=normal",
        f"JobState={job.state[-1]} Reason={job.reason} Dependency=(null)",
        f"Requeue={int(job.may_requeue)} Restarts=0 BatchFlag={int(job.is_batch)} Reboot=0 ExitCode=0:0",
        f"Partition={job.partition} AllocNode:Sid=login:4242",
        "ReqNodeList=(null) ExcNodeList=(null)",
        f"NodeList={hostlist(list(job.held))}",
        f"NumNodes={nodes} NumCPUs={job.nodes} NumTasks={job.nodes} CPUs/Task=1 ReqB:S:C:T=0:0:*:*",
        f"ReqTRES={job.tres()}",
        f"AllocTRES={job.tres() if job.held else '(null)'}",
        "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*",
        *_allocation_text(job),
        "MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0",
        f"Command=/home/{job.user}/{job.name}.sh",
        *([f"TresPerNode=gres/gpu:{job.partition}:{job.gpus}"] if job.gpus else []),
    ]
    return "\n   ".join(lines) + "\n\n"


def _allocation_text(job: Job) -> list[str]:
    if not job.held:
        return []
    total = f"gpu:{job.partition}:{job.nodes * job.gpus}" if job.gpus else "(null)"
    groups = groupby(job.held, key=job.gres)
    return [
        f"JOB_GRES={total}",
        *(f"  Nodes={hostlist(list(names))} CPU_IDs=0-7 Mem=0 GRES={gres}" for gres, names in groups),
    ]


if __name__ == "__main__":
    OUTPUT.write_text(slurm_example(), encoding="utf-8")
    nodes_text, jobs_text = slurm_text_example()
    NODES_TEXT.write_text(nodes_text, encoding="utf-8")
    JOBS_TEXT.write_text(jobs_text, encoding="utf-8")
