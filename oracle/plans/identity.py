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
as few as possible are on nodes where the plan does not put them; then as little as possible of the plan is done. So an
instance that the plan stops counts as done only if its job is complete with it, and whichever of its equals is named,
as many run after the rest of the plan as at the start. What no reading can tell is a job that grew by an instance while
one of its own was stopped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from oracle.moves import Move, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot

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


def at_start(snapshot: Snapshot, moves: Iterable[Move]) -> tuple[RunningJob, ...]:
    """Return the jobs of which a plan moves an instance, with all instances they have: what it has to remember."""
    moved = {move.job for move in moves}
    return tuple(job for job in snapshot.jobs if job.name in moved)


def start_to_json(jobs: Iterable[RunningJob]) -> list[dict[str, object]]:
    """Return such jobs as they stand in the JSON of plans and admissions."""
    return [{"job": job.name, "instances": [_to_json(instance) for instance in job.instances]} for job in jobs]


def _to_json(instance: RunningInstance) -> dict[str, object]:
    called = {"name": instance.name, "index": instance.index}
    data: dict[str, object] = {"node": instance.node, "gpus": instance.gpus}
    return data | {key: text for key, text in called.items() if text is not None}


def recognised(
    start: Mapping[int, RunningInstance], now: Sequence[RunningInstance], ways: Mapping[int, Way], price: Price
) -> dict[int, int]:
    """Return which instance of a job is which.

    Parameters
    ----------
    start
        The job's instances when the plan was made, by number.
    now
        Its instances in the later snapshot.
    ways
        What the plan does to them; those that it leaves alone have none.
    price
        Of two readings that lose as little, the one of less total is taken.

    Returns
    -------
    dict
        From numbers to positions in `now`. Numbers that are not in it belong to instances that do not run; positions
        that are not in it, to new ones.
    """
    numbers, positions = dict(start), dict(enumerate(now))
    found: dict[int, int] = {}

    def pair(called_then: Mapping[int, str | None], called_now: Mapping[int, str | None]) -> None:
        by_call = {call: position for position, call in called_now.items() if call is not None}
        for number, call in called_then.items():
            if call in by_call:
                found[number] = by_call[call]
                del numbers[number], positions[by_call[call]]

    indexes = {number: instance.index for number, instance in numbers.items()}
    indexes_now = {position: instance.index for position, instance in positions.items()}
    pair(indexes, indexes_now)
    if any(indexes.values()) and any(indexes_now.values()):
        numbers = {number: instance for number, instance in numbers.items() if instance.index is None}
        positions = {position: instance for position, instance in positions.items() if instance.index is None}
    pair(
        {number: instance.name for number, instance in numbers.items()},
        {position: instance.name for position, instance in positions.items()},
    )
    for gpus in sorted({instance.gpus for instance in numbers.values()}):
        nodes: defaultdict[str, list[int]] = defaultdict(list)
        for position, instance in sorted(positions.items(), reverse=True):
            if instance.gpus == gpus:
                nodes[instance.node].append(position)
        alike = {number: instance.node for number, instance in sorted(numbers.items()) if instance.gpus == gpus}
        found |= _least_lost(alike, nodes, ways, price)
    return found


def _least_lost(
    homes: Mapping[int, str], nodes: Mapping[str, list[int]], ways: Mapping[int, Way], price: Price
) -> dict[int, int]:
    """Return the reading in which least is lost of instances that can stand in for one another.

    `homes` are their nodes at the start by number, `nodes` the positions now on each node.
    """
    found: dict[int, int] = {}
    # In some best reading whoever is to stay and is there has stayed: any other would lose nothing by changing places.
    for number, home in homes.items():
        if number not in ways and nodes.get(home):
            found[number] = nodes[home].pop()
    rest = {number: ways.get(number) or Way(home, ()) for number, home in homes.items() if number not in found}
    there = {node: len(positions) for node, positions in nodes.items() if positions}
    if rest and there:
        for number, node in _assigned(rest, there, price).items():
            found[number] = nodes[node].pop()
    return found


def _assigned(ways: Mapping[int, Way], there: Mapping[str, int], price: Price) -> dict[int, str]:
    """Return the node on which each instance is; those that are missing are not in it. A flow of least price."""
    import networkx as nx  # noqa: PLC0415 - slow to import, and where all instances have names nothing is to be chosen

    prices = {
        (number, place): price(way, cast("int", way.happened(place, price)))
        for number, way in ways.items()
        for place in set(way.places)
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


class Progress:
    """How far a plan has come, and what that says of an instance that may have made more or fewer of its moves.

    The steps of a plan are carried out in order. Before anything is known, little done is likelier than much; then what
    agrees with the last step of which a move is known to be done.
    """

    def __init__(self, ways: Iterable[Way]) -> None:
        steps = [_step(event) for way in ways for event in way.events]
        # Ranks, so that no price is as large as a number that somebody wrote down.
        self._rank = {step: rank for rank, step in enumerate(sorted(set(steps)), 1)}
        self._most = 1 + sum(self._rank[step] for step in steps)
        self._reached: int | None = None

    def reach(self, moves: Iterable[Move]) -> None:
        """Take account of moves that are done."""
        self._reached = max((move.step for move in moves), default=0)

    def price(self, way: Way, count: int) -> int:
        """Return how unlikely it is that so many events of this way have happened."""
        done = sum(self._rank[_step(event)] for event in way.events[:count])
        if self._reached is None:
            return done
        disagreeing = sum(
            (event.step <= self._reached) is not (i < count)
            for i, event in enumerate(way.events)
            if isinstance(event, Move)
        )
        return disagreeing * self._most + done


def _step(event: Move | Stop) -> int:
    return event.step if isinstance(event, Move) else event.before_step


def way_of(events: Iterable[Move | Stop]) -> Way:
    """Return the way of an instance with these events, at least one; a stop of a step comes before its moves."""
    events = sorted(events, key=lambda event: (_step(event), isinstance(event, Move)))
    first = events[0]
    return Way(first.source if isinstance(first, Move) else first.node, tuple(events))
