"""C1 to C6: what holds after every event of COMPASS and EXACT, for every N and every history.

An event places or removes instances, one node each, and then does two things (`compass_core.compact.settle`): it fills
vacancies until a one or a vacancy is wanting, and it merges pairs of nodes until no pair can be merged. Both end: each
filling lowers the vacancies, each merge the disorder (`proofs.soundness.faulty_rules` looks at every rule). So it
is enough to show what follows from there being nothing left to fill or to merge, whatever the state was before: the
claims then hold after every event. Only C1 looks back, at the mixed nodes that a departure may leave
(`proofs.soundness.left_mixed`); that no step leaves Σ⁺ is seen from the rules, one or two nodes at a time.

The lemmas speak of 44 counters that may have any size. What they take from the code is which pairs of nodes it merges
(`proofs.soundness.surely_merged`) and the rules by which it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Variant
from proofs.abstraction import CAPACITY, EMPTY, KINDS, Kind, Rules, filling, merging, rehoming
from proofs.counters import (
    COUNTED,
    COUNTERS,
    composed,
    enabled,
    nodes,
    ones,
    opened,
    partial,
    remainder,
    saturated,
    summed,
    updated,
    used,
)
from proofs.smtlib import Lemma
from proofs.soundness import REPAIRED, left_mixed, surely_merged
from proofs.terms import Formula, equal, every, implies, indicator, some, total, variable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from proofs.abstraction import Looks

IDLE: tuple[Formula, ...] = tuple(equal(COUNTERS[kind], 0) for kind in KINDS if kind != EMPTY)
"""Every node is empty: the start."""


def nothing_to_merge(pairs: Collection[Looks]) -> tuple[Formula, ...]:
    """Return that of no pair of looks that the code merges there are two nodes."""
    return tuple(~enabled(COUNTERS, pair) for pair in pairs)


def settled(variant: Variant, pairs: Collection[Looks] | None = None) -> tuple[Formula, ...]:
    """Return what is given after every event: counts, saturation (C2), and nothing left to merge."""
    pairs = surely_merged(variant) if pairs is None else pairs
    return (*COUNTED, saturated(COUNTERS), *nothing_to_merge(pairs))


def saturation(fills: Rules | None = None, moves: Rules | None = None) -> Iterator[Lemma]:
    """Yield C2: invariant I holds at the start and once nothing is left to fill, and merging and re-homing keep it."""
    yield Lemma("an idle cluster is saturated", saturated(COUNTERS), (*COUNTED, *IDLE))
    fillable = some(enabled(COUNTERS, before) for before in (filling() if fills is None else fills))
    yield Lemma("what is not saturated can be filled", saturated(COUNTERS) | fillable, COUNTED)
    moving = [*(merging(variant) for variant in REPAIRED), rehoming()] if moves is None else [moves]
    for before, after in ((before, after) for rules in moving for before, after in rules.items()):
        kept = every(saturated(updated(COUNTERS, before, one)) for one in after)
        label = f"{' and '.join(kind.name for kind in before)}: re-dividing keeps saturation"
        yield Lemma(label, kept, (*COUNTED, saturated(COUNTERS), enabled(COUNTERS, before)))


def other_mixed_looks() -> tuple[Formula, ...]:
    """Return that no node is mixed but as an event may leave it; an induction over the history, by single nodes."""
    return tuple(equal(COUNTERS[kind], 0) for kind in KINDS if kind.mixed and kind not in left_mixed())


def separation(pairs: Collection[Looks] | None = None) -> Iterator[Lemma]:
    """Yield C1 for COMPASS: slots and ones share a node only where they could not stand on nodes of their own."""
    given = (*settled(Variant.COMPASS, pairs), *other_mixed_looks())
    some_mixed = nodes(COUNTERS, lambda kind: kind.mixed) >= 1
    slots = summed(COUNTERS, lambda kind: sum(kind.widths))
    apart = (slots + (CAPACITY - 1)) // CAPACITY + (ones(COUNTERS) + (CAPACITY - 1)) // CAPACITY
    yield Lemma("no node is mixed while slots and ones fit apart", implies(some_mixed, apart > nodes(COUNTERS)), given)
    room = nodes(COUNTERS, lambda kind: kind.empty or (kind.pool and kind.open))
    yield Lemma("no node is mixed beside an idle node or room in a pool", implies(some_mixed, equal(room, 0)), given)


def two_open_nodes(pairs: Collection[Looks] | None = None) -> Iterator[Lemma]:
    """Yield C3: after every event of COMPASS one pool node and one slotted node are open at most; Φ ≤ 2 under WCC."""
    given = settled(Variant.COMPASS, pairs)
    yield Lemma("at most one pool node is open", nodes(COUNTERS, lambda kind: kind.pool and kind.open) <= 1, given)
    slotted = nodes(COUNTERS, lambda kind: kind.open and not kind.pool and not kind.mixed)
    yield Lemma("at most one slotted node is open", slotted <= 1, given)
    yield Lemma("at most two nodes are open", opened(COUNTERS) <= 2, given)
    yield Lemma("under WCC at most two nodes are partial", implies(composed(COUNTERS), partial(COUNTERS) <= 2), given)


def no_filler_needed(pairs: Collection[Looks] | None = None) -> Iterator[Lemma]:
    """Yield C5: with demands of 2, 4 and 8 GPUs only, COMPASS has as many partial nodes as any placement must have."""
    friendly = tuple(equal(COUNTERS[kind], 0) for kind in KINDS if kind.balance)
    exact = equal(partial(COUNTERS), indicator(remainder(COUNTERS)))
    yield Lemma(
        "friendly demands: Φ is 1 if T leaves a remainder, else 0", exact, (*settled(Variant.COMPASS, pairs), *friendly)
    )
    yield from inherent()


def one_open_node(pairs: Collection[Looks] | None = None) -> Iterator[Lemma]:
    """Yield C6: after every event of EXACT one node is open at most; under WCC Φ is what any placement must have."""
    given = settled(Variant.EXACT, pairs)
    yield Lemma("at most one node is open", opened(COUNTERS) <= 1, given)
    exact = equal(partial(COUNTERS), indicator(remainder(COUNTERS)))
    yield Lemma("under WCC Φ is 1 if T leaves a remainder, else 0", implies(composed(COUNTERS), exact), given)
    yield from inherent()


def inherent() -> Iterator[Lemma]:
    """Yield that no placement whatever, in Σ⁺ or not, has fewer partial nodes than the remainder of T asks for.

    The counters are the nodes by how many of their GPUs are held.
    """
    holding = [variable(f"holding{gpus}") for gpus in range(CAPACITY + 1)]
    held = total(gpus * count for gpus, count in enumerate(holding))
    none_partial = (*(count >= 0 for count in holding), equal(total(holding[1:CAPACITY]), 0))
    yield Lemma("without a partial node T is 8 for each full node", equal(held, CAPACITY * holding[-1]), none_partial)
    yield Lemma("8 for each full node leaves no remainder", equal(CAPACITY * holding[-1] % CAPACITY, 0))


WITNESS = (Kind((4,), 0), Kind((), -4))
"""A node with one slot of width 4, and a pool node with 4 ones; every other node is empty."""


def witness(state: Looks = WITNESS) -> Iterator[Lemma]:
    """Yield C4's other half: for every N ≥ 2 a settled state has Φ = 2 and a T that 8 divides, with WCC."""
    pairs = surely_merged(Variant.COMPASS)
    given = (
        *COUNTED,
        *(equal(COUNTERS[kind], 1 if kind in state else 0) for kind in KINDS if kind != EMPTY),
        nodes(COUNTERS) >= 2,
    )
    yield Lemma("the witness is settled", every((saturated(COUNTERS), *nothing_to_merge(pairs))), given)
    yield Lemma("the witness satisfies WCC", composed(COUNTERS), given)
    avoidable = equal(partial(COUNTERS), 2) & equal(used(COUNTERS), CAPACITY)
    yield Lemma("the witness has two partial nodes and 8 GPUs in use", avoidable, given)


def witness_is_inevitable(pairs: Collection[Looks] | None = None) -> Iterator[Lemma]:
    """Yield: for every N ≥ 2, while a 4 and four 1 are all that runs (C11 admits them), two nodes are partial."""
    given = (
        *settled(Variant.COMPASS, pairs),
        *other_mixed_looks(),
        equal(summed(COUNTERS, lambda kind: kind.widths.count(4)), 1),
        equal(summed(COUNTERS, lambda kind: len(kind.widths)), 1),
        equal(summed(COUNTERS, lambda kind: kind.balance), -4),
        nodes(COUNTERS) >= 2,
    )
    avoidable = equal(partial(COUNTERS), 2) & equal(used(COUNTERS), CAPACITY)
    yield Lemma("a 4 and four 1 always leave two partial nodes", avoidable, given)
