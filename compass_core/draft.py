"""The working copy inside one event: a state that advances, and the moves made so far.

Operators share it while an event lasts; nothing outside an event ever sees one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compass_core.errors import VariantError
from compass_core.steps import Migration, MoveReason
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_core.model import Instance
    from compass_core.state import ClusterState


def every_move_counts_one(instance: Instance) -> float:
    """Return the default migration cost: each instance that moves counts 1."""
    del instance
    return 1.0


@dataclass(slots=True)
class Draft:
    """One event in the making."""

    state: ClusterState
    variant: Variant
    migration_cost: Callable[[Instance], float] = every_move_counts_one
    own_job: str | None = None
    """The job that arrives or departs. Its instances are not running, so moving them is free and goes unrecorded."""
    drained: int | None = None
    """The node being emptied, if one is: what is placed comes from there."""
    moves: list[Migration] = field(default_factory=list[Migration])

    def __post_init__(self) -> None:
        if type(self.variant) is not Variant:
            # Checked in spite of the types: a string would match no variant and act as a fourth one.
            raise VariantError(f"expected a Variant, got {self.variant!r}")

    @property
    def uniform_cost(self) -> bool:
        """Whether every running instance costs the same to move."""
        return self.migration_cost is every_move_counts_one

    def cost(self, instance: Instance) -> float:
        """Return what moving `instance` costs."""
        return 0.0 if instance.job == self.own_job else self.migration_cost(instance)

    def add(self, instance: Instance, index: int) -> None:
        """Place an instance; one that comes off a drained node has moved."""
        if self.drained is not None:
            self.moves.append(Migration(instance, self.drained, index, MoveReason.DRAIN))
        self.state = self.state.add(instance, index)

    def move(self, instance: Instance, destination: int, reason: MoveReason) -> None:
        """Move an instance, and note it if it was running before the event."""
        if instance.job != self.own_job:
            self.moves.append(Migration(instance, self.state.node_of(instance), destination, reason))
        self.state = self.state.move(instance, destination)

    def cheapest(self, index: int, gpus: int, count: int = 1) -> list[Instance]:
        """Return the `count` instances of that demand on node `index` that cost least to move."""
        candidates = [instance for instance in self.state.nodes[index].instances if instance.gpus == gpus]
        return sorted(candidates, key=self.cost)[:count]
