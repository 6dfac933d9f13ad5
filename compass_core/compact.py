"""Compact: restore saturation, then merge nodes two at a time until no pair is left to merge (theory §3.1).

EXACT merges open nodes, COMPASS open nodes of one class, and mixed nodes with any other. Every merge lowers the number
of mixed nodes or of open ones, so an event costs a number of merges that is bounded by the nodes it opened, whatever N
is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING

from compass_core.merging import divisions
from compass_core.model import NodeKind
from compass_core.steps import MoveReason
from compass_core.variant import Variant

if TYPE_CHECKING:
    from compass_core.draft import Draft
    from compass_core.merging import Division
    from compass_core.model import NodeShape

# Of the open nodes of one shape, how many are looked at as partners. They differ only in what their instances cost to
# move; two make a pair, and more would make a state with thousands of open nodes (one taken over from elsewhere) slow.
_PARTNERS_PER_SHAPE = 2


def settle(draft: Draft) -> None:
    """Fill vacancies, then merge: what ends every event."""
    fill_vacancies(draft)
    merge_nodes(draft)


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


def lowest_empty_node(draft: Draft) -> int:
    """Return the index of the first idle node; there must be one."""
    return next(indexes.lowest for shape, indexes in draft.state.shapes.items() if shape.kind is NodeKind.EMPTY)


def merge_nodes(draft: Draft, *, keep: int | None = None) -> None:
    """Merge two nodes at a time, the cheapest pair first, until no pair is left; node `keep` is left alone.

    Under COMPASS a mixed node is divided first, with any node that is open, mixed or idle. When no pair is left one is
    mixed only if all others are closed; then its slots and ones are what no node of their own is left for (C1).
    """
    while (merge := _cheapest_merge(draft, keep)) is not None:
        for from_first, gpus in merge.division.steps:
            source, destination = (merge.first, merge.second) if from_first else (merge.second, merge.first)
            draft.move(draft.cheapest(source, gpus)[0], destination, merge.reason)


@dataclass(frozen=True, slots=True)
class _Merge:
    """A pair of nodes, and the cheapest way to divide them."""

    first: int
    second: int
    division: Division
    cost: float

    @property
    def reason(self) -> MoveReason:
        return MoveReason.REHOME if self.division.unmixes else MoveReason.MERGE

    @property
    def rank(self) -> tuple[bool, float, int, int]:
        return not self.division.unmixes, self.cost, self.first, self.second


def _cheapest_merge(draft: Draft, keep: int | None) -> _Merge | None:
    pairs = combinations(_merge_candidates(draft, keep), 2)
    merges = (merge for first, second in pairs if (merge := _merge_of(draft, first, second)) is not None)
    return min(merges, key=lambda merge: merge.rank, default=None)


def _merge_candidates(draft: Draft, keep: int | None) -> list[int]:
    """Return the open nodes, and where mixed nodes have to go those and an idle one; see `_PARTNERS_PER_SHAPE`."""
    shapes = draft.state.shapes
    apart = draft.variant is Variant.COMPASS
    mixed = apart and any(shape.kind is NodeKind.MIXED for shape in shapes)
    nodes: list[int] = []
    for shape, indexes in shapes.items():
        if shape.open or (mixed and shape.kind in {NodeKind.MIXED, NodeKind.EMPTY}):
            nodes += islice((index for index in indexes if index != keep), _PARTNERS_PER_SHAPE)
    return sorted(nodes)


def _merge_of(draft: Draft, first: int, second: int) -> _Merge | None:
    shapes = draft.state.nodes[first].shape, draft.state.nodes[second].shape
    best = divisions(*shapes, apart=draft.variant is Variant.COMPASS)
    if not best:
        return None
    if draft.uniform_cost and draft.own_job is None:
        return _Merge(first, second, best[0], float(len(best[0].steps)))
    costs = [_cost(draft, division, first, second) for division in best]
    return _Merge(first, second, best[costs.index(min(costs))], min(costs))


def _cost(draft: Draft, division: Division, first: int, second: int) -> float:
    return sum(
        draft.cost(instance)
        for index, from_first in ((first, True), (second, False))
        for gpus, count in division.demands(from_first=from_first).items()
        for instance in draft.cheapest(index, gpus, count)
    )
