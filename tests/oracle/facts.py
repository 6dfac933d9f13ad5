"""What is true of a small world, by trying every placement: the judge of what `verify` lets pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING

from tests.oracle.brute_moves import distances, has_room, live_frontier, placements

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from oracle.snapshots.model import PendingJob
    from tests.oracle.brute_moves import Places, World


def pinned(world: World, jobs: Collection[str]) -> World:
    """Return the world in which the instances of these jobs cannot move."""
    return replace(
        world,
        instances=tuple(replace(one, movable=one.movable and f"j{one.job}" not in jobs) for one in world.instances),
    )


@dataclass(frozen=True)
class Outcome:
    """What one placement comes to."""

    partial: tuple[int, ...]  # by pool, pools sorted
    moves: tuple[int, ...]  # by pool
    jobs: int


class Facts:
    """Everything that can become of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pools = sorted({node.pool for node in world.nodes})
        self.outcomes = list({self._outcome(places) for places, _ in placements(world)})
        self.live = live_frontier(world)

    def _outcome(self, places: Places) -> Outcome:
        world = self.world
        used = world.used(places)
        partial: Counter[str] = Counter(node.pool for n, node in enumerate(world.nodes) if 0 < used[n] < node.gpus)
        moved = [one for one, at in zip(world.instances, places, strict=True) if one.home != at]
        moves = Counter(world.nodes[one.home].pool for one in moved)
        return Outcome(
            tuple(partial[pool] for pool in self.pools),
            tuple(moves[pool] for pool in self.pools),
            len({one.job for one in moved}),
        )

    def partial_after(self, moves: int | None, *, live: bool) -> int:
        """Return the fewest partial nodes that so many moves reach."""
        if live:
            return min(partial for partial, least in self.live.items() if moves is None or least <= moves)
        return min(sum(one.partial) for one in self.outcomes if moves is None or sum(one.moves) <= moves)

    def moves_to(self, partial: int, *, live: bool = False) -> int | None:
        """Return the fewest moves to at most so many partial nodes; None if none lead there."""
        if live:
            return min((moves for k, moves in self.live.items() if k <= partial), default=None)
        return min((sum(one.moves) for one in self.outcomes if sum(one.partial) <= partial), default=None)

    def pool_partial(self, pool: str) -> int:
        """Return the fewest partial nodes that a pool can have."""
        p = self.pools.index(pool)
        return min(one.partial[p] for one in self.outcomes)

    def pool_moves_to(self, pool: str, partial: int) -> int | None:
        """Return the fewest moves after which a pool has at most so many partial nodes; None if none lead there."""
        p = self.pools.index(pool)
        return min((one.moves[p] for one in self.outcomes if one.partial[p] <= partial), default=None)

    def jobs_disturbed(self, partial: tuple[int, ...], moves: int) -> int | None:
        """Return the fewest jobs that as good a plan disturbs; None if there is none."""
        as_good = [one.jobs for one in self.outcomes if one.partial == partial and sum(one.moves) == moves]
        return min(as_good, default=None)

    def moves_to_room(self, instances: int, gpus: int, pool: str | None, *, live: bool) -> int | None:
        """Return the fewest moves after which a job fits in one of its pools; None if none lead there."""
        world = self.world
        options = distances(world).items() if live else placements(world)
        pools = [name for name in self.pools if pool in {None, name}]
        return min(
            (
                moves
                for places, moves in options
                if any(has_room(world.free(places, name), [gpus] * instances) for name in pools)
            ),
            default=None,
        )

    def most_jobs(self, jobs: Sequence[PendingJob]) -> int:
        """Return how many of these jobs can start together, each in one pool, whatever is moved."""
        options = {
            tuple(tuple(self.world.free(places, pool)) for pool in self.pools) for places, _ in placements(self.world)
        }
        for size in range(len(jobs), 0, -1):
            for chosen in combinations(jobs, size):
                for homes in product(self.pools, repeat=size):
                    if all(job.pool in {None, home} for job, home in zip(chosen, homes, strict=True)) and any(
                        self._room(free, chosen, homes) for free in options
                    ):
                        return size
        return 0

    def _room(self, free: tuple[tuple[int, ...], ...], jobs: Sequence[PendingJob], homes: Sequence[str]) -> bool:
        for pool, room in zip(self.pools, free, strict=True):
            wanted = [
                job.gpus_per_instance
                for job, home in zip(jobs, homes, strict=True)
                if home == pool
                for _ in range(job.instances)
            ]
            if not has_room(room, wanted):
                return False
        return True
