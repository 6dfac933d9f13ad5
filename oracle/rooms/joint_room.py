"""Room for several waiting jobs at once: as many of them as possible, then as few moves as possible.

One integer program over all pools: the room models side by side, and for every job and pool that it may start in
whether it does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from oracle.rooms.making_room import relocations
from oracle.rooms.model import RoomModel
from oracle.rooms.priced_columns import solve_priced
from oracle.solver import Outcome, Program, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.moves import Move
    from oracle.rooms.model import Group
    from oracle.snapshots.model import PendingJob, Snapshot
    from oracle.solver import Deadline

Groups: TypeAlias = "dict[str, dict[Group, list[str]]]"
"""The nodes that take instances, by pool and group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRoom:
    """Jobs that can start together after some moves.

    Attributes
    ----------
    pools
        The pool of every job that starts, by its position in the queue.
    nodes
        The nodes of its instances, by the same key.
    moves
        Without steps.
    most
        No more jobs can start together.
    moves_lower_bound
        So many jobs need at least so many moves.
    """

    pools: dict[int, str]
    nodes: dict[int, tuple[str, ...]]
    moves: tuple[Move, ...]
    most: int
    moves_lower_bound: int


def make_joint_room(snapshot: Snapshot, groups: Groups, jobs: Sequence[PendingJob], deadline: Deadline) -> JointRoom:
    """Return the largest set of jobs that can start together, after the fewest moves that do for so many.

    Without a time limit both are exact. If time runs out the set is what was found by then, perhaps none.
    """
    model = _JointModel(groups, jobs)
    start = model.starting
    first = solve_priced(model.program((column, -1) for column in start), deadline)
    most = len(jobs) if first.bound is None else min(len(jobs), -first.bound)
    if not first.values:
        return JointRoom(pools={}, nodes={}, moves=(), most=most, moves_lower_bound=0)
    count = sum(first.values[column] for column in start)
    goal = Row(count, None, tuple((column, 1) for column in start))
    second = solve_priced(model.program(model.moves, [goal]), deadline)
    settled = first.outcome is Outcome.OPTIMAL
    pools, nodes, moves = model.decode(second.values or first.values, snapshot)
    return JointRoom(
        pools=pools,
        nodes=nodes,
        moves=moves,
        most=most,
        moves_lower_bound=max(0, second.bound or 0) if settled else 0,
    )


class _JointModel:
    def __init__(self, groups: Groups, jobs: Sequence[PendingJob]) -> None:
        self._groups = groups
        self._jobs = jobs
        self._models: dict[str, RoomModel] = {}
        self._uppers: list[int] = []
        for pool, members in groups.items():
            new: Counter[int] = Counter()
            for job in jobs:
                if job.pool in {None, pool}:
                    new[job.gpus_per_instance] += job.instances
            nodes = {group: len(names) for group, names in members.items()}
            self._models[pool] = RoomModel(nodes, new, first_column=len(self._uppers))
            self._uppers += self._models[pool].uppers
        # The column that says whether a job starts in a pool.
        self.starting: dict[int, tuple[int, str]] = {}
        for j, job in enumerate(jobs):
            for pool in groups:
                if job.pool in {None, pool}:
                    self.starting[len(self._uppers)] = j, pool
                    self._uppers.append(1)

    @property
    def moves(self) -> list[tuple[int, int]]:
        return [term for model in self._models.values() for term in model.moves]

    def program(self, minimise: Iterable[tuple[int, int]], rows: Iterable[Row] = ()) -> Program:
        costs = [0] * len(self._uppers)
        for column, cost in minimise:
            costs[column] = cost
        own = chain.from_iterable(model.rows for model in self._models.values())
        return Program(tuple(costs), tuple(self._uppers), (*own, *self._choices(), *self._counts(), *rows))

    def decode(
        self, values: Sequence[int], snapshot: Snapshot
    ) -> tuple[dict[int, str], dict[int, tuple[str, ...]], tuple[Move, ...]]:
        pools = {j: pool for column, (j, pool) in self.starting.items() if values[column]}
        moves: list[Move] = []
        free: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for pool, model in self._models.items():
            moved, new = relocations(snapshot, self._groups[pool], model.decode(values))
            moves += moved
            for node, demands in new.items():
                for gpus in demands:
                    free[pool, gpus].append(node)
        nodes: dict[int, tuple[str, ...]] = {}
        for j, pool in sorted(pools.items()):
            job = self._jobs[j]
            slots = free[pool, job.gpus_per_instance]
            nodes[j] = tuple(slots.pop() for _ in range(job.instances))
        return pools, nodes, tuple(moves)

    def _choices(self) -> list[Row]:
        """Return that a job starts in one pool at most."""
        columns: defaultdict[int, list[int]] = defaultdict(list)
        for column, (j, _) in self.starting.items():
            columns[j].append(column)
        return [Row(None, 1, tuple((column, 1) for column in of_job)) for of_job in columns.values()]

    def _counts(self) -> list[Row]:
        """Return that a pool has exactly the instances placed whose jobs start there."""
        rows: list[Row] = []
        for pool, model in self._models.items():
            instances: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
            for column, (j, at) in self.starting.items():
                if at == pool:
                    instances[self._jobs[j].gpus_per_instance].append((column, -self._jobs[j].instances))
            rows += (Row(0, 0, (*model.placed(gpus), *terms)) for gpus, terms in instances.items())
        return rows
