"""C7: EXACT places an instance whenever slots and ones of all instances fit, for every N and every state.

`compass_core.place.put` tries a host; then it fills vacancies, merges and tries again; then it exchanges blocks of its
one open node for ones from elsewhere. The lemmas follow it: what is the state when the second try fails, and why does
the exchange then succeed? A gang is placed instance by instance, and what its instances reserve only grows with each,
so a gang that fits whole fits at every step. Under the workload composition condition what is reserved is what is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Variant
from proofs.abstraction import CAPACITY, DEMANDS, Kind, placing, width_of, with_one_more
from proofs.counters import COUNTED, COUNTERS, nodes, ones, opened, summed, vacancies
from proofs.smtlib import Lemma
from proofs.terms import Formula, Term, equal, every, greatest, implies
from proofs.unbounded_compaction import settled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from proofs.abstraction import Looks, Rules

EXCHANGED = (Kind((2,), 0), Kind((2,), -1))
"""What the one open node looks like when an exchange is needed: a slot of width 2, and a one or none."""

FRIENDLY = (1, 2, 4, 8)

BLOCK = 2
"""The width of the slot that an exchange sends away for as many ones."""


def reserved_with(demand: int | None) -> Term:
    """Return what slots and ones reserve once vacancies are filled, with one more instance of that demand, if any."""
    widths, balance = summed(COUNTERS, lambda kind: sum(kind.widths)), summed(COUNTERS, lambda kind: kind.balance)
    if demand == 1:
        balance = balance - 1
    elif demand is not None:
        widths, balance = widths + width_of(demand), balance + (width_of(demand) - demand)
    return widths + greatest(0, -balance)


def no_host(rules: Rules) -> tuple[Formula, ...]:
    """Return that no node may take the instance as things stand."""
    return tuple(equal(COUNTERS[kind], 0) for (kind,) in rules)


def admission(pairs: Collection[Looks] | None = None, *, beyond: int = 0) -> Iterator[Lemma]:
    """Yield C7 in steps.

    Parameters
    ----------
    pairs
        The looks of nodes that the code merges; `surely_merged` by default.
    beyond
        GPUs that the instance may ask for beyond what there is; with any but 0 the claim is false.
    """
    room = CAPACITY * nodes(COUNTERS)
    for demand in DEMANDS:
        yield Lemma(
            f"an instance of {demand} GPUs never makes room", reserved_with(None) <= reserved_with(demand), COUNTED
        )
        stuck = (
            *settled(Variant.EXACT, pairs),
            *no_host(placing(demand, Variant.EXACT)),
            reserved_with(demand) <= room + beyond,
        )
        exchange = nodes(COUNTERS, lambda kind: kind in EXCHANGED)
        if demand in FRIENDLY:
            yield Lemma(f"an instance of {demand} GPUs that fits by what is reserved has a host", ~every(()), stuck)
            continue
        yield Lemma(
            f"if {demand} GPUs find no host, one open node holds a 2 and at most a one",
            equal(exchange, 1) & equal(opened(COUNTERS), 1) & equal(nodes(COUNTERS, lambda kind: kind.empty), 0),
            stuck,
        )
        for host in EXCHANGED:
            there = (*stuck, COUNTERS[host] >= 1)
            elsewhere = ones(COUNTERS) - host.ones >= BLOCK
            yield Lemma(f"if {demand} GPUs find no host, two ones stand off node {host.name}", elsewhere, there)
            yield Lemma(
                f"node {host.name} takes {demand} GPUs after the exchange", _takes(exchanged(host), demand), there
            )
    yield from exchange_has_a_target(pairs)
    used = summed(COUNTERS, lambda kind: kind.used)
    fits = equal(reserved_with(None), used)
    wcc = summed(COUNTERS, lambda kind: kind.balance) <= 0
    yield Lemma("under WCC what is reserved is what is used", implies(wcc, fits), COUNTED)
    yield Lemma("in Σ⁺ what is reserved fits the nodes", reserved_with(None) <= room, COUNTED)


def exchange_has_a_target(pairs: Collection[Looks] | None = None) -> Iterator[Lemma]:
    """Yield: once two ones have left them and they are merged, just one of the other nodes has room, for a slot of 2.

    The counters are those of the nodes other than the host. They were closed and had no vacancy, for there were ones.
    """
    given = (
        *settled(Variant.EXACT, pairs),
        equal(vacancies(COUNTERS), 0),
        equal(summed(COUNTERS, lambda kind: kind.room), BLOCK),
    )
    target = nodes(COUNTERS, lambda kind: kind.open and kind.room == BLOCK)
    yield Lemma("the exchanged slot has just one place to go", equal(target, 1) & equal(opened(COUNTERS), 1), given)


def exchanged(host: Kind) -> Kind:
    """Return the look of the open node once its 2 has left and two ones have come."""
    return Kind((), host.balance - BLOCK)


def _takes(host: Kind, demand: int) -> Formula:
    """Return that the node may take the instance; whether it may does not depend on any counter."""
    return every(()) if with_one_more(host, demand).exists else ~every(())
