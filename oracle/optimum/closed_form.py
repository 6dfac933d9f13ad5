"""Φ* for 8-GPU nodes in closed form: any workload, no solver, a handful of integer operations (theory §4, C8, C9).

Two instances that fill a node together may always share one, so Φ* depends on four numbers only (`Surplus`): 1-GPU
instances beyond 7-GPU ones, 2 beyond 6, 3 beyond 5, and whether a 4 is left over. Of what is left, the triples 3+3+2,
5+2+1 and 6+1+1 go next; then few enough cases remain to write down. The proofs are in ``docs/theory-closed-form.md``.

Nodes are taken to be as many as needed. As the witness uses the fewest nodes that hold the instances (C9), the value
is the same on every cluster on which they fit at all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from oracle.optimum.reductions import GPUS, Reductions, Remainder, reduce_fully, reductions_bound, uniform_problem
from oracle.optimum.weights import ArgumentError, Weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.optimum.reductions import Counts, Removal
    from oracle.snapshots.model import Pattern


def fewest_partial_nodes(counts: Sequence[int]) -> int:
    """Return Φ* of a workload on 8-GPU nodes: the fewest partial nodes of all placements.

    Parameters
    ----------
    counts
        Running instances by demand, (n1, ..., n8); demands left off at the end have none.

    Returns
    -------
    int
        Nodes. Time and memory do not depend on the size of the counts.

    Raises
    ------
    ValueError
        A count is negative, or there are more than 8.
    """
    ones, twos, threes, fours, fives, sixes, sevens, _ = _checked(counts)
    return _inherent(ones - sevens, twos - sixes, threes - fives, fours & 1)


class Surplus(NamedTuple):
    """The four numbers on which Φ* depends, for schedulers that follow it event by event.

    An immutable value that answers "what if" without the counts. Each step and each Φ* takes under 1 µs; a memo would
    not pay for its look-ups (measured on the Philly and Helios traces).

    Attributes
    ----------
    ones
        n1 − n7.
    twos
        n2 − n6.
    threes
        n3 − n5.
    odd_four
        n4 mod 2.
    """

    ones: int
    twos: int
    threes: int
    odd_four: int

    @classmethod
    def of(cls, counts: Sequence[int]) -> Surplus:
        """Return the surplus of a workload (n1, ..., n8).

        Raises
        ------
        ValueError
            A count is negative, or there are more than 8.
        """
        ones, twos, threes, fours, fives, sixes, sevens, _ = _checked(counts)
        return cls(ones - sevens, twos - sixes, threes - fives, fours & 1)

    def after(self, gpus: int, instances: int = 1) -> Surplus:
        """Return the surplus after instances of one demand have come, or gone if `instances` is negative.

        Whether so many were running cannot be told from a surplus; that is the caller's business.

        Raises
        ------
        ValueError
            The demand is not 1 to 8 GPUs.
        """
        ones, twos, threes, odd_four = self
        match gpus:
            case 1 | 7:
                ones += instances if gpus == 1 else -instances
            case 2 | 6:
                twos += instances if gpus == 2 else -instances
            case 3 | 5:
                threes += instances if gpus == 3 else -instances
            case 4:
                odd_four = (odd_four + instances) & 1
            case 8:
                pass
            case _:
                raise ValueError(f"gpus: expected 1 to {GPUS}, got {gpus}")
        return Surplus(ones, twos, threes, odd_four)

    @property
    def partial_nodes(self) -> int:
        """Φ*. One instance more or less changes it by at most 1."""
        return _inherent(*self)


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """Φ* with a packing that attains it and an argument that no packing does better.

    Attributes
    ----------
    partial_nodes
        Φ*, in nodes.
    packing
        Pairs of a pattern and how many nodes hold it, patterns descending. It attains both Φ* and the fewest nodes
        in use.
    argument
        Full nodes that may be set aside, and a bound for the rest; `reductions_bound` re-checks it.
    """

    partial_nodes: int
    packing: tuple[tuple[Pattern, int], ...]
    argument: Reductions

    @property
    def nodes_in_use(self) -> int:
        """Nodes of the packing: the fewest that can hold the instances."""
        return sum(nodes for _, nodes in self.packing)

    def verify(self, counts: Sequence[int]) -> None:
        """Check packing and argument against a workload, without a solver; return nothing if both hold.

        The number of nodes in use is not part of the proof.

        Raises
        ------
        ArgumentError
            The first thing found wrong.
        """
        problem = uniform_problem(_checked(counts))
        packed: Counter[int] = Counter()
        for pattern, nodes in self.packing:
            if nodes < 1 or not pattern or min(pattern) < 1 or sum(pattern) > GPUS:
                raise ArgumentError(f"{nodes} nodes cannot hold the pattern {pattern}")
            for gpus in pattern:
                packed[gpus] += nodes
        if packed != dict(problem.demands):
            raise ArgumentError("the packing does not hold these instances")
        partial = sum(nodes for pattern, nodes in self.packing if sum(pattern) < GPUS)
        proved = reductions_bound(problem, self.argument)
        if not partial == proved == self.partial_nodes:
            raise ArgumentError(f"{self.partial_nodes} claimed, {partial} in the packing, {proved} proved")


def closed_form_with_witness(counts: Sequence[int]) -> ClosedForm:
    """Return Φ* of a workload on 8-GPU nodes, a packing that attains it and why no packing does better.

    Parameters
    ----------
    counts
        Running instances by demand, (n1, ..., n8); demands left off at the end have none.

    Returns
    -------
    ClosedForm
        Its packing has about ten distinct patterns, its argument about ten steps at most, whatever the counts.

    Raises
    ------
    ValueError
        A count is negative, or there are more than 8.
    """
    removals, rest = reduce_fully(_checked(counts))
    nodes: Counter[Pattern] = Counter({removal.pattern: removal.times for removal in removals})
    for pattern, times in _packed(rest):
        nodes[pattern] += times
    nodes.pop((), None)
    return ClosedForm(
        partial_nodes=sum(times for pattern, times in nodes.items() if sum(pattern) < GPUS),
        packing=tuple(sorted(((p, k) for p, k in nodes.items() if k), reverse=True)),
        argument=_argument(removals, rest),
    )


def _checked(counts: Sequence[int]) -> Counts:
    if len(counts) > GPUS:
        raise ValueError(f"counts: expected at most {GPUS} numbers, one for each demand, got {len(counts)}")
    full = counts if len(counts) == GPUS else (*counts, *([0] * (GPUS - len(counts))))
    if min(full) < 0:
        raise ValueError(f"counts: expected numbers of instances, got {min(full)}")
    return tuple(full)


# The value. In what follows a negative surplus of ones, twos or threes is one of sevens, sixes or fives.


def _inherent(ones: int, twos: int, threes: int, four: int) -> int:
    """Return Φ* from the surpluses: take out the triples, count the nodes no rest can fill, settle what is left."""
    if twos > 0:
        if threes > 1:
            triples = min(twos, threes // 2)
            twos, threes = twos - triples, threes - 2 * triples
        elif threes < 0 < ones:
            triples = min(ones, twos, -threes)
            ones, twos, threes = ones - triples, twos - triples, threes + triples
    elif twos < 0 and ones > 1:
        triples = min(-twos, ones // 2)
        ones, twos = ones - 2 * triples, twos + triples
    alone = 0
    if ones < 0:
        alone, ones = -ones, 0
    if twos < 0:
        # At most one 1 is left, and it stands beside a 6 unless 4+3+1 can use it.
        alone, twos = alone - twos, 0
        if threes == 0:
            return alone + four
    if threes < 0:
        return alone + _with_fives(ones, twos, -threes, four)
    if ones >= threes:
        return alone + ((ones + 2 * twos + 3 * threes + 4 * four) % GPUS > 0)
    return alone + _with_threes(ones, twos, threes, four)


def _with_fives(ones: int, twos: int, fives: int, four: int) -> int:
    """Return Φ* of fives with ones or with twos, not both, and at most one 4."""
    if ones >= 3 * fives:
        return 1 if (ones - 3 * fives + 4 * four) % GPUS else 0
    if ones:
        return fives + four - ones // 3
    if four and twos < 2:
        return fives + 1
    # Full nodes take the twos by fours (two beside the 4); each 5 takes one of the rest.
    return fives + (1 if (twos + 2 * four) % 4 > fives else 0)


def _with_threes(ones: int, twos: int, threes: int, four: int) -> int:
    """Return Φ* of more threes than ones, at most one 4, and twos only beside a single 3 without ones."""
    if twos:
        # One 3 takes 0, 2 or 4 more GPUs in twos and a 4, but not 6.
        return 2 if (2 * twos + 4 * four) % GPUS == 6 else 1
    return (threes + 1 - four) // 2 - (ones - four) // 2


# The witness and the weights, for what the rules leave: at most one of 1|7, 2|6 and 3|5, at most one 4, no triple.


def _packed(rest: Counts) -> Iterator[tuple[Pattern, int]]:
    """Yield a best packing of what the rules leave; some entries are for 0 nodes or empty ones."""
    ones, twos, threes, fours, fives, sixes, sevens, _ = rest
    yield (7,), sevens
    if sixes:
        yield (6, 1), ones
        yield (6,), sixes - ones
        ones = 0
    if ones >= threes + 3 * fives:
        yield (5, 1, 1, 1), fives
        yield from _packed_blocks(ones - threes - 3 * fives, twos, (4,) * fours + (3, 1) * threes)
    elif fives and ones:
        full, over = divmod(ones, 3)
        yield (5, 1, 1, 1), full
        yield (5, *(1,) * over), 1
        yield (5,), fives - full - 1
        yield (4,), fours
    elif fives or twos:
        yield from _packed_beside(twos, threes, fours, fives)
    else:
        pairs, odd = divmod(threes - fours, 2)
        yield (4, 3), fours
        yield (3, 3, 1), ones
        yield (3, 3), pairs - ones
        yield (3,), odd


def _packed_blocks(ones: int, twos: int, node: Pattern) -> Iterator[tuple[Pattern, int]]:
    """Yield a packing without waste, but for the last node: `node` is filled up first, then others are opened."""
    for gpus, count in ((2, twos), (1, ones)):
        more = min(count, (GPUS - sum(node)) // gpus)
        node = tuple(sorted((*node, *(gpus,) * more), reverse=True))
        if count > more:
            full, over = divmod(count - more, GPUS // gpus)
            yield node, 1
            yield (gpus,) * (GPUS // gpus), full
            node = (gpus,) * over
    yield node, 1


def _packed_beside(twos: int, threes: int, fours: int, fives: int) -> Iterator[tuple[Pattern, int]]:
    """Yield a packing of twos and at most one 4 beside fives (one 2 each) or beside a single 3 (4 or 2+2)."""
    if fours and threes:
        yield (4, 3), 1
        yield (2,) * twos, 1
        return
    yield (4,), fours
    if twos > max(3, fives):
        yield (2, 2, 2, 2), 1
        twos -= 4
    beside = min(twos, 2 if threes else fives)
    if threes:
        yield (3, *(2,) * beside), 1
    else:
        yield (5, 2), beside
        yield (5,), fives - beside
    yield (2,) * (twos - beside), 1


def _argument(removals: tuple[Removal, ...], rest: Counts) -> Reductions:
    """Return why the packing of `rest` is best. A remainder proves itself, without any removal."""
    ones, _, threes, _, fives, sixes, sevens, _ = rest
    if not sixes and not sevens and ones >= threes + 3 * fives:
        return Reductions((), Remainder())
    denominator, numerators = _weights(rest)
    numerators |= {6: denominator, 7: denominator}
    demands = tuple(numerators.get(gpus, 0) for gpus in range(GPUS, 0, -1) if rest[gpus - 1])
    return Reductions(removals, Weights(denominator, 0, demands))


def _weights(rest: Counts) -> tuple[int, dict[int, int]]:
    """Return a denominator and the weights of 1 to 5 GPUs; a full pattern of `rest` weighs 0 or less, others ≤ 1."""
    ones, twos, threes, fours, fives, _, _, _ = rest
    if fives and ones:
        return 3, {5: 3, 4: 3, 1: -1}
    if fives:
        # Two or three twos that outnumber the fives need a node of their own; else every 2 finds room.
        return (twos, {5: twos - 1, 2: 1}) if fives < twos <= 3 else (1, {5: 1, 4: 1})
    if threes:
        if fours or not twos:
            return 2, {4: 1, 3: 1, 2: 1}
        return (3, {3: 1, 2: 1}) if twos == 3 else (1, {3: 1})
    return (1, {4: 1}) if fours or not twos else (twos, {2: 1})
