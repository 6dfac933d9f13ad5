"""The result of an event of the hierarchy, and why a job was refused, by tier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_core.hierarchy.steps import TierMigration

if TYPE_CHECKING:
    from compass_core.hierarchy.state import HierarchicalState
    from compass_core.hierarchy.steps import Step
    from compass_core.refusal import RefusalKind
    from compass_core.steps import Placement


@dataclass(frozen=True, slots=True)
class TierRefusal:
    """A refusal: the tier that could not take its part, and the numbers, in units of that tier."""

    tier: int
    tier_name: str
    unit: str
    kind: RefusalKind
    demanded: int
    free: int
    empty_hosts: int
    largest_free_block: int

    def __str__(self) -> str:
        return (
            f"{self.tier_name}s, {self.kind.value}: {self.demanded} {self.unit}s demanded, {self.free} free, "
            f"largest free block {self.largest_free_block}, {self.empty_hosts} empty {self.tier_name}s"
        )


@dataclass(frozen=True, slots=True)
class HierarchicalOutcome:
    """What an arrival or a departure did.

    To carry it out: on a departure stop the job; then carry out `steps` one by one, none of which over-books a host of
    any tier; then start the new instances where `placements` says.
    """

    state: HierarchicalState
    """The new state; the old one itself where the job was refused."""

    tier: int
    """The tier the job belongs to; the hosts of `placements` are of that tier."""

    admitted: bool = True
    placements: tuple[Placement, ...] = ()
    """New instances, demand in units of the tier, and the host each was put on."""

    steps: tuple[Step, ...] = ()
    reason: TierRefusal | None = None

    @property
    def migrations(self) -> tuple[TierMigration, ...]:
        """The steps that move running instances; a host that was opened a moment ago holds none."""
        return tuple(step for step in self.steps if isinstance(step, TierMigration) and step.dragged)

    @property
    def instances_moved(self) -> int:
        """Running instances moved, dragged ones included, one count a move."""
        return sum(migration.dragged for migration in self.migrations)
