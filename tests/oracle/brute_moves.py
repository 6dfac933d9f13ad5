"""Moves and admissions of a small cluster by trying everything. Slow on purpose.

It knows every node and every instance by its number and keeps lists; it shares no code with the oracle: no classes, no
patterns, no solver, no canonical states. The rules are written down once more from the contract: cordoned nodes and
nodes that hold more than they offer take nothing, instances stay in their pool, what cannot move stays.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from oracle.moves.move import Move, Stop

Places: TypeAlias = tuple[int, ...]
"""The node of every instance."""


@dataclass(frozen=True)
class Node:
    gpus: int
    pool: str = "a"
    schedulable: bool = True


@dataclass(frozen=True)
class Instance:
    home: int
    gpus: int
    job: int
    movable: bool = True


@dataclass(frozen=True)
class World:
    """A cluster, every node and instance by number."""

    nodes: tuple[Node, ...]
    instances: tuple[Instance, ...]

    @cached_property
    def start(self) -> Places:
        return tuple(instance.home for instance in self.instances)

    @cached_property
    def takes(self) -> tuple[bool, ...]:
        used = self.used(self.start)
        return tuple(node.schedulable and used[n] <= node.gpus for n, node in enumerate(self.nodes))

    def used(self, places: Places) -> list[int]:
        used = [0] * len(self.nodes)
        for instance, place in zip(self.instances, places, strict=True):
            used[place] += instance.gpus
        return used

    def partial(self, places: Places) -> int:
        return sum(0 < used < node.gpus for used, node in zip(self.used(places), self.nodes, strict=True))

    def free(self, places: Places, pool: str | None = None) -> list[int]:
        """GPUs that new instances can have, on each node of the pool that takes any."""
        used = self.used(places)
        return [
            node.gpus - used[n]
            for n, node in enumerate(self.nodes)
            if self.takes[n] and (pool is None or node.pool == pool)
        ]

    def snapshot(self) -> Snapshot:
        jobs: dict[int, list[RunningInstance]] = {}
        for instance in self.instances:
            running = RunningInstance(node=f"n{instance.home}", gpus=instance.gpus, movable=instance.movable)
            jobs.setdefault(instance.job, []).append(running)
        return Snapshot.build(
            nodes=[
                SnapshotNode(name=f"n{n}", gpus=node.gpus, pool=node.pool, schedulable=node.schedulable)
                for n, node in enumerate(self.nodes)
            ],
            jobs=[RunningJob(name=f"j{job}", instances=tuple(instances)) for job, instances in jobs.items()],
        )

    def key(self, i: int) -> tuple[str, int]:
        """Return how instance i is called in the snapshot."""
        job = self.instances[i].job
        return f"j{job}", sum(self.instances[k].job == job for k in range(i))

    def options(self, i: int) -> list[int]:
        """Return the nodes that instance i may be on in the end, its own first."""
        instance = self.instances[i]
        pool = self.nodes[instance.home].pool
        others = [n for n, node in enumerate(self.nodes) if n != instance.home and self.takes[n] and node.pool == pool]
        return [instance.home, *(others if instance.movable else [])]


def random_world(rng: random.Random, *, most_nodes: int = 4, most_instances: int = 6) -> World:
    """Half of them uniform and tight, where order matters; half with all that can be odd.

    Those have mixed capacities, two pools, cordons, immovable instances, over-committed nodes.
    """
    odd = rng.random() < 0.5
    mixed, cordons, stuck, broken = (rng.choice([0.0, p]) * odd for p in (0.7, 0.3, 0.3, 0.3))
    two_pools = odd and rng.random() < 0.3
    common, spare = rng.choice([3, 4, 6, 8, 8, 8]), rng.randint(1, 4)
    nodes: list[Node] = []
    instances: list[Instance] = []
    for n in range(rng.randint(1 if odd else 2, most_nodes)):
        gpus = rng.randint(0, 10) if rng.random() < mixed else common
        nodes.append(Node(gpus, rng.choice("ab") if two_pools else "a", rng.random() >= cordons))
        free = gpus + (rng.randint(1, 4) if rng.random() < broken else 0)
        left = rng.randint(0, min(free, spare))
        while free > left and len(instances) < most_instances:
            demand = rng.randint(1, min(free - left, rng.choice([2, 4, 5, 8])))
            instances.append(Instance(n, demand, rng.randint(0, 3), rng.random() >= stuck))
            free -= demand
    return World(tuple(nodes), tuple(instances))


def random_job(rng: random.Random, world: World) -> tuple[int, int]:
    """Return instances and GPUs of a job, if possible one that fits by total and yet not as it is."""
    free = world.free(world.start)
    for _ in range(20):
        instances, gpus = rng.choice([1, 1, 1, 2, 2, 3]), rng.randint(1, 8)
        if sum(room // gpus for room in free) < instances <= sum(free) // gpus:
            return instances, gpus
    return rng.choice([1, 1, 2, 3]), rng.randint(1, 8)


# Playing a plan


def play(snapshot: Snapshot, moves: Sequence[Move], stops: Sequence[Stop] = (), limit: int | None = None) -> Places:
    """Play a plan the hard way and return the number of the node of every instance; assert every rule on the way.

    In every step the arrivals come first and the departures last, so what is over-booked for a moment is seen.
    """
    index = {node.name: n for n, node in enumerate(snapshot.nodes)}
    instances = {(job.name, i): instance for job in snapshot.jobs for i, instance in enumerate(job.instances)}
    where = {key: index[instance.node] for key, instance in instances.items()}
    used = [sum(instances[key].gpus for key in where if where[key] == n) for n in range(len(snapshot.nodes))]
    closed = [not node.schedulable or used[n] > node.gpus for n, node in enumerate(snapshot.nodes)]
    down: set[tuple[str, int]] = set()
    assert list(moves) == sorted(moves, key=lambda move: move.step)
    assert {move.step for move in moves} == set(range(1, max((move.step for move in moves), default=0) + 1))
    for step in range(1, max((move.step for move in moves), default=0) + 1):
        for stop in stops:
            if stop.before_step == step:
                key = stop.job, stop.instance
                assert key not in down
                assert instances[key].movable
                assert where[key] == index[stop.node]
                used[where[key]] -= instances[key].gpus
                down.add(key)
        now = [move for move in moves if move.step == step]
        busy = down | {(move.job, move.instance) for move in now}
        if limit is not None:
            assert all(sum(name == job for name, _ in busy) <= limit for job, _ in busy)
        assert len({(move.job, move.instance) for move in now}) == len(now)
        for move in now:
            key = move.job, move.instance
            assert instances[key].movable
            assert (instances[key].gpus, where[key]) == (move.gpus, index[move.source])
            target = index[move.destination]
            assert target != where[key]
            assert not closed[target]
            assert snapshot.nodes[target].pool == snapshot.nodes[where[key]].pool
            used[target] += move.gpus
            assert used[target] <= snapshot.nodes[target].gpus, f"{move} over-books its node"
        for move in now:
            key = move.job, move.instance
            if key in down:
                down.remove(key)
            else:
                used[where[key]] -= move.gpus
            where[key] = index[move.destination]
    assert not down
    assert all(stop.before_step >= 1 for stop in stops)
    return tuple(where.values())


# Orders of given relocations


def fewest_stops_and_steps(world: World, goal: Places, limit: int | None = None) -> tuple[int, int] | None:
    """Return the fewest instances stopped first, then the fewest steps, to bring every instance to its goal.

    With a limit, an instance that is stopped counts from the step before which it stops to the one it moves in.
    """
    moving = [i for i, (home, target) in enumerate(zip(world.start, goal, strict=True)) if home != target]
    for stops in range(len(moving) + 1):
        steps = [
            found
            for stopped in combinations(moving, stops)
            if (found := _fewest_steps(world, goal, moving, stopped, limit)) is not None
        ]
        if steps:
            return stops, min(steps)
    return None


def _fewest_steps(
    world: World, goal: Places, moving: list[int], stopped: tuple[int, ...], limit: int | None
) -> int | None:
    """Breadth first over (who has stopped, who has moved); stopping is free and happens between steps."""
    start: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    layer = {start}
    seen = {start}
    for step in range(len(moving) + 1):
        if any(len(moved) == len(moving) for _, moved in layer):
            return step
        following: set[tuple[frozenset[int], frozenset[int]]] = set()
        for down, moved in layer:
            for more in _subsets([i for i in stopped if i not in down and i not in moved]):
                now_down = down | set(more)
                used = world.used(world.start)
                for i in now_down | moved:
                    used[world.start[i]] -= world.instances[i].gpus
                for i in moved:
                    used[goal[i]] += world.instances[i].gpus
                ready = [i for i in moving if i not in moved and (i not in stopped or i in now_down)]
                for chosen in _subsets(ready):
                    if chosen and _fits(world, goal, used, chosen) and _limited(world, now_down | set(chosen), limit):
                        state = (now_down - set(chosen), moved | set(chosen))
                        if state not in seen:
                            seen.add(state)
                            following.add(state)
        layer = following
    return None


def _fits(world: World, goal: Places, used: list[int], chosen: tuple[int, ...]) -> bool:
    return all(
        used[n] + sum(world.instances[i].gpus for i in chosen if goal[i] == n) <= world.nodes[n].gpus
        for n in {goal[i] for i in chosen}
    )


def _limited(world: World, busy: Iterable[int], limit: int | None) -> bool:
    jobs = [world.instances[i].job for i in busy]
    return limit is None or all(jobs.count(job) <= limit for job in jobs)


def _subsets(items: list[int]) -> Iterator[tuple[int, ...]]:
    return (chosen for size in range(len(items) + 1) for chosen in combinations(items, size))


# Sequences of single moves into free space


def distances(world: World) -> dict[Places, int]:
    """Return every placement that moves into free space reach, with the fewest moves there."""
    reached = {world.start: 0}
    queue = deque([world.start])
    options = [world.options(i) for i in range(len(world.instances))]
    while queue:
        places = queue.popleft()
        used = world.used(places)
        for i, instance in enumerate(world.instances):
            for n in options[i]:
                if n != places[i] and world.takes[n] and used[n] + instance.gpus <= world.nodes[n].gpus:
                    after = (*places[:i], n, *places[i + 1 :])
                    if after not in reached:
                        reached[after] = reached[places] + 1
                        queue.append(after)
    return reached


def live_frontier(world: World) -> dict[int, int]:
    """Return the fewest live moves to each number of partial nodes that live moves reach."""
    best: dict[int, int] = {}
    for places, moves in distances(world).items():
        partial = world.partial(places)
        best[partial] = min(best.get(partial, moves), moves)
    return best


# Admission


def placements(world: World) -> Iterator[tuple[Places, int]]:
    """Yield every legal placement of what runs, with how many instances have changed their node."""

    def extend(places: Places, used: list[int], moves: int) -> Iterator[tuple[Places, int]]:
        i = len(places)
        if i == len(world.instances):
            yield places, moves
            return
        instance = world.instances[i]
        for n in world.options(i):
            if n == instance.home:
                yield from extend((*places, n), used, moves)
            else:
                used[n] += instance.gpus
                used[instance.home] -= instance.gpus
                yield from extend((*places, n), used, moves + 1)
                used[n] -= instance.gpus
                used[instance.home] += instance.gpus

    for places, moves in extend((), world.used(world.start), 0):
        used = world.used(places)
        if all(used[n] <= node.gpus for n, node in enumerate(world.nodes) if world.takes[n]):
            yield places, moves


def fewest_moves(options: Iterable[tuple[Places, int]], fits: Callable[[Places], bool]) -> int | None:
    """Return the fewest moves of a placement that fits; None if none does."""
    return min((moves for places, moves in options if fits(places)), default=None)


def has_room(frees: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether instances of these demands fit into what is free, by trying every node for each."""
    if not wanted:
        return True
    return any(
        free >= wanted[0] and has_room([*frees[:n], free - wanted[0], *frees[n + 1 :]], wanted[1:])
        for n, free in enumerate(frees)
    )
