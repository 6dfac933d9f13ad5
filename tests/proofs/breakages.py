"""Operators with a fault each, to be put in place of the sound ones (see `tests.proofs.mutants`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, MoveReason, NodeKind, NodeOutcome, Outcome, Variant, fail_node
from compass_core.compact import lowest_empty_node
from compass_core.condition import wcc_need, wcc_supply
from compass_core.fragmentation import closed_form
from compass_core.index_set import IndexSet
from compass_core.merging import Division, divisions
from compass_core.model import NodeShape, shape_of, slot_vacancy, slot_width
from compass_core.place import NoHostError, put_all
from compass_core.printed import AS_PROSE, PrintedOptions
from compass_core.steps import Migration, shortened
from compass_core.variant import may_become

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from immutables import Map

    from compass_core import Instance, Refusal
    from compass_core.draft import Draft
    from compass_core.steps import Placement


def nothing(draft: Draft, *, keep: int | None = None) -> None:
    del draft, keep


def no_node(draft: Draft, gpus: int) -> int | None:
    del draft, gpus
    return None


def one_filler_an_event(draft: Draft) -> None:
    vacant = [indexes.lowest for shape, indexes in draft.state.shapes.items() if shape.fillable]
    donors = [(shape.ones, indexes.lowest) for shape, indexes in draft.state.shapes.items() if shape.ones]
    if vacant and donors:
        draft.move(draft.cheapest(min(donors)[1], 1)[0], min(vacant), MoveReason.FILL)


def highest(indexes: IndexSet) -> int:
    return max(indexes)


def last_empty_node(draft: Draft) -> int:
    lowest_empty_node(draft)
    return max(index for shape, indexes in draft.state.shapes.items() if not shape.demands for index in indexes)


def plus(shape: NodeShape, gpus: int, *, spare: int) -> NodeShape | None:
    """Return the shape with one more instance by a capacity that is wrong by `spare`."""
    if shape.used + gpus > shape.capacity + spare:
        return None
    return shape_of(shape.capacity, tuple(sorted((*shape.demands, gpus), reverse=True)))


def without(
    first: NodeShape, second: NodeShape, *, apart: bool, left_out: Callable[[set[NodeKind], bool], bool]
) -> tuple[Division, ...]:
    """Return the table of merges but for some pairs of kinds."""
    return () if left_out({first.kind, second.kind}, apart) else divisions(first, second, apart=apart)


def backwards(first: NodeShape, second: NodeShape, *, apart: bool) -> tuple[Division, ...]:
    return tuple(replace(division, steps=division.steps[::-1]) for division in divisions(first, second, apart=apart))


def only_open_nodes_count(nodes: Iterable[NodeShape], *, apart: bool) -> tuple[int, int, int]:
    del apart
    opened = sum(shape.open for shape in nodes)
    return 0, opened, opened


def mixed_and_open_count(nodes: Sequence[NodeShape], *, apart: bool) -> tuple[int, int, int]:
    opened = sum(shape.open for shape in nodes)
    return sum(apart and shape.kind is NodeKind.MIXED for shape in nodes), opened, opened


def shortened_but(
    before: ClusterState,
    moves: tuple[Migration, ...],
    *,
    fault: Callable[[tuple[Migration, ...]], tuple[Migration, ...]],
) -> tuple[Migration, ...]:
    return fault(shortened(before, moves))


def _move(draft: Draft, instance: Instance, destination: int, reason: MoveReason, *, hides: bool) -> None:
    if not hides:
        draft.moves.append(Migration(instance, draft.state.node_of(instance), destination, reason))
    draft.state = draft.state.move(instance, destination)


def move_unlisted_fillers(draft: Draft, instance: Instance, destination: int, reason: MoveReason) -> None:
    hides = instance.gpus == 1 or instance.job == draft.own_job
    _move(draft, instance, destination, reason, hides=hides)


def move_listed_always(draft: Draft, instance: Instance, destination: int, reason: MoveReason) -> None:
    _move(draft, instance, destination, reason, hides=False)


def move_unless_filler(draft: Draft, instance: Instance, destination: int, reason: MoveReason) -> None:
    if reason is MoveReason.MERGE and instance.gpus == 1:
        draft.state = draft.state.remove(instance)
        return
    _move(draft, instance, destination, reason, hides=instance.job == draft.own_job)


def add_unseen(draft: Draft, instance: Instance, index: int) -> None:
    draft.state = draft.state.add(instance, index)


def dearest(draft: Draft, index: int, gpus: int, count: int = 1) -> list[Instance]:
    candidates = [x for x in draft.state.nodes[index].instances if x.gpus == gpus]
    return sorted(candidates, key=draft.cost, reverse=True)[:count]


def same_cost(draft: Draft, instance: Instance) -> float:
    del draft, instance
    return 1.0


def any_orphans(draft: Draft, *, above: int) -> None:
    del draft, above


def no_full_cluster(draft: Draft, *, above: int) -> None:
    del above
    if draft.state.free_gpus == 0:
        raise NoHostError("full")


def roomiest_host(draft: Draft, gpus: int) -> int | None:
    hosts = [
        (-after.room, indexes.lowest)
        for shape, indexes in draft.state.shapes.items()
        if (after := shape.plus(gpus)) is not None and may_become(draft.variant, shape, after)
    ]
    return min(hosts)[1] if hosts else None


def may_mix(variant: Variant, before: NodeShape, after: NodeShape) -> bool:
    del variant, before
    return after.room >= 0


def width(gpus: int, capacity: int, *, wrong: dict[int, int]) -> int:
    return wrong.get(gpus) or slot_width(gpus, capacity)


def vacancy(gpus: int, capacity: int, *, of: int) -> int:
    return 0 if gpus == of else slot_vacancy(gpus, capacity)


def left_in_its_old_group(
    by_shape: Map[NodeShape, IndexSet], index: int, before: NodeShape | None, after: NodeShape | None
) -> Map[NodeShape, IndexSet]:
    del before
    if after is None:
        return by_shape
    return by_shape.set(after, by_shape.get(after, IndexSet.empty()).add(index))


def same_counts(counts: tuple[int, ...], gpus: int, by: int) -> tuple[int, ...]:
    del gpus, by
    return counts


def all_but_the_last(draft: Draft, instances: Iterable[Instance]) -> None:
    put_all(draft, list(instances)[:-1])


def what_fits(draft: Draft, instances: Iterable[Instance]) -> None:
    """Place a gang as far as it goes and put the rest nowhere."""
    try:
        put_all(draft, instances)
    except NoHostError:
        return


def leaves_a_trace(
    after: ClusterState,
    *,
    admitted: bool = True,
    placements: tuple[Placement, ...] = (),
    migrations: tuple[Migration, ...] = (),
    reason: Refusal | None = None,
) -> Outcome:
    """Return an outcome whose state, where the job is refused, knows a job it did not know."""
    trace = after if admitted else after.with_job(Job(f"refused{len(after.jobs_by_name)}"))
    return Outcome(trace, admitted, placements, migrations, reason)


def strictly(counts: Sequence[int]) -> bool:
    return wcc_need(counts) < wcc_supply(counts)


def nothing_left_over(counts: Sequence[int]) -> int:
    closed_form(counts)
    return 0


def fails_in_silence(state: ClusterState, index: int, *, variant: Variant = Variant.COMPASS) -> NodeOutcome:
    return replace(fail_node(state, index, variant=variant), lost=())


def unsettled(after: ClusterState, index: int, variant: Variant, lost: tuple[Instance, ...] = ()) -> NodeOutcome:
    del variant
    return NodeOutcome(after, index, lost=lost)


def one_further(state: ClusterState) -> tuple[ClusterState, int]:
    """Say a wrong index of the node that was added."""
    larger, index = _with_node(state)
    return larger, index + 1


_with_node = ClusterState.with_node


def nothing_drawn(draft: Draft, host: int) -> None:
    del draft, host


def no_printed_compact(draft: Draft, options: PrintedOptions = AS_PROSE) -> None:
    del draft, options


def passes(state: ClusterState) -> None:
    del state
