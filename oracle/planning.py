"""The plan that mends a snapshot: the fewest partial nodes within the limits, the fewest moves there, and their order.

Pools are searched at pattern level (`oracle.transport.split`), their plans are given to nodes and instances, and the
moves are put in an order that has been replayed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from oracle.certificate import Status
from oracle.choosing.relocation_search import RelocationSearch
from oracle.exact import InfeasibleError, UndecidedError
from oracle.frontier import frontier as pool_frontier
from oracle.migration import start_search
from oracle.moves import Move, MoveMode, MoveOrder, protect
from oracle.node_classes import constrained_class, constrained_problem, contents_by_pool
from oracle.relocation import relocations
from oracle.replay import replay
from oracle.sequencing.live_plan import Target, live_plan
from oracle.sequencing.rematching import order_interchangeably
from oracle.solver import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.certificate import Certificate
    from oracle.migration_certificate import MigrationCertificate
    from oracle.moves import Stop
    from oracle.node_classes import NodeContent
    from oracle.sequencing.live_plan import LivePlan
    from oracle.snapshots.model import Snapshot
    from oracle.transport.model import Integers
    from oracle.transport.search import PlanSearch
    from oracle.transport.split import PoolsSearch, SplitPlan

SCHEMA = "compass-abs/plan/1"

# Without a time limit, instances of plans with more migrations are chosen quickly: the integer program that disturbs
# the fewest jobs takes minutes for some of 300.
MAX_CHOSEN_EXACTLY = 100


@dataclass(frozen=True, slots=True)
class PlanFrontierPoint:
    """What at most so many partial nodes in all pools together cost.

    Attributes
    ----------
    partial_nodes
        The limit on partial nodes.
    migrations
        Those of the cheapest plan found: the fewest if `lower_bound` is equal.
    lower_bound
        Migrations of every plan within the limit, at least.
    """

    partial_nodes: int
    migrations: int
    lower_bound: int

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return Status.OPTIMAL if self.migrations == self.lower_bound else Status.UNKNOWN

    def to_json(self) -> dict[str, object]:
        """Return the point as it stands in `frontier` of a plan."""
        return {"partial_nodes": self.partial_nodes, "migrations": self.migrations, "lower_bound": self.lower_bound}


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
    """

    pool: str
    inherent: Certificate
    migrations: MigrationCertificate

    def to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return {"pool": self.pool, "inherent": self.inherent.to_json(), "migrations": self.migrations.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves, in steps, that leave few partial nodes, and how good they are known to be.

    Attributes
    ----------
    snapshot
        Where the moves start; what is protected is immovable in it.
    mode
        Whether instances may be stopped before their destination is free.
    moves, stops
        Sorted by step. In live mode an instance that is parked on the way moves more than once.
    partial_nodes_before, partial_nodes_after, empty_nodes_before, empty_nodes_after
        Of all pools together.
    partial_nodes_lower_bound
        Partial nodes after every plan within `max_migrations`, at least; in live mode after every live plan that leaves
        no fewer than was asked for.
    migrations_lower_bound
        Moves of every plan of this mode that leaves so few partial nodes, at least.
    jobs_disturbed_lower_bound
        Jobs disturbed by every plan as good that leaves each pool as many partial nodes, at least.
    status
        OPTIMAL if no plan of this mode within the limits is better.
    max_partial_nodes, max_migrations, protected
        The limits that were asked for.
    evidence
        The certificates, one a pool.
    """

    snapshot: Snapshot = field(repr=False)
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
    status: Status
    max_partial_nodes: int | None
    max_migrations: int | None
    protected: tuple[str, ...]
    evidence: tuple[PoolEvidence, ...] = field(repr=False)

    @property
    def migrations(self) -> int:
        """Moves, those to a parking place included; without any of these, the instances whose node changes."""
        return len(self.moves)

    @property
    def jobs_disturbed(self) -> tuple[str, ...]:
        """Names of the jobs of which an instance moves, sorted."""
        return tuple(sorted({move.job for move in self.moves}))

    @property
    def live(self) -> bool:
        """Whether every move goes into free space."""
        return not self.stops

    @property
    def steps(self) -> int:
        """Number of steps."""
        return max((move.step for move in self.moves), default=0)

    def frontier(self, *, time_limit: float | None = None) -> tuple[PlanFrontierPoint, ...]:
        """Return the fewest migrations for every limit on partial nodes, from those of today down to the fewest.

        Instances may be stopped for these migrations, whatever the mode of the plan.

        Parameters
        ----------
        time_limit
            Seconds of wall time; None for as long as it takes. Points not settled by then have both bounds.
        """
        return _frontier(self.snapshot, Deadline(time_limit))

    def to_dict(self, frontier: Sequence[PlanFrontierPoint] | None = None) -> dict[str, object]:
        """Return the content of ``sifopt plan -o json``, with this frontier if there is one."""
        data: dict[str, object] = {
            "schema": SCHEMA,
            "status": self.status.value,
            "mode": self.mode.value,
            "max_partial_nodes": self.max_partial_nodes,
            "max_migrations": self.max_migrations,
            "protected": list(self.protected),
            "partial_nodes_before": self.partial_nodes_before,
            "partial_nodes_after": self.partial_nodes_after,
            "partial_nodes_lower_bound": self.partial_nodes_lower_bound,
            "empty_nodes_before": self.empty_nodes_before,
            "empty_nodes_after": self.empty_nodes_after,
            "migrations": self.migrations,
            "migrations_lower_bound": self.migrations_lower_bound,
            "jobs_disturbed": len(self.jobs_disturbed),
            "jobs_disturbed_lower_bound": self.jobs_disturbed_lower_bound,
            "moves": [move.to_json() for move in self.moves],
            "live": self.live,
            "stopped_first": [stop.to_json() for stop in self.stops],
        }
        if frontier is not None:
            data["frontier"] = [point.to_json() for point in frontier]
        return {**data, "certificate": {"pools": [pool.to_json() for pool in self.evidence]}}


def plan(
    snapshot: Snapshot,
    *,
    max_partial_nodes: int | None = None,
    max_migrations: int | None = None,
    moves: MoveMode | str = MoveMode.CHECKPOINT,
    protected: Iterable[str] = (),
    time_limit: float | None = None,
) -> Plan:
    """Return a plan that leaves the fewest partial nodes, or no more than a limit, with as few moves as possible.

    Parameters
    ----------
    snapshot
        The cluster.
    max_partial_nodes
        Partial nodes of all pools together that may be left; None for as few as possible.
    max_migrations
        Moves that may be made; the plan then leaves as few partial nodes as they reach.
    moves
        Whether an instance may be stopped before its destination is free (`checkpoint`), or every move must go into
        free space (`live`). Where no live moves lead within `max_partial_nodes`, a live plan leaves as few as they can.
    protected
        Jobs and namespaces of which nothing is moved.
    time_limit
        Seconds of wall time; None for as long as it takes. What is not settled by then is UNKNOWN.

    Raises
    ------
    InfeasibleError
        The limits cannot be kept.
    UndecidedError
        No plan within the limits was found in time, but there may be one.
    UnknownJobError
        A protected name stands for nothing that runs.
    ValueError
        A limit is negative, or `moves` is no such mode.
    """
    for name, limit in (("max_partial_nodes", max_partial_nodes), ("max_migrations", max_migrations)):
        if limit is not None and limit < 0:
            raise ValueError(f"{name}: expected 0 or more, got {limit}")
    protected = tuple(sorted(set(protected)))
    planner = _Planner(protect(snapshot, protected), protected, max_partial_nodes, max_migrations, Deadline(time_limit))
    return planner.checkpoint() if MoveMode(moves) is MoveMode.CHECKPOINT else planner.live()


class _Closable(Deadline):
    """A deadline that can be brought forward to now."""

    __slots__ = ()

    def close(self) -> None:
        """Let no more work begin."""
        super().__init__(0)


@dataclass(frozen=True, slots=True)
class _Planner:
    snapshot: Snapshot
    protected: tuple[str, ...]
    max_partial: int | None
    max_moves: int | None
    deadline: Deadline

    def checkpoint(self) -> Plan:
        """Return the plan if instances may be stopped."""
        deadline = _Closable(self.deadline.seconds_left)
        search = RelocationSearch(self.snapshot, {}, deadline)
        split, partial_bound, best = self._split(search.pools)
        if self.deadline.seconds_left is None and split.migrations > MAX_CHOSEN_EXACTLY:
            deadline.close()
        choice = search.choose(split)
        order = order_interchangeably(self.snapshot, relocations(choice.selection), deadline=self.deadline)
        evidence = tuple(
            PoolEvidence(pool=pool, inherent=inherent, migrations=one)
            for pool, inherent, one in zip(search.names, search.pools.inherent, choice.plans, strict=True)
        )
        return self._plan(
            MoveMode.CHECKPOINT,
            order,
            evidence,
            bounds=(partial_bound, min(split.lower_bound, len(order.moves)), choice.jobs_lower_bound),
            best=best and len(order.moves) <= split.lower_bound,
        )

    def _split(self, search: PoolsSearch) -> tuple[SplitPlan, int, bool]:
        """Return the plans of the pools, a bound on their partial nodes, and whether as few as asked for is proved."""
        bound = sum(inherent.lower_bound for inherent in search.inherent)
        asked = self.max_partial
        if asked is not None and asked < bound:
            raise InfeasibleError(f"at least {bound} nodes are partial, however instances are moved")
        if self.max_moves is None:
            if asked is not None and asked < search.fewest:
                raise UndecidedError(f"no plan with {asked} partial nodes was found in time; there may be one")
            found = search.cheapest(search.fewest if asked is None else asked)
            return found, bound, asked is not None or found.partial_nodes == bound
        fewest = search.fewest_partial_nodes(self.max_moves)
        if asked is None:
            return fewest.plan, fewest.lower_bound, fewest.status is Status.OPTIMAL
        if asked < fewest.lower_bound:
            raise InfeasibleError(
                f"{self.max_moves} migrations leave at least {fewest.lower_bound} partial nodes, not {asked}"
            )
        if asked < fewest.plan.partial_nodes:
            raise UndecidedError(
                f"no plan with {asked} partial nodes and {self.max_moves} migrations was found in time; "
                "there may be one"
            )
        return search.cheapest(asked), fewest.lower_bound, True

    def live(self) -> Plan:
        """Return the plan if every move goes into free space."""
        targets = _Targets(self.snapshot, self.deadline)
        bound = targets.lower_bound()
        if self.max_partial is not None and self.max_partial < bound:
            raise InfeasibleError(f"at least {bound} nodes are partial, however instances are moved")
        present, _ = _partial_and_empty(self.snapshot)
        limit, proved = self.max_partial, True
        found = self._live_plan(limit, targets)
        while self.max_moves is not None and len(found.moves) > self.max_moves:
            # Fewer moves are allowed than it takes: the next limit, until one can be kept. No move keeps today's.
            proved = proved and found.moves_lower_bound > self.max_moves
            limit = min(present, max(found.partial_nodes + 1, 0 if limit is None else limit + 1))
            if not self.deadline.is_open():
                limit, proved = present, False
            found = self._live_plan(limit, targets)
        if self.max_moves is not None and self.max_partial is not None and found.partial_nodes > self.max_partial:
            raise UndecidedError(
                f"no live plan with {self.max_partial} partial nodes and {self.max_moves} moves was found; "
                "there may be one"
            )
        if limit == self.max_partial:
            bound = found.partial_nodes_lower_bound
        elif proved and limit is not None:
            bound = limit
        order = MoveOrder(moves=found.moves)
        return self._plan(
            MoveMode.LIVE,
            order,
            targets.evidence(replay(self.snapshot, found.moves)),
            bounds=(bound, found.moves_lower_bound, min(1, len(found.moves))),
            best=bound == found.partial_nodes and found.moves_lower_bound == len(found.moves),
        )

    def _live_plan(self, limit: int | None, targets: _Targets) -> LivePlan:
        return live_plan(
            self.snapshot, max_partial_nodes=limit, find_target=targets.find, time_limit=self.deadline.seconds_left
        )

    def _plan(
        self,
        mode: MoveMode,
        order: MoveOrder,
        evidence: tuple[PoolEvidence, ...],
        *,
        bounds: tuple[int, int, int],
        best: bool,
    ) -> Plan:
        before = _partial_and_empty(self.snapshot)
        after = _partial_and_empty(replay(self.snapshot, order.moves, order.stops))
        return Plan(
            snapshot=self.snapshot,
            mode=mode,
            moves=order.moves,
            stops=order.stops,
            partial_nodes_before=before[0],
            partial_nodes_after=after[0],
            empty_nodes_before=before[1],
            empty_nodes_after=after[1],
            partial_nodes_lower_bound=bounds[0],
            migrations_lower_bound=bounds[1],
            jobs_disturbed_lower_bound=bounds[2],
            status=Status.OPTIMAL if best else Status.UNKNOWN,
            max_partial_nodes=self.max_partial,
            max_migrations=self.max_moves,
            protected=self.protected,
            evidence=evidence,
        )


class _Targets:
    """The fewest relocations of each pool, for the search of live moves."""

    def __init__(self, snapshot: Snapshot, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self._contents = contents_by_pool(snapshot)
        self._searches: dict[str, tuple[PlanSearch, Certificate]] = {
            pool: start_search(constrained_problem(nodes), None, deadline) for pool, nodes in self._contents.items()
        }

    def lower_bound(self) -> int:
        """Return how many partial nodes all pools together have at least."""
        return sum(inherent.lower_bound for _, inherent in self._searches.values())

    def find(self, pool: str, partial_nodes: int) -> Target | None:
        """Return the fewest relocations to so many partial nodes; None if no placement has so few."""
        search, inherent = self._searches[pool]
        if partial_nodes < inherent.lower_bound:
            return None
        if partial_nodes < inherent.partial_nodes:
            return Target(None, 0)
        found = search.settle(partial_nodes)
        return Target(named_moves(self._snapshot, self._contents[pool], found), found.lower_bound)

    def evidence(self, after: Snapshot) -> tuple[PoolEvidence, ...]:
        """Return what is proved about the migrations to as few partial nodes as there are in this snapshot."""
        found: list[PoolEvidence] = []
        for pool, nodes in contents_by_pool(after).items():
            search, inherent = self._searches[pool]
            left = sum(0 < node.used < node.capacity for node in nodes)
            reached = search.settle(max(left, inherent.partial_nodes))
            found.append(PoolEvidence(pool=pool, inherent=inherent, migrations=reached))
        return tuple(found)


def named_moves(snapshot: Snapshot, contents: Iterable[NodeContent], changed: MigrationCertificate) -> tuple[Move, ...]:
    """Return moves, without an order, that carry out a pool's plan at pattern level.

    Of instances that would do, those of a job disturbed already come first.
    """
    index = {kind: c for c, kind in enumerate(changed.problem.classes)}
    names: defaultdict[tuple[int, tuple[int, ...]], list[str]] = defaultdict(list)
    for node in contents:
        names[index[constrained_class(node)], node.movable].append(node.name)
    residents: defaultdict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for job in snapshot.jobs:
        for i, instance in enumerate(job.instances):
            if instance.movable:
                residents[instance.node, instance.gpus].append((job.name, i))
    leaving: defaultdict[int, list[tuple[str, int, str]]] = defaultdict(list)
    arriving: defaultdict[int, list[str]] = defaultdict(list)
    disturbed: set[str] = set()
    for change in changed.changes:
        for _ in range(change.nodes):
            name = names[change.node_class, change.before].pop()
            for gpus in (Counter(change.before) - Counter(change.after)).elements():
                there = residents[name, gpus]
                key = min(there, key=lambda key: (key[0] not in disturbed, key))
                there.remove(key)
                disturbed.add(key[0])
                leaving[gpus].append((*key, name))
            for gpus in (Counter(change.after) - Counter(change.before)).elements():
                arriving[gpus].append(name)
    return tuple(
        Move(0, name, i, gpus, source, destination)
        for gpus in sorted(leaving, reverse=True)
        for (name, i, source), destination in zip(leaving[gpus], arriving[gpus], strict=True)
    )


def _partial_and_empty(snapshot: Snapshot) -> tuple[int, int]:
    used = snapshot.used_gpus()
    partial = sum(0 < used[node.name] < node.gpus for node in snapshot.nodes)
    return partial, sum(used[node.name] == 0 < node.gpus for node in snapshot.nodes)


def _frontier(snapshot: Snapshot, deadline: Deadline) -> tuple[PlanFrontierPoint, ...]:
    """Return the frontier of all pools together: by how the limit is divided among them, the cheapest division."""
    pools = [
        pool_frontier(constrained_problem(nodes), time_limit=deadline.seconds_left).points
        for nodes in contents_by_pool(snapshot).values()
    ]
    fewest = sum(points[-1].partial_nodes for points in pools)
    attained, proved = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for points in pools:
        attained = _cheapest_sums(attained, [point.migrations for point in reversed(points)])
        proved = _cheapest_sums(proved, [point.lower_bound for point in reversed(points)])
    rows = zip(attained.tolist(), proved.tolist(), strict=True)
    found = [PlanFrontierPoint(fewest + extra, migrations, lower) for extra, (migrations, lower) in enumerate(rows)]
    return tuple(reversed(found))


def _cheapest_sums(one: Integers, other: Sequence[int]) -> Integers:
    """Return for every i the least one[j] + other[i - j]."""
    sums = np.full(len(one) + len(other) - 1, np.iinfo(np.int64).max)
    for shift, value in enumerate(other):
        part = sums[shift : shift + len(one)]
        np.minimum(part, one + value, out=part)
    return sums
