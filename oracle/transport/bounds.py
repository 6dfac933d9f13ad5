"""Arguments that so few partial nodes cost at least so many migrations, and their exact evaluation in integers.

For any weight y_g of a demand and any weight z ≥ 0 of a partial node, a plan with at most k partial nodes costs at
least

    Σ_nodes [moves(p, q) - y·(q - p) + z·partial(q)] - z·k,

as the instances that leave a node arrive at others. So the least price of each node, whatever it is to hold, gives a
lower bound: a wrong weight makes it weaker, never false. Two things close the gap that weights leave:

- *residues* r_g of the demands and s of a partial node, modulo m. Σ_nodes [r·(q - p) + s·partial(q)] + s·slack ≡ s·k,
  slack = k - partial nodes at the price of z each, so the cheapest choices may not add up to the remainder needed;
- a *branch tree*: at most so many nodes are full (or instances of a demand arrive, ...), or more. Each leaf has
weights of
  its own, with one more for each inequality on its path; the weakest leaf bounds the whole.

Nothing here lists patterns: the least price of a node is a dynamic program over loads and remainders, which shares no
code with what finds the weights.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from oracle.bounds import AllFull, ArgumentError, SolverProof, WithLoad
from oracle.interruption import break_off_if_requested
from oracle.node_classes import MAX_LOAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.node_classes import NodeClass, PackedNodes, Pattern, PlacedProblem

# Prices of nodes by remainder: 64-bit integers, or Python's own where those might not do.
# Integers of 64 bits, or Python's own where sums would exceed those; numpy's types cannot say either of two.
_Prices: TypeAlias = npt.NDArray[Any]

_SAFE = 1 << 60

# Prices kept at a time, however many groups of nodes there are: some megabytes.
_MOST_PRICES = 1 << 18

# Lattices of 8-GPU nodes have remainders modulo 2 to 16. The cost of a check grows with the square of the modulus.
MAX_MODULUS = 64


class AllPartial(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="partial"):
    """Counts the partial nodes of all classes."""


class Arrivals(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="arrivals"):
    """Counts the instances of one demand that change their node."""

    demand: int


MigrationCount: TypeAlias = AllFull | AllPartial | WithLoad | Arrivals


class MigrationWeights(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="migration weights"):
    """Dual weights: integers over one `denominator`; and residues modulo `modulus`.

    Attributes
    ----------
    denominator
        At least 1.
    demands
        Numerator for each demand, in the order of `PackingProblem.demands`. Any sign.
    partial
        Numerator for a partial node. Never negative.
    branches
        Numerator for each inequality between the root of the tree and this leaf, outermost first. Never negative.
    modulus
        1 to `MAX_MODULUS`; with 1 there are no remainders.
    residues
        Residue of each demand, then of a partial node: from 0 to below `modulus`. Empty if that is 1.
    """

    denominator: int
    demands: tuple[int, ...]
    partial: int
    branches: tuple[int, ...] = ()
    modulus: int = 1
    residues: tuple[int, ...] = ()


class MigrationBranch(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="migration branches"):
    """A case distinction on how many nodes or migrations are of one kind: `at_most` (`below`), or more (`above`)."""

    counted: MigrationCount
    at_most: int
    below: MigrationWeights | MigrationBranch
    above: MigrationWeights | MigrationBranch


MigrationTree: TypeAlias = MigrationWeights | MigrationBranch
MigrationArgument: TypeAlias = MigrationWeights | MigrationBranch | SolverProof


class MigrationCut(NamedTuple):
    """One inequality on the path to a leaf: what is counted is at most `bound`, or at least."""

    counted: MigrationCount
    bound: int
    at_least: bool


class Leaf(NamedTuple):
    """The weights of a leaf and the inequalities on its path."""

    weights: MigrationWeights
    cuts: tuple[MigrationCut, ...]


def leaves(tree: MigrationTree) -> list[Leaf]:
    """Return the leaves of a tree, each with the inequalities on its path, outermost first."""
    found: list[Leaf] = []
    pending: list[tuple[MigrationTree, tuple[MigrationCut, ...]]] = [(tree, ())]
    while pending:
        break_off_if_requested()
        node, cuts = pending.pop()
        if isinstance(node, MigrationWeights):
            found.append(Leaf(node, cuts))
        else:
            pending.append((node.below, (*cuts, MigrationCut(node.counted, node.at_most, at_least=False))))
            pending.append((node.above, (*cuts, MigrationCut(node.counted, node.at_most + 1, at_least=True))))
    return found


def migration_bound(placed: PlacedProblem, max_partial_nodes: int, tree: MigrationTree) -> int:
    """Return the migrations that a tree, or weights alone, prove necessary for at most so many partial nodes.

    Raises
    ------
    ArgumentError
        The weights do not match the problem, or a weight that must not be negative is.
    """
    return min(PricedNodes(placed, leaf).bound(max_partial_nodes) for leaf in leaves(tree))


class PricedNodes:
    """What all nodes together cost at least under the weights of a leaf: good for every limit on partial nodes.

    Cost: for each class one dynamic program over (group, demand, load, remainder); with residues, for each group some
    log(nodes) combinations of `modulus`² pairs of remainders.

    Raises
    ------
    ArgumentError
        The weights do not match the problem, or a weight that must not be negative is.
    """

    def __init__(self, placed: PlacedProblem, leaf: Leaf) -> None:
        _check(placed, leaf)
        self._leaf = leaf
        self._constant = constant(leaf)
        self._far = _beyond_all_prices(placed, leaf.weights)
        prices = _NodePrices(placed, leaf, self._far)
        total = _nothing(leaf.weights.modulus, self._far)
        for c, groups in groupby(placed.current, key=lambda group: group.node_class):
            kind = placed.problem.classes[c]
            for some in _shares(list(groups), 1 + _MOST_PRICES // ((kind.room + 1) * leaf.weights.modulus)):
                break_off_if_requested()
                for group, least in zip(some, prices.least(c, kind, [g.pattern for g in some]), strict=True):
                    total = _add(total, _times(least, group.nodes, self._far), self._far)
        self._total = _add(total, self._slack(), self._far)

    def bound(self, max_partial_nodes: int) -> int:
        """Return the bound for plans that obey the leaf's inequalities, rounded up to whole migrations.

        An inequality f ≤ b enters as + z (f - b), one f ≥ b as + z (b - f), z ≥ 0: neither raises the cost of a plan
        that obeys it.
        """
        weights = self._leaf.weights
        remainder = weights.residues[-1] * max_partial_nodes % weights.modulus if weights.residues else 0
        # Some plan and slack have any remainder that can be needed: staying has one, and slack makes up the difference.
        total = int(self._total[remainder]) - weights.partial * max_partial_nodes + self._constant
        return max(0, -(-total // weights.denominator))

    def _slack(self) -> _Prices:
        weights = self._leaf.weights
        slack = _nothing(weights.modulus, self._far)
        for t in range(1, weights.modulus):
            remainder = t * weights.residues[-1] % weights.modulus
            slack[remainder] = min(slack[remainder], t * weights.partial)
        return slack


def constant(leaf: Leaf) -> int:
    """Return what the inequalities of a leaf add to its bound, times the denominator, whatever the nodes hold."""
    signed = zip(leaf.weights.branches, leaf.cuts, strict=True)
    return sum(z * (cut.bound if cut.at_least else -cut.bound) for z, cut in signed)


def _shares(groups: Sequence[PackedNodes], size: int) -> Iterator[Sequence[PackedNodes]]:
    for start in range(0, len(groups), size):
        yield groups[start : start + size]


class _NodePrices:
    """What a node costs under the weights of a leaf, times the denominator, by remainder; `far` if it cannot be."""

    def __init__(self, placed: PlacedProblem, leaf: Leaf, far: int) -> None:
        weights = leaf.weights
        self._demands = placed.problem.demands
        self._modulus = weights.modulus
        *residues, self._partial_residue = weights.residues or (0,) * (len(self._demands) + 1)
        self._residue = dict(zip((demand for demand, _ in self._demands), residues, strict=True))
        self._weight = dict(zip((demand for demand, _ in self._demands), weights.demands, strict=True))
        self._arrival = Counter(dict.fromkeys(self._weight, weights.denominator))
        self._partial, self._full = weights.partial, 0
        self._load: Counter[tuple[int, int]] = Counter()
        for z, cut in zip(weights.branches, leaf.cuts, strict=True):
            price = -z if cut.at_least else z
            match cut.counted:
                case AllFull():
                    self._full += price
                case AllPartial():
                    self._partial += price
                case Arrivals(demand=demand):
                    self._arrival[demand] += price
                case WithLoad(node_class=c, load=load):
                    self._load[c, load] += price
        self._far = far
        self._dtype = _dtype(far)

    def least(self, c: int, kind: NodeClass, before: Sequence[Pattern]) -> _Prices:
        """Return one row for each pattern held before: the least price of a node of class c, by remainder."""
        held = [Counter(pattern) for pattern in before]
        room = {demand: min(count, kind.room // demand) for demand, count in self._demands}
        best = self._cheapest(c, kind, self._by_load(held, room, kind.room))
        if kind.own:
            own = Counter(kind.own)
            kept = self._by_load(held, {demand: own[demand] for demand in room}, None)
            best = np.minimum(best, self._cheapest(c, kind, kept))
        shifts = [sum(self._residue[demand] * k for demand, k in pattern.items()) for pattern in held]
        return np.stack([np.roll(row, -shift) for row, shift in zip(best, shifts, strict=True)])

    def _cheapest(self, c: int, kind: NodeClass, by_load: _Prices) -> _Prices:
        best = np.full_like(by_load[:, 0], self._far)
        for load in range(by_load.shape[1]):
            break_off_if_requested()
            price = self._full * kind.is_full(load) + self._load[c, load]
            row = by_load[:, load]
            if kind.is_partial(load):
                price += self._partial
                row = np.roll(row, self._partial_residue, axis=1)
            best = np.minimum(best, row + price)
        return best

    def _by_load(self, held: Sequence[Counter[int]], copies: Mapping[int, int], room: int | None) -> _Prices:
        """Return the least price by (pattern before, load, remainder of what is held after).

        Without a `room` loads above `MAX_LOAD` count as that.
        """
        top = min(sum(demand * k for demand, k in copies.items()), MAX_LOAD) if room is None else room
        best: _Prices = np.full((len(held), top + 1, self._modulus), self._far, self._dtype)
        best[:, 0, 0] = 0
        for demand, most in copies.items():
            before: _Prices = np.array([pattern[demand] for pattern in held], self._dtype)
            after: _Prices = np.full_like(best, self._far)
            for k in range(most + 1):
                break_off_if_requested()
                price: _Prices = self._arrival[demand] * np.maximum(k - before, 0) - self._weight[demand] * (k - before)
                gpus = min(k * demand, top)
                dearer: _Prices = np.roll(best, k * self._residue[demand], axis=2) + price[:, None, None]
                after[:, gpus:] = np.minimum(after[:, gpus:], dearer[:, : top + 1 - gpus])
                if room is None:
                    after[:, top] = np.minimum(after[:, top], dearer[:, top - gpus :].min(axis=1))
            best = after
        return best


def _dtype(far: int) -> np.dtype[Any]:
    return np.dtype(np.int64) if far < _SAFE else np.dtype(np.object_)


def _nothing(modulus: int, far: int) -> _Prices:
    """Return the prices of no nodes at all: nothing for the remainder 0."""
    prices: _Prices = np.full(modulus, far, _dtype(far))
    prices[0] = 0
    return prices


def _times(price: _Prices, nodes: int, far: int) -> _Prices:
    """Return the least price of `nodes` equal nodes, by remainder; by doubling."""
    result = _nothing(len(price), far)
    while nodes:
        if nodes & 1:
            result = _add(result, price, far)
        nodes >>= 1
        if nodes:
            price = _add(price, price, far)
    return result


def _add(one: _Prices, other: _Prices, far: int) -> _Prices:
    """Return the least sums of a price of each, by the remainder of both together."""
    remainders = np.arange(len(one))
    sums = one[None, :] + other[(remainders[:, None] - remainders[None, :]) % len(one)]
    least: _Prices = np.minimum(sums.min(axis=1), far)
    return least


def _check(placed: PlacedProblem, leaf: Leaf) -> None:
    weights, demands = leaf.weights, len(placed.problem.demands)
    if weights.denominator < 1 or len(weights.demands) != demands:
        raise ArgumentError("the weights do not match the demands")
    if len(weights.branches) != len(leaf.cuts):
        raise ArgumentError("the weights do not match the branches")
    if weights.partial < 0 or any(z < 0 for z in weights.branches):
        raise ArgumentError("the weight of a partial node or of a branch is negative")
    if not 1 <= weights.modulus <= MAX_MODULUS:
        raise ArgumentError(f"the modulus is {weights.modulus}, not 1 to {MAX_MODULUS}")
    if len(weights.residues) != (0 if weights.modulus == 1 else demands + 1):
        raise ArgumentError("the residues do not match the demands")
    if any(not 0 <= residue < weights.modulus for residue in weights.residues):
        raise ArgumentError("a residue is negative, or not below the modulus")


def _beyond_all_prices(placed: PlacedProblem, weights: MigrationWeights) -> int:
    """Return a number so far above all sums of prices that no sum with it can be taken for one."""
    branches = sum(weights.branches)
    instance = weights.denominator + max(map(abs, weights.demands), default=0) + branches
    kinds, groups = placed.problem.classes, placed.current
    instances = max((kind.room + len(kind.own) for kind in kinds), default=0)
    instances += max((len(group.pattern) for group in groups), default=0)
    node = instance * (instances + 1) + weights.partial + branches
    return 8 * (node * (1 + sum(group.nodes for group in groups)) + weights.modulus * weights.partial + 1)
