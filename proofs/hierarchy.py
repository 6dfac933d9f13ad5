"""D1: the bounds of a tier of domains, for every size K, every number of domains and every history.

An event of a tier ends when at most one host is open or no pair of hosts has an exchange that leaves it less loose
(`compass_core.hierarchy.tighten`). So it is enough to show that no such state has two open hosts under the condition of
`compass_core.hierarchy.condition`, whatever came before. The state is one unbounded counter a *kind*: which blocks
stand on a host. Under the condition and invariant I (C2) every slot is saturated, and then a slot and its fillers are a
block: the exchanges of blocks are exchanges of instances, a block moving instance by instance (`blocks_beside_code`).

Slots as wide as a host fill it and take part in nothing; they are left out. The same counters show for which K the
rules of the panels, COMPASS and EXACT over K units, keep their bounds.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, NodeKind, Variant, arrive
from compass_core.hierarchy import tier_condition
from compass_core.hierarchy.tighten import best_exchange
from compass_core.merging import divisions
from compass_core.model import shape_of, slot_width
from proofs.claim import Effort, Finding, Status
from proofs.smt import Verdict, prove, prove_all
from proofs.smtlib import Lemma
from proofs.terms import Formula, Term, every, total, variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from compass_core.model import NodeShape

Kind = tuple[int, ...]
"""The blocks on a host, widest first."""

LARGEST = {Effort.QUICK: 9, Effort.FULL: 16}
"""K up to which the lemmas are proved."""

BESIDE_CODE = {Effort.QUICK: 6, Effort.FULL: 9}
"""K up to which every pair of shapes is held against the blocks."""

FEW_HOSTS = (2, 3, 4)
"""Hosts on which event lists are looked for."""


def block_kinds(size: int) -> tuple[Kind, ...]:
    """Return what saturated slots below the host's width and other ones can look like on a host, the idle one left out.

    Blocks are powers of two below the host's size, and a host of one unit has none.
    """
    widths = [1 << j for j in reversed(range(size.bit_length())) if 1 << j < size]
    found: list[Kind] = [()]
    for width in widths:
        found = [(*kind, *[width] * n) for kind in found for n in range((size - sum(kind)) // width + 1)]
    return tuple(kind for kind in found if kind)


@cache
def exchange_pairs(size: int) -> frozenset[tuple[Kind, Kind]]:
    """Return the pairs of kinds, the first one open, between which the tier's rule has an exchange."""
    kinds = block_kinds(size)
    opened = [kind for kind in kinds if sum(kind) < size]
    # Sizes that divide one another merge: nothing else is asked of hosts of a power of two units.
    partners = opened if size.bit_count() == 1 else kinds
    return frozenset(
        (first, second)
        for first, second in product(opened, partners)
        if best_exchange(shape_of(size, first), shape_of(size, second)) is not None
    )


def merge_pairs(size: int, variant: Variant) -> frozenset[tuple[Kind, Kind]]:
    """Return the pairs of open kinds that the panels' own rule merges over hosts of that size."""
    apart = variant is Variant.COMPASS
    opened = [kind for kind in block_kinds(size) if sum(kind) < size and not (apart and _mixed(size, kind))]
    return frozenset(
        pair
        for pair in combinations_with_replacement(opened, 2)
        if divisions(shape_of(size, pair[0]), shape_of(size, pair[1]), apart=apart)
    )


def _mixed(size: int, kind: Kind) -> bool:
    return shape_of(size, kind).kind is NodeKind.MIXED


def bound_lemma(size: int, pairs: frozenset[tuple[Kind, Kind]], *, at_most: int, unmixed: bool = False) -> Lemma:
    """Return that at most so many hosts are open where the condition holds and no pair can be changed."""
    count = {kind: variable("n" + "_".join(map(str, kind))) for kind in block_kinds(size)}
    given = [
        *(number >= 0 for number in count.values()),
        *_condition(size, count),
        *(~_enabled(count, first, second) for first, second in sorted(pairs)),
    ]
    if unmixed:
        given += [count[kind] <= 0 for kind in count if _mixed(size, kind)]
    opened = total(number for kind, number in count.items() if sum(kind) < size)
    return Lemma(f"K = {size}: at most {at_most} open", opened <= at_most, tuple(given))


def _condition(size: int, count: dict[Kind, Term]) -> Iterator[Formula]:
    """Yield the second half of the tier's condition; the first, enough fillers, is that slots are saturated."""
    used = total(sum(kind) * number for kind, number in count.items())
    hosts, rest = used // size, used % size
    for width in (1 << j for j in range(1, size.bit_length()) if 1 << j < size):
        asked = total(sum(block // width for block in kind) * number for kind, number in count.items())
        yield asked <= (size // width) * hosts + rest // width


def _enabled(count: dict[Kind, Term], first: Kind, second: Kind) -> Formula:
    if first == second:
        return count[first] >= 2
    return every((count[first] >= 1, count[second] >= 1))


def blocks_beside_code(size: int) -> Iterator[str]:
    """Yield every pair of saturated hosts on which the code has no exchange although their blocks have one."""
    shapes = [shape for shape in _saturated_shapes(size) if max(shape.demands, default=size) < size]
    pairs = exchange_pairs(size)
    for first, second in product(shapes, shapes):
        if (_blocks(first), _blocks(second)) in pairs and best_exchange(first, second) is None:
            yield f"K = {size}: {first.demands} and {second.demands} are left as they are"


def _saturated_shapes(size: int) -> Iterator[NodeShape]:
    for length in range(1, size + 1):
        for demands in combinations_with_replacement(range(size, 0, -1), length):
            if sum(demands) <= size:
                shape = shape_of(size, demands)
                if shape.room >= 0 and not shape.vacancy:
                    yield shape


def _blocks(shape: NodeShape) -> Kind:
    anchors = [slot_width(units, shape.capacity) for units in shape.demands if units > 1]
    return tuple(sorted([*anchors, *[1] * shape.ones], reverse=True))


@dataclass(frozen=True, slots=True)
class Row:
    """What holds for domains of K panels under the tier's condition, for every number of domains.

    Attributes
    ----------
    compass, compass_avoidable, exact
        None if the rule keeps its bound (Φ ≤ 2, SIF ≤ 2/N, and Φ = Φ*): proved. Else a shortest event list under which
        it does not, with the number of domains.
    tier
        Whether Φ = Φ* is proved of the rule of the outer tiers, hosts being what blocks stand on them.
    """

    size: int
    compass: str | None
    compass_avoidable: str | None
    exact: str | None
    tier: Verdict


def row(size: int) -> Row:
    """Return what holds for one K."""
    return Row(
        size=size,
        compass=_fall(size, Variant.COMPASS, too_many, at_most=2),
        compass_avoidable=_fall(size, Variant.COMPASS, too_many_avoidable, at_most=2),
        exact=_fall(size, Variant.EXACT, not_best, at_most=1),
        tier=prove(bound_lemma(size, exchange_pairs(size), at_most=1)).verdict,
    )


def _fall(size: int, variant: Variant, fails: Callable[[ClusterState], bool], *, at_most: int) -> str | None:
    unmixed = variant is Variant.COMPASS
    if prove(bound_lemma(size, merge_pairs(size, variant), at_most=at_most, unmixed=unmixed)).verdict is Verdict.PROVED:
        return None
    found = shortest_failure(size, variant, fails)
    return "not found" if found is None else found


def too_many(state: ClusterState) -> bool:
    """Whether three domains or more are partial although the condition of the tier holds."""
    return state.partial_nodes > 2 and tier_condition(state.counts).holds


def too_many_avoidable(state: ClusterState) -> bool:
    """Whether SIF is above 2/N although the condition of the tier holds."""
    condition = tier_condition(state.counts)
    return condition.holds and state.partial_nodes - condition.inherent > 2


def not_best(state: ClusterState) -> bool:
    """Whether more domains are partial than need be, the condition of the tier holding."""
    condition = tier_condition(state.counts)
    return condition.holds and state.partial_nodes > condition.inherent


def shortest_failure(size: int, variant: Variant, fails: Callable[[ClusterState], bool]) -> str | None:
    """Return the first of the shortest lists of at most two arrivals that fail, on few domains; None if there is none.

    Departures are left out: of two events the second could only leave an idle cluster.
    """
    for length in (1, 2):
        for hosts in FEW_HOSTS:
            jobs = [(w, g) for g in _telling(size) for w in range(1, hosts * size // g + 1)]
            for events in product(jobs, repeat=length):
                state = _played(ClusterState.empty(hosts, size), events, variant)
                if state is not None and fails(state):
                    return ", ".join(f"{w}x{g}" for w, g in events) + f", N = {hosts}"
    return None


def _telling(size: int) -> Sequence[int]:
    """Return the demands that lists are made of: all on small domains, else those that are their own slots' widths."""
    return range(1, size + 1) if size <= 9 else [*(1 << j for j in range(size.bit_length())), size]


def _played(state: ClusterState, events: Sequence[tuple[int, int]], variant: Variant) -> ClusterState | None:
    for number, (instances, units) in enumerate(events):
        outcome = arrive(state, Job(str(number), instances, units), variant=variant)
        if not outcome.admitted:
            return None
        state = outcome.state
    return state


PAPERS_EXAMPLE = ((9, 8), (9, 1))
"""Nine 8-panel and nine 1-panel jobs: Φ* = 0 on domains of 9 panels."""


def papers_example() -> str:
    """Return what becomes of the paper's own K = 9 (P13), as printed and by EXACT over 9 panels."""
    printed = _played(ClusterState.empty(10, 9), PAPERS_EXAMPLE, Variant.PRINTED)
    exact = _played(ClusterState.empty(10, 9), PAPERS_EXAMPLE, Variant.EXACT)
    figures = ["refused" if state is None else str(state.partial_nodes) for state in (printed, exact)]
    return f"K = 9, 9x8, 9x1 on 10 domains: Φ* = 0; Φ = {figures[0]} as printed, {figures[1]} where ones may join slots"


def d1(effort: Effort) -> Finding:
    """Settle D1: Φ = Φ* in every outer tier under its condition, for every number of hosts and every history."""
    largest = LARGEST[effort]
    proof = prove_all(bound_lemma(size, exchange_pairs(size), at_most=1) for size in range(1, largest + 1))
    for fault in (fault for size in range(1, BESIDE_CODE[effort] + 1) for fault in blocks_beside_code(size)):
        return Finding(status=Status.UNKNOWN, method="the blocks are not the code's", details=(fault,))
    return proof.finding(
        "no settled state has two open hosts, over unbounded counters of the kinds of host, by z3; one K at a time",
        f"proved for K = 1 to {largest}; K = 72 as 8 hosts of 9",
        f"every two saturated hosts beside the code for K = 1 to {BESIDE_CODE[effort]}",
        papers_example(),
    )


def table(sizes: Sequence[int]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [
        "| K | COMPASS: Φ ≤ 2 | COMPASS: SIF ≤ 2/N | EXACT: Φ = Φ* | the rule of the tiers: Φ = Φ* |",
        "|---|---|---|---|---|",
    ]
    for found in map(row, sizes):
        falls = (found.compass, found.compass_avoidable, found.exact)
        cells = ["proved" if fall is None else f"refuted: `{fall}`" for fall in falls]
        lines.append(" | ".join([f"| {found.size}", *cells, f"{found.tier.value} |"]))
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of docs/hierarchy.md for a range of K; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proofs.hierarchy", description=main.__doc__)
    parser.add_argument("--smallest", type=int, default=1)
    parser.add_argument("--largest", type=int, default=16)
    given = parser.parse_args(arguments)
    sys.stdout.write(table(range(given.smallest, given.largest + 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
