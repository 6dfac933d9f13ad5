"""Whether a waiting job has room in one pool, and after how many moves at least: recomputed without a solver.

An answer is True, False, or None where neither stored weights nor trying everything tells.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.admission import fitting
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.proof import NEVER, Proof
from oracle.optimum.weights import ArgumentError
from oracle.verification.enumeration import MAX_STEPS, fits_within, least_price
from oracle.verification.live_reach import Nodes, fewest_moves, free, nodes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.admission.question import Waiting
    from oracle.optimum.model import NodeKind, Pool
    from oracle.optimum.weights import Weights
    from oracle.snapshots.model import NodeContent


@dataclass(frozen=True, slots=True)
class PoolRoom:
    """One pool, one waiting job, and what was stored about both.

    Attributes
    ----------
    contents
        The nodes of the pool.
    waiting
        The job.
    live
        Whether every move must go into free space.
    ordered
        Whether all moves that fit in the end can be made: not so with a limit on instances of one job at a time.
    weights
        Those that were stored; None without.
    max_steps
        Work after which trying everything is given up.
    """

    contents: Sequence[NodeContent]
    waiting: Waiting
    live: bool
    ordered: bool
    weights: Weights | None
    max_steps: int = MAX_STEPS

    @property
    def now(self) -> int:
        """New instances that have room without a move."""
        return self._fitting(nodes_of(self.contents))

    @property
    def is_ready(self) -> bool:
        """Whether the job has room without a move."""
        return self.now >= self.waiting.instances

    @property
    def most(self) -> int:
        """New instances that fit at most, as far as stored weights say; without any, one fewer than wait."""
        most = instances = self.waiting.instances
        if self.weights is not None:
            most = fitting.most_fitting(self._pool, self.waiting, self.weights)
        return min(most, instances - 1)

    def idle(self) -> str:
        """Return what is wrong with stored weights: they are none, or show nothing; empty if nothing is."""
        if self.weights is None:
            return ""
        try:
            arrivals = self._proved
        except ArgumentError as error:
            return str(error)
        several = arrivals > self.waiting.instances + 1
        return "" if several else "the weights show neither that it does not fit nor that it takes several moves"

    def weights_in_words(self) -> str:
        """Return stored weights in words; empty without any."""
        return "" if self.weights is None else fitting.weights_in_words(self._pool, self.weights)

    def never(self) -> bool | None:
        """Return whether the job does not fit, whatever is moved; None if that cannot be told."""
        if self.is_ready:
            return False
        if self._by_weights():
            return True
        if self.live:
            reached = self._reached()
            return None if reached is None else 1 not in reached
        most = self._most()
        if most is None:
            return None
        if most < self.waiting.instances:
            return True
        return False if self.ordered else None

    def takes(self, moves: int) -> bool | None:
        """Return whether it takes at least so many moves before the job fits; None if that cannot be told."""
        if self.is_ready:
            return moves < 1
        if moves <= 1 or self._by_weights() or self._proved - self.waiting.instances >= moves:
            return True
        if self.live and (reached := self._reached()) is not None:
            return reached.get(1, moves) >= moves
        fits = fits_within(
            self._kinds, self.waiting.instances, self.waiting.gpus_per_instance, moves - 1, max_steps=self.max_steps
        )
        if fits is False:
            return True
        return False if fits and self.ordered and not self.live else None

    @property
    def _kinds(self) -> Counter[NodeKind]:
        return fitting.open_nodes(self.contents)

    @property
    def _pool(self) -> Pool:
        return fitting.waiting_pool(self._kinds, self.waiting)

    @property
    def _proved(self) -> int:
        """Instances that arrive at least, those that wait among them, as stored weights say; 0 without any."""
        return 0 if self.weights is None else Proof(self._pool, self.weights).arrivals(0)

    def _by_weights(self) -> bool:
        """Whether weights say that it never fits: those that were stored, the GPUs, or single nodes."""
        pool = self._pool
        plain = fitting.plain_weights(pool, self.waiting.gpus_per_instance)
        return self._proved >= NEVER or any(Proof(pool, weights).arrivals(0) >= NEVER for weights in plain)

    def _most(self) -> int | None:
        """Return the most new instances that fit, whatever is moved, by trying everything."""
        nodes: Counter[NodeClass] = Counter()
        for kind, count in self._kinds.items():
            nodes[NodeClass(kind.node_class.room, 0, kind.node_class.room)] += count
        problem = PackingProblem.build(nodes, fitting.running_on(self._kinds))
        least = least_price(
            problem,
            lambda kind, load: -((kind.room - load) // self.waiting.gpus_per_instance),
            max_steps=self.max_steps,
        )
        return None if least is None else -least

    def _reached(self) -> dict[int, int] | None:
        """Return the fewest live moves after which there is room (1), and those to the other placements (0)."""
        return fewest_moves(nodes_of(self.contents), lambda nodes: int(self._fitting(nodes) >= self.waiting.instances))

    def _fitting(self, nodes: Nodes) -> int:
        return sum(free(node) // self.waiting.gpus_per_instance for node in nodes)
