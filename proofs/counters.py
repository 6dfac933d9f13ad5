"""States as counters for the solver: one unbounded variable a kind of node, and what is said of all nodes together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from proofs.abstraction import CAPACITY, KINDS, Kind
from proofs.terms import Formula, Term, equal, every, total, variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.abstraction import Looks

Counters = dict[Kind, Term]
"""How many nodes look like each kind."""

COUNTERS: Counters = {kind: variable(kind.name) for kind in KINDS}

COUNTED: tuple[Formula, ...] = tuple(count >= 0 for count in COUNTERS.values())
"""No kind has fewer than 0 nodes. This, and no more, is given of N."""


def summed(counters: Mapping[Kind, Term], weight: Callable[[Kind], int]) -> Term:
    """Return the sum over all nodes of a figure of their kind."""
    return total(weight(kind) * counters[kind] for kind in KINDS if weight(kind))


def nodes(counters: Mapping[Kind, Term], chosen: Callable[[Kind], bool] = lambda _: True) -> Term:
    """Return how many nodes are of the chosen kinds; of all kinds, N."""
    return total(counters[kind] for kind in KINDS if chosen(kind))


def ones(counters: Mapping[Kind, Term]) -> Term:
    """Return the 1-GPU instances outside slots."""
    return summed(counters, lambda kind: kind.ones)


def vacancies(counters: Mapping[Kind, Term]) -> Term:
    """Return the fillers that still fit."""
    return summed(counters, lambda kind: kind.vacancies)


def partial(counters: Mapping[Kind, Term]) -> Term:
    """Return Φ."""
    return nodes(counters, lambda kind: kind.partial)


def opened(counters: Mapping[Kind, Term]) -> Term:
    """Return the nodes neither empty nor closed."""
    return nodes(counters, lambda kind: kind.open)


def used(counters: Mapping[Kind, Term]) -> Term:
    """Return T, the GPUs held."""
    return summed(counters, lambda kind: kind.used)


def remainder(counters: Mapping[Kind, Term]) -> Formula:
    """Return that the GPUs held leave a remainder, so that at least one node is partial in every placement."""
    return ~equal(used(counters) % CAPACITY, 0)


def saturated(counters: Mapping[Kind, Term]) -> Formula:
    """Return invariant I: no slot has a vacancy, or no 1-GPU instance stands outside a slot."""
    return equal(ones(counters), 0) | equal(vacancies(counters), 0)


def composed(counters: Mapping[Kind, Term]) -> Formula:
    """Return the workload composition condition: the slots want no more fillers than there are 1-GPU instances."""
    return summed(counters, lambda kind: kind.balance) <= 0


def enabled(counters: Mapping[Kind, Term], before: Looks) -> Formula:
    """Return that there are nodes of those looks, as many as the rule changes."""
    return every(counters[kind] >= many for kind, many in Counter(before).items())


def updated(counters: Mapping[Kind, Term], before: Looks, after: Looks) -> Counters:
    """Return the counters after a rule has changed some nodes."""
    change = Counter(after)
    change.subtract(before)
    return {kind: count + change[kind] if change[kind] else count for kind, count in counters.items()}
