"""See what draining a node would mean: where its jobs go, what moves first, how fragmented the cluster is after that.

The node is taken away, what ran on it waits, and the rest of the cluster is asked how much of that can start together.
The status is 1 if something has no place.

    $ python examples/drain_a_node.py examples/snapshots/native.json h100-0
    move first: finetune-chat, 4 GPUs: h100-1 -> h100-4
    move first: sweep, 1 GPU: h100-1 -> h100-3
    restart: pretrain, 1x8: h100-1
    partial nodes: 12 -> 11, of them avoidable: 9 -> 8
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

from oracle import load_snapshot, measure
from oracle.admission.queues import admit_queue
from oracle.moves.replay import replay
from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot


def without(snapshot: Snapshot, name: str) -> Snapshot:
    """Return the cluster without a node, its instances waiting for GPUs of the same pool."""
    node = next((node for node in snapshot.nodes if node.name == name), None) or sys.exit(f"no node is named {name}")
    displaced = Counter((job.name, i.gpus) for job in snapshot.jobs for i in job.instances if i.node == name)
    kept = [replace(job, instances=tuple(i for i in job.instances if i.node != name)) for job in snapshot.jobs]
    return Snapshot.build(
        nodes=[other for other in snapshot.nodes if other != node],
        jobs=[job for job in kept if job.instances],
        pending=[
            PendingJob(name=f"{job}, {count}x{gpus}", instances=count, gpus_per_instance=gpus, pool=node.pool)
            for (job, gpus), count in displaced.items()
        ],
    )


def main(path: str, name: str) -> int:
    """Return the status."""
    rest = without(before := load_snapshot(path), name)
    answer = admit_queue(rest, moves="live").together
    for move in answer.order.moves:
        print(f"move first: {move.job}, {move.gpus} GPU{'s'[: move.gpus > 1]}: {move.source} -> {move.destination}")
    homes = {job: [one.node for one in found] for job, found in zip(answer.jobs, answer.placements, strict=True)}
    restarted: list[RunningJob] = []
    for job in rest.pending:
        print(f"restart: {job.name}: {', '.join(homes.get(job.name, ['no place']))}")
        instances = (RunningInstance(node=node, gpus=job.gpus_per_instance) for node in homes.get(job.name, []))
        restarted.append(RunningJob(name=job.name, instances=tuple(instances)))
    moved = replay(rest, answer.order.moves, answer.order.stops)
    old, new = measure(before), measure(replace(moved, jobs=(*moved.jobs, *restarted), pending=()))
    print(f"partial nodes: {old.partial_nodes} -> {new.partial_nodes}, of them avoidable: ", end="")
    print(f"{old.avoidable_partial_nodes} -> {new.avoidable_partial_nodes}")
    return int(len(homes) < len(rest.pending))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__)
