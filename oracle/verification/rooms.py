"""Whether a waiting job has room in one pool, and after how many moves at least: recomputed without a solver."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.admission.room import most_fitting, open_nodes, plain_weights, running_on, waiting_pool, weights_in_words
from oracle.optimum.node_classes import NodeClass
from oracle.optimum.proof import NEVER, Proof
from oracle.optimum.weights import ArgumentError
from oracle.verification.enumeration import MAX_STEPS, fits_within, least_price
from oracle.verification.live_reach import Nodes, fewest_moves, nodes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.admission.room import RoomEvidence
    from oracle.optimum.model import Pool
    from oracle.snapshots.model import NodeContent


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
        stored = None if self.evidence is None else self.evidence.argument
        most = self.instances if stored is None else most_fitting(self._pool, self.instances, self.gpus, stored)
        return min(most, self.instances - 1)

    @property
    def _pool(self) -> Pool:
        return waiting_pool(open_nodes(self.contents), self.instances, self.gpus)

    def idle(self) -> str:
        """Return what is wrong with stored weights: they are none, or show nothing; empty if nothing is."""
        stored = None if self.evidence is None else self.evidence.argument
        if stored is None:
            return ""
        try:
            arrivals = Proof(self._pool, stored).arrivals(0)
        except ArgumentError as error:
            return str(error)
        several = arrivals > self.instances + 1
        return "" if several else "the weights show neither that it does not fit nor that it takes several moves"

    def weights_in_words(self) -> str:
        """Return stored weights in words; empty without any."""
        stored = None if self.evidence is None else self.evidence.argument
        return "" if stored is None else weights_in_words(self._pool, stored)

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
        fits = fits_within(open_nodes(self.contents), self.instances, self.gpus, moves - 1, max_steps=self.max_steps)
        if fits is False:
            return True
        return False if fits and self.ordered and not self.live else None

    def _moves_by_weights(self) -> int:
        stored = None if self.evidence is None else self.evidence.argument
        if stored is None:
            return 0
        arrivals = Proof(self._pool, stored).arrivals(0)
        return 0 if arrivals >= NEVER else arrivals - self.instances

    def _by_weights(self) -> bool:
        """Whether weights say that it never fits: those that were stored, the GPUs, or single nodes."""
        pool = self._pool
        stored = None if self.evidence is None else self.evidence.argument
        tried = [*plain_weights(pool, self.gpus), *([] if stored is None else [stored])]
        return any(Proof(pool, weights).arrivals(0) >= NEVER for weights in tried)

    def _most(self) -> int | None:
        """Return the most new instances that fit, whatever is moved, by trying everything."""
        rooms: Counter[int] = Counter()
        kinds = open_nodes(self.contents)
        for kind, count in kinds.items():
            rooms[kind.node_class.room] += count
        nodes = [(NodeClass(room, 0, room), count) for room, count in rooms.items()]
        demands = sorted(running_on(kinds).items())

        def price(kind: NodeClass, load: int) -> int:
            return -((kind.room - load) // self.gpus)

        least = least_price(nodes, demands, price, max_steps=self.max_steps)
        return None if least is None else -least

    def _reached(self) -> dict[int, int] | None:
        def has_room(nodes: Nodes) -> int:
            return int(sum(node.free // self.gpus for node in nodes) >= self.instances)

        return fewest_moves(nodes_of(self.contents), has_room)
