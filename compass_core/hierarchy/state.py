"""The state of a hierarchy: one `ClusterState` a tier, and what ties them together."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from compass_core.errors import InvariantViolation, PlacementError, UnknownJobError
from compass_core.hierarchy.condition import tier_condition
from compass_core.hierarchy.tiers import NVL72, host_of_unit, unit_name
from compass_core.model import Instance, shape_of
from compass_core.state import ClusterState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core.hierarchy.condition import TierCondition
    from compass_core.hierarchy.tiers import Tiers
    from compass_core.model import Job


@dataclass(frozen=True, slots=True)
class HierarchicalState:
    """Clusters of panels, domains and so on: immutable, hashable, compared by value. Make one with `empty`.

    A host of a tier is a place in name only until something stands on it: then it runs in the tier outside as a job of
    one instance and one unit (`tiers.unit_name`), and where that instance stands is where the host is. So a panel
    that empties returns to its domain, and to move a panel is to move one instance. Units that instances of outer
    tiers hold whole are offline hosts of the tiers inside: online are exactly as many as could be in use.
    """

    tiers: Tiers
    levels: tuple[ClusterState, ...]
    """The tiers from the inside out; in `levels[t]` GPUs are units of tier t, and nodes are its hosts."""

    @classmethod
    def empty(cls, hosts: int, tiers: Tiers = NVL72) -> HierarchicalState:
        """Return an idle hierarchy of so many hosts of the outermost tier.

        Raises
        ------
        PlacementError
            Fewer than 0 hosts, or no whole number of them.
        """
        if type(hosts) is not int or hosts < 0:  # checked in spite of the types, as in `ClusterState`
            raise PlacementError(f"expected 0 hosts or more, got {hosts}")
        sizes = tiers.sizes
        levels = (ClusterState.empty(hosts * prod(sizes[tier + 1 :]), size) for tier, size in enumerate(sizes))
        return cls(tiers, tuple(levels))

    @property
    def total_gpus(self) -> int:
        """GPUs of the hierarchy."""
        return self.levels[-1].total_gpus * self.tiers.unit_gpus(len(self.tiers) - 1)

    @property
    def used_gpus(self) -> int:
        """GPUs held by running instances."""
        return self.total_gpus - self.levels[0].free_gpus

    @property
    def free_gpus(self) -> int:
        """GPUs nobody holds, on panels in use and idle ones."""
        return self.levels[0].free_gpus

    def tier_of_job(self, name: str) -> int:
        """Return the tier a running job belongs to.

        Raises
        ------
        UnknownJobError
            No running job has that name.
        """
        if host_of_unit(name) is None:
            for tier, level in enumerate(self.levels):
                if name in level.jobs_by_name:
                    return tier
        raise UnknownJobError(f"no running job is named {name!r}")

    def jobs(self) -> Iterator[tuple[int, Job]]:
        """Yield tier and job of every running job, demands in units of the tier."""
        for tier, level in enumerate(self.levels):
            for name, job in level.jobs_by_name.items():
                if host_of_unit(name) is None:
                    yield tier, job

    def host_of(self, tier: int, host: int) -> int:
        """Return the host of the tier outside in which a host in use stands: the domain of a panel.

        Raises
        ------
        UnknownInstanceError
            The host is not in use.
        """
        return self.levels[tier + 1].node_of(Instance(unit_name(host), 0, 1))

    def held_by(self, tier: int, instance: Instance) -> tuple[Instance, ...]:
        """Return the instances of jobs that move when `instance` of a tier moves, demands in GPUs."""
        host = host_of_unit(instance.job)
        if host is None:
            return (Instance(instance.job, instance.index, instance.gpus * self.tiers.unit_gpus(tier)),)
        inside = self.levels[tier - 1].nodes[host].instances
        return tuple(held for unit in inside for held in self.held_by(tier - 1, unit))

    def condition(self, tier: int) -> TierCondition:
        """Return the workload composition condition of a tier, with its numbers."""
        return tier_condition(self.levels[tier].counts)

    @property
    def wcc(self) -> tuple[bool, ...]:
        """Whether the condition holds, by tier."""
        return tuple(self.condition(tier).holds for tier in range(len(self.levels)))

    @property
    def partial_hosts(self) -> tuple[int, ...]:
        """Φ by tier: partial panels, partial domains (some but not all panels in use), and so on."""
        return tuple(level.partial_nodes for level in self.levels)

    def check(self) -> None:
        """Check every tier, and that the tiers agree; O(N).

        Raises
        ------
        InvariantViolation
            Names the tier and what is broken.
        """
        for tier, level in enumerate(self.levels):
            try:
                level.check()
            except InvariantViolation as error:
                raise InvariantViolation(f"tier {tier}: {error}") from error
        for tier, (level, outside) in enumerate(zip(self.levels, self.levels[1:], strict=False)):
            in_use = {host for host, _ in level.nodes.occupied()}
            units = {host for name in outside.jobs_by_name if (host := host_of_unit(name)) is not None}
            if in_use != units:
                problem = f"hosts {sorted(in_use ^ units)} are in use in one of two tiers only"
                raise InvariantViolation(f"tier {tier}: {problem}")
            idle = len(level.shapes.get(shape_of(level.capacity, ()), ()))
            if idle != outside.free_gpus:
                problem = f"{idle} hosts are idle, the tier outside has {outside.free_gpus} units free"
                raise InvariantViolation(f"tier {tier}: {problem}")
