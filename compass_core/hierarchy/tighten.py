"""The rule of the outer tiers: EXACT, and beyond merging the exchange that brings small blocks into residuals.

Merging (`compass_core.compact`) ends with one open node where sizes divide one another. On hosts of, say, 9 panels it
can end with several: a slot of 8 panels leaves one panel that no slot can use, and the 1-panel instances that could
fill it stand on a full host. So while two hosts or more are open, an open one exchanges instances with any other such
that fewer are open, or such that the room left on open hosts lies beside smaller blocks. Every exchange lowers a tuple
of whole numbers, so there is an end to it; it costs a number of shapes, not of hosts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from compass_core.compact import merge_nodes, settle
from compass_core.draft import Draft
from compass_core.merging import every_division, executable
from compass_core.model import shape_of, slot_width
from compass_core.outcome import Outcome
from compass_core.place import NoHostError, put
from compass_core.refusal import Refusal
from compass_core.steps import MoveReason, Placement, shortened
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass_core.merging import Step
    from compass_core.model import Instance, Job, NodeShape
    from compass_core.state import ClusterState

Looseness = tuple[int, ...]
"""Open hosts; less the blocks on them by width, narrow ones first; their room, each weighed by the widest block there;
less the squares of their room."""


def looseness(shapes: Iterable[NodeShape]) -> Looseness:
    """Return what every exchange lowers, the first number first.

    It depends on slots and on ones outside them, not on what fills a slot: a slot that moves with its fillers counts as
    one block (claim D1 is proved of blocks).
    """
    opened = [shape for shape in shapes if shape.open]
    blocks: Counter[int] = Counter()
    for shape in opened:
        blocks[1] += shape.ones
        blocks.update(slot_width(units, shape.capacity) for units in shape.demands if units > 1)
    room = sum(shape.room * slot_width(shape.demands[0], shape.capacity) for shape in opened)
    evenness = -sum(shape.room**2 for shape in opened)
    return len(opened), *(-blocks[width] for width in (1, 2, 4, 8)), room, evenness


@dataclass(frozen=True, slots=True)
class Exchange:
    """Moves between two hosts that leave them less loose, in an order that over-books neither."""

    steps: tuple[Step, ...]
    closes: int
    """How many hosts fewer are open afterwards."""


@cache
def best_exchange(first: NodeShape, second: NodeShape) -> Exchange | None:
    """Return the moves that leave two hosts least loose, of those the fewest; None where none leaves them less loose.

    No vacancy is added, so invariant I is kept. Depends on the shapes alone: the cache is the table of exchanges.
    """
    before = looseness((first, second))
    ranked: list[tuple[Looseness, int, list[tuple[Step, int]], Counter[Step]]] = []
    for _, moved in every_division(first, second, apart=False):
        after = looseness(_divided(first, second, moved))
        if after < before:
            ranked.append((after, moved.total(), sorted(moved.items()), moved))
    for after, _, _, moved in sorted(ranked, key=lambda way: way[:3]):
        order = executable(first.free, second.free, moved)
        if order is not None:
            return Exchange(order, before[0] - after[0])
    return None


def _divided(first: NodeShape, second: NodeShape, moved: Counter[Step]) -> tuple[NodeShape, NodeShape]:
    left, right = Counter(first.demands), Counter(second.demands)
    for (from_first, units), count in moved.items():
        left[units] += -count if from_first else count
        right[units] += count if from_first else -count
    return _shape(first.capacity, left), _shape(second.capacity, right)


def _shape(capacity: int, demands: Counter[int]) -> NodeShape:
    return shape_of(capacity, tuple(sorted(demands.elements(), reverse=True)))


def tighten(draft: Draft) -> None:
    """Exchange instances between hosts until at most one is open or no exchange leaves them less loose."""
    while (found := _cheapest_exchange(draft)) is not None:
        first, second, exchange = found
        for from_first, units in exchange.steps:
            source, destination = (first, second) if from_first else (second, first)
            draft.move(draft.cheapest(source, units)[0], destination, MoveReason.EXCHANGE)
        merge_nodes(draft)


def _cheapest_exchange(draft: Draft) -> tuple[int, int, Exchange] | None:
    """Return an open host, its partner and the moves: those that close most, then the fewest instances."""
    shapes = draft.state.shapes
    if sum(len(hosts) for shape, hosts in shapes.items() if shape.open) < 2:
        return None
    found: list[tuple[tuple[int, float, int, int], Exchange]] = []
    for shape, hosts in shapes.items():
        for other, others in shapes.items():
            if not shape.open or not other.demands:
                continue
            first = hosts.lowest
            second = next((index for index in others if index != first), None)
            exchange = None if second is None else best_exchange(shape, other)
            if second is not None and exchange is not None:
                found.append(((-exchange.closes, _cost(draft, first, second, exchange), first, second), exchange))
    if not found:
        return None
    (_, _, first, second), exchange = min(found, key=lambda entry: entry[0])
    return first, second, exchange


def _cost(draft: Draft, first: int, second: int, exchange: Exchange) -> float:
    moved = Counter(exchange.steps)
    return sum(
        draft.cost(instance)
        for (from_first, units), count in moved.items()
        for instance in draft.cheapest(first if from_first else second, units, count)
    )


def arrive_tight(state: ClusterState, job: Job, migration_cost: Callable[[Instance], float]) -> Outcome:
    """Place a job of an outer tier, all of its instances or none, and settle the tier.

    Raises
    ------
    DuplicateJobError
        A running job has that name.
    """
    draft = Draft(state.with_job(job), Variant.EXACT, migration_cost, own_job=job.name)
    if job.total_gpus > state.free_gpus:
        return Outcome(state, admitted=False, reason=Refusal.of(state, job))
    try:
        for instance in job.all_instances():
            _put(draft, instance)
    except NoHostError:
        return Outcome(state, admitted=False, reason=Refusal.of(state, job))
    settle(draft)
    tighten(draft)
    placements = tuple(Placement(instance, draft.state.node_of(instance)) for instance in job.all_instances())
    return Outcome(draft.state, placements=placements, migrations=shortened(state, tuple(draft.moves)))


def _put(draft: Draft, instance: Instance) -> None:
    try:
        put(draft, instance)
    except NoHostError:
        settle(draft)
        tighten(draft)
        put(draft, instance)


def settle_tight(state: ClusterState, migration_cost: Callable[[Instance], float]) -> Outcome:
    """Settle a tier that a job has left."""
    draft = Draft(state, Variant.EXACT, migration_cost)
    settle(draft)
    tighten(draft)
    return Outcome(draft.state, migrations=shortened(state, tuple(draft.moves)))
