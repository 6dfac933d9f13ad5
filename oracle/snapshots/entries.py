"""What a snapshot lists: nodes, sets of nodes, jobs that run, jobs that wait, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from immutables import Map

DEFAULT_POOL = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotNode:
    """One node: its name, the GPUs it offers, its pool, and whether new instances may be put on it.

    `gpus` is what can be used by whole-GPU instances: broken GPUs and devices taken by fractional or MIG users are
    not in it. It may be 0. `domain` is the NVLink domain that the node is a panel of; None where none is known.
    `resources` are further things of which the node has so many for these instances, such as CPUs, by name; of what is
    not named there the node has as much as anyone wants.
    """

    name: str
    gpus: int
    pool: str = DEFAULT_POOL
    schedulable: bool = True
    domain: str | None = None
    resources: Map[str, int] = field(default_factory=Map[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSet:
    """Nodes on which an instance may stand because of one constraint, such as its partition.

    Attributes
    ----------
    name
        What messages call it, such as ``partition labx``; unique in the snapshot.
    kind
        What sort of constraint it is, one word: ``partition``, ``reservation``, ``feature``, ``selector``, ``nodes``,
        ``topology`` (a rack, a block, what hangs on one switch).
    nodes
        Names of the nodes.
    """

    name: str
    kind: str
    nodes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningInstance:
    """One instance of a running job: the node it is on, its demand in GPUs, and whether it may be moved.

    `name` is what its cluster calls it, such as the name of its pod. `index` is what it keeps when it is started anew,
    even under another name, such as a completion index. Both are unique in their job; None where there is none.
    `within` names the node sets that it may not leave, `budgets` the disruption budgets it counts in. `resources` are
    what it holds of its node's further resources.
    """

    node: str
    gpus: int
    movable: bool = True
    name: str | None = None
    index: str | None = None
    within: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    resources: Map[str, int] = field(default_factory=Map[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job with at least one instance on a node. Instances are numbered by their position, in one snapshot.

    Who is who in two snapshots is for `oracle.moves.identity` to say. With `distinct_nodes` no two instances may stand
    on one node. Of jobs with a `priority` those of a higher one matter more; None where none is known. `components` are
    the names of parts of it that its cluster calls jobs as well: who names one of them means the whole.
    """

    name: str
    instances: tuple[RunningInstance, ...]
    distinct_nodes: bool = False
    priority: int | None = None
    components: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPart:
    """Further instances of a waiting job, unlike the others: their number, demand in GPUs and constraints."""

    instances: int
    gpus_per_instance: int
    within: tuple[str, ...] = ()
    resources: Map[str, int] = field(default_factory=Map[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingJob:
    """A waiting job: `instances` times `gpus_per_instance` GPUs in `pool` (None: any one pool will do).

    Attributes
    ----------
    within, resources, distinct_nodes, priority
        As for what runs; `resources` are those of each instance.
    within_one_of
        The node sets in one of which all its instances have to be, whichever, such as racks; none if they need not.
    further_parts
        Instances unlike these that belong to the job.
    together
        Whether all its instances start at one time, as a gang does; otherwise each starts as soon as it can.
    reason
        Why it waits, in the words of its cluster; None if that is not known. Only jobs that room would start are here.
    """

    name: str
    instances: int
    gpus_per_instance: int
    pool: str | None = DEFAULT_POOL
    within: tuple[str, ...] = ()
    resources: Map[str, int] = field(default_factory=Map[str, int])
    distinct_nodes: bool = False
    priority: int | None = None
    within_one_of: tuple[str, ...] = ()
    further_parts: tuple[PendingPart, ...] = ()
    together: bool = True
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Instances of a waiting job that are alike: what a search looks for room for.

    Attributes
    ----------
    job
        The name of a running job if they are further instances of it; else a number of their own.
    instances, gpus, within, resources
        How many there are, and what each of them asks for, as in `PendingJob`.
    pool
        The pool they may be in; None for any.
    distinct_nodes
        Whether no two instances of the job may stand on one node, those that run included.
    """

    job: str | int
    instances: int
    gpus: int
    pool: str | None = None
    within: tuple[str, ...] = ()
    resources: Map[str, int] = field(default_factory=Map[str, int])
    distinct_nodes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Things a reader saw and left out for one reason, such as finished pods or MIG devices.

    With `kept` they are in the snapshot all the same, and the reason says what the user should know about them.
    """

    reason: str
    items: tuple[str, ...]
    kept: bool = False


def why_closed(*, schedulable: bool, gpus: int, used: int) -> str:
    """Return why a node takes no instance, in words that follow "the node"; nothing if it takes some.

    This is the one rule: searches, replays and checks ask it of the nodes as they are *before* the moves, and what is
    closed then is closed throughout. A node that holds more than it offers is broken or misread, and stays so when
    enough has left it.
    """
    if not schedulable:
        return "is cordoned"
    return "holds more than it offers" if used > gpus else ""
