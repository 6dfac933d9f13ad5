"""What an event of the hierarchy does, in executable order, and the check that it can be carried out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_core.errors import PlacementError
from compass_core.hierarchy.tiers import host_of_unit, unit_name
from compass_core.model import Instance, Job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_core.hierarchy.state import HierarchicalState
    from compass_core.state import ClusterState
    from compass_core.steps import MoveReason


@dataclass(frozen=True, slots=True)
class Opening:
    """An idle host of tier `tier` comes into use: it takes one unit of `inside`, a host of the tier outside."""

    tier: int
    host: int
    inside: int


@dataclass(frozen=True, slots=True)
class Closing:
    """A host of tier `tier` that holds nothing any more gives its unit of `inside` back."""

    tier: int
    host: int
    inside: int


@dataclass(frozen=True, slots=True)
class TierMigration:
    """Something moves from one host of tier `tier` to another.

    Attributes
    ----------
    instance
        What moves, as the tier knows it: an instance of a job, demand in units of the tier, or a whole host of the
        tier inside (`moved_host`).
    dragged
        Running instances of jobs that move: 1 for an instance, for a host as many as it holds.
    """

    tier: int
    instance: Instance
    source: int
    destination: int
    reason: MoveReason
    dragged: int

    @property
    def moved_host(self) -> int | None:
        """The host of the tier inside that moves with all it holds; None for an instance of a job."""
        return host_of_unit(self.instance.job)


Step = Opening | TierMigration | Closing


def replay(state: HierarchicalState, steps: Iterable[Step]) -> tuple[ClusterState, ...]:
    """Return the tiers after the steps, carried out one by one on `state`.

    Raises
    ------
    PlacementError
        A step over-books a host, moves something from where it does not stand or to a host that is not in use, opens
        a host in use, or closes one that is not empty.
    """
    tiers = list(state.levels)
    for step in steps:
        match step:
            case Opening():
                _open(tiers, step)
            case TierMigration():
                _move(tiers, step)
            case Closing():
                _close(tiers, step)
    return tuple(tiers)


def _open(tiers: list[ClusterState], step: Opening) -> None:
    unit = Job(unit_name(step.host))
    outside = tiers[step.tier + 1]
    if unit.name in outside.jobs_by_name or not tiers[step.tier].is_online(step.host):
        raise PlacementError(f"{step}: the host is in use or not there")
    _check_open(tiers, step.tier + 1, step.inside)
    tiers[step.tier + 1] = outside.with_job(unit).add(unit.instance(0), step.inside)


def _move(tiers: list[ClusterState], step: TierMigration) -> None:
    if tiers[step.tier].node_of(step.instance) != step.source:
        raise PlacementError(f"{step}: it stands on host {tiers[step.tier].node_of(step.instance)}")
    _check_open(tiers, step.tier, step.destination)
    tiers[step.tier] = tiers[step.tier].move(step.instance, step.destination)


def _close(tiers: list[ClusterState], step: Closing) -> None:
    outside = tiers[step.tier + 1]
    if tiers[step.tier].nodes[step.host].used or outside.node_of(Instance(unit_name(step.host), 0, 1)) != step.inside:
        raise PlacementError(f"{step}: the host is not empty or stands elsewhere")
    tiers[step.tier + 1] = outside.without_job(unit_name(step.host))


def _check_open(tiers: list[ClusterState], tier: int, host: int) -> None:
    if tier + 1 < len(tiers) and unit_name(host) not in tiers[tier + 1].jobs_by_name:
        raise PlacementError(f"host {host} of tier {tier} is not in use: nothing can be put on it")
