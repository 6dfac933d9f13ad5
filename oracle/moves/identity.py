"""Who is who in two snapshots: the one place that says what an instance is known by while a plan is carried out.

An instance is known by its job and, within it, by the first of these that there is:

1. its *index*, which it keeps when it is started anew: a completion index, an ordinal, a replica's number. One whose
   index the later snapshot does not have does not run, whatever else runs in its job;
2. its *name*. A name seen again is the same instance. A name not seen again proves nothing, because most pods have
   another name after every start, and so it leaves the instance to the third rule;
3. nothing of its own: Slurm's jobs, and what has neither name nor index. Such instances of one job and one demand can
   stand in for one another, and only their number on each node is known.

Never by position: a reader that lists one instance less counts on with the next.

By the third rule several readings may fit, and the one is taken in which least is lost. As many are missing as the job
has fewer of them than it had at the start. As few of the missing as possible are ones that the plan does not stop; then
as few as possible are on nodes where the plan does not put them; then it agrees as well as possible with how far the
plan has come (`Progress`). So an instance that the plan stops counts as done only if its job is complete with it, and
whichever of its equals is named, as many run after the rest of the plan as at the start. What no reading can tell is a
job that grew by an instance while one of its own was stopped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias, cast

from oracle.moves.move import Move, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oracle.snapshots.model import RunningInstance

Price: TypeAlias = "Callable[[Way, int], int]"
"""How unlikely it is that so many events of a way have happened; 0 or more."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a plan does to one instance, in order.

    Attributes
    ----------
    home
        The node it is on at the start.
    events
        Its stops and moves.
    """

    home: str
    events: tuple[Move | Stop, ...]

    @property
    def places(self) -> tuple[str | None, ...]:
        """Where it is at the start and after each event; None while it is stopped."""
        return (self.home, *(event.destination if isinstance(event, Move) else None for event in self.events))

    @property
    def stops(self) -> bool:
        """Whether the plan stops it."""
        return any(isinstance(event, Stop) for event in self.events)

    def happened(self, place: str | None, price: Price) -> int | None:
        """Return how many events have happened if it is here now; None if the plan never puts it here."""
        fitting = [count for count, there in enumerate(self.places) if there == place]
        return min(fitting, key=lambda count: price(self, count), default=None)


@dataclass(frozen=True, slots=True)
class Recognised:
    """What indexes and names tell of the instances of a job.

    Attributes
    ----------
    certain
        From the numbers that instances had when the plan was made to their positions in the later snapshot.
    absent
        Numbers of instances that certainly do not run.
    alike
        What is left to the third rule, by demand.
    """

    certain: Mapping[int, int]
    absent: frozenset[int]
    alike: tuple[Alike, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """Instances that can stand in for one another: the nodes of the start by number, the positions now by node."""

    homes: Mapping[int, str]
    nodes: Mapping[str, tuple[int, ...]]


def recognise(start: Mapping[int, RunningInstance], now: Sequence[RunningInstance]) -> Recognised:
    """Return what the first two rules tell of a job: `start` has its instances by number, `now` those of later."""
    numbers, positions = dict(start), dict(enumerate(now))
    certain: dict[int, int] = {}

    def pair(calls: Mapping[int, str | None], calls_now: Mapping[int, str | None]) -> None:
        position_of = {call: position for position, call in calls_now.items() if call is not None}
        for number, call in calls.items():
            if call in position_of:
                certain[number] = position_of[call]
                del numbers[number], positions[position_of[call]]

    indexes = {number: instance.index for number, instance in numbers.items()}
    indexes_now = {position: instance.index for position, instance in positions.items()}
    pair(indexes, indexes_now)
    absent: frozenset[int] = frozenset()
    if any(indexes.values()) and any(indexes_now.values()):
        absent = frozenset(number for number, instance in numbers.items() if instance.index is not None)
        numbers = {number: instance for number, instance in numbers.items() if number not in absent}
        positions = {position: instance for position, instance in positions.items() if instance.index is None}
    pair(
        {number: instance.name for number, instance in numbers.items()},
        {position: instance.name for position, instance in positions.items()},
    )
    alike: list[Alike] = []
    for gpus in sorted({instance.gpus for instance in numbers.values()}):
        nodes: defaultdict[str, list[int]] = defaultdict(list)
        for position, instance in sorted(positions.items()):
            if instance.gpus == gpus:
                nodes[instance.node].append(position)
        homes = {number: instance.node for number, instance in sorted(numbers.items()) if instance.gpus == gpus}
        alike.append(Alike(homes, {node: tuple(there) for node, there in nodes.items()}))
    return Recognised(certain, absent, tuple(alike))


def least_lost(alike: Alike, ways: Mapping[int, Way], price: Price) -> dict[int, int]:
    """Return the reading in which least is lost, from numbers to positions; numbers that are not in it do not run.

    `ways` has what the plan does to instances of the job, by number. Of two readings that lose as little, the one of
    less total price is taken.
    """
    found: dict[int, int] = {}
    nodes = {node: [*positions] for node, positions in alike.nodes.items()}
    # In some best reading whoever is to stay and is there has stayed: any other would lose nothing by changing places.
    for number, home in alike.homes.items():
        if number not in ways and nodes.get(home):
            found[number] = nodes[home].pop(0)
    rest = {number: ways.get(number) or Way(home, ()) for number, home in alike.homes.items() if number not in found}
    there = {node: len(positions) for node, positions in nodes.items() if positions}
    if rest and there:
        for number, node in _assigned(rest, there, price).items():
            found[number] = nodes[node].pop(0)
    return found


def _assigned(ways: Mapping[int, Way], there: Mapping[str, int], price: Price) -> dict[int, str]:
    """Return the node on which each instance is; those that are missing are not in it. A flow of least price."""
    import networkx as nx  # noqa: PLC0415 - slow to import, and where all instances have names nothing is to be chosen

    prices = {
        (number, place): price(way, cast("int", way.happened(place, price)))
        for number, way in ways.items()
        for place in dict.fromkeys(way.places)
        if place is None or place in there
    }
    elsewhere = 1 + sum(prices.values())
    gone = elsewhere * (1 + len(ways))
    graph: nx.DiGraph[tuple[str, int | str]] = nx.DiGraph()
    end, missing, moved = ("end", ""), ("missing", ""), ("moved by others", "")
    graph.add_node(end, demand=len(ways))
    graph.add_edge(missing, end, capacity=max(0, len(ways) - sum(there.values())), weight=0)
    for node, count in there.items():
        graph.add_edge(moved, ("node", node), weight=0)
        graph.add_edge(("node", node), end, capacity=count, weight=0)
    for number in ways:
        graph.add_node(("instance", number), demand=-1)
        graph.add_edge(("instance", number), missing, capacity=1, weight=prices.get((number, None), gone))
        graph.add_edge(("instance", number), moved, capacity=1, weight=elsewhere)
    for (number, place), weight in prices.items():
        if place is not None:
            graph.add_edge(("instance", number), ("node", place), capacity=1, weight=weight)
    _, solved = nx.network_simplex(graph)
    flow = cast("dict[tuple[str, int | str], dict[tuple[str, int | str], int]]", solved)
    others = Counter({node: flow[moved]["node", node] for node in there}).elements()
    found: dict[int, str] = {}
    for number in ways:
        target = next(target for target, amount in flow["instance", number].items() if amount)
        if target == moved:
            found[number] = next(others)
        elif target != missing:
            found[number] = str(target[1])
    return found


@dataclass(frozen=True, slots=True)
class Group:
    """Instances of which only their number on each node is known.

    Attributes
    ----------
    homes, seen
        Their numbers at the start and now.
    ways
        Those of the ones that the plan moves.
    """

    homes: Mapping[str, int]
    ways: tuple[Way, ...]
    seen: Mapping[str, int]


class Progress:
    """How far a plan has come, and what that says of an instance that may have made more or fewer of its moves.

    The steps of a plan are carried out in order, stops perhaps earlier. So there is one step of which a part may be
    done, with all before it and none behind it. The one is taken that explains best on which nodes instances are, the
    last of several: what looks alike is as good, and so a plan on which something comes back to its place comes to an
    end. Only of a plan that brings everything back it is the first.
    """

    def __init__(self, groups: Iterable[Group]) -> None:
        groups = tuple(groups)
        steps = [_step(event) for group in groups for way in group.ways for event in way.events]
        # Ranks, so that nothing grows with a number that somebody wrote down.
        self._rank = {step: rank for rank, step in enumerate(sorted(set(steps)), 1)}
        self._most = 1 + sum(self._rank[step] for step in steps)
        changes = [0] * (len(self._rank) + 2)
        for group in groups:
            self._add_unexplained(group, changes)
        unexplained = list(accumulate(changes))[1 : len(self._rank) + 1]
        ranks = range(1, len(self._rank) + 1)
        leads_on = any(way.places[-1] != way.home for group in groups for way in group.ways)
        self._reached = min(ranks[::-1] if leads_on else ranks, key=lambda rank: unexplained[rank - 1], default=0)

    def price(self, way: Way, count: int) -> int:
        """Return how unlikely it is that so many events of this way have happened."""
        done = sum(self._rank[_step(event)] for event in way.events[:count])
        disagreeing = sum(
            (self._rank[event.step] <= self._reached) is not (i < count)
            for i, event in enumerate(way.events)
            if isinstance(event, Move)
        )
        return disagreeing * self._most + done

    def _add_unexplained(self, group: Group, changes: list[int]) -> None:
        """Add the instances too many or too few on a node, for each step that may be under way, as differences."""
        arriving: defaultdict[str, Counter[int]] = defaultdict(Counter)
        leaving: defaultdict[str, Counter[int]] = defaultdict(Counter)
        stops: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for way in group.ways:
            for place, event in zip(way.places, way.events, strict=False):
                rank = self._rank[_step(event)]
                if place is not None:
                    leaving[place][rank] += 1
                    stops[place][rank] += isinstance(event, Stop)
                if isinstance(event, Move):
                    arriving[event.destination][rank] += 1
        for node in leaving.keys() | arriving.keys():
            here, seen, early = group.homes.get(node, 0), group.seen.get(node, 0), stops[node].total()
            before = 0
            for rank in sorted(leaving[node].keys() | arriving[node].keys()):
                _add(changes, before + 1, rank, _outside(seen, here - early, here))
                early -= stops[node][rank]
                least, most = here - leaving[node][rank] - early, here + arriving[node][rank]
                _add(changes, rank, rank + 1, _outside(seen, least, most))
                here += arriving[node][rank] - leaving[node][rank]
                before = rank
            _add(changes, before + 1, len(self._rank) + 1, _outside(seen, here - early, here))


def _outside(number: int, least: int, most: int) -> int:
    return max(least - number, number - most, 0)


def _add(changes: list[int], start: int, end: int, amount: int) -> None:
    """Add an amount to all from `start` up to before `end`, in a list of differences."""
    if start < end:
        changes[start] += amount
        changes[end] -= amount


def _step(event: Move | Stop) -> int:
    return event.step if isinstance(event, Move) else event.before_step


def way_of(events: Iterable[Move | Stop]) -> Way:
    """Return the way of an instance with these events, at least one; a stop of a step comes before its moves."""
    events = sorted(events, key=lambda event: (_step(event), isinstance(event, Move)))
    first = events[0]
    return Way(first.source if isinstance(first, Move) else first.node, tuple(events))
