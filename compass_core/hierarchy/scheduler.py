"""Arrivals and departures in a hierarchy: one event, a cascade through the tiers, one new state.

A job is scheduled by the tier it belongs to. Hosts that come into use there are placed in the tier outside by its own
rule, before anything is put on them; hosts that have emptied leave it, afterwards. Panels follow the variant asked for,
the tiers outside `tighten`. A host that opens is a filler of the tier outside, and EXACT puts fillers wherever a unit
is free: so a departure is never refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from compass_core import operators, scheduler
from compass_core.draft import every_move_counts_one
from compass_core.errors import DuplicateJobError, InvalidJobError, VariantError
from compass_core.hierarchy.outcome import HierarchicalOutcome, TierRefusal
from compass_core.hierarchy.steps import Closing, Opening, TierMigration
from compass_core.hierarchy.tiers import UNIT_PREFIX, unit_name
from compass_core.hierarchy.tighten import arrive_tight, settle_tight
from compass_core.model import Instance, Job, shape_of
from compass_core.refusal import RefusalKind
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass_core.hierarchy.state import HierarchicalState
    from compass_core.hierarchy.steps import Step
    from compass_core.outcome import Outcome
    from compass_core.state import ClusterState
    from compass_core.steps import Placement


def arrive(
    state: HierarchicalState,
    job: Job,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> HierarchicalOutcome:
    """Place a job, all of its instances or none, in every tier it touches.

    Parameters
    ----------
    variant
        The rule of the panels, COMPASS or EXACT.
    migration_cost
        What moving an instance of a job costs, demand in GPUs. Moving a panel costs what it drags.

    Raises
    ------
    DuplicateJobError
        A running job has that name.
    InvalidJobError
        The name is one of the hierarchy's own, or no tier has hosts for the demand.
    VariantError
        The printed algorithm, which knows no tiers.
    """
    _check_variant(variant)
    if job.name.startswith(UNIT_PREFIX):
        raise InvalidJobError(f"job {job.name!r}: names that begin with {UNIT_PREFIX!r} are the hierarchy's own")
    if any(job.name in level.jobs_by_name for level in state.levels):
        raise DuplicateJobError(f"a running job is already named {job.name!r}")
    tier, units = state.tiers.tier_of(job.gpus)
    event = _Event(state, variant, migration_cost, starting=job.name)
    try:
        event.reserve(tier, job.instances * units)
        placements = event.place(tier, Job(job.name, job.instances, units))
    except _RefusedError as refused:
        return HierarchicalOutcome(state, tier, admitted=False, reason=refused.reason)
    return HierarchicalOutcome(event.state, tier, placements=placements, steps=tuple(event.steps))


def depart(
    state: HierarchicalState,
    name: str,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> HierarchicalOutcome:
    """Remove a job, and let every tier it touches settle.

    Raises
    ------
    UnknownJobError
        No running job has that name.
    VariantError
        The printed algorithm, which knows no tiers.
    """
    _check_variant(variant)
    tier = state.tier_of_job(name)
    hosts = {state.levels[tier].node_of(instance) for instance in state.levels[tier].instances_of(name)}
    event = _Event(without_job(state, name), variant, migration_cost)
    event.settle(tier, hosts)
    for inside in reversed(range(tier)):
        event.settle(inside, ())
    return HierarchicalOutcome(event.state, tier, steps=tuple(event.steps))


def without_job(state: HierarchicalState, name: str) -> HierarchicalState:
    """Return the state once the job has stopped and nothing else has happened: what the steps of `depart` start from.

    Hosts that it has left empty are still in use; units that it held whole are idle hosts of the tiers inside.

    Raises
    ------
    UnknownJobError
        No running job has that name.
    """
    tier = state.tier_of_job(name)
    job = state.levels[tier].job(name)
    levels = list(state.levels)
    levels[tier] = levels[tier].without_job(name)
    for inside, hosts in _hosts_inside(state, tier, job.total_gpus):
        for _ in range(hosts):
            levels[inside] = levels[inside].with_node_online(levels[inside].offline_nodes.lowest)
    return replace(state, levels=tuple(levels))


def _hosts_inside(state: HierarchicalState, tier: int, units: int) -> list[tuple[int, int]]:
    """Return how many hosts of each tier inside that many units of a tier are."""
    sizes = state.tiers.sizes
    return [(inside, units * prod(sizes[inside + 1 : tier])) for inside in reversed(range(tier))]


def _check_variant(variant: Variant) -> None:
    if variant is Variant.PRINTED:
        raise VariantError("the printed algorithm knows no tiers; use COMPASS or EXACT")


class _RefusedError(Exception):
    def __init__(self, reason: TierRefusal) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(slots=True)
class _Event:
    """One event in the making: a state that advances, and the steps so far. Dropped whole if a tier refuses."""

    state: HierarchicalState
    variant: Variant
    migration_cost: Callable[[Instance], float]
    starting: str | None = None
    """The job that arrives: its instances start when all steps are done, so that no step drags them."""
    steps: list[Step] = field(default_factory=list["Step"])

    def reserve(self, tier: int, units: int) -> None:
        """Take idle hosts of the tiers inside offline, as many as the units of `tier` that a job will hold whole."""
        for inside, hosts in _hosts_inside(self.state, tier, units):
            level = self.state.levels[inside]
            if level.empty_nodes < hosts:
                fits = units * self.state.tiers.unit_gpus(tier) <= self.state.free_gpus
                kind = RefusalKind.FRAGMENTATION if fits else RefusalKind.CAPACITY
                raise self._refused(tier, kind, units)
            idle = shape_of(level.capacity, ())
            for _ in range(hosts):
                level = level.with_node_offline(level.shapes[idle].lowest)
            self._set(inside, level)

    def place(self, tier: int, job: Job) -> tuple[Placement, ...]:
        """Let a tier place a job, demand in its units, and the tiers outside take what comes into use."""
        level = self.state.levels[tier]
        if tier:
            placed = arrive_tight(level, job, self._cost(tier))
        else:
            placed = scheduler.arrive(level, job, variant=self.variant, migration_cost=self.migration_cost)
        if not placed.admitted:
            kind = RefusalKind.FRAGMENTATION if placed.reason is None else placed.reason.kind
            raise self._refused(tier, kind, job.total_gpus)
        self._follow(tier, placed, {placement.node for placement in placed.placements})
        return placed.placements

    def settle(self, tier: int, left: Iterable[int]) -> None:
        """Let a tier settle after instances left these hosts, or after hosts became idle."""
        level = self.state.levels[tier]
        if tier:
            settled = settle_tight(level, self._cost(tier))
        else:
            settled = operators.compact(level, variant=self.variant, migration_cost=self.migration_cost)
        self._follow(tier, settled, set(left))

    def _follow(self, tier: int, outcome: Outcome, touched: set[int]) -> None:
        """Carry out what a tier decided: hosts that open first, then its moves, then hosts that close."""
        for migration in outcome.migrations:
            touched |= {migration.source, migration.destination}
        has_outside = tier + 1 < len(self.state.levels)
        nodes = outcome.state.nodes
        for host in sorted(touched) if has_outside else ():
            if nodes[host].used and not self._in_use(tier, host):
                inside = self.place(tier + 1, Job(unit_name(host)))[0].node
                self.steps.append(Opening(tier, host, inside))
        for move in outcome.migrations:
            dragged = len(self._running(tier, move.instance))
            step = TierMigration(tier, move.instance, move.source, move.destination, move.reason, dragged)
            self.steps.append(step)
        self._set(tier, outcome.state)
        if has_outside:
            self._close(tier, [host for host in sorted(touched) if not nodes[host].used and self._in_use(tier, host)])

    def _close(self, tier: int, hosts: list[int]) -> None:
        """Give the units of emptied hosts back, and then let the tier outside settle once."""
        left: set[int] = set()
        for host in hosts:
            inside = self.state.host_of(tier, host)
            left.add(inside)
            self.steps.append(Closing(tier, host, inside))
            self._set(tier + 1, self.state.levels[tier + 1].without_job(unit_name(host)))
        if hosts:
            self.settle(tier + 1, left)

    def _in_use(self, tier: int, host: int) -> bool:
        return unit_name(host) in self.state.levels[tier + 1].jobs_by_name

    def _cost(self, tier: int) -> Callable[[Instance], float]:
        cost = self.migration_cost
        return lambda instance: sum(map(cost, self._running(tier, instance)))

    def _running(self, tier: int, instance: Instance) -> list[Instance]:
        return [held for held in self.state.held_by(tier, instance) if held.job != self.starting]

    def _set(self, tier: int, level: ClusterState) -> None:
        levels = self.state.levels
        self.state = replace(self.state, levels=(*levels[:tier], level, *levels[tier + 1 :]))

    def _refused(self, tier: int, kind: RefusalKind, demanded: int) -> _RefusedError:
        tiers, level = self.state.tiers, self.state.levels[tier]
        return _RefusedError(
            TierRefusal(
                tier=tier,
                tier_name=tiers.name(tier),
                unit=tiers.unit_name(tier),
                kind=kind,
                demanded=demanded,
                free=level.free_gpus,
                empty_hosts=level.empty_nodes,
                largest_free_block=level.largest_free_block,
            )
        )
