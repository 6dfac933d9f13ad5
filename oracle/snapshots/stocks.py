"""What instances take of the nodes they stand on, and which nodes they may stand on: the account of replays and orders.

An instance takes GPUs of its node, of each further resource as much as it holds where its node counts that, and, if its
job stands on different nodes, the one place that every node has for that job.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from copy import copy
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from oracle.snapshots.entries import why_closed
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.snapshots.entries import NodeSet, RunningInstance, RunningJob, SnapshotNode

Key: TypeAlias = tuple[str, int]
"""An instance: the name of its job and its number in it."""


class Stock(NamedTuple):
    """Something of a node that instances take: its GPUs, a further resource, or the place for a job that stands apart.

    Attributes
    ----------
    node
        Name of the node.
    resource
        Name of the further resource; empty for GPUs.
    job
        Name of the job; empty where it does not matter.
    """

    node: str
    resource: str = ""
    job: str = ""

    def lacking(self, wanted: int, free: int) -> str:
        """Return in words that more is wanted than there is."""
        if self.job:
            return f"another instance of {self.job!r} is there, and no two may be on one node"
        if self.resource:
            return f"needs {wanted} of {self.resource!r}, the node has {max(free, 0)} free then"
        return f"needs {count(wanted, 'GPU')}, the node has {max(free, 0)} free then"

    def over_booked(self, amount: int) -> str:
        """Return in words that more is taken than there is, to follow "would end"."""
        if self.job:
            return f"with {count(amount + 1, 'instance')} of {self.job!r}, and no two may be on one node"
        return f"over-booked by {amount}" + (f" of {self.resource!r}" if self.resource else "")


class Free(dict[Stock, int]):
    """What nobody has, by stock; a node that holds no instance of a job that stands apart has one place for it."""

    def __missing__(self, _: Stock) -> int:
        return 1

    def fits(self, taken: Iterable[tuple[Stock, int]]) -> bool:
        """Whether so much is free of everything."""
        return all(amount <= self[stock] for stock, amount in taken)

    def take(self, taken: Iterable[tuple[Stock, int]]) -> None:
        """Take so much."""
        for stock, amount in taken:
            self[stock] -= amount

    def give(self, taken: Iterable[tuple[Stock, int]]) -> None:
        """Give so much back."""
        for stock, amount in taken:
            self[stock] += amount


Taken: TypeAlias = tuple[tuple[Stock, int], ...]


class Stocks:
    """What nodes have, and what the instances of running jobs take of them.

    Nodes that are closed (`why_closed`) take nothing throughout. Instances are numbered by their
    position; `numbers` has other numbers for those that are known by others. Without such numbers take
    `Snapshot.stocks`, which is made once.

    Attributes
    ----------
    instances
        The instances as they were at first.
    pools
        The pool of each node.
    """

    def __init__(
        self,
        nodes: Sequence[SnapshotNode],
        jobs: Sequence[RunningJob],
        node_sets: Iterable[NodeSet],
        numbers: Mapping[Key, int] | None = None,
    ) -> None:
        numbers = numbers or {}
        used: Counter[str] = Counter()
        for job in jobs:
            for instance in job.instances:
                used[instance.node] += instance.gpus
        self.pools = {node.name: node.pool for node in nodes}
        self._free = Free({Stock(node.name): node.gpus - used[node.name] for node in nodes})
        self._free |= {Stock(node.name, name): n for node in nodes for name, n in node.resources.items()}
        reasons = (
            (node.name, why_closed(schedulable=node.schedulable, gpus=node.gpus, used=used[node.name]))
            for node in nodes
        )
        self._closed = {name: reason for name, reason in reasons if reason}
        self._sets = {one.name: one.nodes for one in node_sets}
        self._apart = {(job.name, pool) for job in jobs if job.distinct_nodes for pool in self._pools_apart(job)}
        self._taken: dict[tuple[Key, str], Taken] = {}
        self.instances: dict[Key, RunningInstance] = {}
        for job in jobs:
            for i, instance in enumerate(job.instances):
                key = job.name, numbers.get((job.name, i), i)
                self.instances[key] = instance
                # What `taken` says, but for the GPUs: this is most of the work for a plan of few moves.
                for name, n in instance.resources.items():
                    stock = Stock(instance.node, name)
                    if n and stock in self._free:
                        self._free[stock] -= n
                if (job.name, self.pools[instance.node]) in self._apart:
                    self._free[Stock(instance.node, job=job.name)] -= 1
        # Where more is held than there is, as much is held for ever.
        self._free |= {stock: max(0, amount) for stock, amount in self._free.items() if stock.resource}

    def _pools_apart(self, job: RunningJob) -> Iterator[str]:
        """Yield the pools in which no two instances of a job are on one node."""
        nodes: defaultdict[str, list[str]] = defaultdict(list)
        for instance in job.instances:
            nodes[self.pools[instance.node]].append(instance.node)
        yield from (pool for pool, held in nodes.items() if len(held) == len(set(held)))

    def free(self) -> Free:
        """Return what nobody has in the snapshot."""
        return Free(self._free)

    def is_open(self, node: str) -> bool:
        """Whether this node, which must exist, takes instances at all."""
        return node not in self._closed

    def add(self, key: Key, instance: RunningInstance) -> Stocks:
        """Return the same with an instance more, which holds nothing now."""
        more = copy(self)
        more.instances = {**self.instances, key: instance}
        return more

    def taken(self, key: Key, node: str) -> Taken:
        """Return what an instance takes of a node that it stands on."""
        found = self._taken.get((key, node))
        if found is None:
            found = self._taken[key, node] = self._taken_of(key, node)
        return found

    def _taken_of(self, key: Key, node: str) -> Taken:
        instance = self.instances[key]
        taken = [(Stock(node), instance.gpus)]
        taken += (
            (Stock(node, name), n) for name, n in instance.resources.items() if n and Stock(node, name) in self._free
        )
        if (key[0], self.pools[node]) in self._apart:
            taken.append((Stock(node, job=key[0]), 1))
        return tuple(taken)

    def why_shut(self, key: Key, node: str) -> str:
        """Return why an instance may not come to a node, whatever room is there; nothing if it may."""
        if node in self._closed:
            return f"the node {self._closed[node]} and takes nothing"
        instance = self.instances[key]
        if node != instance.node:
            for name in instance.within:
                if node not in self._sets[name]:
                    return f"the node is outside {name}"
        return ""
