"""What the constraints of a snapshot cost: partial nodes that could go if one sort of constraint were not there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from oracle.moves.pool_part import part_of
from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.load_bound import LoadBound, load_bound
from oracle.optimum.node_classes import constrained_problem, count_partial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.optimum.node_classes import PlacedProblem
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot

CORDONED = "cordoned"
IMMOVABLE = "immovable"
DISTINCT = "distinct nodes"


class Bounds(NamedTuple):
    """Partial nodes: what is proved, and what is attained."""

    lower: int
    attained: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintCost:
    """What one sort of constraint costs a pool.

    Attributes
    ----------
    constraint
        `cordoned`, `immovable`, `distinct nodes`, the kind of a node set (`partition`), or the name of a resource.
    partial_nodes, partial_nodes_at_most
        Partial nodes that it costs, at least and at most: Φ* with it less Φ* without it. Constraints share what they
        cost: two that each forbid the same moves cost nothing alone.
    certificate
        Evidence for Φ* without it.
    """

    constraint: str
    partial_nodes: int
    partial_nodes_at_most: int
    certificate: Certificate

    def to_dict(self) -> dict[str, object]:
        """Return the content of one entry of `constraints` in ``sifopt measure -o json``."""
        return {
            "constraint": self.constraint,
            "partial_nodes": self.partial_nodes,
            "partial_nodes_at_most": self.partial_nodes_at_most,
            "certificate": self.certificate.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxed:
    """A pool as if one sort of constraint were not there.

    Attributes
    ----------
    constraint
        The sort.
    placed
        What may be packed where then.
    exact
        Whether every packing of it can be had (`Snapshot.kinds_are_exact`).
    """

    constraint: str
    placed: PlacedProblem
    exact: bool

    def cost(self, inherent: Bounds, certificate: Certificate) -> ConstraintCost:
        """Return what the constraint costs, given Φ* with it and evidence for Φ* without it."""
        # What can be had with a constraint can be had without it.
        attained = min(inherent.attained, certificate.partial_nodes) if self.exact else inherent.attained
        return ConstraintCost(
            constraint=self.constraint,
            partial_nodes=max(0, inherent.lower - attained),
            partial_nodes_at_most=max(0, inherent.attained - certificate.lower_bound),
            certificate=certificate,
        )


def constraint_costs(snapshot: Snapshot, pool: str, inherent: Bounds, deadline: Deadline) -> tuple[ConstraintCost, ...]:
    """Return what each sort of constraint costs a pool; those that are not named cost nothing."""
    return tuple(one.cost(inherent, _solved(one.placed, deadline)) for one in relaxed(snapshot, pool))


def _solved(placed: PlacedProblem, deadline: Deadline) -> Certificate:
    problem, start = placed.problem, placed.current
    if deadline.is_open():
        return solve_pool(problem, start=start, time_limit=deadline.seconds_left, prefer_empty=False).certificate
    # What can be had with the constraint is known: of large pools, looking for something better takes long.
    attained, lower = count_partial(problem, start), load_bound(problem)
    return Certificate(
        problem=problem,
        packing=start,
        partial_nodes=attained,
        lower_bound=lower,
        argument=LoadBound(),
        status=Status.of(lower, attained),
    )


def relaxed(snapshot: Snapshot, pool: str) -> Iterator[Relaxed]:
    """Yield a pool without each sort of constraint of its own; not where that makes no other problem of it."""
    snapshot = part_of(snapshot, pool).snapshot
    as_it_is, exact = constrained_problem(snapshot.contents[pool]), snapshot.kinds_are_exact(pool)
    for constraint in _constraints_of(snapshot):
        freed = _without(snapshot, constraint)
        found = Relaxed(
            constraint=constraint,
            placed=constrained_problem(freed.contents[pool]),
            exact=freed.kinds_are_exact(pool),
        )
        # Kinds that leave something out may be the same with and without it.
        if found.placed.problem != as_it_is.problem or not (exact and found.exact):
            yield found


def _constraints_of(snapshot: Snapshot) -> Iterator[str]:
    """Yield the sorts of constraints that there are; what is called alike is one sort."""
    instances = [one for job in snapshot.jobs for one in job.instances]
    kinds = {one.name: one.kind for one in snapshot.node_sets}
    offered = {name for node in snapshot.nodes for name in node.resources}
    there = {
        CORDONED: any(not node.schedulable for node in snapshot.nodes),
        IMMOVABLE: any(not one.movable for one in instances),
        DISTINCT: any(job.distinct_nodes for job in snapshot.jobs),
    }
    named = {kinds[name] for one in instances for name in one.within}
    named |= offered & {name for one in instances for name, units in one.resources.items() if units}
    yield from dict.fromkeys([*(sort for sort, is_there in there.items() if is_there), *sorted(named)])


def _without(snapshot: Snapshot, constraint: str) -> Snapshot:
    """Return the snapshot as if there were no such constraint."""
    kinds = {one.name: one.kind for one in snapshot.node_sets}

    def freed(one: RunningInstance) -> RunningInstance:
        return replace(
            one,
            movable=one.movable or constraint == IMMOVABLE,
            within=tuple(name for name in one.within if kinds[name] != constraint),
            resources=one.resources.delete(constraint) if constraint in one.resources else one.resources,
        )

    def freed_job(job: RunningJob) -> RunningJob:
        return replace(
            job,
            distinct_nodes=job.distinct_nodes and constraint != DISTINCT,
            instances=tuple(map(freed, job.instances)),
        )

    return replace(
        snapshot,
        nodes=tuple(replace(node, schedulable=node.schedulable or constraint == CORDONED) for node in snapshot.nodes),
        jobs=tuple(map(freed_job, snapshot.jobs)),
    )
