"""Playing moves on a snapshot, step by step, with every rule checked: no plan leaves the oracle without this.

It knows nothing of how an order was found.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from oracle.moves.move import Move, MoveError, Stop
from oracle.snapshots.model import RunningInstance, why_closed
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.moves.move import Relocated
    from oracle.snapshots.model import Snapshot

Key: TypeAlias = tuple[str, int]
"""An instance: the name of its job and its number in it."""


class Occupancy:
    """Where every instance is and what every node has free, while moves are played.

    Nodes that are closed in the snapshot (`why_closed`) take nothing throughout. Instances are numbered by their
    position in the snapshot; `numbers` has other numbers for those that are known by others.
    """

    def __init__(self, snapshot: Snapshot, numbers: Mapping[Key, int] | None = None) -> None:
        numbers = numbers or {}
        used = snapshot.used_gpus()
        self.pools = {node.name: node.pool for node in snapshot.nodes}
        # GPUs nobody has, by node; negative on an over-committed one.
        self.free = {node.name: node.gpus - used[node.name] for node in snapshot.nodes}
        reasons = (
            (node.name, why_closed(schedulable=node.schedulable, gpus=node.gpus, used=used[node.name]))
            for node in snapshot.nodes
        )
        self._closed = {name: reason for name, reason in reasons if reason}
        self.instances: dict[Key, RunningInstance] = {
            (job.name, numbers.get((job.name, i), i)): instance
            for job in snapshot.jobs
            for i, instance in enumerate(job.instances)
        }
        self.where = {key: instance.node for key, instance in self.instances.items()}
        # Stopped and not restarted. Their entry in `where` is the node they were stopped on; they hold nothing there.
        self.stopped: set[Key] = set()

    def is_open(self, node: str) -> bool:
        """Whether this node, which must exist, takes instances at all."""
        return node not in self._closed

    def add_stopped(self, stop: Stop) -> None:
        """Take account of an instance that was stopped on a node, holds nothing and is to be restarted."""
        key = stop.job, stop.instance
        self.instances[key] = RunningInstance(node=stop.node, gpus=stop.gpus, name=stop.name)
        self.where[key] = stop.node
        self.stopped.add(key)

    def play(self, moves: Sequence[Move], stops: Sequence[Stop] = (), *, limit: int | None = None) -> None:
        """Carry out one step: first the stops, then all moves at once.

        Parameters
        ----------
        moves, stops
            Those of this step.
        limit
            At most so many instances of one job may be stopped or moving at a time.

        Raises
        ------
        MoveError
            A rule is broken; then nothing is carried out.
        """
        free = Counter(self.free)
        down = set(self.stopped)
        for stop in stops:
            where = f"step {stop.before_step}: stop {_name(stop)}"
            self._check_instance(stop, stop.node, where, down)
            self._check_name(stop, where)
            down.add((stop.job, stop.instance))
            free[stop.node] += stop.gpus
        moving: set[Key] = set()
        for move in moves:
            self._check_move(move, free[move.destination], moving)
            moving.add((move.job, move.instance))
            free[move.destination] -= move.gpus
        _check_limit(moves, moving | down, limit)
        for move in moves:
            key = move.job, move.instance
            if key in down:
                down.remove(key)
            else:
                free[move.source] += move.gpus
            self.where[key] = move.destination
        self.free, self.stopped = dict(free), down

    def _check_move(self, move: Move, free: int, moving: set[Key]) -> None:
        where = f"step {move.step}: {_name(move)} from {move.source!r} to {move.destination!r}"
        if move.step < 1:
            raise MoveError(f"{where}: steps count from 1")
        if (move.job, move.instance) in moving:
            raise MoveError(f"{where}: it moves twice in one step")
        self._check_instance(move, move.source, where)
        self._check_name(move, where)
        self._check_destination(move, where)
        if move.gpus > free:
            raise MoveError(f"{where}: needs {count(move.gpus, 'GPU')}, the node has {max(free, 0)} free then")

    def check_relocation(self, move: Relocated) -> None:
        """Check everything about a relocation but whether there is room for it.

        Raises
        ------
        MoveError
            The instance, its demand, its node or its destination is not what it must be.
        """
        where = f"{_name(move)} from {move.source!r} to {move.destination!r}"
        self._check_instance(move, move.source, where)
        self._check_destination(move, where)

    def _check_instance(self, item: Relocated | Stop, node: str, where: str, down: Iterable[Key] = ()) -> None:
        key = item.job, item.instance
        if key not in self.instances:
            raise MoveError(f"{where}: no such instance is running")
        if not self.instances[key].movable:
            raise MoveError(f"{where}: it cannot be moved")
        if self.instances[key].gpus != item.gpus:
            raise MoveError(f"{where}: it has {count(self.instances[key].gpus, 'GPU')}, not {item.gpus}")
        if self.where[key] != node:
            raise MoveError(f"{where}: it is on {self.where[key]!r}")
        if key in down:
            raise MoveError(f"{where}: it is stopped already")

    def _check_name(self, item: Move | Stop, where: str) -> None:
        """Refuse another name than the instance has; to name none is to claim nothing."""
        name = self.instances[item.job, item.instance].name
        if item.name is not None and item.name != name:
            raise MoveError(f"{where}: it is named {name!r}" if name else f"{where}: it has no name")

    def _check_destination(self, move: Relocated, where: str) -> None:
        if move.destination not in self.pools:
            raise MoveError(f"{where}: no node has the name of its destination")
        # A stopped instance may come from a node that is not there any more.
        pool = self.pools.get(move.source, self.pools[move.destination])
        if pool != self.pools[move.destination]:
            raise MoveError(f"{where}: it would leave its pool {pool!r}")
        if move.source == move.destination:
            raise MoveError(f"{where}: it is there already")
        if not self.is_open(move.destination):
            raise MoveError(f"{where}: the node {self._closed[move.destination]} and takes nothing")


def replay(
    snapshot: Snapshot, moves: Iterable[Move], stops: Iterable[Stop] = (), *, max_per_job_at_once: int | None = None
) -> Snapshot:
    """Play moves step by step and return the snapshot they lead to.

    Parameters
    ----------
    snapshot
        Where they start.
    moves, stops
        In any order; their steps say when.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time.

    Raises
    ------
    MoveError
        The first rule that is broken: a node would be over-booked, takes nothing or is of another pool, an instance
        cannot be moved or is not where the move says, a stopped one is never restarted.
    """
    steps = by_steps(moves, stops)
    if not steps:
        return snapshot
    occupancy = Occupancy(snapshot)
    for step_moves, step_stops in steps:
        occupancy.play(step_moves, step_stops, limit=max_per_job_at_once)
    if occupancy.stopped:
        job, instance = min(occupancy.stopped)
        raise MoveError(f"instance {instance} of {job!r} is stopped and never restarted")
    return placed(snapshot, occupancy.where)


def by_steps(moves: Iterable[Move], stops: Iterable[Stop] = ()) -> list[tuple[list[Move], list[Stop]]]:
    """Return moves and stops step by step, steps in which nothing happens left out."""
    stops = list(stops)
    found: dict[int, tuple[list[Move], list[Stop]]] = {
        step: ([], []) for step in sorted({stop.before_step for stop in stops})
    }
    for step, group in groupby(sorted(moves), key=lambda move: move.step):
        found[step] = (list(group), [])
    for stop in stops:
        found[stop.before_step][1].append(stop)
    return [found[step] for step in sorted(found)]


def placed(snapshot: Snapshot, where: dict[Key, str]) -> Snapshot:
    """Return the snapshot with its instances on these nodes."""
    jobs = tuple(
        replace(
            job,
            instances=tuple(
                instance if where[job.name, i] == instance.node else replace(instance, node=where[job.name, i])
                for i, instance in enumerate(job.instances)
            ),
        )
        for job in snapshot.jobs
    )
    return replace(snapshot, jobs=jobs)


def _check_limit(moves: Sequence[Move], busy: set[Key], limit: int | None) -> None:
    if limit is None:
        return
    for job, number in Counter(job for job, _ in busy).items():
        if number > limit:
            step = f"step {moves[0].step}" if moves else "a stop"
            raise MoveError(
                f"{step}: {count(number, 'instance')} of {job!r} would be down at a time, at most {limit} may"
            )


def _name(item: Relocated | Stop) -> str:
    name = item.name if isinstance(item, (Move, Stop)) else None
    return f"instance {item.instance} of {item.job!r}" + (f" ({name})" if name else "")
