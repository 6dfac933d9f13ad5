"""The result of an event or an operator: a state that explains itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_core.refusal import Refusal
    from compass_core.state import ClusterState
    from compass_core.steps import Migration, Placement


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an arrival or a departure did.

    To carry it out on a real cluster: on a departure stop the job; then carry out `migrations` one by one, none of
    which over-books a node; then start the new instances where `placements` says.
    """

    state: ClusterState
    """The new state; the old one itself where the job was refused."""

    admitted: bool = True
    placements: tuple[Placement, ...] = ()
    migrations: tuple[Migration, ...] = ()
    reason: Refusal | None = None
    """Why the job was refused."""
