"""What moves into free space reach in a small pool: all placements are tried, nodes that hold alike being one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from oracle.moves.move import Move
from oracle.snapshots.kinds import Rules, gpus_of, total_gpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import NodeContent, Snapshot
    from oracle.snapshots.stocks import Key

# Nodes of all placements visited in one pool together, a second's worth: 5,000 placements of ten nodes.
MAX_NODES = 50_000


class Standing(NamedTuple):
    """One node: what it offers beside what cannot move, whether it takes instances, its rules, what stands on it."""

    capacity: int
    held: int
    takes: bool
    rules: Rules
    holds: tuple[Kind, ...]

    @property
    def free(self) -> int:
        """GPUs that instances can have."""
        return self.capacity - self.held - total_gpus(self.holds) if self.takes else 0

    def takes_one(self, kind: Kind) -> bool:
        """Whether an instance of this kind may come to the node as it is."""
        return gpus_of(kind) <= self.free and self.rules.allow((*self.holds, kind))

    def copies(self, kind: Kind) -> int:
        """Return how many instances of this kind may come to the node as it is."""
        return self.rules.most_beside(self.holds, kind, self.free // gpus_of(kind))

    @property
    def is_partial(self) -> bool:
        """Whether some but not all GPUs are in use."""
        return 0 < self.held + total_gpus(self.holds) < self.capacity


Measure: TypeAlias = "Callable[[Sequence[Standing]], int]"

_Nodes: TypeAlias = "Mapping[str, tuple[tuple[Kind, Key], ...]]"
"""The movable instances on each node, with their kinds, the largest first."""


def shortest_live(
    snapshot: Snapshot, pool: str, measure: Measure, *, max_nodes: int = MAX_NODES
) -> dict[int, tuple[Move, ...]] | None:
    """Return for each value that live moves give a measure of a pool the shortest sequence that does, without steps.

    None if there are too many placements to try, or kinds do not tell where instances may stand.
    """
    if not snapshot.kinds_are_exact(pool):
        return None
    contents = snapshot.contents[pool]
    search = _Search(snapshot, contents)
    start = search.start
    found: dict[int, tuple[Move, ...]] = {measure(search.standing(start)): ()}
    seen = {search.key(start)}
    layer: list[tuple[_Nodes, tuple[Move, ...]]] = [(start, ())]
    while layer:
        following: list[tuple[_Nodes, tuple[Move, ...]]] = []
        for nodes, path in layer:
            for move, after in search.next(nodes):
                key = search.key(after)
                if key in seen:
                    continue
                if len(seen) * len(contents) >= max_nodes:
                    return None
                seen.add(key)
                following.append((after, (*path, move)))
                found.setdefault(measure(search.standing(after)), (*path, move))
        layer = following
    return found


class _Search:
    def __init__(self, snapshot: Snapshot, contents: Sequence[NodeContent]) -> None:
        self._nodes = {node.name: node for node in contents}
        held: dict[str, list[tuple[Kind, Key]]] = {name: [] for name in self._nodes}
        for job in snapshot.jobs:
            for i, instance in enumerate(job.instances):
                if instance.movable and instance.node in held:
                    held[instance.node].append((snapshot.kinds[job.name, i], (job.name, i)))
        self.start: _Nodes = {name: _sorted(instances) for name, instances in held.items()}

    def standing(self, nodes: _Nodes) -> list[Standing]:
        """Return the nodes without the names of their instances."""
        return [
            Standing(
                node.capacity,
                sum(node.immovable),
                node.takes_instances,
                node.rules,
                tuple(kind for kind, _ in nodes[name]),
            )
            for name, node in self._nodes.items()
        ]

    def key(self, nodes: _Nodes) -> tuple[Standing, ...]:
        """Return what placements have in common that differ in names only."""
        return tuple(sorted(self.standing(nodes)))

    def next(self, nodes: _Nodes) -> Iterator[tuple[Move, _Nodes]]:
        """Yield the moves that can be made now, one of those that are alike, and what they lead to."""
        standing = dict(zip(nodes, self.standing(nodes), strict=True))
        alike: dict[Standing, list[str]] = {}
        for name, one in standing.items():
            alike.setdefault(one, []).append(name)
        for source in (names[0] for names in alike.values()):
            for kind, key in {kind: (kind, key) for kind, key in reversed(nodes[source])}.values():
                for target in (next((name for name in names if name != source), None) for names in alike.values()):
                    if target is not None and standing[target].takes_one(kind):
                        left = list(nodes[source])
                        left.remove((kind, key))
                        after = {**nodes, source: tuple(left), target: _sorted([*nodes[target], (kind, key)])}
                        yield Move(0, *key, gpus_of(kind), source, target), after


def _sorted(instances: Sequence[tuple[Kind, Key]]) -> tuple[tuple[Kind, Key], ...]:
    return tuple(sorted(instances, key=lambda one: (-one[0], one[1])))


def partial_nodes(nodes: Sequence[Standing]) -> int:
    """Return how many nodes are partial."""
    return sum(node.is_partial for node in nodes)


def room_for(wanted: Mapping[Kind, int], *, together: bool = True) -> Measure:
    """Return the measure of how many new instances have room, by kinds: all of them or 0 if they start together."""
    (first, *others), instances = wanted, sum(wanted.values())

    def most(nodes: Sequence[Standing]) -> int:
        if others:
            found = _most_room(list(nodes), [kind for kind, n in wanted.items() for _ in range(n)])
        else:
            found = min(instances, sum(node.copies(first) for node in nodes))
        return found if found == instances or not together else 0

    return most


def _most_room(nodes: Sequence[Standing], kinds: Sequence[Kind]) -> int:
    """Return how many instances of these kinds have room together, by trying every node for each."""
    if not kinds:
        return 0
    best = 0
    for node in dict.fromkeys(nodes):
        if node.takes_one(kinds[0]):
            rest = list(nodes)
            rest[rest.index(node)] = node._replace(holds=(*node.holds, kinds[0]))
            best = max(best, 1 + _most_room(rest, kinds[1:]))
            if best == len(kinds):
                return best
    return max(best, _most_room(nodes, kinds[1:]))
