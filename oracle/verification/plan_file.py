"""A stored plan as values: what it tells, and what it brings as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from oracle.moves.move import MoveMode  # noqa: TC001 - msgspec reads the annotation
from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.evidence import CertificateError, check_size
from oracle.optimum.migration_certificate import MigrationCertificate
from oracle.optimum.node_classes import PlacedProblem
from oracle.optimum.weights import Branch, Weights  # noqa: TC001 - as above
from oracle.planning.frontier import PoolFrontier  # noqa: TC001 - msgspec reads the annotation
from oracle.planning.result import Asked
from oracle.verification.certificates import read_certificate
from oracle.verification.checks import ResultError, convert
from oracle.verification.overlooked import ToldOverlooked  # noqa: TC001 - msgspec reads the annotation
from oracle.verification.stored_moves import StoredMoves


class Point(msgspec.Struct, frozen=True):
    """A point of the frontier."""

    partial_nodes: int
    migrations: int
    lower_bound: int


class _PoolProof(msgspec.Struct):
    pool: str
    inherent: dict[str, object]
    migrations: dict[str, object]
    further: tuple[Weights | Branch, ...] = ()


class _FrontierProof(msgspec.Struct):
    pools: tuple[PoolFrontier, ...]


class _PlanProof(msgspec.Struct):
    pools: tuple[_PoolProof, ...]
    frontier: _FrontierProof | UnsetType = UNSET


class ToldPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan tells; what older files lack was not asked for when they were made."""

    schema: str
    status: Status
    mode: MoveMode
    max_partial_nodes: int | None
    max_migrations: int | None
    protected: tuple[str, ...]
    partial_nodes_before: int
    partial_nodes_after: int
    partial_nodes_lower_bound: int
    empty_nodes_before: int
    empty_nodes_after: int
    migrations: int
    migrations_lower_bound: int
    jobs_disturbed: int
    jobs_disturbed_lower_bound: int
    moves: list[dict[str, object]]
    live: bool
    stopped_first: list[dict[str, object]] = []
    certificate: _PlanProof
    max_jobs_disturbed: int | None = None
    max_per_job_at_once: int | None = None
    max_per_budget: int | None = None
    max_priority: int | None = None
    weights: dict[str, int] = {}
    pool: str | None = None
    disturbance: int | None = None
    disturbance_lower_bound: int | None = None
    gpus_copied: int | None = None
    interrupted: bool = False
    frontier_mode: Literal["checkpoint"] | UnsetType = UNSET
    frontier: tuple[Point, ...] | UnsetType = UNSET
    jobs_at_start: list[dict[str, object]] | UnsetType = UNSET
    not_looked_at: tuple[ToldOverlooked, ...] | UnsetType = UNSET

    @property
    def asked(self) -> Asked:
        """What was asked for."""
        return Asked(
            max_partial_nodes=self.max_partial_nodes,
            max_migrations=self.max_migrations,
            max_jobs_disturbed=self.max_jobs_disturbed,
            max_per_job_at_once=self.max_per_job_at_once,
            max_per_budget=self.max_per_budget,
            max_priority=self.max_priority,
            protected=self.protected,
            weights=self.weights,
            pool=self.pool,
        )

    @property
    def settled(self) -> bool:
        """Whether every search came to its end."""
        met = [(self.jobs_disturbed, self.jobs_disturbed_lower_bound), (self.disturbance, self.disturbance_lower_bound)]
        met += [(point.migrations, point.lower_bound) for point in self.frontier or ()]
        return self.status is Status.OPTIMAL and all(attained == bound for attained, bound in met)


@dataclass(frozen=True, slots=True)
class PoolProof:
    """The certificates of one pool, and arguments for other limits."""

    inherent: Certificate
    migrations: MigrationCertificate
    further: tuple[Weights | Branch, ...]

    @property
    def placed(self) -> PlacedProblem:
        """What the pool holds now."""
        return PlacedProblem(self.migrations.problem, self.migrations.present)


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A stored plan.

    Attributes
    ----------
    told
        The figures.
    listed
        What is to be done.
    proofs
        The evidence about the pools, by name.
    frontier
        The evidence behind `told.frontier`; None without.
    """

    told: ToldPlan
    listed: StoredMoves
    proofs: dict[str, PoolProof]
    frontier: tuple[PoolFrontier, ...] | None


def read_plan(data: object) -> PlanFile:
    """Return a stored plan. Nothing is checked yet but its form.

    Raises
    ------
    ResultError
        It has another form.
    """
    told = convert(data, ToldPlan)
    listed = StoredMoves.read(data, told.mode, told.max_per_job_at_once)
    proofs = {
        proof.pool: PoolProof(
            read_certificate(Certificate, proof.inherent),
            read_certificate(MigrationCertificate, proof.migrations),
            proof.further,
        )
        for proof in told.certificate.pools
    }
    try:
        check_size(nodes for proof in proofs.values() for nodes in proof.migrations.problem.nodes)
    except CertificateError as error:
        raise ResultError(str(error)) from error
    if len(proofs) < len(told.certificate.pools):
        raise ResultError("certificate.pools has one pool twice")
    frontier = None if told.certificate.frontier is UNSET else told.certificate.frontier.pools
    if frontier is not None and told.frontier is UNSET:
        raise ResultError("certificate.frontier is the evidence for a frontier, and there is none")
    return PlanFile(told, listed, proofs, frontier)
