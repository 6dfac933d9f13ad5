"""Arguments that a packing problem needs at least so many partial nodes, and their exact evaluation in integers.

Three arguments can be recomputed by anyone, without a solver:

- the *load bound*: the movable GPUs are no sum of what full and empty nodes can hold (the remainder of T by 8, made
  general);
- *dual weights*: for any weight y_g per demand, Φ* ≥ Σ_g y_g n_g + Σ_c N_c min_p (cost_p - y·a_p), the minimum over
  the legal patterns p of class c. This is the Lagrangean bound: it holds for every y, so a wrong or rounded weight
  makes it weaker, never false;
- a *branch tree*: either at most k nodes are of some kind, or at least k + 1 are. Each leaf carries weights, with one
  more for each inequality on its path; the weakest leaf bounds the whole.

The fourth, a solver's own claim, can only be believed. Nothing here enumerates patterns: the inner minimum is a
dynamic program over loads, so that this check shares no code with what found the bound.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from oracle.interruption import break_off_if_requested
from oracle.node_classes import MAX_LOAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.node_classes import NodeClass, PackingProblem

# The load bound works on a bit set with one bit a GPU. 2^24 bits (2 MB) hold a pool of 16 million GPUs; beyond it (a
# misread demand of 10^12, say) the bound is not attempted.
MAX_LOAD_BOUND_GPUS = 1 << 24


class AllFull(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="full"):
    """Counts the full nodes of all classes."""


class WithLoad(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="load"):
    """Counts the nodes of one class with so many movable GPUs on them; `MAX_LOAD` stands for all above it, too."""

    node_class: int
    load: int


NodeCount: TypeAlias = AllFull | WithLoad


class Weights(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="dual weights"):
    """Dual weights: integers over one `denominator`.

    Attributes
    ----------
    denominator
        At least 1.
    demands
        Numerator for each demand, in the order of `PackingProblem.demands`. Any sign.
    branches
        Numerator for each inequality between the root of the tree and this leaf, outermost first. Never negative.
    """

    denominator: int
    demands: tuple[int, ...]
    branches: tuple[int, ...] = ()


class Branch(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="branch tree"):
    """A case distinction on how many nodes are of one kind: `at_most` (in `below`), or more (in `above`)."""

    counted: NodeCount
    at_most: int
    below: Weights | Branch
    above: Weights | Branch


class LoadBound(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="load bound"):
    """The load bound; it needs no data."""


class SolverProof(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="solver proof"):
    """What a solver claims to have proved. It cannot be recomputed here, only believed."""

    solver: str
    claim: int


Tree: TypeAlias = Weights | Branch
Argument: TypeAlias = LoadBound | Weights | Branch | SolverProof


class Cut(NamedTuple):
    """One inequality on the path to a leaf: the nodes counted are at most `bound`, or at least."""

    counted: NodeCount
    bound: int
    at_least: bool


class ArgumentError(ValueError):
    """An argument that is none: weights that do not match the problem, or a negative weight of an inequality."""


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
    packable = _subset_sums(problem.demands, max((kind.room for kind in problem.classes), default=0))
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


def tree_bound(problem: PackingProblem, tree: Tree) -> int:
    """Return the bound that a branch tree, or weights alone, prove: the least over the leaves, in partial nodes.

    Raises
    ------
    ArgumentError
        The weights do not match the problem, or a weight that must not be negative is.
    """
    bounds: list[int] = []
    pending: list[tuple[Tree, tuple[Cut, ...]]] = [(tree, ())]
    while pending:
        break_off_if_requested()
        node, cuts = pending.pop()
        if isinstance(node, Weights):
            bounds.append(weights_bound(problem, node, cuts))
        else:
            pending.append((node.below, (*cuts, Cut(node.counted, node.at_most, at_least=False))))
            pending.append((node.above, (*cuts, Cut(node.counted, node.at_most + 1, at_least=True))))
    return min(bounds)


def weights_bound(problem: PackingProblem, weights: Weights, cuts: Sequence[Cut] = ()) -> int:
    """Return the bound that `weights` prove for all packings that obey `cuts`, rounded up to whole nodes.

    An inequality f(x) ≤ k enters as + z (f(x) - k), one f(x) ≥ k as + z (k - f(x)), z ≥ 0: neither raises the value
    of a packing that obeys it.

    Cost: one dynamic program over (demand, load up to the largest room), and one for each class with its own
    instances.

    Raises
    ------
    ArgumentError
        The weights do not match the problem, or a weight that must not be negative is.
    """
    if weights.denominator < 1 or len(weights.demands) != len(problem.demands) or len(weights.branches) != len(cuts):
        raise ArgumentError("the weights do not match the demands or the branches")
    if any(weight < 0 for weight in weights.branches):
        raise ArgumentError("the weight of a branch is negative")
    values = {demand: y for (demand, _), y in zip(problem.demands, weights.demands, strict=True)}
    bound = sum(values[demand] * count for demand, count in problem.demands)
    bound += sum(z * (cut.bound if cut.at_least else -cut.bound) for cut, z in zip(cuts, weights.branches, strict=True))
    prices = _Prices(weights, cuts)
    free = _best_values(problem.demands, values, room=max((kind.room for kind in problem.classes), default=0))
    for c, (kind, nodes) in enumerate(zip(problem.classes, problem.nodes, strict=True)):
        break_off_if_requested()
        bound += nodes * min(prices.of(c, kind, load, value) for load, value in _choices(kind, values, free))
    return -(-bound // weights.denominator)


class _Prices:
    """What a node costs, scaled by the denominator: 1 if partial, less the weights of its demands and branches."""

    def __init__(self, weights: Weights, cuts: Sequence[Cut]) -> None:
        self._partial = weights.denominator
        self._full = 0
        self._load: Counter[tuple[int, int]] = Counter()
        for cut, z in zip(cuts, weights.branches, strict=True):
            gain = z if cut.at_least else -z
            match cut.counted:
                case AllFull():
                    self._full += gain
                case WithLoad(node_class=c, load=load):
                    self._load[c, load] += gain

    def of(self, c: int, kind: NodeClass, load: int, value: int) -> int:
        """Return the price of a class-c node with `load` movable GPUs that are worth `value`."""
        return self._partial * kind.is_partial(load) - self._full * kind.is_full(load) - self._load[c, load] - value


def _choices(kind: NodeClass, values: Mapping[int, int], free: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield what a node may hold, as movable GPUs and the greatest value that these can have."""
    for load, value in free.items():
        if load <= kind.room:
            yield load, value
    if kind.own:
        yield from _best_values(Counter(kind.own).items(), values).items()


def _best_values(
    items: Iterable[tuple[int, int]], values: Mapping[int, int], *, room: int | None = None
) -> dict[int, int]:
    """Return the greatest total value of a multiset of (demand, at most so many), for each sum of its GPUs.

    Sums above `room` are left out; those above `MAX_LOAD` count as that.
    """
    best = {0: 0}
    for demand, count in items:
        break_off_if_requested()
        after: dict[int, int] = {}
        value = values.get(demand, 0)
        for load, worth in best.items():
            copies = count if room is None else min(count, (room - load) // demand)
            for k in range(copies + 1):
                total = min(load + k * demand, MAX_LOAD)
                after[total] = max(after.get(total, worth + k * value), worth + k * value)
        best = after
    return best


def _possible_loads(kind: NodeClass, packable: int) -> list[int]:
    """Return the sums of movable GPUs that a legal pattern of this class can have."""
    sums = packable & ((1 << (kind.room + 1)) - 1)
    sums |= _subset_sums(Counter(kind.own).items(), sum(kind.own))
    return [load for load in range(sums.bit_length()) if sums >> load & 1]


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
