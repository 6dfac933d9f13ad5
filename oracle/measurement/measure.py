"""How fragmented a cluster is, and how much of that is avoidable, pool by pool and in all.

Instances never leave their pool, so pools are measured apart and their figures added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotation where a measurement is verified
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from oracle.measurement.constraints import Bounds, constraint_costs
from oracle.moves.attained import PoolOptima
from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.node_classes import constrained_problem, ideal_problem
from oracle.optimum.solver import Deadline
from oracle.snapshots.kinds import gpus_of
from oracle.snapshots.model import check_pool
from oracle.snapshots.overlooked import overlooked, overlooked_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.measurement.constraints import ConstraintCost
    from oracle.optimum.exact import PoolOptimum
    from oracle.snapshots.model import NodeContent, Skipped, Snapshot

SCHEMA = "compass-abs/measure/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is measured, of one pool or of all: nodes and GPUs are counts, SIF a fraction of all nodes.

    Where a value is not settled in time, `status` is UNKNOWN: then `inherent_partial_nodes` and
    `ideal_partial_nodes` are the best values *attained* (upper bounds), the `_lower_bound` fields say what is
    *proved*, and `avoidable_partial_nodes` and `sif` are what is avoidable at least. If the status is OPTIMAL the
    bounds are equal.

    Attributes
    ----------
    nodes, gpus
        Nodes, and the GPUs they offer.
    used_gpus
        GPUs held by running instances, on over-committed nodes too: it can exceed `gpus`.
    free_gpus
        GPUs that new instances can have: free ones on schedulable nodes that are not over-committed, and have some
        left of the CPUs, or another resource, that all instances take.
    instances
        Running instances by demand in GPUs, movable or not.
    partial_nodes
        Nodes with some but not all GPUs in use (Φ). A node that holds more than it offers is full.
    inherent_partial_nodes
        The fewest partial nodes that moving instances inside their pool can reach; nothing immovable moves and nodes
        that take nothing new get nothing (Φ*).
    ideal_partial_nodes
        The fewest if everything could move and every node could be used: never above the inherent value, once both are
        settled.
    avoidable_partial_nodes
        `partial_nodes` less `inherent_partial_nodes`.
    sif
        `avoidable_partial_nodes` over `nodes`; 0 without nodes.
    empty_nodes
        Nodes that offer GPUs and have none in use.
    empty_nodes_after
        Empty nodes once no avoidable partial node is left: as many as possible if `empty_nodes_after_status` is
        OPTIMAL, otherwise those of the packing found.
    full_nodes
        Nodes that offer GPUs and have all of them in use, or more.
    unschedulable_nodes
        Nodes that take nothing new because they are cordoned.
    largest_free_block
        Most of them on one node.
    overcommitted
        Names of the nodes that hold more than they offer, sorted.
    wcc
        Whether fillers suffice (`wcc_need` ≤ `wcc_supply`) in every pool: a filler cannot help another pool.
    wcc_supply, wcc_need
        1-GPU instances, and Σ n_g (w*(g) - g) over g ≥ 2, w* the least power of two that is at least g.
    status
        Whether both optima are settled.
    """

    nodes: int
    gpus: int
    used_gpus: int
    free_gpus: int
    instances: Mapping[int, int]
    partial_nodes: int
    inherent_partial_nodes: int
    inherent_lower_bound: int
    ideal_partial_nodes: int
    ideal_lower_bound: int
    avoidable_partial_nodes: int
    sif: float
    empty_nodes: int
    empty_nodes_after: int
    empty_nodes_after_status: Status
    full_nodes: int
    unschedulable_nodes: int
    largest_free_block: int
    overcommitted: tuple[str, ...]
    wcc: bool
    wcc_supply: int
    wcc_need: int
    status: Status

    def to_dict(self) -> dict[str, object]:
        """Return the figures as data for JSON; demands become strings, as JSON has no other keys."""
        data: dict[str, object] = {name: getattr(self, name) for name in (field.name for field in fields(Figures))}
        data["instances"] = {str(demand): count for demand, count in self.instances.items()}
        data["overcommitted"] = list(self.overcommitted)
        data["status"] = self.status.value
        data["empty_nodes_after_status"] = self.empty_nodes_after_status.value
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMeasurement(Figures):
    """The figures of one pool, with the proofs of its two optima.

    Attributes
    ----------
    pool
        Name of the pool.
    certificate, ideal_certificate
        Evidence for `inherent_partial_nodes` and `ideal_partial_nodes`.
    constraints
        What each sort of constraint costs alone, where all of them together may cost something; those that are not
        named cost nothing.
    """

    pool: str
    certificate: Certificate
    ideal_certificate: Certificate
    constraints: tuple[ConstraintCost, ...] = ()

    @property
    def is_constrained(self) -> bool:
        """Whether constraints may cost partial nodes: Φ* may be above what there would be without any of them."""
        return self.inherent_partial_nodes > self.ideal_lower_bound

    @property
    def inherent(self) -> Bounds:
        """Both bounds of Φ*."""
        return Bounds(self.inherent_lower_bound, self.inherent_partial_nodes)

    def to_dict(self) -> dict[str, object]:
        """Return the pool's part of ``sifopt measure -o json``, certificates included."""
        return {
            "pool": self.pool,
            **Figures.to_dict(self),
            "certificate": self.certificate.to_json(),
            "ideal_certificate": self.ideal_certificate.to_json(),
            "constraints": [cost.to_dict() for cost in self.constraints],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Figures):
    """The figures of a whole snapshot: sums over its pools, and the pools themselves, sorted by name.

    Attributes
    ----------
    pool
        The only pool that was measured; None for all.
    pools
        What was measured of each.
    not_looked_at
        Constraints of their jobs that no figure takes into account (`Snapshot.not_looked_at`).
    """

    pool: str | None
    pools: tuple[PoolMeasurement, ...]
    not_looked_at: tuple[Skipped, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the content of ``sifopt measure -o json``."""
        return {
            "schema": SCHEMA,
            "pool": self.pool,
            **Figures.to_dict(self),
            "not_looked_at": overlooked_json(self.not_looked_at),
            "pools": [pool.to_dict() for pool in self.pools],
        }


def measure(
    snapshot: Snapshot, *, time_limit: float | None = None, pool: str | None = None, constraints: bool = True
) -> Measurement:
    """Measure a snapshot: how many nodes are partial, and how many of those need not be.

    Everything but the solver is linear in nodes and instances.

    Parameters
    ----------
    snapshot
        The cluster.
    time_limit
        Seconds of wall time for all pools together; None for as long as it takes. What is not settled by then has
        status UNKNOWN. At 0 no solver is called.
    pool
        Measure this pool only.
    constraints
        Whether to say what each sort of constraint costs, in the time that is left when all else is known.

    Raises
    ------
    UnknownPoolError
        `pool` has no node in the snapshot.
    """
    deadline = Deadline(time_limit)
    check_pool(pool, snapshot)
    contents = snapshot.contents
    if pool is not None:
        contents = {pool: contents[pool]}
    known = PoolOptima(snapshot, deadline, contents, prefer_empty=True).known
    pools = [_measure_pool(name, nodes, known[name], deadline) for name, nodes in contents.items()]
    if constraints:
        pools = [
            replace(one, constraints=constraint_costs(snapshot, one.pool, one.inherent, deadline))
            if one.is_constrained
            else one
            for one in pools
        ]
    return add_up(pools, pool=pool, not_looked_at=overlooked(snapshot, pool))


def _measure_pool(
    pool: str, contents: Sequence[NodeContent], inherent: PoolOptimum, deadline: Deadline
) -> PoolMeasurement:
    constrained, ideal = constrained_problem(contents), ideal_problem(contents)
    best = inherent
    if ideal.problem != constrained.problem:
        best = solve_pool(ideal.problem, start=ideal.current, time_limit=deadline.seconds_left, prefer_empty=False)
    return figures_of(pool, contents, inherent, best)


def figures_of(pool: str, contents: Sequence[NodeContent], inherent: PoolOptimum, best: PoolOptimum) -> PoolMeasurement:
    """Return the figures of a pool with these nodes, given its two optima: the ideal one is the `best`."""
    partial_nodes = sum(0 < node.used < node.capacity for node in contents)
    instances = Counter(gpus for node in contents for gpus in (*node.immovable, *map(gpus_of, node.movable)))
    need = _wcc_need(instances)
    free = [node.capacity - node.used for node in contents if node.takes_instances and not node.exhausted]
    avoidable = partial_nodes - inherent.partial_nodes
    return PoolMeasurement(
        pool=pool,
        nodes=len(contents),
        gpus=sum(node.capacity for node in contents),
        used_gpus=sum(node.used for node in contents),
        free_gpus=sum(free),
        instances=dict(sorted(instances.items())),
        partial_nodes=partial_nodes,
        inherent_partial_nodes=inherent.partial_nodes,
        inherent_lower_bound=inherent.lower_bound,
        ideal_partial_nodes=best.partial_nodes,
        ideal_lower_bound=best.lower_bound,
        avoidable_partial_nodes=avoidable,
        sif=_sif(avoidable, len(contents)),
        empty_nodes=sum(node.used == 0 < node.capacity for node in contents),
        empty_nodes_after=inherent.empty_nodes,
        empty_nodes_after_status=inherent.empty_nodes_status,
        full_nodes=sum(node.used >= node.capacity > 0 for node in contents),
        unschedulable_nodes=sum(not node.schedulable for node in contents),
        largest_free_block=max(free, default=0),
        overcommitted=tuple(sorted(node.name for node in contents if node.overcommitted)),
        wcc=need <= instances[1],
        wcc_supply=instances[1],
        wcc_need=need,
        status=_all_settled([inherent.status, best.status]),
        certificate=inherent.certificate,
        ideal_certificate=best.certificate,
    )


def add_up(
    pools: Sequence[PoolMeasurement], *, pool: str | None, not_looked_at: tuple[Skipped, ...] = ()
) -> Measurement:
    """Return the figures of pools together; `pool` is the only one that was asked about, None for all."""
    instances: Counter[int] = Counter()
    for one in pools:
        instances.update(one.instances)
    nodes = sum(one.nodes for one in pools)
    avoidable = sum(one.avoidable_partial_nodes for one in pools)
    return Measurement(
        nodes=nodes,
        gpus=sum(one.gpus for one in pools),
        used_gpus=sum(one.used_gpus for one in pools),
        free_gpus=sum(one.free_gpus for one in pools),
        instances=dict(sorted(instances.items())),
        partial_nodes=sum(one.partial_nodes for one in pools),
        inherent_partial_nodes=sum(one.inherent_partial_nodes for one in pools),
        inherent_lower_bound=sum(one.inherent_lower_bound for one in pools),
        ideal_partial_nodes=sum(one.ideal_partial_nodes for one in pools),
        ideal_lower_bound=sum(one.ideal_lower_bound for one in pools),
        avoidable_partial_nodes=avoidable,
        sif=_sif(avoidable, nodes),
        empty_nodes=sum(one.empty_nodes for one in pools),
        empty_nodes_after=sum(one.empty_nodes_after for one in pools),
        empty_nodes_after_status=_all_settled([one.empty_nodes_after_status for one in pools]),
        full_nodes=sum(one.full_nodes for one in pools),
        unschedulable_nodes=sum(one.unschedulable_nodes for one in pools),
        largest_free_block=max((one.largest_free_block for one in pools), default=0),
        overcommitted=tuple(sorted(name for one in pools for name in one.overcommitted)),
        wcc=all(one.wcc for one in pools),
        wcc_supply=sum(one.wcc_supply for one in pools),
        wcc_need=sum(one.wcc_need for one in pools),
        status=_all_settled([one.status for one in pools]),
        pool=pool,
        pools=tuple(pools),
        not_looked_at=not_looked_at,
    )


def _wcc_need(instances: Mapping[int, int]) -> int:
    """Return the fillers that all instances of 2 GPUs or more together have room for in their slots."""
    return sum(count * ((1 << (demand - 1).bit_length()) - demand) for demand, count in instances.items() if demand > 1)


def _sif(avoidable: int, nodes: int) -> float:
    return avoidable / nodes if nodes else 0.0


def _all_settled(statuses: Iterable[Status]) -> Status:
    return Status.OPTIMAL if all(status is Status.OPTIMAL for status in statuses) else Status.UNKNOWN
