"""The example in the native format: a small laboratory with three kinds of GPU and one of each trouble."""

from __future__ import annotations

from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.snapshots.native import write_native

_H100 = tuple(f"h100-{i}" for i in range(6))
_A100 = tuple(f"a100-{i}" for i in range(5))
_L40S = tuple(f"l40s-{i}" for i in range(5))

# Job, GPUs an instance, and the node of each instance.
_JOBS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("pretrain", 8, ("h100-0", "h100-5")),
    ("finetune-chat", 4, ("h100-1", "h100-2")),
    ("reward-model", 2, ("h100-2", "h100-3")),
    ("sweep", 1, ("h100-1", "h100-3", "h100-3", "h100-4", "h100-4", "h100-4")),
    ("speech", 3, ("a100-0", "a100-0")),
    ("vision", 5, ("a100-1",)),
    ("retrieval", 2, ("a100-2", "a100-2")),
    ("probe", 1, ("a100-2",)),
    ("evaluation", 2, ("a100-4",)),
    ("render", 4, ("l40s-3",)),
    ("ocr", 2, ("l40s-1",)),
    ("embed", 1, ("l40s-2", "l40s-4", "l40s-4", "l40s-4")),
)


def native_example() -> str:
    """Return the example: overcommitted h100-5, cordoned a100-4, an immovable notebook, and a job that waits."""
    jobs = [
        RunningJob(name=name, instances=tuple(RunningInstance(node=node, gpus=gpus) for node in nodes))
        for name, gpus, nodes in _JOBS
    ]
    notebook = RunningInstance(node="l40s-0", gpus=1, movable=False)
    snapshot = Snapshot.build(
        nodes=[*_h100_nodes(), *_a100_nodes(), *(SnapshotNode(name=name, gpus=4, pool="l40s") for name in _L40S)],
        jobs=[*jobs, RunningJob(name="notebook", instances=(notebook,))],
        pending=[PendingJob(name="pretrain-next", instances=1, gpus_per_instance=8, pool="h100")],
    )
    return write_native(snapshot)


def _h100_nodes() -> list[SnapshotNode]:
    # One GPU of h100-5 broke while 8 were in use there.
    return [SnapshotNode(name=name, gpus=7 if name == "h100-5" else 8, pool="h100") for name in _H100]


def _a100_nodes() -> list[SnapshotNode]:
    return [SnapshotNode(name=name, gpus=8, pool="a100", schedulable=name != "a100-4") for name in _A100]
