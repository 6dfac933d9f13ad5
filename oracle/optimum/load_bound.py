"""The load bound: the movable GPUs are no sum of what full and empty nodes can hold.

It is the remainder of the GPUs in use by 8, made general: any classes of nodes, whatever cannot move.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from oracle.optimum.interruption import break_off_if_requested
from oracle.snapshots.kinds import gpus_of, total_gpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.optimum.node_classes import NodeClass, PackingProblem

# The load bound works on a bit set with one bit a GPU. 2^24 bits (2 MB) hold a pool of 16 million GPUs; beyond it (a
# misread demand of 10^12, say) the bound is not attempted.
MAX_LOAD_BOUND_GPUS = 1 << 24


class LoadBound(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="load bound"):
    """The load bound; it needs no data."""


def load_bound(problem: PackingProblem) -> int:
    """Return the load bound: partial nodes that the sum of the loads alone makes unavoidable.

    Nodes of a class that can be neither full nor empty are partial. If, beside those, none is, the movable GPUs are
    a sum of loads that make the other nodes full or empty; where no such sum exists there is one more.

    Cost: passes over a bit set of T bits: for each class as many as its multiplicity has digits, and more, up to its
    room times its loads, where it has more than two loads to choose from.
    """
    total = problem.movable_gpus
    if total > MAX_LOAD_BOUND_GPUS:
        return 0
    packable = _subset_sums(_by_gpus(problem.demands), max((kind.room for kind in problem.classes), default=0))
    forced = 0
    reachable = 1  # bit t: the classes so far can hold exactly t movable GPUs
    mask = (1 << (total + 1)) - 1
    for kind, nodes in zip(problem.classes, problem.nodes, strict=True):
        break_off_if_requested()
        loads = _possible_loads(kind, packable)
        clean = [load for load in loads if not kind.is_partial(load)]
        forced += 0 if clean else nodes
        reachable = _sums(reachable, clean or loads, nodes, mask)
    return forced if reachable >> total & 1 else forced + 1


def _possible_loads(kind: NodeClass, packable: int) -> list[int]:
    """Return the sums of movable GPUs that a legal pattern of this class can have."""
    sums = packable & ((1 << (kind.room + 1)) - 1)
    sums |= _subset_sums(_by_gpus(Counter(kind.own).items()), total_gpus(kind.own))
    return [load for load in range(sums.bit_length()) if sums >> load & 1]


def _by_gpus(kinds: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Return how many instances have so many GPUs: rules only take sums away, so that the bound holds with them."""
    counts: Counter[int] = Counter()
    for kind, count in kinds:
        counts[gpus_of(kind)] += count
    return counts.items()


def _subset_sums(items: Iterable[tuple[int, int]], limit: int) -> int:
    """Return the bit set of all sums up to `limit` of multisets of (demand, at most so many)."""
    sums, mask = 1, (1 << (limit + 1)) - 1
    for demand, count in items:
        sums = _sums(sums, [0, demand], min(count, limit // demand), mask)
    return sums


def _sums(reachable: int, loads: Sequence[int], nodes: int, mask: int) -> int:
    """Return the sums reachable with `nodes` more nodes, each of one of `loads`, which ascend.

    Beyond the least load, the nodes have n numbers, each 0, the span a of the loads or between; d divides them all. Of
    any a/d numbers between, some have a sum that is a multiple of a: two of the sums of the first 0, 1, ..., a/d of
    them are alike modulo a. As many 0s and spans can take their place, so fewer than a/d numbers between are enough.
    """
    least, span = loads[0], loads[-1] - loads[0]
    reachable = _shift(reachable, least * nodes, mask)
    if not span:
        return reachable
    between = [load - least for load in loads]
    few = min(nodes, span // math.gcd(*between) - 1) if len(loads) > 2 else 0
    for _ in range(few):
        more = _union(_shift(reachable, load, mask) for load in between)
        if more == reachable:  # all sums that there are
            return reachable
        reachable = more
    # 0 or the span: every multiple up to `left` of it, by chunks of 1, 2, 4, ... of which any part may be taken.
    left, size = nodes - few, 1
    while left > 0:
        chunk = min(size, left)
        reachable |= _shift(reachable, span * chunk, mask)
        left -= chunk
        size *= 2
    return reachable


def _shift(sums: int, load: int, mask: int) -> int:
    return sums << load & mask if load < mask.bit_length() else 0


def _union(sets: Iterable[int]) -> int:
    union = 0
    for bits in sets:
        break_off_if_requested()
        union |= bits
    return union
