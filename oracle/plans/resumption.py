"""A stored plan and a fresh snapshot: what of it is done, and whether the rest can still be carried out.

Between two looks at a cluster jobs end, jobs start, nodes are cordoned. Every step that is left is played on the fresh
snapshot, so what is said holds for the cluster as it is now. Whether the plan still leads to what it was made for is
asked of `Resumption.after`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import msgspec

from oracle.moves import Move, MoveError, MoveMode, Stop
from oracle.replay import Occupancy, by_steps, placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.replay import Key
    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The first step that cannot be carried out, and why: one line."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What is left of a plan.

    Attributes
    ----------
    done
        Moves whose instance has been where they lead.
    gone
        Moves of instances that no longer run; they are left out of the rest.
    remaining, remaining_stops
        The rest, with the steps of the plan.
    failure
        The first step of the rest that cannot be carried out; None if all can.
    now
        The fresh snapshot.
    after
        The snapshot once the rest is carried out; None if it cannot be. Stopped instances that the fresh snapshot does
        not show are not in it.
    """

    done: tuple[Move, ...]
    gone: tuple[Move, ...]
    remaining: tuple[Move, ...]
    remaining_stops: tuple[Stop, ...]
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
    """

    moves: tuple[Move, ...]
    stops: tuple[Stop, ...]
    mode: MoveMode
    protected: tuple[str, ...]
    max_per_job_at_once: int | None
    pool: str | None


class _StoredMove(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    step: int
    job: str
    instance: int
    gpus: int
    source: str = msgspec.field(name="from")
    destination: str = msgspec.field(name="to")


class _StoredStop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    job: str
    instance: int
    gpus: int
    node: str = msgspec.field(name="from")
    before_step: int = 1


class _StoredJson(msgspec.Struct, frozen=True, kw_only=True):
    moves: tuple[_StoredMove, ...]
    stopped_first: tuple[_StoredStop, ...] = ()
    mode: MoveMode = MoveMode.CHECKPOINT
    protected: tuple[str, ...] = ()
    max_per_job_at_once: Annotated[int, msgspec.Meta(ge=1)] | None = None
    pool: str | None = None


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
        moves=tuple(Move(m.step, m.job, m.instance, m.gpus, m.source, m.destination) for m in plan.moves),
        stops=tuple(Stop(s.before_step, s.job, s.instance, s.gpus, s.node) for s in plan.stopped_first),
        mode=plan.mode,
        protected=plan.protected,
        max_per_job_at_once=plan.max_per_job_at_once,
        pool=plan.pool,
    )


def resume(
    snapshot: Snapshot, moves: Iterable[Move], stops: Iterable[Stop] = (), *, max_per_job_at_once: int | None = None
) -> Resumption:
    """Return what of a plan is done, and whether the rest can be carried out from this snapshot.

    Parameters
    ----------
    snapshot
        The cluster now.
    moves, stops
        The whole plan as it was stored. An instance is known by its job's name and its number. One that the plan stops
        and the snapshot does not show is taken for stopped: its restart is part of the rest.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time.
    """
    stops = sorted(stops)
    occupancy = Occupancy(snapshot)
    stopped = {(stop.job, stop.instance): stop for stop in stops}
    routes = _routes(moves)
    absent = routes.keys() - occupancy.where.keys()
    for key in absent & stopped.keys():
        occupancy.add_stopped(stopped[key])
    made = _made({key: route for key, route in routes.items() if key not in absent}, occupancy.where)
    done = [move for key, count in made.items() for move in routes[key][:count]]
    remaining = [move for key, count in made.items() for move in routes[key][count:]]
    remaining += (move for key in absent & stopped.keys() for move in routes[key])
    still = [stop for key, stop in stopped.items() if key not in absent and made.get(key) == 0]
    failure = _play(occupancy, remaining, still, max_per_job_at_once)
    return Resumption(
        done=tuple(sorted(done)),
        gone=tuple(sorted(move for key in absent - stopped.keys() for move in routes[key])),
        remaining=tuple(sorted(remaining)),
        remaining_stops=tuple(still),
        failure=failure,
        now=snapshot,
        after=placed(snapshot, occupancy.where) if failure is None else None,
    )


def _routes(moves: Iterable[Move]) -> dict[Key, list[Move]]:
    routes: defaultdict[Key, list[Move]] = defaultdict(list)
    for move in sorted(moves):
        routes[move.job, move.instance].append(move)
    return dict(routes)


def _made(routes: Mapping[Key, Sequence[Move]], where: Mapping[Key, str]) -> dict[Key, int]:
    """Return how many moves of each route have been made, by where the instance is.

    A route that comes back to a node leaves several answers. The steps of the plan are carried out in order, so the
    furthest one is taken that is not ahead of what other routes show to be done.
    """
    possible = {
        key: [
            n for n, node in enumerate([route[0].source, *(move.destination for move in route)]) if node == where[key]
        ]
        for key, route in routes.items()
    }
    made = {key: counts[0] if counts else 0 for key, counts in possible.items()}
    reached = max((routes[key][made[key] - 1].step for key in made if made[key]), default=0)
    for key, counts in possible.items():
        for count in counts[1:]:
            if routes[key][count - 1].step <= reached:
                made[key] = count
    return made


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
