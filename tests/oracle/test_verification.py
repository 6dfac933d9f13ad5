"""Stored results: what the oracle says is re-checked in full, and what passes after a change is true all the same.

The judge is `tests.oracle.facts`, which tries every placement.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

import oracle.optimum.solver
from oracle.admission.jobs import admission_of
from oracle.admission.question import AskedJob, Question
from oracle.admission.queues import admit_queue
from oracle.measurement.domains import measure_domains
from oracle.measurement.measure import measure
from oracle.moves.move import MoveMode
from oracle.moves.stored import read_moves
from oracle.optimum.exact import InfeasibleError
from oracle.optimum.solver import Deadline
from oracle.planning.planner import plan
from oracle.snapshots.loader import load_snapshot
from oracle.snapshots.model import PendingJob
from oracle.verification import ResultError, verify
from tests.oracle.brute_moves import places_after, random_job, random_world
from tests.oracle.facts import Facts, pinned
from tests.oracle.mutations import mutations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.moves.move import Move, Stop
    from oracle.snapshots.model import Snapshot
    from oracle.verification import Check
    from tests.oracle.brute_moves import Places, World

    Data = dict[str, object]

# What is not always recomputed, even of the smallest clusters.
OPEN = (
    "every plan as good disturbs", "the reason in words", "the proof in words", "no more than", "so many start",
    "the search was",
)  # fmt: skip


def _stored(data: object) -> Data:
    return cast("Data", json.loads(json.dumps(data)))


def _plan(world: World, rng: random.Random, kind: str) -> Data:
    snapshot = world.snapshot()
    today = world.partial(world.start)
    limits: dict[str, int | None] = {"partial": None, "moves": None}
    protected: list[str] = []
    if kind in {"max-migrations", "live-max-migrations"}:
        limits["moves"] = rng.randint(0, 3)
    if kind in {"max-partial", "live-max-partial"}:
        limits["partial"] = rng.randint(Facts(world).partial_after(None, live=False), today)
    if kind == "protected":
        protected = [rng.choice(snapshot.jobs).name] if snapshot.jobs else []
    found = plan(
        snapshot,
        max_partial_nodes=limits["partial"],
        max_migrations=limits["moves"],
        moves=MoveMode.LIVE if kind.startswith("live") else MoveMode.CHECKPOINT,
        protected=protected,
    )
    return _stored(found.to_dict(found.frontier() if kind == "frontier" else None))


def _admission(world: World, rng: random.Random, kind: str) -> Data:
    instances, gpus = random_job(rng, world)
    pool = rng.choice([None, None, "a", "b"])
    # As of a job that waits: its pool may have no node, which `admit` takes for a mistake.
    question = Question.of(kind.removeprefix("admit-"), (), None)
    return _stored(admission_of(world.snapshot(), AskedJob(instances, gpus, pool), question, Deadline()).to_dict())


def _waiting(world: World) -> tuple[PendingJob, ...]:
    """Return three waiting jobs, always the same ones for a world."""
    rng = random.Random(repr(world))
    jobs = [(*random_job(rng, world), rng.choice([None, "a", "b"])) for _ in range(3)]
    return tuple(
        PendingJob(name=f"w{i}", instances=instances, gpus_per_instance=gpus, pool=pool)
        for i, (instances, gpus, pool) in enumerate(jobs)
    )


def snapshot_of(world: World) -> Snapshot:
    """Return a world with the jobs that wait in it."""
    return replace(world.snapshot(), pending=_waiting(world))


def _queue(world: World, _: random.Random, kind: str) -> Data:
    return _stored(admit_queue(snapshot_of(world), moves=kind.removeprefix("queue-")).to_dict())


def _measurement(world: World, _: random.Random, __: str) -> Data:
    return _stored(measure(world.snapshot()).to_dict())


PLANS = (
    "checkpoint", "live", "frontier", "max-migrations", "live-max-migrations", "max-partial", "live-max-partial",
    "protected",
)  # fmt: skip
MAKERS: dict[str, Callable[[World, random.Random, str], Data]] = {
    **dict.fromkeys(PLANS, _plan),
    "admit-checkpoint": _admission,
    "admit-live": _admission,
    "queue-checkpoint": _queue,
    "queue-live": _queue,
    "measure": _measurement,
}


def documents(kind: str, count: int, seed: int) -> Iterator[tuple[World, Data]]:
    """Yield small worlds, each with what the oracle says of it, stored."""
    rng = random.Random(f"{kind} {seed}")
    while count:
        world = random_world(rng)
        try:
            data = MAKERS[kind](world, rng, kind)
        except InfeasibleError:
            continue
        count -= 1
        yield world, data


def _recheck(data: Data, world: World) -> tuple[Check, ...]:
    """Return the checks; no solver may be called for them."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is called")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle.optimum.solver, "create_solver", refuse)
        return verify(data, snapshot_of(world))


def _passes(data: Data, world: World) -> tuple[Check, ...] | None:
    """Return the checks of what is not refused, None for what is."""
    try:
        checks = _recheck(data, world)
    except ResultError as error:
        message = str(error)
    else:
        return None if any(check.holds is False for check in checks) else checks
    assert len(message.splitlines()) == 1
    return None


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_said_of_small_clusters_is_rechecked(kind: str) -> None:
    for world, data in documents(kind, 15, 1):
        checks = _recheck(data, world)
        assert [check for check in checks if check.holds is False] == []
        assert [check for check in checks if check.holds is None and not _is_open(check)] == []


def test_no_solver_is_even_loaded(tmp_path: Path) -> None:
    """Whoever checks an answer needs neither OR-Tools nor what draws and prints, whatever the answer is."""
    path = Path("examples/snapshots/native.json")
    snapshot = load_snapshot(path)
    proposed = plan(snapshot)
    answers = [
        proposed.to_dict(proposed.frontier()),
        {**measure(snapshot).to_dict(), "domains": measure_domains(snapshot).to_dict()},
        admission_of(snapshot, AskedJob(2, 8, None), Question.of("live", (), None), Deadline()).to_dict(),
        admit_queue(snapshot).to_dict(),
    ]
    stored = tmp_path / "answers.json"
    stored.write_text(json.dumps(answers))
    code = f"""
import json, sys
from oracle import load_snapshot, verify
for answer in json.load(open({str(stored)!r})):
    assert all(check.holds is not False for check in verify(answer, load_snapshot({str(path.resolve())!r})))
print(sorted({{"ortools", "networkx", "rich", "matplotlib"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def _is_open(check: Check) -> bool:
    # Of a queue, the name of the job comes first.
    return check.claim.rpartition(": ")[2].startswith(OPEN)


# Truth, by schema


def _judge_claims(data: Data, checks: tuple[Check, ...], world: World) -> None:
    """Assert every claim that was found to hold; those that were not rechecked are not believed by anyone."""
    judge = {
        "compass-abs/plan/2": _judge_plan,
        "compass-abs/admit/3": _judge_admission,
        "compass-abs/admit-queue/3": _judge_queue,
    }
    judge.get(str(data["schema"]), _judge_measurement)(data, world, _Held(checks))


class _Held:
    """Which claims were found to hold, by some words of theirs."""

    def __init__(self, checks: tuple[Check, ...]) -> None:
        self._open = [check.claim for check in checks if check.holds is None]

    def __contains__(self, words: str) -> bool:
        return not any(words in claim for claim in self._open)


def _number(data: Data, key: str) -> int:
    return cast("int", data[key])


def _judge_plan(data: Data, whole: World, held: _Held) -> None:
    world = pinned(whole, cast("list[str]", data["protected"]))
    facts = Facts(world)
    live = data["mode"] == "live"
    moves, stops = read_moves(data)
    limit = cast("int | None", data.get("max_per_job_at_once"))
    places = played(world, moves, stops, limit)
    after = world.partial(places)
    told = [_number(data, f"partial_nodes_{when}") for when in ("before", "after")]
    assert told == [world.partial(world.start), after]
    assert [_number(data, f"empty_nodes_{when}") for when in ("before", "after")] == [
        _empty(world, world.start),
        _empty(world, places),
    ]
    assert _number(data, "migrations") == len(moves)
    assert _number(data, "jobs_disturbed") == len({move.job for move in moves})
    asked = cast("int | None", data["max_partial_nodes"])
    most_moves = cast("int | None", data["max_migrations"])
    fewest = facts.partial_after(most_moves, live=live)
    lower = _number(data, "partial_nodes_lower_bound")
    assert lower <= max(fewest, asked or 0 if live else 0) or "at least" not in held
    limit = max(after, asked or 0)
    least = facts.moves_to(limit, live=live)
    assert least is not None
    assert _number(data, "migrations_lower_bound") <= least or "at most" not in held
    if data["status"] == "optimal" and "at most" in held and "at least" in held:
        assert after == fewest or (asked is not None and after <= asked) or (live and after <= max(fewest, asked or 0))
        assert len(moves) == least
    if "every plan as good" in held and not live:
        pools = facts.pools
        used = world.used(places)
        partial = tuple(
            sum(0 < used[n] < node.gpus for n, node in enumerate(world.nodes) if node.pool == pool) for pool in pools
        )
        jobs = facts.jobs_disturbed(partial, len(moves))
        assert jobs is not None
        assert _number(data, "jobs_disturbed_lower_bound") <= jobs
    _judge_certificates(data, facts)
    if "of the frontier" in held:
        _judge_frontier(data, facts)


def played(world: World, moves: Sequence[Move], stops: Sequence[Stop], limit: int | None) -> Places:
    """Return where a plan leads.

    Steps in which nothing happens are left out, and a stop between two steps takes effect before the latter.
    """
    steps = sorted({move.step for move in moves})
    renumbered = [replace(move, step=steps.index(move.step) + 1) for move in sorted(moves)]
    before = [replace(stop, before_step=sum(step < stop.before_step for step in steps) + 1) for stop in stops]
    return places_after(world, renumbered, before, limit)


def _empty(world: World, places: tuple[int, ...]) -> int:
    return sum(used == 0 < node.gpus for used, node in zip(world.used(places), world.nodes, strict=True))


def _judge_certificates(data: Data, facts: Facts) -> None:
    certificate = cast("dict[str, list[dict[str, Data]]]", data["certificate"])
    assert sorted(str(one["pool"]) for one in certificate["pools"]) == facts.pools
    for one in certificate["pools"]:
        pool = str(one["pool"])
        inherent, migrations = one["inherent"], one["migrations"]
        fewest = facts.pool_partial(pool)
        assert _number(inherent, "lower_bound") <= fewest <= _number(inherent, "partial_nodes")
        least = facts.pool_moves_to(pool, _number(migrations, "max_partial_nodes"))
        assert least is not None
        assert _number(migrations, "lower_bound") <= least <= _number(migrations, "migrations")


def _judge_frontier(data: Data, facts: Facts) -> None:
    for point in cast("list[Data]", data.get("frontier") or []):
        least = facts.moves_to(_number(point, "partial_nodes"))
        assert least is not None
        assert _number(point, "lower_bound") <= least <= _number(point, "migrations")


def _judge_admission(data: Data, whole: World, held: _Held) -> None:
    world = pinned(whole, cast("list[str]", data["protected"]))
    facts = Facts(world)
    job = cast("Data", data["job"])
    instances, gpus = _number(job, "instances"), _number(job, "gpus_per_instance")
    live = data["mode"] == "live"
    least = facts.moves_to_room(instances, gpus, cast("str | None", job["pool"]), live=live)
    verdict = data["verdict"]
    if verdict == "cannot":
        assert least is None or "cannot start" not in held
        return
    if verdict in {"fits_now", "fits_after"}:
        assert least is not None
        assert (verdict == "fits_now") == (least == 0)
        moves, stops = read_moves(data)
        places = played(world, moves, stops, None)
        used = world.used(places)
        placements = cast("list[Data]", data["placements"])
        assert sorted(_number(one, "instance") for one in placements) == list(range(instances))
        for one in placements:
            n = int(str(one["node"]).removeprefix("n"))
            used[n] += gpus
            assert world.takes[n]
            assert world.nodes[n].pool == data["pool"]
            assert job["pool"] in {None, data["pool"]}
            assert used[n] <= world.nodes[n].gpus
        assert _number(data, "migrations") == len(moves)
        if data["status"] == "optimal" and "it takes at least" in held:
            assert len(moves) == least
    assert least is None or _number(data, "lower_bound") <= least or "it takes at least" not in held


def _judge_queue(data: Data, world: World, held: _Held) -> None:
    jobs = {job.name: job for job in _waiting(world)}
    answers = [*cast("list[Data]", data["passed_over"]), cast("Data | None", data["first"])]
    for answer in answers:
        if answer is not None:
            job = jobs[str(answer["name"])]
            asked = {"instances": job.instances, "gpus_per_instance": job.gpus_per_instance, "pool": job.pool}
            _judge_admission(
                {**answer, "job": asked, "mode": data["mode"], "protected": data["protected"]}, world, held
            )
    together = cast("Data", data["together"])
    names = cast("list[str]", together["jobs"])
    places = played(pinned(world, cast("list[str]", data["protected"])), *read_moves(together), None)
    used = world.used(places)
    for one in cast("list[Data]", together["placements"]):
        n = int(str(one["node"]).removeprefix("n"))
        used[n] += jobs[str(one["job"])].gpus_per_instance
        assert world.takes[n]
        assert used[n] <= world.nodes[n].gpus
    assert len(cast("list[Data]", together["placements"])) == sum(jobs[name].instances for name in names)
    if "no more than" in held and data["mode"] == "checkpoint":
        assert _number(together, "most") >= Facts(world).most_jobs(list(jobs.values()))


def _judge_measurement(data: Data, world: World, _: _Held) -> None:
    facts = Facts(world)
    today = world.partial(world.start)
    fewest = facts.partial_after(None, live=False)
    assert _number(data, "partial_nodes") == today
    for part, phi, now in [
        (data, fewest, today),
        *(
            (one, facts.pool_partial(str(one["pool"])), _number(one, "partial_nodes"))
            for one in cast("list[Data]", data["pools"])
        ),
    ]:
        assert _number(part, "inherent_lower_bound") <= phi <= _number(part, "inherent_partial_nodes")
        assert _number(part, "avoidable_partial_nodes") == now - _number(part, "inherent_partial_nodes")
        assert part["status"] == "optimal"


# Mutations


def _judge(kind: str, worlds: int, seed: int, *, most: int | None) -> tuple[int, int]:
    """Change stored results; return how many changes were refused, and how many passed and are true."""
    refused = passed = 0
    rng = random.Random(f"mutations {kind} {seed}")
    for world, data in documents(kind, worlds, seed):
        changed = list(mutations(data))
        for _, other in changed if most is None else rng.sample(changed, min(most, len(changed))):
            checks = _passes(other, world)
            if checks is None:
                refused += 1
            else:
                passed += 1
                _judge_claims(other, checks, world)
    return refused, passed


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
def test_what_passes_after_a_change_is_true(kind: str) -> None:
    refused, passed = _judge(kind, 4, 2, most=25)
    assert refused > passed


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_what_passes_after_any_change_is_true(kind: str) -> None:
    refused, passed = _judge(kind, 3, 3, most=None)
    assert refused > passed
