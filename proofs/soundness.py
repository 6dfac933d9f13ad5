"""The rules of the abstraction beside the code: every step of the code is one of them, and none loses an instance.

What a step does depends on the one or two nodes it touches, and there are 62 things a node of Σ⁺ can hold. So both
checks are exhaustive, and hold for every N.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

from compass_core import Variant
from compass_core.merging import divisions
from compass_core.model import shape_of
from compass_core.variant import may_become
from proofs.abstraction import (
    CAPACITY,
    DEMANDS,
    KINDS,
    Kind,
    disorder,
    filling,
    holdings,
    looks,
    may_merge,
    merging,
    placing,
    rehoming,
    removing,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_core.merging import Division
    from compass_core.model import NodeShape
    from proofs.abstraction import Looks, Rules

REPAIRED = (Variant.COMPASS, Variant.EXACT)


@cache
def node_shapes() -> tuple[NodeShape, ...]:
    """Return every shape of a node inside Σ⁺, the empty one included."""
    contents = [
        tuple(demands)
        for size in range(CAPACITY + 1)
        for demands in combinations_with_replacement(reversed(DEMANDS), size)
        if sum(demands) <= CAPACITY
    ]
    return tuple(shape for demands in contents if (shape := shape_of(CAPACITY, demands)).room >= 0)


def moving_rules() -> Iterator[tuple[str, Rules]]:
    """Yield the rules that move instances between nodes, with their names."""
    yield "fill", filling()
    yield "re-home", rehoming()
    for variant in REPAIRED:
        yield f"merge ({variant.value})", merging(variant)


def faulty_rules(rules: Iterable[tuple[str, Rules]] | None = None) -> Iterator[str]:
    """Yield every rule that loses an instance, over-books a node, or does not make the progress it should.

    Parameters
    ----------
    rules
        Names and rules; by default `moving_rules`.
    """
    for name, each in moving_rules() if rules is None else rules:
        for before, after in ((b, a) for b, results in each.items() for a in results):
            if holdings(before) != holdings(after) or len(before) != len(after):
                yield f"{name}: {_words(before)} to {_words(after)} does not keep the instances"
            if not all(kind in KINDS for kind in after):
                yield f"{name}: {_words(after)} is outside Σ⁺"
            if not _progress(name, before, after):
                yield f"{name}: {_words(before)} to {_words(after)} leaves as many vacancies, or as much disorder"


def _progress(name: str, before: Looks, after: Looks) -> bool:
    if name == "fill":
        return _vacancies(after) < _vacancies(before)
    variants = [variant for variant in REPAIRED if name == f"merge ({variant.value})"]
    return all(disorder(after, variant) < disorder(before, variant) for variant in variants)


def steps_beyond_rules(variant: Variant) -> Iterator[str]:
    """Yield every step of the code on one or two nodes that no rule allows."""
    for shape, demand in product(node_shapes(), DEMANDS):
        before = (Kind.of(shape.demands),)
        larger = shape.plus(demand)
        if (larger is not None and may_become(variant, shape, larger)) != (before in placing(demand, variant)):
            yield f"placing {demand} on {shape.demands}: code and rule disagree on whether it may stand there"
        if demand in shape.demands:
            after = (Kind.of(shape.minus(demand).demands),)
            if after not in removing(demand).get(before, ()):
                yield f"removing {demand} from {shape.demands}: no rule allows {_words(after)}"
    for donor, host in product(node_shapes(), node_shapes()):
        if donor.ones and host.fillable:
            filled = host.plus(1)
            allowed = filling().get(looks((Kind.of(donor.demands), Kind.of(host.demands))), frozenset())
            if filled is None or looks((Kind.of(donor.minus(1).demands), Kind.of(filled.demands))) not in allowed:
                yield f"filling {host.demands} from {donor.demands}: no rule allows it"
    for first, second in combinations_with_replacement(node_shapes(), 2):
        yield from _merges_beyond_rules(first, second, variant)


def _merges_beyond_rules(first: NodeShape, second: NodeShape, variant: Variant) -> Iterator[str]:
    before = looks((Kind.of(first.demands), Kind.of(second.demands)))
    allowed = merging(variant).get(before, frozenset())
    ways = divisions(first, second, apart=variant is Variant.COMPASS)
    if all(may_merge(kind, variant) for kind in before):
        for way in ways:
            after = divided(first, second, way)
            if after not in allowed:
                yield f"merging {first.demands} and {second.demands}: no rule allows {_words(after)}"


@cache
def surely_merged(variant: Variant) -> frozenset[Looks]:
    """Return the pairs of looks that Compact never leaves behind: whatever stands on such nodes, the code has a way.

    Pairs with a vacancy and a one outside a slot are left out: those are filled first.
    """
    found: dict[Looks, bool] = {}
    for first, second in combinations_with_replacement(node_shapes(), 2):
        before = looks((Kind.of(first.demands), Kind.of(second.demands)))
        unmixes = variant is Variant.COMPASS and any(kind.mixed for kind in before)
        # Nodes that are not open are looked at only while some node is mixed.
        if all(kind.open or (unmixes and may_merge(kind, variant)) for kind in before):
            way = bool(divisions(first, second, apart=variant is Variant.COMPASS))
            found[before] = found.get(before, True) and way
    return frozenset(
        before
        for before, way in found.items()
        if way and not (any(kind.ones for kind in before) and any(kind.vacancies for kind in before))
    )


@cache
def left_mixed() -> frozenset[Kind]:
    """Return the mixed looks that an event of COMPASS may leave, wherever it starts: three, all of them open.

    An arrival that would leave a mixed node is refused. A departure makes nodes mixed by orphaning fillers, one
    instance at a time, and its merges turn them into others: the smallest set of looks closed under both.
    """
    clean = [shape for shape in node_shapes() if not Kind.of(shape.demands).mixed]
    found: set[Kind] = set()
    new = {after for shape in clean for after in _after_removals(Kind.of(shape.demands)) if after.mixed}
    while new:
        found |= new
        partners = [s for s in node_shapes() if (k := Kind.of(s.demands)) in found or not k.mixed]
        reached = {after for kind in found for after in _after_removals(kind)}
        reached |= {Kind(kind.widths, kind.balance + 1) for kind in found}  # one leaves to fill a vacancy
        for first, second in combinations_with_replacement(partners, 2):
            if all(may_merge(Kind.of(shape.demands), Variant.COMPASS) for shape in (first, second)):
                ways = divisions(first, second, apart=True)
                reached |= {kind for way in ways for kind in divided(first, second, way)}
        new = {kind for kind in reached if kind.mixed} - found
    return frozenset(found)


def _after_removals(kind: Kind) -> set[Kind]:
    return {after for demand in DEMANDS for (after,) in removing(demand).get((kind,), ())}


def divided(first: NodeShape, second: NodeShape, way: Division) -> Looks:
    """Return what two nodes look like after a division of the code."""
    left, entered = way.demands(from_first=True), way.demands(from_first=False)
    one, other = Counter(first.demands), Counter(second.demands)
    return looks((Kind.of((one - left + entered).elements()), Kind.of((other - entered + left).elements())))


def _vacancies(of: Looks) -> int:
    return sum(kind.vacancies for kind in of)


def _words(of: Looks) -> str:
    return " and ".join(kind.name for kind in of)
