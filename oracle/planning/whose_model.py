"""Whose instances move, as an integer program: the program of the oracle, and one column more for each job.

How patterns change and whose instances move belong together: of the many plans with the fewest migrations some disturb
half as many jobs as others. So nodes that hold the same pattern are told apart here, by the jobs of their instances. Of
what leaves a node so many instances are of this job and so many of that, and a job of which any instance leaves is
disturbed: it pauses once, however many they are. What arrives, and where, is left to the walks of the oracle's program,
in which nodes need not be told apart; that keeps this one small.

Nodes whose instances all belong to jobs with no other instance, of one weight, can take each other's part: they are
counted together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from oracle.moves.naming import Naming
from oracle.optimum.model import Model, NodeKind, Pool
from oracle.optimum.solver import Row, solve_integers, solve_relaxation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.moves.move import Move
    from oracle.optimum.model import Change, Terms
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import NodeContent, Snapshot

# Nodes of the search tree: most programs need one; those that need more than this many end with a small gap.
MAX_NODES = 100

# More rounds of cutting planes seldom raise the bound: 5 halve the time of SCIP's own choice.
_CUT_ROUNDS = 5

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solve came to.

    Attributes
    ----------
    moves
        The best moves found.
    changes
        How many nodes change in which way, by pool.
    value
        What was to be least, in that solution.
    bound
        The least it is in any solution, as the solver claims.
    """

    moves: tuple[Move, ...]
    changes: tuple[Mapping[Change, int], ...]
    value: int
    bound: int


class WhoseModel:
    """The program of a snapshot. What is to be least, and within what, is said when it is solved.

    Parameters
    ----------
    snapshot
        The cluster. What must not move is immovable in it.
    weights
        What it costs to disturb a job; 1 if it is not named.

    Attributes
    ----------
    disturbed
        Counts the jobs disturbed.
    weight
        Adds up their weights.
    priority
        Adds up how high their priorities are; empty if all are alike.
    moves, gpus, partial
        Count the instances that move, their GPUs, and the nodes that are partial afterwards.
    """

    def __init__(self, snapshot: Snapshot, weights: Mapping[str, int]) -> None:
        self._snapshot = snapshot
        self._weights = weights
        self._ranks = snapshot.priority_ranks
        self._held: defaultdict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
        for job in snapshot.jobs:
            for i, instance in enumerate(job.instances):
                if instance.movable:
                    self._held[instance.node][snapshot.kinds[job.name, i], job.name] += 1
        self._instances: Counter[str] = Counter()
        for held in self._held.values():
            for (_, name), count in held.items():
                self._instances[name] += count
        self._nodes = [self._told_apart(contents) for contents in snapshot.contents.values()]
        self._model = Model([_pool(nodes) for nodes in self._nodes])
        self.moves, self.gpus, self.partial = self._model.moves, self._model.gpus, self._model.partial
        self._uppers: list[int] = []
        self._rows: list[Row] = []
        self._costs: dict[int, int] = {}
        self._heights: dict[int, int] = {}
        # The column of each job of several instances; those that count what leaves nodes, with the job it is of.
        self._jobs = {job: self._column(1, job) for job, count in sorted(self._instances.items()) if count > 1}
        self._leaving: dict[int, str] = {}
        for p, kind, kept in self._model.kept():
            for gpus in sorted(set(kind.holds)):
                self._add_leaving(self._nodes[p][kind], gpus, kind.holds.count(gpus), kept.get(gpus, ()))
        self.disturbed: Terms = tuple((column, 1) for column in self._costs)
        self.weight: Terms = tuple(self._costs.items())
        self.priority: Terms = tuple((column, height) for column, height in self._heights.items() if height)

    @property
    def size(self) -> int:
        """Number of columns."""
        return self._model.size + len(self._uppers)

    def within(self, p: int, partial_nodes: int, moves: int) -> list[Row]:
        """Return that one pool has at most so many partial nodes after at most so many moves."""
        return [Row(None, partial_nodes, self._model.partial_in(p)), Row(None, moves, self._model.moves_in(p))]

    def solve(
        self, least: Terms, within: Iterable[Row], deadline: Deadline, *, max_nodes: int = MAX_NODES
    ) -> Answer | None:
        """Return a solution with the least value of one linear function; None if none was found.

        Raises
        ------
        SolverError
            The solver returned nonsense.
        """
        program = self._model.program(least, [*self._rows, *within], more_columns=self._uppers)
        answer = solve_integers(program, deadline, max_nodes=max_nodes, max_cut_rounds=_CUT_ROUNDS)
        if not answer.values:
            return None
        value = sum(cost * amount for cost, amount in zip(program.costs, answer.values, strict=True))
        return Answer(*self._decode(answer.values), value, value if answer.bound is None else answer.bound)

    def least(self, least: Terms, within: Iterable[Row], deadline: Deadline) -> int:
        """Return a bound on one linear function: the least over real numbers, rounded up; 0 if time runs out."""
        program = self._model.program(least, [*self._rows, *within], more_columns=self._uppers)
        relaxation = solve_relaxation(program, deadline)
        return 0 if relaxation is None else max(0, ceil(relaxation.objective - _TOLERANCE))

    def _told_apart(self, contents: Iterable[NodeContent]) -> dict[NodeKind, list[str]]:
        """Return the names of the nodes that take each other's part, by kind; the mark is the name of the first."""
        alike: defaultdict[tuple[NodeKind, tuple[int, int], str], list[str]] = defaultdict(list)
        for node in contents:
            jobs = {job for _, job in self._held[node.name]}
            costs = {(self._weights.get(job, 1), self._ranks[job]) for job in jobs}
            alone = len(costs) <= 1 and all(self._instances[job] == 1 for job in jobs)
            alike[NodeKind.of(node), max(costs, default=(0, 0)), "" if alone else node.name].append(node.name)
        return {kind._replace(mark=names[0]): names for (kind, _, _), names in alike.items()}

    def _column(self, most: int, job: str = "") -> int:
        """Return a new column; one that disturbs a job costs its weight, and counts how high its priority is."""
        column = self.size
        self._uppers.append(most)
        if job:
            self._costs[column] = self._weights.get(job, 1)
            self._heights[column] = self._ranks[job]
        return column

    def _add_leaving(self, names: Sequence[str], gpus: int, held: int, kept: Terms) -> None:
        """Add columns for the instances of one demand that leave such nodes, by job; the others are kept."""
        total = held * len(names)
        here = {job: count for (demand, job), count in sorted(self._held[names[0]].items()) if demand == gpus}
        if len(names) > 1:
            # Any of these nodes, and of their jobs, will do.
            here = {min(here): total}
        leaving: list[tuple[int, int]] = []
        for job, count in here.items():
            shared = self._jobs.get(job)
            column = self._column(count, "" if shared is not None else job)
            if shared is not None:
                self._rows.append(Row(None, 0, ((column, 1), (shared, -count))))
            self._leaving[column] = job
            leaving.append((column, 1))
        self._rows.append(Row(total, total, (*kept, *leaving)))

    def _decode(self, values: Sequence[int]) -> tuple[tuple[Move, ...], tuple[Mapping[Change, int], ...]]:
        jobs = {job for column, job in self._leaving.items() if values[column]}
        naming = Naming(self._snapshot, self._weights, jobs)
        changes = self._model.decode(values[: self._model.size])
        moves = [
            move for nodes, own in zip(self._nodes, changes, strict=True) for move in naming.name(nodes, own).moves
        ]
        return tuple(sorted(moves)), tuple(_unmarked(own) for own in changes)


def _pool(nodes: Mapping[NodeKind, Sequence[str]]) -> Pool:
    instances: Counter[int] = Counter()
    for kind, names in nodes.items():
        for gpus in kind.holds:
            instances[gpus] += len(names)
    return Pool({kind: len(names) for kind, names in nodes.items()}, instances)


def _unmarked(changes: Mapping[Change, int]) -> Counter[Change]:
    """Return changes of nodes that are no longer told apart."""
    counted: Counter[Change] = Counter()
    for change, nodes in changes.items():
        counted[change._replace(kind=change.kind._replace(mark=""))] += nodes
    return counted
