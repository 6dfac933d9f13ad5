"""A cluster at one moment, as the oracle sees it: nodes, running jobs, waiting jobs, and what was left out.

Every reader (native, Kubernetes, Slurm) ends in a `Snapshot`; everything after it starts from one. The values are
immutable and validated by `Snapshot.build`, the only way readers make one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from compass_core.errors import CompassError
from oracle.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from compass_core.state import ClusterState

DEFAULT_POOL = "default"

# A node of more GPUs than this is a misread number (a memory size, a core count), not a machine: the largest
# scale-up domain sold as one node has 72 GPUs, and time-sliced devices are counted in tens a GPU.
MAX_GPUS_PER_NODE = 1024

# Nodes of a cluster at most: no scheduler is built for a tenth of them. A snapshot has a line for each, but a range of
# names or a certificate states a number, and what it states must not fill the memory.
MAX_NODES = 1 << 20

# Quantities of Kubernetes and counts of Slurm are integers of 64 bits.
MAX_COUNT = (1 << 63) - 1

Pattern: TypeAlias = tuple[int, ...]
"""Instances on one node: their demands in GPUs, in descending order, such as ``(4, 2, 1)``."""

# No message is longer than this, whatever stands in the input; ours are far shorter.
_LONGEST_PATH = 400
_LONGEST_PROBLEM = 1000


class SnapshotError(CompassError):
    """A snapshot that cannot be read: the message says where, what stood there and what was expected.

    The message is one line of bounded length; `path` and `problem` are kept as they are.
    """

    def __init__(self, path: str, problem: str) -> None:
        place, what = _on_a_line(path, _LONGEST_PATH), _on_a_line(problem, _LONGEST_PROBLEM)
        super().__init__(f"{place}: {what}" if path else what)
        self.path = path
        self.problem = problem


class UnknownPoolError(CompassError):
    """No node of the snapshot is in this pool; the message lists the pools there are."""

    def __init__(self, pool: str, snapshot: Snapshot) -> None:
        known = ", ".join(map(repr, snapshot.pools)) or "none"
        super().__init__(f"no node is in a pool named {pool!r}; pools: {known}")


def shown(value: object, limit: int = 80) -> str:
    """Return text or a number of the input as messages quote it: the beginning of it, if it is long."""
    if isinstance(value, str):
        return repr(value if len(value) <= limit else value[:limit] + "...")
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "..."


def _on_a_line(text: str, limit: int) -> str:
    text = printable(text)
    # The end says what was expected, so that it is the middle that goes.
    end = limit // 3
    return text if len(text) <= limit else f"{text[: limit - end]} ... {text[-end:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotNode:
    """One node: its name, the GPUs it offers, its pool, and whether new instances may be put on it.

    `gpus` is what can be used by whole-GPU instances: broken GPUs and devices taken by fractional or MIG users are
    not in it. It may be 0. `domain` is the NVLink domain that the node is a panel of; None where none is known.
    """

    name: str
    gpus: int
    pool: str = DEFAULT_POOL
    schedulable: bool = True
    domain: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningInstance:
    """One instance of a running job: the node it is on, its demand in GPUs, and whether it may be moved.

    `name` is what its cluster calls it, such as the name of its pod. `index` is what it keeps when it is started anew,
    even under another name, such as a completion index. Both are unique in their job; None where there is none.
    """

    node: str
    gpus: int
    movable: bool = True
    name: str | None = None
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job with at least one instance on a node. Instances are numbered by their position, in one snapshot.

    Who is who in two snapshots is for `oracle.moves.identity` to say.
    """

    name: str
    instances: tuple[RunningInstance, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingJob:
    """A waiting job: `instances` times `gpus_per_instance` GPUs in `pool` (None: any one pool will do)."""

    name: str
    instances: int
    gpus_per_instance: int
    pool: str | None = DEFAULT_POOL


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Things a reader saw and left out for one reason, such as finished pods or MIG devices.

    With `kept` they are in the snapshot all the same, and the reason says what the user should know about them.
    """

    reason: str
    items: tuple[str, ...]
    kept: bool = False


@dataclass(frozen=True, slots=True)
class NodeContent:
    """One node of a snapshot with what runs on it, demands in descending order.

    Attributes
    ----------
    name, capacity, schedulable
        The node: its name, the GPUs it offers, whether it takes new instances.
    immovable, movable
        Demands of the instances on it that must stay, and of those that may leave.
    used
        GPUs held by all of them; more than `capacity` on an over-committed node.
    """

    name: str
    capacity: int
    schedulable: bool
    immovable: Pattern
    movable: Pattern
    used: int = field(init=False)

    def __post_init__(self) -> None:
        # Kept, not computed each time: it is asked for several times on each of many thousand nodes.
        object.__setattr__(self, "used", sum(self.immovable) + sum(self.movable))

    @property
    def overcommitted(self) -> bool:
        """Whether more is held than the node offers, as when a GPU broke under a running job."""
        return self.used > self.capacity

    @property
    def takes_instances(self) -> bool:
        """Whether instances may come to the node: it is not cordoned and holds no more than it offers."""
        return not why_closed(schedulable=self.schedulable, gpus=self.capacity, used=self.used)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A whole cluster. Node names are unique, job names are unique, every instance is on a known node."""

    nodes: tuple[SnapshotNode, ...]
    jobs: tuple[RunningJob, ...] = ()
    pending: tuple[PendingJob, ...] = ()
    skipped: tuple[Skipped, ...] = field(default=(), compare=False)

    @classmethod
    def build(
        cls,
        *,
        nodes: Iterable[SnapshotNode],
        jobs: Iterable[RunningJob] = (),
        pending: Iterable[PendingJob] = (),
        skipped: Iterable[Skipped] = (),
    ) -> Snapshot:
        """Return a checked snapshot.

        Raises
        ------
        SnapshotError
            Two nodes, two jobs or two instances of a job of one name, an empty name, an instance on an unknown node, or
            a number out of range. The path is that of the native format (``jobs[2].instances[0].node``); readers of
            other formats check these things themselves first where they can name a better place.
        """
        snapshot = cls(nodes=tuple(nodes), jobs=tuple(jobs), pending=tuple(pending), skipped=tuple(skipped))
        _check_nodes(snapshot.nodes)
        known = {node.name for node in snapshot.nodes}
        _check_names("jobs", snapshot.jobs)
        _check_unique("jobs", [job.name for job in snapshot.jobs])
        for j, job in enumerate(snapshot.jobs):
            for i, instance in enumerate(job.instances):
                path = f"jobs[{j}].instances[{i}]"
                if instance.node not in known:
                    raise SnapshotError(f"{path}.node", f"no node is named {shown(instance.node)}")
                check_demand(f"{path}.gpus", instance.gpus)
            check_called(f"jobs[{j}].instances", job.instances)
        _check_names("pending", snapshot.pending)
        _check_unique("pending", [waiting.name for waiting in snapshot.pending])
        for p, waiting in enumerate(snapshot.pending):
            if waiting.pool is not None:
                _check_not_empty(f"pending[{p}].pool", waiting.pool, "pool")
            # People do ask for what no cluster has, and wait for ever; but not for more than their scheduler can count.
            if not 1 <= waiting.instances <= MAX_COUNT:
                problem = f"expected 1 to {MAX_COUNT} instances, got {shown(waiting.instances)}"
                raise SnapshotError(f"pending[{p}].instances", problem)
            if not 1 <= waiting.gpus_per_instance <= MAX_COUNT:
                problem = f"expected a demand of 1 to {MAX_COUNT} GPUs, got {shown(waiting.gpus_per_instance)}"
                raise SnapshotError(f"pending[{p}].gpus_per_instance", problem)
        return snapshot

    @classmethod
    def from_state(cls, state: ClusterState) -> Snapshot:
        """Return the snapshot of a cluster as `compass_core` schedules it, to be measured, planned or admitted to.

        A node is named by its index (``"3"``), and only those online are there. Jobs keep their names. Instances keep
        their order; where a failed node took some of a job, those that run are numbered anew, from 0. Jobs of which
        none runs are listed in `skipped`. All nodes are in the one pool `DEFAULT_POOL`, and everything can move.

        Raises
        ------
        SnapshotError
            A job's name is empty, or the nodes have more GPUs than any machine: `compass_core` allows both.
        """
        placed = {job.name: state.instances_of(job.name) for job in state.jobs}
        lost = tuple(name for name, instances in placed.items() if not instances)
        return cls.build(
            nodes=[
                SnapshotNode(name=str(index), gpus=node.capacity)
                for index, node in enumerate(state.nodes)
                if state.is_online(index)
            ],
            jobs=[
                RunningJob(
                    name=name,
                    instances=tuple(
                        RunningInstance(node=str(state.node_of(instance)), gpus=instance.gpus) for instance in instances
                    ),
                )
                for name, instances in placed.items()
                if instances
            ],
            skipped=[Skipped(reason="jobs of which no instance runs", items=lost)] if lost else (),
        )

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that have a node, sorted."""
        return tuple(sorted({node.pool for node in self.nodes}))

    @cached_property
    def contents(self) -> Mapping[str, tuple[NodeContent, ...]]:
        """Every node with what it holds, by pool: pools sorted, nodes in their order. Made once.

        Linear in nodes and instances, but for sorting the few instances of each node.
        """
        movable: dict[str, list[int]] = {node.name: [] for node in self.nodes}
        immovable: dict[str, list[int]] = {node.name: [] for node in self.nodes}
        for job in self.jobs:
            for instance in job.instances:
                (movable if instance.movable else immovable)[instance.node].append(instance.gpus)
        pools: dict[str, list[NodeContent]] = {pool: [] for pool in self.pools}
        for node in self.nodes:
            held = pattern_of(immovable[node.name]), pattern_of(movable[node.name])
            pools[node.pool].append(NodeContent(node.name, node.gpus, node.schedulable, *held))
        return {pool: tuple(contents) for pool, contents in pools.items()}

    def used_gpus(self) -> dict[str, int]:
        """GPUs held by running instances, by node name; every node has an entry."""
        used = dict.fromkeys((node.name for node in self.nodes), 0)
        for job in self.jobs:
            for instance in job.instances:
                used[instance.node] += instance.gpus
        return used

    def partial_and_empty(self, pool: str | None = None) -> tuple[int, int]:
        """Return how many nodes are partial, and how many offer GPUs and have none in use: of one pool, or of all."""
        used = self.used_gpus()
        nodes = [(used[node.name], node.gpus) for node in self.nodes if pool in {None, node.pool}]
        return sum(0 < held < gpus for held, gpus in nodes), sum(held == 0 < gpus for held, gpus in nodes)


def check_pool(pool: str | None, snapshot: Snapshot) -> None:
    """Check that a node of the snapshot is in this pool; None is no pool, and stands for all.

    Raises
    ------
    UnknownPoolError
        None is.
    """
    if pool is not None and pool not in snapshot.pools:
        raise UnknownPoolError(pool, snapshot)


def pattern_of(demands: Iterable[int]) -> Pattern:
    """Return demands in the order of a pattern."""
    return tuple(sorted(demands, reverse=True))


def why_closed(*, schedulable: bool, gpus: int, used: int) -> str:
    """Return why a node takes no instance, in words that follow "the node"; nothing if it takes some.

    This is the one rule: searches, replays and checks ask it of the nodes as they are *before* the moves, and what is
    closed then is closed throughout. A node that holds more than it offers is broken or misread, and stays so when
    enough has left it.
    """
    if not schedulable:
        return "is cordoned"
    return "holds more than it offers" if used > gpus else ""


def check_demand(path: str, gpus: int) -> None:
    """Check that a demand is one a running instance can have.

    Raises
    ------
    SnapshotError
        It is below 1 GPU, or more than any node has.
    """
    if not 1 <= gpus <= MAX_GPUS_PER_NODE:
        raise SnapshotError(path, f"expected a demand of 1 to {MAX_GPUS_PER_NODE} GPUs, got {shown(gpus)}")


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


def _check_nodes(nodes: tuple[SnapshotNode, ...]) -> None:
    _check_names("nodes", nodes)
    _check_unique("nodes", [node.name for node in nodes])
    for n, node in enumerate(nodes):
        _check_not_empty(f"nodes[{n}].pool", node.pool, "pool")
        if node.domain is not None:
            _check_not_empty(f"nodes[{n}].domain", node.domain, "domain")
        if not 0 <= node.gpus <= MAX_GPUS_PER_NODE:
            problem = f"expected 0 to {MAX_GPUS_PER_NODE} GPUs on a node, got {shown(node.gpus)}"
            raise SnapshotError(f"nodes[{n}].gpus", problem)


def _check_names(section: str, items: Sequence[SnapshotNode | RunningJob | PendingJob]) -> None:
    if all(item.name for item in items):
        return
    for i, item in enumerate(items):
        _check_not_empty(f"{section}[{i}].name", item.name, "pending job" if section == "pending" else section[:-1])


def _check_not_empty(path: str, name: str, what: str) -> None:
    if not name:
        raise SnapshotError(path, f"expected the name of a {what}, got an empty text")


def _check_unique(section: str, names: list[str]) -> None:
    counts = Counter(names)
    if len(counts) == len(names):
        return
    where: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in where:
            problem = f"the name {shown(name)} is already taken by {section}[{where[name]}]"
            raise SnapshotError(f"{section}[{i}].name", problem)
        where[name] = i
