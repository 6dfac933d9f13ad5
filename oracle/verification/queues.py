"""A stored answer about several waiting jobs: each verdict is checked, and so is the set that can start together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from compass_core.errors import CompassError
from oracle.admission.answer import STARTS, Placement, Together
from oracle.admission.question import AskedJob, jobs_for
from oracle.moves.move import MoveError, MoveMode, protect
from oracle.optimum.certificate import Status
from oracle.optimum.node_classes import contents_after
from oracle.verification.admissions import ToldVerdict, check_verdict
from oracle.verification.checks import NO_SNAPSHOT, Check, ResultError, check_interrupted, compared, convert
from oracle.verification.stored_moves import StoredMoves, asked
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle.snapshots.model import Snapshot


class _Job(msgspec.Struct, frozen=True):
    name: str
    instances: int
    gpus_per_instance: int
    pool: str | None

    @property
    def asked(self) -> AskedJob:
        """What is asked about it."""
        return AskedJob(self.instances, self.gpus_per_instance, self.pool)


class _Placement(msgspec.Struct, frozen=True):
    job: str
    instance: int
    node: str


class _Together(msgspec.Struct, frozen=True):
    jobs: tuple[str, ...]
    migrations: int
    moves: list[dict[str, object]]
    stopped_first: list[dict[str, object]]
    placements: tuple[_Placement, ...]
    most: int
    moves_lower_bound: int
    status: Status


class _Verdict(ToldVerdict, frozen=True, kw_only=True):
    name: str


class _Queue(msgspec.Struct, frozen=True, kw_only=True):
    schema: str
    jobs: tuple[_Job, ...]
    passed_over: tuple[_Verdict, ...]
    first: _Verdict | None
    together: _Together
    pool: str | None = None
    mode: MoveMode
    protected: tuple[str, ...]
    max_per_job_at_once: int | None = None
    interrupted: bool = False

    @property
    def settled(self) -> bool:
        """Whether every search came to its end."""
        statuses = [self.together.status, *(verdict.status for verdict in self.verdicts)]
        return all(status is Status.OPTIMAL for status in statuses)

    @property
    def verdicts(self) -> list[_Verdict]:
        """Those on single jobs."""
        return [*self.passed_over, *([] if self.first is None else [self.first])]


def check_queue(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored answer about a queue, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told = convert(data, _Queue)
    question = asked(told.mode, told.protected, told.max_per_job_at_once)
    jobs = {job.name: job for job in told.jobs}
    together = StoredMoves.read(told.together, question)
    if len(jobs) < len(told.jobs):
        raise ResultError("jobs has one name twice")
    yield _in_order(told)
    never: set[str] = set()
    for verdict in told.verdicts:
        if verdict.name not in jobs:
            continue
        checks = list(check_verdict(verdict, jobs[verdict.name].asked, question, snapshot))
        yield from (replace(check, claim=f"{verdict.name}: {check.claim}") for check in checks)
        if any(check.claim.endswith("cannot start") and check.holds for check in checks):
            never.add(verdict.name)
    if told.first is not None:
        open_ = [verdict.name for verdict in told.passed_over if verdict.name not in never]
        detail = f"whether {open_[0]} can rests on a search" if open_ else ""
        yield Check(f"no job before {told.first.name} can start", None if open_ else True, detail)
    yield from check_interrupted(interrupted=told.interrupted, settled=told.settled)
    if snapshot is None:
        yield Check("the jobs that start together", None, NO_SNAPSHOT)
        return
    known_pool = told.pool is None or told.pool in snapshot.pools
    waiting = [(job.name, AskedJob.of(job)) for job in jobs_for(snapshot.pending, told.pool)]
    known = known_pool and waiting == [(job.name, job.asked) for job in told.jobs]
    yield Check("the jobs are those that wait in this cluster", known)
    try:
        snapshot = protect(snapshot, question.protected)
    except CompassError as error:
        yield Check("the jobs start together", holds=False, detail=str(error))
        return
    yield from _CheckTogether(told.together, together, jobs, snapshot).checks(len(jobs) - len(never))


def _in_order(told: _Queue) -> Check:
    """Return whether the verdicts are about the first jobs of the queue, up to the first that can start."""
    claim = "the jobs are looked at in queue order, up to the first that can start"
    verdicts = told.verdicts
    names = [job.name for job in told.jobs][: len(verdicts)]
    complete = told.first is not None or len(verdicts) == len(told.jobs)
    starting = [verdict.verdict in STARTS for verdict in verdicts]
    expected = [False] * len(told.passed_over) + [True] * (told.first is not None)
    holds = complete and names == [verdict.name for verdict in verdicts] and starting == expected
    return Check(claim, holds, "" if holds else "they are not")


class _CheckTogether:
    def __init__(self, told: _Together, listed: StoredMoves, jobs: Mapping[str, _Job], snapshot: Snapshot) -> None:
        self._told = told
        self._jobs = jobs
        self._snapshot = snapshot
        self._listed = listed

    def checks(self, possible: int) -> Iterator[Check]:
        """Yield the claims; of the queue no more than `possible` jobs can start even alone."""
        told = self._told
        wrong = next(self._obstacles(), "")
        jobs = "1 job has" if len(told.jobs) == 1 else f"{count(len(told.jobs), 'job')} have"
        yield Check(f"{jobs} room together after {count(told.migrations, 'move')}", not wrong, wrong)
        claim = f"no more than {count(told.most, 'job')} can start together"
        if told.most < len(told.jobs):
            yield Check(claim, holds=False, detail=f"{len(told.jobs)} do")
        else:
            known = told.most >= possible
            yield Check(claim, True if known else None, "" if known else "rests on a search")
        claim = f"so many start together after {count(told.moves_lower_bound, 'move')} at least"
        if not 0 <= told.moves_lower_bound <= told.migrations:
            yield Check(claim, holds=False, detail=f"{told.migrations} are listed")
        else:
            known = told.moves_lower_bound == 0
            yield Check(claim, True if known else None, "" if known else "rests on a search")
        if not wrong:
            yield self._written_again()

    def _written_again(self) -> Check:
        """Return whether the rest is what these jobs, these moves and these bounds are written as."""
        told = self._told
        placements = (
            tuple(Placement(one.instance, one.node) for one in told.placements if one.job == name) for name in told.jobs
        )
        written = Together(
            jobs=told.jobs,
            order=self._listed.order,
            placements=tuple(tuple(sorted(of_job)) for of_job in placements),
            most=told.most,
            moves_lower_bound=told.moves_lower_bound,
        ).to_json()
        claim = f"the status {told.status.value!r} of the set, the number of moves and all orders follow"
        return compared(claim, self._listed.data, written)

    def _obstacles(self) -> Iterator[str]:
        """Yield what stands against the moves and the placements, the first thing first."""
        told = self._told
        if [name for name in self._jobs if name in told.jobs] != list(told.jobs):
            yield "the jobs are not of the queue, or not in its order"
            return
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
                yield f"node {one.node} has {count(room, 'free GPU')} for all of them"
        for job, names in pools.items():
            if len(names) > 1 or self._jobs[job].pool not in {None, *names}:
                yield f"the instances of {job} are not all in its pool"
