"""The three variants of the algorithm, and the one thing in which the two repaired ones differ (theory §3)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from compass_core.model import NodeKind

if TYPE_CHECKING:
    from compass_core.model import NodeShape


class Variant(Enum):
    """Which operators schedule."""

    PRINTED = "printed"
    """The paper's pseudocode as printed, faults included; see `compass_core.printed`."""

    COMPASS = "compass"
    """Slots and ones on separate nodes (Σ), the faults repaired: at most two partial nodes under WCC."""

    EXACT = "exact"
    """Slots and ones may share a node (Σ⁺): SIF = 0, and admission by free GPUs alone, under WCC."""


def may_become(variant: Variant, before: NodeShape, after: NodeShape) -> bool:
    """Whether an operator may turn a node of shape `before` into `after` by putting something on it.

    Both variants ask for Σ⁺. COMPASS also asks that a node that was not mixed does not become so. Mixed nodes arise
    under COMPASS only by a departure (an orphaned filler that has nowhere to go), never by a placement.
    """
    if after.room < 0:
        return False
    return variant is Variant.EXACT or after.kind is not NodeKind.MIXED or before.kind is NodeKind.MIXED
