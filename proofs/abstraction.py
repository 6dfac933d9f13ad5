"""The counting abstraction: what a node looks like up to symmetry, and the operators as changes of a few nodes' looks.

A state becomes one counter a `Kind`: how many nodes look like that. Every step of an operator changes the looks of one
or two nodes, whatever the number of nodes, so a step is a linear update of the counters (`Rule`), and what all rules
keep holds for every N and every history. The rules allow more than the code does (any host, any donor, any merge that
leaves less disorder): a law of all their results is one of the code. That the code's steps are among them is checked
in ``tests/proofs/test_abstraction.py`` and by `proofs.soundness`.

On a node, vacancies and 1-GPU instances outside slots never stand together (`compass_core.model.NodeShape`). So one
number, the balance, says both, and it adds up: over all nodes it comes to the fillers wanted less the 1-GPU instances
there are. The workload composition condition is that this total is not positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

from compass_core import Variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CAPACITY = 8
"""GPUs of a node. The proofs are for nodes of 8 GPUs, as the paper's are."""

MOST_VACANCIES = {2: 0, 4: 1, 8: 3}
"""Width of a slot to the most fillers it can want: a 2 none, a 3 one, a 5 three."""

DEMANDS = range(1, CAPACITY + 1)


def width_of(demand: int) -> int:
    """Return w*(g) for g of 2 GPUs or more (theory §1.1)."""
    return next(width for width in MOST_VACANCIES if width >= demand)


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """How a node looks: the widths of its slots, descending, and its balance.

    Attributes
    ----------
    balance
        Vacancies less ones: fillers its slots want, less its 1-GPU instances. Positive: so many vacancies and no one
        outside a slot. Negative: so many ones and no vacancy.
    """

    widths: tuple[int, ...]
    balance: int

    @classmethod
    def of(cls, demands: Iterable[int]) -> Kind:
        """Return how a node with these demands looks."""
        widths: list[int] = []
        balance = 0
        for demand in demands:
            if demand == 1:
                balance -= 1
            else:
                widths.append(width_of(demand))
                balance += width_of(demand) - demand
        return cls(tuple(sorted(widths, reverse=True)), balance)

    @property
    def vacancies(self) -> int:
        """Fillers that still fit."""
        return max(0, self.balance)

    @property
    def ones(self) -> int:
        """1-GPU instances outside slots."""
        return max(0, -self.balance)

    @property
    def reserved(self) -> int:
        """GPUs that slots and ones reserve; at most 8 in Σ⁺."""
        return sum(self.widths) + self.ones

    @property
    def room(self) -> int:
        """GPUs that a new slot or one may take."""
        return CAPACITY - self.reserved

    @property
    def used(self) -> int:
        """GPUs held."""
        return sum(self.widths) - self.balance

    @property
    def partial(self) -> bool:
        """Whether some but not all GPUs are held."""
        return 0 < self.used < CAPACITY

    @property
    def open(self) -> bool:
        """Whether it is neither empty nor closed to new slots and ones."""
        return 0 < self.reserved < CAPACITY

    @property
    def empty(self) -> bool:
        """Whether nothing stands on it."""
        return self.reserved == 0

    @property
    def mixed(self) -> bool:
        """Whether slots and ones stand on it."""
        return bool(self.widths) and self.ones > 0

    @property
    def pool(self) -> bool:
        """Whether only ones stand on it."""
        return not self.widths and self.ones > 0

    @property
    def name(self) -> str:
        """A word for it: ``n42_v1`` holds slots of widths 4 and 2 and one vacancy, ``n_o3`` three ones."""
        widths = "".join(str(width) for width in self.widths)
        extra = f"v{self.vacancies}" if self.balance > 0 else f"o{self.ones}"
        return f"n{widths}_{extra}"

    @property
    def exists(self) -> bool:
        """Whether it is one of Σ⁺ that some demands look like."""
        return self.room >= 0 and self.balance <= sum(MOST_VACANCIES[width] for width in self.widths)


def _all_kinds() -> Iterator[Kind]:
    for length in range(CAPACITY // 2 + 1):
        for widths in combinations_with_replacement((8, 4, 2), length):
            for balance in range(-CAPACITY, CAPACITY):
                kind = Kind(widths, balance)
                if kind.exists:
                    yield kind


KINDS: tuple[Kind, ...] = tuple(sorted(_all_kinds()))
"""Every kind of Σ⁺: 44 of them."""

EMPTY = Kind((), 0)

Looks = tuple[Kind, ...]
"""A few nodes' looks, sorted."""

Rules = dict[Looks, frozenset[Looks]]
"""What some nodes look like before a step, to what they may look like after it."""


def looks(kinds: Iterable[Kind]) -> Looks:
    """Return the looks of a few nodes; their order does not matter."""
    return tuple(sorted(kinds))


def _collected(steps: Iterable[tuple[Looks, Looks]]) -> Rules:
    found: dict[Looks, set[Looks]] = {}
    for before, after in steps:
        found.setdefault(before, set()).add(after)
    return {before: frozenset(after) for before, after in found.items()}


def with_one_more(kind: Kind, demand: int) -> Kind:
    """Return the look of a node after an instance was added."""
    if demand == 1:
        return Kind(kind.widths, kind.balance - 1)
    width = width_of(demand)
    return Kind(tuple(sorted((*kind.widths, width), reverse=True)), kind.balance + width - demand)


def placing(demand: int, variant: Variant) -> Rules:
    """Return how an instance is added to one node; under COMPASS none becomes mixed by it."""
    return _collected(
        ((kind,), (after,))
        for kind in KINDS
        if (after := with_one_more(kind, demand)).exists and (variant is Variant.EXACT or not after.mixed or kind.mixed)
    )


def beside_ones(demand: int) -> Rules:
    """Return how COMPASS puts an anchor beside ones that later instances of its gang will take as fillers."""
    return _collected(
        ((kind,), (after,))
        for kind in KINDS
        if kind.pool and demand > 1 and (after := with_one_more(kind, demand)).exists
    )


def removing(demand: int) -> Rules:
    """Return how an instance leaves one node; fillers it orphans stay, as ones or in another slot's vacancy."""
    steps: list[tuple[Looks, Looks]] = []
    for kind in KINDS:
        if demand == 1:
            after = Kind(kind.widths, kind.balance + 1)
        elif (width := width_of(demand)) in kind.widths:
            at = kind.widths.index(width)
            after = Kind(kind.widths[:at] + kind.widths[at + 1 :], kind.balance - (width - demand))
        else:
            continue
        if after.exists:
            steps.append(((kind,), (after,)))
    return _collected(steps)


@cache
def filling() -> Rules:
    """Return how a one moves from outside the slots into another node's vacancy."""
    return _collected(
        (looks((donor, host)), looks((Kind(donor.widths, donor.balance + 1), Kind(host.widths, host.balance - 1))))
        for donor, host in product(KINDS, KINDS)
        if donor.ones and host.vacancies
    )


Disorder = tuple[int, int, int]


def disorder(of: Looks, variant: Variant) -> Disorder:
    """Return mixed nodes, open nodes that are not mixed, and open nodes: what every merge lowers, the first first.

    Under EXACT nodes may be mixed: none counts as such.
    """
    mixed = [kind for kind in of if kind.mixed and variant is Variant.COMPASS]
    opened = sum(kind.open for kind in of)
    return len(mixed), opened - sum(kind.open for kind in mixed), opened


def may_merge(kind: Kind, variant: Variant) -> bool:
    """Return whether Compact looks at such nodes; under COMPASS at closed mixed and idle ones too, to unmix nodes."""
    return kind.open or (variant is Variant.COMPASS and (kind.mixed or kind.empty))


@cache
def merging(variant: Variant) -> Rules:
    """Return how two nodes are re-divided: no instance is lost, no vacancy added, and there is less disorder."""
    groups: dict[tuple[tuple[int, ...], int], list[Looks]] = {}
    for pair in combinations_with_replacement(KINDS, 2):
        groups.setdefault(holdings(pair), []).append(pair)
    return _collected(
        (before, after)
        for group in groups.values()
        for before, after in product(group, group)
        if all(may_merge(kind, variant) for kind in before)
        and disorder(after, variant) < disorder(before, variant)
        and sum(kind.vacancies for kind in after) <= sum(kind.vacancies for kind in before)
    )


@cache
def rehoming() -> Rules:
    """Return how COMPASS takes a one off a mixed node, to a pool node with room or an idle one."""
    return _collected(
        (looks((mixed, home)), looks((Kind(mixed.widths, mixed.balance + 1), Kind((), home.balance - 1))))
        for mixed, home in product(KINDS, KINDS)
        if mixed.mixed and (home.pool or home.empty) and home.room
    )


def holdings(of: Looks) -> tuple[tuple[int, ...], int]:
    """Return what stands on some nodes together: the widths of all slots, and the balance."""
    return tuple(sorted((w for kind in of for w in kind.widths), reverse=True)), sum(kind.balance for kind in of)


def count(kinds: Iterable[Kind]) -> Mapping[Kind, int]:
    """Return the counters: how many nodes look like each kind. Kinds of no node are left out."""
    counters: dict[Kind, int] = {}
    for kind in kinds:
        counters[kind] = counters.get(kind, 0) + 1
    return counters
