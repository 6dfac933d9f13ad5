"""What can stand in the way of a job that cannot start, and of that what is plainly missing: it is counted here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from oracle.admission.fitting import free_gpus
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracle.admission.question import Waiting
    from oracle.snapshots.model import NodeContent

# Nodes listed as the ones that lack the fewest GPUs.
MAX_NODES_LISTED = 3


class BlockerKind(StrEnum):
    """What a blocker is."""

    DEMAND = "demand"
    CAPACITY = "capacity"
    NODE = "node"
    CORDON = "cordon"
    IMMOVABLE = "immovable"
    OVERCOMMITTED = "overcommitted"


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that stands in a job's way in one pool.

    Attributes
    ----------
    kind
        DEMAND: no node offers so many GPUs. CAPACITY: too few are free in all. NODE: one of the nodes that lack the
        fewest for one instance more. CORDON, IMMOVABLE: without it the job could start. OVERCOMMITTED: a node that
        holds more than it offers takes nothing.
    gpus
        The GPUs that are missing; of a cordon those free on its node, of an immovable instance its demand, of an
        over-committed node those held beyond what it offers.
    pool, node, job, instance
        Where, as far as the kind has it.
    alone
        Whether lifting this one is enough. Otherwise all of its kind have to be lifted together.
    """

    kind: BlockerKind
    gpus: int
    pool: str
    node: str | None = None
    job: str | None = None
    instance: int | None = None
    alone: bool = True

    def __str__(self) -> str:
        gpus = count(self.gpus, "GPU")
        together = "" if self.alone else " (all such together)"
        match self.kind:
            case BlockerKind.DEMAND:
                return f"the largest node, {self.node}, offers {gpus} less than one instance needs"
            case BlockerKind.CAPACITY:
                return f"pool {self.pool} is short of {gpus}"
            case BlockerKind.NODE:
                return f"node {self.node} is short of {gpus}"
            case BlockerKind.CORDON:
                return f"node {self.node} is cordoned with {gpus} free{together}"
            case BlockerKind.IMMOVABLE:
                return f"instance {self.instance} of {self.job} on node {self.node} ({gpus}) cannot be moved{together}"
            case BlockerKind.OVERCOMMITTED:
                return f"node {self.node} holds {gpus} more than it offers and takes nothing"

    def to_json(self) -> dict[str, object]:
        """Return the blocker as data for JSON."""
        data = {**asdict(self), "kind": self.kind.value, "text": str(self)}
        return {key: value for key, value in data.items() if value is not None}


def shortages(contents: Sequence[NodeContent], waiting: Waiting) -> Iterator[Blocker]:
    """Yield what is missing in a pool in which a job cannot start."""
    largest = max(contents, key=lambda content: content.capacity, default=None)
    lacking = 0 if largest is None else waiting.gpus_per_instance - largest.capacity
    if largest is not None and lacking > 0:
        yield Blocker(BlockerKind.DEMAND, lacking, waiting.pool, largest.name)
    missing = waiting.total_gpus - free_gpus(contents)
    if missing > 0:
        yield Blocker(BlockerKind.CAPACITY, missing, waiting.pool)
    if lacking <= 0:
        yield from _nearest(contents, waiting)


def _nearest(contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[Blocker]:
    """Yield the nodes that lack the fewest GPUs for one instance more; only large enough ones, if there are any."""
    takes, each = [one for one in contents if one.takes_instances and one.capacity], waiting.gpus_per_instance
    short = [(each - free_gpus([content]) % each, content) for content in takes]
    possible = [(gpus, content) for gpus, content in short if free_gpus([content]) + gpus <= content.capacity]
    for gpus, content in sorted(possible or short, key=lambda pair: (pair[0], pair[1].name))[:MAX_NODES_LISTED]:
        yield Blocker(BlockerKind.NODE, gpus, waiting.pool, content.name)


def overcommitted(contents: Iterable[NodeContent], waiting: Waiting) -> Iterator[Blocker]:
    """Yield the nodes that hold more than they offer."""
    for content in contents:
        if content.overcommitted:
            beyond = content.used - content.capacity
            yield Blocker(BlockerKind.OVERCOMMITTED, beyond, waiting.pool, content.name)
