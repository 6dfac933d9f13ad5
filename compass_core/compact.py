"""Compact: restore saturation, then merge open nodes pairwise until none is left to merge (theory §3).

Every merge lowers the number of open nodes by at least one, so an event costs a number of merges that is bounded by
the nodes it opened, whatever N is.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING

from compass_core.merging import divisions
from compass_core.model import NodeKind
from compass_core.steps import MoveReason
from compass_core.variant import Variant, merge_class

if TYPE_CHECKING:
    from collections.abc import Collection

    from compass_core.draft import Draft
    from compass_core.merging import Division
    from compass_core.model import NodeShape

# Of the open nodes of one shape, how many are looked at as partners. They differ only in what their instances cost to
# move; two make a pair, and more would make a state with thousands of open nodes (one taken over from elsewhere) slow.
_PARTNERS_PER_SHAPE = 2


def settle(draft: Draft) -> None:
    """Fill vacancies, take ones off mixed nodes where they do not belong, and merge: what ends every event."""
    fill_vacancies(draft)
    merge_open_nodes(draft)
    while rehome_orphans(draft):  # a merge may have emptied the node an orphan was waiting for
        merge_open_nodes(draft)


def fill_vacancies(draft: Draft) -> None:
    """Restore invariant I: move ones into vacancies until one of the two kinds has run out.

    A one is taken where its leaving costs no merge: from a mixed node under COMPASS, from a node that is open anyway
    under EXACT, and then from the node with the fewest ones.
    """
    while True:
        shapes = draft.state.shapes
        vacant = [indexes.lowest for shape, indexes in shapes.items() if shape.fillable]
        if not vacant:
            return
        donors = [
            (_gives_later(draft.variant, shape), shape.ones, indexes.lowest)
            for shape, indexes in shapes.items()
            if shape.ones
        ]
        if not donors:
            return
        donor = min(donors)[-1]
        draft.move(draft.cheapest(donor, 1)[0], min(vacant), MoveReason.FILL)


def _gives_later(variant: Variant, shape: NodeShape) -> bool:
    return shape.kind is not NodeKind.MIXED if variant is Variant.COMPASS else not shape.open


def rehome_orphans(draft: Draft) -> bool:
    """Under COMPASS, move ones off mixed nodes while there is a pool node with room, or an idle node; say if any moved.

    An orphan without such a home stays, and its node is mixed until there is one (P5 repaired).
    """
    moved = False
    while draft.variant is Variant.COMPASS:
        shapes = draft.state.shapes
        mixed = [indexes.lowest for shape, indexes in shapes.items() if shape.kind is NodeKind.MIXED]
        pools = [(s.room, indexes.lowest) for s, indexes in shapes.items() if s.kind is NodeKind.POOL and s.room]
        if not mixed or not (pools or draft.state.empty_nodes):
            break
        home = min(pools)[1] if pools else lowest_empty_node(draft)
        draft.move(draft.cheapest(min(mixed), 1)[0], home, MoveReason.REHOME)
        moved = True
    return moved


def lowest_empty_node(draft: Draft) -> int:
    """Return the index of the first idle node; there must be one."""
    return next(indexes.lowest for shape, indexes in draft.state.shapes.items() if shape.kind is NodeKind.EMPTY)


def merge_open_nodes(draft: Draft, *, keep: int | None = None) -> None:
    """Merge open nodes of one class, cheapest pair first, until no class has two; node `keep` is left alone.

    Pools come second: a merge that takes the slots off a mixed node leaves a pool node.
    """
    for chosen in ("slots", "pool"):
        while len(nodes := _merge_candidates(draft, chosen, keep)) >= 2:
            _merge_cheapest_pair(draft, nodes)


def _merge_candidates(draft: Draft, chosen: str, keep: int | None) -> list[int]:
    nodes: list[int] = []
    for shape, indexes in draft.state.shapes.items():
        if shape.open and merge_class(draft.variant, shape) == chosen:
            partners = (index for index in indexes if index != keep)
            nodes += islice(partners, _PARTNERS_PER_SHAPE)
    return sorted(nodes)


def _merge_cheapest_pair(draft: Draft, nodes: Collection[int]) -> None:
    _, first, second, division = min(
        (_cheapest_division(draft, first, second) for first, second in combinations(nodes, 2)),
        key=lambda best: best[:3],
    )
    for from_first, gpus in division.steps:
        source, destination = (first, second) if from_first else (second, first)
        leaving = draft.cheapest(source, gpus)[0]
        draft.move(leaving, destination, MoveReason.MERGE)


def _cheapest_division(draft: Draft, first: int, second: int) -> tuple[float, int, int, Division]:
    shapes = draft.state.nodes[first].shape, draft.state.nodes[second].shape
    unmixed = draft.variant is Variant.COMPASS and all(shape.kind is not NodeKind.MIXED for shape in shapes)
    best = divisions(*shapes, unmixed=unmixed)
    if draft.uniform_cost and draft.own_job is None:
        return float(len(best[0].steps)), first, second, best[0]
    return min(
        ((_cost(draft, division, first, second), first, second, division) for division in best), key=lambda d: d[0]
    )


def _cost(draft: Draft, division: Division, first: int, second: int) -> float:
    return sum(
        draft.cost(instance)
        for index, from_first in ((first, True), (second, False))
        for gpus, count in division.demands(from_first=from_first).items()
        for instance in draft.cheapest(index, gpus, count)
    )
