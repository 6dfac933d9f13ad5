"""What one node may hold: every legal pattern, or a graph whose paths are the legal patterns.

A class with few legal patterns has them listed. A class with many (a node of 80 time-sliced devices has tens of
thousands) has a flow over loads instead: a path from load 0 is a pattern, so there are about as many arcs as loads
times demands. A flow of N units decomposes into N paths; both ways describe the same packings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.optimum.node_classes import MAX_LOAD
from oracle.optimum.parts import binary_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracle.optimum.node_classes import NodeClass
    from oracle.snapshots.model import Pattern

# Nodes of up to 11 GPUs have at most 195 patterns, whatever runs on them: about as many columns as a flow, and without
# its rows. 16 GPUs and every demand make 915 patterns, but a flow of 137 columns, solved twice as fast.
MAX_PATTERNS = 200

SOURCE = 0
"""The state in which every path of a flow begins."""


def descending_counts(pattern: Pattern) -> list[tuple[int, int]]:
    """Return the pairs (demand, how often) of a pattern, demands descending."""
    return sorted(Counter(pattern).items(), reverse=True)


def legal_patterns(kind: NodeClass, demands: Sequence[tuple[int, int]], *, limit: int) -> tuple[Pattern, ...] | None:
    """Return every pattern a node of this class may hold of these instances, or None if more than `limit` exist.

    Parameters
    ----------
    kind
        The node class.
    demands
        Pairs of a demand in GPUs and how many instances have it, demands descending; no pattern holds more.
    limit
        Where to give up. The work done is in proportion to it.
    """
    free = _multisets(demands, kind.room, limit)
    own = _multisets(descending_counts(kind.own), None, limit)
    if free is None or own is None:
        return None
    patterns = sorted({*free, *own})
    return tuple(patterns) if len(patterns) <= limit else None


def _multisets(items: Sequence[tuple[int, int]], room: int | None, limit: int) -> list[Pattern] | None:
    found: list[tuple[Pattern, int]] = [((), 0)]
    for demand, count in items:
        # Each multiset so far stays one with 0 copies of this demand: the list only grows, so stopping here is exact.
        longer: list[tuple[Pattern, int]] = []
        for pattern, load in found:
            copies = count if room is None else min(count, (room - load) // demand)
            longer += ((pattern + (demand,) * k, load + k * demand) for k in range(copies + 1))
            if len(longer) > limit:
                return None
        found = longer
    return [pattern for pattern, _ in found]


@dataclass(frozen=True, slots=True)
class Arc:
    """One step of a path: from state `tail` to state `head`, packing the instances `takes` (none: a skip)."""

    tail: int
    head: int
    takes: Pattern


@dataclass(frozen=True, slots=True)
class LoadFlow:
    """A graph without cycles whose paths from `SOURCE` to an end are the legal patterns of one class.

    A path may take more of a demand than there are instances; the model's equations rule that out.

    Attributes
    ----------
    arcs
        The steps.
    ends
        Pairs of a state where a path may end and the movable GPUs it then has, up to `MAX_LOAD`.
    """

    arcs: tuple[Arc, ...]
    ends: tuple[tuple[int, int], ...]

    def decompose(self, flow: Sequence[int], endings: Sequence[int]) -> dict[Pattern, int]:
        """Return how many nodes hold which pattern, given the flow on each arc and into each end.

        Every round empties an arc or an end, so there are at most as many rounds as those.

        Raises
        ------
        ValueError
            This is no flow: what enters a state does not leave it.
        """
        leaving: dict[int, list[int]] = {}
        for i, arc in enumerate(self.arcs):
            leaving.setdefault(arc.tail, []).append(i)
        ending = {state: e for e, (state, _) in enumerate(self.ends)}
        flow, endings = list(flow), list(endings)
        patterns: Counter[Pattern] = Counter()
        while any(endings):
            path: list[int] = []
            state = SOURCE
            while state not in ending or not endings[ending[state]]:
                step = next((i for i in leaving.get(state, ()) if flow[i]), None)
                if step is None:
                    raise ValueError(f"the flow into state {state} does not leave it")
                path.append(step)
                state = self.arcs[step].head
            nodes = min([endings[ending[state]], *(flow[i] for i in path)])
            endings[ending[state]] -= nodes
            for i in path:
                flow[i] -= nodes
            patterns[tuple(sorted((demand for i in path for demand in self.arcs[i].takes), reverse=True))] += nodes
        if any(flow):
            raise ValueError("flow is left over that reaches no end")
        return dict(patterns)


def load_flow(kind: NodeClass, demands: Sequence[tuple[int, int]]) -> LoadFlow:
    """Return the flow graph of a class: at most room · demands arcs, and some for a node's own instances.

    Demands descend along a path, so that the orders of one pattern are not all different paths.
    """
    states: dict[tuple[int, int], int] = {(0, 0): SOURCE}

    def state(layer: int, load: int) -> int:
        return states.setdefault((layer, load), len(states))

    arcs = [Arc(state(0, tail), state(0, tail + demand), (demand,)) for tail, demand in _free_arcs(kind.room, demands)]
    ends = {state: load for (_, load), state in states.items()}
    last = {0: SOURCE}
    chunks = [(demand, size) for demand, count in descending_counts(kind.own) for size in binary_chunks(count)]
    for layer, (demand, size) in enumerate(chunks, start=1):
        reached: dict[int, int] = {}
        for load, tail in last.items():
            for takes, head in (((), load), ((demand,) * size, min(load + size * demand, MAX_LOAD))):
                reached[head] = state(layer, head)
                arcs.append(Arc(tail, reached[head], takes))
        last = reached
    ends |= {state: load for load, state in last.items()}
    return LoadFlow(tuple(arcs), tuple(ends.items()))


def _free_arcs(room: int, demands: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield (load, demand) for every step that a pattern in descending order can take."""
    reachable = {0}
    for demand, count in demands:
        fewest = dict.fromkeys(reachable, 0)  # copies of this demand on the way to a load
        for load in range(room - demand + 1):
            if fewest.get(load, count) < count:
                yield load, demand
                fewest[load + demand] = min(fewest.get(load + demand, count), fewest[load] + 1)
        reachable.update(fewest)
