"""Write ``kubernetes.json``: a made-up cluster in the form that ``kubectl get nodes,pods -A -o json`` prints.

40 GPU nodes in two pools, about three quarters of their GPUs held, by a scheduler that spreads pods as the default one
does: training gangs, batch jobs, inference services and notebooks leave nearly every node partly used, and a gang of
two whole nodes waits although more than 40 GPUs of its pool are free.

Everything comes from one seed, so that the file is the same wherever it is written::

    python examples/snapshots/generate_kubernetes.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

Json: TypeAlias = dict[str, object]

SEED = 2026
GPU = "nvidia.com/gpu"
H100 = "NVIDIA-H100-80GB-HBM3"
A100 = "NVIDIA-A100-SXM4-80GB"
OUTPUT = Path(__file__).with_name("kubernetes.json")

_START = "2026-03-02T08:00:00Z"
_NOW = "2026-03-09T14:30:00Z"
_GPU_TAINT: Json = {"key": GPU, "value": "present", "effect": "NoSchedule"}
_TOLERATIONS: list[Json] = [
    {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
]


@dataclass
class Cluster:
    """The cluster while it is filled: what is free on each GPU node, and the objects made so far."""

    random: Random
    pool_of: dict[str, str] = field(default_factory=dict[str, str])
    free: dict[str, int] = field(default_factory=dict[str, int])
    items: list[Json] = field(default_factory=list[Json])

    def spread(self, pool: str, gpus: int) -> str:
        """Take GPUs on the node of the pool with the most free ones, and return its name."""
        name = max(self.of_pool(pool), key=lambda node: (self.free[node], self.random.random()))
        if self.free[name] < gpus:
            raise ValueError(f"the example asks for {gpus} GPUs more than {pool} has on one node")
        self.free[name] -= gpus
        return name

    def of_pool(self, pool: str) -> list[str]:
        """Return the nodes of a pool."""
        return [node for node, its_pool in self.pool_of.items() if its_pool == pool]

    def uid(self) -> str:
        """Return an identifier in the form the API server gives out."""
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def suffix(self) -> str:
        """Return the five letters that controllers append to names."""
        return "".join(self.random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Pods that one controller makes: of which kind it is and what each pod is like."""

    namespace: str
    name: str
    kind: str
    gpus: int
    pool: str
    labels: dict[str, str] = field(default_factory=dict[str, str])
    annotations: dict[str, str] = field(default_factory=dict[str, str])
    init_gpus: int = 0


def kubernetes_example() -> str:
    """Return the JSON text of the example cluster, one object a line."""
    cluster = Cluster(Random(SEED))
    _add_nodes(cluster)
    _add_system_pods(cluster)
    _add_training(cluster)
    _add_services(cluster)
    _add_batch(cluster)
    _add_odd_pods(cluster)
    _add_waiting(cluster)
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in cluster.items)
    head = '{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[\n'
    return f"{head}{lines}\n]}}\n"


def _add_nodes(cluster: Cluster) -> None:
    for number in range(1, 25):
        _add_gpu_node(cluster, f"gpu-h100-{number:02}", H100, 8, broken=1 if number == 17 else 0)
    for number in range(1, 15):
        _add_gpu_node(cluster, f"gpu-a100-{number:02}", A100, 8, cordoned=number == 5)
    for number in (15, 16):
        _add_gpu_node(cluster, f"gpu-a100-{number:02}", A100, 4)
    for name in ("control-01", "cpu-01", "cpu-02"):
        cluster.items.append(_node(cluster, name, {"node.kubernetes.io/instance-type": "c32"}, gpus=None))


def _add_gpu_node(
    cluster: Cluster, name: str, product: str, gpus: int, *, broken: int = 0, cordoned: bool = False
) -> None:
    labels = {
        "node.kubernetes.io/instance-type": f"{product.split('-')[1].lower()}x{gpus}",
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.memory": "81559" if product == H100 else "81920",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "single",
    }
    cluster.items.append(_node(cluster, name, labels, gpus=gpus, broken=broken, cordoned=cordoned))
    cluster.pool_of[name] = product
    cluster.free[name] = gpus - broken


def _node(
    cluster: Cluster, name: str, labels: dict[str, str], *, gpus: int | None, broken: int = 0, cordoned: bool = False
) -> Json:
    capacity = {"cpu": "32", "ephemeral-storage": "960302824Ki", "memory": "131072000Ki", "pods": "110"}
    if gpus is not None:
        capacity |= {"cpu": "192", "memory": "2113408000Ki", "rdma/hca": "1k", GPU: str(gpus)}
    allocatable = capacity | ({GPU: str(gpus - broken)} if gpus is not None else {})
    spec: Json = {"providerID": f"metal://{name}"}
    taints: list[Json] = [_GPU_TAINT] if gpus is not None else []
    if name == "control-01":
        taints.append({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"})
    if cordoned:
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": _NOW})
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": cluster.uid(),
            "creationTimestamp": _START,
            "labels": {"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
            | labels,
        },
        "spec": spec | ({"taints": taints} if taints else {}),
        "status": {
            "images": [{"names": ["registry.k8s.io/kube-proxy:v1.31.4"], "sizeBytes": 30214272}],
            "allocatable": allocatable,
            "capacity": capacity,
            "conditions": [
                _condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                _condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                _condition("Ready", "True", "KubeletReady"),
            ],
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.31.4", "operatingSystem": "linux"},
        },
    }


def _condition(type_: str, status: str, reason: str) -> Json:
    return {"type": type_, "status": status, "reason": reason, "lastTransitionTime": _START}


def _add_system_pods(cluster: Cluster) -> None:
    exporter = Workload(namespace="gpu-operator", name="dcgm-exporter", kind="DaemonSet", gpus=0, pool="")
    for node in cluster.pool_of:
        cluster.items.append(_pod(cluster, exporter, f"dcgm-exporter-{cluster.suffix()}", node=node))
    dns = Workload(namespace="kube-system", name="coredns-7c65d6cfc9", kind="ReplicaSet", gpus=0, pool="")
    for node in ("cpu-01", "cpu-02"):
        cluster.items.append(_pod(cluster, dns, f"{dns.name}-{cluster.suffix()}", node=node))
    static = Workload(
        namespace="kube-system",
        name="control-01",
        kind="Node",
        gpus=0,
        pool="",
        annotations={"kubernetes.io/config.mirror": "0b5b43c1f2a94e7f9d1a"},
    )
    cluster.items.append(_pod(cluster, static, "kube-apiserver-control-01", node="control-01"))


def _add_training(cluster: Cluster) -> None:
    """Add gangs: whole-node ones first, which found their nodes empty, then the smaller ones."""
    for name, pool, workers, gpus in (
        ("llm-pretrain", H100, 4, 8),
        ("vision-xl", A100, 2, 8),
        ("rlhf-policy", H100, 3, 4),
        ("speech-large", H100, 3, 4),
        ("retriever", A100, 4, 2),
        ("diffusion", A100, 2, 4),
        ("moe-ablation", H100, 4, 2),
    ):
        for index in range(workers):
            role, number = ("master", 0) if index == 0 else ("worker", index - 1)
            labels = {
                "training.kubeflow.org/job-name": name,
                "training.kubeflow.org/operator-name": "pytorchjob-controller",
                "training.kubeflow.org/replica-index": str(number),
                "training.kubeflow.org/replica-type": role,
            }
            job = Workload(namespace="research", name=name, kind="PyTorchJob", gpus=gpus, pool=pool, labels=labels)
            cluster.items.append(_pod(cluster, job, f"{name}-{role}-{number}", node=cluster.spread(pool, gpus)))
    for name, pool, workers, gpus in (("protein-fold", H100, 3, 3), ("weather", A100, 4, 2), ("gnn-sweep", H100, 6, 1)):
        for index in range(workers):
            node = cluster.spread(pool, gpus)
            cluster.items.append(_volcano_pod(cluster, name, pool, gpus, index, node=node))


def _volcano_pod(
    cluster: Cluster, name: str, pool: str, gpus: int, index: int, *, node: str | None, phase: str = "Running"
) -> Json:
    annotations = {
        "scheduling.k8s.io/group-name": name,
        "volcano.sh/task-index": str(index),
        "volcano.sh/task-spec": "worker",
    }
    labels = {"volcano.sh/job-name": name, "volcano.sh/job-namespace": "science"}
    job = Workload(
        namespace="science",
        name=name,
        kind="Job",
        gpus=gpus,
        pool=pool,
        labels=labels,
        annotations=annotations,
    )
    return _pod(cluster, job, f"{name}-worker-{index}", node=node, phase=phase)


def _add_services(cluster: Cluster) -> None:
    for name, pool, replicas, gpus in (
        ("chat-8b", H100, 9, 1),
        ("chat-70b", H100, 4, 2),
        ("embeddings", A100, 9, 1),
        ("reranker", A100, 6, 1),
        ("code-assist", H100, 3, 2),
        ("transcribe", A100, 4, 2),
    ):
        template = f"{cluster.random.getrandbits(40):010x}"
        labels = {"app": name, "pod-template-hash": template}
        owner = f"{name}-{template}"
        service = Workload(namespace="serving", name=owner, kind="ReplicaSet", gpus=gpus, pool=pool, labels=labels)
        for _ in range(replicas):
            pod = f"{owner}-{cluster.suffix()}"
            cluster.items.append(_pod(cluster, service, pod, node=cluster.spread(pool, gpus)))


def _add_batch(cluster: Cluster) -> None:
    """Add single-pod jobs, some of them finished: what those held is free again, and the nodes stay unevenly filled."""
    for number in range(1, 42):
        pool = cluster.random.choice((H100, H100, A100))
        gpus = cluster.random.choice((1, 1, 2, 2, 3, 4))
        finished = number % 4 == 0
        name = f"finetune-{number:03}"
        labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
        # The init container that shards the weights needs more GPUs than the training itself, and sets the demand.
        init_gpus = 2 if number == 7 else 0
        gpus = 1 if init_gpus else gpus
        job = Workload(
            namespace="team-a" if number % 2 else "team-b",
            name=name,
            kind="Job",
            gpus=gpus,
            pool=pool,
            labels=labels,
            init_gpus=init_gpus,
        )
        room = max(cluster.free[node] for node in cluster.of_pool(pool))
        if not finished and room < max(gpus, init_gpus):
            continue
        node = cluster.random.choice(cluster.of_pool(pool)) if finished else cluster.spread(pool, max(gpus, init_gpus))
        phase = ("Failed" if number % 3 == 0 else "Succeeded") if finished else "Running"
        cluster.items.append(_pod(cluster, job, f"{name}-{cluster.suffix()}", node=node, phase=phase))


def _add_odd_pods(cluster: Cluster) -> None:
    """Add pods that may not be moved: notebooks, a bare pod, and one that is being deleted."""
    for user in ("ada", "emmy", "sofia"):
        notebook = Workload(
            namespace="notebooks",
            name=f"notebook-{user}",
            kind="StatefulSet",
            gpus=1,
            pool=A100,
            labels={"apps.kubernetes.io/pod-index": "0", "notebook-name": f"notebook-{user}"},
            annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
        )
        cluster.items.append(_pod(cluster, notebook, f"{notebook.name}-0", node=cluster.spread(A100, 1)))
    bare = Workload(namespace="team-b", name="debug-nccl", kind="", gpus=1, pool=H100)
    cluster.items.append(_pod(cluster, bare, bare.name, node=cluster.spread(H100, 1)))
    leaving = Workload(namespace="team-a", name="eval-retired", kind="Job", gpus=2, pool=H100)
    node = cluster.spread(H100, 2)
    cluster.items.append(_pod(cluster, leaving, f"eval-retired-{cluster.suffix()}", node=node, deleted=True))


def _add_waiting(cluster: Cluster) -> None:
    for index in range(2):
        pod = _volcano_pod(cluster, "llm-finetune", H100, 8, index, node=None, phase="Pending")
        cluster.items.append(pod)
    cluster.items.append(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "llm-finetune", "namespace": "science"},
            "spec": {"minMember": 2, "queue": "default"},
            "status": {"phase": "Inqueue"},
        }
    )


def _pod(
    cluster: Cluster, workload: Workload, name: str, *, node: str | None, phase: str = "Running", deleted: bool = False
) -> Json:
    metadata: Json = {
        "name": name,
        "namespace": workload.namespace,
        "uid": cluster.uid(),
        "creationTimestamp": _START,
        "labels": workload.labels,
    }
    if workload.annotations:
        metadata["annotations"] = workload.annotations
    if deleted:
        metadata |= {"deletionTimestamp": _NOW, "deletionGracePeriodSeconds": 30}
    if workload.kind:
        metadata["ownerReferences"] = [_owner(workload)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _pod_spec(workload, node),
        "status": _pod_status(node, phase),
    }


def _owner(workload: Workload) -> Json:
    versions = {
        "DaemonSet": "apps/v1",
        "Job": "batch.volcano.sh/v1alpha1" if workload.namespace == "science" else "batch/v1",
        "Node": "v1",
        "PyTorchJob": "kubeflow.org/v1",
        "ReplicaSet": "apps/v1",
        "StatefulSet": "apps/v1",
    }
    return {
        "apiVersion": versions[workload.kind],
        "kind": workload.kind,
        "name": workload.name,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod_spec(workload: Workload, node: str | None) -> Json:
    spec: Json = {"containers": [_container("main", workload.gpus)]}
    if workload.init_gpus:
        spec["initContainers"] = [_container("shard", workload.init_gpus)]
    if node is not None:
        spec["nodeName"] = node
    if workload.pool:
        spec["nodeSelector"] = {"nvidia.com/gpu.product": workload.pool}
        spec["tolerations"] = _TOLERATIONS
    return spec | {"restartPolicy": "Never" if workload.kind in {"Job", "PyTorchJob"} else "Always"}


def _container(name: str, gpus: int) -> Json:
    amounts = {"cpu": str(8 * gpus or 1), "memory": f"{64 * gpus or 1}Gi"} | ({GPU: str(gpus)} if gpus else {})
    return {
        "name": name,
        "image": f"registry.example.com/{name}:1.4",
        "resources": {"limits": amounts, "requests": amounts},
    }


def _pod_status(node: str | None, phase: str) -> Json:
    if node is None:
        reason = "0/43 nodes are available: not enough whole nodes with free nvidia.com/gpu."
        waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": reason}
        return {"phase": phase, "conditions": [waiting], "qosClass": "Guaranteed"}
    ready = "True" if phase == "Running" else "False"
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}]
    return {"phase": phase, "conditions": conditions, "qosClass": "Guaranteed", "startTime": _START}


if __name__ == "__main__":
    OUTPUT.write_text(kubernetes_example(), encoding="utf-8")
