"""What limits on partial nodes cost, and how one is divided among pools: exact, in integers, without a solver.

What is known of a pool is a table: the migrations for each limit on its own partial nodes, attained by plans or proved
by arguments. It never rises along the limits. Instances never leave their pool, so what a limit on all pools together
costs is what the cheapest division of it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.model import Pool
from oracle.optimum.node_classes import PlacedProblem, count_partial
from oracle.optimum.proof import NEVER, Proof
from oracle.optimum.weights import Branch, Weights, is_trivial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from oracle.optimum.certificate import Certificate
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.proof import Line
    from oracle.optimum.weights import Tree

Costs: TypeAlias = npt.NDArray[np.int64]
"""Migrations for each limit from the lowest on; of one pool never above `NEVER`."""

# Arguments stored for one pool at most: where it would take more, a claim is left without proof.
MAX_ARGUMENTS = 100

# Numbers of an argument up to which 64 bits are enough.
_SAFE = 1 << 60


def attained(plans: Iterable[tuple[int, int]], limits: range) -> Costs:
    """Return what the cheapest plan costs within each limit; plans are pairs of partial nodes and migrations."""
    least = np.full(len(limits), NEVER, np.int64)
    for partial_nodes, migrations in plans:
        if partial_nodes < limits.stop:
            at = max(0, partial_nodes - limits.start)
            least[at] = min(migrations, int(least[at]))
    return np.minimum.accumulate(least)


def proved(lines: Iterable[Line], limits: range) -> Costs:
    """Return what each limit costs at least by the lines of an argument, one a leaf."""
    least = np.full(len(limits), NEVER, np.int64)
    for line in lines:
        break_off_if_requested()
        safe = abs(line.least) + line.partial * limits.stop + line.arrival < _SAFE
        # Integers of 64 bits, or Python's own; numpy's types cannot say either of two.
        numbers: npt.NDArray[Any] = np.arange(limits.start, limits.stop, dtype=np.int64 if safe else np.object_)
        rest: npt.NDArray[Any] = line.least - line.partial * numbers
        costs: npt.NDArray[Any] = -(-rest // line.arrival) if line.arrival else np.where(rest > 0, NEVER, 0)
        least = np.minimum(least, np.clip(costs, 0, NEVER).astype(np.int64))
    return least


def together(pools: Iterable[Costs]) -> Costs:
    """Return what all pools together cost, by how many partial nodes more than the lowest of each they may have."""
    return reduce(_sums, pools, _NO_POOL)


def divide(pools: Sequence[Costs], allowed: int) -> list[int]:
    """Return how many of the partial nodes allowed each pool gets so that together they cost least.

    As many as do no harm: whoever chooses among plans that cost the same is then free to.
    """
    tables = [*accumulate(pools, _sums, initial=_NO_POOL)]
    division: list[int] = []
    for costs, others in zip(reversed(pools), tables[-2::-1], strict=True):
        own = np.arange(min(allowed, len(costs) - 1), -1, -1)
        division.append(int(own[np.argmin(costs[own] + others[np.minimum(allowed - own, len(others) - 1)])]))
        allowed -= division[-1]
    return division[::-1]


_NO_POOL: Costs = np.zeros(1, np.int64)


def _sums(one: Costs, other: Costs) -> Costs:
    """Return for every i the least one[j] + other[i - j]."""
    sums = np.full(len(one) + len(other) - 1, np.iinfo(np.int64).max)
    shorter, longer = sorted((one, other), key=len)
    for shift, value in enumerate(shorter.tolist()):
        break_off_if_requested()
        part = sums[shift : shift + len(longer)]
        np.minimum(part, longer + value, out=part)
    return np.minimum.accumulate(sums)


@dataclass(frozen=True, slots=True)
class PoolCosts:
    """What arguments prove about the migrations of one pool.

    Attributes
    ----------
    placed
        What the pool holds now.
    fewest
        No placement has fewer partial nodes.
    least
        Migrations at least, for each limit from `fewest` to the partial nodes of today.
    arguments
        What proves it.
    """

    placed: PlacedProblem
    fewest: int
    least: Costs
    arguments: tuple[Tree, ...] = ()

    @classmethod
    def of(cls, inherent: Certificate, migrations: MigrationCertificate) -> PoolCosts:
        """Return what the certificates of a pool prove; of its migrations nothing if that is a solver's word.

        Raises
        ------
        ArgumentError
            The argument does not match its problem.
        """
        argument = migrations.argument
        nothing = cls.nothing(PlacedProblem(migrations.problem, migrations.present), inherent)
        return nothing.with_argument(argument) if isinstance(argument, Weights | Branch) else nothing

    @classmethod
    def nothing(cls, placed: PlacedProblem, inherent: Certificate) -> PoolCosts:
        """Return that nothing is proved yet about the migrations."""
        limits = max(1, count_partial(placed.problem, placed.current) - inherent.lower_bound + 1)
        return cls(placed, inherent.lower_bound, np.zeros(limits, np.int64))

    @property
    def limits(self) -> range:
        """The limits in question; more partial nodes than there are today cost nothing."""
        return range(self.fewest, self.fewest + len(self.least))

    def with_argument(self, argument: Tree) -> PoolCosts:
        """Return what is proved with one argument more.

        Raises
        ------
        ArgumentError
            The argument does not match the problem.
        """
        least = self.least
        if not is_trivial(argument):
            least = np.maximum(least, proved(Proof(Pool.of(self.placed), argument).lines, self.limits))
        return PoolCosts(self.placed, self.fewest, least, (*self.arguments, argument))


def prove(
    pools: Sequence[PoolCosts], claims: Iterable[tuple[int, int]], known: Callable[[int, int], MigrationCertificate]
) -> list[PoolCosts]:
    """Return the pools with as many arguments more as it takes to prove claims about all of them together.

    Where the arguments known do not prove a claim, those returned come as near as they do.

    Parameters
    ----------
    pools
        What is proved already.
    claims
        Pairs of a limit on the partial nodes of all pools and the migrations that it takes at least.
    known
        From a pool and a limit on its partial nodes to what is known about it.
    """
    pools = list(pools)
    for limit, wanted in claims:
        spare = limit - sum(pool.fewest for pool in pools)
        while spare >= 0:
            division = divide([pool.least for pool in pools], spare)
            open_ = [p for p, pool in enumerate(pools) if len(pool.arguments) < MAX_ARGUMENTS]
            if sum(int(pool.least[k]) for pool, k in zip(pools, division, strict=True)) >= wanted:
                break
            better = {p: _improved(pools[p], division[p], known(p, pools[p].limits[division[p]])) for p in open_}
            if all(more is pools[p] for p, more in better.items()):
                break
            pools = [better.get(p, pool) for p, pool in enumerate(pools)]
    return pools


def _improved(pool: PoolCosts, k: int, known: MigrationCertificate) -> PoolCosts:
    if known.lower_bound <= pool.least[k] or not isinstance(known.argument, Weights | Branch):
        return pool
    better = pool.with_argument(known.argument)
    return better if better.least[k] > pool.least[k] else pool
