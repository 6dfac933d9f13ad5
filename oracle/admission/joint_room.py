"""Room for several waiting jobs at once: as many of them as possible, then as few moves as possible.

One integer program over all pools, with a column for every job and pool that it may start in: whether it does. Where
instances of a job need not be in one pool there is one for each of its parts and pools: how many of them are there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from oracle.admission.areas import pools_of
from oracle.admission.fitting import open_nodes, running_on
from oracle.admission.places import spread
from oracle.moves.naming import Naming, by_kind
from oracle.optimum.model import Model, Pool
from oracle.optimum.solver import Outcome, Row, solve_integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.admission.question import AskedJob, Waiting
    from oracle.moves.move import Move
    from oracle.optimum.model import Terms
    from oracle.optimum.solver import Deadline, IntegerAnswer
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRoom:
    """Jobs that can start together after some moves.

    Attributes
    ----------
    nodes
        The nodes of the instances of every job that starts, by its position in the queue and their number.
    moves
        Without steps.
    most
        No more can start together: jobs, or instances of those that start one by one.
    moves_lower_bound
        So many need at least so many moves.
    """

    nodes: dict[int, dict[int, str]]
    moves: tuple[Move, ...]
    most: int
    moves_lower_bound: int


def make_joint_room(snapshot: Snapshot, jobs: Sequence[AskedJob], deadline: Deadline) -> JointRoom:
    """Return the largest set of jobs that can start together, after the fewest moves that do for so many.

    Without a time limit both are exact. If time runs out the set is what was found by then, perhaps none. Where kinds
    leave something out the set may be none that can be had: `oracle.admission.queues` looks.
    """
    program = _JointProgram(snapshot, jobs)
    first = program.most_jobs(deadline)
    most = sum(1 if job.together else job.size for job in jobs)
    most = most if first.bound is None else min(most, -first.bound)
    if not first.values:
        return JointRoom(nodes={}, moves=(), most=most, moves_lower_bound=0)
    second = program.fewest_moves(program.starting(first.values), deadline)
    nodes, moves = program.decode(second.values or first.values)
    settled = first.outcome is Outcome.OPTIMAL
    lower_bound = max(0, second.bound or 0) if settled else 0
    return JointRoom(nodes=nodes, moves=moves, most=most, moves_lower_bound=lower_bound)


class _Column(NamedTuple):
    """A column: how often something of a job is in a pool.

    Attributes
    ----------
    job, pool
        Their positions; of a column that says whether a job starts whose parts are in several pools, no pool.
    instances
        What is there each time: pairs of a part of the job, by position, and how many instances of it.
    most
        How often at most.
    starts
        How much starts each time: 1 for a job, or for an instance of one that starts one by one.
    """

    job: int
    pool: int | None
    instances: tuple[tuple[int, int], ...]
    most: int
    starts: int


class _JointProgram:
    def __init__(self, snapshot: Snapshot, jobs: Sequence[AskedJob]) -> None:
        snapshot = snapshot.as_held
        # A job that has to be in one of several node sets stands here once for each; `_owners` are the jobs of these.
        self._jobs = [one for job in jobs for one in job.alternatives]
        self._owners = [j for j, job in enumerate(jobs) for _ in job.alternatives]
        guests = tuple(guest for j, job in enumerate(self._jobs) if job.is_constrained for guest in job.guests(j))
        self._snapshot = replace(snapshot, guests=guests) if guests else snapshot
        self._areas = [pools_of(job, snapshot) for job in self._jobs]
        self._pools = list(self._snapshot.contents)
        # Jobs of which something may be in a pool, by the pool's position and theirs, with their kinds there.
        self._waiting = [self._waiting_for(pool) for pool in self._pools]
        self._model = Model([self._pool(*pair) for pair in zip(self._pools, self._waiting, strict=True)])
        self._columns = dict(enumerate(self._possible(), start=self._model.size))

    def _waiting_for(self, pool: str) -> dict[int, Waiting]:
        kinds = self._snapshot.guest_kinds(pool)
        return {
            j: job.in_pool(pool, kinds if job.is_constrained else None, j)
            for j, job in enumerate(self._jobs)
            if any(pool in area for area in self._areas[j])
        }

    def _pool(self, name: str, waiting: Mapping[int, Waiting]) -> Pool:
        nodes = open_nodes(self._snapshot.contents[name])
        wanted: Counter[Kind] = Counter()
        for job in waiting.values():
            wanted += job.wanted
        return Pool(nodes, running_on(nodes), wanted)

    def _possible(self) -> Iterator[_Column]:
        numbers = {pool: p for p, pool in enumerate(self._pools)}
        for j, job in enumerate(self._jobs):
            counts = tuple((k, part.instances) for k, part in enumerate(job.parts))
            for area in self._areas[j]:
                if job.together and len(area) == 1:
                    yield _Column(j, numbers[area[0]], counts, 1, 1)
                    continue
                for pool in area:
                    yield from (_Column(j, numbers[pool], ((k, 1),), n, int(not job.together)) for k, n in counts)
                if job.together:
                    yield _Column(j, None, (), 1, 1)

    def starting(self, values: Sequence[int]) -> int:
        """Return how much starts in a solution."""
        return sum(one.starts * values[column] for column, one in self._columns.items())

    def most_jobs(self, deadline: Deadline) -> IntegerAnswer:
        """Return how much starts at most, as a negative number."""
        return self._solved(tuple((column, -one.starts) for column, one in self._columns.items()), [], deadline)

    def fewest_moves(self, starting: int, deadline: Deadline) -> IntegerAnswer:
        """Return how few instances that run have to move so that so much starts."""
        goal = Row(starting, None, tuple((column, one.starts) for column, one in self._columns.items()))
        placed = ((column, -sum(n for _, n in one.instances)) for column, one in self._columns.items())
        return self._solved((*self._model.moves, *placed), [goal], deadline)

    def _solved(self, minimise: Terms, rows: list[Row], deadline: Deadline) -> IntegerAnswer:
        columns = tuple(one.most for one in self._columns.values())
        program = self._model.program(minimise, [*rows, *self._choices(), *self._counts()], more_columns=columns)
        return solve_integers(program, deadline)

    def decode(self, values: Sequence[int]) -> tuple[dict[int, dict[int, str]], tuple[Move, ...]]:
        """Return the nodes of the jobs that start, and the moves."""
        moves: list[Move] = []
        nodes: defaultdict[int, dict[int, str]] = defaultdict(dict)
        naming = Naming(self._snapshot)
        changes = self._model.decode(values[: self._model.size])
        started = [Counter[int]() for _ in self._jobs]
        for p, (pool, changed) in enumerate(zip(self._pools, changes, strict=True)):
            named = naming.name(by_kind(self._snapshot.contents[pool]), changed)
            moves += named.moves
            there = [Counter[int]() for _ in self._jobs]
            for column, one in self._columns.items():
                if one.pool == p and values[column]:
                    for k, n in one.instances:
                        there[one.job][k] += n * values[column]
            chosen = [j for j, counts in enumerate(there) if counts]
            placed = spread([self._waiting[p][j] for j in chosen], named.places, [there[j] for j in chosen])
            for j, by_part in zip(chosen, placed, strict=True):
                firsts = self._jobs[j].firsts
                for k, names in by_part.items():
                    nodes[self._owners[j]].update(enumerate(names, start=firsts[k] + started[j][k]))
                    started[j][k] += len(names)
        return dict(nodes), tuple(moves)

    def _choices(self) -> list[Row]:
        """Return that a job starts in one pool and one node set at most, or each of its instances in one pool."""
        terms: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        most: dict[tuple[int, int], int] = {}
        for column, one in self._columns.items():
            job = self._jobs[one.job]
            if one.pool is None:
                for k, part in enumerate(job.parts):
                    terms[one.job, k].append((column, -part.instances))
                    most[one.job, k] = 0
            elif one.starts and job.together:
                terms[one.job, 0].append((column, 1))
                most[one.job, 0] = 1
            else:
                ((k, _),) = one.instances
                terms[one.job, k].append((column, 1))
                most.setdefault((one.job, k), job.parts[k].instances)
        whole = {one.job for one in self._columns.values() if one.pool is None}
        rows = [Row(0 if j in whole else None, most[j, k], tuple(of_part)) for (j, k), of_part in terms.items()]
        starts: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for column, one in self._columns.items():
            if one.starts and self._jobs[one.job].within_one_of:
                starts[self._owners[one.job]].append((column, 1))
        return [*rows, *(Row(None, 1, tuple(of_job)) for of_job in starts.values())]

    def _counts(self) -> list[Row]:
        """Return that a pool has exactly the instances placed that start there."""
        terms: defaultdict[tuple[int, Kind], Counter[int]] = defaultdict(Counter)
        for column, one in self._columns.items():
            if one.pool is not None:
                kinds = self._waiting[one.pool][one.job].part_kinds
                for k, n in one.instances:
                    terms[one.pool, kinds[k]][column] -= n
        return [Row(0, 0, (*self._model.placed(*key), *of_kind.items())) for key, of_kind in terms.items()]
