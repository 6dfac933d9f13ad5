"""D1 and D2: what a tier of domains keeps, for every number of domains and every history, one size K at a time.

A tier rests when no exchange is left (`compass_core.hierarchy.tighten`). Blocks (slots with their fillers, and ones)
are of widths that divide one another; hosts filled by a slot as wide as they are take part in nothing and are left out.
Let several hosts be open in a tier at rest, Z one of those with most room, of these one with a narrowest block, and m
the width of the narrowest block on Z.

- Any other open host X has less room than m, even once its blocks narrower than m have left: else it takes a block of
  Z, or gives those for one, or fills Z with them. So all its places of width m are in use, and K mod m units are left,
  as narrower blocks and room.
- A full host has less than m + (K mod m) units in blocks narrower than m: else it gives them for a block of Z, or fills
  Z with some of them. So all its places of width m are in use, too, and K mod m units are left for narrower blocks.

Counting the places of width m on all hosts then contradicts the tier's condition (`tier_lemmas`, over unbounded
numbers of hosts). In the same way a slot for which no host has room when nothing is left to exchange fits no
arrangement (`admission_lemmas`): Z may be the only open host then, and if it has ones they take the slot's vacancies.
If no host is open and none idle, all units are reserved. That the code has the exchanges these sentences speak of:
`proofs.exchanges`.
"""

from __future__ import annotations

from functools import cache
from itertools import chain, product
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, Variant, arrive
from proofs.claim import Effort, Finding, Status
from proofs.exchanges import block_widths, blocks_beside_instances, missing_exchanges
from proofs.smt import prove_all
from proofs.smtlib import Lemma
from proofs.terms import equal, every, variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proofs.terms import Formula, Term

LARGEST = {Effort.QUICK: 12, Effort.FULL: 16}
"""K from 1 up to which the claims are settled: domains of an NVL72 have 9 panels."""

LARGER = {Effort.QUICK: (), Effort.FULL: (18, 36, 72)}
"""Other K for which they are: an NVL72 is 18 nodes of 4 GPUs as well, and domains of a flat NVL576 have 72 panels."""

BESIDE_INSTANCES = {Effort.QUICK: 6, Effort.FULL: 9}
"""K up to which every two hosts with fillers in their slots are held against their blocks."""


def tier_lemmas(size: int) -> Iterator[Lemma]:
    """Yield what D1 rests on: with no exchange left at most one host is open under the tier's condition."""
    for width in block_widths(size):
        yield from _in_use(size, width)
        yield _at_most_one_open(size, width)


def _in_use(size: int, width: int) -> Iterator[Lemma]:
    """Yield that other hosts have every place of that width in use, and the units beside them are what is left."""
    places, rest = divmod(size, width)
    wide, narrow, room = (variable(name) for name in ("wide", "narrow", "room"))
    all_in_use = every((equal(wide, places), equal(narrow + room, rest)))
    host = (wide >= 0, narrow >= 0, room >= 0, equal(width * wide + narrow + room, size))
    yield Lemma(f"K = {size}: an open host, blocks of {width}", all_in_use, (*host, narrow + room < width))
    yield Lemma(f"K = {size}: a full host, blocks of {width}", all_in_use, (*host, room <= 0, narrow < width + rest))


def _at_most_one_open(size: int, width: int) -> Lemma:
    """Return the lemma for a roomiest open host that holds so many `blocks` of that width in all.

    Variable `left` is the room on the other open hosts together.
    """
    full, others, left, blocks = (variable(name) for name in ("full", "others", "left", "blocks"))
    used = size * (full + others) - left + width * blocks
    places, rest = divmod(size, width)
    return Lemma(
        f"K = {size}: at most one open host, blocks of {width}",
        others <= 0,
        (
            *(full >= 0, others >= 0, left >= others, left <= rest * others, blocks >= 1, width * blocks < size),
            places * (full + others) + blocks <= places * (used // size) + (used % size) // width,
        ),
    )


def admission_lemmas(size: int) -> Iterator[Lemma]:
    """Yield what D2 rests on: a slot for which no host has room, with no exchange left, fits no arrangement.

    Where the only open host has ones, it has units enough for the slot once ones have become its fillers; so what it
    lacks is ones.
    """
    slots = [width for width in (*block_widths(size), size) if width > 1]
    for slot, width in product(slots, block_widths(size)):
        if width > 1:
            yield _beside_blocks(size, width, slot)
        if 1 < width <= slot:
            yield _beside_ones(size, width, slot)


def _beside_blocks(size: int, width: int, slot: int) -> Lemma:
    """Return the lemma for a roomiest open host with blocks of `width` or more, and less room than the slot is wide."""
    others, blocks = variable("others"), variable("blocks")
    at = min(width, slot)
    asked = (width // at) * ((size // width) * others + blocks)
    return Lemma(
        f"K = {size}: no place for a slot of {slot}, blocks of {width}",
        ~_fits(size, others + 1, asked, slot, width=at),
        (others >= 0, blocks >= 1, width * blocks < size, size - width * blocks < slot),
    )


def _beside_ones(size: int, width: int, slot: int) -> Lemma:
    """Return the lemma for an only open host with ones, of whose wider blocks the narrowest is of `width`.

    Of the slot's own width there may be none: then all its wider blocks, if any, are wider than the slot.
    """
    full, blocks, ones, room = (variable(name) for name in ("full", "blocks", "ones", "room"))
    return Lemma(
        f"K = {size}: no place for a slot of {slot}, ones beside blocks of {width}",
        ~_fits(size, full + 1, (size // width) * full + blocks, slot, width=width),
        (
            *(full >= 0, blocks >= int(width < slot), ones >= 1, room >= 1, ones + room < slot),
            equal(width * blocks + ones + room, size),
        ),
    )


def _fits(size: int, hosts: Term, asked: Term, slot: int, *, width: int) -> Formula:
    """Return that the hosts have places of that width enough for the blocks and for the slot to come."""
    if slot == size:  # it takes a host alone
        return asked <= (size // width) * (hosts - 1)
    return asked + slot // width <= (size // width) * hosts


PAPERS_EXAMPLE = ((9, 8), (9, 1))
"""Nine 8-panel and nine 1-panel jobs: Φ* = 0 on domains of 9 panels."""


def papers_example() -> str:
    """Return what becomes of the paper's own K = 9 (P13), as printed and by EXACT over 9 panels."""
    figures = [_partial_hosts(variant) for variant in (Variant.PRINTED, Variant.EXACT)]
    return f"K = 9, 9x8, 9x1 on 10 domains: Φ* = 0; Φ = {figures[0]} as printed, {figures[1]} where ones may join slots"


def _partial_hosts(variant: Variant) -> int:
    state = ClusterState.empty(10, 9)
    for number, (instances, units) in enumerate(PAPERS_EXAMPLE):
        state = arrive(state, Job(str(number), instances, units), variant=variant).state
    return state.partial_nodes


def d1(effort: Effort) -> Finding:
    """Settle D1: Φ = Φ* in every outer tier under its condition, for every number of hosts and every history."""
    return _settled(
        effort,
        tier_lemmas,
        "no tier at rest has two open hosts, by counting places of each width over unbounded numbers of hosts, by z3",
        papers_example(),
    )


def d2(effort: Effort) -> Finding:
    """Settle D2: a tier refuses a job only if no arrangement of its blocks has room for the job's."""
    return _settled(
        effort,
        admission_lemmas,
        "a slot without a host in a tier at rest has no place of some width, over unbounded numbers of hosts, by z3",
    )


def _settled(effort: Effort, lemmas: Callable[[int], Iterator[Lemma]], method: str, *details: str) -> Finding:
    fault = _exchange_missing(effort)
    if fault is not None:
        return Finding(status=Status.UNKNOWN, method="the code lacks an exchange", details=(fault,))
    return prove_all(lemma for size in _sizes(effort) for lemma in lemmas(size)).finding(
        method,
        ", ".join([f"K = 1 to {LARGEST[effort]}", *map(str, LARGER[effort])]) + ", one at a time",
        "every exchange the proof asks for is in the code: all pairs of hosts",
        *(f"K = {size}: all pairs up to blocks that the exchange leaves alone" for size in LARGER[effort]),
        f"instances are exchanged where blocks are: all pairs of hosts up to K = {BESIDE_INSTANCES[effort]}",
        *details,
    )


def _sizes(effort: Effort) -> tuple[int, ...]:
    return (*range(1, LARGEST[effort] + 1), *LARGER[effort])


@cache
def _exchange_missing(effort: Effort) -> str | None:
    """Return a pair of hosts that the code leaves as it is although the proofs ask for an exchange, if there is one."""
    found = chain(
        *(missing_exchanges(size) for size in _sizes(effort)),
        *(blocks_beside_instances(size) for size in range(1, BESIDE_INSTANCES[effort] + 1)),
    )
    return next(found, None)
