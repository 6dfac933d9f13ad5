"""Moves and admissions of a small cluster by trying everything. Slow on purpose.

It knows every node and every instance by its number and keeps lists; it shares no code with the oracle: no classes, no
patterns, no solver, no canonical states. The rules are written down once more from the contract: cordoned nodes and
nodes that hold more than they offer take nothing, instances stay in their pool and on the nodes that they may stand on,
what cannot move stays, jobs that are spread over different nodes stay so, and no node gives more CPUs than it has. What
breaks such a rule at the start may stay as it is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from immutables import Map

from oracle.snapshots.model import NodeSet, RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from oracle.moves.move import Move, Stop

Places: TypeAlias = tuple[int, ...]
"""The node of every instance."""


@dataclass(frozen=True)
class Node:
    gpus: int
    pool: str = "a"
    schedulable: bool = True
    cpus: int | None = None


@dataclass(frozen=True)
class Instance:
    home: int
    gpus: int
    job: int
    movable: bool = True
    allowed: frozenset[int] | None = None
    cpus: int = 0
    budget: int | None = None


@dataclass(frozen=True)
class World:
    """A cluster, every node and instance by number; jobs of `distinct` have to be on different nodes."""

    nodes: tuple[Node, ...]
    instances: tuple[Instance, ...]
    distinct: frozenset[int] = frozenset()
    budgets: tuple[int, ...] = ()

    @cached_property
    def start(self) -> Places:
        return tuple(instance.home for instance in self.instances)

    @cached_property
    def takes(self) -> tuple[bool, ...]:
        used = self.used(self.start)
        return tuple(node.schedulable and used[n] <= node.gpus for n, node in enumerate(self.nodes))

    @cached_property
    def most_cpus(self) -> tuple[float, ...]:
        return tuple(
            float("inf") if node.cpus is None else max(node.cpus, self.cpus(self.on(self.start, n)))
            for n, node in enumerate(self.nodes)
        )

    @cached_property
    def apart(self) -> frozenset[tuple[int, str]]:
        """Jobs and pools where no two instances of the job may be on one node: where none are at the start."""
        doubled = {
            (self.instances[i].job, self.nodes[n].pool)
            for n in range(len(self.nodes))
            for i, k in combinations(self.on(self.start, n), 2)
            if self.instances[i].job == self.instances[k].job
        }
        pools = {node.pool for node in self.nodes}
        return frozenset((job, pool) for job in self.distinct for pool in pools) - doubled

    def on(self, places: Places, n: int) -> list[int]:
        return [i for i, place in enumerate(places) if place == n]

    def cpus(self, crowd: Iterable[int]) -> int:
        return sum(self.instances[i].cpus for i in crowd)

    def can_hold(self, n: int, crowd: Sequence[int]) -> bool:
        """Whether these instances, some of which have just come, may be on node n together."""
        apart = [self.instances[i].job for i in crowd if (self.instances[i].job, self.nodes[n].pool) in self.apart]
        return (
            sum(self.instances[i].gpus for i in crowd) <= self.nodes[n].gpus
            and self.cpus(crowd) <= self.most_cpus[n]
            and len(apart) == len(set(apart))
        )

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
            running = RunningInstance(
                node=f"n{instance.home}",
                gpus=instance.gpus,
                movable=instance.movable,
                within=() if instance.allowed is None else (_set_name(instance.allowed),),
                budgets=() if instance.budget is None else (f"b{instance.budget}",),
                resources=Map({"cpu": instance.cpus}) if instance.cpus else Map(),
            )
            jobs.setdefault(instance.job, []).append(running)
        return Snapshot.build(
            nodes=[
                SnapshotNode(
                    name=f"n{n}",
                    gpus=node.gpus,
                    pool=node.pool,
                    schedulable=node.schedulable,
                    resources=Map() if node.cpus is None else Map({"cpu": node.cpus}),
                )
                for n, node in enumerate(self.nodes)
            ],
            jobs=[
                RunningJob(name=f"j{job}", instances=tuple(instances), distinct_nodes=job in self.distinct)
                for job, instances in jobs.items()
            ],
            node_sets=[
                NodeSet(name=_set_name(allowed), kind="partition", nodes=frozenset(f"n{n}" for n in allowed))
                for allowed in sorted({one.allowed for one in self.instances if one.allowed is not None}, key=sorted)
            ],
            budgets={f"b{b}": most for b, most in enumerate(self.budgets)},
        )

    def key(self, i: int) -> tuple[str, int]:
        """Return how instance i is called in the snapshot."""
        job = self.instances[i].job
        return f"j{job}", sum(self.instances[k].job == job for k in range(i))

    def options(self, i: int) -> list[int]:
        """Return the nodes that instance i may be on in the end, its own first."""
        instance = self.instances[i]
        pool = self.nodes[instance.home].pool
        others = [
            n
            for n, node in enumerate(self.nodes)
            if n != instance.home
            and self.takes[n]
            and node.pool == pool
            and (instance.allowed is None or n in instance.allowed)
        ]
        return [instance.home, *(others if instance.movable else [])]


def _set_name(nodes: frozenset[int]) -> str:
    return "nodes " + ",".join(map(str, sorted(nodes)))


def with_rules(rng: random.Random, world: World) -> World:
    """Return a world with some of: nodes where an instance may stand, jobs on different nodes, CPUs, budgets.

    Most of them hold at the start, some do not.
    """
    sets, cpus, distinct, budgets = (rng.random() < 0.5 for _ in range(4))
    partitions = [frozenset(n for n in range(len(world.nodes)) if rng.random() < 0.6) for _ in range(2)]
    partition = {one.job: rng.choice([None, *partitions]) for one in world.instances}
    share = {one.job: rng.choice([0, 1, 2]) for one in world.instances}
    by_gpu = {one.job: rng.random() < 0.5 for one in world.instances}
    budget = {one.job: rng.choice([None, 0, 1]) for one in world.instances}
    instances = [
        replace(
            one,
            allowed=partition[one.job] if sets else None,
            cpus=share[one.job] * (one.gpus if by_gpu[one.job] else 1) if cpus else 0,
            budget=budget[one.job] if budgets else None,
        )
        for one in world.instances
    ]
    nodes = [replace(node, cpus=rng.randint(0, 2 * node.gpus) if cpus else None) for node in world.nodes]
    if rng.random() < 0.9:
        held = [sum(one.cpus for one in instances if one.home == n) for n in range(len(nodes))]
        nodes = [
            node if node.cpus is None else replace(node, cpus=max(node.cpus, held[n])) for n, node in enumerate(nodes)
        ]
    jobs = {one.job for one in instances if distinct and rng.random() < 0.7}
    return World(tuple(nodes), tuple(instances), frozenset(jobs), (1, rng.randint(1, 2)) if budgets else ())


def without_budgets(world: World) -> World:
    return replace(world, instances=tuple(replace(one, budget=None) for one in world.instances), budgets=())


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
    home = dict(where)
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
        for budget, most in snapshot.budgets.items():
            assert sum(budget in instances[key].budgets for key in busy) <= most
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
            here = [one for one in where if where[one] == target and one not in down]
            here += [(one.job, one.instance) for one in now if index[one.destination] == target]
            _assert_may_come(snapshot, home, key, target, here)
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


def places_after(world: World, moves: Sequence[Move], stops: Sequence[Stop] = (), limit: int | None = None) -> Places:
    """Play a plan of a world the hard way and return where it leads."""
    snapshot = world.snapshot()
    keys = [(job.name, i) for job in snapshot.jobs for i in range(len(job.instances))]
    where = dict(zip(keys, play(snapshot, moves, stops, limit), strict=True))
    return tuple(where[world.key(i)] for i in range(len(world.instances)))


def _assert_may_come(
    snapshot: Snapshot,
    home: Mapping[tuple[str, int], int],
    key: tuple[str, int],
    target: int,
    here: Sequence[tuple[str, int]],
) -> None:
    """Assert that an instance keeps the rules on a node, beside what is there; `home` is where all are at the start."""
    node = snapshot.nodes[target]
    jobs = {job.name: job for job in snapshot.jobs}
    instance = jobs[key[0]].instances[key[1]]
    sets = {one.name: one.nodes for one in snapshot.node_sets}
    assert target == home[key] or all(node.name in sets[name] for name in instance.within)
    if jobs[key[0]].distinct_nodes:
        homes = [n for one, n in home.items() if one[0] == key[0] and snapshot.nodes[n].pool == node.pool]
        assert len(set(homes)) < len(homes) or [one[0] for one in here].count(key[0]) == 1
    for name, most in node.resources.items():
        taken, at_first = (
            sum(jobs[job].instances[i].resources.get(name, 0) for job, i in crowd)
            for crowd in (here, [one for one, n in home.items() if n == target])
        )
        assert taken <= max(most, at_first)


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
                places = [
                    goal[i] if i in moved else -1 if i in now_down else home for i, home in enumerate(world.start)
                ]
                ready = [i for i in moving if i not in moved and (i not in stopped or i in now_down)]
                for chosen in _subsets(ready):
                    if chosen and _fits(world, goal, places, chosen) and _limited(world, now_down | set(chosen), limit):
                        state = (now_down - set(chosen), moved | set(chosen))
                        if state not in seen:
                            seen.add(state)
                            following.add(state)
        layer = following
    return None


def _fits(world: World, goal: Places, places: Sequence[int], chosen: tuple[int, ...]) -> bool:
    crowds = {n: [i for i, place in enumerate(places) if place == n] for n in {goal[i] for i in chosen}}
    for i in chosen:
        crowds[goal[i]].append(i)
    return all(world.can_hold(n, crowd) for n, crowd in crowds.items())


def _limited(world: World, busy: Iterable[int], limit: int | None) -> bool:
    jobs = [world.instances[i].job for i in busy]
    budgets = [world.instances[i].budget for i in busy]
    kept = all(budgets.count(b) <= most for b, most in enumerate(world.budgets))
    return kept and (limit is None or all(jobs.count(job) <= limit for job in jobs))


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
        for i in range(len(world.instances)):
            for n in options[i]:
                if n != places[i] and world.takes[n] and world.can_hold(n, [*world.on(places, n), i]):
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
        crowds = [world.on(places, n) for n in range(len(world.nodes))]
        if all(world.can_hold(n, crowd) for n, crowd in enumerate(crowds) if world.takes[n]):
            yield places, moves


def fewest_partial(world: World) -> tuple[int, int]:
    """Return the fewest partial nodes of all placements, and the fewest moves to them."""
    return min((world.partial(places), moves) for places, moves in placements(world))


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
