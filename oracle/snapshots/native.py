"""The native format: the project's own JSON, small enough to write by hand and strict enough to trust.

The structs below are the format: what they refuse is not in it, and `native_json_schema` is made from them. They
stay in this module; everyone else sees a `Snapshot`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oracle.safe_text import printable_json
from oracle.snapshots.document import decode_json
from oracle.snapshots.model import (
    DEFAULT_POOL,
    MAX_GPUS_PER_NODE,
    PendingJob,
    RunningInstance,
    RunningJob,
    Skipped,
    Snapshot,
    SnapshotError,
    SnapshotNode,
    check_demand,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.document import Document

SCHEMA = "compass-abs/snapshot/1"

# Ranges and lengths stand in the JSON Schema only. The reader checks them itself, because msgspec's own message would
# not say which number was found.
_POSITIVE = {"minimum": 1}
_NOT_EMPTY = {"minLength": 1}


class NativeNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One node of the cluster."""

    name: Annotated[str, Meta(description="Name of the node, unique in the file.", extra_json_schema=_NOT_EMPTY)]
    gpus: Annotated[
        int,
        Meta(
            description="GPUs that whole-GPU instances can use on this node; 0 if all are broken.",
            extra_json_schema={"minimum": 0, "maximum": MAX_GPUS_PER_NODE},
        ),
    ]
    pool: Annotated[
        str, Meta(description="Pool of the node. Instances never leave their pool.", extra_json_schema=_NOT_EMPTY)
    ] = DEFAULT_POOL
    schedulable: Annotated[
        bool,
        Meta(description="Whether new instances may be put on this node; false for a cordoned or drained one."),
    ] = True
    domain: Annotated[
        str | None,
        Meta(description="NVLink domain that the node is a panel of; left out or null if it is in none."),
    ] = None


class NativeInstance(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One running instance of a job."""

    node: Annotated[str, Meta(description="Name of the node the instance is on.")]
    movable: Annotated[bool, Meta(description="Whether the instance may be moved to another node.")] = True
    gpus: Annotated[
        int | UnsetType,
        Meta(
            description="GPUs this instance holds, where that is not the job's gpus_per_instance.",
            extra_json_schema=_POSITIVE,
        ),
    ] = UNSET
    name: Annotated[
        str | None,
        Meta(description="What its cluster calls the instance, such as the name of its pod; unique in its job."),
    ] = None
    index: Annotated[
        str | None,
        Meta(
            description="What the instance keeps when it is started anew, even under another name, such as a "
            "completion index; unique in its job."
        ),
    ] = None


class NativeJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One running job."""

    name: Annotated[
        str, Meta(description="Name of the job, unique among the running jobs.", extra_json_schema=_NOT_EMPTY)
    ]
    gpus_per_instance: Annotated[
        int, Meta(description="GPUs each instance of the job holds.", extra_json_schema=_POSITIVE)
    ]
    instances: Annotated[tuple[NativeInstance, ...], Meta(description="The job's instances, in order.")]


class NativePending(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One waiting job."""

    name: Annotated[
        str, Meta(description="Name of the job, unique among the waiting jobs.", extra_json_schema=_NOT_EMPTY)
    ]
    gpus_per_instance: Annotated[
        int, Meta(description="GPUs each instance of the job asks for.", extra_json_schema=_POSITIVE)
    ]
    instances: Annotated[
        int, Meta(description="Number of instances the job asks for.", extra_json_schema=_POSITIVE)
    ] = 1
    pool: Annotated[str | None, Meta(description="Pool the job must run in; null if any one pool will do.")] = (
        DEFAULT_POOL
    )


class NativeSnapshot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A GPU cluster at one moment: nodes, running jobs, waiting jobs."""

    schema: Annotated[str, Meta(description="Name and version of this format.", extra_json_schema={"const": SCHEMA})]
    nodes: Annotated[tuple[NativeNode, ...], Meta(description="All nodes, those without GPUs in use included.")]
    jobs: Annotated[tuple[NativeJob, ...], Meta(description="The running jobs.")] = ()
    pending: Annotated[tuple[NativePending, ...], Meta(description="The waiting jobs.")] = ()


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
        for j, job in enumerate(file.jobs):
            check_demand(f"jobs[{j}].gpus_per_instance", job.gpus_per_instance)
        snapshot = Snapshot.build(
            nodes=map(_node, file.nodes), jobs=map(_running, file.jobs), pending=map(_pending, file.pending)
        )
    except SnapshotError as error:
        raise document.error(error.path, error.problem) from error
    return _without_idle_jobs(snapshot)


def write_native(snapshot: Snapshot) -> str:
    """Return the snapshot in the native format; equal snapshots give equal text, and `read_native` reverses it.

    One line holds one node or one job, so that two snapshots can be compared line by line. What the snapshot's
    reader skipped is not part of the format.
    """
    sections: dict[str, list[NativeNode] | list[NativeJob] | list[NativePending]] = {
        "nodes": [
            NativeNode(name=node.name, gpus=node.gpus, pool=node.pool, schedulable=node.schedulable, domain=node.domain)
            for node in snapshot.nodes
        ],
        "jobs": [_native_job(job) for job in snapshot.jobs if job.instances],
        "pending": [
            NativePending(
                name=job.name, gpus_per_instance=job.gpus_per_instance, instances=job.instances, pool=job.pool
            )
            for job in snapshot.pending
        ],
    }
    head = f'"schema": {_compact(SCHEMA)}'
    text = "{" + ",\n ".join([head, *(_section(name, items) for name, items in sections.items())]) + "}\n"
    return printable_json(text)


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
    return file


def _check_version(document: Document, found: object) -> None:
    if found is msgspec.UNSET:
        raise document.error("schema", f"is missing, expected {SCHEMA!r}")
    if isinstance(found, str) and found != SCHEMA:
        raise document.error("schema", f"expected {SCHEMA!r}, got {shown(found)}")


def _node(node: NativeNode) -> SnapshotNode:
    return SnapshotNode(
        name=node.name, gpus=node.gpus, pool=node.pool, schedulable=node.schedulable, domain=node.domain
    )


def _running(job: NativeJob) -> RunningJob:
    instances = tuple(
        RunningInstance(
            node=instance.node,
            gpus=job.gpus_per_instance if isinstance(instance.gpus, UnsetType) else instance.gpus,
            movable=instance.movable,
            name=instance.name,
            index=instance.index,
        )
        for instance in job.instances
    )
    return RunningJob(name=job.name, instances=instances)


def _pending(job: NativePending) -> PendingJob:
    return PendingJob(name=job.name, instances=job.instances, gpus_per_instance=job.gpus_per_instance, pool=job.pool)


def _without_idle_jobs(snapshot: Snapshot) -> Snapshot:
    """Leave out the jobs without an instance, after the checks: their paths count every job of the file."""
    idle = tuple(job.name for job in snapshot.jobs if not job.instances)
    if not idle:
        return snapshot
    jobs = tuple(job for job in snapshot.jobs if job.instances)
    return replace(snapshot, jobs=jobs, skipped=(Skipped(reason="running jobs without an instance", items=idle),))


def _native_job(job: RunningJob) -> NativeJob:
    demands = Counter(instance.gpus for instance in job.instances)
    # The commonest demand becomes the job's own, the smallest of them if several are: one text for equal jobs.
    usual = min(demands, key=lambda gpus: (-demands[gpus], gpus))
    instances = tuple(
        NativeInstance(
            node=instance.node,
            movable=instance.movable,
            gpus=UNSET if instance.gpus == usual else instance.gpus,
            name=instance.name,
            index=instance.index,
        )
        for instance in job.instances
    )
    return NativeJob(name=job.name, gpus_per_instance=usual, instances=instances)


def _section(name: str, items: Sequence[msgspec.Struct]) -> str:
    lines = ",\n  ".join(_compact(item) for item in items)
    return f'"{name}": [\n  {lines}]' if lines else f'"{name}": []'


def _compact(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
