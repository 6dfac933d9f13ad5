"""A quick packing: often optimal, always legal, and sometimes none at all although one exists."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oracle.optimum.node_classes import packing
from oracle.snapshots.kinds import FREE, gpus_of, total_gpus
from oracle.snapshots.model import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.optimum.node_classes import NodeClass, Packing, PackingProblem
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import Pattern


def greedy_packing(problem: PackingProblem) -> Packing | None:
    """Return a packing with few partial nodes, or None if this procedure finds none.

    Nodes with instances of their own keep all of them or none; then whole nodes are filled exactly, large demands
    first; what is left goes to nodes that are partial anyway, then to the roomiest. Deterministic. Its cost grows with
    classes, demands and room, not with nodes: every step repeats one pattern until a demand or the class runs out.
    """
    for evacuate in (True, False):
        attempt = _Attempt(problem)
        if attempt.settle_own(evacuate=evacuate) and attempt.fill() and attempt.place_rest():
            return packing(attempt.packed)
    return None


class _Attempt:
    """One run: what is packed so far, the instances left, and the nodes of each class not decided yet."""

    def __init__(self, problem: PackingProblem) -> None:
        self.packed: Counter[tuple[int, Pattern]] = Counter()
        self._kinds = problem.classes
        self._left = Counter(dict(problem.demands))
        self._nodes = list(problem.nodes)

    def settle_own(self, *, evacuate: bool) -> bool:
        """Decide the nodes with instances of their own; false if there are fewer instances than they would keep."""
        for c, kind in enumerate(self._kinds):
            if kind.own:
                leave = evacuate and kind.held == 0 and kind.is_partial(total_gpus(kind.own))
                self._pack(c, () if leave else kind.own, self._nodes[c])
        return all(count >= 0 for count in self._left.values())

    def fill(self) -> bool:
        """Make full nodes while a class has a pattern that fills it exactly; always true."""
        for c, kind in self._by_preference():
            while self._nodes[c] and (pattern := _fullest(kind, self._left)) and total_gpus(pattern) == kind.room:
                self._pack(c, pattern, self._times(c, pattern))
        return True

    def place_rest(self) -> bool:
        """Put what is left on nodes that become partial; false if nodes run out first."""
        for c, kind in self._by_preference():
            while self._nodes[c] and (pattern := _fullest(kind, self._left)):
                self._pack(c, pattern, self._times(c, pattern))
            self._pack(c, (), self._nodes[c])
        return not any(self._left.values())

    def _by_preference(self) -> Iterator[tuple[int, NodeClass]]:
        """Nodes in use anyway come first: they cost nothing more; then the roomiest."""
        order = sorted(range(len(self._kinds)), key=lambda c: (self._kinds[c].held == 0, -self._kinds[c].room))
        return ((c, self._kinds[c]) for c in order)

    def _times(self, c: int, pattern: Pattern) -> int:
        return min(self._nodes[c], *(self._left[demand] // k for demand, k in Counter(pattern).items()))

    def _pack(self, c: int, pattern: Pattern, nodes: int) -> None:
        self.packed[c, pattern] += nodes
        self._nodes[c] -= nodes
        for demand in pattern:
            self._left[demand] -= nodes


def _fullest(node: NodeClass, left: Counter[Kind]) -> Pattern:
    """Return a pattern of these instances with many GPUs that the node takes: as many as fit, if it has no rules.

    Of such patterns one of large demands.
    """
    best: dict[int, Pattern] = {0: ()}
    for kind in sorted(left, key=lambda kind: (-gpus_of(kind), kind)):
        for load, pattern in list(best.items()):
            most = node.rules.most(kind, min(left[kind], (node.room - load) // gpus_of(kind)))
            for k in range(1, most + 1):
                longer = pattern + (kind,) * k
                if load + k * gpus_of(kind) not in best and (node.rules == FREE or node.rules.allow(longer)):
                    best[load + k * gpus_of(kind)] = longer
        if node.room in best:
            break
    return pattern_of(best[max(best)])
