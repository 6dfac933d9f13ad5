"""Moves as documents have them: what a stored plan or admission says is to be done, and of whom it remembers what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from oracle.moves.move import Move, MoveError, MoveMode, Stop
from oracle.snapshots.checks import check_called
from oracle.snapshots.model import RunningInstance, RunningJob, SnapshotError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.snapshots.model import Snapshot


def at_start(snapshot: Snapshot, moves: Iterable[Move]) -> tuple[RunningJob, ...]:
    """Return the jobs of which a plan moves an instance, with all instances they have: what it has to remember."""
    moved = {move.job for move in moves}
    return tuple(job for job in snapshot.jobs if job.name in moved)


def start_to_json(jobs: Iterable[RunningJob]) -> list[dict[str, object]]:
    """Return such jobs as they stand in the JSON of plans and admissions."""
    return [{"job": job.name, "instances": [_to_json(instance) for instance in job.instances]} for job in jobs]


def _to_json(instance: RunningInstance) -> dict[str, object]:
    called = {"name": instance.name, "index": instance.index}
    data: dict[str, object] = {"node": instance.node, "gpus": instance.gpus}
    return data | {key: text for key, text in called.items() if text is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    """A plan or an admission as it was stored.

    Attributes
    ----------
    moves, stops
        All of them, done or not.
    mode
        Whether instances may be stopped first.
    protected
        What stays where it is.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time; None for any number.
    max_per_budget, max_priority
        As for `oracle.moves.move.protect`.
    pool
        The pool that was planned; None for all.
    at_start
        The jobs of which it moves an instance, as they were; None in documents that are older than this.
    """

    moves: tuple[Move, ...]
    stops: tuple[Stop, ...]
    mode: MoveMode
    protected: tuple[str, ...]
    max_per_job_at_once: int | None
    max_per_budget: int | None
    max_priority: int | None
    pool: str | None
    at_start: tuple[RunningJob, ...] | None


class _StoredMove(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    step: int
    job: str
    instance: int
    gpus: int
    source: str = msgspec.field(name="from")
    destination: str = msgspec.field(name="to")
    name: str | None = None


class _StoredStop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    job: str
    instance: int
    gpus: int
    node: str = msgspec.field(name="from")
    before_step: int = 1
    name: str | None = None


class _StoredInstance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    node: str
    gpus: int
    name: str | None = None
    index: str | None = None


class _StoredJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    job: str
    instances: tuple[_StoredInstance, ...]


class _StoredJson(msgspec.Struct, frozen=True, kw_only=True):
    moves: tuple[_StoredMove, ...]
    stopped_first: tuple[_StoredStop, ...] = ()
    mode: MoveMode = MoveMode.CHECKPOINT
    protected: tuple[str, ...] = ()
    max_per_job_at_once: Annotated[int, msgspec.Meta(ge=1)] | None = None
    max_per_budget: Annotated[int, msgspec.Meta(ge=0)] | None = None
    max_priority: int | None = None
    pool: str | None = None
    jobs_at_start: tuple[_StoredJob, ...] | None = None


def read_moves(data: object) -> tuple[tuple[Move, ...], tuple[Stop, ...]]:
    """Return the moves and stops of a plan or an admission that was stored as JSON; the rest of it is passed over.

    Raises
    ------
    MoveError
        The data has another form; the message names the place.
    """
    plan = read_plan(data)
    return plan.moves, plan.stops


def read_plan(data: object) -> StoredPlan:
    """Return what there is to carry out of a plan or an admission that was stored as JSON, and under which limits.

    Raises
    ------
    MoveError
        The data has another form; the message names the place.
    """
    try:
        plan = msgspec.convert(data, _StoredJson)
    except msgspec.ValidationError as error:
        raise MoveError(str(error)) from error
    return StoredPlan(
        moves=tuple(Move(m.step, m.job, m.instance, m.gpus, m.source, m.destination, m.name) for m in plan.moves),
        stops=tuple(Stop(s.before_step, s.job, s.instance, s.gpus, s.node, s.name) for s in plan.stopped_first),
        mode=plan.mode,
        protected=plan.protected,
        max_per_job_at_once=plan.max_per_job_at_once,
        max_per_budget=plan.max_per_budget,
        max_priority=plan.max_priority,
        pool=plan.pool,
        at_start=None if plan.jobs_at_start is None else _started(plan.jobs_at_start),
    )


def _started(stored: Sequence[_StoredJob]) -> tuple[RunningJob, ...]:
    jobs: dict[str, RunningJob] = {}
    for j, job in enumerate(stored):
        path = f"jobs_at_start[{j}]"
        if job.job in jobs:
            raise MoveError(f"{path}.job: the job {shown(job.job)} is listed twice")
        instances = tuple(
            RunningInstance(node=one.node, gpus=one.gpus, name=one.name, index=one.index) for one in job.instances
        )
        try:
            check_called(f"{path}.instances", instances)
        except SnapshotError as error:
            raise MoveError(str(error)) from error
        jobs[job.job] = RunningJob(name=job.job, instances=instances)
    return tuple(jobs.values())
