"""What the arguments of several pools prove about a limit that the pools share: exact, in integers, without a solver.

An argument of a pool bounds its migrations for every limit on its own partial nodes. A limit on the partial nodes of
all pools together can be divided among them in any way, so together they cost at least what the cheapest division does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.model import Pool
from oracle.optimum.node_classes import PlacedProblem, count_partial
from oracle.optimum.proof import Proof
from oracle.optimum.weights import Branch, Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from oracle.optimum.certificate import Certificate
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.weights import Tree

    Costs = npt.NDArray[np.int64]

# Costs are migrations: any bound above this is as good as this, and sums of it stay far within 64 bits.
_MOST = 1 << 40

# Arguments stored for one pool at most: where it would take more, a claim is left without proof.
MAX_ARGUMENTS = 100


@dataclass(frozen=True, slots=True)
class PoolCosts:
    """What is proved about the migrations of one pool, by the partial nodes it is allowed.

    Attributes
    ----------
    placed
        What the pool holds now.
    fewest
        No placement has fewer partial nodes.
    least
        Migrations at least, for each limit from `fewest` to the partial nodes of today. They never rise along it.
    arguments
        What proves it.
    """

    placed: PlacedProblem
    fewest: int
    least: Costs
    arguments: tuple[Tree, ...] = ()

    @classmethod
    def start(cls, inherent: Certificate, migrations: MigrationCertificate) -> PoolCosts:
        """Return what the certificates of a pool prove; nothing if the one of its migrations is a solver's word.

        Raises
        ------
        ArgumentError
            The argument does not match its problem.
        """
        nothing = cls.of(PlacedProblem(migrations.problem, migrations.present), inherent.lower_bound)
        argument = migrations.argument
        return nothing.with_argument(argument) if isinstance(argument, Weights | Branch) else nothing

    @classmethod
    def of(cls, placed: PlacedProblem, fewest: int) -> PoolCosts:
        """Return that nothing is proved yet of a pool that has at least so many partial nodes."""
        limits = max(1, count_partial(placed.problem, placed.current) - fewest + 1)
        return cls(placed, fewest, np.zeros(limits, np.int64))

    def with_argument(self, argument: Tree) -> PoolCosts:
        """Return what is proved with one argument more.

        Raises
        ------
        ArgumentError
            The argument does not match the problem.
        """
        proof = Proof(Pool.of(self.placed), argument)
        proved = np.full(len(self.least), _MOST)
        for i, limit in enumerate(range(self.fewest, self.fewest + len(self.least))):
            break_off_if_requested()
            proved[i] = min(_MOST, proof.arrivals(limit))
        # What a larger limit takes a smaller one does too.
        proved = np.maximum.accumulate(proved[::-1])[::-1]
        return PoolCosts(self.placed, self.fewest, np.maximum(self.least, proved), (*self.arguments, argument))

    def at(self, limit: int) -> int:
        """Return the migrations that so few partial nodes in this pool take at least."""
        return int(self.least[limit - self.fewest]) if limit < self.fewest + len(self.least) else 0


def cheapest_division(pools: Sequence[PoolCosts], limit: int) -> tuple[int, tuple[int, ...]] | None:
    """Return the migrations that at most `limit` partial nodes take at least, and how it is divided among the pools.

    None if there are no placements with so few, which the pools' `fewest` say.
    """
    spare = limit - sum(pool.fewest for pool in pools)
    if spare < 0:
        return None
    tables = [np.zeros(1, np.int64)]
    for pool in pools:
        tables.append(cheapest_sums(tables[-1], pool.least))
    left = min(spare, len(tables[-1]) - 1)
    lower, division = int(tables[-1][left]), list[int]()
    for pool, before in zip(reversed(pools), tables[-2::-1], strict=True):
        own = np.arange(min(left, len(pool.least) - 1) + 1)
        chosen = int(np.argmin(pool.least[own] + before[np.minimum(left - own, len(before) - 1)]))
        division.append(pool.fewest + chosen)
        left -= chosen
    return lower, tuple(reversed(division))


def cheapest_sums(one: Costs, other: Costs) -> Costs:
    """Return for every i the least one[j] + other[i - j]; both, and the result, never rise."""
    sums = np.full(len(one) + len(other) - 1, np.iinfo(np.int64).max)
    shorter, longer = sorted((one, other), key=len)
    for shift, value in enumerate(shorter.tolist()):
        break_off_if_requested()
        part = sums[shift : shift + len(longer)]
        np.minimum(part, longer + value, out=part)
    return np.minimum.accumulate(sums)


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
        while (cheapest := cheapest_division(pools, limit)) is not None and cheapest[0] < wanted:
            more = [
                _improved(p, pool, own, known) for p, (pool, own) in enumerate(zip(pools, cheapest[1], strict=True))
            ]
            if all(one is other for one, other in zip(more, pools, strict=True)):
                break
            pools = more
    return pools


def _improved(p: int, pool: PoolCosts, limit: int, known: Callable[[int, int], MigrationCertificate]) -> PoolCosts:
    if len(pool.arguments) >= MAX_ARGUMENTS:
        return pool
    certificate = known(p, limit)
    argument = certificate.argument
    if certificate.lower_bound <= pool.at(limit) or not isinstance(argument, Weights | Branch):
        return pool
    better = pool.with_argument(argument)
    return better if better.at(limit) > pool.at(limit) else pool


def further_arguments(
    certificates: Sequence[tuple[Certificate, MigrationCertificate]],
    claims: Iterable[tuple[int, int]],
    known: Callable[[int, int], MigrationCertificate],
) -> list[tuple[Tree, ...]]:
    """Return for each pool the arguments that claims about all of them take beside those of its certificates.

    Parameters
    ----------
    certificates
        What is proved of each pool: its fewest partial nodes, and the migrations to as many as it is left.
    claims, known
        As for `prove`.
    """
    started = [PoolCosts.start(inherent, migrations) for inherent, migrations in certificates]
    proved = prove(started, claims, known)
    return [pool.arguments[len(start.arguments) :] for pool, start in zip(proved, started, strict=True)]
