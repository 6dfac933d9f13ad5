"""What moves into free space reach in a small pool: all placements are tried, nodes that hold alike being one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from oracle.moves.move import Move

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from oracle.moves.replay import Key
    from oracle.snapshots.model import NodeContent, Snapshot

# Nodes of all placements visited in one pool together, a second's worth: 5,000 placements of ten nodes.
MAX_NODES = 50_000


class Standing(NamedTuple):
    """One node: what it offers beside what cannot move, whether it takes instances, and the demands on it."""

    capacity: int
    held: int
    takes: bool
    demands: tuple[int, ...]

    @property
    def free(self) -> int:
        """GPUs that instances can have."""
        return self.capacity - self.held - sum(self.demands) if self.takes else 0

    @property
    def is_partial(self) -> bool:
        """Whether some but not all GPUs are in use."""
        return 0 < self.held + sum(self.demands) < self.capacity


Measure: TypeAlias = "Callable[[Sequence[Standing]], int]"

_Nodes: TypeAlias = "Mapping[str, tuple[tuple[int, Key], ...]]"
"""The movable instances on each node, with their demands, the largest first."""


def shortest_live(
    snapshot: Snapshot, contents: Sequence[NodeContent], measure: Measure, *, max_nodes: int = MAX_NODES
) -> dict[int, tuple[Move, ...]] | None:
    """Return for each value that live moves give a measure of the pool the shortest sequence that does, without steps.

    None if there are too many placements to try.
    """
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
        held: dict[str, list[tuple[int, Key]]] = {name: [] for name in self._nodes}
        for job in snapshot.jobs:
            for i, instance in enumerate(job.instances):
                if instance.movable and instance.node in held:
                    held[instance.node].append((instance.gpus, (job.name, i)))
        self.start: _Nodes = {name: _sorted(instances) for name, instances in held.items()}

    def standing(self, nodes: _Nodes) -> list[Standing]:
        """Return the nodes without the names of their instances."""
        return [
            Standing(node.capacity, sum(node.immovable), node.takes_instances, tuple(gpus for gpus, _ in nodes[name]))
            for name, node in self._nodes.items()
        ]

    def key(self, nodes: _Nodes) -> tuple[Standing, ...]:
        """Return what placements have in common that differ in names only."""
        return tuple(sorted(self.standing(nodes)))

    def next(self, nodes: _Nodes) -> Iterator[tuple[Move, _Nodes]]:
        """Yield the moves that can be made now, one of those that are alike, and what they lead to."""
        kinds = dict(zip(nodes, self.standing(nodes), strict=True))
        first: dict[Standing, list[str]] = {}
        for name, kind in kinds.items():
            first.setdefault(kind, []).append(name)
        for source in (names[0] for names in first.values()):
            for gpus, key in {gpus: (gpus, key) for gpus, key in reversed(nodes[source])}.values():
                for target in (next((name for name in names if name != source), None) for names in first.values()):
                    if target is not None and kinds[target].free >= gpus:
                        left = list(nodes[source])
                        left.remove((gpus, key))
                        after = {**nodes, source: tuple(left), target: _sorted([*nodes[target], (gpus, key)])}
                        yield Move(0, *key, gpus, source, target), after


def _sorted(instances: Sequence[tuple[int, Key]]) -> tuple[tuple[int, Key], ...]:
    return tuple(sorted(instances, key=lambda one: (-one[0], one[1])))


def partial_nodes(nodes: Sequence[Standing]) -> int:
    """Return how many nodes are partial."""
    return sum(node.is_partial for node in nodes)


def room_for(instances: int, gpus: int) -> Measure:
    """Return the measure that is 1 where so many new instances have room, else 0."""
    return lambda nodes: int(sum(node.free // gpus for node in nodes) >= instances)
