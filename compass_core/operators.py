"""Place, Remove and Compact as functions from state to state, one operator at a time (paper, Algorithms 2 to 4).

`scheduler.arrive` and `scheduler.depart` are what a scheduler calls. These are for those who want to look at a single
operator, or to compose their own event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import printed
from compass_core.compact import fill_vacancies, lowest_empty_node, settle
from compass_core.draft import Draft, every_move_counts_one
from compass_core.model import NodeKind
from compass_core.outcome import Outcome
from compass_core.place import orphans, put, refuse_orphans
from compass_core.steps import MoveReason, Placement, shortened
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_core.model import Instance
    from compass_core.state import ClusterState


def place(
    state: ClusterState,
    instance: Instance,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> Outcome:
    """Place one instance of a job the state knows (`ClusterState.with_job`), and draw fillers for its slot.

    Raises
    ------
    NoHostError
        The variant has no node for it.
    PlacementError
        The instance is running already.
    UnknownJobError, UnknownInstanceError
        No job the state knows has such an instance.
    PrintedUndefinedError
        Under PRINTED, where there is no node for it.
    """
    state.check_instance(instance)
    draft = Draft(state, variant, migration_cost)
    if variant is Variant.PRINTED:
        printed.place(draft, instance)
    else:
        before = orphans(draft)
        put(draft, instance)
        fill_vacancies(draft)
        refuse_orphans(draft, above=before)
    moves = tuple(move for move in draft.moves if move.instance != instance)
    return Outcome(draft.state, placements=(Placement(instance, draft.state.node_of(instance)),), migrations=moves)


def remove(
    state: ClusterState,
    instance: Instance,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> Outcome:
    """Remove one instance, refill the vacancy it leaves or re-home the fillers it orphans; its job stays known.

    Raises
    ------
    UnknownInstanceError
        It is not running.
    PrintedUndefinedError
        Under PRINTED, where an orphaned filler has no legal home (P5).
    """
    draft = Draft(state, variant, migration_cost)
    if variant is Variant.PRINTED:
        printed.remove(draft, instance)
    else:
        draft.state = state.remove(instance)
        fill_vacancies(draft)
        _rehome_orphans(draft)
    return Outcome(draft.state, migrations=tuple(draft.moves))


def compact(
    state: ClusterState,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> Outcome:
    """Fill vacancies and merge open nodes until none is left to merge; under PRINTED, run the printed passes once."""
    draft = Draft(state, variant, migration_cost)
    if variant is Variant.PRINTED:
        printed.compact(draft)
    else:
        settle(draft)
    return Outcome(draft.state, migrations=shortened(state, tuple(draft.moves)))


def _rehome_orphans(draft: Draft) -> None:
    """Under COMPASS, move ones off mixed nodes while there is a pool node with room, or an idle node.

    An orphan without such a home stays, and its node is mixed until there is one (P5 repaired).
    """
    while draft.variant is Variant.COMPASS:
        shapes = draft.state.shapes
        mixed = [indexes.lowest for shape, indexes in shapes.items() if shape.kind is NodeKind.MIXED]
        pools = [(s.room, indexes.lowest) for s, indexes in shapes.items() if s.kind is NodeKind.POOL and s.room]
        if not mixed or not (pools or draft.state.empty_nodes):
            return
        home = min(pools)[1] if pools else lowest_empty_node(draft)
        draft.move(draft.cheapest(min(mixed), 1)[0], home, MoveReason.REHOME)
