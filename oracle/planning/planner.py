"""The plan that mends a snapshot: the fewest partial nodes within the limits, the fewest moves there, and their order.

Pools are searched at pattern level (`oracle.optimum.pools`), their plans are given to nodes and instances, and the
moves are put in an order that has been replayed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.moves.move import Move, MoveMode, MoveOrder, with_names
from oracle.moves.ordering import NoOrderError, live_sequence, live_start, order_interchangeably
from oracle.moves.pool_part import part_of
from oracle.moves.reach import partial_nodes, shortest_live
from oracle.moves.replay import Occupancy, replay
from oracle.moves.steps import in_steps
from oracle.optimum import interruption
from oracle.optimum.certificate import Status
from oracle.optimum.exact import InfeasibleError, UndecidedError
from oracle.optimum.solver import Deadline
from oracle.planning.result import Asked, Plan, PoolEvidence
from oracle.planning.reuse import destinations
from oracle.planning.whose import Choice, CountingBound, WhoseSearch
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from oracle.optimum.pools import PoolsSearch, SplitPlan
    from oracle.snapshots.model import Snapshot
    from oracle.snapshots.stocks import Key

__all__ = ["Asked", "Plan", "PoolEvidence", "plan"]

# What it takes to put moves in order and play them, for each instance of a cluster in which a fifth of them move.
_SECONDS_AN_INSTANCE = 1.35e-4


def plan(
    snapshot: Snapshot,
    *,
    max_partial_nodes: int | None = None,
    max_migrations: int | None = None,
    max_jobs_disturbed: int | None = None,
    max_per_job_at_once: int | None = None,
    max_per_budget: int | None = None,
    max_priority: int | None = None,
    moves: MoveMode | str = MoveMode.CHECKPOINT,
    protected: Iterable[str] = (),
    weights: Mapping[str, int] | None = None,
    pool: str | None = None,
    start_from: Plan | None = None,
    time_limit: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Plan:
    """Return a plan that leaves the fewest partial nodes, or no more than a limit, with as few moves as possible.

    Of plans as good, one is sought that disturbs jobs of little weight.

    Parameters
    ----------
    snapshot
        The cluster.
    max_partial_nodes
        Partial nodes of all pools together that may be left; None for as few as possible.
    max_migrations, max_jobs_disturbed
        Moves that may be made, and jobs of which instances may move; the plan then leaves as few partial nodes as
        these reach.
    max_per_job_at_once
        At most so many instances of one job may be stopped or moving at a time.
    max_per_budget
        At most so many instances of one disruption budget may be, or as many as the budget allows if those are fewer.
    max_priority
        Jobs of a higher priority, and those whose priority is not known, are not moved.
    moves
        Whether an instance may be stopped before its destination is free (`checkpoint`), or every move must go into
        free space (`live`). Where no live moves lead within `max_partial_nodes`, a live plan leaves as few as they can.
    protected
        Jobs, namespaces and instances that are not moved; `oracle.moves.move.protect` says how they are named.
    weights
        What it costs to disturb a job, at least 0; 1 for jobs not named.
    pool
        Plan this pool only: moves, figures and limits are about its nodes.
    start_from
        An earlier plan, perhaps of the cluster as it was a moment ago. Where instances are searched by name, that
        starts from where this plan puts them, as far as they may go there still; where a program settles a pool at
        once, it has no say.
    time_limit
        Seconds of wall time; None for as long as it takes. What is not settled by then is UNKNOWN.
    on_progress
        Called with what is being done and what is known by then, in words, as the search goes on.

    Raises
    ------
    InfeasibleError
        The limits cannot be kept.
    UndecidedError
        No plan within the limits was found in time, but there may be one.
    UnknownJobError
        A protected name stands for nothing that runs, or a weight is that of no running job.
    UnknownPoolError
        No node is in `pool`.
    ValueError
        A limit or a weight is negative, `max_per_job_at_once` is below 1, or `moves` is no such mode.
    """
    asked = Asked(
        max_partial_nodes=max_partial_nodes,
        max_migrations=max_migrations,
        max_jobs_disturbed=max_jobs_disturbed,
        max_per_job_at_once=max_per_job_at_once,
        max_per_budget=max_per_budget,
        max_priority=max_priority,
        protected=tuple(sorted(set(protected))),
        weights=dict(weights or {}),
        pool=pool,
    )
    mode = MoveMode(moves)
    asked.check(snapshot)
    # To put moves in order and play them takes its time.
    least = time_limit is not None and min(
        time_limit / 3, _SECONDS_AN_INSTANCE * sum(len(job.instances) for job in snapshot.jobs)
    )
    deadline = Deadline(None if time_limit is None else time_limit - least)
    start = None if start_from is None else destinations(start_from, snapshot)
    planner = _Planner(asked.spared(snapshot), asked, deadline, on_progress or _say_nothing, start)
    return planner.checkpoint() if mode is MoveMode.CHECKPOINT else planner.live()


def _say_nothing(_: str) -> None:
    pass


class _Planner:
    def __init__(
        self,
        whole: Snapshot,
        asked: Asked,
        deadline: Deadline,
        tell: Callable[[str], None],
        start: Mapping[Key, str] | None,
    ) -> None:
        self._whole = whole
        self._part = part_of(whole, asked.pool)
        self._start = start
        self._snapshot = self._part.snapshot
        self._contents = self._snapshot.contents
        self._asked = asked
        self._deadline = deadline
        self._tell = tell

    def checkpoint(self) -> Plan:
        """Return the plan if instances may be stopped."""
        self._tell("fewest partial nodes, fewest moves")
        search = self._whose()
        split, partial_bound = self._split(search.pools)
        most_jobs = self._asked.max_jobs_disturbed
        moves = _range(split.lower_bound, split.migrations, "move")
        self._tell(f"{moves} to {_range(partial_bound, split.partial_nodes, 'partial node')}; choosing whose")
        choice = search.choose(split)
        if most_jobs is not None and len(choice.jobs) > most_jobs:
            choice, partial_bound = self._with_fewer_jobs(search, most_jobs)
        self._tell(f"{moves}; putting them in order")
        limit = self._asked.max_per_job_at_once
        try:
            order = order_interchangeably(self._snapshot, choice.moves, max_per_job_at_once=limit)
        except NoOrderError:
            return self._one_at_a_time(search, partial_bound)
        known = replace(choice, partial_lower_bound=partial_bound)
        return self._plan(MoveMode.CHECKPOINT, order, search.pools, known)

    def _whose(self) -> WhoseSearch:
        asked = self._asked
        limits = (asked.max_partial_nodes, asked.max_migrations, asked.max_jobs_disturbed)
        # Only limits ask for plans that leave more partial nodes.
        best_only = all(limit is None for limit in limits)
        return WhoseSearch(self._snapshot, asked.weights, self._deadline, self._start, best_only=best_only)

    def _claims(self, partial_nodes: int, moves_bound: int, partial_bound: int) -> list[tuple[int, int]]:
        """Return what is to be proved: pairs of a limit on the partial nodes and the moves that it takes at least."""
        claims = [(max(partial_nodes, self._asked.max_partial_nodes or 0), moves_bound)]
        if self._asked.max_migrations is not None:
            claims.append((partial_bound - 1, self._asked.max_migrations + 1))
        return claims

    def _split(self, search: PoolsSearch) -> tuple[SplitPlan, int]:
        """Return the plans of the pools, and a bound on their partial nodes."""
        bound = search.lowest
        asked, most_moves = self._asked.max_partial_nodes, self._asked.max_migrations
        if asked is not None and asked < bound:
            raise InfeasibleError(f"at least {bound} nodes are partial, however instances are moved")
        if most_moves is None:
            if asked is not None and asked < search.fewest:
                raise UndecidedError(f"no plan with {asked} partial nodes was found in time; there may be one")
            return search.cheapest(search.fewest if asked is None else asked), bound
        plan, bound = search.fewest_partial_nodes(most_moves)
        if asked is None:
            return plan, bound
        if asked < bound:
            raise InfeasibleError(f"{most_moves} migrations leave at least {bound} partial nodes, not {asked}")
        if asked < plan.partial_nodes:
            raise UndecidedError(
                f"no plan with {asked} partial nodes and {most_moves} migrations was found in time; there may be one"
            )
        return search.cheapest(asked), bound

    def _with_fewer_jobs(self, search: WhoseSearch, most: int) -> tuple[Choice, int]:
        """Return a choice that disturbs few enough jobs, and a bound on its partial nodes."""
        asked = self._asked.max_partial_nodes
        choice = search.choose_within(most, self._asked.max_migrations, asked or 0)
        bound = choice.partial_lower_bound
        if asked is None or choice.partial_nodes <= asked:
            # What was asked for is no bound on what others leave.
            lower = bound if asked is None else search.pools.lowest
            return choice, lower
        if bound > asked:
            raise InfeasibleError(f"{most} disturbed jobs leave at least {bound} partial nodes, not {asked}")
        raise UndecidedError(
            f"no plan with {asked} partial nodes and {most} disturbed jobs was found; there may be one"
        )

    def _one_at_a_time(self, search: WhoseSearch, partial_bound: int) -> Plan:
        """Return the plan of moves into free space: they can be made one at a time, so they keep to any limit."""
        asked = self._asked.max_partial_nodes
        found = self._into_free_space(search)
        left = found.partial_nodes_after
        if asked is not None and left > asked:
            raise UndecidedError(
                f"no plan with {asked} partial nodes and at most {self._asked.max_per_job_at_once} instances of a job "
                "down at a time was found; there may be one"
            )
        fewest_moves = min(search.pools.cheapest(max(left, search.pools.fewest)).lower_bound, found.migrations)
        return replace(
            found,
            mode=MoveMode.CHECKPOINT,
            partial_nodes_lower_bound=min(partial_bound, left),
            migrations_lower_bound=fewest_moves,
        )

    def live(self) -> Plan:
        """Return the plan if every move goes into free space."""
        # The best plan of all is the best live one if nothing has to stop for it.
        try:
            found = _Planner(self._whole, self._asked, self._deadline.half(), self._tell, self._start).checkpoint()
        except UndecidedError:
            return self._into_free_space()
        if found.live and found.status is Status.OPTIMAL:
            # Of a live plan the bound counts from what was asked for.
            left = found.partial_nodes_after
            bound = found.partial_nodes_lower_bound if self._asked.max_partial_nodes is None else left
            return replace(found, mode=MoveMode.LIVE, partial_nodes_lower_bound=bound)
        return self._into_free_space()

    def _into_free_space(self, whose: WhoseSearch | None = None) -> Plan:
        """Return the plan of moves into free space: of all that there are in small pools, else of some."""
        self._tell("moves into free space")
        whose = whose or self._whose()
        search = whose.pools
        split, bound = self._split(search)
        every = self._every_live_plan() if self._deadline.is_open() else None
        plans = self._some_live_plans(whose, split) if every is None else every
        kept = [(left, moves) for left, moves in plans.items() if self._keeps_limits(moves)]
        asked = self._asked.max_partial_nodes
        within = [one for one in kept if asked is not None and one[0] <= asked]
        left, moves = min(within, key=lambda one: len(one[1])) if within else min(kept)
        limited = self._asked.max_migrations is not None or self._asked.max_jobs_disturbed is not None
        if asked is not None and not within and limited:
            raise UndecidedError(
                f"no live plan with {asked} partial nodes within the limits on moves and jobs was found; "
                "there may be one"
            )
        limit = self._asked.max_per_job_at_once
        order = MoveOrder(moves=in_steps(moves, Occupancy(self._snapshot, max_per_job_at_once=limit)))
        if every is not None and self._asked.max_jobs_disturbed is None:
            known = self._known_of_live(search, order, left, left, len(moves))
        else:
            known = self._known_of_live(search, order, left, min(left, max(bound, asked or 0)), 0)
        return self._plan(MoveMode.LIVE, order, search, known)

    def _every_live_plan(self) -> dict[int, tuple[Move, ...]] | None:
        """Return the shortest live sequence to each number of partial nodes that one leads to; None if too many do."""
        found: dict[int, tuple[Move, ...]] = {0: ()}
        for pool in self._contents:
            reached = shortest_live(self._snapshot, pool, partial_nodes)
            if reached is None:
                return None
            pairs = [(k + more, (*moves, *further)) for k, moves in found.items() for more, further in reached.items()]
            # The longest first, so that the shortest is what stays.
            found = dict(sorted(pairs, key=lambda pair: -len(pair[1])))
        return found

    def _some_live_plans(self, whose: WhoseSearch, split: SplitPlan) -> dict[int, tuple[Move, ...]]:
        """Return live sequences by the partial nodes they leave.

        The cheapest plan for as few partial nodes as possible, then for more and more, is put in an order in which
        instances are parked where they would have to stop; of one that cannot be, what can be made is taken.
        """
        search = whose.pools
        found: dict[int, tuple[Move, ...]] = {search.present: ()}
        for limit in _rising(split.partial_nodes, search.present):
            cheapest = split if limit == split.partial_nodes else search.cheapest(limit)
            relocated = whose.relocations(cheapest.plans)
            moves = live_sequence(self._snapshot, relocated)
            made = live_start(self._snapshot, relocated) if moves is None else moves
            left, _ = replay(self._snapshot, in_steps(made, Occupancy(self._snapshot))).partial_and_empty()
            if left not in found or len(made) < len(found[left]):
                found[left] = made
            if (moves is not None and self._keeps_limits(moves)) or not self._deadline.is_open():
                break
        return found

    def _known_of_live(self, search: PoolsSearch, order: MoveOrder, left: int, bound: int, moves: int) -> Choice:
        """Return live moves with what is known about all others.

        What bounds plans that may stop instances bounds these too; by trying, at least `moves` are known to be needed.
        """
        after = replay(self._snapshot, order.moves).contents
        plans = tuple(
            search.settled(p, sum(0 < node.used < node.capacity for node in nodes))
            for p, nodes in enumerate(after.values())
        )
        # So many instances change their node in every plan that leaves each pool as few partial nodes, live or not.
        leaving = sum(one.lower_bound for one in plans)
        counting = CountingBound(self._snapshot, self._asked.weights)
        return Choice(
            moves=order.moves,
            plans=plans,
            partial_lower_bound=bound,
            migrations_lower_bound=max(
                moves, min(search.cheapest(max(left, search.fewest)).lower_bound, len(order.moves))
            ),
            jobs_lower_bound=counting.jobs(leaving),
            weight_lower_bound=counting.weight(leaving),
        )

    def _keeps_limits(self, moves: tuple[Move, ...]) -> bool:
        most_moves, most_jobs = self._asked.max_migrations, self._asked.max_jobs_disturbed
        few_moves = most_moves is None or len(moves) <= most_moves
        return few_moves and (most_jobs is None or len({move.job for move in moves}) <= most_jobs)

    def _weight(self, job: str) -> int:
        return self._asked.weights.get(job, 1)

    def _plan(self, mode: MoveMode, order: MoveOrder, search: PoolsSearch, known: Choice) -> Plan:
        """Return the plan of these moves, with what is known about all others."""
        limit = self._asked.max_per_job_at_once
        before = self._snapshot.partial_and_empty()
        after = replay(self._snapshot, order.moves, order.stops, max_per_job_at_once=limit).partial_and_empty()
        moves = with_names(self._whole, self._part.moves(order.moves))
        stops = with_names(self._whole, self._part.stops(order.stops))
        if self._asked.pool is not None:
            replay(self._whole, moves, stops, max_per_job_at_once=limit)
        claims = self._claims(after[0], known.migrations_lower_bound, known.partial_lower_bound)
        further = search.arguments(claims, beside=known.plans)
        jobs = {move.job for move in moves}
        disturbance = sum(map(self._weight, jobs))
        return Plan(
            snapshot=self._whole,
            asked=self._asked,
            mode=mode,
            moves=moves,
            stops=stops,
            partial_nodes_before=before[0],
            partial_nodes_after=after[0],
            empty_nodes_before=before[1],
            empty_nodes_after=after[1],
            partial_nodes_lower_bound=known.partial_lower_bound,
            migrations_lower_bound=min(known.migrations_lower_bound, len(moves)),
            jobs_disturbed_lower_bound=min(known.jobs_lower_bound, len(jobs)),
            disturbance=disturbance,
            disturbance_lower_bound=min(known.weight_lower_bound, disturbance),
            interrupted=interruption.is_requested(),
            evidence=tuple(
                PoolEvidence(pool=pool, inherent=inherent, migrations=migrations, further=more)
                for pool, inherent, migrations, more in zip(
                    self._contents, search.inherent, known.plans, further, strict=True
                )
            ),
        )


def _rising(first: int, last: int) -> Iterator[int]:
    """Yield numbers from the first to the last, at growing distances."""
    step, number = 1, first
    while number < last:
        yield number
        number += step
        step *= 2
    yield max(first, last)


def _range(lowest: int, attained: int, noun: str) -> str:
    return count(attained, noun) if lowest >= attained else f"{lowest} to {count(attained, noun)}"
