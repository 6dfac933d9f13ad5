"""Stored answers about constrained jobs with one thing changed: what `verify` lets pass is true all the same."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, cast

import msgspec
import pytest

from oracle.admission.jobs import admission_of
from oracle.admission.question import AskedJob, Question
from oracle.moves.move import MoveMode
from oracle.moves.stored import read_moves
from oracle.optimum.solver import Deadline
from oracle.verification import ResultError, verify
from tests.oracle.asking_worlds import Job, Part, Rooms, areas, asked, best_start, random_asked, with_pending
from tests.oracle.brute_moves import distances, placements
from tests.oracle.mutations import mutations
from tests.oracle.test_ruled_admission import ruled_world, stored
from tests.oracle.test_verification import played

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.model import Snapshot
    from oracle.verification import Check
    from tests.oracle.brute_moves import Places, World

Data = dict[str, object]

# More than the GPUs of any world here.
_MANY = 51


class _Placement(msgspec.Struct):
    instance: int
    node: str


class _Told(msgspec.Struct):
    verdict: str
    pool: str | None
    migrations: int | None
    lower_bound: int
    starting: int
    most: int
    status: str
    placements: list[_Placement]
    mode: str
    job: AskedJob


_MOST_INSTANCES = 20


def _job(told: AskedJob) -> Job:
    """Return the job of an answer, read anew; of very many instances no more than there are GPUs, and one."""
    parts = tuple(
        Part(min(one.instances, _MANY), one.gpus_per_instance, _allowed(one.within), one.resources.get("cpu", 0))
        for one in told.parts
    )
    more_of = None if told.more_of is None else int(told.more_of[1:])
    choices = tuple(one for name in told.within_one_of if (one := _allowed((name,))) is not None)
    return Job(parts, told.pool, told.distinct_nodes, told.together, more_of, choices)


def _allowed(within: tuple[str, ...]) -> frozenset[int] | None:
    sets = [frozenset(map(int, filter(None, name.removeprefix("nodes ").split(",")))) for name in within]
    return sets[0].intersection(*sets[1:]) if sets else None


def _falsehoods(data: Data, world: World) -> Iterator[tuple[str, str]]:
    """Yield what is false, each with a word of the claim that may name it as not rechecked."""
    told = msgspec.convert(data, _Told)
    job = _job(told.job)
    live = told.mode == "live"
    options = list(distances(world).items() if live else placements(world))
    most, moves = best_start(world, [job], options)
    size = len(job.instances)
    most *= size if job.together else 1
    starts = told.verdict in {"fits_now", "fits_after"}
    if told.verdict == "cannot" and most:
        yield "it can start", "cannot start"
    if told.verdict == "unknown":
        return
    if told.most < most:
        yield "more can start", "no more than|cannot start"
    if told.status == "optimal" and starts and (told.starting, told.migrations) != (most, moves):
        yield "the best is another", "at least|no more than"
    if not starts:
        return
    listed, stops = read_moves(data)
    places = played(world, listed, stops, None)
    assert len(listed) == told.migrations
    assert (told.verdict == "fits_now") is (not listed)
    rooms = Rooms(world, places)
    nodes = [(one.instance, int(one.node[1:])) for one in told.placements]
    if any({world.nodes[n].pool for _, n in nodes} <= area for one in chosen(job, world, nodes) for area in one):
        held: list[tuple[int, Job]] = []
        for number, n in nodes:
            assert rooms.may(job, job.instances[number], n, [one for at, one in held if at == n])
            rooms.put(job.instances[number], n)
            held.append((n, job))
    else:
        yield "it is in other pools, or in none of its choices", "-"
    assert len({number for number, _ in nodes}) == len(nodes) == told.starting
    assert told.starting == size or not job.together
    least = min((cost for at, cost in options if _fits(world, at, job, told.starting)), default=None)
    if least is not None and told.lower_bound > least:
        yield "fewer moves do", "at least"


def chosen(job: Job, world: World, nodes: list[tuple[int, int]]) -> Iterator[list[frozenset[str]]]:
    """Yield the pools of each choice of a job that has all these nodes."""
    choices = job.choices or [frozenset(range(len(world.nodes)))]
    for one, choice in zip(job.chosen, choices, strict=True):
        if choice.issuperset(n for _, n in nodes):
            yield areas(world, one)


def _fits(world: World, places: Places, job: Job, starting: int) -> bool:
    found = best_start(world, [job], [(places, 0)])[0]
    return found * (len(job.instances) if job.together else 1) >= starting


def _checks(data: Data, snapshot: Snapshot) -> tuple[Check, ...] | None:
    try:
        checks = verify(data, snapshot)
    except ResultError:
        return None
    return None if any(check.holds is False for check in checks) else checks


def check(seed: int, count: int) -> int:
    """Check changed documents about some worlds; return how many passed."""
    rng = random.Random(seed)
    passed = 0
    for _ in range(count):
        world = ruled_world(rng)
        job = random_asked(rng, world)
        snapshot = with_pending(world.snapshot(), [job])
        question = Question.of(rng.choice(list(MoveMode)), ())
        found = admission_of(snapshot, asked(job, snapshot), question, Deadline())
        data = cast("Data", stored(found))
        assert _checks(data, snapshot) is not None, (world, job)
        for way, changed in mutations(data):
            checks = _checks(changed, snapshot)
            if checks is None:
                continue
            passed += 1
            # The judge counts instances one by one.
            if sum(part.instances for part in msgspec.convert(changed["job"], AskedJob).parts) > _MOST_INSTANCES:
                continue
            open_ = [one.claim for one in checks if one.holds is None]
            if changed["protected"] or changed.get("max_per_job_at_once") is not None:
                continue
            if changed.get("max_per_budget") is not None or changed.get("max_priority") is not None:
                continue
            for false, words in _falsehoods(changed, world):
                named = any(word in claim for word in words.split("|") for claim in open_)
                assert named, (way, false, world, changed)
    return passed


def test_what_passes_is_true() -> None:
    assert check(1, 4) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_what_passes_is_true_of_many(seed: int) -> None:
    check(100 + seed, 60)
