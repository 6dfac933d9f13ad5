"""The frontier of a stored plan: its points are attained by stored plans and bounded by stored arguments.

Costs never rise along the limits, so limits in between need no evidence of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from oracle.optimum.evidence import CertificateError
from oracle.optimum.limits import together
from oracle.optimum.node_classes import count_partial
from oracle.optimum.weights import ArgumentError
from oracle.planning.frontier import FRONTIER_MODE
from oracle.verification.checks import BY_SOLVER, LEFT_OUT, Check
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.planning.frontier import PoolFrontier
    from oracle.verification.plan_file import PlanFile, Point


def check_frontier(plan: PlanFile, *, exact: bool) -> Check:
    """Return whether the points of the frontier are attained and proved.

    Parameters
    ----------
    plan
        The stored plan.
    exact
        Whether it is known that all that the kinds of its pools allow can be had.
    """
    told = plan.told
    points = told.frontier or ()
    claim = f"the {count(len(points), 'point')} of the frontier of {FRONTIER_MODE.value} moves"
    between = points[0].partial_nodes - points[-1].partial_nodes + 1 - len(points) if points else 0
    if between > 0:
        claim += f", and so the {count(between, 'limit')} between them"
    if plan.frontier is None:
        return Check(claim, None, "they bring no evidence")
    if told.frontier_mode is UNSET and told.mode is not FRONTIER_MODE:
        return Check(claim, None, f"whether they are of {told.mode.value} moves is not said")
    return _attained_and_proved(plan, points, plan.frontier, claim, exact=exact)


def _attained_and_proved(
    plan: PlanFile, points: Sequence[Point], frontier: Sequence[PoolFrontier], claim: str, *, exact: bool
) -> Check:
    wrong = _misfit(plan, points, frontier)
    if wrong:
        return Check(claim, holds=False, detail=wrong)
    evidence = {one.pool: one for one in frontier}
    pools = [(evidence[pool], proof) for pool, proof in plan.proofs.items()]
    try:
        attained = [one.attained(proof.placed, proof.inherent.partial_nodes) for one, proof in pools]
        proved = together([one.proved(proof.placed, proof.inherent) for one, proof in pools])
    except (ArgumentError, CertificateError) as error:
        return Check(claim, holds=False, detail=str(error))
    stored = [costs for costs in attained if costs is not None]
    most = together(stored) if len(stored) == len(attained) else None
    today = points[0].partial_nodes
    unproved = ""
    for point in points:
        # Both tables end at the partial nodes of today.
        at = point.partial_nodes - today - 1
        what = count(point.partial_nodes, "partial node")
        if point.lower_bound > point.migrations:
            return Check(claim, holds=False, detail=f"{what}: the bound is above what is attained")
        if most is not None and not exact and point.migrations > most[at]:
            # Where kinds leave something out, instances that kinds take for alike may have changed places.
            unproved = f"{what}: {LEFT_OUT}"
        elif most is not None and point.migrations != most[at]:
            taken = count(most[at], "migration")
            return Check(claim, holds=False, detail=f"{what}: the cheapest of the plans takes {taken}")
        if point.lower_bound > proved[at]:
            unproved = f"{what}: rests on a search; the arguments prove {proved[at]}"
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
    limits = [point.partial_nodes for point in points]
    if limits != sorted(set(limits), reverse=True) or limits[:1] + limits[-1:] != [first, last]:
        return f"they do not go from {first} down to {last}"
    return ""
