"""What `Snapshot.build` checks; every message has the path of the native format."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oracle.snapshots.faults import MAX_COUNT, MAX_DEMAND, MAX_GPUS_PER_NODE, SnapshotError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from oracle.snapshots.entries import (
        NodeSet,
        PendingJob,
        PendingPart,
        RunningInstance,
        RunningJob,
        Skipped,
        SnapshotNode,
    )


def check_all(
    *,
    nodes: Sequence[SnapshotNode],
    node_sets: Sequence[NodeSet],
    budgets: Mapping[str, int],
    jobs: Sequence[RunningJob],
    pending: Sequence[PendingJob],
    not_looked_at: Sequence[Skipped],
) -> None:
    """Check all that a snapshot promises.

    Raises
    ------
    SnapshotError
        The first fault, in the order of the file.
    """
    _check_nodes(nodes)
    names = {node.name for node in nodes}
    _check_node_sets(node_sets, names)
    sets = {node_set.name for node_set in node_sets}
    check_amounts("budgets", budgets, "budget", "instances")
    _check_names("jobs", jobs)
    for j, job in enumerate(jobs):
        for i, instance in enumerate(job.instances):
            path = f"jobs[{j}].instances[{i}]"
            if instance.node not in names:
                raise SnapshotError(f"{path}.node", f"no node is named {shown(instance.node)}")
            check_demand(f"{path}.gpus", instance.gpus)
            check_known(f"{path}.within", instance.within, sets, "node set")
            check_known(f"{path}.budgets", instance.budgets, budgets, "budget")
            check_amounts(f"{path}.resources", instance.resources, "resource", "units")
        check_called(f"jobs[{j}].instances", job.instances)
        _check_priority(f"jobs[{j}].priority", job.priority)
    _check_names("pending", pending)
    for p, waiting in enumerate(pending):
        if waiting.pool is not None:
            _check_not_empty(f"pending[{p}].pool", waiting.pool, "pool")
        _check_part(f"pending[{p}]", waiting, sets)
        _check_choice(f"pending[{p}].within_one_of", waiting, sets)
        for k, part in enumerate(waiting.further_parts):
            _check_part(f"pending[{p}].parts[{k}]", part, sets)
        _check_priority(f"pending[{p}].priority", waiting.priority)
        if waiting.reason == "":
            raise SnapshotError(f"pending[{p}].reason", "expected why the job waits, got an empty text")
    for n, group in enumerate(not_looked_at):
        if not group.reason:
            raise SnapshotError(f"not_looked_at[{n}].reason", "expected a constraint, got an empty text")


def check_demand(path: str, gpus: int) -> None:
    """Check that a demand is one a running instance can have.

    Raises
    ------
    SnapshotError
        It is below 1 GPU, or more than any node has.
    """
    if not 1 <= gpus <= MAX_GPUS_PER_NODE:
        raise SnapshotError(path, f"expected a demand of 1 to {MAX_GPUS_PER_NODE} GPUs, got {shown(gpus)}")


def check_known(path: str, names: Sequence[str], known: Collection[str], what: str) -> None:
    """Check that names are those of node sets or budgets, each of them once.

    Raises
    ------
    SnapshotError
        One is unknown, or there twice.
    """
    seen: set[str] = set()
    for k, name in enumerate(names):
        if name not in known:
            raise SnapshotError(f"{path}[{k}]", f"no {what} is named {shown(name)}")
        if name in seen:
            raise SnapshotError(f"{path}[{k}]", f"the {what} {shown(name)} is there twice, expected once")
        seen.add(name)


def check_amounts(path: str, amounts: Mapping[str, int], what: str, units: str) -> None:
    """Check amounts of something by name, such as resources.

    Raises
    ------
    SnapshotError
        An empty name, an amount below 0 or beyond what 64 bits count.
    """
    for name, amount in amounts.items():
        _check_not_empty(path, name, what)
        if not 0 <= amount <= MAX_COUNT:
            problem = f"expected 0 to {MAX_COUNT} {units}, got {shown(amount)}"
            raise SnapshotError(f"{path}[{shown(name)}]", problem)


def check_called(path: str, instances: Sequence[RunningInstance]) -> None:
    """Check that names and indexes, where there are any, tell the instances of a job apart.

    Raises
    ------
    SnapshotError
        An empty one, or one that two instances have.
    """
    for key, called in (
        ("name", [instance.name for instance in instances]),
        ("index", [instance.index for instance in instances]),
    ):
        first: dict[str, int] = {}
        for i, text in enumerate(called):
            if text is None:
                continue
            if not text:
                raise SnapshotError(f"{path}[{i}].{key}", f"expected the {key} of an instance, got an empty text")
            if text in first:
                raise SnapshotError(
                    f"{path}[{i}].{key}", f"the {key} {shown(text)} is already taken by instances[{first[text]}]"
                )
            first[text] = i


def _check_nodes(nodes: Sequence[SnapshotNode]) -> None:
    _check_names("nodes", nodes)
    for n, node in enumerate(nodes):
        _check_not_empty(f"nodes[{n}].pool", node.pool, "pool")
        if node.domain is not None:
            _check_not_empty(f"nodes[{n}].domain", node.domain, "domain")
        if not 0 <= node.gpus <= MAX_GPUS_PER_NODE:
            problem = f"expected 0 to {MAX_GPUS_PER_NODE} GPUs on a node, got {shown(node.gpus)}"
            raise SnapshotError(f"nodes[{n}].gpus", problem)
        check_amounts(f"nodes[{n}].resources", node.resources, "resource", "units")


def _check_node_sets(node_sets: Sequence[NodeSet], nodes: AbstractSet[str]) -> None:
    _check_names("node_sets", node_sets)
    for s, node_set in enumerate(node_sets):
        if not node_set.kind:
            raise SnapshotError(f"node_sets[{s}].kind", "expected the kind of a constraint, got an empty text")
        if not node_set.nodes <= nodes:
            problem = f"no node is named {shown(min(node_set.nodes - nodes))}"
            raise SnapshotError(f"node_sets[{s}].nodes", problem)


def _check_part(path: str, part: PendingJob | PendingPart, sets: Collection[str]) -> None:
    # People do ask for what no cluster has, and wait for ever; but not for more than their scheduler can count.
    if not 1 <= part.instances <= MAX_COUNT:
        problem = f"expected 1 to {MAX_COUNT} instances, got {shown(part.instances)}"
        raise SnapshotError(f"{path}.instances", problem)
    if not 1 <= part.gpus_per_instance <= MAX_DEMAND:
        problem = f"expected a demand of 1 to {MAX_DEMAND} GPUs, got {shown(part.gpus_per_instance)}"
        raise SnapshotError(f"{path}.gpus_per_instance", problem)
    check_known(f"{path}.within", part.within, sets, "node set")
    check_amounts(f"{path}.resources", part.resources, "resource", "units")


def _check_choice(path: str, job: PendingJob, sets: Collection[str]) -> None:
    check_known(path, job.within_one_of, sets, "node set")
    if job.within_one_of and not job.together:
        raise SnapshotError(path, "expected none of a job whose instances start one by one")


def _check_priority(path: str, priority: int | None) -> None:
    if priority is not None and not -MAX_COUNT <= priority <= MAX_COUNT:
        raise SnapshotError(path, f"expected a priority of at most 64 bits, got {shown(priority)}")


_WHAT = {"nodes": "node", "node_sets": "node set", "jobs": "job", "pending": "pending job"}


def _check_names(section: str, items: Sequence[SnapshotNode | NodeSet | RunningJob | PendingJob]) -> None:
    """Check that all have a name, and each one of its own."""
    if not all(item.name for item in items):
        for i, item in enumerate(items):
            _check_not_empty(f"{section}[{i}].name", item.name, _WHAT[section])
    counts = Counter(item.name for item in items)
    if len(counts) == len(items):
        return
    where: dict[str, int] = {}
    for i, item in enumerate(items):
        if item.name in where:
            problem = f"the name {shown(item.name)} is already taken by {section}[{where[item.name]}]"
            raise SnapshotError(f"{section}[{i}].name", problem)
        where[item.name] = i


def _check_not_empty(path: str, name: str, what: str) -> None:
    if not name:
        raise SnapshotError(path, f"expected the name of a {what}, got an empty text")
