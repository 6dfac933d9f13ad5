"""The form of the native format: its structs, from which its JSON Schema and its page are made.

What the structs refuse is not in the format. They are used by `native` alone; everyone else sees a `Snapshot`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oracle.snapshots.model import DEFAULT_POOL, MAX_GPUS_PER_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCHEMA: Final = "compass-abs/snapshot/2"
FIRST_SCHEMA: Final = "compass-abs/snapshot/1"

# Ranges and lengths stand in the JSON Schema only. The reader checks them itself, because msgspec's own message would
# not say which number was found.
_POSITIVE = {"minimum": 1}
_NOT_NEGATIVE = {"additionalProperties": {"type": "integer", "minimum": 0}}
_NOT_EMPTY = {"minLength": 1}

_Allowed: TypeAlias = Annotated[
    tuple[str, ...] | UnsetType,
    Meta(description="Names of the only nodes on which instances may be put; left out if there is no such list."),
]
_Requires: TypeAlias = Annotated[
    dict[str, str], Meta(description="Labels, with their values, that a node must have for instances to be put on it.")
]
_Within: TypeAlias = Annotated[
    tuple[str, ...],
    Meta(description="Names of entries of `node_sets`: instances may be put only on nodes that are in all of them."),
]
_Resources: TypeAlias = Annotated[
    dict[str, int],
    Meta(description="What each instance holds of its node's further resources.", extra_json_schema=_NOT_NEGATIVE),
]
_Distinct: TypeAlias = Annotated[bool, Meta(description="Whether no two instances of the job may be on one node.")]
_Priority: TypeAlias = Annotated[
    int | None, Meta(description="Priority of the job; a higher one matters more. Left out or null if none is known.")
]


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
    resources: Annotated[
        dict[str, int],
        Meta(
            description="Further things of which the node has so many for these instances, such as CPUs. Of what is "
            "not named it has as much as anyone wants.",
            extra_json_schema=_NOT_NEGATIVE,
        ),
    ] = {}
    labels: Annotated[
        dict[str, str], Meta(description="Labels of the node; they matter where a job `requires` them.")
    ] = {}


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
    within: Annotated[
        tuple[str, ...] | UnsetType, Meta(description="In place of the job's `within`, for this instance.")
    ] = UNSET
    resources: Annotated[
        dict[str, int] | UnsetType,
        Meta(description="In place of the job's `resources`, for this instance.", extra_json_schema=_NOT_NEGATIVE),
    ] = UNSET
    budgets: Annotated[
        tuple[str, ...] | UnsetType, Meta(description="In place of the job's `budgets`, for this instance.")
    ] = UNSET


class NativeJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One running job."""

    name: Annotated[
        str, Meta(description="Name of the job, unique among the running jobs.", extra_json_schema=_NOT_EMPTY)
    ]
    gpus_per_instance: Annotated[
        int, Meta(description="GPUs each instance of the job holds.", extra_json_schema=_POSITIVE)
    ]
    instances: Annotated[tuple[NativeInstance, ...], Meta(description="The job's instances, in order.")]
    allowed_nodes: _Allowed = UNSET
    requires: _Requires = {}
    within: _Within = ()
    distinct_nodes: _Distinct = False
    resources: _Resources = {}
    priority: _Priority = None
    budgets: Annotated[
        tuple[str, ...],
        Meta(description="Names of the disruption budgets in which each instance counts when it is moved."),
    ] = ()


class NativePart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Instances of a waiting job that are unlike its others."""

    gpus_per_instance: Annotated[
        int, Meta(description="GPUs each instance of the part asks for.", extra_json_schema=_POSITIVE)
    ]
    instances: Annotated[int, Meta(description="Number of instances of the part.", extra_json_schema=_POSITIVE)] = 1
    allowed_nodes: _Allowed = UNSET
    requires: _Requires = {}
    within: _Within = ()
    resources: _Resources = {}


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
    allowed_nodes: _Allowed = UNSET
    requires: _Requires = {}
    within: _Within = ()
    distinct_nodes: _Distinct = False
    resources: _Resources = {}
    priority: _Priority = None
    within_one_of: Annotated[
        tuple[str, ...],
        Meta(
            description="Names of entries of `node_sets`, such as racks: all instances have to be in one of them, "
            "whichever. Only where they start together."
        ),
    ] = ()
    parts: Annotated[
        tuple[NativePart, ...], Meta(description="Further instances of the job, unlike these; they start with it.")
    ] = ()
    together: Annotated[
        bool, Meta(description="Whether all its instances must start at one time; otherwise each as soon as it can.")
    ] = True
    reason: Annotated[str | None, Meta(description="Why the job waits, in the words of its cluster.")] = None


class NativeNodeSet(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """Nodes that one constraint allows."""

    name: Annotated[
        str, Meta(description="What messages call it, unique among the sets.", extra_json_schema=_NOT_EMPTY)
    ]
    kind: Annotated[
        str,
        Meta(description="What sort of constraint it is, such as partition or selector.", extra_json_schema=_NOT_EMPTY),
    ]
    nodes: Annotated[tuple[str, ...], Meta(description="Names of the nodes.")]


class NativeNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A constraint that the cluster has and this file does not."""

    reason: Annotated[str, Meta(description="Which constraint it is.", extra_json_schema=_NOT_EMPTY)]
    items: Annotated[tuple[str, ...], Meta(description="Names of the jobs that have it.")]


class NativeSnapshot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A GPU cluster at one moment: nodes, running jobs, waiting jobs."""

    schema: Annotated[
        str,
        Meta(
            description="Name and version of this format. Version 1 has none of the constraints.",
            extra_json_schema={"enum": [FIRST_SCHEMA, SCHEMA]},
        ),
    ]
    nodes: Annotated[tuple[NativeNode, ...], Meta(description="All nodes, those without GPUs in use included.")]
    jobs: Annotated[tuple[NativeJob, ...], Meta(description="The running jobs.")] = ()
    pending: Annotated[tuple[NativePending, ...], Meta(description="The waiting jobs.")] = ()
    node_sets: Annotated[
        tuple[NativeNodeSet, ...], Meta(description="Sets of nodes that jobs name under `within`.")
    ] = ()
    budgets: Annotated[
        dict[str, int],
        Meta(
            description="By the name of a disruption budget, how many of the instances that count in it may be down "
            "at a time.",
            extra_json_schema=_NOT_NEGATIVE,
        ),
    ] = {}
    not_looked_at: Annotated[
        tuple[NativeNote, ...], Meta(description="Constraints of the cluster that this file does not have.")
    ] = ()


# What version 1 had. All else is of version 2.
_OF_THE_FIRST: Final[dict[type[msgspec.Struct], int]] = {
    NativeSnapshot: 4,
    NativeNode: 5,
    NativeInstance: 5,
    NativeJob: 3,
    NativePending: 4,
}
_LATER: Final = {
    type_: {field.name: field.default for field in msgspec.structs.fields(type_)[count:]}
    for type_, count in _OF_THE_FIRST.items()
}


def beyond_the_first(file: NativeSnapshot) -> str:
    """Return the path of something in the file that version 1 of the format has not; nothing if there is none."""
    return next(_later(file), "")


def _later(file: NativeSnapshot) -> Iterator[str]:
    yield from _later_in("", file)
    sections: dict[str, Sequence[msgspec.Struct]] = {"nodes": file.nodes, "jobs": file.jobs, "pending": file.pending}
    for section, items in sections.items():
        for i, item in enumerate(items):
            yield from _later_in(f"{section}[{i}].", item)
    for j, job in enumerate(file.jobs):
        for i, instance in enumerate(job.instances):
            yield from _later_in(f"jobs[{j}].instances[{i}].", instance)


def _later_in(path: str, item: msgspec.Struct) -> Iterator[str]:
    for key, default in _LATER[type(item)].items():
        value: Any = getattr(item, key)
        # Dictionaries have no default of their own: an empty one says nothing.
        if value not in (default, {}):
            yield f"{path}{key}"
