"""Small clusters, and every kind of document that is stored about them, as the library makes it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

from compass_core.errors import CompassError
from oracle.admission.jobs import admit
from oracle.admission.queues import admit_queue
from oracle.measurement.domains import measure_domains
from oracle.measurement.measure import measure
from oracle.moves.move import MoveMode
from oracle.planning.planner import plan
from oracle.snapshots.model import PendingJob, Skipped
from tests.oracle.brute_moves import Instance, Node, World, random_job, random_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oracle.snapshots.model import Snapshot

Data: TypeAlias = dict[str, object]


@dataclass(frozen=True)
class Scene:
    """A world: the NVLink domains of its nodes, jobs that wait, whether instances have names, what is not looked at."""

    world: World
    domains: tuple[str | None, ...] = ()
    pending: tuple[PendingJob, ...] = ()
    named: bool = False
    overlooked: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @cached_property
    def snapshot(self) -> Snapshot:
        found = self.world.snapshot()
        nodes = tuple(
            replace(node, domain=domain)
            for node, domain in zip(found.nodes, self.domains or (None,) * len(found.nodes), strict=True)
        )
        calls = {self.world.key(i): self.called(i) for i in range(len(self.world.instances))}
        jobs = tuple(
            replace(
                job,
                instances=tuple(
                    replace(one, name=calls[job.name, n].get("name"), index=calls[job.name, n].get("index"))
                    for n, one in enumerate(job.instances)
                ),
            )
            for job in found.jobs
        )
        overlooked = tuple(Skipped(reason=reason, items=names, kept=True) for reason, names in self.overlooked)
        return replace(found, nodes=nodes, jobs=jobs, pending=self.pending, not_looked_at=overlooked)

    def called(self, i: int) -> dict[str, str]:
        """Return the name of an instance, if it has one, and its index, which every second one has besides."""
        if not self.named:
            return {}
        return {"name": f"p{i}"} | ({"index": f"{i}"} if i % 2 else {})

    @property
    def pools(self) -> list[str]:
        return sorted({node.pool for node in self.world.nodes})

    @property
    def jobs(self) -> list[str]:
        return sorted({f"j{one.job}" for one in self.world.instances})


def random_scene(rng: random.Random, *, panels: bool = False) -> Scene:
    """Return a scene of at most 4 nodes and 5 instances, half of them with all that can be odd.

    With `panels`, half of them are of up to 6 nodes in two domains, many of which one job holds whole.
    """
    if panels and rng.random() < 0.5:
        world = _of_panels(rng)
        domains: tuple[str | None, ...] = tuple(rng.choice("de") for _ in world.nodes)
    else:
        world = _closed_for_a_time(rng) if rng.random() < 0.2 else random_world(rng, most_instances=5)
        domains = tuple(rng.choice(["d", "d", "e", None]) for _ in world.nodes)
    jobs = [(*random_job(rng, world), rng.choice([None, None, "a", "b"])) for _ in range(3)]
    pending = tuple(
        PendingJob(name=f"w{i}", instances=instances, gpus_per_instance=gpus, pool=pool)
        for i, (instances, gpus, pool) in enumerate(jobs)
    )
    scene = Scene(world, domains, pending, named=rng.random() < 0.5)
    names = [*scene.jobs, *(job.name for job in pending)]
    overlooked = (("spread", tuple(names[::2])), ("licenses", tuple(names[1::2])))
    return replace(scene, overlooked=overlooked[: len(world.instances) % 3])


def _closed_for_a_time(rng: random.Random) -> World:
    """Return a world with an over-committed node, which moves could bring back to what it offers."""
    gpus, each = rng.choice([(8, 3), (4, 2), (6, 4), (8, 5)])
    count = gpus // each + 1
    others = [Node(rng.randint(each, gpus), schedulable=rng.random() < 0.9) for _ in range(rng.randint(2, 3))]
    instances = [Instance(0, each, k % 3) for k in range(count)]
    return World((Node(gpus), *others), tuple(instances))


def _of_panels(rng: random.Random) -> World:
    gpus = rng.choice([2, 4])
    instances: list[Instance] = []
    nodes = rng.randint(4, 6)
    for n in range(nodes):
        parts = rng.choice([(), (gpus,), (gpus // 2, gpus // 2), (gpus // 2,)])
        one_job = rng.random() < 0.8
        job = rng.randint(0, 2)
        instances += [Instance(n, part, job if one_job else k) for k, part in enumerate(parts)]
    return World((Node(gpus),) * nodes, tuple(instances[:8]))


# Documents


@dataclass(frozen=True)
class Case:
    """A true document and what it is about."""

    kind: str
    scene: Scene
    data: Data


def stored(data: object) -> Data:
    return cast("Data", json.loads(json.dumps(data)))


def _plan(scene: Scene, rng: random.Random, kind: str) -> Data:
    """Return a plan; the words of its kind say what is asked for."""
    words = kind.split()
    found = plan(
        scene.snapshot,
        max_partial_nodes=rng.randint(0, 2) if "partial" in words else None,
        max_migrations=rng.randint(0, 3) if "moves" in words else None,
        max_jobs_disturbed=rng.randint(0, 2) if "jobs" in words else None,
        max_per_job_at_once=rng.randint(1, 2) if "at-once" in words else None,
        moves=MoveMode.LIVE if "live" in words else MoveMode.CHECKPOINT,
        protected=_protected(scene, rng) if "protect" in words else (),
        weights={job: rng.randint(0, 3) for job in scene.jobs if rng.random() < 0.7} if "weight" in words else None,
        pool=rng.choice(scene.pools) if "pool" in words else None,
    )
    return stored(found.to_dict(found.frontier() if "frontier" in words else None))


def _protected(scene: Scene, rng: random.Random) -> list[str]:
    return [rng.choice([job, f"{job}:0"]) for job in rng.sample(scene.jobs, min(1, len(scene.jobs)))]


def _admission(scene: Scene, rng: random.Random, kind: str) -> Data:
    words = kind.split()
    job = rng.choice(scene.pending)
    return stored(
        admit(
            scene.snapshot,
            instances=job.instances,
            gpus=job.gpus_per_instance,
            pool=rng.choice(scene.pools) if "pool" in words else job.pool,
            moves="live" if "live" in words else "checkpoint",
            protected=_protected(scene, rng) if "protect" in words else (),
            max_per_job_at_once=1 if "at-once" in words else None,
        ).to_dict()
    )


def _queue(scene: Scene, rng: random.Random, kind: str) -> Data:
    words = kind.split()
    return stored(
        admit_queue(
            scene.snapshot,
            pool=rng.choice(scene.pools) if "pool" in words else None,
            moves="live" if "live" in words else "checkpoint",
            protected=_protected(scene, rng) if "protect" in words else (),
            max_per_job_at_once=1 if "at-once" in words else None,
        ).to_dict()
    )


def _measurement(scene: Scene, rng: random.Random, kind: str) -> Data:
    words = kind.split()
    pool = rng.choice(scene.pools) if "pool" in words else None
    data = measure(scene.snapshot, pool=pool).to_dict()
    if "hierarchical" in words:
        data["domains"] = measure_domains(scene.snapshot, pool=pool).to_dict()
    return stored(data)


def _certificate(scene: Scene, _: random.Random, kind: str) -> Data:
    found = plan(scene.snapshot).to_dict()
    pools = cast("list[Data]", cast("Data", stored(found)["certificate"])["pools"])
    return cast("Data", pools[-1]["migrations" if "migration" in kind else "inherent"])


KINDS: dict[str, Callable[[Scene, random.Random, str], Data]] = {
    **dict.fromkeys(("measure", "measure pool", "measure hierarchical", "measure hierarchical pool"), _measurement),
    **dict.fromkeys(
        (
            "plan", "plan live", "plan frontier", "plan live frontier", "plan moves", "plan live moves", "plan partial",
            "plan live partial", "plan jobs", "plan live jobs", "plan at-once", "plan protect", "plan weight",
            "plan pool", "plan pool protect weight frontier",
        ),
        _plan,
    ),
    **dict.fromkeys(("admit", "admit live", "admit pool", "admit protect", "admit at-once"), _admission),
    **dict.fromkeys(("queue", "queue live", "queue pool", "queue protect", "queue at-once"), _queue),
    **dict.fromkeys(("certificate", "migration certificate"), _certificate),
}  # fmt: skip


def make(kind: str, scene: Scene, rng: random.Random) -> Data | None:
    """Return a document of this kind; None where the limits that were drawn cannot be kept."""
    try:
        return KINDS[kind](scene, rng, kind)
    except CompassError:
        return None


def cases(kind: str, count: int, seed: int) -> Iterator[Case]:
    """Yield documents, each about a scene of its own."""
    rng = random.Random(f"{kind} {seed}")
    while count:
        scene = random_scene(rng, panels="hierarchical" in kind.split())
        if "pool" in kind.split() and len(scene.pools) < 2 and rng.random() < 0.9:
            continue
        data = make(kind, scene, rng)
        if data is not None:
            count -= 1
            yield Case(kind, scene, data)
