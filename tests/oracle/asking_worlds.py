"""Waiting jobs with constraints in small worlds, and by trying everything whether they can start.

Every instance and every node has a number here, and each is tried on each. The rules are written down once more: a
waiting instance may stand on a node that takes instances, is in its set, and has room for its GPUs and its CPUs beside
all that is there; where a job is spread, on no node with another instance of it, those that run included; and where it
has to choose, all of them are in one of its choices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

from immutables import Map

from oracle.admission.question import AskedJob
from oracle.snapshots.model import NodeSet, PendingJob, PendingPart
from tests.oracle.brute_moves import random_job

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from oracle.snapshots.model import Snapshot
    from tests.oracle.brute_moves import Places, World


@dataclass(frozen=True)
class Part:
    instances: int
    gpus: int
    allowed: frozenset[int] | None = None
    cpus: int = 0


@dataclass(frozen=True)
class Job:
    """A waiting job; `more_of` is the running job it belongs to, `choices` the nodes of which it has to choose."""

    parts: tuple[Part, ...]
    pool: str | None = None
    distinct: bool = False
    together: bool = True
    more_of: int | None = None
    choices: tuple[frozenset[int], ...] = ()

    @cached_property
    def chosen(self) -> tuple[Job, ...]:
        """Return the job in each of its choices; itself if it has none."""
        if not self.choices:
            return (self,)
        return tuple(
            replace(
                self,
                parts=tuple(
                    replace(part, allowed=one if part.allowed is None else part.allowed & one) for part in self.parts
                ),
                choices=(),
            )
            for one in self.choices
        )

    @cached_property
    def instances(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts for _ in range(part.instances))


def random_asked(rng: random.Random, world: World, *, parts: int = 2) -> Job:
    """Return a waiting job with some of all that one can ask for."""
    instances, gpus = random_job(rng, world)
    sets, cpus, distinct, more = (rng.random() < 0.4 for _ in range(4))
    nodes = range(len(world.nodes))

    def part(instances: int, gpus: int) -> Part:
        allowed = frozenset(n for n in nodes if rng.random() < 0.6) if sets and rng.random() < 0.8 else None
        return Part(instances, gpus, allowed, rng.choice([0, 1, 2, 4]) if cpus else 0)

    chosen = [part(instances, gpus)]
    if parts > 1 and rng.random() < 0.3:
        chosen.append(part(rng.choice([1, 1, 2]), rng.randint(1, 6)))
    running = sorted({one.job for one in world.instances} & world.distinct)
    job = Job(
        tuple(chosen),
        pool=rng.choice([None, *sorted({node.pool for node in world.nodes})]),
        distinct=distinct,
        together=rng.random() < 0.7,
        more_of=rng.choice(running) if distinct and more and running else None,
    )
    if not job.together or rng.random() < 0.6:
        return job
    choices = {frozenset(n for n in nodes if rng.random() < 0.6) for _ in range(rng.randint(1, 3))}
    return replace(job, choices=tuple(sorted(choices, key=sorted)))


def pending(job: Job, name: str) -> PendingJob:
    """Return the job as one of a snapshot; of one that belongs to a running job the name is that of the other."""
    first, *others = job.parts
    return PendingJob(
        name=name if job.more_of is None else f"j{job.more_of}",
        instances=first.instances,
        gpus_per_instance=first.gpus,
        pool=job.pool,
        within=_within(first),
        resources=_resources(first),
        distinct_nodes=job.distinct,
        within_one_of=tuple(map(name_of, job.choices)),
        further_parts=tuple(
            PendingPart(
                instances=one.instances, gpus_per_instance=one.gpus, within=_within(one), resources=_resources(one)
            )
            for one in others
        ),
        together=job.together,
    )


def with_pending(snapshot: Snapshot, jobs: Sequence[Job]) -> Snapshot:
    """Return a snapshot in which these jobs wait, and which has their node sets."""
    known = {one.name for one in snapshot.node_sets}
    allowed = {part.allowed for job in jobs for part in job.parts if part.allowed is not None}
    allowed.update(one for job in jobs for one in job.choices)
    sets = [
        NodeSet(name=name_of(nodes), kind="partition", nodes=frozenset(f"n{n}" for n in nodes))
        for nodes in sorted(allowed, key=sorted)
        if name_of(nodes) not in known
    ]
    waiting = tuple(pending(job, f"w{j}") for j, job in enumerate(jobs))
    return replace(snapshot, node_sets=(*snapshot.node_sets, *sets), pending=waiting)


def asked(job: Job, snapshot: Snapshot) -> AskedJob:
    return AskedJob.of(pending(job, "w0"), snapshot)


def name_of(nodes: frozenset[int]) -> str:
    """Return the name of the node set that has these nodes."""
    return "nodes " + ",".join(map(str, sorted(nodes)))


def _within(part: Part) -> tuple[str, ...]:
    return () if part.allowed is None else (name_of(part.allowed),)


def _resources(part: Part) -> Map[str, int]:
    return Map({"cpu": part.cpus}) if part.cpus else Map()


class Rooms:
    """Where instances of waiting jobs may stand, the instances that run being somewhere."""

    def __init__(self, world: World, places: Places) -> None:
        used = world.used(places)
        self.world = world
        self.gpus = [node.gpus - used[n] if world.takes[n] else 0 for n, node in enumerate(world.nodes)]
        self.cpus = [most - world.cpus(world.on(places, n)) for n, most in enumerate(world.most_cpus)]
        self.running = [
            {one.job for one, at in zip(world.instances, places, strict=True) if at == n}
            for n in range(len(world.nodes))
        ]

    def most(self, wanted: Sequence[tuple[Job, Part, frozenset[str]]], required: int = 0) -> int:
        """Return how many of these instances, each with the pools it may be in, can stand somewhere together.

        The first `required` of them have to; -1 if they cannot.
        """
        best, total = -1, len(wanted)
        held: list[list[Job]] = [[] for _ in self.world.nodes]

        def extend(i: int, placed: int, last: int = 0) -> None:
            nonlocal best
            if i >= required:
                best = max(best, placed)
            if total in {i, best} or placed + total - i <= best:
                return
            job, part, pools = wanted[i]
            # Equal instances go to nodes in their order, and none of them after one that has no node.
            alike = i + 1 < total and wanted[i + 1][1] is part and wanted[i + 1][0] is job and i + 1 != required
            for n, node in enumerate(self.world.nodes):
                if n >= last and node.pool in pools and self.may(job, part, n, held[n]):
                    self.put(part, n)
                    held[n].append(job)
                    extend(i + 1, placed + 1, n if alike else 0)
                    held[n].pop()
                    self.put(part, n, -1)
            if i >= required:
                others = (k for k in range(i + 1, total) if wanted[k][1] is not part or wanted[k][0] is not job)
                extend(next(others, total), placed)

        extend(0, 0)
        return best

    def put(self, part: Part, n: int, times: int = 1) -> None:
        self.gpus[n] -= times * part.gpus
        self.cpus[n] -= times * part.cpus

    def may(self, job: Job, part: Part, n: int, held: Sequence[Job]) -> bool:
        if not self.world.takes[n] or self.gpus[n] < part.gpus or (part.cpus and self.cpus[n] < part.cpus):
            return False
        if part.allowed is not None and n not in part.allowed:
            return False
        return not job.distinct or (all(other is not job for other in held) and job.more_of not in self.running[n])


def areas(world: World, job: Job) -> list[frozenset[str]]:
    """Return the sets of pools of which each is enough: the rules on jobs for any pool once more."""
    pools = sorted({node.pool for node in world.nodes})
    if job.pool is not None:
        return [frozenset({job.pool})]
    inside = [{node.pool for n, node in enumerate(world.nodes) if part.allowed is None or n in part.allowed}
              for part in job.parts]  # fmt: skip
    if not job.together:
        return [frozenset(pools)]
    whole = [pool for pool in pools if all(pool in one for one in inside)]
    if whole or not all(inside):
        return [frozenset({pool}) for pool in whole]
    return [frozenset(pools)]


def starting(world: World, places: Places, jobs: Sequence[Job]) -> int:
    """Return how much of some jobs can start together, the others being there: jobs, or instances of some."""
    best = 0
    whole = [job for job in jobs if job.together]
    some = [
        (job, part, area) for job in jobs if not job.together for area in areas(world, job) for part in job.instances
    ]
    for size in range(len(whole), -1, -1):
        if size + len(some) <= best:
            break
        for chosen in combinations(whole, size):
            ways = ([(one, area) for one in job.chosen for area in areas(world, one)] for job in chosen)
            for where in product(*ways):
                must = [(job, part, area) for job, area in where for part in job.instances]
                found = Rooms(world, places).most([*must, *some], len(must))
                best = max(best, found - len(must) + size if found >= 0 else 0)
    return best


def best_start(world: World, jobs: Sequence[Job], options: Iterable[tuple[Places, int]]) -> tuple[int, int]:
    """Return how much can start at most, and the fewest moves after which so much can."""
    best, most = (0, 0), sum(1 if job.together else len(job.instances) for job in jobs)
    known: dict[tuple[object, ...], int] = {}
    for places, moves in sorted(options, key=lambda option: option[1]):
        if best[0] == most:
            break
        rooms = Rooms(world, places)
        key = (*rooms.gpus, *rooms.cpus, *map(frozenset, rooms.running))
        if key not in known:
            known[key] = starting(world, places, jobs)
        if known[key] > best[0]:
            best = known[key], moves
    return best
