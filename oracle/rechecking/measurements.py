"""A stored measurement: its figures are counted again, its bounds recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from oracle.certificate import Certificate
from oracle.evidence import CertificateError
from oracle.measurement import UnknownPoolError, measure
from oracle.node_classes import constrained_problem, contents_by_pool, count_empty, ideal_problem
from oracle.rechecking.checks import NO_SNAPSHOT, Check, ResultError, compared, convert
from oracle.rechecking.enumeration import least_price
from oracle.rechecking.plans import check_inherent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.node_classes import NodeClass
    from oracle.snapshots.model import Snapshot

# Figures that `measure` counts without an optimum.
_COUNTED = (
    "nodes", "gpus", "used_gpus", "free_gpus", "instances", "partial_nodes", "empty_nodes", "full_nodes",
    "unschedulable_nodes", "largest_free_block", "overcommitted", "wcc", "wcc_supply", "wcc_need",
)  # fmt: skip

# Figures of all pools that are sums over them.
_SUMS = (
    "inherent_partial_nodes", "inherent_lower_bound", "ideal_partial_nodes", "ideal_lower_bound",
    "avoidable_partial_nodes", "empty_nodes_after",
)  # fmt: skip

_ABOUT = "the certificates are about this cluster"


class _Figures(msgspec.Struct):
    nodes: int
    partial_nodes: int
    inherent_partial_nodes: int
    inherent_lower_bound: int
    ideal_partial_nodes: int
    ideal_lower_bound: int
    avoidable_partial_nodes: int
    sif: float
    empty_nodes_after: int
    empty_nodes_after_status: str
    status: str

    def follow(self, claim: str) -> Check:
        """Return whether what is avoidable, and the statuses, follow from the other figures."""
        avoidable = self.partial_nodes - self.inherent_partial_nodes
        met = (self.inherent_lower_bound, self.ideal_lower_bound) == (
            self.inherent_partial_nodes,
            self.ideal_partial_nodes,
        )
        counted: dict[str, object] = {
            "avoidable_partial_nodes": avoidable,
            "sif": avoidable / self.nodes if self.nodes else 0.0,
            "status": "optimal" if met else "unknown",
        }
        return compared(claim, {name: getattr(self, name) for name in counted}, counted)


class _Pool(_Figures):
    pool: str
    certificate: dict[str, object]
    ideal_certificate: dict[str, object]


class _Measurement(_Figures):
    pools: tuple[_Pool, ...]


def check_measurement(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored measurement, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    told = convert(data, _Measurement)
    read = {pool.pool: (_read(pool.certificate), _read(pool.ideal_certificate)) for pool in told.pools}
    if len(read) < len(told.pools):
        raise ResultError("pools has one pool twice")
    if snapshot is None:
        yield Check("the figures are those of this cluster", None, NO_SNAPSHOT)
    else:
        about = _about(read, snapshot)
        yield about
        if not about.holds:
            return
        yield _counted(convert(data, dict[str, object]), snapshot, list(read))
    for pool in told.pools:
        yield from _pool(pool, *read[pool.pool])
    yield compared(
        "the totals are the sums",
        {name: getattr(told, name) for name in _SUMS},
        {name: sum(getattr(pool, name) for pool in told.pools) for name in _SUMS},
    )
    yield told.follow("what is avoidable in all follows from the bounds")
    settled = all(pool.empty_nodes_after_status == "optimal" for pool in told.pools)
    if told.empty_nodes_after_status != "unknown":
        holds = settled and told.empty_nodes_after_status == "optimal"
        yield Check("the empty nodes of all pools are as many as possible if those of each are", holds)


def _pool(told: _Pool, inherent: Certificate, ideal: Certificate) -> Iterator[Check]:
    for name, one, figures in (
        ("inherent", inherent, (told.inherent_lower_bound, told.inherent_partial_nodes)),
        ("ideal", ideal, (told.ideal_lower_bound, told.ideal_partial_nodes)),
    ):
        claim = f"pool {told.pool}: {name} partial nodes {figures[0]}..{figures[1]}"
        same = figures == (one.lower_bound, one.partial_nodes)
        detail = f"the certificate says {one.lower_bound}..{one.partial_nodes}"
        check = check_inherent(claim, one) if same else Check(claim, holds=False, detail=detail)
        yield check
        if check.holds is False:
            return
    yield told.follow(f"pool {told.pool}: what is avoidable follows from the bounds")
    yield from _empty(told, inherent)


def _empty(told: _Pool, inherent: Certificate) -> Iterator[Check]:
    problem = inherent.problem
    counted = count_empty(problem, inherent.packing)
    claim = f"pool {told.pool}: {told.empty_nodes_after} nodes can be empty then"
    yield Check(claim, counted == told.empty_nodes_after, "" if counted == told.empty_nodes_after else f"{counted} are")
    if told.empty_nodes_after_status == "unknown":
        return
    claim = f"pool {told.pool}: no more nodes can be empty then"
    if told.empty_nodes_after_status != "optimal":
        yield Check(claim, holds=False, detail=f"there is no status {told.empty_nodes_after_status!r}")
        return
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


def _about(read: Mapping[str, tuple[Certificate, Certificate]], snapshot: Snapshot) -> Check:
    contents = contents_by_pool(snapshot)
    if len(read) != 1 and sorted(read) != sorted(contents):
        return Check(_ABOUT, holds=False, detail="the pools are not those of the snapshot")
    for pool, (inherent, ideal) in read.items():
        if pool not in contents or (inherent.problem, ideal.problem) != (
            constrained_problem(contents[pool]).problem,
            ideal_problem(contents[pool]).problem,
        ):
            return Check(_ABOUT, holds=False, detail=f"pool {pool} has other nodes or instances")
    return Check(_ABOUT)


def _counted(told: dict[str, object], snapshot: Snapshot, pools: Sequence[str]) -> Check:
    claim = "the figures are those of this cluster"
    try:
        alone = pools[0] if len(pools) == 1 else None
        counted = measure(snapshot, time_limit=0, pool=alone).to_dict()
    except UnknownPoolError as error:
        return Check(claim, holds=False, detail=str(error))
    told_pools = {pool["pool"]: pool for pool in convert(told["pools"], list[dict[str, object]])}
    counted_pools = convert(counted["pools"], list[dict[str, object]])
    pairs = [(told, counted), *((told_pools[pool["pool"]], pool) for pool in counted_pools)]
    checks = [compared(claim, one, {name: other[name] for name in _COUNTED}) for one, other in pairs]
    return next((check for check in checks if not check.holds), checks[0])


def _read(data: object) -> Certificate:
    try:
        return Certificate.from_json(data)
    except CertificateError as error:
        raise ResultError(str(error)) from error
