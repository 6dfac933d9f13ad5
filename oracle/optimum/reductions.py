"""Full nodes that some best packing of 8-GPU nodes has, and lower bounds that rest on setting them aside.

A rule names a full pattern P and says when Φ*(n) = Φ*(n − P), for every n that satisfies it, however large. So a
lower bound for what is left after some applications is one for the whole workload, and anybody can re-check it: look
up each rule, subtract, evaluate the weights of the rest. No solver, and integers only.

The rules' proofs are in ``docs/theory-closed-form.md``; the tests also compare each with a dynamic program on every
workload of up to 40 GPUs. Conditions matter: in another order the same patterns are wrong (``docs`` has the
counterexamples).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from oracle.optimum.model import Pool
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.proof import line_of
from oracle.optimum.weights import ArgumentError, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.model import Pattern

GPUS = 8
"""GPUs of a node. The rules hold for this capacity only."""

Counts: TypeAlias = "tuple[int, ...]"
"""(n1, ..., n8): running instances by demand."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When nodes with a certain full pattern may be set aside: some best packing has them.

    "Best" means both at once: fewest partial nodes, and among those fewest nodes in use.

    Attributes
    ----------
    pattern
        What the node holds; 8 GPUs.
    at_most
        Pairs of a demand and how many instances of it there may be, `pattern` included. Other demands are free.
    beside
        Pairs of a demand and how many 2-GPU instances may stand beside each instance of it. So many must remain.
    """

    pattern: Pattern
    at_most: tuple[tuple[int, int], ...] = ()
    beside: tuple[tuple[int, int], ...] = ()

    def times(self, counts: Counts) -> int:
        """Return how often the rule can be applied to `counts` in succession.

        Removing instances never breaks `at_most`, so checking that once is enough.
        """
        times = min([counts[gpus - 1] // copies for gpus, copies in _copies(self.pattern)])
        if not times:
            return 0
        for demand, most in self.at_most:
            if counts[demand - 1] > most:
                return 0
        if self.beside:
            spare = counts[1] - sum([twos * counts[demand - 1] for demand, twos in self.beside])
            return max(0, spare // self.pattern.count(2))
        return times


RULES = (
    Rule((8,)),
    Rule((7, 1)),
    Rule((6, 2)),
    Rule((5, 3)),
    Rule((4, 4)),
    Rule((3, 3, 2), at_most=((5, 0), (6, 0))),
    Rule((5, 2, 1), at_most=((3, 0), (6, 0), (7, 0))),
    Rule((6, 1, 1), at_most=((2, 0), (7, 0))),
    Rule((4, 3, 1), at_most=((2, 0), (4, 1), (5, 0), (7, 0))),
    Rule((3, 3, 1, 1), at_most=((2, 0), (5, 0), (6, 0), (7, 0))),
    Rule((4, 2, 2), at_most=((1, 0), (3, 1), (4, 1), (6, 0))),
    Rule((2, 2, 2, 2), beside=((3, 2), (5, 1), (6, 1))),
)
"""All rules. Applied once each, in this order and as often as possible, they leave what `closed_form` settles."""

_NODE = NodeClass(GPUS, 0, GPUS)
"""A node on which everything may move."""

_RULE_OF = {rule.pattern: rule for rule in RULES}


class Removal(Struct, frozen=True, forbid_unknown_fields=True):
    """`times` nodes set aside that hold `pattern`, by the rule for that pattern."""

    pattern: tuple[int, ...]
    times: int


class Remainder(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="remainder"):
    """If the GPUs in use are no multiple of 8, one node is partial."""


class Reductions(Struct, frozen=True, forbid_unknown_fields=True, tag_field="argument", tag="reductions"):
    """Why a workload needs so many partial nodes: set full nodes aside, then bound the rest.

    Attributes
    ----------
    removals
        In the order in which they are made: the condition of each is checked on what the earlier ones left.
    rest
        The bound for what is left: its remainder, or weights for the demands left over, descending.
    """

    removals: tuple[Removal, ...]
    rest: Remainder | Weights


def reduce_fully(counts: Counts) -> tuple[tuple[Removal, ...], Counts]:
    """Return every removal that the rules allow, and the instances that are left."""
    removals: list[Removal] = []
    for rule in RULES:
        times = rule.times(counts)
        if times:
            removals.append(Removal(rule.pattern, times))
            counts = _without(counts, rule.pattern, times)
    return tuple(removals), counts


def reductions_bound(problem: PackingProblem, argument: Reductions) -> int:
    """Return the lower bound on the partial nodes of a problem that an argument proves, in nodes.

    Parameters
    ----------
    problem
        Instances on empty 8-GPU nodes. How many nodes does not matter: the bound holds for any number.
    argument
        What to check.

    Raises
    ------
    ArgumentError
        Other nodes; a removal for which there is no rule, or whose rule does not allow it; or weights that do not fit
        the rest.
    """
    if not is_uniform(problem):
        raise ArgumentError("reductions hold for empty nodes of 8 GPUs only")
    left = uniform_counts(problem)
    for removal in argument.removals:
        rule = _RULE_OF.get(removal.pattern)
        if rule is None:
            raise ArgumentError(f"there is no rule for the pattern {removal.pattern}")
        if not 1 <= removal.times <= rule.times(left):
            raise ArgumentError(
                f"the rule for {removal.pattern} allows {rule.times(left)} removals from {left}, not {removal.times}"
            )
        left = _without(left, removal.pattern, removal.times)
    if isinstance(argument.rest, Remainder):
        return 1 if uniform_problem(left).movable_gpus % GPUS else 0
    return line_of(Pool.unplaced(uniform_problem(left)), argument.rest).partial_nodes()


def uniform_problem(counts: Sequence[int]) -> PackingProblem:
    """Return the packing problem of these instances on as many empty 8-GPU nodes as they could ever use."""
    return PackingProblem.build({_NODE: sum(counts)}, dict(enumerate(counts, start=1)))


def is_uniform(problem: PackingProblem) -> bool:
    """Whether all nodes have 8 GPUs and everything on them may move: what the rules and the closed form are for."""
    return {*problem.classes} <= {_NODE} and all(demand <= GPUS for demand, _ in problem.demands)


def uniform_counts(problem: PackingProblem) -> Counts:
    """Return the instances of such a problem by demand."""
    counts = dict(problem.demands)
    return tuple(counts.get(gpus, 0) for gpus in range(1, GPUS + 1))


def _without(counts: Counts, pattern: Pattern, times: int) -> Counts:
    left = list(counts)
    for gpus, copies in _copies(pattern):
        left[gpus - 1] -= copies * times
    return tuple(left)


@cache
def _copies(pattern: Pattern) -> tuple[tuple[int, int], ...]:
    """Return the pairs (demand, how often) of a rule's pattern; there are 12 such patterns."""
    return tuple(Counter(pattern).items())
