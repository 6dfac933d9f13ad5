"""The plans found so far for one pool, and the steps that led from one to the next.

A step that lowers the partial nodes of one plan, two nodes merged for instance, often lowers those of the next as well:
along a frontier of thousands of plans a few dozen steps come back again and again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.transport.model import Columns, Integers


@dataclass(frozen=True, slots=True)
class Plan:
    """Nodes by column, none of them 0, with the partial nodes they leave and the migrations they cost."""

    nodes: Mapping[int, int]
    partial_nodes: int
    migrations: int


@dataclass(frozen=True, slots=True)
class _Step:
    """What to add to the nodes of a plan, and what that adds to its partial nodes and migrations."""

    nodes: Mapping[int, int]
    partial_nodes: int
    migrations: int


class PlanStore:
    """Balanced plans of one pool, none of them beaten by another in both partial nodes and migrations."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._plans: list[Plan] = []  # partial nodes rise from one to the next, migrations fall
        self._steps: list[_Step] = []  # the latest used last

    def add(self, nodes: Integers) -> None:
        """Add a plan: nodes of each column.

        Raises
        ------
        ValueError
            It is no plan: instances are lost or made, or a group has another number of nodes.
        """
        columns = self._columns
        index = np.flatnonzero(nodes)
        supply = np.zeros(len(columns.groups), np.int64)
        np.add.at(supply, columns.group[index], nodes[index])
        effect = nodes[index] @ columns.effect[index]
        if effect[:-1].any() or (supply != columns.supply).any() or (nodes < 0).any():
            raise ValueError("the nodes of these columns make no plan")
        counts = dict(zip(index.tolist(), nodes[index].tolist(), strict=True))
        self._add(Plan(counts, int(effect[-1]), int(nodes[index] @ columns.moves[index])))

    def best(self, limit: int) -> Plan | None:
        """Return the cheapest plan with at most `limit` partial nodes, or None if there is none here."""
        position = bisect_right(self._plans, limit, key=_partial_nodes)
        return self._plans[position - 1] if position else None

    def nearest(self, limit: int) -> Plan:
        """Return the plan whose partial nodes are nearest to `limit`; of two, the one with more.

        Raises
        ------
        ValueError
            There is no plan at all.
        """
        position = bisect_right(self._plans, limit, key=_partial_nodes)
        around = self._plans[max(0, position - 1) : position + 1]
        return min(around, key=lambda plan: (abs(plan.partial_nodes - limit), -plan.partial_nodes))

    def dense(self, plan: Plan) -> Integers:
        """Return a plan as nodes of each column."""
        nodes = np.zeros(len(self._columns.after), np.int64)
        nodes[list(plan.nodes)] = list(plan.nodes.values())
        return nodes

    def learn(self, former: Plan, limit: int) -> None:
        """Remember the step from a plan to the best within `limit`."""
        latter = self.best(limit)
        if latter is None:
            return
        nodes = {i: latter.nodes.get(i, 0) - former.nodes.get(i, 0) for i in {**former.nodes, **latter.nodes}}
        self._steps.append(
            _Step(
                {i: count for i, count in nodes.items() if count},
                latter.partial_nodes - former.partial_nodes,
                latter.migrations - former.migrations,
            )
        )

    def repeat_step(self, plan: Plan, limit: int, migrations: int) -> bool:
        """Look for a step that leads from a plan to one within both limits, the latest first; add that plan."""
        for s in range(len(self._steps) - 1, -1, -1):
            step = self._steps[s]
            if plan.partial_nodes + step.partial_nodes > limit or plan.migrations + step.migrations > migrations:
                continue
            if all(plan.nodes.get(i, 0) + count >= 0 for i, count in step.nodes.items()):
                nodes = {**plan.nodes, **{i: plan.nodes.get(i, 0) + count for i, count in step.nodes.items()}}
                nodes = {i: count for i, count in nodes.items() if count}
                self._add(Plan(nodes, plan.partial_nodes + step.partial_nodes, plan.migrations + step.migrations))
                self._steps.append(self._steps.pop(s))
                return True
        return False

    def _add(self, plan: Plan) -> None:
        known = self.best(plan.partial_nodes)
        if known is not None and known.migrations <= plan.migrations:
            return
        first = bisect_left(self._plans, plan.partial_nodes, key=_partial_nodes)
        last = first
        while last < len(self._plans) and self._plans[last].migrations >= plan.migrations:
            last += 1
        self._plans[first:last] = [plan]


def _partial_nodes(plan: Plan) -> int:
    return plan.partial_nodes
