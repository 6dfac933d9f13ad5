"""SIF of every tier of a hierarchy that `compass_core.hierarchy` schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.optimum.exact import inherent_partial_nodes

if TYPE_CHECKING:
    from compass_core.hierarchy import HierarchicalState


@dataclass(frozen=True, slots=True, kw_only=True)
class TierMeasurement:
    """One tier.

    Attributes
    ----------
    name
        What its hosts are called: panel, domain, group.
    hosts
        Hosts that could be in use: for panels those that no instance of whole panels holds.
    partial_hosts
        Φ of the tier.
    inherent_partial_hosts
        Φ*: the fewest, given the units that the tier inside has in use.
    sif
        Their difference over `hosts`; 0 without hosts.
    wcc
        Whether the tier's composition condition holds.
    """

    name: str
    hosts: int
    partial_hosts: int
    inherent_partial_hosts: int
    sif: float
    wcc: bool


def measure_tiers(state: HierarchicalState) -> tuple[TierMeasurement, ...]:
    """Return the measurement of every tier, from the inside out; exact for any workload."""
    found: list[TierMeasurement] = []
    for tier, level in enumerate(state.levels):
        condition = state.condition(tier)
        inherent = condition.inherent
        if not condition.holds:
            inherent = inherent_partial_nodes(level.counts, capacity=level.capacity, nodes=level.node_count)
        avoidable = level.partial_nodes - inherent
        found.append(
            TierMeasurement(
                name=state.tiers.name(tier),
                hosts=level.node_count,
                partial_hosts=level.partial_nodes,
                inherent_partial_hosts=inherent,
                sif=avoidable / level.node_count if level.node_count else 0.0,
                wcc=condition.holds,
            )
        )
    return tuple(found)
