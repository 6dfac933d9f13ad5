"""A stored plan and a fresh snapshot: what of it is done, and whether the rest can still be carried out.

Between two looks at a cluster jobs end, jobs start, nodes are cordoned. Every step that is left is played on the fresh
snapshot, so what is said holds for the cluster as it is now. Whether the plan still leads to what it was made for is
asked of `Resumption.after`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import msgspec

from oracle.moves.identity import Group, Progress, least_lost, recognise, way_of
from oracle.moves.move import Move, MoveError, MoveMode, Stop, called, protect
from oracle.moves.replay import Occupancy, by_steps, placed
from oracle.snapshots.model import RunningInstance, RunningJob, SnapshotError, check_called, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.moves.identity import Recognised, Way
    from oracle.moves.replay import Key
    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The first step that cannot be carried out, and why: one line."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """An instance that ran on a node when the plan was made and does not run now."""

    job: str
    instance: int
    gpus: int
    node: str
    name: str | None = field(default=None, compare=False)

    @property
    def called(self) -> str:
        """The instance as sentences name it."""
        return called(self.job, self.instance, self.name)

    def to_json(self) -> dict[str, object]:
        """Return the instance as data for JSON."""
        name = {} if self.name is None else {"name": self.name}
        return {"job": self.job, "instance": self.instance, **name, "gpus": self.gpus, "from": self.node}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What is left of a plan.

    Attributes
    ----------
    done
        Moves whose instance has been where they lead.
    gone
        Moves of instances that do not run and that the plan does not stop; they are left out of the rest.
    remaining, remaining_stops
        The rest, with the steps of the plan and the names that the instances have now.
    stopped
        Instances that are stopped now: the first of their moves that remain restarts them.
    missing
        Instances of the jobs of the plan that ran at its start, do not run now, and were not stopped by it. They have
        ended, or stand still for another reason, such as that they are being moved at this moment.
    failure
        The first step of the rest that cannot be carried out; None if all can.
    now
        The fresh snapshot.
    after
        The snapshot once the rest is carried out, restarted instances included; None if it cannot be.
    """

    done: tuple[Move, ...]
    gone: tuple[Move, ...]
    remaining: tuple[Move, ...]
    remaining_stops: tuple[Stop, ...]
    stopped: tuple[Stop, ...]
    missing: tuple[Missing, ...]
    failure: StepFailure | None
    now: Snapshot = field(repr=False)
    after: Snapshot | None = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether the rest can be carried out as planned."""
        return self.failure is None

    def partial_nodes(self, pool: str | None = None) -> tuple[int, int | None]:
        """Return the partial nodes, of one pool or of all, now and after the rest; None if that cannot be made."""
        return _partial(self.now, pool), None if self.after is None else _partial(self.after, pool)


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


def resume(
    snapshot: Snapshot,
    moves: Iterable[Move],
    stops: Iterable[Stop] = (),
    *,
    at_start: Iterable[RunningJob],
    protected: Iterable[str] = (),
    protected_now: Iterable[str] = (),
    max_per_job_at_once: int | None = None,
) -> Resumption:
    """Return what of a plan is done, and whether the rest can be carried out from this snapshot.

    Parameters
    ----------
    snapshot
        The cluster now.
    moves, stops
        The whole plan as it was stored.
    at_start
        The jobs that it moves, with all their instances, as they were when it was made: by them the instances of this
        snapshot are recognised, as `oracle.moves.identity` says. Other jobs may be among them.
    protected, protected_now
        What must not be moved, as for `oracle.moves.move.protect`; instances by the numbers of the plan. The former may
        have ended since, the latter must run.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time.

    Raises
    ------
    MoveError
        The plan contradicts what ran at its start, or stops an instance that it never restarts.
    UnknownJobError
        A name of `protected_now` stands for nothing that runs.
    """
    start = {job.name: dict(enumerate(job.instances)) for job in at_start}
    ways = _ways(moves, stops, start)
    start = {job: start[job] for job in ways}
    now = {job.name: job.instances for job in snapshot.jobs}
    recognised = {job: recognise(instances, now.get(job, ())) for job, instances in start.items()}
    progress = Progress(
        group for job in start for group in _groups(recognised[job], now.get(job, ()), ways.get(job, {}))
    )
    found = _look(start, now, recognised, ways, progress)
    numbers = _numbers(start, now, found.positions)
    spared = protect(snapshot, protected, strict=False, numbers=numbers)
    occupancy = Occupancy(protect(spared, protected_now, numbers=numbers), numbers)
    for stop in found.stopped:
        occupancy.add_stopped(stop)
    failure = _play(occupancy, found.remaining, found.stops, max_per_job_at_once)
    return Resumption(
        done=tuple(sorted(found.done)),
        gone=tuple(sorted(found.gone)),
        remaining=tuple(sorted(found.remaining)),
        remaining_stops=tuple(sorted(found.stops)),
        stopped=tuple(sorted(found.stopped)),
        missing=tuple(found.missing),
        failure=failure,
        now=snapshot,
        after=_after(snapshot, occupancy, numbers, found.stopped) if failure is None else None,
    )


def _ways(
    moves: Iterable[Move], stops: Iterable[Stop], start: Mapping[str, Mapping[int, RunningInstance]]
) -> dict[str, dict[int, Way]]:
    """Return what the plan does to each instance, by job and number."""
    events: defaultdict[Key, list[Move | Stop]] = defaultdict(list)
    for move in moves:
        events[move.job, move.instance].append(move)
    for stop in stops:
        events[stop.job, stop.instance].append(stop)
    ways: defaultdict[str, dict[int, Way]] = defaultdict(dict)
    for key, own in sorted(events.items()):
        way = way_of(own)
        first, last = way.events[0], way.events[-1]
        who = f"instance {key[1]} of {key[0]!r}"
        if isinstance(last, Stop):
            raise MoveError(f"{who} is stopped and never restarted")
        home = start.get(key[0], {}).get(key[1])
        if home is None or (home.node, home.gpus) != (way.home, first.gpus):
            raise MoveError(f"{who} with {first.gpus} GPUs on {way.home!r} is not among what ran (jobs_at_start)")
        ways[key[0]][key[1]] = way
    return dict(ways)


@dataclass(slots=True)
class _Sight:
    """What is seen of a plan: `positions` are those of the instances in their jobs now."""

    done: list[Move] = field(default_factory=list["Move"])
    gone: list[Move] = field(default_factory=list["Move"])
    remaining: list[Move] = field(default_factory=list["Move"])
    stops: list[Stop] = field(default_factory=list["Stop"])
    stopped: list[Stop] = field(default_factory=list["Stop"])
    missing: list[Missing] = field(default_factory=list["Missing"])
    positions: dict[Key, int] = field(default_factory=dict["Key", int])

    def add(self, way: Way, happened: int, name: str | None) -> None:
        """Add an instance that runs or is stopped, under the name that it has now."""
        for i, event in enumerate(way.events):
            if isinstance(event, Move):
                (self.done if i < happened else self.remaining).append(replace(event, name=name))
            elif i >= happened:
                self.stops.append(replace(event, name=name))


def _groups(recognised: Recognised, here: Sequence[RunningInstance], ways: Mapping[int, Way]) -> Iterator[Group]:
    """Yield what is known of the places of a job's instances that move: of each that is certain, of others together."""
    for number, way in ways.items():
        if number in recognised.certain:
            yield Group({way.home: 1}, (way,), {here[recognised.certain[number]].node: 1})
        elif number in recognised.absent:
            yield Group({way.home: 1}, (way,), {})
    for alike in recognised.alike:
        moving = tuple(ways[number] for number in alike.homes if number in ways)
        seen = {node: len(positions) for node, positions in alike.nodes.items()}
        yield Group(Counter(alike.homes.values()), moving, seen)


def _look(
    start: Mapping[str, Mapping[int, RunningInstance]],
    now: Mapping[str, Sequence[RunningInstance]],
    recognised: Mapping[str, Recognised],
    ways: Mapping[str, Mapping[int, Way]],
    progress: Progress,
) -> _Sight:
    """Return what is seen of the plan; `start` and `ways` are by job and number."""
    sight = _Sight()
    for job, instances in start.items():
        own, here = ways.get(job, {}), now.get(job, ())
        found = dict(recognised[job].certain)
        for alike in recognised[job].alike:
            found |= least_lost(alike, own, progress.price)
        sight.positions |= {(job, number): position for number, position in found.items()}
        for number, instance in instances.items():
            way = own.get(number)
            if number in found:
                if way is not None:
                    one = here[found[number]]
                    # Where the plan never puts it, somebody else has: then no move of it can be made.
                    sight.add(way, way.happened(one.node, progress.price) or 0, one.name)
            elif way is not None and way.stops:
                happened = way.happened(None, progress.price) or 0
                sight.add(way, happened, instance.name)
                sight.stopped += [
                    replace(stop, name=instance.name) for stop in way.events[:happened] if isinstance(stop, Stop)
                ][-1:]
            else:
                sight.missing.append(Missing(job, number, instance.gpus, instance.node, instance.name))
                sight.gone += [event for event in (way.events if way else ()) if isinstance(event, Move)]
    return sight


def _numbers(
    start: Mapping[str, Mapping[int, RunningInstance]],
    now: Mapping[str, Sequence[RunningInstance]],
    positions: Mapping[Key, int],
) -> dict[Key, int]:
    """Return the number of every instance that runs now, by job and position: new ones count on behind the others."""
    numbers = {(job, position): number for (job, number), position in positions.items()}
    for job, instances in start.items():
        new = [position for position in range(len(now.get(job, ()))) if (job, position) not in numbers]
        numbers |= {(job, position): number for number, position in enumerate(new, 1 + max(instances, default=-1))}
    return numbers


def _after(snapshot: Snapshot, occupancy: Occupancy, numbers: Mapping[Key, int], stopped: Iterable[Stop]) -> Snapshot:
    """Return the snapshot after what was played, restarted instances included."""
    where = {
        (job.name, i): occupancy.where[job.name, numbers.get((job.name, i), i)]
        for job in snapshot.jobs
        for i in range(len(job.instances))
    }
    jobs = {job.name: job for job in placed(snapshot, where).jobs}
    for stop in stopped:
        again = replace(occupancy.instances[stop.job, stop.instance], node=occupancy.where[stop.job, stop.instance])
        job = jobs.get(stop.job) or RunningJob(name=stop.job, instances=())
        jobs[stop.job] = replace(job, instances=(*job.instances, again))
    return replace(snapshot, jobs=tuple(jobs.values()))


def _play(occupancy: Occupancy, moves: Sequence[Move], stops: Sequence[Stop], limit: int | None) -> StepFailure | None:
    for step_moves, step_stops in by_steps(moves, stops):
        try:
            occupancy.play(step_moves, step_stops, limit=limit)
        except MoveError as error:
            first = step_moves[0].step if step_moves else step_stops[0].before_step
            return StepFailure(first, str(error))
    return None


def _partial(snapshot: Snapshot, pool: str | None) -> int:
    used = snapshot.used_gpus()
    return sum(0 < used[node.name] < node.gpus for node in snapshot.nodes if pool in {None, node.pool})
