"""The frontier of a stored plan: each of its points is attained by stored plans and bounded by stored arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from oracle.optimum.evidence import CertificateError
from oracle.optimum.node_classes import count_partial
from oracle.optimum.weights import ArgumentError
from oracle.planning.frontier_evidence import all_pools
from oracle.planning.result import FRONTIER_MODE
from oracle.verification.checks import BY_SOLVER, Check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.planning.frontier_evidence import PoolFrontier
    from oracle.verification.plan_file import PlanFile, Point


def check_frontier(plan: PlanFile) -> Check:
    """Return whether the points of the frontier are attained and proved."""
    told = plan.told
    points = told.frontier or ()
    claim = f"the {len(points)} points of the frontier of {FRONTIER_MODE.value} moves"
    if plan.frontier is None:
        return Check(claim, None, "they bring no evidence")
    if told.frontier_mode is UNSET and told.mode is not FRONTIER_MODE:
        return Check(claim, None, f"whether they are of {told.mode.value} moves is not said")
    return _attained_and_proved(plan, points, plan.frontier, claim)


def _attained_and_proved(
    plan: PlanFile, points: Sequence[Point], frontier: Sequence[PoolFrontier], claim: str
) -> Check:
    wrong = _misfit(plan, points, frontier)
    if wrong:
        return Check(claim, holds=False, detail=wrong)
    evidence = {one.pool: one for one in frontier}
    pools = [(evidence[pool], proof) for pool, proof in plan.proofs.items()]
    try:
        attained = [one.attained(proof.placed, proof.inherent.partial_nodes) for one, proof in pools]
        proved = all_pools([one.proved(proof.placed, proof.inherent.lower_bound) for one, proof in pools])
    except (ArgumentError, CertificateError) as error:
        return Check(claim, holds=False, detail=str(error))
    stored = [costs for costs in attained if costs is not None]
    most = all_pools(stored).tolist() if len(stored) == len(attained) else None
    least = proved[-len(points) :].tolist()
    unproved = ""
    for i, point in enumerate(reversed(points)):
        what = f"{point.partial_nodes} partial nodes"
        if point.lower_bound > point.migrations:
            return Check(claim, holds=False, detail=f"{what}: the bound is above what is attained")
        if most is not None and point.migrations != most[i]:
            return Check(claim, holds=False, detail=f"{what}: the cheapest of the plans take {most[i]} migrations")
        if point.lower_bound > least[i]:
            unproved = f"{what}: rests on a search; the arguments prove {least[i]}"
    if most is None:
        unproved = "the plans that attain them are too many to be stored"
    if not all(proof.inherent.recheckable for _, proof in pools):
        unproved = BY_SOLVER
    return Check(claim, None if unproved else True, unproved)


def _misfit(plan: PlanFile, points: Sequence[Point], evidence: Sequence[PoolFrontier]) -> str:
    """Return why points and evidence are not those of the plan; empty if they are."""
    if sorted(one.pool for one in evidence) != sorted(plan.proofs):
        return "the pools are not those of the plan"
    now = {pool: count_partial(proof.placed.problem, proof.placed.current) for pool, proof in plan.proofs.items()}
    if any(proof.inherent.partial_nodes > now[pool] for pool, proof in plan.proofs.items()):
        return "a pool has fewer partial nodes now"
    last = sum(proof.inherent.partial_nodes for proof in plan.proofs.values())
    first = sum(now.values())
    steps = [first - point.partial_nodes for point in points]
    if steps != list(range(len(points))) or len(points) != first - last + 1:
        return f"they do not go from {first} down to {last}"
    return ""
