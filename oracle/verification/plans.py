"""A stored plan: its moves are played, its bounds recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import UNSET

from compass_core.errors import CompassError
from oracle.moves.move import MoveError, MoveMode, protect
from oracle.moves.replay import replay
from oracle.optimum.certificate import Status
from oracle.optimum.interruption import BrokenOffError
from oracle.optimum.node_classes import constrained_problem
from oracle.optimum.proof import NEVER
from oracle.optimum.weights import ArgumentError, SolverProof
from oracle.planning.pool_part import part_of
from oracle.planning.result import Plan
from oracle.snapshots.model import RunningJob, Snapshot
from oracle.verification.checks import (
    BY_SOLVER,
    NO_SNAPSHOT,
    Check,
    check_certificate,
    check_interrupted,
    compared,
    partial_and_empty,
)
from oracle.verification.enumeration import least_price
from oracle.verification.frontiers import check_frontier
from oracle.verification.plan_bounds import PlanBounds, lightest_jobs
from oracle.verification.plan_file import read_plan
from oracle.verification.start import check_start
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oracle.optimum.certificate import Certificate
    from oracle.snapshots.model import NodeContent
    from oracle.verification.plan_file import PlanFile

_ABOUT = "the certificates are about this cluster"


def check_plan(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    """Yield the claims of a stored plan, checked.

    Raises
    ------
    ResultError
        The data have another form.
    """
    plan = read_plan(data)
    contents = None
    if snapshot is None:
        yield Check("the moves can be made, and the certificates are about this cluster", None, NO_SNAPSHOT)
    else:
        try:
            snapshot = protect(snapshot, plan.told.protected)
            contents = part_of(snapshot, plan.told.pool).snapshot.contents
        except CompassError as error:
            yield Check(_ABOUT, holds=False, detail=str(error))
            return
        about = _about(plan, contents)
        yield about
        if not about.holds:
            return
        yield _played(plan, snapshot)
    yield from check_start(plan.told.jobs_at_start, plan.moves, plan.stops, snapshot)
    proofs = list(_proofs(plan))
    yield from proofs
    yield from _figures(plan, data, snapshot)
    if any(proof.holds is False for proof in proofs):
        yield Check("the bounds of the plan", holds=False, detail="a certificate they rest on fails")
        return
    try:
        live = contents if plan.told.mode is MoveMode.LIVE else None
        bounds = PlanBounds.of(plan.proofs, live)
    except ArgumentError as error:
        yield Check("the bounds of the plan", holds=False, detail=str(error))
        return
    word = next((proof.detail for proof in proofs if proof.holds is None), "")
    yield from _PlanClaims(plan, bounds, word, snapshot).checks()
    if plan.told.frontier is not UNSET:
        yield check_frontier(plan)
    yield from check_interrupted(interrupted=plan.told.interrupted, settled=plan.told.settled)


def check_inherent(claim: str, certificate: Certificate) -> Iterator[Check]:
    """Yield whether a certificate of partial nodes proves what it says; a solver's word is tried in small pools."""
    yield _inherent(claim, certificate)
    if isinstance(certificate.argument, SolverProof):
        yield Check(f"{claim}: {certificate.argument.solver} said so", None, BY_SOLVER)


def _inherent(claim: str, certificate: Certificate) -> Check:
    check = check_certificate(claim, certificate)
    if check.holds is not None or not check.finished:
        return check
    problem = certificate.problem
    nodes = list(zip(problem.classes, problem.nodes, strict=True))
    try:
        fewest = least_price(nodes, problem.demands, lambda kind, load: int(kind.is_partial(load)))
    except BrokenOffError as error:
        return Check.broken_off(claim, error)
    if fewest is None:
        return check
    holds = certificate.lower_bound <= fewest
    return Check(claim, holds, "" if holds else f"a packing has {fewest}")


def _proofs(plan: PlanFile) -> Iterator[Check]:
    for pool, proof in plan.proofs.items():
        inherent, migrations = proof.inherent, proof.migrations
        yield from check_inherent(f"pool {pool}: at least {count(inherent.lower_bound, 'partial node')}", inherent)
        claim = (
            f"at most {count(migrations.max_partial_nodes, 'partial node', 'take')} "
            f"{count(migrations.lower_bound, 'migration')} or more"
        )
        yield check_certificate(f"pool {pool}: {claim}", migrations)
        if migrations.problem != inherent.problem:
            yield Check(f"pool {pool}: both certificates are about the same pool", holds=False)


def _figures(plan: PlanFile, data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    told = plan.told
    written = Plan(
        snapshot=snapshot or _any_snapshot(told.weights),
        asked=told.asked,
        mode=told.mode,
        moves=tuple(sorted(plan.moves)),
        stops=tuple(sorted(plan.stops)),
        partial_nodes_before=told.partial_nodes_before,
        partial_nodes_after=told.partial_nodes_after,
        empty_nodes_before=told.empty_nodes_before,
        empty_nodes_after=told.empty_nodes_after,
        partial_nodes_lower_bound=told.partial_nodes_lower_bound,
        migrations_lower_bound=told.migrations_lower_bound,
        jobs_disturbed_lower_bound=told.jobs_disturbed_lower_bound,
        disturbance=_weight(plan),
        disturbance_lower_bound=told.disturbance_lower_bound or 0,
        interrupted=told.interrupted,
        evidence=(),
    ).to_dict()
    # The status has a check of its own, and so has what ran.
    apart = ("certificate", "frontier", "frontier_mode", "jobs_at_start", "status")
    stored = {name: value for name, value in cast("dict[str, object]", data).items() if name not in apart}
    yield compared("the numbers of moves, jobs, stops and GPUs, and all orders, are those of the list", stored, written)
    kept = (
        ("max_migrations", told.max_migrations, told.migrations),
        ("max_jobs_disturbed", told.max_jobs_disturbed, told.jobs_disturbed),
        # A live plan comes as near as live moves do.
        ("max_partial_nodes", None if told.mode is MoveMode.LIVE else told.max_partial_nodes, told.partial_nodes_after),
    )
    broken = [
        f"{name} is {limit}, the plan has {has}" for name, limit, has in kept if limit is not None and has > limit
    ]
    try:
        told.asked.check(snapshot or _any_snapshot(told.weights))
    except (CompassError, ValueError) as error:
        broken.append(str(error))
    yield Check("the plan keeps its limits", not broken, "; ".join(broken))


def _weight(plan: PlanFile) -> int:
    """Return the weight of the jobs that a plan disturbs."""
    return sum(plan.told.weights.get(job, 1) for job in {move.job for move in plan.moves})


def _any_snapshot(jobs: Iterable[str]) -> Snapshot:
    """Return what stands for a snapshot where none was given: one in which these jobs run."""
    return Snapshot.build(nodes=[], jobs=[RunningJob(name=name, instances=()) for name in jobs])


def _about(plan: PlanFile, contents: Mapping[str, tuple[NodeContent, ...]]) -> Check:
    if sorted(contents) != sorted(plan.proofs):
        return Check(_ABOUT, holds=False, detail="the pools are not those of the snapshot")
    for pool, nodes in contents.items():
        placed = constrained_problem(nodes)
        proof = plan.proofs[pool]
        same = proof.inherent.problem == proof.migrations.problem == placed.problem
        if not same or proof.migrations.present != placed.current:
            return Check(_ABOUT, holds=False, detail=f"pool {pool} has other nodes or instances")
    return Check(_ABOUT)


def _played(plan: PlanFile, snapshot: Snapshot) -> Check:
    told = plan.told
    claim = f"the moves can be made in order and lead to {count(told.partial_nodes_after, 'partial node')}"
    if told.mode is MoveMode.LIVE and plan.stops:
        return Check(claim, holds=False, detail="a live plan stops nothing")
    if any(stop.before_step < 1 for stop in plan.stops):
        return Check(claim, holds=False, detail="steps count from 1")
    try:
        after = replay(snapshot, plan.moves, plan.stops, max_per_job_at_once=told.max_per_job_at_once)
    except MoveError as error:
        return Check(claim, holds=False, detail=str(error))
    pool_of = {node.name: node.pool for node in snapshot.nodes}
    if told.pool is not None and any(pool_of[move.destination] != told.pool for move in plan.moves):
        return Check(claim, holds=False, detail=f"an instance outside pool {told.pool} moves")
    names = ("partial_nodes_before", "empty_nodes_before", "partial_nodes_after", "empty_nodes_after")
    counted = (*partial_and_empty(snapshot, told.pool), *partial_and_empty(after, told.pool))
    return compared(claim, {name: getattr(told, name) for name in names}, dict(zip(names, counted, strict=True)))


class _PlanClaims:
    """The bounds that a plan tells, against those that its evidence proves."""

    def __init__(self, plan: PlanFile, bounds: PlanBounds, word: str, snapshot: Snapshot | None) -> None:
        self._plan = plan
        self._told = plan.told
        self._bounds = bounds
        # Why what the certificates prove is not recomputed; empty if it is.
        self._word = word
        self._snapshot = snapshot
        self._limit = max(self._told.partial_nodes_after, self._told.max_partial_nodes or 0)

    def checks(self) -> Iterator[Check]:
        """Yield the claims."""
        yield self._fewest_partial()
        yield self._fewest_moves()
        yield from self._fewest_jobs()
        yield self._status()

    def _fewest_partial(self) -> Check:
        told, bound = self._told, self._told.partial_nodes_lower_bound
        claim = f"at least {count(bound, 'partial node')}"
        if told.max_migrations is not None:
            claim += f" after at most {count(told.max_migrations, 'move')}"
        asked = told.max_partial_nodes if told.mode is MoveMode.LIVE else None
        if asked is not None:
            claim += f", or no more than the {asked} asked for"
        if not 0 <= bound <= told.partial_nodes_after:
            return Check(claim, holds=False, detail=f"the plan leaves {told.partial_nodes_after}")
        if bound <= max(self._bounds.fewest, asked or 0):
            return self._proved(claim)
        moves = self._bounds.moves_to(bound - 1)
        if moves > (NEVER - 1 if told.max_migrations is None else told.max_migrations):
            return self._proved(claim)
        if told.mode is MoveMode.CHECKPOINT and told.max_migrations is None and told.max_jobs_disturbed is None:
            return Check(claim, holds=False, detail=f"the certificates prove {self._bounds.fewest}")
        return Check(claim, None, f"{self._search()}; the certificates prove {self._bounds.fewest} for any plan")

    def _fewest_moves(self) -> Check:
        told = self._told
        claim = (
            f"at most {count(self._limit, 'partial node', 'take')} at least "
            f"{count(told.migrations_lower_bound, 'move')}"
        )
        if not 0 <= told.migrations_lower_bound <= told.migrations:
            return Check(claim, holds=False, detail=f"the plan has {told.migrations}")
        if told.migrations_lower_bound > 0 and self._limit >= told.partial_nodes_before:
            return Check(claim, holds=False, detail=f"without a move there are {told.partial_nodes_before}")
        lower = self._bounds.moves_to(self._limit)
        if told.migrations_lower_bound <= lower:
            return self._proved(claim)
        return Check(claim, None, f"{self._search()}; the certificates prove {lower}")

    def _fewest_jobs(self) -> Iterator[Check]:
        told = self._told
        bounds = (
            (None, told.jobs_disturbed_lower_bound, told.jobs_disturbed),
            (told.weights, told.disturbance_lower_bound, _weight(self._plan)),
        )
        for weights, bound, attained in bounds:
            if bound is None:
                continue
            jobs = f"at least {count(bound, 'job')}" if weights is None else f"jobs of weight {bound} at least"
            claim = f"every plan as good disturbs {jobs}"
            if not 0 <= bound <= attained:
                yield Check(claim, holds=False, detail=f"the plan disturbs {attained}")
            elif bound == 0:
                yield Check(claim)
            elif self._snapshot is None:
                yield Check(claim, None, NO_SNAPSHOT)
            else:
                moving = self._bounds.relocations_to(told.partial_nodes_after)
                enough = lightest_jobs(self._snapshot, self._plan.proofs, weights, moving)
                detail = f"rests on a search; the instances that have to move are of at least {enough}"
                yield self._proved(claim) if bound <= enough else Check(claim, None, detail)

    def _status(self) -> Check:
        told = self._told
        claim = f"the status {told.status.value!r} follows from the bounds"
        reached = told.max_partial_nodes is not None and told.mode is MoveMode.CHECKPOINT
        fewest = reached or told.partial_nodes_after == told.partial_nodes_lower_bound
        settled = fewest and told.migrations == told.migrations_lower_bound
        follows = (told.status is Status.OPTIMAL) is settled
        return Check(claim, follows, "" if follows else f"they {'meet' if settled else 'do not meet'}")

    def _proved(self, claim: str) -> Check:
        return Check(claim, None, self._word) if self._word else Check(claim)

    def _search(self) -> str:
        if self._told.mode is MoveMode.LIVE and self._snapshot is None:
            return NO_SNAPSHOT
        if self._bounds.untried is not None:
            return f"rests on a search among more placements of pool {self._bounds.untried} than are tried again"
        return "rests on a search"
