"""What is true of a small world, by trying every placement; shares no code with what it judges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

from tests.oracle.brute_moves import distances, fewest_stops_and_steps, has_room, placements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from oracle.snapshots.model import PendingJob
    from tests.oracle.brute_moves import Places, World


@dataclass(frozen=True, slots=True, order=True)
class Falsehood:
    """One statement that is false.

    Attributes
    ----------
    key
        Where it stands, without numbers: `pools[].status`.
    words
        A check that was left open names it if its claim has these words; `|` stands between several choices.
    about
        What the claim begins with, such as the name of a job.
    """

    key: str
    words: str
    about: str = ""

    def is_named(self, claims: Iterable[str]) -> bool:
        """Whether one of these claims, which were left open, names it."""
        return any(
            claim.startswith(self.about) and any(word in claim for word in self.words.split("|")) for claim in claims
        )


@dataclass(frozen=True, slots=True)
class End:
    """A placement that can be reached: where all is, its partial nodes by pool, its moves, and whose."""

    places: Places
    partial: tuple[int, ...]
    moves: int
    jobs: frozenset[int]

    @property
    def left(self) -> int:
        return sum(self.partial)


def pin(world: World, names: Iterable[str], max_priority: int | None = None) -> World:
    """Return the world in which these jobs, and instances such as `j1:0`, cannot move.

    No priority is known here, and with a highest one nothing moves whose priority is not known.
    """
    names = set(names) if max_priority is None else {f"j{one.job}" for one in world.instances}
    keys = [world.key(i) for i in range(len(world.instances))]
    return replace(
        world,
        instances=tuple(
            replace(one, movable=one.movable and job not in names and f"{job}:{number}" not in names)
            for one, (job, number) in zip(world.instances, keys, strict=True)
        ),
    )


def only(world: World, pool: str | None) -> World:
    """Return the part of a world that is one pool."""
    if pool is None:
        return world
    kept = [n for n, node in enumerate(world.nodes) if node.pool == pool]
    return replace(
        world,
        nodes=tuple(world.nodes[n] for n in kept),
        instances=tuple(
            replace(one, home=kept.index(one.home)) for one in world.instances if world.nodes[one.home].pool == pool
        ),
    )


class Truth:
    """All that can become of a world, if instances may be stopped or by moves into free space."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pools = sorted({node.pool for node in world.nodes})

    @cached_property
    def ends(self) -> list[End]:
        """Every placement, over-booking on the way allowed."""
        return [self._end(places, moves) for places, moves in placements(self.world)]

    @cached_property
    def live(self) -> list[End]:
        """Every placement that moves into free space reach; the same one for each set of jobs that may move."""
        jobs = sorted({one.job for one in self.world.instances if one.movable})
        found: dict[tuple[Places, frozenset[int]], int] = {}
        for size in range(len(jobs) + 1):
            for chosen in combinations(jobs, size):
                others = [f"j{job}" for job in jobs if job not in chosen]
                for places, moves in distances(pin(self.world, others)).items():
                    found[places, frozenset(chosen)] = moves
        return [replace(self._end(places, moves), jobs=jobs) for (places, jobs), moves in found.items()]

    def _end(self, places: Places, moves: int) -> End:
        world = self.world
        used = world.used(places)
        partial = Counter(node.pool for n, node in enumerate(world.nodes) if 0 < used[n] < node.gpus)
        jobs = frozenset(one.job for one, at in zip(world.instances, places, strict=True) if one.home != at)
        return End(places, tuple(partial[pool] for pool in self.pools), moves, jobs)

    def least(
        self,
        what: Callable[[End], int],
        where: Callable[[End], bool],
        *,
        live: bool,
        at_once: int | None = None,
    ) -> int | None:
        """Return the least value of an end for which something holds; None if there is none."""
        for end in sorted(self.live if live else self.ends, key=what):
            if where(end) and (live or self.can_be_ordered(end.places, at_once)):
                return what(end)
        return None

    def can_be_ordered(self, places: Places, at_once: int | None) -> bool:
        return at_once is None or fewest_stops_and_steps(self.world, places, at_once) is not None

    def moves_to_room(
        self, instances: int, gpus: int, pool: str | None, *, live: bool, at_once: int | None = None
    ) -> int | None:
        """Return the fewest moves after which a job fits in one of its pools; None if none lead there."""
        pools = [name for name in self.pools if pool in {None, name}]

        def fits(end: End) -> bool:
            return any(sum(free // gpus for free in self.world.free(end.places, name)) >= instances for name in pools)

        return self.least(lambda end: end.moves, fits, live=live, at_once=at_once)

    def most_together(
        self, jobs: Sequence[PendingJob], *, live: bool, at_once: int | None = None
    ) -> tuple[int, dict[int, int]]:
        """Return how many jobs can start together, and the fewest moves for each number of them."""
        least: dict[int, int] = {}
        for size in range(len(jobs) + 1):
            room = self._room_for(jobs, size)
            found = self.least(lambda end: end.moves, room, live=live, at_once=at_once)
            if found is None:
                break
            least[size] = found
        return max(least), least

    def _room_for(self, jobs: Sequence[PendingJob], size: int) -> Callable[[End], bool]:
        known: dict[tuple[tuple[int, ...], ...], bool] = {}

        def fits(end: End) -> bool:
            free = tuple(tuple(self.world.free(end.places, pool)) for pool in self.pools)
            if free not in known:
                known[free] = any(self._fit(free, chosen) for chosen in combinations(jobs, size))
            return known[free]

        return fits

    def _fit(self, free: tuple[tuple[int, ...], ...], jobs: Sequence[PendingJob]) -> bool:
        for homes in product(self.pools, repeat=len(jobs)):
            if not all(job.pool in {None, home} for job, home in zip(jobs, homes, strict=True)):
                continue
            if all(
                has_room(room, sorted(_wanted(jobs, homes, pool), reverse=True))
                for pool, room in zip(self.pools, free, strict=True)
            ):
                return True
        return False


def _wanted(jobs: Sequence[PendingJob], homes: Sequence[str], pool: str) -> Iterator[int]:
    for job, home in zip(jobs, homes, strict=True):
        if home == pool:
            yield from [job.gpus_per_instance] * job.instances


@cache
def truth(world: World) -> Truth:
    return Truth(world)
