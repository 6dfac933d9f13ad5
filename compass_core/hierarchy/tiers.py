"""The sizes of a hierarchy, and which tier a demand belongs to (paper, Appendix D)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from compass_core.errors import InvalidJobError, PlacementError

MAX_PANEL = 16
"""GPUs of a panel at most: their rule lists the divisions of two panels (`compass_core.merging`)."""

MAX_HOST = 72
"""Units of a host of an outer tier at most: the panels of a flat NVL576, for which D1 and D2 are settled."""

UNIT_PREFIX = "@"
"""Jobs whose names begin with this are the hierarchy's own: hosts in use, as units of the tier outside."""

_NAMES = ("panel", "domain", "group")


@dataclass(frozen=True, slots=True)
class Tiers:
    """Sizes from the inside out: ``(8, 9)`` are panels of 8 GPUs and domains of 9 panels.

    A *host* of tier 0 is a panel, of tier 1 a domain, of tier 2 a group of domains; a *unit* of a tier is a host of the
    tier inside it, and a GPU in tier 0.

    Raises
    ------
    PlacementError
        No tier, or a size that is not 1 to `MAX_PANEL` for the panels and 1 to `MAX_HOST` outside.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        limits = (MAX_PANEL, *[MAX_HOST] * len(self.sizes))
        if not self.sizes or not all(1 <= size <= most for size, most in zip(self.sizes, limits, strict=False)):
            raise PlacementError(
                f"expected the GPUs of a panel, 1 to {MAX_PANEL}, and 1 to {MAX_HOST} units for each tier outside, "
                f"got {self.sizes}"
            )

    def __len__(self) -> int:
        return len(self.sizes)

    def unit_gpus(self, tier: int) -> int:
        """Return the GPUs of one unit of a tier."""
        return prod(self.sizes[:tier])

    def name(self, tier: int) -> str:
        """Return what a host of a tier is called."""
        return _NAMES[tier] if tier < len(_NAMES) else f"host of tier {tier}"

    def unit_name(self, tier: int) -> str:
        """Return what a unit of a tier is called."""
        return self.name(tier - 1) if tier else "GPU"

    def tier_of(self, gpus: int) -> tuple[int, int]:
        """Return the tier that schedules a demand, and the demand in units of that tier.

        It is the outermost tier of which the demand is whole units: of ``(8, 9)`` 1 to 7 GPUs are tier 0, and 8, 16,
        ..., 72 are 1, 2, ..., 9 panels of tier 1.

        Raises
        ------
        InvalidJobError
            No tier has hosts for it.
        """
        for tier in reversed(range(len(self.sizes))):
            units, rest = divmod(gpus, self.unit_gpus(tier))
            if not rest and 1 <= units <= self.sizes[tier]:
                return tier, units
        offered = " or ".join(f"1 to {size} x {self.unit_gpus(tier)}" for tier, size in enumerate(self.sizes))
        raise InvalidJobError(f"expected a demand of {offered} GPUs an instance, got {gpus}")


NVL72 = Tiers((8, 9))
"""Domains of 72 GPUs: 9 panels of 8."""

NVL576 = Tiers((8, 9, 8))
"""Groups of 8 domains of 72 GPUs."""

NVL576_FLAT = Tiers((8, 72))
"""Domains of 576 GPUs: 72 panels of 8, any of which may share an instance."""


def unit_name(host: int) -> str:
    """Return the name under which a host in use runs in the tier outside."""
    return f"{UNIT_PREFIX}{host}"


def host_of_unit(job: str) -> int | None:
    """Return the host that a unit of that name stands for, or None for a job of the user."""
    return int(job[len(UNIT_PREFIX) :]) if job.startswith(UNIT_PREFIX) else None
