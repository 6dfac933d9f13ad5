"""The workload composition condition of one tier, exactly, for hosts of any size.

On hosts of a power of two units it is the paper's: no more fillers wanted than there are 1-unit instances. On others
slots leave residuals. A slot of width 2^j or more uses whole multiples of 2^j units of a host, so of K units at most
2^j·⌊K/2^j⌋ can be used by such slots; what is left over (K mod 2 for any slot at all) is a vacancy that only smaller
slots or 1-unit instances can fill. The condition asks that there are enough of these, for every j at once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_core.condition import wcc_need, wcc_supply
from compass_core.model import slot_width

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class TierCondition:
    """The numbers of the condition of one tier.

    Attributes
    ----------
    need, supply
        Fillers that the slots ask for, and the 1-unit instances there are.
    blocks
        One entry ``(width, asked, offered)`` a power of two 2^j < K, j ≥ 1: how many blocks of 2^j units the slots of
        that width or more take up, and how many the hosts offer when as few as can be are in use.
    inherent
        Φ* of the tier while the condition holds: 1 if the units in use leave a remainder modulo K, else 0.
    """

    need: int
    supply: int
    blocks: tuple[tuple[int, int, int], ...]
    inherent: int

    @property
    def holds(self) -> bool:
        """Whether saturated slots and the other 1-unit instances can fill all hosts in use but one."""
        return self.need <= self.supply and all(asked <= offered for _, asked, offered in self.blocks)


def tier_condition(counts: Sequence[int]) -> TierCondition:
    """Return the condition of a tier for running instances by demand in units, (n1, ..., nK).

    While it holds, Φ* is 1 if the units in use leave a remainder modulo K and 0 otherwise. With need ≤ supply the rest
    of it holds if and only if such an arrangement with every slot saturated exists: widths divide one another, so
    putting blocks down widest first, anywhere they fit, fails only if ``asked`` exceeds ``offered`` for some width.
    Slots as wide as the host have hosts of their own. For K a power of two the second half follows from the first.
    """
    size = len(counts)
    blocks: Counter[int] = Counter()
    for units, count in enumerate(counts[1:], start=2):
        blocks[slot_width(units, size)] += count
    used = sum(units * count for units, count in enumerate(counts, start=1))
    need, supply = wcc_need(counts), wcc_supply(counts)
    hosts, rest = divmod(used - size * blocks.pop(size, 0), size)
    widths = [1 << j for j in range(1, size.bit_length()) if 1 << j < size]
    asked = {width: sum(count * (w // width) for w, count in blocks.items() if w >= width) for width in widths}
    offered = {width: hosts * (size // width) + rest // width for width in widths}
    return TierCondition(
        need=need,
        supply=supply,
        blocks=tuple((width, asked[width], offered[width]) for width in widths),
        inherent=1 if used % size else 0,
    )
