"""Choosing whose instances move, exactly: an integer program over nodes and jobs.

Nodes whose instances all belong to jobs with no other instance here, of one weight, can take each other's part: they
are counted together. Every other node has columns of its own, and one for each demand and job on it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

from oracle.optimum.solver import Program, Row, solve_integers, solve_relaxation
from oracle.planning.choosing.disturbance import NodeChange, Selection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from oracle.optimum.solver import Deadline
    from oracle.planning.choosing.disturbance import NodeChoice, Option, Resident, SelectionProblem

# Most programs need one node of the search tree; those that need more than this many end with a small gap.
MAX_NODES = 100

_TOLERANCE = 1e-6

Terms: TypeAlias = list[tuple[int, int]]
"""A linear function: pairs of a column and its coefficient."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solve came to.

    Attributes
    ----------
    selection
        The best selection found; None if none was found.
    value
        What was to be least, in that selection.
    bound
        The least it is in any selection, as the solver claims; None if it claims nothing.
    """

    selection: Selection | None
    value: int | None
    bound: int | None


@dataclass(frozen=True, slots=True)
class _Kind:
    """Nodes that take each other's part, the column of each option, and of each demand and job that may leave.

    Without columns for jobs, any instances may leave.
    """

    nodes: Sequence[NodeChoice]
    options: Sequence[int]
    jobs: Mapping[tuple[int, str], int]


class SelectionModel:
    """A selection problem as an integer program. What is to be least, and within what, is said when it is solved.

    Attributes
    ----------
    disturbed
        Counts the jobs disturbed.
    weight
        Adds up their weights.
    gpus
        Adds up the GPUs of the instances that move.
    migrations
        Counts the instances that move.
    partial
        Counts the nodes that are partial afterwards, of those in the problem.
    """

    def __init__(self, problem: SelectionProblem) -> None:
        self._problem = problem
        self._uppers: list[int] = []
        self._rows: list[Row] = []
        self.disturbed: Terms = []
        self.weight: Terms = []
        self.gpus: Terms = []
        self.migrations: Terms = []
        self.partial: Terms = []
        instances = Counter(resident.job for node in problem.nodes for resident in node.residents)
        self._job = {job: self._add_job(job) for job, count in sorted(instances.items()) if count > 1}
        self._kinds = [self._add_kind(nodes) for nodes in self._alike()]
        self._add_balances()
        self._add_limits()

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self._uppers)

    def solve(
        self, least: Terms, within: Iterable[tuple[Terms, int]], deadline: Deadline, *, max_nodes: int = MAX_NODES
    ) -> Answer:
        """Return a selection with the least value of one linear function, others at most as given.

        Raises
        ------
        SolverError
            The solver returned nonsense.
        """
        costs = [0] * self.size
        for column, coefficient in least:
            costs[column] += coefficient
        rows = (Row(None, most, tuple(terms)) for terms, most in within)
        program = Program(tuple(costs), tuple(self._uppers), (*self._rows, *rows))
        answer = solve_integers(program, deadline, max_nodes=max_nodes)
        if not answer.values:
            return Answer(None, None, None)
        value = sum(cost * amount for cost, amount in zip(costs, answer.values, strict=True))
        return Answer(self._decode(answer.values), value, answer.bound)

    def relax(self, deadline: Deadline) -> tuple[int, frozenset[str]] | None:
        """Return a bound on the weight of the jobs disturbed, and the jobs that move if fractions of nodes may change.

        None if time runs out. The bound is what a linear program over real numbers costs, rounded up.

        Raises
        ------
        SolverError
            OR-Tools is built without GLOP.
        """
        costs = [0] * self.size
        for column, weight in self.weight:
            costs[column] += weight
        relaxation = solve_relaxation(Program(tuple(costs), tuple(self._uppers), tuple(self._rows)), deadline)
        if relaxation is None:
            return None
        moves = {column for column, value in enumerate(relaxation.values) if value > _TOLERANCE}
        jobs = {job for job, column in self._job.items() if column in moves}
        for kind in self._kinds:
            jobs.update(self._lone_jobs(kind, moves))
        return ceil(relaxation.objective - _TOLERANCE), frozenset(jobs)

    def _lone_jobs(self, kind: _Kind, moves: Collection[int]) -> Iterator[str]:
        """Yield the jobs with a single instance that may be among those that leave these nodes."""
        if kind.jobs:
            yield from (job for (_, job), column in kind.jobs.items() if column in moves and job not in self._job)
            return
        taken = [option for column, option in zip(kind.options, kind.nodes[0].options, strict=True) if column in moves]
        demands = {demand for option in taken for demand, _ in option.leaves}
        yield from (resident.job for node in kind.nodes for resident in node.residents if resident.gpus in demands)

    def _column(self, upper: int) -> int:
        self._uppers.append(upper)
        return len(self._uppers) - 1

    def _add_job(self, job: str) -> int:
        column = self._column(1)
        self.disturbed.append((column, 1))
        self.weight.append((column, self._problem.weights[job]))
        return column

    def _alike(self) -> Iterator[list[NodeChoice]]:
        """Yield the nodes that take each other's part, together."""
        kinds: defaultdict[tuple[int, int, int | str], list[NodeChoice]] = defaultdict(list)
        for node in self._problem.nodes:
            weights = {self._problem.weights[resident.job] for resident in node.residents}
            alone = all(resident.job not in self._job for resident in node.residents) and len(weights) <= 1
            kinds[node.pool, node.group, max(weights, default=0) if alone else node.name].append(node)
        yield from kinds.values()

    def _add_kind(self, nodes: Sequence[NodeChoice]) -> _Kind:
        options = [self._add_option(option, len(nodes)) for option in nodes[0].options]
        self._rows.append(Row(len(nodes), len(nodes), tuple((column, 1) for column in options)))
        residents = nodes[0].residents
        if any(resident.job in self._job for resident in residents) or self._weights_differ(residents):
            return _Kind(nodes, options, self._add_leavers(nodes[0], options))
        for column, option in zip(options, nodes[0].options, strict=True):
            leavers = sum(count for _, count in option.leaves)
            self.disturbed.append((column, leavers))
            self.weight.append((column, leavers * max((self._problem.weights[r.job] for r in residents), default=0)))
        return _Kind(nodes, options, {})

    def _weights_differ(self, residents: Sequence[Resident]) -> bool:
        return len({self._problem.weights[resident.job] for resident in residents}) > 1

    def _add_option(self, option: Option, nodes: int) -> int:
        column = self._column(nodes)
        self.gpus.append((column, option.gpus_arriving))
        self.migrations.append((column, option.migrations))
        self.partial.append((column, int(option.partial)))
        return column

    def _add_leavers(self, node: NodeChoice, options: Sequence[int]) -> dict[tuple[int, str], int]:
        """Add a column for each demand and job of which instances may leave; as many leave as the option says."""
        leavers: dict[tuple[int, str], int] = {}
        for demand in sorted({demand for option in node.options for demand, _ in option.leaves}):
            here = Counter(resident.job for resident in node.residents if resident.gpus == demand)
            for job, count in sorted(here.items()):
                column = leavers[demand, job] = self._column(count)
                if job in self._job:
                    self._rows.append(Row(None, 0, ((column, 1), (self._job[job], -count))))
                else:
                    self.disturbed.append((column, 1))
                    self.weight.append((column, self._problem.weights[job]))
            leave = [
                (column, -dict(option.leaves).get(demand, 0))
                for column, option in zip(options, node.options, strict=True)
            ]
            self._rows.append(Row(0, 0, (*((leavers[demand, job], 1) for job in here), *leave)))
        return leavers

    def _add_balances(self) -> None:
        """As many instances of a demand arrive in a pool as leave."""
        terms: defaultdict[tuple[int, int], Terms] = defaultdict(list)
        for kind in self._kinds:
            pool = kind.nodes[0].pool
            for column, option in zip(kind.options, kind.nodes[0].options, strict=True):
                for demand, count in option.arrives:
                    terms[pool, demand].append((column, count))
                for demand, count in option.leaves:
                    terms[pool, demand].append((column, -count))
        self._rows += (Row(0, 0, tuple(balance)) for balance in terms.values())

    def _add_limits(self) -> None:
        pool_of = {column: kind.nodes[0].pool for kind in self._kinds for column in kind.options}
        for p, limit in enumerate(self._problem.limits):
            for most, terms in ((limit.partial_nodes, self.partial), (limit.migrations, self.migrations)):
                if most is not None:
                    self._rows.append(Row(None, most, tuple(term for term in terms if pool_of[term[0]] == p)))

    def _decode(self, values: Sequence[int]) -> Selection:
        changes: list[NodeChange] = []
        for kind in self._kinds:
            names = iter(sorted(kind.nodes, key=lambda node: node.name))
            for column, option in zip(kind.options, kind.nodes[0].options, strict=True):
                for node in (next(names) for _ in range(values[column])):
                    leaving = _first_leaving(node, option, {key: values[leaver] for key, leaver in kind.jobs.items()})
                    if leaving or option.arrives:
                        changes.append(NodeChange(node, option, leaving))
        return Selection(tuple(sorted(changes, key=lambda change: change.node.name)))


def _first_leaving(node: NodeChoice, option: Option, leaving: Mapping[tuple[int, str], int]) -> tuple[Resident, ...]:
    """Return the first instances of each demand, or of each demand and job where that is said."""
    chosen: list[Resident] = []
    for demand, count in option.leaves:
        here = [resident for resident in node.residents if resident.gpus == demand]
        if leaving:
            jobs = sorted({resident.job for resident in here})
            for job in jobs:
                chosen += [resident for resident in here if resident.job == job][: leaving[demand, job]]
        else:
            chosen += here[:count]
    return tuple(sorted(chosen))
