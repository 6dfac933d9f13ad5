"""A stored plan: its moves are played, its bounds recomputed, the rest is written again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from msgspec import UNSET

from compass_core.errors import CompassError
from oracle.moves.move import MoveError, MoveMode
from oracle.moves.pool_part import part_of
from oracle.optimum.certificate import Status
from oracle.optimum.node_classes import constrained_problem
from oracle.optimum.proof import NEVER
from oracle.optimum.weights import ArgumentError
from oracle.planning.result import Plan
from oracle.snapshots.model import RunningJob, Snapshot
from oracle.verification.certificates import ABOUT, check_about, check_certificate, check_inherent
from oracle.verification.checks import BY_SEARCH, NO_SNAPSHOT, Check, check_interrupted, compared
from oracle.verification.frontiers import check_frontier
from oracle.verification.overlooked import check_overlooked
from oracle.verification.plan_bounds import PlanBounds, lightest_jobs
from oracle.verification.plan_file import read_plan
from oracle.verification.stored_moves import check_start
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle.snapshots.model import NodeContent
    from oracle.verification.plan_file import PlanFile


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
        yield Check.of("the moves can be made, and the certificates are about this cluster", unknown=NO_SNAPSHOT)
    else:
        try:
            snapshot = plan.told.asked.spared(snapshot)
            contents = part_of(snapshot, plan.told.pool).snapshot.contents
        except CompassError as error:
            yield Check.of(ABOUT, str(error))
            return
        about = _about(plan, contents)
        yield about
        if not about.holds:
            return
        yield _played(plan, snapshot)
    yield from check_start(plan.told.jobs_at_start, plan.listed, snapshot)
    proofs = list(_proofs(plan))
    yield from proofs
    # Where there is no snapshot, the jobs that were given a weight are taken to run.
    jobs = [RunningJob(name=name, instances=()) for name in plan.told.weights]
    known = snapshot or Snapshot.build(nodes=[], jobs=jobs)
    written = _written(plan, known)
    # The status has a check of its own, and so have what ran and what was not looked at.
    apart = ("certificate", "frontier", "frontier_mode", "jobs_at_start", "not_looked_at", "status")
    stored = {name: value for name, value in cast("dict[str, object]", data).items() if name not in apart}
    yield from check_overlooked(plan.told.not_looked_at, snapshot, plan.told.pool)
    claim = "the numbers of moves, jobs, stops and GPUs, and all orders, are those of the list"
    yield compared(claim, stored, written.to_dict())
    yield Check.of("the plan keeps its limits", "; ".join(_broken_limits(plan, known)))
    claim = "the bounds of the plan"
    if any(proof.holds is False for proof in proofs):
        yield Check.of(claim, "a certificate they rest on fails")
        return
    try:
        bounds = PlanBounds.of(plan.proofs, contents if plan.told.mode is MoveMode.LIVE else None)
    except ArgumentError as error:
        yield Check.of(claim, str(error))
        return
    word = next((proof.detail for proof in proofs if proof.holds is None), "")
    yield from _Bounds(plan, written, bounds, word, snapshot).checks()
    if plan.told.frontier is not UNSET:
        exact = snapshot is not None and all(map(snapshot.kinds_are_exact, snapshot.pools))
        yield check_frontier(plan, exact=exact)
    yield from check_interrupted(interrupted=plan.told.interrupted, settled=plan.told.settled)


def _about(plan: PlanFile, contents: Mapping[str, tuple[NodeContent, ...]]) -> Check:
    placed = {pool: constrained_problem(nodes) for pool, nodes in contents.items()}
    return check_about(
        {pool: (proof.inherent.problem, proof.placed) for pool, proof in plan.proofs.items()},
        {pool: (now.problem, now) for pool, now in placed.items()},
    )


def _played(plan: PlanFile, snapshot: Snapshot) -> Check:
    told = plan.told
    claim = f"the moves can be made in order and lead to {count(told.partial_nodes_after, 'partial node')}"
    try:
        after = plan.listed.play(snapshot)
    except MoveError as error:
        return Check.of(claim, str(error))
    pool_of = {node.name: node.pool for node in snapshot.nodes}
    if told.pool is not None and any(pool_of[move.destination] != told.pool for move in plan.listed.moves):
        return Check.of(claim, f"an instance outside pool {told.pool} moves")
    counted = {
        f"{what}_nodes_{when}": nodes
        for when, then in (("before", snapshot), ("after", after))
        for what, nodes in zip(("partial", "empty"), then.partial_and_empty(told.pool), strict=True)
    }
    return compared(claim, {name: getattr(told, name) for name in counted}, counted)


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


def _written(plan: PlanFile, snapshot: Snapshot) -> Plan:
    """Return the plan that these moves and bounds make, whatever else is told of it."""
    told = plan.told
    return Plan(
        snapshot=snapshot,
        asked=told.asked,
        mode=told.mode,
        moves=plan.listed.moves,
        stops=plan.listed.stops,
        partial_nodes_before=told.partial_nodes_before,
        partial_nodes_after=told.partial_nodes_after,
        empty_nodes_before=told.empty_nodes_before,
        empty_nodes_after=told.empty_nodes_after,
        partial_nodes_lower_bound=told.partial_nodes_lower_bound,
        migrations_lower_bound=told.migrations_lower_bound,
        jobs_disturbed_lower_bound=told.jobs_disturbed_lower_bound,
        disturbance=sum(told.weights.get(job, 1) for job in {move.job for move in plan.listed.moves}),
        disturbance_lower_bound=told.disturbance_lower_bound or 0,
        interrupted=told.interrupted,
        evidence=(),
    )


def _broken_limits(plan: PlanFile, snapshot: Snapshot) -> Iterator[str]:
    told = plan.told
    kept = (
        ("max_migrations", told.max_migrations, told.migrations),
        ("max_jobs_disturbed", told.max_jobs_disturbed, told.jobs_disturbed),
        # A live plan comes as near as live moves do.
        ("max_partial_nodes", None if told.mode is MoveMode.LIVE else told.max_partial_nodes, told.partial_nodes_after),
    )
    for name, limit, has in kept:
        if limit is not None and has > limit:
            yield f"{name} is {limit}, the plan has {has}"
    try:
        told.asked.check(snapshot)
    except (CompassError, ValueError) as error:
        yield str(error)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bounds that a plan tells, against those that its evidence proves.

    Attributes
    ----------
    plan, written
        The plan as it is told, and as it is written again.
    proved
        What the certificates prove, all pools together.
    word
        Why that is not recomputed; empty if it is.
    snapshot
        The cluster; None without.
    """

    plan: PlanFile
    written: Plan
    proved: PlanBounds
    word: str
    snapshot: Snapshot | None

    def checks(self) -> Iterator[Check]:
        """Yield the claims."""
        yield self._fewest_partial()
        yield self._fewest_moves()
        yield from self._fewest_jobs()
        yield self._status()

    def _fewest_partial(self) -> Check:
        told, bound = self.plan.told, self.plan.told.partial_nodes_lower_bound
        claim = f"at least {count(bound, 'partial node')}"
        if told.max_migrations is not None:
            claim += f" after at most {count(told.max_migrations, 'move')}"
        asked = told.max_partial_nodes if told.mode is MoveMode.LIVE else None
        if asked is not None:
            claim += f", or no more than the {asked} asked for"
        if not 0 <= bound <= told.partial_nodes_after:
            return Check.of(claim, f"the plan leaves {told.partial_nodes_after}")
        most = NEVER - 1 if told.max_migrations is None else told.max_migrations
        if bound <= max(self.proved.fewest, asked or 0) or self.proved.moves_to(bound - 1) > most:
            return Check.of(claim, unknown=self.word)
        if told.mode is MoveMode.CHECKPOINT and told.max_migrations is None and told.max_jobs_disturbed is None:
            return Check.of(claim, f"the certificates prove {self.proved.fewest}")
        return Check.of(claim, unknown=f"{self._search}; the certificates prove {self.proved.fewest} for any plan")

    def _fewest_moves(self) -> Check:
        told, bound = self.plan.told, self.plan.told.migrations_lower_bound
        limit = max(told.partial_nodes_after, told.max_partial_nodes or 0)
        claim = f"at most {count(limit, 'partial node', 'take')} at least {count(bound, 'move')}"
        if not 0 <= bound <= told.migrations:
            return Check.of(claim, f"the plan has {told.migrations}")
        if bound > 0 and limit >= told.partial_nodes_before:
            return Check.of(claim, f"without a move there are {told.partial_nodes_before}")
        lower = self.proved.moves_to(limit)
        open_ = f"{self._search}; the certificates prove {lower}"
        return Check.of(claim, unknown=self.word if bound <= lower else open_)

    def _fewest_jobs(self) -> Iterator[Check]:
        told = self.plan.told
        bounds = (
            (None, told.jobs_disturbed_lower_bound, told.jobs_disturbed),
            (told.weights, told.disturbance_lower_bound, self.written.disturbance),
        )
        for weights, bound, attained in bounds:
            if bound is None:
                continue
            jobs = f"at least {count(bound, 'job')}" if weights is None else f"jobs of weight {bound} at least"
            claim = f"every plan as good disturbs {jobs}"
            if not 0 <= bound <= attained:
                yield Check.of(claim, f"the plan disturbs {attained}")
            elif bound == 0:
                yield Check(claim)
            elif self.snapshot is None:
                yield Check.of(claim, unknown=NO_SNAPSHOT)
            else:
                moving = self.proved.relocations_to(told.partial_nodes_after)
                enough = lightest_jobs(self.snapshot, self.plan.proofs, weights, moving)
                open_ = f"{BY_SEARCH}; the instances that have to move are of at least {enough}"
                yield Check.of(claim, unknown=self.word if bound <= enough else open_)

    def _status(self) -> Check:
        told, settled = self.plan.told.status, self.written.status
        wrong = f"they {'meet' if settled is Status.OPTIMAL else 'do not meet'}"
        return Check.of(f"the status {told.value!r} follows from the bounds", "" if told is settled else wrong)

    @property
    def _search(self) -> str:
        if self.plan.told.mode is MoveMode.LIVE and self.snapshot is None:
            return NO_SNAPSHOT
        if self.proved.untried is not None:
            return f"{BY_SEARCH} among more placements of pool {self.proved.untried} than are tried again"
        return BY_SEARCH
