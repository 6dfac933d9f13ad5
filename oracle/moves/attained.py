"""Φ* of the pools of a snapshot: by kinds of instances where these tell all that matters, and among named ones else.

Constraints that kinds leave out only take arrangements away, so what bounds those of the kinds holds. What is attained
is then the best legal arrangement that is known, never one that only the kinds allow.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.moves.consolidation import Consolidation
from oracle.optimum.certificate import Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.migration_certificate import by_class, packing_after
from oracle.optimum.model import Change, NodeKind
from oracle.optimum.node_classes import constrained_problem, count_empty
from oracle.optimum.solver import Deadline
from oracle.snapshots.kinds import FREE
from oracle.snapshots.model import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.moves.consolidation import Stage
    from oracle.optimum.exact import PoolOptimum
    from oracle.optimum.migration_certificate import Changes
    from oracle.optimum.node_classes import Packing
    from oracle.snapshots.model import Snapshot
    from oracle.snapshots.stocks import Key


# The part of the time left that a search has which others follow.
_SHARE = 0.4

# What weights take for each class of nodes and each demand of a pool; and how many of both make a program of seconds.
_SECONDS_A_KIND = 2e-5
_QUICK = 400


class PoolOptima:
    """What is known about the fewest partial nodes of the pools of a snapshot.

    Parameters
    ----------
    snapshot
        The cluster.
    deadline
        When to stop.
    pools
        The pools that are asked about; None for all.
    prefer_empty
        Whether to look for the most empty nodes among the packings with the fewest partial ones.
    start
        Nodes where instances are put first in the search among named ones, as far as they may go there.

    Attributes
    ----------
    placed
        By pool what it holds now.
    exact
        By pool whether its kinds tell all that matters apart.
    known
        By pool both bounds, with a packing that can be had.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        deadline: Deadline,
        pools: Iterable[str] | None = None,
        *,
        prefer_empty: bool = False,
        start: Mapping[Key, str] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self.placed = {pool: constrained_problem(snapshot.contents[pool]) for pool in pools or snapshot.contents}
        self._consolidation: Consolidation | None = None
        self.exact = {pool: snapshot.kinds_are_exact(pool) for pool in self.placed}
        # Where GPUs are all that matters the program is quicker, and better; in small pools too if it may take time.
        first = {pool: self.exact[pool] and self._is_quick(pool, deadline) for pool in self.placed}
        ruled = [pool for pool in self.placed if not first[pool]]
        # Where instances are put first is known, however little time there is.
        if ruled and (start or deadline.is_open()):
            self._consolidation = Consolidation(snapshot, start)
            # It takes less time than all that follows, and is what counts where that does not end in time.
            for pool in ruled:
                self._consolidation.empty_nodes(pool, deadline)
        self.known = {
            pool: self._solved(pool, one.current, deadline, prefer_empty, exact=first[pool], quickly=not first[pool])
            for pool, one in self.placed.items()
        }
        for n, pool in enumerate(ruled):
            self._improve(pool, _share(deadline, len(ruled) - n))
        for n, pool in enumerate(ruled):
            share = _share(deadline, len(ruled) - n)
            is_open = self.known[pool].status is not Status.OPTIMAL or (prefer_empty and self.exact[pool])
            if is_open and self._is_likely(pool, share):
                packed = self.known[pool].packing
                found = self._solved(pool, packed, share, prefer_empty, exact=self.exact[pool])
                if found.lower_bound >= self.known[pool].lower_bound:
                    self.known[pool] = found

    def stages(self, *, best_only: bool = False) -> list[dict[Changes, Stage]]:
        """Return legal arrangements of each pool whose kinds do not settle it, by how its nodes change.

        Parameters
        ----------
        best_only
            Whether those that were found on the way are left out.
        """
        found: list[dict[Changes, Stage]] = []
        for pool, optimum in self.known.items():
            settled = self.exact[pool] and optimum.status is Status.OPTIMAL
            stages: list[Stage] = []
            if self._consolidation is not None and not settled:
                stages = [self._consolidation.best(pool)] if best_only else self._consolidation.stages(pool)
            found.append({self._changes(pool, stage): stage for stage in stages})
        return found

    def _solved(
        self, pool: str, start: Packing, deadline: Deadline, prefer_empty: bool, *, exact: bool, quickly: bool = False
    ) -> PoolOptimum:
        return solve_pool(
            self.placed[pool].problem,
            start=start,
            time_limit=deadline.seconds_left,
            prefer_empty=prefer_empty,
            exact=exact,
            quickly=quickly,
        )

    def _is_quick(self, pool: str, deadline: Deadline) -> bool:
        """Whether the program of a pool is likely to be settled at once, or before long if nothing else stops it."""
        plain = all(kind.rules == FREE for kind in self.placed[pool].problem.classes)
        return plain or (deadline.seconds_left is None and self._size(pool) <= _QUICK)

    def _is_likely(self, pool: str, deadline: Deadline) -> bool:
        """Whether the program of a pool is likely to say something in time."""
        seconds = deadline.seconds_left
        return seconds is None or seconds > _SECONDS_A_KIND * self._size(pool)

    def _size(self, pool: str) -> int:
        """Return how many pairs of a class of nodes and a demand a pool has, which its program grows with."""
        problem = self.placed[pool].problem
        return len(problem.classes) * len(problem.demands)

    def _improve(self, pool: str, deadline: Deadline) -> None:
        """Look for a better arrangement among named instances."""
        optimum = self.known[pool]
        if self._consolidation is None or optimum.status is Status.OPTIMAL:
            return
        self._consolidation.arrange_anew(pool, deadline, at_least=optimum.lower_bound)
        best = self._consolidation.best(pool)
        if best.partial_nodes < optimum.partial_nodes:
            found = packing_after(self.placed[pool].current, self._changes(pool, best))
            status = Status.of(optimum.lower_bound, best.partial_nodes)
            certificate = replace(optimum.certificate, packing=found, partial_nodes=best.partial_nodes, status=status)
            empty = count_empty(self.placed[pool].problem, found)
            self.known[pool] = replace(optimum, certificate=certificate, empty_nodes=empty)

    def _changes(self, pool: str, stage: Stage) -> Changes:
        """Return how nodes change, by kind."""
        change: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for move in stage.relocations:
            kind = self._snapshot.kinds[move.job, move.instance]
            change[move.source][kind] -= 1
            change[move.destination][kind] += 1
        counted: Counter[Change] = Counter()
        for node in self._snapshot.contents[pool]:
            if node.name in change:
                after = Counter(node.movable)
                after.update(change[node.name])
                counted[Change(NodeKind.of(node), pattern_of(after.elements()))] += 1
        return by_class(self.placed[pool].problem, counted)


def _share(deadline: Deadline, pools: int) -> Deadline:
    """Return when one pool of several has had its share of the time that is left, some being kept for what follows."""
    seconds = deadline.seconds_left
    return Deadline(None if seconds is None else seconds * _SHARE / pools)
