"""Every placement of a few instances, one by one: what "fewest partial nodes" and "fewest nodes" mean, said slowly.

No pattern, no closed form, no solver: the only use of this module is to settle claims about the definitions themselves
and to confirm counterexamples without the code that measured them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.laws import Contents


def packings(demands: Sequence[int], *, capacity: int = 8, nodes: int | None = None) -> frozenset[Contents]:
    """Return every way to put instances of those demands on nodes, idle nodes left out, up to the order of nodes.

    Parameters
    ----------
    demands
        GPUs of each instance. The number of packings grows like that of partitions of a set: a dozen instances is much.
    nodes
        The most nodes in use; None for as many as there are instances.
    """
    found: set[Contents] = {()}
    for gpus in sorted(demands, reverse=True):
        found = {larger for packing in found for larger in _with(packing, gpus, capacity)}
    return frozenset(packing for packing in found if nodes is None or len(packing) <= nodes)


def _with(packing: Contents, gpus: int, capacity: int) -> Iterator[Contents]:
    yield tuple(sorted((*packing, (gpus,)), reverse=True))
    for index, node in enumerate(packing):
        if sum(node) + gpus <= capacity:
            fuller = (*node, gpus)  # the instances come in descending order
            yield tuple(sorted((*packing[:index], fuller, *packing[index + 1 :]), reverse=True))


def partial_nodes(packing: Contents, *, capacity: int = 8) -> int:
    """Return Φ of a packing."""
    return sum(0 < sum(node) < capacity for node in packing)


def best_packing(demands: Sequence[int], *, capacity: int = 8) -> Contents:
    """Return a packing with the fewest partial nodes and, among those, the fewest nodes in use."""
    every = packings(demands, capacity=capacity)
    return min(every, key=lambda packing: (partial_nodes(packing, capacity=capacity), len(packing), packing))


def workloads(gpus: int, *, largest: int = 8) -> Iterator[tuple[int, ...]]:
    """Yield every multiset of demands of that total, fewest instances first."""
    yield from sorted(_partitions(gpus, largest), key=lambda demands: (len(demands), demands))


def _partitions(gpus: int, largest: int) -> Iterator[tuple[int, ...]]:
    if gpus == 0:
        yield ()
    for first in range(min(gpus, largest), 0, -1):
        for rest in _partitions(gpus - first, first):
            yield (first, *rest)


def counts_of(demands: Sequence[int], *, capacity: int = 8) -> tuple[int, ...]:
    """Return (n1, ..., nG) of a multiset of demands."""
    number = Counter(demands)
    return tuple(number[gpus] for gpus in range(1, capacity + 1))
