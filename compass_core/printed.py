"""The operators exactly as printed, faults included, so that the faults can be shown (theory §1, §2).

Where the print says nothing it raises `PrintedUndefinedError`; it never improvises. Choices the print leaves open:

- Ties go to the lowest node index, in Compact's destination to the last in sort order (`last_destination=False`: the
  first). Fillers are drawn from the pool node of the lowest index.
- A dissolved slot's fillers are re-homed after it has dissolved. The print does it before, and then the rule may choose
  the dissolving slot itself (P6). A filler for which the own node has another vacancy takes that one; on a node left
  without slots the fillers that find no vacancy and no pool node elsewhere stay, and the node is a pool node.
- When a filler departs, the prose pulls a 1-GPU instance from a pool node into the vacancy, the pseudocode does not
  (`refill=False`, P7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_core.draft import Draft
from compass_core.errors import CompassError
from compass_core.model import NodeKind, slot_width
from compass_core.steps import MoveReason
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_core.model import Instance, Job, NodeShape
    from compass_core.state import ClusterState


class PrintedUndefinedError(CompassError):
    """The printed algorithm does not say what to do in this situation (P5, P12)."""


@dataclass(frozen=True, slots=True)
class PrintedOptions:
    """Where print and prose differ, or the print leaves a choice."""

    refill: bool = True
    last_destination: bool = True


AS_PROSE = PrintedOptions()


def place_job(state: ClusterState, job: Job, options: PrintedOptions = AS_PROSE) -> Draft:
    """Return the draft after placing every instance of a known job and compacting.

    Raises
    ------
    PrintedUndefinedError
        No node has room by the printed rule, and no node is empty (P12).
    """
    draft = Draft(state, Variant.PRINTED, own_job=job.name)
    for instance in job.all_instances():
        place(draft, instance)
    compact(draft, options)
    return draft


def remove_job(state: ClusterState, name: str, options: PrintedOptions = AS_PROSE) -> Draft:
    """Return the draft after removing every instance of a job, one by one, and compacting.

    Raises
    ------
    PrintedUndefinedError
        An orphaned filler has no legal home (P5).
    """
    draft = Draft(state, Variant.PRINTED, own_job=name)
    for instance in state.instances_of(name):
        remove(draft, instance, options)
    draft.state = draft.state.without_job(name)
    compact(draft, options)
    return draft


def place(draft: Draft, instance: Instance) -> None:
    """Put one instance by the printed rule and draw fillers for its slot (P12: undefined where no node is empty)."""
    if instance.gpus == 1:
        draft.state = draft.state.add(instance, _home_for_one(draft.state, excluding=None))
        return
    width = slot_width(instance.gpus, draft.state.capacity)
    slotted = [
        (shape.room, indexes.lowest)
        for shape, indexes in draft.state.shapes.items()
        if shape.kind is NodeKind.SLOTTED and shape.room >= width
    ]
    host = min(slotted)[1] if slotted else _lowest(draft.state, lambda shape: shape.kind is NodeKind.EMPTY)
    if host is None:
        raise PrintedUndefinedError(f"Place: no slotted node has room {width}, and no node is empty")
    draft.state = draft.state.add(instance, host)
    for _ in range(width - instance.gpus):
        if draft.state.nodes[host].shape.fillable:
            _draw_filler(draft, host)


def remove(draft: Draft, instance: Instance, options: PrintedOptions = AS_PROSE) -> None:
    """Take one instance away by the printed rule (P5: undefined where an orphan has no home)."""
    index = draft.state.node_of(instance)
    draft.state = draft.state.remove(instance)
    if instance.gpus == 1:
        if options.refill and draft.state.nodes[index].shape.fillable:
            _draw_filler(draft, index)
        return
    node = draft.state.nodes[index]
    for orphan in node.ones:
        stays = node.kind is NodeKind.POOL
        home = _home_for_one(draft.state, excluding=index, otherwise=index if stays else None)
        if home != index:
            draft.move(orphan, home, MoveReason.REHOME)


def _home_for_one(state: ClusterState, *, excluding: int | None, otherwise: int | None = None) -> int:
    """Return the node of the 1-GPU rule: a vacancy, else a partial pool node, else an empty node."""
    rules: tuple[Callable[[NodeShape], bool], ...] = (
        lambda shape: shape.fillable,
        lambda shape: shape.kind is NodeKind.POOL and shape.room > 0,
    )
    for rule in rules:
        home = _lowest(state, rule, excluding)
        if home is not None:
            return home
    home = otherwise if otherwise is not None else _lowest(state, lambda shape: shape.kind is NodeKind.EMPTY)
    if home is None:
        raise PrintedUndefinedError("a 1-GPU instance finds no vacancy, no partial pool node and no empty node")
    return home


def _draw_filler(draft: Draft, host: int) -> None:
    """Move a 1-GPU instance from the first pool node, if there is one, into a vacancy on `host`."""
    pool = _lowest(draft.state, lambda shape: shape.kind is NodeKind.POOL)
    if pool is not None:
        draft.move(draft.state.nodes[pool].ones[-1], host, MoveReason.FILL)


def _lowest(state: ClusterState, wanted: Callable[[NodeShape], bool], excluding: int | None = None) -> int | None:
    found = (
        next((index for index in indexes if index != excluding), None)
        for shape, indexes in state.shapes.items()
        if wanted(shape)
    )
    return min((index for index in found if index is not None), default=None)


def compact(draft: Draft, options: PrintedOptions = AS_PROSE) -> None:
    """Run one pass over each class: the pool, then slot widths from G/2 down to 2."""
    _pass(draft, 1, options)
    width = draft.state.capacity // 2
    while width >= 2:
        _pass(draft, width, options)
        width //= 2


def _pass(draft: Draft, width: int, options: PrintedOptions) -> None:
    """Move items of one class from the node with most room to the host with least; width 1 stands for the pool.

    Members without room are left out of N_C: they sort last, are no host, and a pass that reaches one as its source
    has no host left either. So a pass costs what the members with room cost, not what the cluster does.
    """
    capacity = draft.state.capacity
    members = [
        (-_room(shape, width), index)
        for shape, indexes in draft.state.shapes.items()
        if 0 < _count(shape, width) < capacity // width and _room(shape, width)
        for index in indexes
    ]
    queue = [index for _, index in sorted(members)]
    while len(queue) >= 2:
        source = queue[0]
        moved = False
        while items := _items(draft.state, source, width):
            rooms = [(_room(draft.state.nodes[index].shape, width), at) for at, index in enumerate(queue) if at]
            hosts = [(room, -at if options.last_destination else at) for room, at in rooms if room >= 1]
            if not hosts:
                break
            destination = queue[abs(min(hosts)[1])]
            for instance in items[-1]:
                draft.move(instance, destination, MoveReason.MERGE)
            moved = True
        if not moved:
            return
        if not items:
            queue.pop(0)


def _count(shape: NodeShape, width: int) -> int:
    if width == 1:
        return shape.singles if shape.kind is NodeKind.POOL else 0
    return sum(1 for gpus in shape.demands if gpus > 1 and slot_width(gpus, shape.capacity) == width)


def _room(shape: NodeShape, width: int) -> int:
    return shape.room // width


def _items(state: ClusterState, index: int, width: int) -> list[tuple[Instance, ...]]:
    """Return what of the class stands on the node, each item with what it drags along."""
    node = state.nodes[index]
    if width == 1:
        return [(one,) for one in node.ones]
    return [(slot.anchor, *slot.fillers) for slot in node.slots if slot.width == width]
