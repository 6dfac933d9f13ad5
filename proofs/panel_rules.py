"""What the rules of the panels keep over domains of K panels, for every number of domains; else a shortest list.

COMPASS and EXACT owe their bounds on nodes of a power of two GPUs. Run as they are over domains of K panels, they keep
them where K is a power of two: proved by z3, one K at a time, over one unbounded counter a *kind*, which is the blocks
on a host. Blocks are slots with their fillers, and ones: under the condition and invariant I slots are saturated. Slots
as wide as a host fill it and are left out. For any other K there is a shortest event list that breaks the bound
(`proofs.panel_search`). Beside it stands what the rule of the outer tiers keeps (`proofs.hierarchy`).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from compass_core import NodeKind, Variant
from compass_core.merging import divisions
from compass_core.model import shape_of
from proofs.exchanges import block_kinds, block_widths
from proofs.hierarchy import tier_lemmas
from proofs.panel_search import NONE_AVOIDABLE, TWO_AVOIDABLE, TWO_PARTIAL, shortest_failure
from proofs.smt import Verdict, prove, prove_all
from proofs.smtlib import Lemma
from proofs.terms import Formula, Term, every, total, variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.exchanges import Kind
    from proofs.panel_search import Bound, Failure

SIZES = (*range(1, 17), 72)
"""K of the table: 9 panels have the domains of an NVL72, and 72 those of an NVL576 taken as one."""


def merge_pairs(size: int, variant: Variant) -> frozenset[tuple[Kind, Kind]]:
    """Return the pairs of kinds that the panels' own rule merges over hosts of that size."""
    apart = variant is Variant.COMPASS
    moved = [kind for kind in block_kinds(size) if sum(kind) < size or (apart and _mixed(size, kind))]
    return frozenset(
        pair
        for pair in combinations_with_replacement(moved, 2)
        if divisions(shape_of(size, pair[0]), shape_of(size, pair[1]), apart=apart)
    )


def _mixed(size: int, kind: Kind) -> bool:
    return shape_of(size, kind).kind is NodeKind.MIXED


def bound_lemma(size: int, pairs: frozenset[tuple[Kind, Kind]], *, at_most: int) -> Lemma:
    """Return that at most so many hosts are open where the condition holds and none of the pairs is there."""
    count = {kind: variable("n" + "_".join(map(str, kind))) for kind in block_kinds(size)}
    given = [
        *(number >= 0 for number in count.values()),
        *_condition(size, count),
        *(~_enabled(count, first, second) for first, second in sorted(pairs)),
    ]
    opened = total(number for kind, number in count.items() if sum(kind) < size)
    return Lemma(f"K = {size}: at most {at_most} open", opened <= at_most, tuple(given))


def _condition(size: int, count: dict[Kind, Term]) -> Iterator[Formula]:
    """Yield the second half of the tier's condition; the first, enough fillers, is that slots are saturated."""
    used = total(sum(kind) * number for kind, number in count.items())
    hosts, rest = used // size, used % size
    for width in block_widths(size)[1:]:
        asked = total(sum(block // width for block in kind) * number for kind, number in count.items())
        yield asked <= (size // width) * hosts + rest // width


def _enabled(count: dict[Kind, Term], first: Kind, second: Kind) -> Formula:
    if first == second:
        return count[first] >= 2
    return every((count[first] >= 1, count[second] >= 1))


@dataclass(frozen=True, slots=True)
class Row:
    """What holds for domains of K panels under the tier's condition, for every number of domains.

    Attributes
    ----------
    compass, compass_avoidable, exact
        Whether the rule keeps its bound (Φ ≤ 2, SIF ≤ 2/N, and Φ = Φ*), or a shortest list under which it does not.
    tier
        Whether Φ = Φ* is proved of the rule of the outer tiers (`proofs.hierarchy`).
    """

    size: int
    compass: Verdict | Failure
    compass_avoidable: Verdict | Failure
    exact: Verdict | Failure
    tier: Verdict


def row(size: int) -> Row:
    """Return what holds for one K."""
    return Row(
        size=size,
        compass=verdict(size, TWO_PARTIAL),
        compass_avoidable=verdict(size, TWO_AVOIDABLE),
        exact=verdict(size, NONE_AVOIDABLE),
        tier=prove_all(tier_lemmas(size)).verdict,
    )


def verdict(size: int, bound: Bound) -> Verdict | Failure:
    """Return a shortest list that breaks the bound; where none is known, what z3 says of the bound."""
    return shortest_failure(size, bound) or prove(keeping_lemma(size, bound)).verdict


def keeping_lemma(size: int, bound: Bound) -> Lemma:
    """Return the bound of a settled state: hosts that are partial are open, and one open host or none means Φ = Φ*."""
    at_most = 1 if bound.variant is Variant.EXACT else bound.most
    return bound_lemma(size, merge_pairs(size, bound.variant), at_most=at_most)


def table(sizes: Sequence[int]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [
        "| K | COMPASS: Φ ≤ 2 | COMPASS: SIF ≤ 2/N | EXACT: Φ = Φ* | the rule of the tiers: Φ = Φ* |",
        "|---|---|---|---|---|",
    ]
    for found in map(row, sizes):
        cells = map(_cell, (found.compass, found.compass_avoidable, found.exact, found.tier))
        lines.append(" | ".join([f"| {found.size}", *cells]) + " |")
    return "\n".join(lines) + "\n"


def _cell(found: Verdict | Failure) -> str:
    return found.value if isinstance(found, Verdict) else f"refuted: `{found}`"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of docs/hierarchy.md for some K; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proofs.panel_rules", description=main.__doc__)
    parser.add_argument("sizes", metavar="K", type=int, nargs="*", default=SIZES, help="default: 1 to 16, and 72")
    sys.stdout.write(table(parser.parse_args(arguments).sizes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
