"""What a state and an event owe, recomputed from the demands on each node; nothing here asks `compass_core`.

The definitions are those of theory §1 and §3, written down once more so that a fault in the code cannot hide in its
own measures.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from oracle.optimum.closed_form import fewest_partial_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

Contents = tuple[tuple[int, ...], ...]
"""The demands on each node, descending within a node; canonical if the nodes are descending too."""

GPUS = 8
WIDTHS = {1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 8: 8}
"""w*(g), the width of the slot of an anchor of g GPUs; a 1-GPU instance outside slots takes 1."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What follows from the demands on one node."""

    used: int
    widths: int  # GPUs reserved by slots
    vacancy: int
    ones: int  # 1-GPU instances outside slots

    @classmethod
    def of(cls, demands: Iterable[int]) -> NodeFacts:
        """Return the facts of a node with those demands."""
        number = Counter(demands)
        widths = sum(WIDTHS[gpus] * n for gpus, n in number.items() if gpus > 1)
        asked = sum((WIDTHS[gpus] - gpus) * n for gpus, n in number.items() if gpus > 1)
        used = sum(gpus * n for gpus, n in number.items())
        return cls(used, widths, max(0, asked - number[1]), max(0, number[1] - asked))

    @property
    def partial(self) -> bool:
        """Whether some but not all GPUs are held."""
        return 0 < self.used < GPUS

    @property
    def open(self) -> bool:
        """Whether it holds something and slots or ones could be added."""
        return 0 < self.widths + self.ones < GPUS

    @property
    def mixed(self) -> bool:
        """Whether slots and ones share the node."""
        return self.widths > 0 and self.ones > 0


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of a state."""

    nodes: int
    used_gpus: int
    partial_nodes: int
    """Φ."""
    inherent: int
    """Φ*, by the closed form for any workload."""
    wcc: bool

    @property
    def avoidable(self) -> int:
        """N·SIF = Φ − Φ*."""
        return self.partial_nodes - self.inherent

    @property
    def sif(self) -> float:
        """SIF."""
        return self.avoidable / self.nodes

    @classmethod
    def of(cls, contents: Contents) -> Measures:
        """Return the measures of a placement on 8-GPU nodes."""
        counts = demand_counts(contents)
        loads = [sum(node) for node in contents]
        return cls(
            nodes=len(contents),
            used_gpus=sum(loads),
            partial_nodes=sum(0 < load < GPUS for load in loads),
            inherent=fewest_partial_nodes(counts),
            wcc=wcc_holds(counts),
        )


@lru_cache(maxsize=1 << 10)
def demand_counts(contents: Contents) -> tuple[int, ...]:
    """Return (n1, ..., n8)."""
    demands = [gpus for node in contents for gpus in node]
    return tuple([demands.count(gpus) for gpus in range(1, GPUS + 1)])


def wcc_holds(counts: tuple[int, ...]) -> bool:
    """Whether n3 + 3·n5 + 2·n6 + n7 ≤ n1."""
    ones, _, threes, _, fives, sixes, sevens, _ = counts
    return threes + 3 * fives + 2 * sixes + sevens <= ones


@cache
def slots_and_ones(counts: tuple[int, ...]) -> tuple[int, int]:
    """Return the GPUs that all slots reserve, and the ones left when every vacancy that can be filled is."""
    facts = NodeFacts.of(gpus for gpus, n in enumerate(counts, start=1) for _ in range(n))
    return facts.widths, facts.ones


def fits_anywhere(counts: tuple[int, ...], nodes: int) -> bool:
    """Whether slots and ones fit when they may share nodes: what EXACT owes."""
    return sum(slots_and_ones(counts)) <= GPUS * nodes


def fits_apart(counts: tuple[int, ...], nodes: int) -> bool:
    """Whether slots and ones fit on nodes of their own: what COMPASS owes."""
    return sum(-(-need // GPUS) for need in slots_and_ones(counts)) <= nodes


def broken_by_any(contents: Contents) -> list[str]:
    """Return the clauses of Σ⁺ and of invariant I that a placement breaks."""
    facts = [NodeFacts.of(node) for node in contents]
    broken: list[str] = []
    if any(f.used > GPUS for f in facts):
        broken.append("no node is over-booked")
    if any(f.widths + f.ones > GPUS for f in facts):
        broken.append("Σ⁺: slots and ones reserve no more than a node has")
    if any(f.vacancy for f in facts) and any(f.ones for f in facts):
        broken.append("I: no vacancy beside a one outside slots")
    return broken


def broken_by_compass(contents: Contents) -> list[str]:
    """Return the laws of COMPASS that a placement breaks (C1 to C5)."""
    facts = [NodeFacts.of(node) for node in contents]
    broken = broken_by_any(contents)
    pools = sum(f.open and not f.widths for f in facts)
    mixed = sum(f.mixed for f in facts)
    measures = Measures.of(contents)
    if mixed and (pools or any(f.used == 0 for f in facts) or fits_apart(demand_counts(contents), len(contents))):
        broken.append("C1: a mixed node only where slots and ones have no room on nodes of their own")
    if mixed > 1 or pools > 1 or sum(f.open for f in facts) - pools > 1:
        broken.append("C3: at most one open pool node, one open slotted node and one mixed node")
    if measures.wcc and (measures.partial_nodes > 2 or measures.avoidable > 2):
        broken.append("C4: at most 2 partial nodes and SIF ≤ 2/N under WCC")
    if {gpus for node in contents for gpus in node} <= {2, 4, 8} and measures.avoidable:
        broken.append("C5: SIF = 0 with friendly demands only")
    return broken


def broken_by_exact(contents: Contents) -> list[str]:
    """Return the laws of EXACT that a placement breaks (C1, C2, C6)."""
    broken = broken_by_any(contents)
    measures = Measures.of(contents)
    if sum(NodeFacts.of(node).open for node in contents) > 1:
        broken.append("C6: at most one open node")
    if measures.wcc and measures.avoidable:
        broken.append("C6: Φ = Φ* under WCC")
    return broken
