"""Shortest event lists under which the rules of the panels lose a bound over domains of K units, K no power of two.

Three lists of two arrivals on three domains do it for every such K (`general_failure`). None is shorter: fewer events
first, then fewer domains. That is argued here for every K, and searched for one K at a time (`shorter_failures`), where
all demands and gangs are played.

- Departures are of no use: of one event or two they only leave an idle cluster.
- Three partial domains are three domains, so only EXACT, which owes Φ = Φ*, could fail on two.
- One arrival is never enough, on any number of domains. Instances of one unit fill domains one after another. Wider
  slots find no fillers, so under the condition they need none: demands are K, which fills domains, or a power of two
  g < K. These put ⌊K/g⌋ instances on a domain before the next is begun. Where g divides K that fills it; where it does
  not, and a second domain is begun, there are more instances than the condition has places of width g for.
- Two arrivals are not enough on one domain, where Φ > Φ* = 0 asks for K units in use, which fill it.
- Two arrivals are not enough for EXACT on two domains. Both would be partial (one alone means Φ = Φ* = 1), and open, as
  slots are saturated under the condition. Blocks (slots with their fillers, and ones) are of two widths at most: a,
  which divides b, as both demands are powers of two or one of them is 1. If all blocks fit one domain, pour one into
  the other. Else the condition says that some of them can fill a domain, so a divides K. On the first domain let there
  be room F₁ and A₁ units of blocks of width a, on the second F₂ and A₂. If A₂ ≥ F₁, blocks of width a fill the first.
  If not, x blocks of width b leave the first for the second, all or as many as A₂ + F₂ allows, and blocks of width a
  take the rest of A₂ + F₂. There are enough of them: if all blocks of width b are there, since more than K units are in
  use; else since the rest is K mod b, for which blocks of width a are needed however a domain is filled. If none of
  them has to leave the second domain, all that moves moves into its room. Otherwise those leave first, at most A₂ < F₁,
  and make the room that x blocks ask for. Counted in instances, fillers and ones being alike, the same holds. So there
  is a division that can be carried out, and EXACT merges while there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, Variant, arrive
from compass_core.hierarchy import tier_condition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core.hierarchy import TierCondition

Gang = tuple[int, int]
"""Instances, and units of each."""

SHORTER = ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2))
"""Numbers of events and of domains that are searched through, the shortest lists first."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a variant owes under the condition of the tier.

    Attributes
    ----------
    most
        How many domains may be partial.
    avoidable
        Whether only those count that need not be: Φ − Φ*, not Φ.
    """

    variant: Variant
    most: int
    avoidable: bool

    def allowed(self, condition: TierCondition) -> int:
        """Return how many domains may be partial where that condition holds."""
        return self.most + (condition.inherent if self.avoidable else 0)

    def fails(self, state: ClusterState) -> bool:
        """Whether the state breaks the bound although the condition holds."""
        condition = tier_condition(state.counts)
        return condition.holds and state.partial_nodes > self.allowed(condition)


TWO_PARTIAL = Bound(Variant.COMPASS, most=2, avoidable=False)
TWO_AVOIDABLE = Bound(Variant.COMPASS, most=2, avoidable=True)
NONE_AVOIDABLE = Bound(Variant.EXACT, most=0, avoidable=True)


@dataclass(frozen=True, slots=True)
class Failure:
    """Arrivals on idle domains that break a bound: how many units a domain has, how many domains, what arrives."""

    size: int
    hosts: int
    events: tuple[Gang, ...]

    def breaks(self, bound: Bound) -> bool:
        """Whether all of them are admitted and the bound fails thereafter, when played."""
        state: ClusterState | None = ClusterState.empty(self.hosts, self.size)
        for gang in self.events:
            state = None if state is None else _arrived(state, gang, bound.variant)
        return state is not None and bound.fails(state)

    def __str__(self) -> str:
        """Return the list in the notation of the register, and N."""
        return ", ".join(f"{instances}x{units}" for instances, units in self.events) + f", N = {self.hosts}"


def shortest_failure(size: int, bound: Bound) -> Failure | None:
    """Return a shortest list that breaks a bound of K units a domain; None if neither search nor rule knows one."""
    return next(shorter_failures(size, bound), None) or general_failure(size, bound)


def general_failure(size: int, bound: Bound) -> Failure | None:
    """Return the list of two arrivals on three domains that breaks the bound, if it does: where K is no power of two.

    Let 2^j < K < 2^(j+1). Two slots of 2^j units stand on two domains, both partial. All the condition asks for is two
    places of each width up to 2^j, and those K + 2^j units in use offer. COMPASS keeps the ones on a third domain,
    which they leave partial. EXACT would bring them to the slots, but not from a domain that they fill.
    """
    width = 1 << (size.bit_length() - 1)
    if width == size:
        return None
    in_use = 2 * size if bound.avoidable else size + width  # under COMPASS; twice K means Φ* = 0
    ones = size if bound.variant is Variant.EXACT else in_use - 2 * width
    failure = Failure(size, 3, ((ones, 1), (2, width)))
    return failure if failure.breaks(bound) else None


def shorter_failures(size: int, bound: Bound) -> Iterator[Failure]:
    """Yield every list of one arrival on at most three domains, or two on at most two, that breaks the bound."""
    for length, hosts in SHORTER:
        if hosts > bound.most:  # no more domains are partial than there are
            for events in _failing(ClusterState.empty(hosts, size), length, bound):
                yield Failure(size, hosts, events)


def _failing(state: ClusterState, length: int, bound: Bound) -> Iterator[tuple[Gang, ...]]:
    """Yield every list of so many arrivals, from this state on, that breaks the bound."""
    for gang in _gangs(state):
        if length > 1:
            after = _arrived(state, gang, bound.variant)
            if after is not None:
                yield from ((gang, *later) for later in _failing(after, length - 1, bound))
        elif _may_fail(state, gang, bound):
            after = _arrived(state, gang, bound.variant)
            if after is not None and bound.fails(after):
                yield (gang,)


def _gangs(state: ClusterState) -> Iterator[Gang]:
    for units in range(1, state.capacity + 1):
        for instances in range(1, state.free_gpus // units + 1):
            yield instances, units


def _may_fail(state: ClusterState, gang: Gang, bound: Bound) -> bool:
    """Whether the condition holds with that gang running, and more domains could be partial than are allowed."""
    instances, units = gang
    counts = list(state.counts)
    counts[units - 1] += instances
    condition = tier_condition(counts)
    return condition.holds and bound.allowed(condition) < state.node_count


def _arrived(state: ClusterState, gang: Gang, variant: Variant) -> ClusterState | None:
    """Return the state after that arrival, or None where it is refused."""
    instances, units = gang
    outcome = arrive(state, Job(str(len(state.jobs_by_name)), instances, units), variant=variant)
    return outcome.state if outcome.admitted else None
