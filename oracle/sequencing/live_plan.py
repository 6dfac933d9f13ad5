"""Fewest partial nodes by moves into free space alone, and the shortest sequence of such moves there.

Some placements cannot be reached live however long one tries, and some only by parking an instance on the way. What
is proved is said: by exhausting the placements that live moves reach in small pools, by the bounds of the plans that
may stop instances in large ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from oracle.certificate import Status
from oracle.exact import solve_pool
from oracle.node_classes import constrained_problem, contents_by_pool
from oracle.replay import Occupancy, replay
from oracle.sequencing.live_moves import NamedNodes, park_instead_of_stopping, partial_counts, without_stops
from oracle.sequencing.live_search import AtMostPartial, Holding, LiveSpace, search_live
from oracle.sequencing.rematching import order_interchangeably
from oracle.sequencing.timetable import in_steps
from oracle.solver import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.moves import Move, Relocated
    from oracle.node_classes import NodeContent
    from oracle.sequencing.live_search import LiveSearch, State
    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True)
class Target:
    """Relocations that leave a pool with so few partial nodes, if any are known, and how many there must be at least.

    Whether they can be made live is not asked.
    """

    relocations: tuple[Relocated, ...] | None
    lower_bound: int


TargetFinder: TypeAlias = Callable[[str, int], Target | None]
"""From a pool and a number of partial nodes to the fewest relocations there; None: no placement has so few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlan:
    """Live moves, in steps, that leave few partial nodes.

    Attributes
    ----------
    moves
        Sorted by step; every one goes into space that is free before its step. An instance that is parked on the way
        moves more than once.
    partial_nodes
        Partial nodes of the whole snapshot after them.
    partial_nodes_lower_bound
        No sequence of live moves leaves fewer, or fewer than were asked for.
    moves_lower_bound
        Every sequence of live moves to so few partial nodes has at least so many moves.
    status
        OPTIMAL if both bounds are met.
    """

    moves: tuple[Move, ...]
    partial_nodes: int
    partial_nodes_lower_bound: int
    moves_lower_bound: int

    @property
    def status(self) -> Status:
        """OPTIMAL if both bounds are met."""
        met = (self.partial_nodes, len(self.moves)) == (self.partial_nodes_lower_bound, self.moves_lower_bound)
        return Status.OPTIMAL if met else Status.UNKNOWN


def live_plan(
    snapshot: Snapshot,
    *,
    max_partial_nodes: int | None = None,
    find_target: TargetFinder | None = None,
    max_per_job_at_once: int | None = None,
    time_limit: float | None = None,
) -> LivePlan:
    """Return a shortest sequence of live moves to at most so many partial nodes.

    If no live sequence leads there, the plan is one to the fewest partial nodes that live moves reach.

    Parameters
    ----------
    snapshot
        The cluster.
    max_partial_nodes
        Partial nodes of the whole snapshot to reach; None for as few as any placement has.
    find_target
        Knows the fewest relocations when instances may be stopped. If those can be ordered live they are optimal
        without a search; in large pools nothing else finds a plan.
    max_per_job_at_once
        At most so many instances of one job may move at a time.
    time_limit
        Seconds after which the search gives up; None for as long as its own limits let it.
    """
    deadline = Deadline(time_limit)
    pools = [
        _Pool(snapshot, pool, contents, find_target, deadline) for pool, contents in contents_by_pool(snapshot).items()
    ]
    fewest = sum(pool.fewest for pool in pools)
    if max_partial_nodes is None or max_partial_nodes < fewest:
        found = _everywhere(pools)
    else:
        found = _shared_out(pools, max_partial_nodes - fewest)
    if found is None:
        found = _furthest(pools)
    sequence = (move for route in found.routes for move in route.moves)
    moves = in_steps(sequence, Occupancy(snapshot).free, max_per_job_at_once)
    replay(snapshot, moves, max_per_job_at_once=max_per_job_at_once)
    return LivePlan(
        moves=moves,
        partial_nodes=sum(route.partial_nodes for route in found.routes),
        partial_nodes_lower_bound=found.partial_lower_bound,
        moves_lower_bound=found.lower_bound,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """Live moves of one pool.

    Attributes
    ----------
    moves
        In order, without steps.
    partial_nodes, partial_lower_bound
        Partial nodes of the pool after them; and no live sequence leaves fewer than the bound.
    lower_bound
        Every live sequence to so few partial nodes has at least so many moves.
    """

    moves: tuple[Move, ...]
    partial_nodes: int
    partial_lower_bound: int
    lower_bound: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A route for every pool, and the bounds of `LivePlan` for all of them together."""

    routes: list[_Route]
    partial_lower_bound: int
    lower_bound: int


@dataclass(frozen=True, slots=True)
class _Goal:
    """Whether some number of partial nodes can be reached: a route if one was found, else whether there is none."""

    route: _Route | None
    impossible: bool


class _Pool:
    """One pool, with what has been found out about it."""

    def __init__(
        self,
        snapshot: Snapshot,
        name: str,
        contents: Sequence[NodeContent],
        find_target: TargetFinder | None,
        deadline: Deadline,
    ) -> None:
        self._snapshot = snapshot
        self._name = name
        self._contents = contents
        self._find_target = find_target
        self._deadline = deadline
        self._space = LiveSpace()
        self._start = self._space.state(map(Holding.of, contents))
        self._exhausted: LiveSearch | None = None
        self._goals: dict[int, _Goal] = {}
        self._attempts: list[_Route] = []
        # The most partial nodes for which a search gave up: one for fewer is not begun.
        self._gave_up = -1
        self.partial_nodes = self._partial(self._start)
        placed = constrained_problem(contents)
        optimum = solve_pool(placed.problem, start=placed.current, time_limit=deadline.seconds_left, prefer_empty=False)
        # No placement has fewer partial nodes; and so few are known to be possible, live or not.
        self.fewest, self.attained = optimum.lower_bound, optimum.partial_nodes

    def reach(self, partial_nodes: int) -> _Goal:
        """Return the shortest route to at most so many partial nodes that is found, and what is known if none is."""
        if partial_nodes not in self._goals:
            self._goals[partial_nodes] = self._reach(partial_nodes)
        return self._goals[partial_nodes]

    def furthest(self) -> _Route:
        """Return a shortest route to the fewest partial nodes that live moves reach, as far as is known."""
        self.reach(self.attained)
        if self._exhausted is not None:
            fewest = min(map(self._partial, self._exhausted.reached))
            route = self._within(self._exhausted, fewest)
            if route is not None:
                return route
        staying = _Route(moves=(), partial_nodes=self.partial_nodes, partial_lower_bound=self.fewest, lower_bound=0)
        found = [goal.route for goal in self._goals.values() if goal.route is not None]
        return min([staying, *self._attempts, *found], key=lambda route: (route.partial_nodes, len(route.moves)))

    def _reach(self, goal: int) -> _Goal:
        if goal >= self.partial_nodes:
            return _Goal(self._route((), 0), impossible=False)
        if goal < self.fewest:
            return _Goal(None, impossible=True)
        if self._exhausted is not None:
            route = self._within(self._exhausted, goal)
            return _Goal(route, impossible=route is None)
        target = Target(None, 0) if self._find_target is None else self._find_target(self._name, goal)
        if target is None:
            return _Goal(None, impossible=True)
        known = self._ordered(target, goal)
        if goal < self._gave_up or (known is not None and len(known) <= target.lower_bound):
            return _Goal(None if known is None else self._route(known, target.lower_bound), impossible=False)
        return self._searched(goal, target.lower_bound, known)

    def _searched(self, goal: int, lower_bound: int, known: tuple[Move, ...] | None) -> _Goal:
        search = search_live(
            self._space,
            self._start,
            AtMostPartial(goal),
            lower_bound=lower_bound,
            upper_bound=None if known is None else len(known),
            deadline=self._deadline,
        )
        if search.exhausted:
            self._exhausted = search
        if search.hops is not None:
            moves = NamedNodes(self._snapshot, self._name).carry_out(search.hops)
            return _Goal(self._route(moves, search.lower_bound), impossible=False)
        if known is not None:
            return _Goal(self._route(known, search.lower_bound), impossible=False)
        if not search.exhausted:
            self._gave_up = max(self._gave_up, goal)
            nearest = self._within(search, min(map(self._partial, search.reached)))
            self._attempts += [] if nearest is None else [nearest]
        return _Goal(None, impossible=search.exhausted)

    def _ordered(self, target: Target, goal: int) -> tuple[Move, ...] | None:
        """Return the target's relocations as a live sequence, parking where they would stop; None if that fails."""
        if target.relocations is None:
            return None
        order = order_interchangeably(self._snapshot, target.relocations, deadline=self._deadline)
        occupancy = Occupancy(self._snapshot)
        sequence = order.moves if order.live else park_instead_of_stopping(order, occupancy)
        if sequence is not None:
            return sequence if partial_counts(sequence, self._contents)[-1] <= goal else None
        moves = without_stops(order, occupancy)
        counts = partial_counts(moves, self._contents)
        self._attempts.append(self._route(moves[: counts.index(min(counts))], 0))
        return None

    def _within(self, search: LiveSearch, partial_nodes: int) -> _Route | None:
        """Return the shortest route found to a state with at most so many partial nodes."""
        states = [state for state in search.reached if self._partial(state) <= partial_nodes]
        if not states:
            return None
        state = min(states, key=search.reached.__getitem__)
        moves = NamedNodes(self._snapshot, self._name).carry_out(search.path(state))
        bound = self._partial(state) if search.exhausted else self.fewest
        return _Route(
            moves=moves,
            partial_nodes=self._partial(state),
            partial_lower_bound=bound,
            lower_bound=len(moves) if search.exhausted else 0,
        )

    def _route(self, moves: tuple[Move, ...], lower_bound: int) -> _Route:
        return _Route(
            moves=moves,
            partial_nodes=partial_counts(moves, self._contents)[-1],
            partial_lower_bound=self.fewest,
            lower_bound=lower_bound,
        )

    def _partial(self, state: State) -> int:
        return sum(nodes for number, nodes in state if self._space.is_partial[number])


def _everywhere(pools: Sequence[_Pool]) -> _Found | None:
    """Return a route to the fewest partial nodes of every pool; None if one has no such route."""
    routes = [goal.route for goal in (pool.reach(pool.attained) for pool in pools) if goal.route is not None]
    if len(routes) < len(pools):
        return None
    return _Found(routes, sum(pool.fewest for pool in pools), sum(route.lower_bound for route in routes))


def _shared_out(pools: Sequence[_Pool], spare: int) -> _Found | None:
    """Return the shortest routes to the fewest partial nodes and at most `spare` more; None if none were found.

    A dynamic program over the pools: how many of the spare ones are left. No pool has to avoid more partial nodes than
    all of them together have to, so a single pool is asked for one number only.
    """
    avoided = sum(pool.partial_nodes - pool.fewest for pool in pools) - spare
    cheapest: dict[int, list[_Route]] = {spare: []}
    bounds: dict[int, int] = {spare: 0}
    for pool in pools:
        routes: dict[int, list[_Route]] = {}
        least: dict[int, int] = {}
        avoidable = pool.partial_nodes - pool.fewest
        # The easiest first: where that is not settled, the others are not either.
        for extra in reversed(range(max(0, avoidable - max(0, avoided)), max(0, min(spare, avoidable)) + 1)):
            goal = pool.reach(pool.fewest + extra)
            if goal.impossible:
                continue
            bound = 0 if goal.route is None else goal.route.lower_bound
            for left in (left - extra for left in bounds if left >= extra):
                least[left] = min(bounds[left + extra] + bound, least.get(left, bounds[left + extra] + bound))
            for left in (left - extra for left in cheapest if left >= extra and goal.route is not None):
                candidate = [*cheapest[left + extra], *([] if goal.route is None else [goal.route])]
                routes[left] = min(candidate, routes.get(left, candidate), key=_moves)
        cheapest, bounds = routes, least
    if not cheapest:
        return None
    best = min(cheapest.values(), key=_moves)
    return _Found(best, sum(route.partial_nodes for route in best), min(bounds.values()))


def _furthest(pools: Sequence[_Pool]) -> _Found:
    routes = [pool.furthest() for pool in pools]
    return _Found(
        routes, sum(route.partial_lower_bound for route in routes), sum(route.lower_bound for route in routes)
    )


def _moves(routes: Iterable[_Route]) -> int:
    return sum(len(route.moves) for route in routes)
