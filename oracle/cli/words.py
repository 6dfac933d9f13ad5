"""How every report writes a long list, and a figure that may be known only within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.measurement.measure import Figures

# Enough to see what kind of thing it is; -v lists all.
MAX_LISTED = 5


def listed(items: Sequence[str], *, verbose: bool) -> str:
    """Return the first few items, or all."""
    if verbose or len(items) <= MAX_LISTED:
        return ", ".join(items)
    return f"{', '.join(items[:MAX_LISTED])} and {len(items) - MAX_LISTED} more (-v lists them)"


def inherent(figures: Figures) -> str:
    """Return Φ*, or the proved bound and the best arrangement found where they do not meet, as ``1..3``."""
    lowest, attained = figures.inherent_lower_bound, figures.inherent_partial_nodes
    return f"{attained}" if lowest == attained else f"{lowest}..{attained}"


def at_least(figures: Figures) -> str:
    """Return ``>=``, to stand before what is avoidable and before SIF, while Φ* is not settled; else nothing."""
    return "" if figures.inherent_lower_bound == figures.inherent_partial_nodes else ">="
