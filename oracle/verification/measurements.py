"""A stored measurement: its bounds are recomputed, and with them all figures are measured again and compared whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from msgspec import UNSET, UnsetType

from oracle.measurement.constraints import relaxed
from oracle.measurement.measure import Figures, add_up, figures_of
from oracle.moves.pool_part import part_of
from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.exact import PoolOptimum
from oracle.optimum.node_classes import constrained_problem, count_empty, ideal_problem
from oracle.snapshots.model import UnknownPoolError
from oracle.verification.certificates import ABOUT, check_about, check_inherent, read_certificate
from oracle.verification.checks import BY_SOLVER, LEFT_OUT, NO_SNAPSHOT, Check, ResultError, compared, convert
from oracle.verification.domains import ToldDomains, check_domains
from oracle.verification.enumeration import least_price
from oracle.verification.overlooked import ToldOverlooked, check_overlooked
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.measurement.constraints import Relaxed
    from oracle.measurement.measure import PoolMeasurement
    from oracle.optimum.node_classes import PackingProblem
    from oracle.snapshots.model import NodeContent, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    constraint: str
    partial_nodes: int
    partial_nodes_at_most: int
    certificate: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool(Figures):
    pool: str
    certificate: dict[str, object]
    ideal_certificate: dict[str, object]
    constraints: tuple[_Cost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measurement(Figures):
    schema: str
    pool: str | None = None
    pools: tuple[_Pool, ...]
    domains: ToldDomains | UnsetType = UNSET
    not_looked_at: tuple[ToldOverlooked, ...] | UnsetType = UNSET


def _optima(told: _Pool) -> tuple[PoolOptimum, PoolOptimum]:
    """Return the inherent and the ideal optimum of a pool as they were stored, whatever they prove."""
    inherent = _optimum(told.certificate, told.empty_nodes_after_status)
    return inherent, _optimum(told.ideal_certificate, Status.UNKNOWN)


def _optimum(data: object, empty_status: Status) -> PoolOptimum:
    found = read_certificate(Certificate, data)
    try:
        empty = count_empty(found.problem, found.packing)
    except IndexError as error:
        raise ResultError(str(error)) from error
    return PoolOptimum(certificate=found, empty_nodes=empty, empty_nodes_status=empty_status)


def check_measurement(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored measurement, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told = convert(data, _Measurement)
    read = {pool.pool: _optima(pool) for pool in told.pools}
    without = {pool.pool: _without(pool) for pool in told.pools}
    if len(read) < len(told.pools):
        raise ResultError("pools has one pool twice")
    contents: Mapping[str, Sequence[NodeContent]] = {}
    if snapshot is not None:
        try:
            contents = part_of(snapshot, told.pool).snapshot.contents
        except UnknownPoolError as error:
            yield Check.of(ABOUT, str(error))
            return
        about = check_about(
            {pool: tuple(optimum.certificate.problem for optimum in optima) for pool, optima in read.items()},
            {pool: (constrained_problem(one).problem, ideal_problem(one).problem) for pool, one in contents.items()},
        )
        yield about
        if not about.holds:
            return
    for pool in told.pools:
        yield from _pool(pool, *read[pool.pool])
        if snapshot is not None and not snapshot.kinds_are_exact(pool.pool):
            yield _can_be_had(pool)
        yield from _freed(pool.pool, without[pool.pool])
    yield from _figures(
        told,
        cast("dict[str, object]", data),
        snapshot,
        {pool: (contents[pool], read[pool]) for pool in contents},
        without,
    )
    yield from check_overlooked(told.not_looked_at, snapshot, told.pool)
    if snapshot is not None and told.domains is not UNSET:
        yield from check_domains(told.domains, snapshot, told.pool)


def _figures(
    told: _Measurement,
    data: Mapping[str, object],
    snapshot: Snapshot | None,
    solved: Mapping[str, tuple[Sequence[NodeContent], tuple[PoolOptimum, PoolOptimum]]],
    without: Mapping[str, Mapping[str, Certificate]],
) -> Iterator[Check]:
    """Yield whether all figures are those of the cluster, given its nodes and what the certificates prove."""
    claim = "the figures are those of this cluster"
    if snapshot is None:
        yield Check.of(claim, unknown=NO_SNAPSHOT)
        return
    pools: list[PoolMeasurement] = []
    for pool, (nodes, optima) in solved.items():
        figures = figures_of(pool, nodes, *optima)
        freed = list(relaxed(snapshot, pool)) if figures.is_constrained else []
        about = _about_constraints(pool, without[pool], freed)
        if not about.holds:
            yield about
            return
        costs = tuple(one.cost(figures.inherent, without[pool][one.constraint]) for one in freed)
        pools.append(replace(figures, constraints=costs))
    stored = {name: value for name, value in data.items() if name not in {"domains", "not_looked_at"}}
    yield compared(f"{claim} and these certificates", stored, add_up(pools, pool=told.pool).to_dict())


def _without(told: _Pool) -> dict[str, Certificate]:
    """Return the certificate of each optimum without one sort of constraint as it was stored."""
    found = {cost.constraint: read_certificate(Certificate, cost.certificate) for cost in told.constraints}
    if len(found) < len(told.constraints):
        raise ResultError(f"constraints of pool {told.pool} has one constraint twice")
    return found


def _freed(pool: str, without: Mapping[str, Certificate]) -> Iterator[Check]:
    for constraint, one in without.items():
        claim = f"pool {pool}: without {constraint} partial nodes {one.lower_bound}..{one.partial_nodes}"
        yield from check_inherent(claim, one)


def _about_constraints(pool: str, told: Mapping[str, Certificate], freed: Sequence[Relaxed]) -> Check:
    """Return whether the certificates without a constraint are about the constraints, and the pool, of the cluster."""
    claim = f"pool {pool}: what constraints cost is told of those there are"
    there = [one.constraint for one in freed]
    if list(told) != there:
        return Check.of(claim, f"they are {', '.join(there) or 'none'}, not {', '.join(told) or 'none'}")
    others = (one.constraint for one in freed if told[one.constraint].problem != one.placed.problem)
    return Check.of(claim, "".join(f"without {name} there are other nodes or instances" for name in others))


def _can_be_had(told: _Pool) -> Check:
    claim = f"pool {told.pool}: {count(told.inherent_partial_nodes, 'partial node')} can be had"
    return Check.of(claim, unknown="" if told.inherent_partial_nodes == told.partial_nodes else LEFT_OUT)


def _pool(told: _Pool, inherent: PoolOptimum, ideal: PoolOptimum) -> Iterator[Check]:
    for name, one, figures in (
        ("inherent", inherent.certificate, (told.inherent_lower_bound, told.inherent_partial_nodes)),
        ("ideal", ideal.certificate, (told.ideal_lower_bound, told.ideal_partial_nodes)),
    ):
        claim = f"pool {told.pool}: {name} partial nodes {figures[0]}..{figures[1]}"
        if figures != (one.lower_bound, one.partial_nodes):
            yield Check.of(claim, f"the certificate says {one.lower_bound}..{one.partial_nodes}")
            return
        checks = list(check_inherent(claim, one))
        yield from checks
        if any(check.holds is False for check in checks):
            return
    if told.empty_nodes_after_status is Status.OPTIMAL:
        yield _most_empty(told.pool, inherent)


def _most_empty(pool: str, inherent: PoolOptimum) -> Check:
    problem, counted = inherent.certificate.problem, inherent.empty_nodes
    claim = f"pool {pool}: no more than {count(counted, 'node')} can be empty then"
    most = most_empty(problem, inherent.partial_nodes)
    if most is not None and counted >= most:
        return Check(claim)
    price = sum(problem.nodes) + 1
    least = least_price(problem, lambda kind, load: price * kind.is_partial(load) - kind.is_empty(load))
    if least is None:
        return Check.of(claim, unknown=BY_SOLVER)
    return Check.of(claim, "" if least == price * inherent.partial_nodes - counted else "another packing has more")


def most_empty(problem: PackingProblem, partial: int) -> int | None:
    """Return a number of empty nodes that no packing with so many partial nodes exceeds.

    Only where all nodes are alike and nothing is immovable: a full node takes `capacity` GPUs, a partial one less.
    None elsewhere.
    """
    if len(problem.classes) != 1:
        return None
    (kind,), (count,) = problem.classes, problem.nodes
    if kind.held or kind.own or not kind.capacity or kind.room != kind.capacity:
        return None
    in_partial = partial * (kind.capacity - 1)
    full = max(0, -(-(problem.movable_gpus - in_partial) // kind.capacity))
    return count - partial - full if problem.movable_gpus else count
