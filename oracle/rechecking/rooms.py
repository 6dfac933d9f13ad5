"""Whether a waiting job has room in one pool, and after how many moves at least: recomputed without a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.node_classes import NodeClass
from oracle.rechecking.enumeration import MAX_STEPS, fits_within, least_price
from oracle.rechecking.live_reach import Nodes, fewest_moves, nodes_of
from oracle.rooms.bound import RoomWeights, rooms_of
from oracle.rooms.model import groups_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.node_classes import NodeContent
    from oracle.rooms.evidence import RoomEvidence


@dataclass(frozen=True, slots=True)
class PoolRoom:
    """One pool, one waiting job, and what was stored about both.

    Attributes
    ----------
    contents
        The nodes of the pool.
    instances, gpus
        The job.
    live
        Whether every move must go into free space.
    ordered
        Whether all moves that fit in the end can be made: not so with a limit on instances of one job at a time.
    evidence
        Stored weights; None without.
    max_steps
        Work after which trying everything is given up.
    """

    contents: Sequence[NodeContent]
    instances: int
    gpus: int
    live: bool
    ordered: bool
    evidence: RoomEvidence | None
    max_steps: int = MAX_STEPS

    @property
    def now(self) -> int:
        """New instances that have room without a move."""
        return sum(node.free // self.gpus for node in nodes_of(self.contents))

    @property
    def most(self) -> int:
        """New instances that fit at most, as far as stored weights say; without any, one fewer than wait."""
        rooms, instances = rooms_of(groups_of(self.contents))
        stored = None if self.evidence is None else self.evidence.most
        return self.instances - 1 if stored is None else stored.bound(rooms, instances, self.gpus)

    def idle(self) -> str:
        """Return what stored weights were to show and do not; nothing if they do, or if there are none."""
        evidence = self.evidence
        if evidence is not None and evidence.most is not None and self.most >= self.instances:
            return "the weights do not show that it does not fit"
        if evidence is not None and evidence.moves is not None and self._moves_by_weights() < 2:
            return "the weights do not show that it takes several moves"
        return ""

    def never(self) -> bool | None:
        """Return whether the job does not fit, whatever is moved; None if that cannot be told."""
        if self.now >= self.instances:
            return False
        if self._by_weights():
            return True
        if self.live:
            reached = self._reached()
            return None if reached is None else 1 not in reached
        most = self._most()
        if most is None:
            return None
        if most < self.instances:
            return True
        return False if self.ordered else None

    def takes(self, moves: int) -> bool | None:
        """Return whether it takes at least so many moves before the job fits; None if that cannot be told."""
        if self.now >= self.instances:
            return moves < 1
        if moves <= 1 or self._by_weights() or self._moves_by_weights() >= moves:
            return True
        if self.live and (reached := self._reached()) is not None:
            return reached.get(1, moves) >= moves
        groups = {group: len(names) for group, names in groups_of(self.contents).items()}
        fits = fits_within(groups, self.instances, self.gpus, moves - 1, max_steps=self.max_steps)
        if fits is False:
            return True
        return False if fits and self.ordered and not self.live else None

    def _moves_by_weights(self) -> int:
        groups = {group: len(names) for group, names in groups_of(self.contents).items()}
        weights = None if self.evidence is None else self.evidence.moves
        return 0 if weights is None else weights.bound(groups, self.instances, self.gpus) or 0

    def _by_weights(self) -> bool:
        rooms, instances = rooms_of(groups_of(self.contents))
        stored = None if self.evidence is None else self.evidence.most
        by_total = RoomWeights(self.gpus, tuple((demand, demand) for demand in instances))
        tried = [by_total, RoomWeights(1), *([] if stored is None else [stored])]
        return any(weights.bound(rooms, instances, self.gpus) < self.instances for weights in tried)

    def _most(self) -> int | None:
        """Return the most new instances that fit, whatever is moved, by trying everything."""
        rooms, instances = rooms_of(groups_of(self.contents))
        nodes = [(NodeClass(room, 0, room), count) for room, count in rooms.items()]
        demands = sorted(instances.items())

        def price(kind: NodeClass, load: int) -> int:
            return -((kind.room - load) // self.gpus)

        least = least_price(nodes, demands, price, max_steps=self.max_steps)
        return None if least is None else -least

    def _reached(self) -> dict[int, int] | None:
        def has_room(nodes: Nodes) -> int:
            return int(sum(node.free // self.gpus for node in nodes) >= self.instances)

        return fewest_moves(nodes_of(self.contents), has_room)


def check_weights(evidence: RoomEvidence) -> str:
    """Return what is wrong with stored weights; empty if nothing is."""
    most, moves = evidence.most, evidence.moves
    if most is not None and not _sound(most.denominator, most.values):
        return "the weights of what fits are none"
    if moves is not None and (moves.new < 0 or not _sound(moves.denominator, moves.values)):
        return "the weights of moves are none"
    return ""


def _sound(denominator: int, values: Sequence[tuple[int, int]]) -> bool:
    demands = [demand for demand, _ in values]
    return denominator >= 1 and all(demand >= 1 for demand in demands) and len(set(demands)) == len(demands)
