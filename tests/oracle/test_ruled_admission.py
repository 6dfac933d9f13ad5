"""Waiting jobs with node sets, different nodes, CPUs and parts, in worlds with the same, against every placement."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from oracle.admission.answer import Verdict
from oracle.admission.blockers import LIFTED, BlockerKind
from oracle.admission.jobs import admission_of
from oracle.admission.question import Question
from oracle.admission.queues import admit_queue
from oracle.moves.move import MoveMode
from oracle.optimum.certificate import Status
from oracle.optimum.solver import Deadline
from oracle.verification import verify
from tests.oracle.asking_worlds import Rooms, areas, asked, best_start, name_of, random_asked, with_pending
from tests.oracle.brute_moves import (
    World,
    distances,
    placements,
    places_after,
    random_world,
    with_rules,
    without_budgets,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.admission.answer import Admission, Placement, QueueAdmission
    from oracle.admission.blockers import Blocker
    from oracle.moves.move import MoveOrder
    from tests.oracle.asking_worlds import Job


def ruled_world(rng: random.Random) -> World:
    return without_budgets(with_rules(rng, random_world(rng, most_nodes=5, most_instances=5)))


def assert_carried_out(world: World, order: MoveOrder, placed: Iterable[tuple[Job, Sequence[Placement]]]) -> None:
    """Play the moves, and put each instance where it is said to go."""
    rooms = Rooms(world, places_after(world, order.moves, order.stops))
    held: defaultdict[int, list[Job]] = defaultdict(list)
    for job, placements_ in placed:
        numbers = [one.instance for one in placements_]
        assert len(set(numbers)) == len(numbers)
        assert not job.together or sorted(numbers) == list(range(len(job.instances)))
        nodes = [int(one.node[1:]) for one in placements_]
        pools, choices = {world.nodes[n].pool for n in nodes}, job.choices or [range(len(world.nodes))]
        possible = [one for one, choice in zip(job.chosen, choices, strict=True) if set(nodes) <= set(choice)]
        assert any(pools <= area for one in possible for area in areas(world, one))
        for number, n in zip(numbers, nodes, strict=True):
            assert rooms.may(job, job.instances[number], n, held[n])
            rooms.put(job.instances[number], n)
            held[n].append(job)


def check(seed: int, count: int, mode: MoveMode = MoveMode.CHECKPOINT) -> int:
    """Check verdicts and fewest moves; return how often constraints made them what they are not without."""
    rng = random.Random(seed)
    cost = 0
    for _ in range(count):
        world = ruled_world(rng)
        job = random_asked(rng, world)
        snapshot = with_pending(world.snapshot(), [job])
        options = placements(world) if mode is MoveMode.CHECKPOINT else distances(world).items()
        most, moves = best_start(world, [job], options)
        most *= len(job.instances) if job.together else 1
        found = admission_of(snapshot, asked(job, snapshot), Question.of(mode, ()), Deadline())
        case = world, job
        verdict = Verdict.CANNOT if not most else Verdict.FITS_AFTER if moves else Verdict.FITS_NOW
        assert (found.verdict, len(found.placements)) == (verdict, most), case
        assert found.status is Status.OPTIMAL, case
        assert all(one.holds is not False for one in verify(stored(found), snapshot)), case
        if most:
            assert (found.migrations, found.most) == (moves, most), case
            assert_carried_out(world, found.order, [(job, found.placements)])
        else:
            assert found.proof, case
            assert all(helps(blocker, world, job) for blocker in found.blockers if blocker.kind in LIFTED), case
        plain = replace(
            job,
            parts=tuple(replace(p, allowed=None, cpus=0) for p in job.parts),
            distinct=False,
            more_of=None,
            choices=(),
        )
        cost += best_start(world, [plain], placements(world)) != (most, moves)
    return cost


def helps(blocker: Blocker, world: World, job: Job) -> bool:
    """Whether something of a job can start without what is said to stand in its way, if that alone is enough."""
    n, nodes = int((blocker.node or "n0")[1:]), list(world.nodes)
    match blocker.kind:
        case BlockerKind.CORDON:
            nodes[n] = replace(nodes[n], schedulable=True)
        case BlockerKind.RESOURCE:
            nodes[n] = replace(nodes[n], cpus=None)
        case BlockerKind.DISTINCT:
            job = replace(job, distinct=False)
        case BlockerKind.OUTSIDE:
            parts = (replace(part, allowed=None if part.allowed is None else part.allowed | {n}) for part in job.parts)
            choices = (one | {n} if name_of(one) in blocker.sets else one for one in job.choices)
            job = replace(job, parts=tuple(parts), choices=tuple(choices))
        case _:
            key = blocker.job, blocker.instance
            freed = (replace(one, movable=one.movable or world.key(i) == key) for i, one in enumerate(world.instances))
            world = replace(world, instances=tuple(freed))
    world = replace(world, nodes=tuple(nodes))
    if blocker.kind is BlockerKind.OUTSIDE and job.pool is None:
        pool = blocker.pool.partition(" (all in ")[0]
        job = replace(job, pool=pool) if " and " not in pool else job
    return not blocker.alone or best_start(world, [job], placements(world))[0] > 0


def stored(found: Admission | QueueAdmission) -> object:
    return json.loads(json.dumps(found.to_dict()))


def check_queues(seed: int, count: int, mode: MoveMode = MoveMode.CHECKPOINT) -> None:
    """Check what can start together of queues, and the fewest moves for so much."""
    rng = random.Random(seed)
    for _ in range(count):
        world = ruled_world(rng)
        queue = [random_asked(rng, world) for _ in range(rng.randint(1, 3))]
        queue = [replace(job, more_of=None) if j else job for j, job in enumerate(queue)]
        snapshot = with_pending(world.snapshot(), queue)
        options = placements(world) if mode is MoveMode.CHECKPOINT else distances(world).items()
        most, moves = best_start(world, queue, options)
        found = admit_queue(snapshot, moves=mode)
        together, case = found.together, (world, queue)
        if mode is MoveMode.CHECKPOINT or together.status is Status.OPTIMAL:
            assert (together.starting, len(together.order.moves)) == (most, moves), case
            assert together.status is Status.OPTIMAL, case
        assert together.starting <= most <= together.most, case
        assert (found.first is None) == (most == 0), case
        by_name = {waiting.name: job for waiting, job in zip(snapshot.pending, queue, strict=True)}
        placed = zip(together.jobs, together.placements, strict=True)
        assert_carried_out(world, together.order, [(by_name[name], those) for name, those in placed])
        assert all(one.holds is not False for one in verify(stored(found), snapshot)), case


def test_verdicts_and_fewest_moves() -> None:
    assert check(1, 150) > 5


def test_live_moves() -> None:
    check(2, 60, MoveMode.LIVE)


def test_queues() -> None:
    check_queues(3, 60)
    check_queues(4, 20, MoveMode.LIVE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_verdicts_and_fewest_moves_of_many(seed: int) -> None:
    check(100 + seed, 500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_queues_of_many(seed: int) -> None:
    check_queues(100 + seed, 200)
