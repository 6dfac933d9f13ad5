"""The pattern model: how many nodes of each class hold each pattern. A peer of the oracle's own program.

Its size depends on the classes and demands, never on the number of nodes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.patterns import MAX_PATTERNS, SOURCE, LoadFlow, legal_patterns, load_flow
from oracle.optimum.node_classes import MAX_LOAD, NodeClass, packing
from oracle.optimum.solver import Program, Row, SolverError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from oracle.optimum.node_classes import Packing, PackingProblem, PlacedProblem
    from oracle.snapshots.model import Pattern


@dataclass(frozen=True, slots=True)
class Column:
    """One variable of the model.

    Attributes
    ----------
    node_class
        Index of the class it belongs to.
    takes
        Movable instances that one unit of it packs: those of a pattern, of an arc, or none for the end of a path.
    load
        Movable GPUs on the nodes it counts, up to `MAX_LOAD`; None for an arc, which counts no nodes.
    is_pattern
        Whether it stands for a whole pattern, not for a part of a flow.
    """

    node_class: int
    takes: Pattern
    load: int | None
    is_pattern: bool


class PatternModel:
    """A packing problem as a linear program over patterns, or over flows where a class has too many of them.

    The rows stand in this order: one a demand, in the order of the problem, then those of the classes.
    """

    def __init__(self, problem: PackingProblem, *, max_patterns: int = MAX_PATTERNS) -> None:
        self.problem = problem
        self._flows: dict[int, LoadFlow] = {}
        self._rows: list[Row] = []
        self.columns: list[Column] = []
        for c, (kind, nodes) in enumerate(zip(problem.classes, problem.nodes, strict=True)):
            patterns = legal_patterns(kind, problem.demands, limit=max_patterns)
            if patterns is None:
                self._add_flow(c, nodes, load_flow(kind, problem.demands))
            else:
                self._add_patterns(c, nodes, patterns)
        self._rows[:0] = self._demand_rows()
        available = dict(problem.demands)
        self._uppers = tuple(
            min((available[d] // k for d, k in Counter(column.takes).items()), default=problem.nodes[column.node_class])
            for column in self.columns
        )

    def _add_patterns(self, c: int, nodes: int, patterns: Iterable[Pattern]) -> None:
        first = len(self.columns)
        self.columns += (Column(c, pattern, min(sum(pattern), MAX_LOAD), is_pattern=True) for pattern in patterns)
        self._rows.append(Row(nodes, nodes, tuple((i, 1) for i in range(first, len(self.columns)))))

    def _add_flow(self, c: int, nodes: int, flow: LoadFlow) -> None:
        self._flows[c] = flow
        balance: dict[int, list[tuple[int, int]]] = {SOURCE: []}
        for i, arc in enumerate(flow.arcs, start=len(self.columns)):
            balance.setdefault(arc.tail, []).append((i, 1))
            balance.setdefault(arc.head, []).append((i, -1))
        self.columns += (Column(c, arc.takes, None, is_pattern=False) for arc in flow.arcs)
        for i, (state, _) in enumerate(flow.ends, start=len(self.columns)):
            balance.setdefault(state, []).append((i, 1))
        self.columns += (Column(c, (), load, is_pattern=False) for _, load in flow.ends)
        for state, terms in balance.items():
            supply = nodes if state == SOURCE else 0
            self._rows.append(Row(supply, supply, tuple(terms)))

    def _demand_rows(self) -> list[Row]:
        terms: dict[int, list[tuple[int, int]]] = {demand: [] for demand, _ in self.problem.demands}
        for i, column in enumerate(self.columns):
            for demand, copies in Counter(column.takes).items():
                terms[demand].append((i, copies))
        return [Row(count, count, tuple(terms[demand])) for demand, count in self.problem.demands]

    def program(self, cost: Callable[[NodeClass, int], bool] | None, rows: Iterable[Row] = ()) -> Program:
        """Return the program that minimises the nodes for which `cost(class, movable GPUs)` holds, under more `rows`.

        Without a cost any solution will do.
        """
        costs = [0] * len(self.columns)
        for i, _ in self.counting_where(cost) if cost else ():
            costs[i] = 1
        return Program(tuple(costs), self._uppers, (*self._rows, *rows))

    def counting_where(self, holds: Callable[[NodeClass, int], bool]) -> tuple[tuple[int, int], ...]:
        """Return the terms of a row that counts the nodes for which `holds(class, movable GPUs)`."""
        kinds = self.problem.classes
        return tuple(
            (i, 1)
            for i, column in enumerate(self.columns)
            if column.load is not None and holds(kinds[column.node_class], column.load)
        )

    def decode(self, values: Sequence[int]) -> Packing:
        """Return the packing that these values of the columns stand for. The caller checks it.

        Raises
        ------
        SolverError
            The values of a flow are none.
        """
        packed: Counter[tuple[int, Pattern]] = Counter()
        flows: dict[int, list[int]] = {c: [] for c in self._flows}
        for column, value in zip(self.columns, values, strict=True):
            if column.is_pattern:
                packed[column.node_class, column.takes] += value
            else:
                flows[column.node_class].append(value)
        for c, amounts in flows.items():
            arcs = len(self._flows[c].arcs)
            try:
                patterns = self._flows[c].decompose(amounts[:arcs], amounts[arcs:])
            except ValueError as error:
                raise SolverError(f"the solution of class {c} is none: {error}") from error
            for pattern, nodes in patterns.items():
                packed[c, pattern] += nodes
        return packing(packed)


def pairs_program(placed: PlacedProblem, limit: int) -> Program:
    """Return the fewest migrations to so few partial nodes, with a column for each pattern now and afterwards."""
    problem, groups = placed.problem, placed.current
    columns = [
        (g, Counter(group.pattern), Counter(after), problem.classes[group.node_class].is_partial(sum(after)))
        for g, group in enumerate(groups)
        for after in legal_patterns(problem.classes[group.node_class], problem.demands, limit=10_000) or ()
    ]
    rows = [
        Row(group.nodes, group.nodes, tuple((i, 1) for i, column in enumerate(columns) if column[0] == g))
        for g, group in enumerate(groups)
    ]
    for demand, _ in problem.demands:
        terms = ((i, after[demand] - before[demand]) for i, (_, before, after, _) in enumerate(columns))
        rows.append(Row(0, 0, tuple((i, change) for i, change in terms if change)))
    rows.append(Row(None, limit, tuple((i, 1) for i, column in enumerate(columns) if column[3])))
    costs = tuple((after - before).total() for _, before, after, _ in columns)
    return Program(costs, tuple(groups[column[0]].nodes for column in columns), tuple(rows))
