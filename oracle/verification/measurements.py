"""A stored measurement: its bounds are recomputed, and with them all figures are measured again and compared whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec
from msgspec import UNSET, UnsetType

from oracle.measurement.measure import UnknownPoolError, add_up, figures_of
from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.evidence import CertificateError
from oracle.optimum.exact import PoolOptimum
from oracle.optimum.node_classes import constrained_problem, count_empty, ideal_problem
from oracle.planning.pool_part import part_of
from oracle.verification.checks import NO_SNAPSHOT, Check, ResultError, compared, convert
from oracle.verification.domains import ToldDomains, check_domains
from oracle.verification.enumeration import least_price
from oracle.verification.plans import check_inherent
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.optimum.node_classes import NodeClass
    from oracle.snapshots.model import NodeContent, Snapshot

_ABOUT = "the certificates are about this cluster"


class _Figures(msgspec.Struct, kw_only=True):
    nodes: int
    gpus: int
    used_gpus: int
    free_gpus: int
    instances: dict[str, int]
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


class _Pool(_Figures, kw_only=True):
    pool: str
    certificate: dict[str, object]
    ideal_certificate: dict[str, object]


class _Measurement(_Figures, kw_only=True):
    schema: str
    pool: str | None = None
    pools: tuple[_Pool, ...]
    domains: ToldDomains | UnsetType = UNSET


class _Optima:
    """The two optima of a pool as they were stored."""

    def __init__(self, told: _Pool) -> None:
        self.inherent = _optimum(told.certificate, told.empty_nodes_after_status)
        self.ideal = _optimum(told.ideal_certificate, Status.UNKNOWN)


def _optimum(data: object, empty_status: Status) -> PoolOptimum:
    try:
        found = Certificate.from_json(data)
        return PoolOptimum(
            certificate=found,
            empty_nodes=count_empty(found.problem, found.packing),
            empty_nodes_status=empty_status,
        )
    except (CertificateError, IndexError) as error:
        raise ResultError(str(error)) from error


def check_measurement(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored measurement, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told = convert(data, _Measurement)
    read = {pool.pool: _Optima(pool) for pool in told.pools}
    if len(read) < len(told.pools):
        raise ResultError("pools has one pool twice")
    contents: Mapping[str, Sequence[NodeContent]] = {}
    if snapshot is not None:
        try:
            contents = part_of(snapshot, told.pool).snapshot.contents
        except UnknownPoolError as error:
            yield Check(_ABOUT, holds=False, detail=str(error))
            return
        about = _about(read, contents)
        yield about
        if not about.holds:
            return
    for pool in told.pools:
        yield from _pool(pool, read[pool.pool])
    if snapshot is None:
        yield Check("the figures are those of this cluster", None, NO_SNAPSHOT)
        return
    measured = add_up(
        [figures_of(pool, nodes, read[pool].inherent, read[pool].ideal) for pool, nodes in contents.items()],
        pool=told.pool,
    )
    stored = {name: value for name, value in cast("dict[str, object]", data).items() if name != "domains"}
    yield compared("the figures are those of this cluster and these certificates", stored, measured.to_dict())
    if told.domains is not UNSET:
        yield from check_domains(told.domains, snapshot, told.pool)


def _pool(told: _Pool, optima: _Optima) -> Iterator[Check]:
    for name, one, figures in (
        ("inherent", optima.inherent.certificate, (told.inherent_lower_bound, told.inherent_partial_nodes)),
        ("ideal", optima.ideal.certificate, (told.ideal_lower_bound, told.ideal_partial_nodes)),
    ):
        claim = f"pool {told.pool}: {name} partial nodes {figures[0]}..{figures[1]}"
        if figures != (one.lower_bound, one.partial_nodes):
            yield Check(claim, holds=False, detail=f"the certificate says {one.lower_bound}..{one.partial_nodes}")
            return
        checks = list(check_inherent(claim, one))
        yield from checks
        if any(check.holds is False for check in checks):
            return
    yield from _empty(told, optima.inherent.certificate)


def _empty(told: _Pool, inherent: Certificate) -> Iterator[Check]:
    if told.empty_nodes_after_status is Status.UNKNOWN:
        return
    problem = inherent.problem
    counted = count_empty(problem, inherent.packing)
    claim = f"pool {told.pool}: no more than {count(counted, 'node')} can be empty then"
    nodes = list(zip(problem.classes, problem.nodes, strict=True))
    most = most_empty(nodes, problem.movable_gpus, inherent.partial_nodes)
    if most is not None and counted >= most:
        yield Check(claim)
        return
    price = sum(problem.nodes) + 1

    def cost(kind: NodeClass, load: int) -> int:
        return price * kind.is_partial(load) - kind.is_empty(load)

    least = least_price(nodes, problem.demands, cost)
    if least is None:
        yield Check(claim, None, "rests on the word of a solver")
        return
    holds = least == price * inherent.partial_nodes - counted
    yield Check(claim, holds, "" if holds else "another packing has more")


def most_empty(nodes: Sequence[tuple[NodeClass, int]], gpus: int, partial: int) -> int | None:
    """Return a number of empty nodes that no packing with so many partial nodes exceeds.

    Only where all nodes are alike and nothing is immovable: a full node takes `capacity` GPUs, a partial one less.
    None elsewhere.
    """
    if len(nodes) != 1:
        return None
    ((kind, count),) = nodes
    if kind.held or kind.own or not kind.capacity or kind.room != kind.capacity:
        return None
    in_partial = partial * (kind.capacity - 1)
    full = max(0, -(-(gpus - in_partial) // kind.capacity))
    return count - partial - full if gpus else count


def _about(read: Mapping[str, _Optima], contents: Mapping[str, Sequence[NodeContent]]) -> Check:
    if sorted(read) != sorted(contents):
        return Check(_ABOUT, holds=False, detail="the pools are not those of the snapshot")
    for pool, optima in read.items():
        inherent, ideal = constrained_problem(contents[pool]).problem, ideal_problem(contents[pool]).problem
        if (optima.inherent.certificate.problem, optima.ideal.certificate.problem) != (inherent, ideal):
            return Check(_ABOUT, holds=False, detail=f"pool {pool} has other nodes or instances")
    return Check(_ABOUT)
