"""What a plan is: the moves, how good they are known to be, what was asked for; and its JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import msgspec

from compass_core.errors import UnknownJobError
from oracle.moves.move import MoveMode, protect
from oracle.moves.pool_part import part_of
from oracle.moves.stored import at_start, start_to_json
from oracle.optimum.certificate import Status
from oracle.planning.frontier import FRONTIER_MODE
from oracle.snapshots.overlooked import overlooked, overlooked_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.moves.move import Move, Stop
    from oracle.optimum.certificate import Certificate
    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.weights import Tree
    from oracle.planning.frontier import PlanFrontier
    from oracle.snapshots.model import Snapshot

SCHEMA = "compass-abs/plan/2"

# Those of a plan that its document has under the same names, in this order.
_FIGURES = (
    *("partial_nodes_before", "partial_nodes_after", "partial_nodes_lower_bound"),
    *("empty_nodes_before", "empty_nodes_after", "migrations", "migrations_lower_bound"),
    *("jobs_disturbed", "jobs_disturbed_lower_bound", "disturbance", "disturbance_lower_bound", "gpus_copied"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a plan has to keep and what it has to spare; None for no limit.

    Attributes
    ----------
    max_partial_nodes
        Partial nodes of all pools together that may be left; None for as few as possible.
    max_migrations
        Moves that may be made.
    max_jobs_disturbed
        Jobs of which instances may move.
    max_per_job_at_once
        Instances of one job that may be stopped or moving at a time.
    max_per_budget
        Instances of one disruption budget that may be stopped or moving at a time, if the budget does not allow fewer.
    max_priority
        Jobs of a higher or an unknown priority stay where they are.
    protected
        Jobs, namespaces and instances that stay where they are (`oracle.moves.move.protect`), sorted.
    weights
        What it costs to disturb a job; 1 for those not named.
    pool
        The only pool that is planned; None for all.
    """

    max_partial_nodes: int | None = None
    max_migrations: int | None = None
    max_jobs_disturbed: int | None = None
    max_per_job_at_once: int | None = None
    max_per_budget: int | None = None
    max_priority: int | None = None
    protected: tuple[str, ...] = ()
    weights: Mapping[str, int] = field(default_factory=dict[str, int])
    pool: str | None = None

    def check(self, snapshot: Snapshot) -> None:
        """Check that this can be asked of a snapshot.

        Raises
        ------
        UnknownJobError
            A weight is that of no running job.
        ValueError
            A limit or a weight is negative, or `max_per_job_at_once` is below 1.
        """
        for name in ("max_partial_nodes", "max_migrations", "max_jobs_disturbed", "max_per_budget"):
            limit: int | None = getattr(self, name)
            if limit is not None and limit < 0:
                raise ValueError(f"{name}: expected 0 or more, got {limit}")
        if self.max_per_job_at_once is not None and self.max_per_job_at_once < 1:
            raise ValueError(f"max_per_job_at_once: expected at least 1 instance, got {self.max_per_job_at_once}")
        running = {job.name for job in snapshot.jobs}
        for job, weight in self.weights.items():
            if job not in running:
                raise UnknownJobError(f"no running job is named {job!r}; it cannot be given a weight")
            if weight < 0:
                raise ValueError(f"the weight of job {job!r}: expected 0 or more, got {weight}")

    def spared(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot in which what is to be spared cannot move.

        Raises
        ------
        UnknownJobError
            A protected name stands for nothing that runs.
        """
        return protect(snapshot, self.protected, max_priority=self.max_priority, max_per_budget=self.max_per_budget)

    def to_json(self) -> dict[str, object]:
        """Return what was asked for as it stands in a plan."""
        return {**asdict(self), "protected": list(self.protected), "weights": dict(sorted(self.weights.items()))}


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEvidence:
    """What is proved about one pool.

    Attributes
    ----------
    pool
        Its name.
    inherent
        Evidence for the fewest partial nodes it can have.
    migrations
        Evidence for the fewest migrations to as many partial nodes as the plan leaves it.
    further
        Arguments that bound its migrations where other plans leave it fewer or more partial nodes; as many as it takes
        to prove the bounds of the plan, which are about all pools together.
    """

    pool: str
    inherent: Certificate
    migrations: MigrationCertificate
    further: tuple[Tree, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return {
            "pool": self.pool,
            "inherent": self.inherent.to_json(),
            "migrations": self.migrations.to_json(),
            "further": msgspec.json.decode(msgspec.json.encode(self.further)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves, in steps, that leave few partial nodes, and how good they are known to be.

    If one pool only was asked for, all figures are about that one.

    Attributes
    ----------
    snapshot
        Where the moves start; what is protected is immovable in it.
    asked
        The limits, and what is spared.
    mode
        Whether instances may be stopped before their destination is free.
    moves, stops
        Sorted by step. In live mode an instance that is parked on the way moves more than once.
    partial_nodes_before, partial_nodes_after, empty_nodes_before, empty_nodes_after
        Of all pools together.
    partial_nodes_lower_bound
        Partial nodes after every plan within the limits on moves and jobs, at least; in live mode after every live plan
        that leaves no fewer than was asked for.
    migrations_lower_bound
        Moves of every plan of this mode that leaves so few partial nodes, at least.
    jobs_disturbed_lower_bound
        Jobs disturbed by every plan as good that leaves each pool as many partial nodes, at least.
    disturbance, disturbance_lower_bound
        The weight of the jobs disturbed, and the same bound on it. Without weights it is their number.
    interrupted
        The search was ended by somebody before it was done.
    evidence
        The certificates, one a pool.
    """

    snapshot: Snapshot = field(repr=False)
    asked: Asked
    mode: MoveMode
    moves: tuple[Move, ...]
    stops: tuple[Stop, ...]
    partial_nodes_before: int
    partial_nodes_after: int
    empty_nodes_before: int
    empty_nodes_after: int
    partial_nodes_lower_bound: int
    migrations_lower_bound: int
    jobs_disturbed_lower_bound: int
    disturbance: int
    disturbance_lower_bound: int
    interrupted: bool
    evidence: tuple[PoolEvidence, ...] = field(repr=False)

    @property
    def status(self) -> Status:
        """OPTIMAL if no plan of this mode within the limits leaves fewer partial nodes, or as few with fewer moves."""
        # Of a plan with as few as were asked for, only the moves count; a live one comes as near as live moves do.
        reached = self.asked.max_partial_nodes is not None and self.mode is MoveMode.CHECKPOINT
        fewest = reached or self.partial_nodes_after == self.partial_nodes_lower_bound
        return Status.of(self.migrations_lower_bound, self.migrations) if fewest else Status.UNKNOWN

    @property
    def migrations(self) -> int:
        """Moves, those to a parking place included; without any of these, the instances whose node changes."""
        return len(self.moves)

    @property
    def jobs_disturbed(self) -> tuple[str, ...]:
        """Names of the jobs of which an instance moves, sorted."""
        return tuple(sorted({move.job for move in self.moves}))

    @property
    def gpus_copied(self) -> int:
        """GPUs of the instances that move, each counted once."""
        return sum({(move.job, move.instance): move.gpus for move in self.moves}.values())

    @property
    def live(self) -> bool:
        """Whether every move goes into free space."""
        return not self.stops

    @property
    def steps(self) -> int:
        """Number of steps."""
        return max((move.step for move in self.moves), default=0)

    @property
    def disturbance_status(self) -> Status:
        """OPTIMAL if no plan as good disturbs jobs of less weight."""
        return Status.of(self.disturbance_lower_bound, self.disturbance)

    def frontier(self, *, time_limit: float | None = None) -> PlanFrontier:
        """Return the fewest migrations for limits on partial nodes, from those of today down to the fewest.

        For all of them, or `oracle.planning.frontier_search.MAX_POINTS` of more. What is protected stays where it is;
        other limits of the plan do not count. Instances may be stopped for these migrations, whatever the mode of the
        plan.

        Parameters
        ----------
        time_limit
            Seconds of wall time; None for as long as it takes. Points not settled by then have both bounds.
        """
        # numpy and the searches are for those who ask: what is stored is read, and written again, without them.
        from oracle.optimum.solver import Deadline  # noqa: PLC0415 - as said
        from oracle.planning.frontier_search import frontier_of_pools  # noqa: PLC0415 - as said

        return frontier_of_pools(part_of(self.snapshot, self.asked.pool).snapshot, Deadline(time_limit))

    def to_dict(self, frontier: PlanFrontier | None = None) -> dict[str, object]:
        """Return the content of ``sifopt plan -o json``, with this frontier if there is one."""
        data: dict[str, object] = {
            "schema": SCHEMA,
            "status": self.status.value,
            "interrupted": self.interrupted,
            "mode": self.mode.value,
            **self.asked.to_json(),
            **{name: getattr(self, name) for name in _FIGURES},
            "jobs_disturbed": len(self.jobs_disturbed),
            "moves": [move.to_json() for move in self.moves],
            "live": self.live,
            "stopped_first": [stop.to_json() for stop in self.stops],
            "jobs_at_start": start_to_json(at_start(self.snapshot, self.moves)),
            "not_looked_at": overlooked_json(overlooked(self.snapshot, self.asked.pool)),
        }
        certificate: dict[str, object] = {"pools": [pool.to_json() for pool in self.evidence]}
        if frontier is not None:
            data["frontier_mode"] = FRONTIER_MODE.value
            data["frontier"] = [point.to_json() for point in frontier]
            certificate["frontier"] = frontier.evidence_to_json()
        return {**data, "certificate": certificate}
