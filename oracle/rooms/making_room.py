"""The fewest moves after which waiting instances fit in one pool, and which instances those are."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.moves import Move
from oracle.rooms.bound import most_new
from oracle.rooms.model import RoomModel
from oracle.rooms.priced_columns import solve_priced
from oracle.solver import Outcome, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.replay import Key
    from oracle.rooms.bound import RoomWeights
    from oracle.rooms.model import Group, NodeChange
    from oracle.snapshots.model import Snapshot
    from oracle.solver import Deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How room can be made in one pool.

    Attributes
    ----------
    outcome
        OPTIMAL: the moves are fewest. FOUND: there may be a way with fewer. INFEASIBLE: there is no way. GAVE_UP: time
        ran out before anything was known.
    changes
        What becomes of the nodes; None unless a way was found.
    lower_bound
        Moves that every way has at least.
    most
        New instances of the demand that fit at most, however instances are moved; None if that was not asked.
    weights
        Why no more than `most` fit, if that is fewer than are waiting and rests on no solver's word.
    proof
        Who says that there is no way, or none with fewer moves.
    """

    outcome: Outcome
    changes: tuple[NodeChange, ...] | None = None
    lower_bound: int = 0
    most: int | None = None
    weights: RoomWeights | None = None
    proof: str = ""


def count_fitting(groups: Mapping[Group, Sequence[str]], gpus: int) -> int:
    """Return how many new instances of one demand have room without a move."""
    return sum(len(names) * ((group.room - sum(group.own)) // gpus) for group, names in groups.items())


def make_room(groups: Mapping[Group, Sequence[str]], instances: int, gpus: int, deadline: Deadline) -> Room:
    """Return the fewest moves inside a pool after which so many new instances of one demand fit.

    Parameters
    ----------
    groups
        The pool's nodes that take instances.
    instances, gpus
        What is waiting.
    deadline
        When to give up. Bounds that need no solver are tried all the same.
    """
    most, weights = most_new(groups, gpus, instances, deadline)
    if most < instances:
        return Room(outcome=Outcome.INFEASIBLE, most=most, weights=weights, proof=str(weights))
    model = RoomModel({group: len(names) for group, names in groups.items()}, {gpus: instances})
    goal = Row(instances, instances, model.placed(gpus))
    answer = solve_priced(model.program(model.moves, [goal]), deadline)
    changes = tuple(model.decode(answer.values)) if answer.values else None
    at_most = instances - 1 if answer.outcome is Outcome.INFEASIBLE else most
    return Room(
        outcome=answer.outcome,
        changes=changes,
        lower_bound=max(0, answer.bound or 0),
        most=at_most,
        proof=answer.solver,
    )


def relocations(
    snapshot: Snapshot, groups: Mapping[Group, Sequence[str]], changes: Iterable[NodeChange]
) -> tuple[tuple[Move, ...], dict[str, tuple[int, ...]]]:
    """Return which instances move where, without steps, and the new instances that each node has room for then.

    Of instances that would do, those of a job disturbed already come first.
    """
    residents = _residents(snapshot)
    left = {group: list(names) for group, names in groups.items()}
    leaving: defaultdict[int, list[tuple[Key, str]]] = defaultdict(list)
    arriving: defaultdict[int, list[str]] = defaultdict(list)
    new: dict[str, tuple[int, ...]] = {}
    disturbed: set[str] = set()
    for change in sorted(changes, key=lambda change: change.kept == change.group.own and not change.new):
        for _ in range(change.nodes):
            node = left[change.group].pop(0)
            gone = Counter(change.group.own) - Counter(change.kept)
            come = Counter(change.arriving)
            for gpus in (gone - come).elements():
                key = min(residents[node, gpus], key=lambda key: (key[0] not in disturbed, key))
                residents[node, gpus].remove(key)
                disturbed.add(key[0])
                leaving[gpus].append((key, node))
            for gpus in (come - gone).elements():
                arriving[gpus].append(node)
            if change.new:
                new[node] = change.new
    moves = (
        Move(0, *key, gpus, source, destination)
        for gpus in sorted(leaving, reverse=True)
        for (key, source), destination in zip(leaving[gpus], arriving[gpus], strict=True)
    )
    return tuple(moves), new


def _residents(snapshot: Snapshot) -> defaultdict[tuple[str, int], list[Key]]:
    """Return the movable instances by node and demand."""
    residents: defaultdict[tuple[str, int], list[Key]] = defaultdict(list)
    for job in snapshot.jobs:
        for i, instance in enumerate(job.instances):
            if instance.movable:
                residents[instance.node, instance.gpus].append((job.name, i))
    return residents
