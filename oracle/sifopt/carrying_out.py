"""From changes of nodes to who goes where, in an order that over-books no node.

That is for `oracle.moves` to say, on a snapshot of the nodes that change. What has to leave its node stands on closed
ones there: on the drained node, and on one for each new instance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from compass_core.model import shape_of
from oracle.moves.naming import Naming, by_kind
from oracle.moves.ordering import order_interchangeably
from oracle.optimum.model import Change, NodeKind
from oracle.optimum.node_classes import LEAVING
from oracle.snapshots.model import DEFAULT_POOL, RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from compass_core.model import Instance
    from compass_core.state import ClusterState
    from oracle.snapshots.model import Pattern


class Transfer(NamedTuple):
    """An instance that goes to a node, from another one unless it is new."""

    instance: Instance
    source: int | None
    destination: int


def carry_out(
    state: ClusterState, changed: Mapping[Change, int], new: Sequence[Instance], drained: int | None
) -> tuple[list[Transfer], tuple[Instance, ...]]:
    """Return who goes where, one after the other, so that nodes change like this, and who is stopped before.

    Parameters
    ----------
    state
        The cluster. Of nodes that hold alike those of the lowest indexes change.
    changed
        How many nodes change in which way.
    new
        Instances without a node.
    drained
        The node that everything has to leave, if there is one.
    """
    kept = Counter({change: count for change, count in changed.items() if change.kind.node_class != LEAVING})
    open_ = {str(index): index for index in _touched(state, kept, drained)}
    nodes = open_ if drained is None else open_ | {str(drained): drained}
    held = {name: state.nodes[index].instances for name, index in nodes.items()}
    held |= {f"new {n}": (instance,) for n, instance in enumerate(new)}
    # Snapshots number the instances of a job in their order.
    who: defaultdict[str, list[tuple[str, Instance]]] = defaultdict(list)
    for name, instance in ((name, instance) for name, instances in held.items() for instance in instances):
        who[instance.job].append((name, instance))
    snapshot = _snapshot(state.capacity, held, open_, who)
    contents = snapshot.contents[DEFAULT_POOL]
    leaving = Counter(Change(NodeKind.of(content), ()) for content in contents if not content.schedulable)
    moves = Naming(snapshot).name(by_kind(contents), kept + leaving).moves
    order = order_interchangeably(snapshot, moves)
    return (
        [Transfer(who[m.job][m.instance][1], nodes.get(m.source), nodes[m.destination]) for m in order.moves],
        tuple(who[stop.job][stop.instance][1] for stop in order.stops if stop.node in nodes),
    )


def _touched(state: ClusterState, changed: Mapping[Change, int], drained: int | None) -> Iterator[int]:
    """Yield the nodes that change."""
    touched: Counter[Pattern] = Counter()
    for change, count in changed.items():
        touched[change.kind.holds] += count
    for holds, count in touched.items():
        alike = state.shapes[shape_of(state.capacity, holds)]
        yield from islice((index for index in alike if index != drained), count)


def _snapshot(
    capacity: int, names: Iterable[str], open_: Container[str], who: Mapping[str, Sequence[tuple[str, Instance]]]
) -> Snapshot:
    """Return these nodes, closed unless they are open, with the jobs on them; unchecked, as it is no input."""
    return Snapshot(
        nodes=tuple(SnapshotNode(name=name, gpus=capacity, schedulable=name in open_) for name in names),
        jobs=tuple(
            RunningJob(name=job, instances=tuple(RunningInstance(node=name, gpus=one.gpus) for name, one in instances))
            for job, instances in who.items()
        ),
    )
