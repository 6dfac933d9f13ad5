"""Whole documents that are false: of other questions, other clusters, moves against the rules, another queue order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, cast

from oracle.admission.queues import admit_queue
from tests.oracle.forger.following import following
from tests.oracle.forger.lies import FAR
from tests.oracle.forger.scenes import KINDS, Scene, make, stored
from tests.oracle.forger.trees import integer, item, items, text

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from oracle.snapshots.model import PendingJob
    from tests.oracle.brute_moves import Places, World
    from tests.oracle.forger.scenes import Case, Data

_QUESTION = (
    "mode", "protected", "max_per_job_at_once", "max_per_budget", "max_priority", "max_partial_nodes", "max_migrations",
    "max_jobs_disturbed", "weights", "pool", "job", "jobs",
)  # fmt: skip

# Placements of one sort that are tried, of each document.
_OF_A_SORT = 1


def other_questions(case: Case, rng: random.Random) -> Iterator[Data]:
    """Yield true answers to other questions about the scene, told as answers to this one, in whole or in part."""
    kinds = [kind for kind in KINDS if kind.split()[0] == case.kind.split()[0]]
    for kind in rng.sample(kinds, min(4, len(kinds))):
        other = make(kind, case.scene, rng)
        if other is None or other["schema"] != case.data["schema"]:
            continue
        # Of a verdict `pool` is an answer.
        asked = [key for key in _QUESTION if key in case.data and (key != "pool" or "max_migrations" in case.data)]
        yield {**other, **{key: case.data[key] for key in asked}}
        yield {**case.data, **{key: other[key] for key in asked}}
        yield from _spliced(case.data, other, rng)


def other_clusters(case: Case, rng: random.Random) -> Iterator[Data]:
    """Yield true answers about clusters that differ in one thing, told as answers about this one."""
    scenes = list(_neighbours(case.scene, rng))
    for scene in rng.sample(scenes, min(4, len(scenes))):
        other = make(case.kind, scene, rng)
        if other is not None:
            yield other
            yield from _spliced(case.data, other, rng)


def _spliced(data: Data, other: Data, rng: random.Random) -> Iterator[Data]:
    """Yield documents of which some parts are those of another."""
    different = [key for key in data if key in other and data[key] != other[key]]
    for _ in range(2):
        taken = [key for key in different if rng.random() < 0.5]
        yield {**data, **{key: other[key] for key in taken}}
    if "certificate" in data and "certificate" in other:
        yield {**other, "certificate": data["certificate"]}
    if "domains" in data and "domains" in other:
        yield {**data, "domains": other["domains"]}


def _neighbours(scene: Scene, rng: random.Random) -> Iterator[Scene]:
    world = scene.world
    used = world.used(world.start)
    nodes, instances = world.nodes, world.instances
    worlds: list[World] = [
        replace(world, nodes=tuple(replace(node, schedulable=True) for node in nodes)),
        replace(world, instances=tuple(replace(one, movable=True) for one in instances)),
        replace(world, nodes=tuple(replace(node, gpus=max(node.gpus, used[n])) for n, node in enumerate(nodes))),
        replace(world, nodes=tuple(replace(node, pool="a") for node in nodes)),
    ]
    n = rng.randrange(len(nodes))
    worlds += [
        replace(world, nodes=(*nodes[:n], node, *nodes[n + 1 :]))
        for node in (replace(nodes[n], gpus=nodes[n].gpus + 1), replace(nodes[n], schedulable=not nodes[n].schedulable))
    ]
    if instances:
        i = rng.randrange(len(instances))
        worlds += [
            replace(world, instances=(*instances[:i], one, *instances[i + 1 :]))
            for one in (
                replace(instances[i], home=rng.randrange(len(nodes))),
                replace(instances[i], gpus=instances[i].gpus % 8 + 1),
                replace(instances[i], movable=not instances[i].movable),
            )
        ]
        worlds.append(replace(world, instances=(*instances[:i], *instances[i + 1 :])))
    yield from (replace(scene, world=other) for other in worlds if other != world)
    yield replace(scene, pending=scene.pending[::-1])
    for domains in (tuple(reversed(scene.domains)), ("d",) * len(nodes), (None,) * len(nodes)):
        if domains != scene.domains:
            yield replace(scene, domains=domains)


# Moves against the rules


def against_the_rules(case: Case, rng: random.Random) -> Iterator[Data]:
    """Yield answers whose moves bring what is asked for, if this or that rule is not looked at."""
    data, scene = case.data, case.scene
    waiting = None
    if "job" in data:
        job = item(data, "job")
        waiting = integer(job, "instances"), integer(job, "gpus_per_instance")
    for places in _sorts(scene, rng, waiting) if "mode" in data else ():
        for way in _ways(scene, places):
            if "job" in data:
                yield from (_starting({**data, **way, "pool": pool}, scene) for pool in scene.pools)
            elif "together" in data:
                names = [job["name"] for job in items(data, "jobs")]
                placed = {**data, "together": {**item(data, "together"), **way, "jobs": names}}
                yield _followed(_followed(placed, scene, "_together_placed"), scene, "_together_numbers")
            else:
                yield _followed({**data, **way}, scene, "_from_moves")


def _followed(data: Data, scene: Scene, name: str) -> Data:
    return next(following(data, scene, only=name), data) if name else data


def _starting(data: Data, scene: Scene) -> Data:
    found: Data = {**data, "verdict": "fits_after", "migrations": 0, "blockers": [], "proof": ""}
    for name in ("_as_it_was", "_count_moves", "_place", "_bound_met", "_right_words"):
        found = _followed(found, scene, name)
    return found


def _sorts(scene: Scene, rng: random.Random, waiting: tuple[int, int] | None) -> Iterator[Places]:
    """Yield placements, a few of each sort: by the rules they break, and whether there is room for what waits."""
    world = scene.world
    sorts: defaultdict[tuple[object, ...], list[Places]] = defaultdict(list)
    for places in product(range(len(world.nodes)), repeat=len(world.instances)):
        moved = [i for i, one in enumerate(world.instances) if one.home != places[i]]
        if not 1 <= len(moved) <= 3:
            continue
        used = world.used(places)
        room = None
        if waiting is not None:
            instances, gpus = waiting
            room = any(
                sum(max(0, node.gpus - used[n]) // gpus for n, node in enumerate(world.nodes) if node.pool == pool)
                >= instances
                for pool in scene.pools
            )
        broken = (
            any(not world.takes[places[i]] for i in moved),
            any(not world.instances[i].movable for i in moved),
            any(world.nodes[places[i]].pool != world.nodes[world.instances[i].home].pool for i in moved),
            any(used[n] > node.gpus for n, node in enumerate(world.nodes)),
            any(not takes and used[n] < world.used(world.start)[n] for n, takes in enumerate(world.takes)),
        )
        if room is not False:
            sorts[broken, room].append(places)
    for found in sorts.values():
        yield from rng.sample(found, min(_OF_A_SORT, len(found)))


def _ways(scene: Scene, places: Places) -> Iterator[Data]:
    """Yield moves to a placement: all at once, one after the other, and with all of them stopped first."""
    world = scene.world
    moved = [i for i, one in enumerate(world.instances) if one.home != places[i]]
    moves = [
        {
            "step": 1, "job": world.key(i)[0], "instance": world.key(i)[1], "gpus": world.instances[i].gpus,
            "from": f"n{world.instances[i].home}", "to": f"n{places[i]}",
            **{key: name for key, name in scene.called(i).items() if key == "name"},
        }
        for i in moved
    ]  # fmt: skip
    stops = [
        {**{key: value for key, value in move.items() if key not in {"step", "to"}}, "before_step": 1} for move in moves
    ]
    yield {"moves": moves, "stopped_first": []}
    if len(moves) > 1:
        yield {"moves": [{**move, "step": k} for k, move in enumerate(moves, start=1)], "stopped_first": []}
    yield {"moves": moves, "stopped_first": stops}


# Queues


def other_orders(case: Case, _: random.Random) -> Iterator[Data]:
    """Yield answers about a queue in which another job is the first that can start, and jobs before it are unknown."""
    if case.data["schema"] != "compass-abs/admit-queue/3":
        return
    jobs = [job for job in case.scene.pending if job.name in [text(one, "name") for one in items(case.data, "jobs")]]
    answers = [_alone(job, case) for job in jobs]
    starting = [n for n, answer in enumerate(answers) if answer["verdict"] in {"fits_now", "fits_after"}]
    for first in [*starting, None]:
        before = answers[:first]
        for doubt in (_unknown, _doubted):
            passed_over = [
                doubt(answer) if answer["verdict"] in {"fits_now", "fits_after"} else answer for answer in before
            ]
            yield {**case.data, "passed_over": passed_over, "first": None if first is None else answers[first]}
        yield {**case.data, "passed_over": before, "first": None if first is None else answers[first]}
        left_out = [answer for n, answer in enumerate(before) if n not in starting]
        yield {**case.data, "passed_over": left_out, "first": None if first is None else answers[first]}


def _alone(job: PendingJob, case: Case) -> Data:
    found = admit_queue(
        case.scene.snapshot,
        [job],
        moves=text(case.data, "mode"),
        protected=cast("list[str]", case.data["protected"]),
        max_per_job_at_once=cast("int | None", case.data["max_per_job_at_once"]),
        max_priority=cast("int | None", case.data["max_priority"]),
    )
    data = stored(found.to_dict())
    return item(data, "first") if data["first"] is not None else items(data, "passed_over")[0]


def _unknown(answer: Data) -> Data:
    nothing: Data = {"pool": None, "migrations": None, "moves": [], "stopped_first": [], "placements": []}
    return {
        **answer, **nothing, "verdict": "unknown", "lower_bound": 0, "status": "unknown",
        "reason": "time ran out", "proof": "", "blockers": [], "certificate": {"pools": []},
    }  # fmt: skip


def _doubted(answer: Data) -> Data:
    """Return a verdict that the job cannot start, proved by a solver."""
    return {**_unknown(answer), "verdict": "cannot", "status": "optimal", "proof": "HiGHS 1.7"}


# Frontiers

_EVIDENCE = (
    "", "_no_stored_plans", "_plans_left_out", "_first_plans", "_no_frontier_evidence", "_no_arguments",
)  # fmt: skip


def other_frontiers(case: Case, _: random.Random) -> Iterator[Data]:
    """Yield frontiers with other points, with all of their evidence or without some of it."""
    if "frontier" not in case.data:
        return
    points = items(case.data, "frontier")
    for name in _EVIDENCE:
        data = _followed(case.data, case.scene, name)
        for told in _points(points):
            yield {**data, "frontier": told}


def _points(points: list[Data]) -> Iterator[list[Data]]:
    for key in ("migrations", "lower_bound"):
        for far in (-1, 1, *FAR):
            yield [{**point, key: integer(point, key) + far * (k > 0)} for k, point in enumerate(points)]
            yield [*points[:-1], {**points[-1], key: integer(points[-1], key) + far}]
        for far in FAR:
            yield [{**point, key: far if k else point[key]} for k, point in enumerate(points)]
    for far in (1, *FAR):
        more = [
            {**point, **{key: integer(point, key) + far for key in ("migrations", "lower_bound")}} for point in points
        ]
        yield [*points[:1], *more[1:]]
    yield points[:-1]
    if len(points) > 2:
        ends = [points[0], points[-1]]
        yield ends
        yield [ends[0], {**ends[1], "migrations": integer(ends[1], "migrations") - 1}]
    yield [*points, {**points[-1], "partial_nodes": integer(points[-1], "partial_nodes") - 1}]
    yield [{**point, "partial_nodes": integer(point, "partial_nodes") - (k > 0)} for k, point in enumerate(points)]


DESIGNS = {
    "another question": other_questions,
    "another cluster": other_clusters,
    "moves against rules": against_the_rules,
    "another order": other_orders,
    "another frontier": other_frontiers,
}
