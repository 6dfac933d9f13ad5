"""A stored answer about several waiting jobs: each verdict is checked, and so is the set that can start together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from compass_core.errors import CompassError
from oracle.admission.answer import STARTS, Placement, Together
from oracle.admission.question import AskedJob, jobs_for
from oracle.optimum.certificate import Status
from oracle.verification.admissions import ToldVerdict, check_verdict
from oracle.verification.checks import (
    BY_SEARCH,
    NO_SNAPSHOT,
    Check,
    ResultError,
    check_interrupted,
    compared,
    convert,
)
from oracle.verification.overlooked import ToldOverlooked, check_overlooked
from oracle.verification.stored_moves import StoredMoves, ToldQuestion
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job(AskedJob):
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placement(Placement):
    job: str


class _Together(msgspec.Struct, frozen=True):
    jobs: tuple[str, ...]
    migrations: int
    moves: list[dict[str, object]]
    stopped_first: list[dict[str, object]]
    placements: tuple[_Placement, ...]
    starting: int
    most: int
    moves_lower_bound: int
    status: Status


class _Verdict(ToldVerdict, frozen=True, kw_only=True):
    name: str


class _Queue(ToldQuestion, frozen=True, kw_only=True):
    schema: str
    jobs: tuple[_Job, ...]
    passed_over: tuple[_Verdict, ...]
    first: _Verdict | None
    together: _Together
    pool: str | None = None
    interrupted: bool = False
    not_looked_at: tuple[ToldOverlooked, ...] | UnsetType = UNSET

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
    question = told.question
    jobs = {job.name: job for job in told.jobs}
    together = StoredMoves.of(told.together, question)
    if len(jobs) < len(told.jobs):
        raise ResultError("jobs has one name twice")
    yield _in_order(told)
    never: set[str] = set()
    for verdict in told.verdicts:
        if verdict.name not in jobs:
            continue
        checks = list(check_verdict(verdict, jobs[verdict.name], question, snapshot))
        yield from (replace(check, claim=f"{verdict.name}: {check.claim}") for check in checks)
        if any(check.claim.endswith("cannot start") and check.holds for check in checks):
            never.add(verdict.name)
    if told.first is not None:
        open_ = [f"whether {one.name} can {BY_SEARCH}" for one in told.passed_over if one.name not in never]
        yield Check.of(f"no job before {told.first.name} can start", unknown="".join(open_[:1]))
    yield from check_interrupted(interrupted=told.interrupted, settled=told.settled)
    yield from check_overlooked(told.not_looked_at, snapshot, told.pool)
    if snapshot is None:
        yield Check.of("the jobs that start together", unknown=NO_SNAPSHOT)
        return
    queue = jobs_for(snapshot.pending, told.pool)
    waiting = [{"name": job.name, **AskedJob.of(job, snapshot).to_json()} for job in queue]
    same = waiting == [{"name": job.name, **job.to_json()} for job in told.jobs]
    asked = same and told.pool in {None, *snapshot.pools}
    yield Check("the jobs are those that wait in this cluster", asked)
    if not asked:
        return
    try:
        snapshot = question.spared(snapshot)
    except CompassError as error:
        yield Check.of("the jobs start together", str(error))
        return
    possible = sum(1 if job.together else job.size for name, job in jobs.items() if name not in never)
    yield from _check_together(told.together, together, jobs, snapshot, possible)


def _in_order(told: _Queue) -> Check:
    """Return whether the verdicts are about the first jobs of the queue, up to the first that can start."""
    claim = "the jobs are looked at in queue order, up to the first that can start"
    verdicts = told.verdicts
    names = [job.name for job in told.jobs][: len(verdicts)]
    complete = told.first is not None or len(verdicts) == len(told.jobs)
    starting = [verdict.verdict in STARTS for verdict in verdicts]
    expected = [False] * len(told.passed_over) + [True] * (told.first is not None)
    holds = complete and names == [verdict.name for verdict in verdicts] and starting == expected
    return Check.of(claim, "" if holds else "they are not")


def _check_together(
    told: _Together, listed: StoredMoves, jobs: Mapping[str, _Job], snapshot: Snapshot, possible: int
) -> Iterator[Check]:
    """Yield the claims about the set; of the queue no more than `possible` can start even alone."""
    if [name for name in jobs if name in told.jobs] == list(told.jobs):
        placed = [(one.job, one) for one in told.placements]
        wrong = listed.obstacle(snapshot, {name: jobs[name] for name in told.jobs}, placed)
    else:
        wrong = "the jobs are not of the queue, or not in its order"
    starting = sum(1 if jobs[name].together else _placed(told, name) for name in told.jobs if name in jobs)
    moves, bound = told.migrations, told.moves_lower_bound
    have = "1 job has" if len(told.jobs) == 1 else f"{count(len(told.jobs), 'job')} have"
    yield Check.of(f"{have} room together after {count(moves, 'move')}", wrong)
    yield Check.of(
        f"no more than {count(told.most, 'job')} can start together",
        f"{starting} do" if told.most < starting else "",
        BY_SEARCH if told.most < possible else "",
    )
    yield Check.of(
        f"so many start together after {count(bound, 'move')} at least",
        "" if 0 <= bound <= moves else f"{moves} are listed",
        BY_SEARCH if bound else "",
    )
    if not wrong:
        yield _written_again(told, listed, starting)


def _placed(told: _Together, name: str) -> int:
    return sum(one.job == name for one in told.placements)


def _written_again(told: _Together, listed: StoredMoves, starting: int) -> Check:
    """Return whether the rest is what these jobs, these moves and these bounds are written as."""
    written = Together(
        jobs=told.jobs,
        order=listed.order,
        placements=tuple(tuple(sorted(one for one in told.placements if one.job == name)) for name in told.jobs),
        starting=starting,
        most=told.most,
        moves_lower_bound=told.moves_lower_bound,
    ).to_json()
    claim = f"the status {told.status.value!r} of the set, the number of moves and all orders follow"
    return compared(claim, msgspec.to_builtins(told), written)
