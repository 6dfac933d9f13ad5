"""What of an answer about waiting jobs is false: verdicts, moves, placements, bounds, words, and their order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import msgspec

from tests.oracle.forger.judge_blockers import Blocker, stands
from tests.oracle.forger.judge_plans import ToldMove, ToldStop, judge_names, played
from tests.oracle.forger.judge_start import judge_start
from tests.oracle.forger.trees import item
from tests.oracle.forger.truth import Falsehood, pin, truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracle.brute_moves import World
    from tests.oracle.forger.scenes import Data, Scene
    from tests.oracle.forger.truth import Truth

_STARTS = {"fits_now", "fits_after"}


class _Job(msgspec.Struct):
    instances: int
    gpus_per_instance: int
    pool: str | None
    name: str = ""


class _Question(msgspec.Struct):
    mode: str
    protected: list[str]
    max_per_job_at_once: int | None = None
    max_per_budget: int | None = None
    max_priority: int | None = None
    interrupted: bool = False

    @property
    def live(self) -> bool:
        return self.mode == "live"

    @property
    def at_once(self) -> int | None:
        """The limit; moves into free space can be made one at a time, so they keep to any."""
        return None if self.live else self.max_per_job_at_once


class _Placement(msgspec.Struct):
    instance: int
    node: str
    job: str = ""


class _Weights(msgspec.Struct):
    demands: list[int]


class _RoomEvidence(msgspec.Struct):
    pool: str
    argument: _Weights | None = None


class _Certificate(msgspec.Struct):
    pools: list[_RoomEvidence] = []


class _Verdict(msgspec.Struct, kw_only=True):
    verdict: str
    pool: str | None
    migrations: int | None
    lower_bound: int
    status: str
    moves: list[ToldMove]
    stopped_first: list[ToldStop]
    placements: list[_Placement]
    reason: str
    proof: str
    blockers: list[Blocker]
    certificate: _Certificate = msgspec.field(default_factory=_Certificate)
    name: str = ""


class _Admission(msgspec.Struct):
    job: _Job


class _Together(msgspec.Struct):
    jobs: list[str]
    migrations: int
    moves: list[ToldMove]
    stopped_first: list[ToldStop]
    placements: list[_Placement]
    most: int
    moves_lower_bound: int
    status: str


class _Queue(msgspec.Struct):
    passed_over: list[dict[str, object]]
    first: dict[str, object] | None
    together: _Together
    jobs: list[_Job]
    pool: str | None = None


def judge_admission(data: Data, scene: Scene, original: Data) -> Iterator[Falsehood]:
    """Yield what an answer about one job says that is false of a scene.

    Parameters
    ----------
    data, scene
        The answer, and what it is about.
    original
        What the library said: where a proof in words comes from, only that shows.
    """
    question = msgspec.convert(data, _Question)
    yield from _judge_question(question, scene)
    yield from judge_start(data, scene)
    job = msgspec.convert(data, _Admission).job
    yield from _judge_verdict(data, job, question, scene, [original])


def _judge_question(question: _Question, scene: Scene) -> Iterator[Falsehood]:
    yield from judge_names(scene, question.protected)
    if question.mode not in {"checkpoint", "live"}:
        yield Falsehood("mode", "mode")
    if question.interrupted:
        yield Falsehood("interrupted", "ended early")
    if question.max_per_job_at_once is not None and question.max_per_job_at_once < 1:
        yield Falsehood("max_per_job_at_once", "limit")
    if (question.max_per_budget or 0) < 0:
        yield Falsehood("max_per_budget", "limit")


def _judge_verdict(
    data: Data, job: _Job, question: _Question, scene: Scene, originals: Sequence[Data]
) -> Iterator[Falsehood]:
    told = msgspec.convert(data, _Verdict)
    if job.instances < 1 or job.gpus_per_instance < 1:
        yield Falsehood("job", "job")
        return
    known = truth(pin(scene.world, question.protected, question.max_priority))
    least = known.moves_to_room(
        job.instances, job.gpus_per_instance, job.pool, live=question.live, at_once=question.at_once
    )
    yield from _judge_bounds(told, least)
    yield from _judge_way(told, job, question, scene) if told.verdict in _STARTS else _judge_nothing(told)
    yield from _judge_words(told, job, known, originals)
    for blocker in told.blockers:
        if not stands(blocker, job.instances, job.gpus_per_instance, job.pool, known):
            words = "cordons and immovable" if blocker.kind in {"cordon", "immovable"} else "shortages"
            yield Falsehood("blockers[]", words)


def _judge_bounds(told: _Verdict, least: int | None) -> Iterator[Falsehood]:
    """Yield what is false of the verdict and of its bound; `least` is how many moves it takes, None if none do."""
    false = {"fits_now": least != 0, "fits_after": not least, "cannot": least is not None, "unknown": False}
    if false.get(told.verdict, True):
        yield Falsehood("verdict", "cannot start" if told.verdict == "cannot" else "have room")
    if least is not None and told.lower_bound > least:
        yield Falsehood("lower_bound", f"at least {told.lower_bound} move")
    met = told.verdict == "cannot" or (told.verdict in _STARTS and told.migrations == told.lower_bound)
    fewest = told.verdict == "cannot" or len(told.moves) == least
    if told.status != ("optimal" if met else "unknown") or (met and not fewest):
        # What rests on a bound that is named is named with it.
        yield Falsehood("status", f"at least {told.lower_bound} move|cannot start")


def _judge_nothing(told: _Verdict) -> Iterator[Falsehood]:
    """Yield what is to be done all the same although the job does not start."""
    for key in ("pool", "migrations"):
        if getattr(told, key) is not None:
            yield Falsehood(key, "nothing is to be done")
    for key in ("moves", "stopped_first", "placements"):
        if getattr(told, key):
            yield Falsehood(key, "nothing is to be done")


def _judge_way(told: _Verdict, job: _Job, question: _Question, scene: Scene) -> Iterator[Falsehood]:
    words = "have room"
    if told.migrations != len(told.moves):
        yield Falsehood("migrations", words)
    pinned = pin(scene.world, question.protected, question.max_priority)
    places = played(pinned, told.moves, told.stopped_first, question.max_per_job_at_once)
    if places is None or (question.live and told.stopped_first):
        yield Falsehood("moves", words)
        return
    if told.pool is None or job.pool not in {None, told.pool}:
        yield Falsehood("pool", words)
        return
    numbers = sorted(one.instance for one in told.placements)
    if len(numbers) != job.instances or numbers != list(range(len(numbers))):
        yield Falsehood("placements", words)
        return
    left = _free(pinned, pinned.used(places), told.pool)
    for one in told.placements:
        left[one.node] = left.get(one.node, 0) - job.gpus_per_instance
    if min(left.values(), default=0) < 0:
        yield Falsehood("placements", words)


def _free(world: World, used: Sequence[int], pool: str | None) -> dict[str, int]:
    return {
        f"n{n}": node.gpus - used[n]
        for n, node in enumerate(world.nodes)
        if world.takes[n] and pool in {None, node.pool}
    }


# Words

_NEEDS = re.compile(r"needs (\d+) GPUs, and pool (\w+) has (\d+) free")
_MOST = re.compile(
    r"at most (\d+) of (\d+) instances of (\d+) GPUs fit on the nodes of pool (\w+) that take new ones, "
    r"however running instances are moved"
)


def _judge_words(told: _Verdict, job: _Job, known: Truth, originals: Sequence[Data]) -> Iterator[Falsehood]:
    alike = [one for one in originals if (one["verdict"], one.get("name", "")) == (told.verdict, told.name)]
    if told.proof and told.proof not in [one["proof"] for one in alike] and not _is_proof(told, job, known):
        yield Falsehood("proof", "proof")
    if told.verdict in _STARTS:
        true = told.reason == _reason(told, job, known)
    else:
        true = told.reason in [one["reason"] for one in alike] or (
            told.verdict == "cannot" and _is_reason(told.reason, job, known)
        )
    if not true:
        yield Falsehood("reason", "reason")


def _is_proof(told: _Verdict, job: _Job, known: Truth) -> bool:
    """Whether it is the total of free GPUs, or the weights that the answer brings, pool by pool."""
    pools = [pool for pool in known.pools if job.pool in {None, pool}]
    weights = {one.pool: one.argument for one in told.certificate.pools}
    parts = told.proof.split("; ")
    return (
        told.verdict == "cannot"
        and len(parts) == len(pools)
        and all(
            sum(known.world.free(known.world.start, pool)) < job.instances * job.gpus_per_instance
            if part == "total of free GPUs"
            else _numbers(part) == _weights(weights.get(pool), _demands(known.world, pool, job))
            for part, pool in zip(parts, pools, strict=True)
        )
    )


def _numbers(text: str) -> list[int] | None:
    return [int(number) for number in re.findall(r"-?\d+", text)] if text.startswith("weights ") else None


def _demands(world: World, pool: str, job: _Job) -> list[int]:
    """Return the demands that the weights of a pool are of: of what may move on nodes that take instances, and new."""
    there = {
        one.gpus
        for one in world.instances
        if one.movable and world.takes[one.home] and world.nodes[one.home].pool == pool
    }
    return sorted({*there, job.gpus_per_instance}, reverse=True)


def _weights(found: _Weights | None, demands: list[int]) -> list[int]:
    values = [] if found is None else found.demands
    return [number for demand, value in zip(demands, values, strict=False) if value for number in (value, demand)]


def _reason(told: _Verdict, job: _Job, known: Truth) -> str:
    free = known.world.free(known.world.start, told.pool)
    fit = min(job.instances, sum(room // job.gpus_per_instance for room in free))
    said = f"{fit} of {job.instances} instances fit in pool {told.pool} as it is"
    count = len(told.moves)
    if count:
        said += f", {'it does' if job.instances == 1 else 'all do'} after {count} move{'' if count == 1 else 's'}"
    return said


def _is_reason(reason: str, job: _Job, known: Truth) -> bool:
    if job.pool is not None and job.pool not in known.pools:
        return reason == f"no node is in a pool named {job.pool!r}; pools: {', '.join(map(repr, known.pools))}"
    return all(_is_true(part, job, known) for part in reason.split("; "))


def _is_true(reason: str, job: _Job, known: Truth) -> bool:
    if found := _NEEDS.fullmatch(reason):
        needs, pool, free = found.groups()
        return (
            int(needs)
            == job.instances * job.gpus_per_instance
            > int(free)
            == sum(known.world.free(known.world.start, pool))
        )
    if found := _MOST.fullmatch(reason):
        most, instances, gpus, pool = found.groups()
        possible = known.moves_to_room(int(most) + 1, job.gpus_per_instance, pool, live=False)
        asked = (int(instances), int(gpus)) == (job.instances, job.gpus_per_instance)
        return asked and int(most) < job.instances and possible is None
    return False


# Queues


def judge_queue(data: Data, scene: Scene, original: Data) -> Iterator[Falsehood]:
    """Yield what an answer about a queue says that is false of a scene; `original` is what the library said."""
    told, question = msgspec.convert(data, _Queue), msgspec.convert(data, _Question)
    yield from _judge_question(question, scene)
    if told.pool is not None and told.pool not in scene.pools:
        yield Falsehood("pool", "pool")
    waiting = [job for job in scene.pending if told.pool is None or job.pool in {None, told.pool}]
    if [(one.name, one.instances, one.gpus_per_instance, one.pool) for one in told.jobs] != [
        (one.name, one.instances, one.gpus_per_instance, one.pool) for one in waiting
    ]:
        yield Falsehood("jobs", "jobs are those that wait")
        return
    originals = [
        *cast("list[Data]", original["passed_over"]),
        *([cast("Data", original["first"])] * bool(original["first"])),
    ]
    yield from _judge_order(told, question, scene)
    answers = [("passed_over[].", one) for one in told.passed_over]
    answers += [("first.", told.first)] if told.first is not None else []
    jobs = {job.name: job for job in told.jobs}
    for at, answer in answers:
        name = str(answer["name"])
        if name in jobs:
            for lie in (*judge_start(answer, scene), *_judge_verdict(answer, jobs[name], question, scene, originals)):
                yield Falsehood(f"{at}{lie.key}", lie.words, f"{name}: ")
    yield from judge_start(item(data, "together"), scene)
    yield from _judge_together(told.together, told, question, scene)


def _judge_order(told: _Queue, question: _Question, scene: Scene) -> Iterator[Falsehood]:
    words = "queue order|no job before"
    names = [str(one["name"]) for one in told.passed_over]
    names += [] if told.first is None else [str(told.first["name"])]
    queue = [job.name for job in told.jobs]
    if names != queue[: len(names)] or (told.first is None and len(names) < len(queue)):
        yield Falsehood("passed_over", words)
        return
    if told.first is not None and told.first["verdict"] not in _STARTS:
        yield Falsehood("first", words)
    known = truth(pin(scene.world, question.protected, question.max_priority))
    for job, answer in zip(told.jobs, told.passed_over, strict=False):
        least = known.moves_to_room(
            job.instances, job.gpus_per_instance, job.pool, live=question.live, at_once=question.at_once
        )
        if answer["verdict"] in _STARTS:
            yield Falsehood("passed_over", words)
        if least is not None and (told.first is not None or least == 0):
            # One that can start stands before the first that can.
            yield Falsehood("first", words)


def _judge_together(told: _Together, queue: _Queue, question: _Question, scene: Scene) -> Iterator[Falsehood]:
    at = "together."
    words = "have room together"
    jobs = {job.name: job for job in scene.pending if job.name in {one.name for one in queue.jobs}}
    if told.jobs != [name for name in jobs if name in told.jobs]:
        yield Falsehood(f"{at}jobs", words)
        return
    if told.migrations != len(told.moves):
        yield Falsehood(f"{at}migrations", words)
    pinned = pin(scene.world, question.protected, question.max_priority)
    places = played(pinned, told.moves, told.stopped_first, question.max_per_job_at_once)
    if places is None or (question.live and told.stopped_first):
        yield Falsehood(f"{at}moves", words)
        return
    wanted = sorted((name, i) for name in told.jobs for i in range(jobs[name].instances))
    if sorted((one.job, one.instance) for one in told.placements) != wanted or not _have_room(
        told, scene, pinned, places
    ):
        yield Falsehood(f"{at}placements", words)
        return
    live, at_once = question.live, question.at_once
    most, least = truth(pinned).most_together(list(jobs.values()), live=live, at_once=at_once)
    if told.most < most:
        yield Falsehood(f"{at}most", f"no more than {told.most} job")
    if told.moves_lower_bound > least[len(told.jobs)]:
        yield Falsehood(f"{at}moves_lower_bound", f"start together after {told.moves_lower_bound} move")
    met = (len(told.jobs), told.migrations) == (told.most, told.moves_lower_bound)
    optimal = (len(told.jobs), len(told.moves)) == (most, least[len(told.jobs)])
    if told.status != ("optimal" if met else "unknown") or (met and not optimal):
        # What rests on a bound that is named is named with it.
        bounds = told.most, told.moves_lower_bound
        yield Falsehood(f"{at}status", "no more than {} jobs|{} moves at least".format(*bounds))


def _have_room(told: _Together, scene: Scene, world: World, places: tuple[int, ...]) -> bool:
    jobs = {job.name: job for job in scene.pending}
    left = _free(world, world.used(places), None)
    pools: dict[str, set[str]] = {}
    for one in told.placements:
        if one.node not in left:
            return False
        left[one.node] -= jobs[one.job].gpus_per_instance
        pools.setdefault(one.job, set()).add(world.nodes[int(one.node.removeprefix("n"))].pool)
    together = all(len(found) == 1 and jobs[name].pool in {None, *found} for name, found in pools.items())
    return together and min(left.values(), default=0) >= 0
