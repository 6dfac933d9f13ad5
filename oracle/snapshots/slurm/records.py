"""Nodes and jobs as Slurm prints them, whichever way: what the JSON and the text readers hand over.

Values keep Slurm's spelling. A record knows its place in the input, so that whoever makes sense of a value can say
where the value stood.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from oracle.snapshots.hostlist import HostlistError, expand_hostlist
from oracle.snapshots.slurm.gres import Devices, GresError, is_nothing, parse_gres, parse_tres

if TYPE_CHECKING:
    from oracle.snapshots.document import Document
    from oracle.snapshots.model import SnapshotError

NODE_COMMAND = "`scontrol show nodes --json` (or `scontrol show node -d`)"
JOB_COMMAND = "`squeue --json` (or `scontrol show job -d`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmOptions:
    """How Slurm's output is read.

    Attributes
    ----------
    pool
        What makes a pool, within which instances may move: ``"type"``, the GPU type of the node's Gres (``gpu`` where
        it gives none), or ``"partition"``, the set of partitions that the node is in.
    """

    pool: Literal["type", "partition"] = "type"


class Place(Protocol):
    """Where a record stands in the input."""

    def error(self, field: str, problem: str) -> SnapshotError:
        """Return the error for `problem` in `field` (a key of Slurm's JSON; empty: the record itself)."""
        ...


@dataclass(frozen=True, slots=True)
class JsonPlace:
    """A record in JSON, such as ``jobs[7]``; empty for a document that is a single record."""

    document: Document
    path: str

    def error(self, field: str, problem: str) -> SnapshotError:
        """Return the error with the path to the field."""
        return self.document.error(f"{self.path}.{field}".strip("."), problem)


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A record in text, and for each of its fields the name it has there and its line."""

    document: Document
    line: int
    fields: dict[str, tuple[str, int]]

    def error(self, field: str, problem: str) -> SnapshotError:
        """Return the error with the number of the line and the name of the field."""
        name, line = self.fields.get(field, ("", self.line))
        return self.document.error(f"line {line}: {name}" if name else f"line {line}", problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """One node. Equality is consistency: a node in several partitions may be printed once for each of them.

    `cpus` and `memory` (in MB) are what jobs can have, `cpus_used` and `memory_used` what they have; None where Slurm
    does not say. `reservation` is the one that the node is in now.
    """

    place: Place = field(compare=False)
    name: str
    states: frozenset[str]
    gres: str = ""
    gres_used: str | None = None
    gres_drained: str = ""
    tres: str = ""
    tres_used: str = ""
    cpus: int | None = None
    cpus_used: int | None = None
    memory: int | None = None
    memory_used: int | None = None
    features: frozenset[str] = frozenset()
    reservation: str = ""
    partitions: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job, or the waiting tasks of one job array.

    Attributes
    ----------
    details
        Node names (a hostlist) and the resources that the job has on *each* of them.
    job_gres
        The resources of the whole job, printed by ``scontrol -d`` as JOB_GRES.
    shares
        Node names (a hostlist), and the CPUs and the memory in MB that the job has on *each* of them; None where only
        the total is told.
    min_nodes, max_nodes, num_tasks, tasks_per_node
        None where Slurm says nothing; `max_nodes` None means that Slurm may choose more than `min_nodes`.
    priority
        None where there is none: 0 is what a held job has.
    throttle
        How many tasks of its array may run at a time.
    switches, segment
        On how many network switches its nodes may be at most, and how many of them at a time have to be of one block;
        None where neither is asked, or Slurm waits no time for the switches.
    exclusive
        Whether it has its nodes for itself.
    unread
        Constraints that Slurm keeps and the snapshot cannot say, in words.
    """

    place: Place = field(compare=False)
    numbers: JobNumbers
    states: frozenset[str]
    reason: str = ""
    held: bool = False
    priority: int | None = None
    movable: bool = True
    partition: str = ""
    reservation: str = ""
    features: str = ""
    required_nodes: str = ""
    excluded_nodes: str = ""
    nodes: str = ""
    details: tuple[tuple[str, str], ...] = ()
    shares: tuple[tuple[str, int | None, int | None], ...] = ()
    cpus: int | None = None
    min_cpus: int | None = None
    job_gres: str = ""
    alloc_tres: str = ""
    req_tres: str = ""
    per_node: str = ""
    per_job: str = ""
    per_task: str = ""
    per_socket: str = ""
    min_nodes: int | None = None
    max_nodes: int | None = None
    num_tasks: int | None = None
    tasks_per_node: int | None = None
    throttle: int | None = None
    switches: int | None = None
    segment: int | None = None
    exclusive: bool = False
    unread: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name under which Slurm shows it: ``123``, ``123_4`` in an array, ``123+1`` in a heterogeneous job."""
        return self.numbers.name()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationRecord:
    """One reservation. `is_active` is None where its record does not say; then the states of its nodes do."""

    place: Place = field(compare=False)
    name: str
    nodes: str = ""
    flags: frozenset[str] = frozenset()
    is_active: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRecord:
    """A network switch or a block, with hostlists of its nodes and of the switches right below it.

    `size` is the number of nodes that base blocks are planned for. A record without a name says that alone.
    """

    place: Place = field(compare=False)
    name: str = ""
    nodes: str = ""
    switches: str = ""
    is_block: bool = False
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """All records of one input; None where the input is not about nodes, jobs, reservations or the topology."""

    nodes: list[NodeRecord] | None = None
    jobs: list[JobRecord] | None = None
    reservations: list[ReservationRecord] | None = None
    topology: list[TopologyRecord] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNumbers:
    """The numbers that make up a job's name.

    `task` is one task of the array, `tasks` the tasks of it that still wait together, such as ``1-10%4``.
    """

    job_id: int
    array_id: int | None = None
    task: int | None = None
    tasks: str = ""
    het_id: int | None = None
    het_offset: int | None = None

    @property
    def whole(self) -> str:
        """The name of the job it is part of: a heterogeneous job's components start, stop and are requeued together."""
        return str(self.het_id) if self.het_id else self.name()

    def name(self) -> str:
        """Return the name under which Slurm shows the job."""
        if self.array_id and self.task is not None:
            return f"{self.array_id}_{self.task}"
        if self.array_id and self.tasks:
            return f"{self.array_id}_[{self.tasks.strip('[]')}]"
        return f"{self.het_id}+{self.het_offset or 0}" if self.het_id else str(self.job_id)


def gres_at(place: Place, key: str, text: str | None) -> Devices:
    """Return the devices of a Gres list; a malformed one is an error at its place."""
    try:
        return parse_gres(text)
    except GresError as error:
        raise place.error(key, str(error)) from error


def tres_at(place: Place, key: str, text: str | None) -> Devices:
    """Return the devices of a TRES list; a malformed one is an error at its place."""
    try:
        return parse_tres(text)
    except GresError as error:
        raise place.error(key, str(error)) from error


def hosts_at(place: Place, key: str, text: str) -> tuple[str, ...]:
    """Return the names in a hostlist; a malformed one is an error at its place."""
    try:
        return () if is_nothing(text) else expand_hostlist(text)
    except HostlistError as error:
        raise place.error(key, str(error)) from error
