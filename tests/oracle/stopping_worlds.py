"""Clusters without room, plans that have to stop instances, and somebody who carries them out. Slow on purpose.

Instances are told apart here as nobody outside can: by a number of their own. What a snapshot shows of them is drawn
anew for every look: in any order, under names that last or do not, or without.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from oracle.moves.move import Move, with_names
from oracle.moves.ordering import order_moves
from oracle.moves.stored import at_start, read_plan, start_to_json
from oracle.planning.resumption import resume
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from tests.oracle.snapshots.kubernetes_objects import PRODUCT, node, pod, read

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

    from oracle.moves.move import Stop
    from oracle.moves.stored import StoredPlan
    from oracle.planning.resumption import Resumption

T = TypeVar("T")

GPUS = 8
Look: TypeAlias = "Callable[[Cluster, random.Random], Snapshot]"


@dataclass(slots=True)
class One:
    """An instance as it really is; `node` is None while it is stopped, `start` counts how often it was started."""

    job: str
    ordinal: int
    gpus: int
    node: str | None
    start: int = 0

    @property
    def pod(self) -> str:
        return f"{self.job}-{self.ordinal}-{self.start}"


@dataclass(slots=True)
class Cluster:
    """A cluster on which a plan is carried out; no node may be over-booked, nothing stopped twice."""

    nodes: tuple[str, ...]
    ones: list[One] = field(default_factory=list["One"])

    def copy(self) -> Cluster:
        return Cluster(self.nodes, [replace(one) for one in self.ones])

    def stop(self, one: One) -> None:
        assert one.node is not None
        one.node = None

    def put(self, one: One, node: str) -> None:
        """Start an instance on a node, stopping it elsewhere: under the next name, if its names do not last."""
        one.node = node
        one.start += 1
        for name, used in self.used().items():
            assert used <= GPUS, f"{name} is over-booked"

    def used(self) -> Counter[str]:
        used = Counter[str]()
        for one in self.ones:
            if one.node is not None:
                used[one.node] += one.gpus
        return used

    def places(self) -> Counter[tuple[str, int, str | None]]:
        return Counter((one.job, one.gpus, one.node) for one in self.ones)


def _look(cluster: Cluster, rng: random.Random, *, names: str) -> Snapshot:
    jobs: defaultdict[str, list[RunningInstance]] = defaultdict(list)
    for one in rng.sample(cluster.ones, len(cluster.ones)):
        if one.node is not None:
            name = {"none": None, "lasting": f"{one.job}-{one.ordinal}"}.get(names, one.pod)
            index = f"{one.ordinal}" if names == "indexes" else None
            jobs[one.job].append(RunningInstance(node=one.node, gpus=one.gpus, name=name, index=index))
    return Snapshot.build(
        nodes=[SnapshotNode(name=name, gpus=GPUS) for name in cluster.nodes],
        jobs=[RunningJob(name=name, instances=tuple(instances)) for name, instances in sorted(jobs.items())],
    )


def without_names(cluster: Cluster, rng: random.Random) -> Snapshot:
    """Instances without names, as of Slurm or of a file written by hand."""
    return _look(cluster, rng, names="none")


def new_names(cluster: Cluster, rng: random.Random) -> Snapshot:
    """Names that change with every start."""
    return _look(cluster, rng, names="new")


def lasting_names(cluster: Cluster, rng: random.Random) -> Snapshot:
    """Names that are the same after every start."""
    return _look(cluster, rng, names="lasting")


def indexes(cluster: Cluster, rng: random.Random) -> Snapshot:
    """Names that change with every start, and indexes that do not."""
    return _look(cluster, rng, names="indexes")


def _pods(cluster: Cluster, rng: random.Random, *, kind: str) -> Snapshot:
    pods: list[dict[str, object]] = []
    for one in rng.sample(cluster.ones, len(cluster.ones)):
        name = f"{one.job}-{one.ordinal}" if kind == "StatefulSet" else one.pod
        labels = {"batch.kubernetes.io/job-completion-index": f"{one.ordinal}"} if kind == "Job" else {}
        if one.node is not None:
            pods.append(pod(name, one.gpus, node=one.node, owner=(kind, one.job), labels=labels))
    return read(*(node(name, GPUS, labels={PRODUCT: "H100"}) for name in cluster.nodes), *pods)


def indexed_job(cluster: Cluster, rng: random.Random) -> Snapshot:
    """Pods with completion indexes, through the reader."""
    return _pods(cluster, rng, kind="Job")


def replica_set(cluster: Cluster, rng: random.Random) -> Snapshot:
    """Pods with new names after every start, through the reader."""
    return _pods(cluster, rng, kind="ReplicaSet")


def stateful_set(cluster: Cluster, rng: random.Random) -> Snapshot:
    """Pods with ordinals in their names, through the reader."""
    return _pods(cluster, rng, kind="StatefulSet")


def tight_world(rng: random.Random) -> tuple[Cluster, dict[int, str]]:
    """Return full nodes, or nearly, and a node for each instance: groups of equal size that go round in a circle."""
    count = rng.randint(2, 4)
    cluster = Cluster(tuple(f"n{n}" for n in range(count)))
    jobs, ordinals = rng.randint(1, 3), Counter[str]()
    for name in cluster.nodes:
        left = GPUS - rng.choice([0, 0, 0, 1])
        while left:
            gpus = rng.choice([size for size in (1, 2, 3, 4) if size <= left])
            job = f"j{rng.randrange(jobs)}"
            cluster.ones.append(One(job, ordinals[job], gpus, name))
            ordinals[job] += 1
            left -= gpus
    circle = rng.sample(cluster.nodes, rng.randint(2, count))
    groups = [_groups([(i, one.gpus) for i, one in enumerate(cluster.ones) if one.node == name]) for name in circle]
    size = rng.choice([size for size in range(GPUS) if all(size in group for group in groups)] or [0])
    goal: dict[int, str] = {}
    for group, target in zip(groups, (*circle[1:], circle[0]), strict=True):
        goal |= dict.fromkeys(rng.choice(group[size]) if size else (), target)
    return cluster, goal


def _groups(instances: Sequence[tuple[int, int]]) -> dict[int, list[tuple[int, ...]]]:
    """Return the sets of a few instances, by their GPUs."""
    found: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
    for most in (1, 2, 3):
        for chosen in combinations(instances, most):
            found[sum(gpus for _, gpus in chosen)].append(tuple(i for i, _ in chosen))
    return found


class Plan:
    """A plan as it is stored, and which of its instances is which."""

    def __init__(self, cluster: Cluster, goal: dict[int, str], look: Look, rng: random.Random) -> None:
        snapshot = look(cluster, rng)
        self.ones: dict[tuple[str, int], int] = {}
        left = list(range(len(cluster.ones)))
        for job in snapshot.jobs:
            for number, seen in enumerate(job.instances):
                i = next(i for i in left if _is(cluster.ones[i], job.name, seen))
                left.remove(i)
                self.ones[job.name, number] = i
        moves = [
            Move(0, *key, cluster.ones[i].gpus, cluster.ones[i].node or "", goal[i])
            for key, i in self.ones.items()
            if i in goal and goal[i] != cluster.ones[i].node
        ]
        order = order_moves(snapshot, moves)
        self.moves, self.stops = order.moves, order.stops
        document = {
            "moves": [move.to_json() for move in with_names(snapshot, order.moves)],
            "stopped_first": [stop.to_json() for stop in with_names(snapshot, order.stops)],
            "jobs_at_start": start_to_json(at_start(snapshot, order.moves)),
        }
        self.stored: StoredPlan = read_plan(json.loads(json.dumps(document)))
        after = cluster.copy()
        for move in order.moves:
            after.ones[self.ones[move.job, move.instance]].node = move.destination
        self.after = after.places()

    def states(self, start: Cluster) -> Iterator[Cluster]:
        """Yield all that can be seen: of each step every set of its stops, then every set of its moves.

        At times stops of later steps are seen already.
        """
        now = start.copy()
        for step in range(1, 1 + max((move.step for move in self.moves), default=0)):
            stops = [stop for stop in self.stops if stop.before_step == step]
            yield from (self._stopped(now, chosen) for chosen in _subsets(stops))
            now = self._stopped(now, stops)
            early = [stop for stop in self.stops if stop.before_step > step]
            yield from (self._stopped(now, chosen) for chosen in _subsets(early) if chosen)
            moves = [move for move in self.moves if move.step == step]
            yield from (self._moved(now, chosen) for chosen in _subsets(moves))
            now = self._moved(now, moves)

    def _stopped(self, cluster: Cluster, stops: Sequence[Stop]) -> Cluster:
        seen = cluster.copy()
        for stop in stops:
            seen.stop(self.one(seen, stop))
        return seen

    def _moved(self, cluster: Cluster, moves: Sequence[Move]) -> Cluster:
        seen = cluster.copy()
        for move in moves:
            seen.put(self.one(seen, move), move.destination)
        return seen

    def one(self, cluster: Cluster, item: Move | Stop) -> One:
        return cluster.ones[self.ones[item.job, item.instance]]

    def resumed(self, snapshot: Snapshot) -> Resumption:
        plan = self.stored
        return resume(snapshot, plan.moves, plan.stops, at_start=plan.at_start or ())


def _is(one: One, job: str, seen: RunningInstance) -> bool:
    named = seen.name in {None, one.pod, f"{one.job}-{one.ordinal}"}
    return (one.node, one.gpus) == (seen.node, seen.gpus) and job.endswith(one.job) and named


def _subsets(items: Sequence[T]) -> list[tuple[T, ...]]:
    return [chosen for most in range(len(items) + 1) for chosen in combinations(items, most)]


class Operator:
    """Somebody who knows only what `--resume` prints, and does one step of it, or a part of that, before each look."""

    def __init__(self, plan: Plan, look: Look, rng: random.Random) -> None:
        self._plan, self._look, self._rng = plan, look, rng

    def carry_out(self, cluster: Cluster) -> int:
        """Carry the rest of the plan out and return how often it was looked at; fails where something is lost."""
        looks = 0
        while True:
            snapshot = self._look(cluster, self._rng)
            left = self._plan.resumed(snapshot)
            looks += 1
            assert left.failure is None, left.failure
            assert not left.gone
            assert not left.missing
            assert len(left.stopped) == sum(one.node is None for one in cluster.ones)
            if not left.remaining:
                return looks
            self._step(cluster, left)

    def _step(self, cluster: Cluster, left: Resumption) -> None:
        down = {(stop.job, stop.instance) for stop in left.stopped}
        step = min(left.remaining[0].step, *(stop.before_step for stop in left.remaining_stops), 10**9)
        for stop in left.remaining_stops:
            if stop.before_step == step:
                cluster.stop(self._running(cluster, stop, stop.node))
                down.add((stop.job, stop.instance))
        moves = [move for move in left.remaining if move.step == step]
        made = self._rng.sample(moves, self._rng.randint(min(1, len(moves)), len(moves)))
        # Whose places are known before anything is made: what leaves and what arrives may look alike.
        chosen: list[tuple[One, Move]] = []
        for move in made:
            if (move.job, move.instance) in down:
                taken = [one for one, _ in chosen]
                chosen.append((self._stopped(cluster, move, taken), move))
            else:
                chosen.append((self._running(cluster, move, move.source, [one for one, _ in chosen]), move))
        for one, move in chosen:
            cluster.put(one, move.destination)

    def _running(self, cluster: Cluster, item: Move | Stop, node: str, taken: Sequence[One] = ()) -> One:
        return next(
            one
            for one in cluster.ones
            if (one.gpus, one.node) == (item.gpus, node)
            and item.job.endswith(one.job)
            and item.name in {None, one.pod, f"{one.job}-{one.ordinal}"}
            and not any(one is other for other in taken)
        )

    def _stopped(self, cluster: Cluster, move: Move, taken: Sequence[One]) -> One:
        """Return the stopped instance that is meant: by its name as far as that lasts, else any that is alike."""
        alike = [
            one
            for one in cluster.ones
            if one.node is None
            and one.gpus == move.gpus
            and move.job.endswith(one.job)
            and not any(one is other for other in taken)
        ]
        return next((one for one in alike if move.name in {one.pod, f"{one.job}-{one.ordinal}"}), alike[0])
