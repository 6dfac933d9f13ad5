"""A stored answer about several waiting jobs: each verdict is checked, and so is the set that can start together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from compass_core.errors import CompassError
from oracle.moves import MoveError, protect
from oracle.node_classes import contents_after
from oracle.rechecking.admissions import check_verdict
from oracle.rechecking.checks import NO_SNAPSHOT, Check, ResultError, convert
from oracle.rechecking.stored_moves import StoredMoves
from oracle.rooms.question import AskedJob, Question, jobs_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle.snapshots.model import Snapshot


class _Job(msgspec.Struct, frozen=True):
    name: str
    instances: int
    gpus_per_instance: int
    pool: str | None


class _Placement(msgspec.Struct, frozen=True):
    job: str
    instance: int
    node: str


class _Together(msgspec.Struct, frozen=True):
    jobs: tuple[str, ...]
    migrations: int
    placements: tuple[_Placement, ...]
    most: int
    moves_lower_bound: int
    status: str


class _Verdict(msgspec.Struct, frozen=True):
    name: str
    verdict: str


class _Queue(msgspec.Struct, frozen=True):
    jobs: tuple[_Job, ...]
    passed_over: tuple[dict[str, object], ...]
    first: dict[str, object] | None
    together: dict[str, object]
    pool: str | None = None


def check_queue(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored answer about a queue, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told, question = convert(data, _Queue), convert(data, Question)
    jobs = {job.name: job for job in told.jobs}
    if len(jobs) < len(told.jobs):
        raise ResultError("jobs has one name twice")
    answers = [*told.passed_over, *([] if told.first is None else [told.first])]
    verdicts = [convert(answer, _Verdict) for answer in answers]
    yield _in_order(told, verdicts)
    never: set[str] = set()
    for answer, verdict in zip(answers, verdicts, strict=True):
        if verdict.name not in jobs:
            continue
        job = jobs[verdict.name]
        asked = AskedJob(job.instances, job.gpus_per_instance, job.pool)
        checks = list(check_verdict(answer, asked, question, snapshot))
        yield from (replace(check, claim=f"{verdict.name}: {check.claim}") for check in checks)
        if any(check.claim.endswith("cannot start") and check.holds for check in checks):
            never.add(verdict.name)
    if snapshot is None:
        yield Check("the jobs that start together", None, NO_SNAPSHOT)
        return
    waiting = jobs_for(snapshot.pending, told.pool)
    known = [_Job(job.name, job.instances, job.gpus_per_instance, job.pool) for job in waiting]
    yield Check("the jobs are those that wait in this cluster", known == list(told.jobs))
    try:
        snapshot = protect(snapshot, question.protected)
    except CompassError as error:
        yield Check("the jobs start together", holds=False, detail=str(error))
        return
    yield from _CheckTogether(told.together, jobs, question, snapshot).checks(len(jobs) - len(never))


def _in_order(told: _Queue, verdicts: list[_Verdict]) -> Check:
    """Return whether the verdicts are about the first jobs of the queue, up to the first that can start."""
    claim = "the jobs are looked at in queue order, up to the first that can start"
    names = [job.name for job in told.jobs][: len(verdicts)]
    complete = told.first is not None or len(verdicts) == len(told.jobs)
    starting = [verdict.verdict in {"fits_now", "fits_after"} for verdict in verdicts]
    expected = [False] * len(told.passed_over) + [True] * (told.first is not None)
    holds = complete and names == [verdict.name for verdict in verdicts] and starting == expected
    return Check(claim, holds, "" if holds else "they are not")


class _CheckTogether:
    def __init__(self, data: object, jobs: Mapping[str, _Job], question: Question, snapshot: Snapshot) -> None:
        self._told = convert(data, _Together)
        self._jobs = jobs
        self._snapshot = snapshot
        self._listed = StoredMoves.read(data, question)

    def checks(self, possible: int) -> Iterator[Check]:
        """Yield the claims; of the queue no more than `possible` jobs can start even alone."""
        told = self._told
        wrong = next(self._obstacles(), "")
        yield Check(f"{len(told.jobs)} jobs have room together after {told.migrations} moves", not wrong, wrong)
        claim = f"no more than {told.most} jobs can start together"
        if told.most < len(told.jobs):
            yield Check(claim, holds=False, detail=f"{len(told.jobs)} do")
        else:
            known = told.most >= possible
            yield Check(claim, True if known else None, "" if known else "rests on a search")
        claim = f"so many start together after {told.moves_lower_bound} moves at least"
        if told.moves_lower_bound > told.migrations:
            yield Check(claim, holds=False, detail=f"{told.migrations} are listed")
        else:
            known = told.moves_lower_bound <= 0
            yield Check(claim, True if known else None, "" if known else "rests on a search")
        settled = (len(told.jobs), told.migrations) == (told.most, told.moves_lower_bound)
        follows = told.status == "unknown" or (told.status == "optimal" and settled)
        yield Check(f"the status {told.status!r} of the set follows", follows, "" if follows else "bounds do not meet")

    def _obstacles(self) -> Iterator[str]:
        """Yield what stands against the moves and the placements, the first thing first."""
        told = self._told
        if [name for name in self._jobs if name in told.jobs] != list(told.jobs):
            yield "the jobs are not of the queue, or not in its order"
            return
        if len(self._listed.moves) != told.migrations:
            yield f"{len(self._listed.moves)} moves are listed"
        yield from self._listed.faults()
        wanted = sum(self._jobs[name].instances for name in told.jobs)
        placed = {(one.job, one.instance) for one in told.placements}
        if not len(told.placements) == len(placed) == wanted or not all(
            job in told.jobs and 0 <= instance < self._jobs[job].instances for job, instance in placed
        ):
            yield "not every instance has one node"
            return
        try:
            after = self._listed.play(self._snapshot)
        except MoveError as error:
            yield str(error)
            return
        yield from self._overfull(after)

    def _overfull(self, after: Snapshot) -> Iterator[str]:
        free = {
            node.name: (pool, node.capacity - node.used)
            for pool, nodes in contents_after(self._snapshot, after).items()
            for node in nodes
            if node.takes_instances
        }
        taken: Counter[str] = Counter()
        pools: dict[str, set[str]] = {}
        for one in self._told.placements:
            pool, room = free.get(one.node, ("", 0))
            taken[one.node] += self._jobs[one.job].gpus_per_instance
            pools.setdefault(one.job, set()).add(pool)
            if taken[one.node] > room:
                yield f"node {one.node} has {room} free GPUs for all of them"
        for job, names in pools.items():
            if len(names) > 1 or self._jobs[job].pool not in {None, *names}:
                yield f"the instances of {job} are not all in its pool"
