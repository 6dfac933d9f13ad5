"""C11: COMPASS admits a job exactly when slots and ones fit nodes of their own, for every N and every history.

Let W be the widths of all slots and P the ones left once every vacancy that can be filled is; *need* is
⌈W/8⌉ + ⌈P/8⌉, the nodes that they take apart. The claim: a job is admitted if and only if the need, the job counted
in, is at most N. What an event may begin with: no node is mixed, or some are and the need is above N (C1).

*Admitted, so it fits.* No node is mixed after an admission: `need_without_mixed_nodes`.

*It fits, so it is admitted.* Write a(i) for the need once i instances of the gang are placed; a(m) ≤ N is given.

- Any demand but 3: a never falls, so a(i) ≤ N throughout, and no node is mixed at the start. While none is mixed, fill
  and merge make none so (`rules_that_mix`), and an instance whose need is at most N has a host (`hosts`).
- Demand 3: its slot may take the last one of a pool node, and then a falls, by 1 at most; over two instances it never
  does. So a(i) > N only for a(i) = N + 1 with an odd number of instances to come, and then a(i + 1) ≤ a(m) ≤ N. If no
  node may take the i-th without becoming mixed, the open pool node holds two ones: the anchor goes beside them, and the
  next instance has no other place than beside it, where it takes the one that is left. If the event begins
  with a mixed node, that node alone is open, and the first instance takes its one. From then on no node is mixed.

So every instance is placed and no node is mixed in the end, which is what `compass_core.place.put_all` asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Variant
from proofs.abstraction import CAPACITY, DEMANDS, Kind, beside_ones, filling, merging, placing, width_of, with_one_more
from proofs.counters import COUNTED, COUNTERS, nodes, opened, summed
from proofs.smtlib import Lemma
from proofs.terms import Formula, Term, equal, every, greatest, variable
from proofs.unbounded_admission import no_host
from proofs.unbounded_compaction import other_mixed_looks, settled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from proofs.abstraction import Looks, Rules

WIDTHS, BALANCE = variable("widths"), variable("balance")
"""W, and vacancies less ones, of all nodes together: what an instance adds to them does not depend on where it goes."""

TWO_ONES = Kind((), -2)
"""The open pool node when a 3 finds no host though another 3 would make both fit."""

NEVER = ~every(())


def need(widths: Term, balance: Term) -> Term:
    """Return the nodes that slots and ones take when they stand apart."""
    return _slotted(widths) + _pools(balance)


def _slotted(widths: Term) -> Term:
    return (widths + (CAPACITY - 1)) // CAPACITY


def _pools(balance: Term) -> Term:
    return (greatest(0, -balance) + (CAPACITY - 1)) // CAPACITY


def need_with(demand: int | None = None, *, instances: int = 1) -> Term:
    """Return the need of what stands on the nodes, with so many more instances of a demand, if one is given."""
    widths, balance = summed(COUNTERS, lambda kind: sum(kind.widths)), summed(COUNTERS, lambda kind: kind.balance)
    return need(widths, balance) if demand is None else need(*_more(widths, balance, demand, instances))


def _more(widths: Term, balance: Term, demand: int, instances: int) -> tuple[Term, Term]:
    if demand == 1:
        return widths, balance - instances
    width = width_of(demand)
    return widths + instances * width, balance + instances * (width - demand)


def rules_that_mix() -> Iterator[str]:
    """Yield every filling and merge of COMPASS that makes a node mixed where none was; there must be none."""
    for name, rules in (("fill", filling()), ("merge", merging(Variant.COMPASS))):
        for before, results in rules.items():
            if not any(kind.mixed for kind in before) and any(kind.mixed for after in results for kind in after):
                yield f"{name}: {' and '.join(kind.name for kind in before)} may become mixed"


def admission_apart(pairs: Collection[Looks] | None = None, *, beyond: int = 0) -> Iterator[Lemma]:
    """Yield C11 in steps.

    Parameters
    ----------
    pairs
        The looks of nodes that the code merges; `surely_merged` by default.
    beyond
        Nodes that a job may need beyond what there are; with any but 0 the claim is false.
    """
    yield from need_without_mixed_nodes()
    yield from need_of_a_gang()
    yield from hosts(pairs, beyond=beyond)
    yield from hosts_of_threes(pairs)


def need_without_mixed_nodes() -> Iterator[Lemma]:
    """Yield: while no node is mixed the need is at most N, and whatever is needed apart fits by its GPUs."""
    given = (*COUNTED, equal(nodes(COUNTERS, lambda kind: kind.mixed), 0))
    widths, balance = summed(COUNTERS, lambda kind: sum(kind.widths)), summed(COUNTERS, lambda kind: kind.balance)
    slotted, pools = nodes(COUNTERS, lambda kind: bool(kind.widths)), nodes(COUNTERS, lambda kind: kind.pool)
    yield Lemma("while no node is mixed, slots stand on slotted nodes", widths <= CAPACITY * slotted, given)
    yield Lemma("while no node is mixed, ones stand on pool nodes", -balance <= CAPACITY * pools, given)
    yield Lemma("no node is slotted and a pool", slotted + pools <= nodes(COUNTERS), COUNTED)
    first, second = variable("slotted"), variable("pools")
    held = (first >= 0, second >= 0, CAPACITY * first >= WIDTHS, CAPACITY * second >= -BALANCE)
    yield Lemma("then the need is at most those nodes", need(WIDTHS, BALANCE) <= first + second, held)
    gpus = WIDTHS - BALANCE
    yield Lemma("what fits apart has its GPUs", gpus <= CAPACITY * need(WIDTHS, BALANCE), (WIDTHS >= 0,))


def need_of_a_gang() -> Iterator[Lemma]:
    """Yield: the need never falls with an instance that comes, but for a 3; with a 3 by 1 at most, with two never.

    For each, the slots ask for so many nodes more at least, and the ones for so many less at most.
    """
    for demand in DEMANDS:
        for instances in (1, 2) if demand == 3 else (1,):
            widths, balance = _more(WIDTHS, BALANCE, demand, instances)
            who = f"{instances} of {demand} GPUs"
            more = 1 if instances * width_of(demand) == CAPACITY and demand > 1 else 0
            less = 1 if (demand, instances) == (3, 1) else more
            yield Lemma(f"slots of {who} more: {more} nodes more at least", _slotted(widths) >= _slotted(WIDTHS) + more)
            yield Lemma(f"{who} more: ones need {less} nodes less at most", _pools(balance) >= _pools(BALANCE) - less)


def hosts(pairs: Collection[Looks] | None = None, *, beyond: int = 0) -> Iterator[Lemma]:
    """Yield: while no node is mixed, an instance has a host that stays unmixed if the need with it is at most N."""
    unmixed = (*settled(Variant.COMPASS, pairs), equal(nodes(COUNTERS, lambda kind: kind.mixed), 0))
    for demand in DEMANDS:
        fits = need_with(demand) <= nodes(COUNTERS) + beyond
        given = (*unmixed, *no_host(placing(demand, Variant.COMPASS)), fits)
        yield Lemma(f"an instance of {demand} GPUs that fits apart has a host", NEVER, given)


def hosts_of_threes(pairs: Collection[Looks] | None = None) -> Iterator[Lemma]:
    """Yield where a 3 goes when the need is above N, and will not be once it, or it and one more, is placed."""
    given = settled(Variant.COMPASS, pairs)
    unmixed = equal(nodes(COUNTERS, lambda kind: kind.mixed), 0)
    stuck = (*given, unmixed, *no_host(placing(3, Variant.COMPASS)), need_with(3, instances=2) <= nodes(COUNTERS))
    pools = nodes(COUNTERS, lambda kind: kind.pool and kind.open)
    alone = equal(COUNTERS[TWO_ONES], 1) & equal(pools, 1)
    yield Lemma("if a 3 finds no host and two would fit, the open pool node is one of two ones", alone, stuck)
    yield Lemma("two 3 beside two ones make a full node", _turns(TWO_ONES, beside_ones(3), placing(3, Variant.COMPASS)))
    mixed = nodes(COUNTERS, lambda kind: kind.mixed)
    fits = (*given, *other_mixed_looks(), mixed >= 1, need_with(3) <= nodes(COUNTERS))
    takes = nodes(COUNTERS, lambda kind: kind.mixed and _unmixed_by_a_three(kind))
    idle = nodes(COUNTERS, lambda kind: kind.empty)
    label = "if a node is mixed and a 3 would fit apart, that node alone is open, and a 3 unmixes it"
    yield Lemma(label, equal(takes, 1) & equal(mixed, 1) & equal(opened(COUNTERS), 1) & equal(idle, 0), fits)


def _turns(kind: Kind, first: Rules, second: Rules) -> Formula:
    """Return whether one rule and then the other make the node full and unmixed; no counter has a say in it."""
    halfway = [after for (after,) in first.get((kind,), ())]
    ends = [after for half in halfway for (after,) in second.get((half,), ())]
    good = bool(ends) and all(not after.mixed and after.used == CAPACITY for after in ends)
    return every(()) if good else NEVER


def _unmixed_by_a_three(kind: Kind) -> bool:
    after = with_one_more(kind, 3)
    return after.exists and not after.mixed
