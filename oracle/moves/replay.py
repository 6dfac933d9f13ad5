"""Playing moves on a snapshot, step by step, with every rule checked: no plan leaves the oracle without this.

It knows nothing of how an order was found.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from oracle.moves.at_once import AtOnce
from oracle.moves.move import Move, MoveError, Stop
from oracle.snapshots.model import RunningInstance
from oracle.snapshots.stocks import Free, Stocks
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.moves.move import Relocated
    from oracle.snapshots.model import Snapshot
    from oracle.snapshots.stocks import Key


class Occupancy:
    """Where every instance is and what every node has free, while moves are played.

    Instances are numbered by their position in the snapshot; `numbers` has other numbers for those that are known by
    others. At most `max_per_job_at_once` instances of one job may be stopped or moving at a time.

    Attributes
    ----------
    stocks
        What the nodes have, and what instances take of them.
    free
        What nobody has now.
    where
        The node of each instance.
    stopped
        The instances that are stopped and not restarted. Their entry in `where` is the node they were stopped on; they
        hold nothing there.
    at_once
        How many may be down at a time.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        numbers: Mapping[Key, int] | None = None,
        *,
        max_per_job_at_once: int | None = None,
    ) -> None:
        self.stocks = (
            snapshot.stocks if numbers is None else Stocks(snapshot.nodes, snapshot.jobs, snapshot.node_sets, numbers)
        )
        self.free = self.stocks.free()
        self.where = {key: instance.node for key, instance in self.stocks.instances.items()}
        self.stopped: set[Key] = set()
        self._budgets, self._per_job = snapshot.budgets, max_per_job_at_once
        self.at_once = AtOnce(self._budgets, self.stocks, self._per_job)

    def add_stopped(self, stop: Stop) -> None:
        """Take account of an instance that was stopped on a node, holds nothing and is to be restarted."""
        key = stop.job, stop.instance
        self.stocks = self.stocks.add(key, RunningInstance(node=stop.node, gpus=stop.gpus, name=stop.name))
        self.at_once = AtOnce(self._budgets, self.stocks, self._per_job)
        self.where[key] = stop.node
        self.stopped.add(key)

    def play(self, moves: Sequence[Move], stops: Sequence[Stop] = ()) -> None:
        """Carry out one step, its moves and stops: first the stops, then all moves at once.

        Raises
        ------
        MoveError
            A rule is broken; then nothing is carried out.
        """
        free = Free(self.free)
        down = set(self.stopped)
        for stop in stops:
            where = f"step {stop.before_step}: stop {_name(stop)}"
            self._check_instance(stop, stop.node, where, down)
            self._check_name(stop, where)
            down.add((stop.job, stop.instance))
            free.give(self.stocks.taken((stop.job, stop.instance), stop.node))
        moving: set[Key] = set()
        for move in moves:
            self._check_move(move, free, moving)
            moving.add((move.job, move.instance))
            free.take(self.stocks.taken((move.job, move.instance), move.destination))
        exceeded = self.at_once.exceeded(moving | down)
        if exceeded:
            raise MoveError(f"{f'step {moves[0].step}' if moves else 'a stop'}: {exceeded}")
        for move in moves:
            key = move.job, move.instance
            if key in down:
                down.remove(key)
            else:
                free.give(self.stocks.taken(key, move.source))
            self.where[key] = move.destination
        self.free, self.stopped = free, down

    def _check_move(self, move: Move, free: Free, moving: set[Key]) -> None:
        where = f"step {move.step}: {_name(move)} from {move.source!r} to {move.destination!r}"
        if move.step < 1:
            raise MoveError(f"{where}: steps count from 1")
        if (move.job, move.instance) in moving:
            raise MoveError(f"{where}: it moves twice in one step")
        self._check_instance(move, move.source, where)
        self._check_name(move, where)
        self._check_destination(move, where)
        for stock, amount in self.stocks.taken((move.job, move.instance), move.destination):
            if amount > free[stock]:
                raise MoveError(f"{where}: {stock.lacking(amount, free[stock])}")

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
        if key not in self.stocks.instances:
            raise MoveError(f"{where}: no such instance is running")
        if not self.stocks.instances[key].movable:
            raise MoveError(f"{where}: it cannot be moved")
        if self.stocks.instances[key].gpus != item.gpus:
            raise MoveError(f"{where}: it has {count(self.stocks.instances[key].gpus, 'GPU')}, not {item.gpus}")
        if self.where[key] != node:
            raise MoveError(f"{where}: it is on {self.where[key]!r}")
        if key in down:
            raise MoveError(f"{where}: it is stopped already")

    def _check_name(self, item: Move | Stop, where: str) -> None:
        """Refuse another name than the instance has; to name none is to claim nothing."""
        name = self.stocks.instances[item.job, item.instance].name
        if item.name is not None and item.name != name:
            raise MoveError(f"{where}: it is named {name!r}" if name else f"{where}: it has no name")

    def _check_destination(self, move: Relocated, where: str) -> None:
        if move.destination not in self.stocks.pools:
            raise MoveError(f"{where}: no node has the name of its destination")
        # A stopped instance may come from a node that is not there any more.
        pool = self.stocks.pools.get(move.source, self.stocks.pools[move.destination])
        if pool != self.stocks.pools[move.destination]:
            raise MoveError(f"{where}: it would leave its pool {pool!r}")
        if move.source == move.destination:
            raise MoveError(f"{where}: it is there already")
        shut = self.stocks.why_shut((move.job, move.instance), move.destination)
        if shut:
            raise MoveError(f"{where}: {shut}")


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
    occupancy = Occupancy(snapshot, max_per_job_at_once=max_per_job_at_once)
    for step_moves, step_stops in steps:
        occupancy.play(step_moves, step_stops)
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


def _name(item: Relocated | Stop) -> str:
    name = item.name if isinstance(item, (Move, Stop)) else None
    return f"instance {item.instance} of {item.job!r}" + (f" ({name})" if name else "")
