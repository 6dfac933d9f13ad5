"""Whether instances of a waiting job have room in an area, and after how many moves at least: without a solver.

An answer is True, False, or None where neither stored weights nor trying everything tells.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from oracle.admission import fitting
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.proof import NEVER, Proof
from oracle.optimum.weights import ArgumentError
from oracle.snapshots.kinds import FREE
from oracle.verification.enumeration import MAX_STEPS, most_placed, most_within
from oracle.verification.live_reach import Nodes, copies, fewest_moves, free, nodes_of

if TYPE_CHECKING:
    from oracle.admission.areas import Area
    from oracle.admission.question import Waiting
    from oracle.optimum.model import NodeKind, Pool
    from oracle.optimum.weights import Weights
    from oracle.snapshots.kinds import Kind


@dataclass(frozen=True)
class AreaRoom:
    """An area, so many instances of a waiting job, and what was stored about both.

    Attributes
    ----------
    area
        The area.
    starting
        The instances: all, or so many of those that start one by one.
    live
        Whether every move must go into free space.
    ordered
        Whether all moves that fit in the end can be made: not so with a limit on instances of one job at a time.
    weights
        Those that were stored; None without.
    max_steps
        Work after which trying everything is given up.
    """

    area: Area
    starting: int
    live: bool
    ordered: bool
    weights: Weights | None
    max_steps: int = MAX_STEPS

    @cached_property
    def now(self) -> int | None:
        """Instances of the job that have room without a move; None if there is too much to try."""
        return most_now(self.area, self.max_steps)

    @property
    def is_ready(self) -> bool:
        """Whether so many have room without a move."""
        return self.now is not None and self.now >= self.starting

    @property
    def most(self) -> int:
        """Instances that fit at most, as far as stored weights say; without any, one fewer than are asked for."""
        most = self.starting
        if self.weights is not None:
            most = fitting.most_fitting(self._pool, self._waiting, self.weights)
        return min(most, self.starting - 1)

    def idle(self) -> str:
        """Return what is wrong with stored weights: they are none, or show nothing; empty if nothing is."""
        if self.weights is None:
            return ""
        if self._is_choice:
            return "of unlike instances that start one by one no weights tell anything"
        try:
            arrivals = self._proved
        except ArgumentError as error:
            return str(error)
        several = arrivals > self.starting + 1
        return "" if several else "the weights show neither that it does not fit nor that it takes several moves"

    def weights_in_words(self) -> str:
        """Return stored weights in words; empty if they do not show that so many never fit."""
        return (
            "" if self.weights is None or self._proved < NEVER else fitting.weights_in_words(self._pool, self.weights)
        )

    def never(self) -> bool | None:
        """Return whether so many do not fit, whatever is moved; None if that cannot be told."""
        if self.is_ready:
            return False
        if self.by_weights():
            return True
        if self.live:
            reached = self._reached()
            return None if reached is None else 1 not in reached
        most = self._most()
        if most is None:
            return None
        if most < self.starting:
            return True
        return False if self._is_exact else None

    def takes(self, moves: int) -> bool | None:
        """Return whether it takes at least so many moves before so many fit; None if that cannot be told."""
        if self.is_ready:
            return moves < 1
        if moves < 1 or (moves == 1 and self.now is not None) or self.by_weights():
            return True
        if not self._is_choice and self._proved - self.starting >= moves:
            return True
        if self.live and (reached := self._reached()) is not None:
            return reached.get(1, moves) >= moves
        most = most_within(self._kinds, self._wanted, moves - 1, max_steps=self.max_steps)
        if most is not None and most < self.starting:
            return True
        return False if most is not None and self._is_exact and not self.live else None

    @property
    def _is_choice(self) -> bool:
        """Whether which of several unlike instances start is open."""
        return self.starting < self.area.waiting.size and bool(self.area.waiting.further_parts)

    @property
    def _is_exact(self) -> bool:
        """Whether what fits by kinds, and after moves, can be had."""
        return self.ordered and self.area.snapshot.kinds_are_exact(self.area.pool)

    @property
    def _waiting(self) -> Waiting:
        waiting = self.area.waiting
        return waiting if waiting.further_parts else replace(waiting, instances=self.starting)

    @property
    def _wanted(self) -> Counter[Kind]:
        return self._waiting.wanted

    @property
    def _kinds(self) -> Counter[NodeKind]:
        return fitting.open_nodes(self.area.contents)

    @property
    def _pool(self) -> Pool:
        return fitting.waiting_pool(self._kinds, self._waiting)

    @property
    def _proved(self) -> int:
        """Instances that arrive at least, those that wait among them, as stored weights say; 0 without any."""
        return 0 if self.weights is None else Proof(self._pool, self.weights).arrivals(0)

    def by_weights(self) -> bool:
        """Whether weights say that so many never fit: those that were stored, the GPUs, or single nodes."""
        if self._is_choice:
            return False
        pool = self._pool
        plain = fitting.plain_weights(pool, self._waiting)
        return self._proved >= NEVER or any(Proof(pool, weights).arrivals(0) >= NEVER for weights in plain)

    def _most(self) -> int | None:
        """Return the most instances of the job that fit, whatever is moved, by trying everything."""
        nodes: Counter[NodeClass] = Counter()
        for kind, count in self._kinds.items():
            room = kind.node_class.room
            nodes[NodeClass(room, 0, room, (), kind.node_class.rules)] += count
        problem = PackingProblem.build(nodes, fitting.running_on(self._kinds))
        return most_placed(problem, self._wanted, max_steps=self.max_steps)

    def _reached(self) -> dict[int, int] | None:
        """Return the fewest live moves after which there is room (1), and those to the other placements (0)."""
        (kind, *others) = self._wanted
        if others or not self.area.snapshot.kinds_are_exact(self.area.pool):
            return None

        def has_room(nodes: Nodes) -> int:
            return int(sum(copies(node, kind) for node in nodes) >= self.starting)

        return fewest_moves(nodes_of(self.area.contents), has_room)


def most_now(area: Area, max_steps: int = MAX_STEPS) -> int | None:
    """Return the most instances of a job that have room without a move; None if there is too much to try."""
    waiting, seen = area.waiting, area.snapshot
    if seen.guests:
        # Nothing that runs needs a kind where nothing moves, so that the kinds of the guests tell all.
        jobs = tuple(
            replace(job, instances=tuple(replace(one, movable=False) for one in job.instances)) for job in seen.jobs
        )
        seen = replace(seen, jobs=jobs)
        waiting = replace(waiting, kinds=tuple(seen.guest_kinds(area.pool)[guest] for guest in seen.guests))
        if not seen.kinds_are_exact(area.pool):
            return None
    nodes = nodes_of(seen.contents[area.pool])
    (kind, *others) = waiting.wanted
    if not others:
        return min(waiting.size, sum(copies(node, kind) for node in nodes))
    classes: Counter[NodeClass] = Counter()
    for node in nodes:
        room = free(node)
        classes[NodeClass(room, 0, room, (), node.node_class.rules if seen.guests else FREE)] += 1
    return most_placed(PackingProblem.build(classes, {}), waiting.wanted, max_steps=max_steps)
