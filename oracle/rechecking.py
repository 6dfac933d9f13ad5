"""What a stored result claims, checked again from the file and the snapshot alone; no solver is called.

Each claim ends as one `Check`: it holds, it fails, or nothing in the file lets it be checked, and then it says why.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec

from compass_core.errors import CompassError
from oracle.admission import Verdict
from oracle.bounds import ArgumentError, SolverProof
from oracle.certificate import Certificate, CertificateError
from oracle.measurement import UnknownPoolError, measure
from oracle.migration_certificate import MigrationCertificate
from oracle.moves import MoveError, MoveMode, protect
from oracle.node_classes import PackingProblem, PlacedProblem, constrained_problem, contents_by_pool, ideal_problem
from oracle.replay import replay
from oracle.resumption import read_moves
from oracle.rooms.blockers import takes_instances
from oracle.rooms.bound import most_new
from oracle.rooms.model import groups_of
from oracle.solver import Deadline
from oracle.transport.bounds import PricedNodes, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.snapshots.model import Snapshot

T = TypeVar("T")

_NO_SNAPSHOT = "needs the snapshot it was made from (--snapshot)"
_BY_SOLVER = "rests on the word of a solver"


class ResultError(CompassError):
    """A file that holds no result that can be checked."""


@dataclass(frozen=True, slots=True)
class Check:
    """One claim.

    Attributes
    ----------
    claim
        What is claimed, in words.
    holds
        Whether it does; None if it could not be checked.
    detail
        Why it fails, or why it could not be checked.
    """

    claim: str
    holds: bool | None = True
    detail: str = ""

    @property
    def result(self) -> str:
        """The outcome in words."""
        return {True: "holds", False: "fails", None: "not rechecked"}[self.holds]

    def to_json(self) -> dict[str, object]:
        """Return the check as data for JSON."""
        return {"claim": self.claim, "result": self.result, "detail": self.detail}


class _Head(msgspec.Struct):
    schema: str


class _PoolProof(msgspec.Struct):
    pool: str
    inherent: dict[str, object]
    migrations: dict[str, object]


class _PlanProof(msgspec.Struct):
    pools: tuple[_PoolProof, ...]


class _Plan(msgspec.Struct):
    status: str
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
    live: bool
    certificate: _PlanProof


class _Job(msgspec.Struct):
    instances: int
    gpus_per_instance: int
    pool: str | None


class _Placement(msgspec.Struct):
    instance: int
    node: str


class _Admission(msgspec.Struct):
    verdict: Verdict
    pool: str | None
    migrations: int | None
    lower_bound: int
    placements: tuple[_Placement, ...]
    job: _Job
    mode: MoveMode
    protected: tuple[str, ...]


class _MeasuredPool(msgspec.Struct):
    pool: str
    inherent_partial_nodes: int
    inherent_lower_bound: int
    ideal_partial_nodes: int
    ideal_lower_bound: int
    certificate: dict[str, object]
    ideal_certificate: dict[str, object]


class _Measurement(msgspec.Struct):
    inherent_partial_nodes: int
    ideal_partial_nodes: int
    pools: tuple[_MeasuredPool, ...]


def recheck(data: object, snapshot: Snapshot | None = None) -> tuple[Check, ...]:
    """Return every claim of a stored plan, admission, measurement or certificate, checked.

    Parameters
    ----------
    data
        What was printed as JSON, decoded.
    snapshot
        What it was made from. Without it only what the file itself proves is checked.

    Raises
    ------
    ResultError
        The data are no such result, or have another form.
    """
    schema = _convert(data, _Head).schema
    if schema == "compass-abs/plan/1":
        return tuple(_PlanCheck(data, snapshot).checks())
    if schema == "compass-abs/admit/1":
        return tuple(_check_admission(data, snapshot))
    if schema == "compass-abs/measure/1":
        return tuple(_check_measurement(data, snapshot))
    if schema == "compass-abs/certificate/1":
        return (_certificate("partial nodes", _inherent(data)),)
    if schema == "compass-abs/migration-certificate/1":
        return (_certificate("migrations", _migrations(data)),)
    raise ResultError(f"expected a plan, an admission, a measurement or a certificate, got the schema {schema!r}")


class _PlanCheck:
    def __init__(self, data: object, snapshot: Snapshot | None) -> None:
        self._plan = _convert(data, _Plan)
        try:
            self._moves, self._stops = read_moves(data)
        except MoveError as error:
            raise ResultError(str(error)) from error
        proofs = self._plan.certificate.pools
        self._inherent = {proof.pool: _inherent(proof.inherent) for proof in proofs}
        self._migrations = {proof.pool: _migrations(proof.migrations) for proof in proofs}
        self._snapshot = None if snapshot is None else protect(snapshot, self._plan.protected)

    def checks(self) -> Iterator[Check]:
        """Yield the claims of the plan."""
        proofs: list[Check] = []
        for pool, inherent in self._inherent.items():
            migrations = self._migrations[pool]
            proofs.append(_certificate(f"pool {pool}: at least {inherent.lower_bound} partial nodes", inherent))
            claim = (
                f"at most {migrations.max_partial_nodes} partial nodes take {migrations.lower_bound} migrations or more"
            )
            proofs.append(_certificate(f"pool {pool}: {claim}", migrations))
        yield from proofs
        yield self._figures()
        if self._snapshot is None:
            yield Check("the moves can be made, and the certificates are about this cluster", None, _NO_SNAPSHOT)
        else:
            yield self._about(self._snapshot)
            yield self._played(self._snapshot)
        if any(proof.holds is False for proof in proofs):
            yield Check("the bounds of the plan", holds=False, detail="a certificate they rest on fails")
            return
        yield self._fewest_partial()
        yield self._fewest_migrations()
        yield self._status()

    def _figures(self) -> Check:
        counted = (len(self._moves), len({move.job for move in self._moves}), not self._stops)
        told = (self._plan.migrations, self._plan.jobs_disturbed, self._plan.live)
        claim = "the numbers of moves, jobs and stops are those of the list"
        return Check(claim, counted == told, "" if counted == told else f"counted {counted}, told {told}")

    def _about(self, snapshot: Snapshot) -> Check:
        claim = "the certificates are about this cluster"
        contents = contents_by_pool(snapshot)
        if sorted(contents) != sorted(self._inherent):
            return Check(claim, holds=False, detail="the pools are not those of the snapshot")
        for pool, nodes in contents.items():
            placed = constrained_problem(nodes)
            migrations = self._migrations[pool]
            same = self._inherent[pool].problem == migrations.problem == placed.problem
            if not same or migrations.present != placed.current:
                return Check(claim, holds=False, detail=f"pool {pool} has other nodes or instances")
        return Check(claim)

    def _played(self, snapshot: Snapshot) -> Check:
        plan = self._plan
        claim = f"the moves can be made in order and lead to {plan.partial_nodes_after} partial nodes"
        if plan.mode is MoveMode.LIVE and self._stops:
            return Check(claim, holds=False, detail="a live plan stops nothing")
        try:
            after = replay(snapshot, self._moves, self._stops)
        except MoveError as error:
            return Check(claim, holds=False, detail=str(error))
        counted = (*_partial_and_empty(snapshot), *_partial_and_empty(after))
        told = (plan.partial_nodes_before, plan.empty_nodes_before, plan.partial_nodes_after, plan.empty_nodes_after)
        detail = f"partial and empty nodes before and after: counted {counted}, told {told}"
        return Check(claim, counted == told, "" if counted == told else detail)

    def _fewest_partial(self) -> Check:
        plan = self._plan
        claim = f"at least {plan.partial_nodes_lower_bound} partial nodes"
        if plan.max_migrations is not None:
            claim += f" after at most {plan.max_migrations} moves"
        proved = sum(inherent.lower_bound for inherent in self._inherent.values())
        if plan.partial_nodes_lower_bound <= proved:
            return Check(claim, *self._word(self._inherent))
        if plan.max_migrations is not None:
            lower = self._migrations_needed(plan.partial_nodes_lower_bound - 1)
            if lower is not None and lower > plan.max_migrations:
                return Check(claim, *self._word(self._inherent))
        if plan.mode is MoveMode.CHECKPOINT and plan.max_migrations is None:
            return Check(claim, holds=False, detail=f"the certificates prove {proved}")
        return Check(claim, None, f"rests on a search; the certificates prove {proved}")

    def _fewest_migrations(self) -> Check:
        plan = self._plan
        limit = plan.partial_nodes_after if plan.max_partial_nodes is None else plan.max_partial_nodes
        limit = max(limit, plan.partial_nodes_after)
        claim = f"at most {limit} partial nodes take at least {plan.migrations_lower_bound} moves"
        if plan.migrations_lower_bound > plan.migrations:
            return Check(claim, holds=False, detail=f"the plan has {plan.migrations}")
        lower = self._migrations_needed(limit)
        if lower is None:
            return Check(claim, None, _BY_SOLVER)
        if plan.migrations_lower_bound <= lower:
            return Check(claim, *self._word(self._inherent))
        return Check(claim, None, f"rests on a search; the certificates prove {lower}")

    def _status(self) -> Check:
        plan = self._plan
        claim = f"the status {plan.status!r} follows from the bounds"
        reached = plan.max_partial_nodes is not None and plan.mode is MoveMode.CHECKPOINT
        fewest = reached or plan.partial_nodes_after == plan.partial_nodes_lower_bound
        settled = fewest and plan.migrations == plan.migrations_lower_bound
        follows = plan.status == "unknown" or (plan.status == "optimal" and settled)
        return Check(claim, follows, "" if follows else "they do not meet")

    def _word(self, certificates: Mapping[str, Certificate]) -> tuple[bool | None, str]:
        """Return whether a bound on partial nodes is recomputed, and what to say if it is not."""
        return (True, "") if all(one.recheckable for one in certificates.values()) else (None, _BY_SOLVER)

    def _migrations_needed(self, limit: int) -> int | None:
        """Return a bound on the migrations to so few partial nodes, however they are divided among the pools."""
        fewest = {pool: inherent.lower_bound for pool, inherent in self._inherent.items()}
        spare = limit - sum(fewest.values())
        if spare < 0:
            return None
        least = [0] * (spare + 1)
        for pool, certificate in self._migrations.items():
            costs = _costs(certificate, range(fewest[pool], fewest[pool] + spare + 1))
            if costs is None:
                return None
            least = [min(least[left - own] + costs[own] for own in range(left + 1)) for left in range(spare + 1)]
        return least[spare]


def _costs(certificate: MigrationCertificate, limits: range) -> list[int] | None:
    """Return the migrations that a certificate's argument proves for each of these limits; None if it cannot."""
    if isinstance(certificate.argument, SolverProof):
        return None
    placed = PlacedProblem(certificate.problem, certificate.present)
    try:
        nodes = [PricedNodes(placed, leaf) for leaf in leaves(certificate.argument)]
    except ArgumentError:
        return None
    costs: list[int] = []
    for limit in limits:
        try:
            costs.append(min(one.bound(limit) for one in nodes))
        except ArgumentError:  # residues that no plan with this limit has: nothing is said about others
            costs.append(0)
    # More partial nodes never take more migrations, so what a larger limit takes a smaller one does too.
    for k in reversed(range(len(costs) - 1)):
        costs[k] = max(costs[k], costs[k + 1])
    return costs


def _check_admission(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    told = _convert(data, _Admission)
    if snapshot is None:
        yield Check(f"verdict {told.verdict.value}", None, _NO_SNAPSHOT)
        return
    snapshot = protect(snapshot, told.protected)
    job, gpus = told.job, told.job.gpus_per_instance
    if job.instances < 1 or gpus < 1:
        raise ResultError(f"a job has at least 1 instance of at least 1 GPU, got {job.instances} of {gpus}")
    pools = {pool: nodes for pool, nodes in contents_by_pool(snapshot).items() if job.pool in {None, pool}}
    if told.verdict in {Verdict.FITS_NOW, Verdict.FITS_AFTER}:
        yield _started(told, data, snapshot)
        if told.lower_bound > 1:
            yield Check(f"it takes at least {told.lower_bound} moves", None, "rests on a search")
        elif told.lower_bound == 1:
            now = any(_room(snapshot, pool, gpus) >= job.instances for pool in pools)
            yield Check("it takes at least 1 move", not now, "it fits as it is" if now else "")
    elif told.verdict is Verdict.CANNOT:
        never = Deadline(0)
        open_ = [
            pool
            for pool, nodes in pools.items()
            if most_new(groups_of(nodes), gpus, job.instances, never)[0] >= job.instances
        ]
        claim = f"{job.instances}x{gpus} GPUs cannot start"
        detail = f"pool {open_[0]} is not ruled out by sums; the proof rests on a search" if open_ else ""
        yield Check(claim, None if open_ else True, detail)
    else:
        yield Check("the verdict is unknown", detail="nothing is claimed")


def _started(told: _Admission, data: object, snapshot: Snapshot) -> Check:
    """Return whether the moves can be made and the job then has the room it was promised."""
    gpus = told.job.gpus_per_instance
    claim = f"{told.job.instances}x{gpus} GPUs have room after {told.migrations} moves"
    try:
        moves, stops = read_moves(data)
    except MoveError as error:
        raise ResultError(str(error)) from error
    if len(moves) != told.migrations or (told.verdict is Verdict.FITS_NOW and moves):
        return Check(claim, holds=False, detail=f"{len(moves)} moves are listed")
    if told.mode is MoveMode.LIVE and stops:
        return Check(claim, holds=False, detail="an instance is stopped first, and the moves should be live")
    try:
        after = replay(snapshot, moves, stops)
    except MoveError as error:
        return Check(claim, holds=False, detail=str(error))
    if sorted(placement.instance for placement in told.placements) != list(range(told.job.instances)):
        return Check(claim, holds=False, detail="not every instance has one node")
    contents = contents_by_pool(after)
    pool = told.pool if told.pool is not None and told.job.pool in {None, told.pool} else ""
    free = {node.name: node.capacity - node.used for node in contents.get(pool, ()) if takes_instances(node)}
    for name, instances in Counter(placement.node for placement in told.placements).items():
        if instances * gpus > free.get(name, 0):
            return Check(claim, holds=False, detail=f"node {name} has {free.get(name, 0)} free GPUs for it")
    return Check(claim)


def _room(snapshot: Snapshot, pool: str, gpus: int) -> int:
    nodes = contents_by_pool(snapshot)[pool]
    return sum((node.capacity - node.used) // gpus for node in nodes if takes_instances(node))


# Figures that `measure` counts without an optimum, and those of them that depend on it.
_COUNTED = (
    "nodes", "gpus", "used_gpus", "free_gpus", "instances", "partial_nodes", "empty_nodes", "full_nodes",
    "unschedulable_nodes", "largest_free_block", "overcommitted", "wcc", "wcc_supply", "wcc_need",
)  # fmt: skip


def _check_measurement(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    told = _convert(data, _Measurement)
    proved: dict[str, tuple[PackingProblem, PackingProblem]] = {}
    for pool in told.pools:
        inherent, ideal = _inherent(pool.certificate), _inherent(pool.ideal_certificate)
        proved[pool.pool] = inherent.problem, ideal.problem
        for name, one, figures in (
            ("inherent", inherent, (pool.inherent_lower_bound, pool.inherent_partial_nodes)),
            ("ideal", ideal, (pool.ideal_lower_bound, pool.ideal_partial_nodes)),
        ):
            claim = f"pool {pool.pool}: {name} partial nodes {figures[0]}..{figures[1]}"
            same = figures == (one.lower_bound, one.partial_nodes)
            detail = f"the certificate says {one.lower_bound}..{one.partial_nodes}"
            yield _certificate(claim, one) if same else Check(claim, holds=False, detail=detail)
    sums = (
        sum(pool.inherent_partial_nodes for pool in told.pools),
        sum(pool.ideal_partial_nodes for pool in told.pools),
    )
    yield Check("the totals are the sums", sums == (told.inherent_partial_nodes, told.ideal_partial_nodes))
    if snapshot is None:
        yield Check("the figures are those of this cluster", None, _NO_SNAPSHOT)
        return
    yield _counted(_convert(data, dict[str, object]), snapshot, [pool.pool for pool in told.pools])
    contents = contents_by_pool(snapshot)
    other = [
        pool
        for pool, problems in proved.items()
        if pool not in contents
        or problems != (constrained_problem(contents[pool]).problem, ideal_problem(contents[pool]).problem)
    ]
    detail = f"pool {other[0]} has other nodes or instances" if other else ""
    yield Check("the certificates are about this cluster", not other, detail)


def _counted(told: Mapping[str, object], snapshot: Snapshot, pools: Sequence[str]) -> Check:
    claim = "the figures are those of this cluster"
    try:
        alone = pools[0] if len(pools) == 1 else None
        counted = measure(snapshot, time_limit=0, pool=alone).to_dict()
    except UnknownPoolError as error:
        return Check(claim, holds=False, detail=str(error))
    wrong = [name for name in _COUNTED if told.get(name) != counted[name]]
    return Check(claim, not wrong, f"{wrong[0]} is {counted[wrong[0]]}, not {told.get(wrong[0])}" if wrong else "")


def _certificate(claim: str, certificate: Certificate | MigrationCertificate) -> Check:
    try:
        certificate.verify()
    except CertificateError as error:
        return Check(claim, holds=False, detail=str(error))
    return Check(claim) if certificate.recheckable else Check(claim, None, _BY_SOLVER)


def _inherent(data: object) -> Certificate:
    try:
        return Certificate.from_json(data)
    except CertificateError as error:
        raise ResultError(str(error)) from error


def _migrations(data: object) -> MigrationCertificate:
    try:
        return MigrationCertificate.from_json(data)
    except CertificateError as error:
        raise ResultError(str(error)) from error


def _convert(data: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ResultError(str(error)) from error


def _partial_and_empty(snapshot: Snapshot) -> tuple[int, int]:
    used = snapshot.used_gpus()
    partial = sum(0 < used[node.name] < node.gpus for node in snapshot.nodes)
    return partial, sum(used[node.name] == 0 < node.gpus for node in snapshot.nodes)
