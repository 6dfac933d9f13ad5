"""What is drawn of a plan: for each node what it holds before and after, and what is said of all of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from oracle.moves.move import MoveError
from oracle.plots.drawing import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.moves.move import Move
    from oracle.snapshots.model import Snapshot, SnapshotNode

# Of more nodes than these, those that are full or empty and stay so are counted and not drawn.
ALL_DRAWN = 2000


@dataclass(frozen=True, slots=True)
class Placed:
    """An instance on a node, before or after."""

    job: str
    instance: int
    gpus: int
    other_node: str | None  # where it goes to or comes from, if it moves


@dataclass(frozen=True, slots=True)
class Row:
    """A node and what it holds before and after; what stays comes first in both, in one order."""

    node: SnapshotNode
    before: tuple[Placed, ...]
    after: tuple[Placed, ...]

    @property
    def used(self) -> tuple[int, int]:
        """GPUs in use before and after."""
        return sum(item.gpus for item in self.before), sum(item.gpus for item in self.after)

    @property
    def partial(self) -> tuple[bool, bool]:
        """Whether it is partial before, and after."""
        before, after = self.used
        return 0 < before < self.node.gpus, 0 < after < self.node.gpus

    @property
    def cells(self) -> int:
        """Cells a side needs: those of the node, and more if it holds more than it offers."""
        return max(self.node.gpus, *self.used)

    @property
    def changes(self) -> bool:
        """Whether anything leaves or arrives."""
        return any(item.other_node is not None for item in (*self.before, *self.after))

    @property
    def is_remarkable(self) -> bool:
        """Whether it is worth a look even if nothing moves."""
        return self.partial[0] or self.overcommitted or not self.node.schedulable

    @property
    def overcommitted(self) -> bool:
        """Whether it holds more than it offers."""
        return self.cells > self.node.gpus


def rows_of(snapshot: Snapshot, moves: Sequence[Move], pool: str | None = None) -> list[Row]:
    """Return the nodes in the order of the snapshot; `pool` leaves out those of others.

    Raises
    ------
    MoveError
        A move of an instance, or to a node, that the snapshot does not have.
    """
    nodes = {node.name for node in snapshot.nodes}
    where = {(job.name, i): item.node for job in snapshot.jobs for i, item in enumerate(job.instances)}
    for move in sorted(moves, key=attrgetter("step")):
        key = move.job, move.instance
        if key not in where:
            raise MoveError(f"there is no instance {move.instance} of job {move.job!r} that could be drawn moving")
        if move.destination not in nodes:
            raise MoveError(f"instance {move.instance} of job {move.job!r} moves to {move.destination!r}: no such node")
        where[key] = move.destination
    stay: defaultdict[str, list[Placed]] = defaultdict(list)
    leave: defaultdict[str, list[Placed]] = defaultdict(list)
    arrive: defaultdict[str, list[Placed]] = defaultdict(list)
    for job in snapshot.jobs:
        for i, item in enumerate(job.instances):
            destination = where[job.name, i]
            if destination == item.node:
                stay[item.node].append(Placed(job.name, i, item.gpus, None))
            else:
                leave[item.node].append(Placed(job.name, i, item.gpus, destination))
                arrive[destination].append(Placed(job.name, i, item.gpus, item.node))
    return [
        Row(node, (*stay[node.name], *leave[node.name]), (*stay[node.name], *arrive[node.name]))
        for node in snapshot.nodes
        if pool in {None, node.pool}
    ]


def title_of(rows: Sequence[Row]) -> str:
    """Return what the plan does, in a line."""
    before, after = (sum(row.partial[side] for row in rows) for side in (0, 1))
    moved = [item for row in rows for item in row.before if item.other_node is not None]
    if not moved:
        return f"Φ {before} → {after}: nothing moves"
    jobs = len({item.job for item in moved})
    return f"Φ {before} → {after}: {count(len(moved), 'migration')} of {count(jobs, 'job')}"


def description_of(rows: Sequence[Row]) -> str:
    """Return what is drawn, in a line."""
    gpus = sum(row.node.gpus for row in rows)
    empty = [sum(row.node.gpus > 0 and row.used[side] == 0 for row in rows) for side in (0, 1)]
    changing = sum(row.changes for row in rows)
    nodes = f"{count(len(rows), 'node')} with {count(gpus, 'GPU')}"
    text = (
        f"{nodes}; {count(changing, 'node', 'change')}; empty nodes {empty[0]:,} → {empty[1]:,}; Φ counts partial nodes"
    )
    left_out = 0 if len(rows) <= ALL_DRAWN else sum(not (row.changes or row.is_remarkable) for row in rows)
    return f"{text}; not drawn: {left_out:,} that stay full or empty" if left_out else text


def about_node(row: Row) -> str:
    """Return what the tooltip of a node says."""
    before, after = row.used
    used = f"{before}" if before == after else f"{before} → {after}"
    marks = (", cordoned" if not row.node.schedulable else "") + (", over-committed" if row.overcommitted else "")
    return f"{row.node.name} (pool {row.node.pool}): {used} of {count(row.node.gpus, 'GPU')} in use{marks}"


def about_instance(item: Placed, *, leaving: bool) -> str:
    """Return what the tooltip of an instance says."""
    way = "" if item.other_node is None else f", {'to' if leaving else 'from'} {item.other_node}"
    return f"{item.job} [{item.instance}], {count(item.gpus, 'GPU')}{way}"
