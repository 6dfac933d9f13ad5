"""A stored measurement: its bounds are recomputed, and with them all figures are measured again and compared whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from msgspec import UNSET, UnsetType

from oracle.measurement.measure import Figures, add_up, figures_of
from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.exact import PoolOptimum
from oracle.optimum.node_classes import constrained_problem, count_empty, ideal_problem
from oracle.planning.pool_part import part_of
from oracle.snapshots.model import UnknownPoolError
from oracle.verification.certificates import ABOUT, check_about, check_inherent, read_certificate
from oracle.verification.checks import BY_SOLVER, NO_SNAPSHOT, Check, ResultError, compared, convert
from oracle.verification.domains import ToldDomains, check_domains
from oracle.verification.enumeration import least_price
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.optimum.node_classes import PackingProblem
    from oracle.snapshots.model import NodeContent, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool(Figures):
    pool: str
    certificate: dict[str, object]
    ideal_certificate: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measurement(Figures):
    schema: str
    pool: str | None = None
    pools: tuple[_Pool, ...]
    domains: ToldDomains | UnsetType = UNSET


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
    claim = "the figures are those of this cluster"
    if snapshot is None:
        yield Check.of(claim, unknown=NO_SNAPSHOT)
        return
    measured = add_up([figures_of(pool, nodes, *read[pool]) for pool, nodes in contents.items()], pool=told.pool)
    stored = {name: value for name, value in cast("dict[str, object]", data).items() if name != "domains"}
    yield compared(f"{claim} and these certificates", stored, measured.to_dict())
    if told.domains is not UNSET:
        yield from check_domains(told.domains, snapshot, told.pool)


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
