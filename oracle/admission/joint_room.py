"""Room for several waiting jobs at once: as many of them as possible, then as few moves as possible.

One integer program over all pools, with a column for every job and pool that it may start in: whether it does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.admission.fitting import open_nodes, running_on
from oracle.admission.question import jobs_for
from oracle.moves.naming import Naming, by_kind
from oracle.optimum.model import Model, Pool
from oracle.optimum.solver import Outcome, Row, solve_integers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.moves.move import Move
    from oracle.optimum.model import Terms
    from oracle.optimum.solver import Deadline, IntegerAnswer
    from oracle.snapshots.model import PendingJob, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRoom:
    """Jobs that can start together after some moves.

    Attributes
    ----------
    nodes
        The nodes of the instances of every job that starts, by its position in the queue.
    moves
        Without steps.
    most
        No more jobs can start together.
    moves_lower_bound
        So many jobs need at least so many moves.
    """

    nodes: dict[int, tuple[str, ...]]
    moves: tuple[Move, ...]
    most: int
    moves_lower_bound: int


def make_joint_room(snapshot: Snapshot, jobs: Sequence[PendingJob], deadline: Deadline) -> JointRoom:
    """Return the largest set of jobs that can start together, after the fewest moves that do for so many.

    Without a time limit both are exact. If time runs out the set is what was found by then, perhaps none.
    """
    program = _JointProgram(snapshot, jobs)
    first = program.most_jobs(deadline)
    most = len(jobs) if first.bound is None else min(len(jobs), -first.bound)
    if not first.values:
        return JointRoom(nodes={}, moves=(), most=most, moves_lower_bound=0)
    second = program.fewest_moves(sum(first.values[column] for column in program.starting), deadline)
    nodes, moves = program.decode(second.values or first.values)
    settled = first.outcome is Outcome.OPTIMAL
    lower_bound = max(0, second.bound or 0) if settled else 0
    return JointRoom(nodes=nodes, moves=moves, most=most, moves_lower_bound=lower_bound)


class _JointProgram:
    def __init__(self, snapshot: Snapshot, jobs: Sequence[PendingJob]) -> None:
        self._snapshot = snapshot
        self._contents = snapshot.contents
        self._jobs = jobs
        self._model = Model([self._pool(name) for name in self._contents])
        # The column that says whether a job, by position, starts in a pool, by position.
        pools = list(enumerate(self._contents))
        possible = [(j, p) for j, job in enumerate(jobs) for p, name in pools if job.pool in {None, name}]
        self.starting = dict(enumerate(possible, start=self._model.size))

    def _pool(self, name: str) -> Pool:
        nodes = open_nodes(self._contents[name])
        waiting: Counter[int] = Counter()
        for job in jobs_for(self._jobs, name):
            waiting[job.gpus_per_instance] += job.instances
        return Pool(nodes, running_on(nodes), waiting)

    def most_jobs(self, deadline: Deadline) -> IntegerAnswer:
        """Return how many jobs start at most, as a negative number."""
        return self._solved(tuple((column, -1) for column in self.starting), [], deadline)

    def fewest_moves(self, jobs: int, deadline: Deadline) -> IntegerAnswer:
        """Return how few instances that run have to move so that so many jobs start."""
        goal = Row(jobs, None, tuple((column, 1) for column in self.starting))
        instances = ((column, -self._jobs[j].instances) for column, (j, _) in self.starting.items())
        return self._solved((*self._model.moves, *instances), [goal], deadline)

    def _solved(self, minimise: Terms, rows: list[Row], deadline: Deadline) -> IntegerAnswer:
        columns = (1,) * len(self.starting)
        program = self._model.program(minimise, [*rows, *self._choices(), *self._counts()], more_columns=columns)
        return solve_integers(program, deadline)

    def decode(self, values: Sequence[int]) -> tuple[dict[int, tuple[str, ...]], tuple[Move, ...]]:
        """Return the nodes of the jobs that start, and the moves."""
        moves: list[Move] = []
        places: list[Mapping[int, list[str]]] = []
        naming = Naming(self._snapshot)
        changes = self._model.decode(values[: self._model.size])
        for contents, changed in zip(self._contents.values(), changes, strict=True):
            named = naming.name(by_kind(contents), changed)
            moves += named.moves
            places.append(named.places)
        starting = sorted(key for column, key in self.starting.items() if values[column])
        nodes = {
            j: tuple(places[p][self._jobs[j].gpus_per_instance].pop() for _ in range(self._jobs[j].instances))
            for j, p in starting
        }
        return nodes, tuple(moves)

    def _choices(self) -> list[Row]:
        """Return that a job starts in one pool at most."""
        columns: defaultdict[int, list[int]] = defaultdict(list)
        for column, (j, _) in self.starting.items():
            columns[j].append(column)
        return [Row(None, 1, tuple((column, 1) for column in of_job)) for of_job in columns.values()]

    def _counts(self) -> list[Row]:
        """Return that a pool has exactly the instances placed whose jobs start there."""
        terms: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for column, (j, p) in self.starting.items():
            terms[p, self._jobs[j].gpus_per_instance].append((column, -self._jobs[j].instances))
        return [Row(0, 0, (*self._model.placed(*key), *of_demand)) for key, of_demand in terms.items()]
