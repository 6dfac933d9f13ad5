"""The native format: the project's own JSON, small enough to write by hand and strict enough to trust."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import msgspec
from immutables import Map
from msgspec import UNSET, UnsetType

from oracle.safe_text import printable_json
from oracle.snapshots.checks import check_amounts, check_demand, check_known
from oracle.snapshots.document import decode_json
from oracle.snapshots.model import (
    NodeSet,
    PendingJob,
    PendingPart,
    RunningInstance,
    RunningJob,
    Skipped,
    Snapshot,
    SnapshotError,
    SnapshotNode,
    shown,
)
from oracle.snapshots.native_form import (
    FIRST_SCHEMA,
    SCHEMA,
    NativeInstance,
    NativeJob,
    NativeNode,
    NativeNodeSet,
    NativeNote,
    NativePart,
    NativePending,
    NativeSnapshot,
    beyond_the_first,
)
from oracle.snapshots.node_sets import NodeSets, words_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.snapshots.document import Document

T = TypeVar("T")
Ordered = TypeVar("Ordered", int, tuple[str, ...], tuple[tuple[str, int], ...])

_EXPECTED = f"{SCHEMA!r} or {FIRST_SCHEMA!r}"


class _Version(msgspec.Struct):
    schema: object = msgspec.UNSET


def read_native(document: Document) -> Snapshot:
    """Return the snapshot a document in the native format describes.

    A job without instances holds nothing; it is left out and listed under `Snapshot.skipped`.

    Raises
    ------
    SnapshotError
        The document is no valid JSON of this format, or contradicts itself: two nodes of one name, an instance on
        an unknown node, a number out of range. The message carries the path to the item.
    """
    file = _decode(document)
    try:
        _check_jobs(file)
        constraints = _Constraints(file)
        snapshot = Snapshot.build(
            nodes=map(_node, file.nodes),
            jobs=[_running(f"jobs[{j}]", job, constraints) for j, job in enumerate(file.jobs)],
            pending=[_pending(f"pending[{p}]", job, constraints) for p, job in enumerate(file.pending)],
            node_sets=constraints.sets.all(),
            budgets=file.budgets,
            not_looked_at=[Skipped(reason=note.reason, items=note.items) for note in file.not_looked_at],
        )
    except SnapshotError as error:
        raise document.error(error.path, error.problem) from error
    return _without_idle_jobs(snapshot)


def write_native(snapshot: Snapshot) -> str:
    """Return the snapshot in the native format; equal snapshots give equal text, and `read_native` reverses it.

    One line holds one node or one job, so that two snapshots can be compared line by line. What the snapshot's
    reader skipped is not part of the format.
    """
    file = NativeSnapshot(
        schema=SCHEMA,
        nodes=tuple(
            NativeNode(
                name=node.name,
                gpus=node.gpus,
                pool=node.pool,
                schedulable=node.schedulable,
                domain=node.domain,
                resources=_in_order(node.resources),
            )
            for node in snapshot.nodes
        ),
        jobs=tuple(_native_job(job) for job in snapshot.jobs if job.instances),
        pending=tuple(map(_native_pending, snapshot.pending)),
        node_sets=tuple(
            NativeNodeSet(name=node_set.name, kind=node_set.kind, nodes=tuple(sorted(node_set.nodes)))
            for node_set in snapshot.node_sets
        ),
        budgets=_in_order(snapshot.budgets),
        not_looked_at=tuple(NativeNote(reason=note.reason, items=note.items) for note in snapshot.not_looked_at),
    )
    # What needs no more than the first version is written in it: every program that reads the format can read that.
    version = SCHEMA if beyond_the_first(file) else FIRST_SCHEMA
    parts = [f'"schema": {_compact(version)}']
    parts += [_section(name, items) for name, items in (("nodes", file.nodes), ("jobs", file.jobs))]
    parts.append(_section("pending", file.pending))
    parts += [_section("node_sets", file.node_sets)] if file.node_sets else []
    parts += [f'"budgets": {_compact(file.budgets)}'] if file.budgets else []
    parts += [_section("not_looked_at", file.not_looked_at)] if file.not_looked_at else []
    return printable_json("{" + ",\n ".join(parts) + "}\n")


def native_json_schema() -> dict[str, object]:
    """Return the JSON Schema of the native format (draft 2020-12)."""
    schema: dict[str, object] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Cluster snapshot, {SCHEMA}",
    }
    schema.update(msgspec.json.schema(NativeSnapshot))
    return schema


def _decode(document: Document) -> NativeSnapshot:
    try:
        file = decode_json(document, NativeSnapshot)
    except SnapshotError:
        # A later version of the format fails on its first new field. Only then, because it costs a second pass, is
        # the version looked at on its own: it is what the user has to know.
        _check_version(document, decode_json(document, _Version).schema)
        raise
    _check_version(document, file.schema)
    if file.schema == FIRST_SCHEMA and (path := beyond_the_first(file)):
        raise document.error(path, f"is a key of {SCHEMA!r}, and this is {FIRST_SCHEMA!r}")
    return file


def _check_version(document: Document, found: object) -> None:
    if found is msgspec.UNSET:
        raise document.error("schema", f"is missing, expected {_EXPECTED}")
    if isinstance(found, str) and found not in {SCHEMA, FIRST_SCHEMA}:
        raise document.error("schema", f"expected {_EXPECTED}, got {shown(found)}")


def _check_jobs(file: NativeSnapshot) -> None:
    """Check what jobs say for all their instances, so that no message names an instance for it."""
    sets = {node_set.name for node_set in file.node_sets}
    for j, job in enumerate(file.jobs):
        check_demand(f"jobs[{j}].gpus_per_instance", job.gpus_per_instance)
        check_known(f"jobs[{j}].within", job.within, sets, "node set")
        check_known(f"jobs[{j}].budgets", job.budgets, file.budgets, "budget")
        check_amounts(f"jobs[{j}].resources", job.resources, "resource", "units")


class _Constraints:
    """The node sets of a file, and those that its lists of nodes and its required labels stand for."""

    def __init__(self, file: NativeSnapshot) -> None:
        self.sets = NodeSets(NodeSet(name=s.name, kind=s.kind, nodes=frozenset(s.nodes)) for s in file.node_sets)
        self._given = frozenset(node_set.name for node_set in file.node_sets)
        self._nodes = frozenset(node.name for node in file.nodes)
        self._labelled: dict[tuple[str, str], set[str]] = {}
        for node in file.nodes:
            for label in node.labels.items():
                self._labelled.setdefault(label, set()).add(node.name)

    def made_of(self, path: str, item: NativeJob | NativePending | NativePart) -> tuple[str, ...]:
        """Return the names of the sets that stand for an item's `allowed_nodes` and `requires`."""
        names: list[str] = []
        if not isinstance(item.allowed_nodes, UnsetType):
            allowed = frozenset(item.allowed_nodes)
            if not allowed <= self._nodes:
                k, name = next((k, name) for k, name in enumerate(item.allowed_nodes) if name not in self._nodes)
                raise SnapshotError(f"{path}.allowed_nodes[{k}]", f"no node is named {shown(name)}")
            names.append(self.sets.name_of("nodes", allowed, words_for(allowed), lambda: allowed))
        if item.requires:
            labels = tuple(sorted(item.requires.items()))
            words = f"labels {', '.join(f'{key}={value}' for key, value in labels)}"
            names.append(self.sets.name_of("selector", labels, words, lambda: self._with(labels)))
        return tuple(names)

    def check_given(self, path: str, names: Sequence[str]) -> None:
        """Check that a file names only sets of its own: what the made ones are called is nobody's business."""
        check_known(path, names, self._given, "node set")

    def _with(self, labels: Sequence[tuple[str, str]]) -> set[str]:
        return set[str].intersection(*(self._labelled.get(label, set()) for label in labels))


def _node(node: NativeNode) -> SnapshotNode:
    return SnapshotNode(
        name=node.name,
        gpus=node.gpus,
        pool=node.pool,
        schedulable=node.schedulable,
        domain=node.domain,
        resources=Map(node.resources),
    )


def _running(path: str, job: NativeJob, constraints: _Constraints) -> RunningJob:
    made = constraints.made_of(path, job)
    resources = Map(job.resources)
    instances: list[RunningInstance] = []
    for i, instance in enumerate(job.instances):
        within = _own(instance.within, job.within)
        if within is not job.within:
            constraints.check_given(f"{path}.instances[{i}].within", within)
        instances.append(
            RunningInstance(
                node=instance.node,
                gpus=_own(instance.gpus, job.gpus_per_instance),
                movable=instance.movable,
                name=instance.name,
                index=instance.index,
                within=(*within, *made),
                budgets=_own(instance.budgets, job.budgets),
                resources=resources if isinstance(instance.resources, UnsetType) else Map(instance.resources),
            )
        )
    return RunningJob(
        name=job.name, instances=tuple(instances), distinct_nodes=job.distinct_nodes, priority=job.priority
    )


def _own(value: T | UnsetType, of_job: T) -> T:
    return of_job if isinstance(value, UnsetType) else value


def _pending(path: str, job: NativePending, constraints: _Constraints) -> PendingJob:
    return PendingJob(
        name=job.name,
        instances=job.instances,
        gpus_per_instance=job.gpus_per_instance,
        pool=job.pool,
        within=_pending_within(path, job, constraints),
        resources=Map(job.resources),
        distinct_nodes=job.distinct_nodes,
        priority=job.priority,
        within_one_of=job.within_one_of,
        further_parts=tuple(
            PendingPart(
                instances=part.instances,
                gpus_per_instance=part.gpus_per_instance,
                within=_pending_within(f"{path}.parts[{k}]", part, constraints),
                resources=Map(part.resources),
            )
            for k, part in enumerate(job.parts)
        ),
        together=job.together,
        reason=job.reason,
    )


def _pending_within(path: str, item: NativePending | NativePart, constraints: _Constraints) -> tuple[str, ...]:
    constraints.check_given(f"{path}.within", item.within)
    return (*item.within, *constraints.made_of(path, item))


def _without_idle_jobs(snapshot: Snapshot) -> Snapshot:
    """Leave out the jobs without an instance, after the checks: their paths count every job of the file."""
    idle = tuple(job.name for job in snapshot.jobs if not job.instances)
    if not idle:
        return snapshot
    jobs = tuple(job for job in snapshot.jobs if job.instances)
    return replace(snapshot, jobs=jobs, skipped=(Skipped(reason="running jobs without an instance", items=idle),))


def _native_job(job: RunningJob) -> NativeJob:
    # The commonest value becomes the job's own, the smallest of them if several are: one text for equal jobs.
    gpus = _usual([instance.gpus for instance in job.instances])
    within = _usual([instance.within for instance in job.instances])
    budgets = _usual([instance.budgets for instance in job.instances])
    resources = Map(_usual([tuple(sorted(instance.resources.items())) for instance in job.instances]))
    instances = tuple(
        NativeInstance(
            node=instance.node,
            movable=instance.movable,
            gpus=UNSET if instance.gpus == gpus else instance.gpus,
            name=instance.name,
            index=instance.index,
            within=UNSET if instance.within == within else instance.within,
            resources=UNSET if instance.resources == resources else _in_order(instance.resources),
            budgets=UNSET if instance.budgets == budgets else instance.budgets,
        )
        for instance in job.instances
    )
    return NativeJob(
        name=job.name,
        gpus_per_instance=gpus,
        instances=instances,
        within=within,
        distinct_nodes=job.distinct_nodes,
        resources=_in_order(resources),
        priority=job.priority,
        budgets=budgets,
    )


def _usual(values: Sequence[Ordered]) -> Ordered:
    counts = Counter(values)
    most = max(counts.values())
    return min(value for value, count in counts.items() if count == most)


def _native_pending(job: PendingJob) -> NativePending:
    return NativePending(
        name=job.name,
        gpus_per_instance=job.gpus_per_instance,
        instances=job.instances,
        pool=job.pool,
        within=job.within,
        distinct_nodes=job.distinct_nodes,
        resources=_in_order(job.resources),
        priority=job.priority,
        within_one_of=job.within_one_of,
        parts=tuple(
            NativePart(
                gpus_per_instance=part.gpus_per_instance,
                instances=part.instances,
                within=part.within,
                resources=_in_order(part.resources),
            )
            for part in job.further_parts
        ),
        together=job.together,
        reason=job.reason,
    )


def _in_order(amounts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(amounts.items()))


def _section(name: str, items: Sequence[msgspec.Struct]) -> str:
    lines = ",\n  ".join(_compact(item) for item in items)
    return f'"{name}": [\n  {lines}]' if lines else f'"{name}": []'


def _compact(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
