"""Nodes and the instances on them as an integer program, each by its name: every rule that a replay checks is a row.

It is far larger than the program by kinds (`oracle.optimum.model`): it is for some nodes at a time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from oracle.optimum.solver import Program, Row, solve_integers
from oracle.snapshots.stocks import Stock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.optimum.solver import Deadline
    from oracle.snapshots.stocks import Free, Key, Stocks

_Terms: TypeAlias = list[tuple[int, int]]


class NamedProgram:
    """Which of these nodes each of the movable instances on them stands on.

    Parameters
    ----------
    stocks
        The cluster.
    free
        What nobody has where the instances stand now.
    capacity
        The GPUs of each node.
    movable
        The movable instances on each of the nodes now.

    Attributes
    ----------
    size
        Number of columns.
    """

    def __init__(
        self, stocks: Stocks, free: Free, capacity: Mapping[str, int], movable: Mapping[str, Sequence[Key]]
    ) -> None:
        self._stocks = stocks
        # One column for each instance and node where it may stand, in this order; then one for each way of a node to
        # be full or empty.
        self._places: list[tuple[Key, str]] = []
        self._rows: list[Row] = []
        self._takes: defaultdict[Stock, _Terms] = defaultdict(list)
        now: Counter[Stock] = Counter()
        for node, keys in movable.items():
            for key in keys:
                now.update(dict(stocks.taken(key, node)))
                self._add_instance(key, node, movable)
        self.size = len(self._places)
        for stock, terms in self._takes.items():
            most = max(free[stock], 0) + now[stock]
            if sum(amount for _, amount in terms) > most:
                self._rows.append(Row(None, most, tuple(terms)))
        self._whole: _Terms = []
        self._nodes = 0
        for node in movable:
            stock = Stock(node)
            self._add_node(stock, free[stock] + now[stock], now[stock], capacity[node])

    def fewest_away(self, max_partial_nodes: int, deadline: Deadline, max_tree: int) -> dict[Key, str] | None:
        """Return where the instances may stand so that few are not where the snapshot has them; None if not found.

        Parameters
        ----------
        max_partial_nodes
            Partial nodes at most.
        deadline, max_tree
            When to stop: a moment, and a number of nodes of the search tree.
        """
        costs = [0] * self.size
        for column, (key, node) in enumerate(self._places):
            costs[column] = int(node != self._stocks.instances[key].node)
        whole = Row(self._nodes - max_partial_nodes, None, tuple(self._whole))
        program = Program(tuple(costs), (1,) * self.size, (*self._rows, whole))
        # Cutting planes take twice the time and win nothing here.
        answer = solve_integers(program, deadline, max_nodes=max_tree, max_cut_rounds=0)
        return {key: node for (key, node), value in zip(self._places, answer.values, strict=False) if value} or None

    def _add_instance(self, key: Key, now: str, nodes: Mapping[str, object]) -> None:
        own: _Terms = []
        for node in nodes:
            if node in {now, self._stocks.instances[key].node} or not self._stocks.why_shut(key, node):
                column = len(self._places)
                self._places.append((key, node))
                own.append((column, 1))
                for stock, amount in self._stocks.taken(key, node):
                    self._takes[stock].append((column, amount))
        self._rows.append(Row(1, 1, tuple(own)))

    def _add_node(self, stock: Stock, room: int, now: int, capacity: int) -> None:
        """Add a column that is 1 only if the node is full, and one that is 1 only if it is empty, where it may be."""
        if room <= 0:
            return
        self._nodes += 1
        terms = tuple(self._takes[stock])
        self._rows.append(Row(0, None, (*terms, (self._add_whole(), -room))))
        if room == capacity:
            most = max(room, now)
            self._rows.append(Row(None, most, (*terms, (self._add_whole(), most))))

    def _add_whole(self) -> int:
        self._whole.append((self.size, 1))
        self.size += 1
        return self.size - 1
