"""What weights and branch trees prove, computed anew in integers, no solver: `oracle.optimum.weights` says why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.weights import ArgumentError, Cut, Weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.optimum.model import Pool
    from oracle.optimum.node_classes import NodeClass
    from oracle.optimum.weights import Tree
    from oracle.snapshots.model import Pattern

# Prices kept at a time, however many kinds of nodes there are: some megabytes.
_MOST_PRICES = 1 << 18

NEVER = 1 << 40
"""Stands for "there is no arrangement": above all numbers of nodes and moves."""


@dataclass(frozen=True, slots=True)
class Line:
    """What a leaf proves: `partial`·Φ + `arrival`·M ≥ `least` for arrangements that obey its inequalities."""

    partial: int
    arrival: int
    least: int

    def partial_nodes(self) -> int:
        """Return how many partial nodes there are at least, however much moves."""
        if self.least <= 0 or self.arrival:
            return 0
        return -(-self.least // self.partial) if self.partial else NEVER

    def arrivals(self, max_partial_nodes: int) -> int:
        """Return how many instances arrive at least if there are at most so many partial nodes."""
        rest = self.least - self.partial * max_partial_nodes
        if rest <= 0:
            return 0
        return -(-rest // self.arrival) if self.arrival else NEVER


class Proof:
    """What a tree, or weights alone, prove of a pool: good for every limit on partial nodes.

    Cost: for each class of nodes and each leaf one dynamic program over (pattern held now, demand, load).

    Raises
    ------
    ArgumentError
        The weights do not match the pool, or one that must not be negative is.
    """

    def __init__(self, pool: Pool, tree: Tree) -> None:
        self.lines = tuple(line_of(pool, weights, cuts) for weights, cuts in _leaves(tree))

    def partial_nodes(self) -> int:
        """Return how many partial nodes there are at least in every arrangement; `NEVER` if there is none."""
        return min(line.partial_nodes() for line in self.lines)

    def arrivals(self, max_partial_nodes: int) -> int:
        """Return how many instances arrive at least; `NEVER` if no arrangement has so few partial nodes."""
        return min(line.arrivals(max_partial_nodes) for line in self.lines)


def _leaves(tree: Tree) -> list[tuple[Weights, tuple[Cut, ...]]]:
    """Return the leaves, each with the inequalities on its path, outermost first."""
    found: list[tuple[Weights, tuple[Cut, ...]]] = []
    pending: list[tuple[Tree, tuple[Cut, ...]]] = [(tree, ())]
    while pending:
        break_off_if_requested()
        node, cuts = pending.pop()
        if isinstance(node, Weights):
            found.append((node, cuts))
        else:
            pending.append((node.below, (*cuts, Cut(node.counted, node.at_most, at_least=False))))
            pending.append((node.above, (*cuts, Cut(node.counted, node.at_most + 1, at_least=True))))
    return found


def line_of(pool: Pool, weights: Weights, cuts: Sequence[Cut] = ()) -> Line:
    """Return what weights prove.

    An inequality f ≤ b enters as + w (f - b), one f ≥ b as + w (b - f), w ≥ 0: neither raises the cost of an
    arrangement that obeys it.
    """
    demands = pool.demands
    if len(weights.demands) != len(demands) or len(weights.branches) != len(cuts):
        raise ArgumentError("the weights do not match the demands or the branches")
    if min(weights.partial, weights.arrival, *weights.branches, 0) < 0:
        raise ArgumentError("the weight of a partial node, of an arrival or of a branch is negative")
    value = dict(zip(demands, weights.demands, strict=True))
    from oracle.optimum.prices import NodePrices  # noqa: PLC0415 - numpy is for those who check an argument

    prices = NodePrices(pool, value, weights, cuts)
    total = sum(value[demand] * count for demand, count in pool.instances.items())
    total += sum(w * (cut.bound if cut.at_least else -cut.bound) for w, cut in zip(weights.branches, cuts, strict=True))
    by_class: dict[NodeClass, Counter[Pattern]] = {}
    for nodes, count in pool.nodes.items():
        # What a node holds now matters only to what arrives on it and leaves it.
        before = nodes.holds if prices.counts_changes else ()
        by_class.setdefault(nodes.node_class, Counter())[before] += count
    for kind, held in by_class.items():
        for some in _shares(list(held.items()), 1 + _MOST_PRICES // (kind.room + 1)):
            least = prices.least(kind, [pattern for pattern, _ in some])
            total += sum(nodes * int(price) for (_, nodes), price in zip(some, least, strict=True))
    return Line(weights.partial, weights.arrival, total)


def _shares(held: list[tuple[Pattern, int]], size: int) -> Iterator[list[tuple[Pattern, int]]]:
    for start in range(0, len(held), size):
        yield held[start : start + size]
