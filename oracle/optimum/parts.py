"""The parts of its instances that a node may keep: listed, or as a flow where they are too many to list."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from oracle.optimum.node_classes import MAX_LOAD
from oracle.optimum.solver import SolverError
from oracle.snapshots.kinds import FREE, total_gpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.optimum.node_classes import NodeClass
    from oracle.snapshots.model import Pattern

# Parts listed as columns of their own, which solve better than a flow: those of 10 different instances are 1,024.
MAX_PARTS = 1_100


class Part(NamedTuple):
    """A column: the instances it packs, and the movable GPUs of the nodes that it counts; None if it counts none."""

    takes: Pattern
    load: int | None


@dataclass(frozen=True, slots=True)
class Parts:
    """Columns and rows that describe what one node keeps.

    Attributes
    ----------
    columns
        The columns: what a node keeps where every part is listed, else the steps of a walk that takes or leaves a few
        equal instances at a time, then its ends.
    rows
        Pairs: how much of it each node has, and the terms of a row.
    """

    columns: tuple[Part, ...]
    rows: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    # Of a flow the state in which each step begins and ends; empty if the parts are listed.
    steps: tuple[tuple[int, int], ...] = ()

    def decode(self, values: Sequence[int]) -> Iterator[tuple[Pattern, int]]:
        """Yield the parts kept and by how many nodes, given the values of the columns.

        Raises
        ------
        SolverError
            The values are no solution.
        """
        if not self.steps:
            yield from ((part.takes, n) for part, n in zip(self.columns, values, strict=True) if n)
            return
        left = list(values)
        ends = {state: e for e, state in enumerate(self._last_states(), start=len(self.steps))}
        while any(left[e] for e in ends.values()):
            state, path = 0, list[int]()
            while state not in ends:
                step = next((i for i, (tail, _) in enumerate(self.steps) if tail == state and left[i]), None)
                if step is None:
                    raise SolverError(f"the solution is none: the flow into state {state} does not leave it")
                path.append(step)
                state = self.steps[step][1]
            path.append(ends[state])
            nodes = min(left[c] for c in path)
            for c in path:
                left[c] -= nodes
            if not nodes:
                raise SolverError("the solution is none: a flow ends nowhere")
            yield tuple(demand for c in path for demand in self.columns[c].takes), nodes

    def _last_states(self) -> list[int]:
        tails = {tail for tail, _ in self.steps}
        return sorted({head for _, head in self.steps} - tails)


def parts_of(kind: NodeClass, held: Pattern) -> Parts:
    """Return what a node of this class that holds these instances may keep of them."""
    counts = sorted(Counter(held if kind.room or kind.own else ()).items(), reverse=True)
    if kind.rules != FREE or prod(count + 1 for _, count in counts) <= MAX_PARTS:
        listed = [
            tuple(demand for (demand, _), k in zip(counts, copies, strict=True) for _ in range(k))
            for copies in product(*(range(count + 1) for _, count in counts))
        ]
        allowed = [part for part in listed if kind.allows(part)]
        columns = tuple(Part(part, min(total_gpus(part), MAX_LOAD)) for part in allowed)
        return Parts(columns, ((1, tuple((c, 1) for c in range(len(columns)))),))
    return _flow(counts)


def _flow(counts: Sequence[tuple[int, int]]) -> Parts:
    """Return the flow in which a path takes or leaves 1, 2, 4, ... and the rest of the instances of each demand.

    Its states are the loads after each of these choices; loads above `MAX_LOAD` count as that.
    """
    columns: list[Part] = []
    steps: list[tuple[int, int]] = []
    last, states = {0: 0}, 1
    for demand, size in ((demand, size) for demand, count in counts for size in binary_chunks(count)):
        reached: dict[int, int] = {}
        for load, tail in last.items():
            for takes in ((), (demand,) * size):
                head = min(load + total_gpus(takes), MAX_LOAD)
                if head not in reached:
                    reached[head], states = states, states + 1
                columns.append(Part(takes, None))
                steps.append((tail, reached[head]))
        last = reached
    ends = sorted((state, load) for load, state in last.items())
    columns += (Part((), load) for _, load in ends)
    terms: dict[int, list[tuple[int, int]]] = {0: []}
    for c, (tail, head) in enumerate(steps):
        terms.setdefault(tail, []).append((c, 1))
        terms.setdefault(head, []).append((c, -1))
    for c, (state, _) in enumerate(ends, start=len(steps)):
        terms[state].append((c, 1))
    rows = tuple((int(state == 0), tuple(row)) for state, row in terms.items())
    return Parts(tuple(columns), rows, tuple(steps))


def binary_chunks(count: int) -> list[int]:
    """Return numbers whose subsets have every sum from 0 to `count` and no other: 1, 2, 4, ... and the rest."""
    chunks: list[int] = []
    size = 1
    while count > 0:
        chunks.append(min(size, count))
        count -= chunks[-1]
        size *= 2
    return chunks
