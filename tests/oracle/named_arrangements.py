"""Every arrangement of the named instances of a small snapshot, each judged rule by rule. Slow and plain on purpose.

No kinds, no classes, no patterns: an instance is tried on every node of its pool, and each rule is asked as it is
written. A sort of constraint that is left out is one that no rule asks about.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode


def fewest_partial_nodes(snapshot: Snapshot, pool: str, without: str | None = None) -> int:
    """Return Φ* of a pool, all rules kept but those of one sort of constraint."""
    nodes = [node for node in snapshot.nodes if node.pool == pool]
    names = [node.name for node in nodes]
    held = [(job, one) for job in snapshot.jobs for one in job.instances if one.node in names]
    places = [names if one.movable or without == "immovable" else [one.node] for _, one in held]
    return min(
        _partial(nodes, held, where) for where in product(*places) if _is_allowed(snapshot, nodes, held, where, without)
    )


Held = tuple["RunningJob", "RunningInstance"]


def _partial(nodes: Sequence[SnapshotNode], held: Sequence[Held], where: Sequence[str]) -> int:
    used = {node.name: 0 for node in nodes}
    for (_, one), name in zip(held, where, strict=True):
        used[name] += one.gpus
    return sum(0 < used[node.name] < node.gpus for node in nodes)


def _is_allowed(
    snapshot: Snapshot, nodes: Sequence[SnapshotNode], held: Sequence[Held], where: Sequence[str], without: str | None
) -> bool:
    sets = {one.name: one for one in snapshot.node_sets}
    for (_, one), name in zip(held, where, strict=True):
        kept = [sets[within] for within in one.within if sets[within].kind != without]
        if name != one.node and not all(name in one_of.nodes for one_of in kept):
            return False
    for job in {job.name: job for job, _ in held}.values():
        before = [one.node for other, one in held if other is job]
        after = [name for (other, _), name in zip(held, where, strict=True) if other is job]
        is_bound = job.distinct_nodes and without != "distinct nodes" and len(set(before)) == len(before)
        if is_bound and len(set(after)) < len(after):
            return False
    return all(_may_hold(node, held, where, without) for node in nodes)


def _may_hold(node: SnapshotNode, held: Sequence[Held], where: Sequence[str], without: str | None) -> bool:
    before = [one for _, one in held if one.node == node.name]
    after = [one for (_, one), name in zip(held, where, strict=True) if name == node.name]
    if all(one.node == node.name for one in after):
        return True
    if not node.schedulable and without != "cordoned":
        return False
    if max(sum(one.gpus for one in before), sum(one.gpus for one in after)) > node.gpus:
        return False
    for name, offered in node.resources.items():
        taken = sum(one.resources.get(name, 0) for one in before)
        if name != without and sum(one.resources.get(name, 0) for one in after) > max(offered, taken):
            return False
    return True
