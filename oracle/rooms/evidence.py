"""What is stored with the verdict on a waiting job so that it can be checked again without a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from oracle.rooms.bound import RoomWeights  # noqa: TC001 - msgspec reads the annotation
from oracle.rooms.move_bound import MoveWeights, weigh_moves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.rooms.making_room import Room
    from oracle.rooms.model import Group
    from oracle.solver import Deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvidence:
    """Weights about one pool.

    Attributes
    ----------
    pool
        Its name.
    most
        Why the job does not fit, however instances are moved; None if it does, or if that rests on a solver's word.
    moves
        Why it takes several moves before it fits; None if it does not, or if weights alone do not prove it.
    """

    pool: str
    most: RoomWeights | None = None
    moves: MoveWeights | None = None

    @classmethod
    def of(
        cls,
        pool: str,
        groups: Mapping[Group, Sequence[str]],
        waiting: tuple[int, int],
        room: Room,
        deadline: Deadline,
    ) -> RoomEvidence:
        """Return what can be said of a pool in which room for so many instances of so many GPUs was sought."""
        instances, gpus = waiting
        nodes = {group: len(names) for group, names in groups.items()}
        several = room.changes is not None and room.lower_bound > 1
        moves = weigh_moves(nodes, instances, gpus, room.lower_bound, deadline) if several else None
        return cls(pool=pool, most=room.weights, moves=moves)

    def to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, object])
