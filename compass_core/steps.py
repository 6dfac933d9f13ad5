"""What an event did: placements of new instances, and migrations of running ones in executable order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from compass_core.errors import PlacementError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_core.model import Instance
    from compass_core.state import ClusterState


class MoveReason(Enum):
    """Why a running instance moved."""

    FILL = "fill"  # a 1-GPU instance went into a slot's vacancy
    REHOME = "re-home"  # an orphaned filler left a slotted node, or slots left the node where one had to stay
    MERGE = "merge"  # of two open nodes one was emptied or filled
    EXCHANGE = "exchange"  # blocks and ones swapped nodes to make room for an arriving instance
    DRAIN = "drain"  # its node is being emptied


@dataclass(frozen=True, slots=True)
class Placement:
    """A new instance and the node index it was put on."""

    instance: Instance
    node: int


@dataclass(frozen=True, slots=True)
class Migration:
    """A running instance that changed nodes: from node index `source` to `destination`."""

    instance: Instance
    source: int
    destination: int
    reason: MoveReason


def apply(state: ClusterState, migrations: Iterable[Migration]) -> ClusterState:
    """Return σ ⊕ M: the state after the migrations, carried out one by one.

    Raises
    ------
    PlacementError
        A move whose instance is not on its source, or whose destination has too few GPUs free at that moment.
    UnknownInstanceError
        A move of an instance that is not running.
    """
    for migration in migrations:
        state = _carried_out(state, migration)
    return state


def _carried_out(state: ClusterState, migration: Migration) -> ClusterState:
    standing = state.node_of(migration.instance)
    if standing != migration.source:
        problem = f"expected {migration.instance} on node {migration.source}, it stands on node {standing}"
        raise PlacementError(problem)
    return state.move(migration.instance, migration.destination)


def shortened(before: ClusterState, moves: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """Return moves with the same effect that move no instance twice, where an order for them is found.

    An instance that an event moved twice (say as a filler, then with its slot) goes straight to where it ends. The
    direct moves are carried out as their destinations have room; should they block one another, the original list
    stands: it can be carried out as it is.
    """
    last: dict[Instance, Migration] = {}
    for move in moves:
        earlier = last.pop(move.instance, None)
        source = earlier.source if earlier else move.source
        if source != move.destination:
            last[move.instance] = Migration(move.instance, source, move.destination, move.reason)
    if len(last) == len(moves):
        return moves
    ordered: list[Migration] = []
    waiting = list(last.values())
    state = before
    while waiting:
        ready = next((m for m in waiting if state.nodes[m.destination].free >= m.instance.gpus), None)
        if ready is None:
            return moves
        state = state.move(ready.instance, ready.destination)
        ordered.append(ready)
        waiting.remove(ready)
    return tuple(ordered)
