"""The network topology: which nodes hang on one switch, which are one block, and which are joined by any switch.

What a job has of it is up to Slurm's plugin. topology/tree gives it nodes that one switch joins, and lets it wait for a
single leaf switch if it asks for one. topology/block gives it one block, or one for each segment: a base block, or a
larger one for more nodes than base blocks are planned for (BlockSize). Neither looks at what is the other's. A
topology.conf may have both, and does not say which plugin is in use.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Final

from oracle.snapshots.model import MAX_NODES, shown
from oracle.snapshots.slurm.records import hosts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from oracle.snapshots.slurm.records import TopologyRecord

# Names in all lists together, a list that several records have counted once. Twenty characters may name a million.
MAX_NAMES: Final = 4 * MAX_NODES


class Topology:
    """The leaf switches and the base blocks, each with its nodes, as far as these are known.

    Attributes
    ----------
    switches, blocks
        The nodes by name; those without a known node are left out. Only one of the two has any: of what has both,
        nothing is told.
    block_size
        For how many nodes a base block is planned: larger jobs are not bound to one. None if nothing says so.
    has_blocks
        Whether there are blocks, whichever plugin is in use.

    Raises
    ------
    SnapshotError
        A malformed list, one name for two different things, a switch that is not among the switches or is below itself,
        or more names than any cluster has.
    """

    def __init__(self, records: Iterable[TopologyRecord], known: Collection[str]) -> None:
        listed = list(records)
        lists = _Lists(known)
        switches = _distinct([one for one in listed if one.name and not one.is_block], lists)
        blocks = _distinct([one for one in listed if one.name and one.is_block], lists)
        sizes = {one.size for one in listed if one.size}
        is_told = not (switches and blocks)
        leaves = {name: one for name, one in switches.items() if not one.switches}
        self.switches = _with_nodes(leaves, lists) if is_told else {}
        self.blocks = _with_nodes(blocks, lists) if is_told else {}
        self.has_blocks = bool(blocks)
        self.block_size = sizes.pop() if len(sizes) == 1 else None
        networks = _networks(switches, lists)
        self._networks = networks if is_told else frozenset[frozenset[str]]()
        self._joined = frozenset[str]().union(*self._networks)

    def joins(self, nodes: AbstractSet[str]) -> bool:
        """Return whether one switch joins all of these nodes; those on no switch are not this network's."""
        return not self._networks or any(network >= nodes & self._joined for network in self._networks)


class _Lists:
    """Lists spelled out, all of them within one limit."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._nodes: dict[str, frozenset[str]] = {}
        self._names = 0

    def nodes(self, record: TopologyRecord) -> frozenset[str]:
        """Return the known nodes of a switch or a block."""
        found = self._nodes.get(record.nodes)
        if found is None:
            names = hosts_at(record.place, "nodes", record.nodes)
            self.count(len(names), record)
            found = self._nodes[record.nodes] = frozenset(name for name in names if name in self._known)
        return found

    def switches(self, record: TopologyRecord) -> tuple[str, ...]:
        """Return the switches right below one."""
        names = hosts_at(record.place, "switches", record.switches)
        self.count(len(names), record)
        return names

    def count(self, names: int, record: TopologyRecord) -> None:
        """Count names; of too many the record that brought them is said."""
        self._names += names
        if self._names > MAX_NAMES:
            raise record.place.error("", f"expected a topology of at most {MAX_NAMES} names in all lists together")


def _distinct(records: Iterable[TopologyRecord], lists: _Lists) -> dict[str, TopologyRecord]:
    """Return the records by name. Switches above others may be printed with all nodes, or without."""
    found: dict[str, TopologyRecord] = {}
    for record in records:
        first = found.setdefault(record.name, record)
        if first.switches != record.switches or (not first.switches and lists.nodes(first) != lists.nodes(record)):
            raise record.place.error("nodes", f"{record.name} was printed before with other nodes or switches")
    return found


def _with_nodes(records: Mapping[str, TopologyRecord], lists: _Lists) -> dict[str, frozenset[str]]:
    return {name: nodes for name, record in records.items() if (nodes := lists.nodes(record))}


def _networks(switches: Mapping[str, TopologyRecord], lists: _Lists) -> frozenset[frozenset[str]]:
    """Return the nodes that hang, through others or not, on each switch that is below no other."""
    below: dict[str, tuple[str, ...]] = {}
    for name, record in switches.items():
        below[name] = lists.switches(record)
        for lower in below[name]:
            if lower not in switches:
                problem = f"switch {shown(name)} has {shown(lower)} below it, which is not among the switches"
                raise record.place.error("switches", f"{problem}; print all with `scontrol show topology`")
    reached: dict[str, frozenset[str]] = {}
    try:
        for name in TopologicalSorter(below).static_order():
            lists.count(sum(len(reached[lower]) for lower in below[name]), switches[name])
            reached[name] = lists.nodes(switches[name]).union(*(reached[lower] for lower in below[name]))
    except CycleError as error:
        name = str(error.args[1][0])
        raise switches[name].place.error("switches", f"switch {shown(name)} is below itself") from None
    tops = switches.keys() - {lower for names in below.values() for lower in names}
    return frozenset(reached[name] for name in tops)
