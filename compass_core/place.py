"""Place: where one instance goes (paper, Algorithm 2; theory §3).

The rule is the same for both repaired variants: a 1-GPU instance goes into a vacancy; otherwise the instance goes to
the node that keeps the least room among those that may take it, otherwise to an idle node. What a node "may take" is
`variant.may_become`. Where that fails EXACT makes room by exchanging blocks with ones (`_exchange`), and COMPASS puts
an anchor beside ones that later instances of its gang will take as fillers (`_pool_to_fill_up`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core.compact import fill_vacancies, lowest_empty_node, merge_nodes, settle
from compass_core.errors import PlacementError
from compass_core.model import NodeKind, slot_width
from compass_core.steps import MoveReason
from compass_core.variant import Variant, may_become

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_core.draft import Draft
    from compass_core.model import Instance


class NoHostError(PlacementError):
    """No node may take the instance, whatever else moves within the rules of the variant."""


def put_all(draft: Draft, instances: Iterable[Instance]) -> None:
    """Place instances one after the other and settle.

    Raises
    ------
    NoHostError
        The variant has no place for all of them. EXACT has whenever the slots and ones of all instances fit the
        cluster (claim C7); COMPASS exactly when they fit on nodes of their own, those of orphans included.
    """
    for instance in instances:
        put(draft, instance)
    settle(draft)
    refuse_orphans(draft, above=0)


def put(draft: Draft, instance: Instance) -> None:
    """Place one instance; the caller settles the draft when all are placed.

    Vacancies are refilled and nodes merged on the way only where there is no place otherwise (8 jobs of 5 GPUs on idle
    nodes want 24 fillers out of pool nodes): a later instance of the gang may be the filler an earlier one wants.

    Raises
    ------
    NoHostError
        There is no node for it.
    """
    host = find_host(draft, instance.gpus)
    if host is None:
        fill_vacancies(draft)
        merge_nodes(draft)
        host = find_host(draft, instance.gpus)
    if host is None:
        host = (_exchange if draft.variant is Variant.EXACT else _pool_to_fill_up)(draft, instance.gpus)
    if host is None:
        raise NoHostError(f"no node may take an instance of {instance.gpus} GPUs")
    draft.add(instance, host)


def find_host(draft: Draft, gpus: int) -> int | None:
    """Return the node for an instance of that demand, or None where nothing but moving others would help."""
    best: tuple[bool, int, int, int] | None = None
    for shape, indexes in draft.state.shapes.items():
        after = shape.plus(gpus)
        if shape.kind is NodeKind.EMPTY or after is None or not may_become(draft.variant, shape, after):
            continue
        fills_a_vacancy = after.vacancy < shape.vacancy
        key = (not fills_a_vacancy, after.room, after.vacancy, indexes.lowest)
        if best is None or key < best:
            best = key
    if best is not None:
        return best[-1]
    return lowest_empty_node(draft) if draft.state.empty_nodes else None


def _pool_to_fill_up(draft: Draft, gpus: int) -> int | None:
    """Return the sparsest pool node that can hold the instance beside its ones, or None.

    A node of both kinds is a passing state: the ones are fillers of the whole gang, and its later instances take what
    this one leaves ({1, 1} and 2x3 make {3, 1, 3, 1}). `put_all` refuses the gang if they do not.
    """
    pools = [
        (shape.ones, indexes.lowest)
        for shape, indexes in draft.state.shapes.items()
        if shape.kind is NodeKind.POOL and (after := shape.plus(gpus)) is not None and after.room >= 0
    ]
    return min(pools)[1] if pools else None


def refuse_orphans(draft: Draft, *, above: int) -> None:
    """Refuse a placement that leaves more than so many ones beside slots.

    Raises
    ------
    NoHostError
        It does.
    """
    if orphans(draft) > above:
        raise NoHostError("slots and ones need nodes of their own, and there are too few")


def orphans(draft: Draft) -> int:
    """Return how many ones stand beside slots under COMPASS, where each waits for a home; 0 under EXACT."""
    if draft.variant is Variant.EXACT:
        return 0
    shapes = draft.state.shapes.items()
    return sum(shape.ones * len(indexes) for shape, indexes in shapes if shape.kind is NodeKind.MIXED)


def _exchange(draft: Draft, gpus: int) -> int | None:
    """Make room on the one open node by swapping its small blocks for ones from elsewhere; return it, or None.

    Called when nothing is left to merge and no node is idle. Let F be the room of the open node and w the width asked
    for, F < w. Blocks divide one another, so what stands on the node besides blocks of w or more adds up to w − F
    modulo w. Once that is all ones, they are the new slot's fillers: w − F of them, and g ≤ F leaves as many
    vacancies. So blocks smaller than w leave, smallest first, and as many ones come in their place; F ≥ g > w/2 is
    room enough to let the ones in first.
    """
    open_nodes = _open_nodes(draft)
    if len(open_nodes) != 1:
        return None
    host = open_nodes[0]
    width = slot_width(gpus, draft.state.capacity)
    while True:
        shape = draft.state.nodes[host].shape
        after = shape.plus(gpus)
        if after is None:
            return None
        if after.room >= 0:
            return host
        blocks = [g for g in shape.demands if g > 1 and slot_width(g, shape.capacity) < width]
        if not blocks or not _swap_block_for_ones(draft, host, min(blocks)):
            return None


def _swap_block_for_ones(draft: Draft, host: int, gpus: int) -> bool:
    """Bring as many ones as a block reserves to `host`, join the holes they leave, and send the block there."""
    size = slot_width(gpus, draft.state.capacity)
    available = (
        sum(shape.ones * len(indexes) for shape, indexes in draft.state.shapes.items())
        - draft.state.nodes[host].shape.ones
    )
    if available < size or _room(draft, host) < size:
        return False
    for _ in range(size):
        draft.move(draft.cheapest(_nearest_donor(draft, host, size), 1)[0], host, MoveReason.EXCHANGE)
    merge_nodes(draft, keep=host)
    target = next((index for index in _open_nodes(draft) if index != host and _room(draft, index) == size), None)
    if target is None:  # the holes do not join: the capacity is no power of two
        return False
    block = draft.cheapest(host, gpus)[0]
    slot = next(slot for slot in draft.state.nodes[host].slots if slot.anchor.gpus == gpus)
    draft.move(block, target, MoveReason.EXCHANGE)
    for filler in slot.fillers:
        draft.move(filler, target, MoveReason.EXCHANGE)
    return True


def _nearest_donor(draft: Draft, host: int, size: int) -> int:
    """Return the node to take a one from: one that is open already, else one with `size` of them, else any."""
    donors = [
        (not shape.open, shape.ones < size, shape.ones, indexes.lowest)
        for shape, indexes in draft.state.shapes.items()
        if shape.ones and indexes.lowest != host
    ]
    return min(donors)[-1]


def _open_nodes(draft: Draft) -> list[int]:
    return [index for shape, indexes in draft.state.shapes.items() if shape.open for index in indexes]


def _room(draft: Draft, index: int) -> int:
    return draft.state.nodes[index].shape.room
