"""On which nodes a job may stand: its partitions, features, lists of nodes and reservations, each a set of nodes.

Of a job that asks for one network switch, or for one block, all nodes are in one of several sets, whichever.

A set that every node is in says nothing and is left out. One that says something is made once, however many jobs name
it. What an excluding list leaves is as large as the cluster, so that all sets together have a limit.

Which nodes a reservation has is told by `scontrol show reservation`, or by the nodes themselves (ReservationName).
Where a node says no more than that it is reserved, it is taken to belong to the reservation whose jobs run on it, and
is closed if none does.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from oracle.snapshots.model import NodeSet
from oracle.snapshots.slurm.features import wanted
from oracle.snapshots.slurm.records import hosts_at
from oracle.snapshots.slurm.requirements import BLOCKS, FEATURES, NETWORKS, OFF_TOPOLOGY, SWITCHES
from oracle.snapshots.slurm.states import holds_gpus, is_reserved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oracle.snapshots.slurm.features import Wanted
    from oracle.snapshots.slurm.records import JobRecord, NodeRecord, ReservationRecord
    from oracle.snapshots.slurm.topology import Topology

OUTSIDE: Final = "outside reservations"

# Names in all sets together: as many as a thousand different sets of the largest cluster Slurm has been seen to run.
MAX_MEMBERS = 20_000_000
_TOO_MANY: Final = f"sets of nodes beyond {MAX_MEMBERS} names in all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Where a job may stand.

    Attributes
    ----------
    within
        The sets of nodes that each of its instances is bound to.
    required
        The set of nodes that it must have all of, None for none; it may have others besides.
    required_nodes
        How many these are.
    one_of
        The sets of nodes in one of which all of it is bound to be, whichever; none if it is not.
    unread
        What it asks of its nodes and no set says, in words.
    is_known
        Whether the nodes of its reservation are known.
    """

    within: tuple[str, ...] = ()
    required: str | None = None
    required_nodes: int = 0
    one_of: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    is_known: bool = True


class Reservations:
    """The nodes of every reservation that is in force."""

    def __init__(
        self, nodes: Mapping[str, NodeRecord], jobs: Iterable[JobRecord], records: Iterable[ReservationRecord]
    ) -> None:
        self.nodes: defaultdict[str, set[str]] = defaultdict(set)
        self.flexible: set[str] = set()
        reserved = {name for name, node in nodes.items() if node.reservation or is_reserved(node.states)}
        for record in records:
            hosts = [host for host in hosts_at(record.place, "node_list", record.nodes) if host in nodes]
            in_force = not reserved.isdisjoint(hosts) if record.is_active is None else record.is_active
            if in_force:
                self.nodes[record.name].update(hosts)
                self.flexible.update({record.name} if "FLEX" in record.flags else ())
        for name in reserved:
            if nodes[name].reservation:
                self.nodes[nodes[name].reservation].add(name)
        unnamed = reserved.difference(*self.nodes.values())
        for job in jobs:
            if job.reservation and "," not in job.reservation and holds_gpus(job.states):
                there = hosts_at(job.place, "nodes", job.nodes)
                self.nodes[job.reservation].update(host for host in there if host in unnamed)
        self.known = frozenset[str]().union(*self.nodes.values())
        self.unnamed = tuple(sorted(reserved - self.known))


class Places:
    """The sets of nodes of one snapshot, made as jobs ask for them."""

    def __init__(self, nodes: Iterable[NodeRecord], reservations: Reservations, topology: Topology) -> None:
        records = list(nodes)
        self.all = frozenset(record.name for record in records)
        self.reservations = reservations
        self.topology = topology
        self.by_partition: defaultdict[str, set[str]] = defaultdict(set)
        by_feature: defaultdict[str, set[str]] = defaultdict(set)
        for record in records:
            for partition in record.partitions:
                self.by_partition[partition].add(record.name)
            for feature in record.features:
                by_feature[feature].add(record.name)
        self.by_feature = {feature: frozenset(names) for feature, names in by_feature.items()}
        self.reserved = (reservations.known | frozenset(reservations.unnamed)) & self.all
        self.sets: dict[str, NodeSet] = {}
        self._names: dict[str, tuple[str, ...] | None] = {}
        self._wanted: dict[str, Wanted] = {}
        self._choices: dict[tuple[str, int], tuple[tuple[str, ...], list[str]]] = {}
        self._joined: dict[tuple[str, ...], bool] = {}
        self._reservations: dict[str, frozenset[str]] = {}
        self._members = 0

    def of(self, job: JobRecord, nodes: int) -> Allowed:
        """Return where a job of so many nodes may stand.

        Raises
        ------
        SnapshotError
            A list of nodes is malformed.
        """
        unread: list[str] = []
        within: tuple[str, ...] = (
            *self._partition(job.partition),
            *self._features(job.features, unread),
            *self._excluded(job, unread),
            *self._reservation(job.reservation),
        )
        hosts = hosts_at(job.place, "required_nodes", job.required_nodes)
        required = self._named(f"nodes {job.required_nodes}", "nodes", lambda: hosts) if hosts else ()
        return Allowed(
            within=within,
            required=required[0] if required else None,
            required_nodes=len(set(hosts)) if required else 0,
            one_of=self._one_of(job, nodes, within, unread),
            unread=tuple(unread),
            is_known=not job.reservation or bool(self._nodes_of(job.reservation)),
        )

    def of_type(self, title: str, nodes: Iterable[str]) -> tuple[str, ...]:
        """Return the set of the nodes with GPUs of a type, for the parts of one job that ask for different ones."""
        return self._named(f"GPU type {title}", "gpu", lambda: nodes) or ()

    def has_no_node(self, job: JobRecord) -> bool:
        """Return whether a job's partitions have no node here, while other partitions have."""
        return bool(self.by_partition and job.partition) and not any(
            map(self.by_partition.get, job.partition.split(","))
        )

    def _partition(self, text: str) -> tuple[str, ...]:
        # Where no node says what it is in, nothing is known.
        if not text or not self.by_partition:
            return ()
        names = sorted(set(text.split(",")) - {""})
        found = self._named(
            f"partition {','.join(names)}",
            "partition",
            lambda: (node for name in names for node in self.by_partition.get(name, ())),
        )
        return found or ()

    def _features(self, text: str, unread: list[str]) -> tuple[str, ...]:
        if not text:
            return ()
        if text not in self._wanted:
            self._wanted[text] = wanted(text, self.by_feature)
        read = self._wanted[text]
        nodes = read.nodes
        named = () if nodes is None else self._named(f"feature {text}", "feature", lambda: nodes)
        unread.extend([] if read.is_all else [FEATURES])
        unread.extend([_TOO_MANY] if named is None else [])
        return named or ()

    def _excluded(self, job: JobRecord, unread: list[str]) -> tuple[str, ...]:
        if not job.excluded_nodes:
            return ()
        named = self._named(
            f"not nodes {job.excluded_nodes}",
            "nodes",
            lambda: self.all.difference(hosts_at(job.place, "excluded_nodes", job.excluded_nodes)),
        )
        unread.extend([_TOO_MANY] if named is None else [])
        return named or ()

    def _reservation(self, text: str) -> tuple[str, ...]:
        if not text:
            outside = self._named(OUTSIDE, "reservation", lambda: self.all - self.reserved) if self.reserved else ()
            return outside or ()
        if not self._nodes_of(text):
            return ()
        return self._named(f"reservation {text}", "reservation", lambda: self._nodes_of(text)) or ()

    def _nodes_of(self, text: str) -> frozenset[str]:
        """Return the nodes of one or several reservations; a flexible one lets its jobs use others besides."""
        if text not in self._reservations:
            names = text.split(",")
            nodes = frozenset(node for name in names for node in self.reservations.nodes.get(name, ()))
            is_flexible = not self.reservations.flexible.isdisjoint(names)
            self._reservations[text] = nodes | (self.all - self.reserved) if is_flexible else nodes
        return self._reservations[text]

    def _one_of(self, job: JobRecord, nodes: int, within: tuple[str, ...], unread: list[str]) -> tuple[str, ...]:
        """Return the switches, or the blocks, in one of which all nodes of a job have to be."""
        topology = self.topology
        if nodes == 1:
            return ()
        on_one = job.switches == 1 and bool(topology.switches)
        # Slurm passes over a segment of more nodes than the job has.
        in_one = bool(topology.blocks) and nodes <= min(job.segment or 0, topology.block_size or 0)
        unread.extend([SWITCHES] if job.switches and not on_one else [])
        unread.extend([BLOCKS] if (job.segment or topology.has_blocks) and not in_one else [])
        if on_one:
            return self._each("switch", topology.switches, nodes, unread)
        if in_one:
            return self._each("block", topology.blocks, nodes, unread)
        unread.extend([] if self._are_joined(within) else [NETWORKS])
        return ()

    def _each(self, what: str, sets: Mapping[str, frozenset[str]], nodes: int, unread: list[str]) -> tuple[str, ...]:
        """Return the names of these sets, of which a job may choose one; none if one of them has all nodes."""
        if (what, nodes) not in self._choices:
            self._choices[what, nodes] = self._choice(what, sets, nodes)
        names, words = self._choices[what, nodes]
        unread.extend(words)
        return names

    def _choice(self, what: str, sets: Mapping[str, frozenset[str]], nodes: int) -> tuple[tuple[str, ...], list[str]]:
        """Return the names, and what is not looked at.

        Slurm puts a job for which no node of a block is free outside of all, and partitions may have topologies of
        their own: where others would do for the job, they are a choice as well.
        """
        if any(len(members) == len(self.all) for members in sets.values()):
            return (), []
        named = [self._named(f"{what} {name}", "topology", members.__iter__) for name, members in sets.items()]
        others = self.all.difference(*sets.values())
        has_others = len(others) >= nodes
        named += [self._named(f"no {what}", "topology", others.__iter__)] if has_others else []
        if None in named:
            return (), [_TOO_MANY]
        return tuple(name for names in named for name in names or ()), [OFF_TOPOLOGY] if has_others else []

    def _are_joined(self, within: tuple[str, ...]) -> bool:
        """Return whether one switch joins all nodes that these sets have in common."""
        if within not in self._joined:
            self._joined[within] = self.topology.joins(self.all.intersection(*(self.sets[n].nodes for n in within)))
        return self._joined[within]

    def _named(self, name: str, kind: str, nodes: Callable[[], Iterable[str]]) -> tuple[str, ...] | None:
        """Return the name of a set, nothing for one of all nodes, None for one too many; made at the first call."""
        if name in self._names:
            return self._names[name]
        members = self.all.intersection(nodes())
        if len(members) == len(self.all):
            self._names[name] = ()
        elif self._members + len(members) > MAX_MEMBERS:
            self._names[name] = None
        else:
            self._members += len(members)
            self.sets[name] = NodeSet(name=name, kind=kind, nodes=members)
            self._names[name] = (name,)
        return self._names[name]

    def holding(self, within: Sequence[str], node: str) -> tuple[str, ...]:
        """Return those of the sets that a node is in."""
        return tuple(name for name in within if node in self.sets[name].nodes)
