"""Room for several waiting jobs at once by moves into free space alone: sets of jobs tried one by one, largest first.

Exact for short queues and small pools; what was not settled is told by the bounds.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product
from typing import TYPE_CHECKING

from oracle.rooms.joint_room import JointRoom
from oracle.sequencing.live_moves import NamedNodes
from oracle.sequencing.live_search import Holding, LiveSpace, search_live

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.moves import Move
    from oracle.node_classes import NodeContent, Pattern
    from oracle.sequencing.live_search import LiveSearch, State
    from oracle.snapshots.model import PendingJob, Snapshot
    from oracle.solver import Deadline

# Sets of jobs, each with a choice of pools, that are tried: enough for every set of seven jobs.
MAX_SETS = 200


def make_joint_room_live(
    snapshot: Snapshot,
    contents: Mapping[str, Sequence[NodeContent]],
    jobs: Sequence[PendingJob],
    most: int,
    deadline: Deadline,
) -> JointRoom:
    """Return the largest set of jobs that can start together after live moves, and the shortest sequence for so many.

    Parameters
    ----------
    snapshot, contents
        The cluster and its nodes by pool.
    jobs
        The queue.
    most
        No more than these can start together, whatever is moved.
    deadline
        When to give up.
    """
    rooms = _LiveRooms(snapshot, contents, deadline)
    left = MAX_SETS
    unsettled: int | None = None
    for size in range(most, 0, -1):
        best: tuple[dict[int, str], int] | None = None
        bounds: list[int] = []
        for pools in _choices(jobs, size, contents):
            left -= 1
            if left < 0:
                return _found(rooms, jobs, best, most if unsettled is None else unsettled, 0)
            searches = [rooms.search(pool, wanted) for pool, wanted in _wanted(jobs, pools)]
            if any(search.exhausted for search in searches):
                continue
            bounds.append(sum(search.lower_bound for search in searches))
            if all(search.hops is not None for search in searches):
                moves = sum(len(search.hops or ()) for search in searches)
                best = min(best or (pools, moves), (pools, moves), key=lambda found: found[1])
            elif unsettled is None:
                unsettled = size
        if best is not None:
            return _found(rooms, jobs, best, size if unsettled is None else unsettled, min(bounds))
    return _found(rooms, jobs, None, unsettled or 0, 0)


def fit_together(free: Sequence[int], wanted: Sequence[int]) -> list[int] | None:
    """Return the node of each of these instances, so that none gets more than it has free; None if there is no way.

    Parameters
    ----------
    free
        GPUs that new instances can have, by node.
    wanted
        Demands, descending.
    """
    dead: set[tuple[tuple[int, ...], int]] = set()
    left = list(free)
    chosen: list[int] = []

    def place(i: int) -> bool:
        if i == len(wanted):
            return True
        # The tightest node first; nodes with equal room are the same.
        room = {gpus: n for n, gpus in enumerate(left) if gpus >= wanted[i]}
        key = tuple(sorted(gpus for gpus in left if gpus)), i
        if key in dead or sum(left) < sum(wanted[i:]):
            return False
        for gpus in sorted(room):
            left[room[gpus]] -= wanted[i]
            chosen.append(room[gpus])
            if place(i + 1):
                return True
            chosen.pop()
            left[room[gpus]] += wanted[i]
        dead.add(key)
        return False

    return chosen if place(0) else None


class _RoomForAll:
    """The goal that instances of several demands have room together."""

    def __init__(self, wanted: Pattern) -> None:
        self._wanted = wanted
        self._known: dict[tuple[int, ...], bool] = {}

    def distance(self, space: LiveSpace, state: State) -> int:
        """Return 0 if they have, else 1."""
        free = tuple(sorted(space.free[number] for number, nodes in state for _ in range(nodes)))
        if free not in self._known:
            self._known[free] = fit_together(free, self._wanted) is not None
        return int(not self._known[free])


class _LiveRooms:
    """Searches pool by pool; the same question is asked once."""

    def __init__(self, snapshot: Snapshot, contents: Mapping[str, Sequence[NodeContent]], deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self._open = {
            pool: [content for content in nodes if content.takes_instances] for pool, nodes in contents.items()
        }
        self._known: dict[tuple[str, Pattern], LiveSearch] = {}

    def search(self, pool: str, wanted: Pattern) -> LiveSearch:
        """Return the search for the shortest sequence after which these instances have room in a pool."""
        if (pool, wanted) not in self._known:
            space = LiveSpace()
            start = space.state(map(Holding.of, self._open[pool]))
            search = search_live(space, start, _RoomForAll(wanted), deadline=self._deadline)
            self._known[pool, wanted] = search
        return self._known[pool, wanted]

    def carry_out(self, pool: str, wanted: Pattern) -> tuple[tuple[Move, ...], list[str]]:
        """Return the sequence that was found, and the node of each instance after it."""
        moves = NamedNodes(self._snapshot, pool).carry_out(self.search(pool, wanted).hops or ())
        free = {content.name: content.capacity - content.used for content in self._open[pool]}
        for move in moves:
            free[move.source] += move.gpus
            free[move.destination] -= move.gpus
        names = list(free)
        return moves, [names[n] for n in fit_together(list(free.values()), wanted) or ()]


def _choices(jobs: Sequence[PendingJob], size: int, pools: Iterable[str]) -> Iterator[dict[int, str]]:
    """Yield every set of so many jobs with a pool for each, sets of early jobs first."""
    known = list(pools)
    for chosen in combinations(range(len(jobs)), size):
        options = [[pool for pool in known if jobs[j].pool in {None, pool}] for j in chosen]
        for choice in product(*options):
            yield dict(zip(chosen, choice, strict=True))


def _wanted(jobs: Sequence[PendingJob], pools: Mapping[int, str]) -> Iterator[tuple[str, Pattern]]:
    """Yield the demands, descending, that a set of jobs adds to each pool."""
    demands: defaultdict[str, list[int]] = defaultdict(list)
    for j, pool in pools.items():
        demands[pool] += [jobs[j].gpus_per_instance] * jobs[j].instances
    return ((pool, tuple(sorted(gpus, reverse=True))) for pool, gpus in demands.items())


def _found(
    rooms: _LiveRooms,
    jobs: Sequence[PendingJob],
    best: tuple[dict[int, str], int] | None,
    most: int,
    moves_lower_bound: int,
) -> JointRoom:
    moves: list[Move] = []
    nodes: dict[int, tuple[str, ...]] = {}
    pools = {} if best is None else best[0]
    for pool, wanted in _wanted(jobs, pools):
        sequence, places = rooms.carry_out(pool, wanted)
        moves += sequence
        slots: defaultdict[int, list[str]] = defaultdict(list)
        for gpus, node in zip(wanted, places, strict=True):
            slots[gpus].append(node)
        for j in sorted(j for j, at in pools.items() if at == pool):
            of_demand = slots[jobs[j].gpus_per_instance]
            nodes[j] = tuple(of_demand.pop() for _ in range(jobs[j].instances))
    return JointRoom(pools=pools, nodes=nodes, moves=tuple(moves), most=most, moves_lower_bound=moves_lower_bound)
