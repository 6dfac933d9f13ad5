"""The one kind of argument: what arrangements cost at least, computed in integers by anyone, without a solver.

Give a partial node a weight z ≥ 0, an instance that arrives on a node a weight m ≥ 0, and an instance of demand g any
weight y_g. Every arrangement that leaves Φ partial nodes after M arrivals then has

    z·Φ + m·M ≥ Σ_g y_g n_g + Σ_nodes min_q [z·partial(q) + m·arriving(p, q) - y·q],

q being what a node that holds p may hold afterwards: each node costs no less than its cheapest choice. This holds for
all weights; a wrong or rounded one makes the bound weaker, never false. With m = 0 it bounds the partial nodes of all
arrangements, with both the moves to so few of them, and with neither, where the right side is above 0, it says that
there is no arrangement: with waiting instances among the n_g, that they do not fit.

A *branch tree* closes the gap that weights leave: at most so many nodes are full (or instances of a demand arrive,
...), or more. Each leaf has weights of its own, with one more for each inequality on its path; the weakest leaf bounds
the whole.

Nothing here lists patterns: the cheapest choice of a node is a dynamic program over loads, which shares no code with
what finds the weights.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from msgspec import Struct


class Full(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="full"):
    """Counts the full nodes."""


class Partial(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="partial"):
    """Counts the partial nodes."""


class Free(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="free"):
    """Counts the nodes with just so many GPUs free."""

    gpus: int


class Arrivals(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="arrivals"):
    """Counts the instances of one demand that arrive on a node."""

    demand: int


class Leaving(Struct, frozen=True, forbid_unknown_fields=True, tag_field="count", tag="leaving"):
    """Counts the instances of one demand that leave nodes that hold `before` now."""

    demand: int
    before: tuple[int, ...]


Count: TypeAlias = Full | Partial | Free | Arrivals | Leaving


class Weights(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="weights"):
    """Weights: whole numbers.

    Attributes
    ----------
    partial, arrival
        Of a partial node and of an instance that arrives. Never negative.
    demands
        Of an instance of each demand, in descending order of the demands. Any sign.
    branches
        Of each inequality between the root of the tree and this leaf, outermost first. Never negative.
    """

    partial: int
    arrival: int
    demands: tuple[int, ...]
    branches: tuple[int, ...] = ()


class Branch(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="branches"):
    """A case distinction on what is counted: `at_most` (in `below`), or more (in `above`)."""

    counted: Count
    at_most: int
    below: Weights | Branch
    above: Weights | Branch


class SolverProof(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="solver proof"):
    """What a solver claims to have proved. It cannot be recomputed here, only believed."""

    solver: str
    claim: int


Tree: TypeAlias = Weights | Branch


class Cut(NamedTuple):
    """One inequality on the path to a leaf: what is counted is at most `bound`, or at least."""

    counted: Count
    bound: int
    at_least: bool


class ArgumentError(ValueError):
    """An argument that is none: weights that do not match what they are about, or a negative one."""


def is_trivial(argument: Tree) -> bool:
    """Whether an argument proves, of whatever pool, that nothing has to arrive: all that it weighs are arrivals."""
    if not isinstance(argument, Weights) or argument.partial < 0 or argument.arrival < 0:
        return False
    return not argument.partial and not argument.branches and not any(argument.demands)
