"""What of a plan is false: its moves are played the hard way, its bounds found by trying every placement."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import msgspec

from oracle.moves.move import Move, Stop
from tests.oracle.brute_moves import places_after
from tests.oracle.forger.judge_certificates import judge_certificate, judge_migrations, judge_problem
from tests.oracle.forger.judge_start import judge_start
from tests.oracle.forger.truth import Falsehood, only, pin, truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracle.brute_moves import Places, World
    from tests.oracle.forger.scenes import Data, Scene
    from tests.oracle.forger.truth import End, Truth


class ToldMove(msgspec.Struct, rename={"source": "from", "destination": "to"}):
    step: int
    job: str
    instance: int
    gpus: int
    source: str
    destination: str


class ToldStop(msgspec.Struct, rename={"node": "from"}):
    job: str
    instance: int
    gpus: int
    node: str
    before_step: int = 1


class _Pool(msgspec.Struct):
    pool: str
    inherent: dict[str, object]
    migrations: dict[str, object]


class _Evidence(msgspec.Struct):
    pools: list[_Pool]


class _Point(msgspec.Struct):
    partial_nodes: int
    migrations: int
    lower_bound: int


class _Plan(msgspec.Struct, kw_only=True):
    """A plan; what older ones lack was not asked for, or is not told."""

    status: str
    interrupted: bool = False
    mode: str
    max_partial_nodes: int | None
    max_migrations: int | None
    max_jobs_disturbed: int | None = None
    max_per_job_at_once: int | None = None
    max_per_budget: int | None = None
    max_priority: int | None = None
    protected: list[str]
    weights: dict[str, int] = {}
    pool: str | None = None
    partial_nodes_before: int
    partial_nodes_after: int
    partial_nodes_lower_bound: int
    empty_nodes_before: int
    empty_nodes_after: int
    migrations: int
    migrations_lower_bound: int
    jobs_disturbed: int
    jobs_disturbed_lower_bound: int
    disturbance: int | None = None
    disturbance_lower_bound: int | None = None
    gpus_copied: int | None = None
    moves: list[ToldMove]
    live: bool
    stopped_first: list[ToldStop] = []
    certificate: _Evidence
    frontier_mode: str | None = None
    frontier: list[_Point] | None = None


def played(pinned: World, moves: Sequence[ToldMove], stops: Sequence[ToldStop], at_once: int | None) -> Places | None:
    """Return where moves lead; None if they cannot be made.

    Steps in which nothing happens are left out, and a stop between two steps takes effect before the latter.
    """
    steps = sorted({move.step for move in moves})
    if any(step < 1 for step in steps) or any(stop.before_step < 1 for stop in stops):
        return None
    renumbered = sorted(
        Move(steps.index(one.step) + 1, one.job, one.instance, one.gpus, one.source, one.destination) for one in moves
    )
    before = [
        Stop(sum(step < one.before_step for step in steps) + 1, one.job, one.instance, one.gpus, one.node)
        for one in stops
    ]
    if any(stop.before_step > len(steps) for stop in before):
        return None
    try:
        return places_after(pinned, renumbered, before, at_once)
    except (AssertionError, KeyError):
        return None


def judge_names(scene: Scene, protected: Sequence[str]) -> Iterator[Falsehood]:
    """Yield whether something is protected that does not run."""
    known = {f"{job}:{number}" for job, number in map(scene.world.key, range(len(scene.world.instances)))}
    if not set(protected) <= known | set(scene.jobs):
        yield Falsehood("protected", "protected")


def judge_plan(data: Data, scene: Scene) -> Iterator[Falsehood]:
    """Yield what a plan says that is false of a scene."""
    told = msgspec.convert(data, _Plan)
    yield from judge_names(scene, told.protected)
    yield from judge_start(data, scene)
    if not set(told.weights) <= set(scene.jobs) or min(told.weights.values(), default=0) < 0:
        yield Falsehood("weights", "weight")
    if told.pool is not None and told.pool not in scene.pools:
        yield Falsehood("pool", "pool")
        return
    if told.mode not in {"checkpoint", "live"}:
        yield Falsehood("mode", "mode")
    if told.interrupted:
        yield Falsehood("interrupted", "ended early")
    pinned = pin(scene.world, told.protected, told.max_priority)
    places = played(pinned, told.moves, told.stopped_first, told.max_per_job_at_once)
    if places is None or (told.mode == "live" and told.stopped_first) or not _stays(scene, told):
        yield Falsehood("moves", "moves can be made")
        return
    yield from _figures(told, scene.world, places)
    part = truth(only(pinned, told.pool))
    yield from _limits(told)
    yield from _bounds(told, part, scene, places)
    yield from _frontier(told, part)
    yield from _certificates(told, part, scene)


def _stays(scene: Scene, told: _Plan) -> bool:
    """Whether only nodes of the pool that is planned take part."""
    pools = {f"n{n}": node.pool for n, node in enumerate(scene.world.nodes)}
    return told.pool is None or all(pools[move.destination] == told.pool for move in told.moves)


def _figures(told: _Plan, world: World, places: Places) -> Iterator[Falsehood]:
    jobs = {move.job for move in told.moves}
    copied = {(move.job, move.instance): move.gpus for move in told.moves}
    words = "numbers of moves"
    counted = {
        "partial_nodes_before": (_partial(world, world.start, told.pool), "moves can be made"),
        "partial_nodes_after": (_partial(world, places, told.pool), "moves can be made"),
        "empty_nodes_before": (_empty(world, world.start, told.pool), "moves can be made"),
        "empty_nodes_after": (_empty(world, places, told.pool), "moves can be made"),
        "migrations": (len(told.moves), words),
        "jobs_disturbed": (len(jobs), words),
        "disturbance": (sum(told.weights.get(job, 1) for job in jobs), words),
        "gpus_copied": (sum(copied.values()), words),
        "live": (not told.stopped_first, words),
    }
    for key, (value, named) in counted.items():
        if getattr(told, key) not in {None, value}:
            yield Falsehood(key, named)


def _partial(world: World, places: Places, pool: str | None) -> int:
    used = world.used(places)
    return sum(0 < used[n] < node.gpus for n, node in enumerate(world.nodes) if pool in {None, node.pool})


def _empty(world: World, places: Places, pool: str | None) -> int:
    used = world.used(places)
    return sum(used[n] == 0 < node.gpus for n, node in enumerate(world.nodes) if pool in {None, node.pool})


def _limits(told: _Plan) -> Iterator[Falsehood]:
    kept = (
        ("max_migrations", told.max_migrations, len(told.moves)),
        ("max_jobs_disturbed", told.max_jobs_disturbed, len({move.job for move in told.moves})),
        # A live plan comes as near as live moves do.
        ("max_partial_nodes", None if told.mode == "live" else told.max_partial_nodes, told.partial_nodes_after),
    )
    yield from (Falsehood(key, "limits") for key, limit, has in kept if limit is not None and has > limit)
    if told.max_per_job_at_once is not None and told.max_per_job_at_once < 1:
        yield Falsehood("max_per_job_at_once", "limits")
    if (told.max_per_budget or 0) < 0:
        yield Falsehood("max_per_budget", "limits")


def _bounds(told: _Plan, part: Truth, scene: Scene, places: Places) -> Iterator[Falsehood]:
    live, at_once = told.mode == "live", told.max_per_job_at_once
    asked = told.max_partial_nodes

    def within(end: End) -> bool:
        few_moves = told.max_migrations is None or end.moves <= told.max_migrations
        return few_moves and (told.max_jobs_disturbed is None or len(end.jobs) <= told.max_jobs_disturbed)

    fewest = part.least(lambda end: end.left, within, live=live, at_once=at_once)
    if fewest is None:
        return  # below 0 are limits that nothing keeps
    # Of a live plan the bound counts from what was asked for.
    known = max(fewest, asked or 0) if live else fewest
    if told.partial_nodes_lower_bound > known:
        yield Falsehood("partial_nodes_lower_bound", f"at least {told.partial_nodes_lower_bound} partial node")
    limit = max(told.partial_nodes_after, asked or 0)
    least = part.least(lambda end: end.moves, lambda end: end.left <= limit, live=live, at_once=at_once)
    # None if the plan says that it leaves fewer than can be left.
    if least is not None and told.migrations_lower_bound > least:
        yield Falsehood("migrations_lower_bound", f"at least {told.migrations_lower_bound} move")
    yield from _jobs(told, part, scene, places)
    best = part.least(lambda end: end.moves, lambda end: within(end) and end.left <= limit, live=live, at_once=at_once)
    enough = asked is not None and told.partial_nodes_after <= asked
    optimal = (enough or told.partial_nodes_after <= known) and len(told.moves) == best
    reached = (enough and not live) or told.partial_nodes_after == told.partial_nodes_lower_bound
    met = reached and told.migrations == told.migrations_lower_bound
    if told.status != ("optimal" if met else "unknown") or (met and not optimal):
        # What rests on a bound that is named is named with it.
        bounds = told.partial_nodes_lower_bound, told.migrations_lower_bound
        yield Falsehood("status", "at least {} partial node|at least {} move".format(*bounds))


def _jobs(told: _Plan, part: Truth, scene: Scene, places: Places) -> Iterator[Falsehood]:
    world = scene.world
    partial = tuple(_partial(world, places, pool) for pool in part.pools)
    moves = len(told.moves)

    def as_good(end: End) -> bool:
        return end.partial == partial and end.moves == moves

    def count(end: End) -> int:
        return len(end.jobs)

    def weight(end: End) -> int:
        return sum(told.weights.get(f"j{job}", 1) for job in end.jobs)

    live = told.mode == "live"
    for key, what, words in (
        ("jobs_disturbed_lower_bound", count, f"{told.jobs_disturbed_lower_bound} job"),
        ("disturbance_lower_bound", weight, f"weight {told.disturbance_lower_bound} at least"),
    ):
        least = part.least(what, as_good, live=live, at_once=told.max_per_job_at_once)
        bound = cast("int | None", getattr(told, key)) or 0
        attained = len({move.job for move in told.moves}) if key.startswith("jobs") else told.disturbance
        if (attained is not None and bound > attained) or (least is not None and bound > least):
            yield Falsehood(key, words)


def _frontier(told: _Plan, part: Truth) -> Iterator[Falsehood]:
    if told.frontier is None:
        return
    words = "frontier"
    if told.frontier_mode not in {None, "checkpoint"}:
        yield Falsehood("frontier_mode", words)
    if told.frontier_mode is None and told.mode == "live":
        # What moves it counts has to be said where the plan counts others.
        yield Falsehood("frontier_mode", words)
    fewest = min(end.left for end in part.ends)
    today = part.world.partial(part.world.start)
    limits = [point.partial_nodes for point in told.frontier]
    # Limits may be left out, but for the ends: what lies between two points is bounded by them.
    if limits[:1] + limits[-1:] != [today, fewest] or limits != sorted(set(limits), reverse=True):
        yield Falsehood("frontier[].partial_nodes", words)
        return
    for point in told.frontier:
        costs = {end.moves for end in part.ends if end.left <= point.partial_nodes}
        if point.migrations not in costs:
            yield Falsehood("frontier[].migrations", words)
        if point.lower_bound > min(costs):
            yield Falsehood("frontier[].lower_bound", words)


def _certificates(told: _Plan, part: Truth, scene: Scene) -> Iterator[Falsehood]:
    at = "certificate.pools[]."
    names = [one.pool for one in told.certificate.pools]
    if sorted(names) != part.pools:
        yield Falsehood(f"{at}pool", "certificate")
        return
    for one in told.certificate.pools:
        world = only(pin(scene.world, told.protected, told.max_priority), one.pool)
        for key, data in (("inherent", one.inherent), ("migrations", one.migrations)):
            if not judge_problem(data["problem"], world):
                yield Falsehood(f"{at}{key}.problem", "certificate")
        yield from (replace(lie, words=f"pool {one.pool}") for lie in judge_certificate(one.inherent, f"{at}inherent."))
        yield from (
            replace(lie, words=f"pool {one.pool}") for lie in judge_migrations(one.migrations, f"{at}migrations.")
        )
        held: Counter[tuple[int, ...]] = Counter()
        for n in range(len(world.nodes)):
            on = [item.gpus for item in world.instances if item.home == n and item.movable]
            held[tuple(sorted(on, reverse=True))] += 1
        told_held: Counter[tuple[int, ...]] = Counter()
        for group in cast("list[Data]", one.migrations["present"]):
            told_held[tuple(cast("list[int]", group["pattern"]))] += cast("int", group["nodes"])
        if held != told_held:
            yield Falsehood(f"{at}migrations.present", "certificate")
