"""Making room for waiting instances by few moves, as an integer program over what the nodes keep and what they get.

Every node that takes instances first keeps a part of what it has; that leaves it so many free GPUs, and from then on it
does not matter which node it was. What it gets, moved instances at a cost of one each and new ones for nothing, is a
walk over free GPUs: from 5 to 2 by an instance of 3. So there are two small sets of columns, the kept parts of each
pattern present and the steps of the walk, where pairs of patterns before and after would be their product. Both
describe the same placements, and a flow over free GPUs decomposes into the walks of single nodes.

Nodes that take nothing are left out: to empty them makes no room that could be used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from oracle.node_classes import NodeClass
from oracle.patterns import SOURCE, LoadFlow, legal_patterns, load_flow
from oracle.solver import Program, Row, SolverError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.node_classes import NodeContent, Pattern


# Parts of a node's instances listed as columns of their own, which solve better than a flow: those of 10 different
# instances are 1,024. Nodes with more get a flow.
MAX_KEPT = 1_100


class Group(NamedTuple):
    """All nodes with so many GPUs beside what cannot move, and these movable instances."""

    room: int
    own: Pattern


class Step(NamedTuple):
    """A node with `free` GPUs gets an instance, a moved or a new one."""

    free: int
    gpus: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class NodeChange:
    """So many nodes of one group keep this, get those from elsewhere, and have room for the new ones."""

    group: Group
    kept: Pattern
    arriving: Pattern
    new: Pattern
    nodes: int


def groups_of(contents: Iterable[NodeContent]) -> dict[Group, list[str]]:
    """Return the names of the nodes that take instances, by group."""
    groups: defaultdict[Group, list[str]] = defaultdict(list)
    for content in contents:
        if content.takes_instances:
            groups[Group(content.capacity - sum(content.immovable), content.movable)].append(content.name)
    return dict(groups)


class RoomModel:
    """The program of one pool; several can be put side by side by numbering the columns of each from another start.

    Parameters
    ----------
    nodes
        Nodes by group.
    instances
        Movable instances by demand, all of which have to be on these nodes in the end. None for those that the groups
        have now.
    new
        Waiting instances by demand, at most so many.
    first_column
        Number of the first column.
    """

    def __init__(
        self,
        nodes: Mapping[Group, int],
        new: Mapping[int, int],
        *,
        instances: Mapping[int, int] | None = None,
        first_column: int = 0,
    ) -> None:
        if instances is None:
            instances = Counter(demand for group, count in nodes.items() for demand in group.own * count)
        self._first = first_column
        self._nodes = dict(nodes)
        self._flows: dict[Group, LoadFlow] = {}
        self._columns: dict[Group, range] = {}
        self._patterns: dict[Group, tuple[Pattern, ...]] = {}
        self._steps: dict[int, Step] = {}
        self._supply: defaultdict[int, list[int]] = defaultdict(list)
        self._packing: dict[int, list[tuple[int, int]]] = {demand: [] for demand in sorted(instances, reverse=True)}
        self._class_rows: list[Row] = []
        self.uppers: list[int] = []
        for group in sorted(nodes):
            self._add_kept(group, nodes[group])
        self._add_steps(instances, new)
        # In this order, so that the dual value of every demand can be told.
        self.demands = tuple(self._packing)
        self.rows = [
            *(Row(instances[d], instances[d], tuple(self._packing[d])) for d in self.demands),
            *self._class_rows,
            *self._balance(),
        ]

    @property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """Terms that count the instances that arrive on another node."""
        return tuple((column, 1) for column, step in self._steps.items() if not step.is_new)

    def placed(self, gpus: int) -> tuple[tuple[int, int], ...]:
        """Return the terms that count the new instances of one demand that have room."""
        return tuple((column, 1) for column, step in self._steps.items() if step.is_new and step.gpus == gpus)

    def program(self, minimise: Iterable[tuple[int, int]], rows: Iterable[Row] = ()) -> Program:
        """Return this model alone as a program."""
        costs = [0] * len(self.uppers)
        for column, cost in minimise:
            costs[column] = cost
        return Program(tuple(costs), tuple(self.uppers), (*self.rows, *rows))

    def decode(self, values: Sequence[int]) -> list[NodeChange]:
        """Return what becomes of the nodes, given the values of all columns, those of other models included.

        Raises
        ------
        SolverError
            The values are no solution.
        """
        walks = _Walks({step: values[column] for column, step in self._steps.items()})
        changes: list[NodeChange] = []
        for group, columns in self._columns.items():
            for kept, count in self._kept(group, [values[column] for column in columns]):
                for (arriving, new), nodes in walks.take(group.room - sum(kept), count).items():
                    changes.append(NodeChange(group, kept, arriving, new, nodes))
        walks.check_finished()
        return changes

    def _kept(self, group: Group, values: list[int]) -> Iterator[tuple[Pattern, int]]:
        if group in self._patterns:
            return ((kept, n) for kept, n in zip(self._patterns[group], values, strict=True) if n)
        flow = self._flows[group]
        try:
            return iter(flow.decompose(values[: len(flow.arcs)], values[len(flow.arcs) :]).items())
        except ValueError as error:
            raise SolverError(f"the solution of the nodes with {list(group.own)} is none: {error}") from error

    def _column(self, upper: int) -> int:
        self.uppers.append(upper)
        return self._first + len(self.uppers) - 1

    def _add_kept(self, group: Group, nodes: int) -> None:
        kind = NodeClass(group.room, 0, 0, group.own)
        first = self._first + len(self.uppers)
        patterns = legal_patterns(kind, (), limit=MAX_KEPT)
        if patterns is None:
            self._add_flow(group, nodes, load_flow(kind, ()))
        else:
            self._patterns[group] = patterns
            for kept in patterns:
                column = self._column(nodes)
                self._supply[group.room - sum(kept)].append(column)
                self._pack(column, kept)
            self._class_rows.append(Row(nodes, nodes, tuple((first + i, 1) for i in range(len(patterns)))))
        self._columns[group] = range(first, self._first + len(self.uppers))

    def _add_flow(self, group: Group, nodes: int, flow: LoadFlow) -> None:
        self._flows[group] = flow
        balance: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for arc in flow.arcs:
            column = self._column(nodes)
            balance[arc.tail].append((column, 1))
            balance[arc.head].append((column, -1))
            self._pack(column, arc.takes)
        for state, load in flow.ends:
            column = self._column(nodes)
            balance[state].append((column, 1))
            self._supply[group.room - load].append(column)
        for state, terms in balance.items():
            supply = nodes if state == SOURCE else 0
            self._class_rows.append(Row(supply, supply, tuple(terms)))

    def _pack(self, column: int, takes: Pattern) -> None:
        for demand, copies in Counter(takes).items():
            self._packing[demand].append((column, copies))

    def _add_steps(self, instances: Mapping[int, int], new: Mapping[int, int]) -> None:
        kinds = [(gpus, True, count) for gpus, count in new.items()]
        kinds += ((gpus, False, count) for gpus, count in instances.items())
        pending, seen = sorted(self._supply), set(self._supply)
        while pending:
            free = pending.pop()
            for gpus, is_new, count in kinds:
                if count and gpus <= free:
                    column = self._column(count)
                    self._steps[column] = Step(free, gpus, is_new)
                    if not is_new:
                        self._packing[gpus].append((column, 1))
                    if free - gpus not in seen:
                        seen.add(free - gpus)
                        pending.append(free - gpus)

    def _balance(self) -> Iterator[Row]:
        """Yield for each number of free GPUs that at most so many nodes go on from there as come there."""
        terms: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for free, columns in self._supply.items():
            terms[free] += ((column, -1) for column in columns)
        for column, step in self._steps.items():
            terms[step.free].append((column, 1))
            terms[step.free - step.gpus].append((column, -1))
        leaves = {step.free for step in self._steps.values()}
        return (Row(None, 0, tuple(terms[free])) for free in sorted(leaves))


class _Walks:
    """The steps of all nodes together, from which single walks are taken; every step is taken in the end."""

    def __init__(self, steps: Mapping[Step, int]) -> None:
        self._left: defaultdict[int, list[Step]] = defaultdict(list)
        self._count = dict(steps)
        for step, count in steps.items():
            if count:
                self._left[step.free].append(step)

    def take(self, free: int, nodes: int) -> dict[tuple[Pattern, Pattern], int]:
        """Return what so many nodes that begin with `free` GPUs get: moved and new instances, and how many nodes."""
        taken: Counter[tuple[Pattern, Pattern]] = Counter()
        while nodes:
            path: list[Step] = []
            at = free
            while self._left[at]:
                path.append(self._left[at][-1])
                at -= path[-1].gpus
            together = min([nodes, *(self._count[step] for step in path)])
            for step in path:
                self._count[step] -= together
                if not self._count[step]:
                    self._left[step.free].remove(step)
            moved, new = (
                tuple(sorted((step.gpus for step in path if step.is_new is is_new), reverse=True))
                for is_new in (False, True)
            )
            taken[moved, new] += together
            nodes -= together
        return dict(taken)

    def check_finished(self) -> None:
        if any(self._count.values()):
            raise SolverError("the solution has instances that arrive nowhere")
