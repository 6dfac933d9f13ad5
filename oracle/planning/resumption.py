"""A stored plan and a fresh snapshot: what of it is done, and whether the rest can still be carried out.

Between two looks at a cluster jobs end, jobs start, nodes are cordoned. Every step that is left is played on the fresh
snapshot, so what is said holds for the cluster as it is now. Whether the plan still leads to what it was made for is
asked of `Resumption.after`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from oracle.moves.identity import Group, Progress, least_lost, recognise, way_of
from oracle.moves.move import Move, MoveError, Stop, called, name_json, protect
from oracle.moves.replay import Occupancy, by_steps, placed
from oracle.snapshots.model import RunningJob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.moves.identity import Recognised, Way
    from oracle.snapshots.model import RunningInstance, Snapshot
    from oracle.snapshots.stocks import Key


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
        return {
            "job": self.job,
            "instance": self.instance,
            **name_json(self.name),
            "gpus": self.gpus,
            "from": self.node,
        }


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
        after = None if self.after is None else self.after.partial_and_empty(pool)[0]
        return self.now.partial_and_empty(pool)[0], after


def resume(
    snapshot: Snapshot,
    moves: Iterable[Move],
    stops: Iterable[Stop] = (),
    *,
    at_start: Iterable[RunningJob],
    protected: Iterable[str] = (),
    protected_now: Iterable[str] = (),
    max_per_job_at_once: int | None = None,
    max_per_budget: int | None = None,
    max_priority: int | None = None,
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
    max_per_budget, max_priority
        As for `oracle.moves.move.protect`.

    Raises
    ------
    MoveError
        The plan contradicts what ran at its start, or stops an instance that it never restarts.
    UnknownJobError
        A name of `protected_now` stands for nothing that runs.
    """
    start = {job.name: dict(enumerate(job.instances)) for job in at_start}
    now = {job.name: job.instances for job in snapshot.jobs}
    jobs = [
        _Job(job, start[job], now.get(job, ()), ways, recognise(start[job], now.get(job, ())))
        for job, ways in _ways(moves, stops, start).items()
    ]
    progress = Progress(group for job in jobs for group in job.groups())
    found = _Sight()
    numbers: dict[Key, int] = {}
    for job in jobs:
        positions = job.positions(progress)
        found.look(job, positions, progress)
        numbers |= job.numbers(positions)
    spared = protect(
        snapshot,
        protected,
        strict=False,
        numbers=numbers,
        max_priority=max_priority,
        max_per_budget=max_per_budget,
    )
    pinned = protect(spared, protected_now, numbers=numbers)
    occupancy = Occupancy(pinned, numbers, max_per_job_at_once=max_per_job_at_once)
    for stop in found.stopped:
        occupancy.add_stopped(stop)
    failure = _play(occupancy, found.remaining, found.stops)
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


@dataclass(frozen=True, slots=True)
class _Job:
    """A job of the plan: its instances at the start and what the plan does to them, by number; those of now."""

    name: str
    start: Mapping[int, RunningInstance]
    now: Sequence[RunningInstance]
    ways: Mapping[int, Way]
    recognised: Recognised

    def groups(self) -> Iterator[Group]:
        """Yield what is known of the places of those that move: of each that is certain, of others together."""
        known = self.recognised
        for number, way in self.ways.items():
            if number in known.certain:
                yield Group({way.home: 1}, (way,), {self.now[known.certain[number]].node: 1})
            elif number in known.absent:
                yield Group({way.home: 1}, (way,), {})
        for alike in known.alike:
            moving = tuple(self.ways[number] for number in alike.homes if number in self.ways)
            seen = {node: len(positions) for node, positions in alike.nodes.items()}
            yield Group(Counter(alike.homes.values()), moving, seen)

    def positions(self, progress: Progress) -> dict[int, int]:
        """Return the position now of every instance of the start that runs, by number."""
        found = dict(self.recognised.certain)
        for alike in self.recognised.alike:
            found |= least_lost(alike, self.ways, progress.price)
        return found

    def numbers(self, positions: Mapping[int, int]) -> dict[Key, int]:
        """Return the number of every instance that runs now: new ones count on behind the others."""
        numbers = {position: number for number, position in positions.items()}
        taken = frozenset(numbers)
        new = (position for position in range(len(self.now)) if position not in taken)
        numbers |= zip(new, count(len(self.start)), strict=False)
        return {(self.name, position): number for position, number in numbers.items()}


@dataclass(slots=True)
class _Sight:
    """What is seen of a plan."""

    done: list[Move] = field(default_factory=list["Move"])
    gone: list[Move] = field(default_factory=list["Move"])
    remaining: list[Move] = field(default_factory=list["Move"])
    stops: list[Stop] = field(default_factory=list["Stop"])
    stopped: list[Stop] = field(default_factory=list["Stop"])
    missing: list[Missing] = field(default_factory=list["Missing"])

    def look(self, job: _Job, positions: Mapping[int, int], progress: Progress) -> None:
        """Add what is seen of a job, whose instances have these positions now."""
        for number, instance in job.start.items():
            way = job.ways.get(number)
            if number in positions:
                if way is not None:
                    one = job.now[positions[number]]
                    # Where the plan never puts it, somebody else has: then no move of it can be made.
                    self._add(way, way.happened(one.node, progress.price) or 0, one.name)
            elif way is not None and way.stops:
                happened = way.happened(None, progress.price) or 0
                self._add(way, happened, instance.name)
                stops = [stop for stop in way.events[:happened] if isinstance(stop, Stop)]
                self.stopped += [replace(stop, name=instance.name) for stop in stops[-1:]]
            else:
                self.missing.append(Missing(job.name, number, instance.gpus, instance.node, instance.name))
                self.gone += [event for event in (way.events if way else ()) if isinstance(event, Move)]

    def _add(self, way: Way, happened: int, name: str | None) -> None:
        """Add an instance that runs or is stopped, under the name that it has now."""
        for i, event in enumerate(way.events):
            if isinstance(event, Move):
                (self.done if i < happened else self.remaining).append(replace(event, name=name))
            elif i >= happened:
                self.stops.append(replace(event, name=name))


def _after(snapshot: Snapshot, occupancy: Occupancy, numbers: Mapping[Key, int], stopped: Iterable[Stop]) -> Snapshot:
    """Return the snapshot after what was played, restarted instances included."""
    where = {
        (job.name, i): occupancy.where[job.name, numbers.get((job.name, i), i)]
        for job in snapshot.jobs
        for i in range(len(job.instances))
    }
    jobs = {job.name: job for job in placed(snapshot, where).jobs}
    for stop in stopped:
        again = replace(
            occupancy.stocks.instances[stop.job, stop.instance], node=occupancy.where[stop.job, stop.instance]
        )
        job = jobs.get(stop.job) or RunningJob(name=stop.job, instances=())
        jobs[stop.job] = replace(job, instances=(*job.instances, again))
    return replace(snapshot, jobs=tuple(jobs.values()))


def _play(occupancy: Occupancy, moves: Sequence[Move], stops: Sequence[Stop]) -> StepFailure | None:
    for step_moves, step_stops in by_steps(moves, stops):
        try:
            occupancy.play(step_moves, step_stops)
        except MoveError as error:
            first = step_moves[0].step if step_moves else step_stops[0].before_step
            return StepFailure(first, str(error))
    return None
