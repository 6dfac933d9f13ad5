"""Which instances leave which nodes, so that few jobs are disturbed: the question, its answer, and a simple bound.

A plan at pattern level says how many nodes of a kind give up which demands. Nodes that hold the same pattern may take
each other's part, and on a node any instance of a demand may be the one to leave. A job pauses once, however many of
its instances move.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.snapshots.model import Pattern


@dataclass(frozen=True, slots=True, order=True)
class Resident:
    """One movable instance on a node."""

    job: str
    instance: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Option:
    """One pattern a node may hold afterwards, and what that means for it.

    Attributes
    ----------
    after
        The pattern.
    leaves, arrives
        Pairs of a demand and how many of its instances leave, or arrive. No demand is in both.
    partial
        Whether the node is partial afterwards.
    """

    after: Pattern
    leaves: tuple[tuple[int, int], ...]
    arrives: tuple[tuple[int, int], ...]
    partial: bool

    @classmethod
    def of(cls, before: Pattern, after: Pattern, *, partial: bool) -> Option:
        """Return the option to go from one pattern to another."""
        had, gets = Counter(before), Counter(after)
        return cls(after, tuple(sorted((had - gets).items())), tuple(sorted((gets - had).items())), partial)

    @property
    def migrations(self) -> int:
        """Instances that arrive."""
        return sum(count for _, count in self.arrives)

    @property
    def gpus_arriving(self) -> int:
        """GPUs of the instances that arrive."""
        return sum(demand * count for demand, count in self.arrives)


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """A node with its movable instances, and what it may hold afterwards.

    Attributes
    ----------
    name
        The node.
    pool
        Index of its pool.
    group
        Number shared by the nodes of a pool that may take each other's part: of one class, with the same pattern now.
    residents
        Movable instances, sorted.
    options
        What it may hold afterwards; the first is what it holds now. The same for all nodes of a group.
    """

    name: str
    pool: int
    group: int
    residents: tuple[Resident, ...]
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class PoolLimit:
    """What the nodes of one pool keep together: partial nodes and migrations at most; None for no limit."""

    partial_nodes: int | None
    migrations: int | None


@dataclass(frozen=True, slots=True)
class SelectionProblem:
    """Whose instances are to move.

    Attributes
    ----------
    nodes
        The nodes that may change, or have to.
    limits
        One a pool.
    weights
        What it costs to disturb a job, for each job that has an instance on the nodes. Never negative.
    """

    nodes: tuple[NodeChoice, ...]
    limits: tuple[PoolLimit, ...]
    weights: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that changes: what it holds afterwards, and which of its instances leave."""

    node: NodeChoice
    option: Option
    leaving: tuple[Resident, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which nodes change and which instances leave: as many of each demand as arrive."""

    changes: tuple[NodeChange, ...]

    @property
    def jobs(self) -> frozenset[str]:
        """The jobs that are disturbed."""
        return frozenset(resident.job for change in self.changes for resident in change.leaving)

    @property
    def migrations(self) -> int:
        """Instances that leave their node."""
        return sum(len(change.leaving) for change in self.changes)

    def cost(self, weights: Mapping[str, int]) -> tuple[int, int]:
        """Return the weight of the jobs disturbed, and the GPUs copied."""
        gpus = sum(resident.gpus for change in self.changes for resident in change.leaving)
        return sum(weights[job] for job in self.jobs), gpus


def leavers(problem: SelectionProblem) -> Counter[str]:
    """Return how many instances each job can give up at most: of each node as many as some option lets leave."""
    gives: Counter[str] = Counter()
    for node in problem.nodes:
        most: Counter[int] = Counter()
        for option in node.options:
            most |= Counter(dict(option.leaves))
        here = Counter((resident.job, resident.gpus) for resident in node.residents)
        for (job, demand), count in here.items():
            gives[job] += min(count, most[demand])
    return gives


def counting_bound(gives: Mapping[str, int], weights: Mapping[str, int], migrations: int) -> int:
    """Return what the jobs disturbed weigh at least if so many instances leave, and each job gives up only so many.

    The jobs that give most for their weight are taken first, the last of them in part.
    """
    bound, left = Fraction(0), migrations
    offers = [(Fraction(weights[job], count), count) for job, count in gives.items() if count]
    for price, count in sorted(offers):
        taken = min(left, count)
        bound += price * taken
        left -= taken
    return ceil(bound)
