"""The rule of the outer tiers: EXACT's placement, and exchanges of blocks where more than one host is open.

Merging as `compass_core.compact` does it lists the divisions of two hosts, and ends with one open host only where sizes
divide one another. On hosts of 9 panels it can end with several: a slot of 8 panels leaves one panel that no slot can
use, and the 1-panel instances that could fill it stand on a full host. So here an open host exchanges blocks with any
other one as long as that leaves the two less loose (`compass_core.hierarchy.exchange`).

Every exchange lowers a tuple of whole numbers, so there is an end to it. Then at most one host is open where the
tier's condition holds (claim D1), and a job is refused only if no arrangement has room for it (claim D2).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from compass_core.compact import fill_vacancies
from compass_core.draft import Draft
from compass_core.hierarchy.exchange import blocks_of, exchanges
from compass_core.outcome import Outcome
from compass_core.place import NoHostError, find_host
from compass_core.refusal import Refusal
from compass_core.steps import MoveReason, Placement, shortened
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from compass_core.hierarchy.exchange import Exchange
    from compass_core.index_set import IndexSet
    from compass_core.model import Instance, Job, NodeShape
    from compass_core.state import ClusterState


# How many open hosts are looked for a partner, those with most room first. D1 and D2 rest on the first; a few more make
# for cheaper exchanges, and all of them would make a tier with many open hosts slow, such as one that a large job left.
_MOST_OPEN = 4


def tighten(draft: Draft) -> None:
    """Exchange blocks between hosts until at most one is open or no exchange leaves them less loose."""
    while sum(len(hosts) for shape, hosts in draft.state.shapes.items() if shape.open) > 1:
        if not _exchange_once(draft):
            return


def _exchange_once(draft: Draft) -> bool:
    """Carry out the exchange that closes most hosts, then the cheapest; return False where there is none."""
    found = list(_between_hosts(draft.state.shapes))
    if not found:
        return False
    most = max(way.closes for _, _, way in found)
    ranked = ((_cost(draft, *entry), *entry[:2], entry[2].steps) for entry in found if entry[2].closes == most)
    _, first, second, steps = min(ranked)
    for from_first, units in steps:
        source, destination = (first, second) if from_first else (second, first)
        draft.move(draft.cheapest(source, units)[0], destination, MoveReason.EXCHANGE)
    return True


def _between_hosts(shapes: Mapping[NodeShape, IndexSet]) -> Iterator[tuple[int, int, Exchange]]:
    """Yield an open host, another one in use and an exchange, of one pair for each two shapes; see `_MOST_OPEN`."""
    opened = sorted((shape for shape in shapes if shape.open), key=_roomiest_first)
    for shape in opened[:_MOST_OPEN]:
        first = shapes[shape].lowest
        for other, others in shapes.items():
            second = next((index for index in others if index != first), None)
            if other.demands and second is not None:
                yield from ((first, second, way) for way in exchanges(shape, other))


def _roomiest_first(shape: NodeShape) -> tuple[int, int, tuple[int, ...]]:
    return -shape.room, blocks_of(shape)[-1].width, shape.demands


def _cost(draft: Draft, first: int, second: int, way: Exchange) -> float:
    return sum(
        draft.cost(instance)
        for (from_first, units), count in Counter(way.steps).items()
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
    _settle(draft)
    placements = tuple(Placement(instance, draft.state.node_of(instance)) for instance in job.all_instances())
    return Outcome(draft.state, placements=placements, migrations=shortened(state, tuple(draft.moves)))


def _put(draft: Draft, instance: Instance) -> None:
    """Place one instance, exchanging blocks only where there is no place for it otherwise.

    With one host open exchanges gather ones beside its room, which become fillers of the new slot.
    """
    host = find_host(draft, instance.gpus)
    if host is None:
        fill_vacancies(draft)
        host = find_host(draft, instance.gpus)
    while host is None:
        if not _exchange_once(draft):
            raise NoHostError(f"no host may take an instance of {instance.gpus} units")
        host = find_host(draft, instance.gpus)
    draft.add(instance, host)


def _settle(draft: Draft) -> None:
    fill_vacancies(draft)
    tighten(draft)


def settle_tight(state: ClusterState, migration_cost: Callable[[Instance], float]) -> Outcome:
    """Settle a tier that a job has left."""
    draft = Draft(state, Variant.EXACT, migration_cost)
    _settle(draft)
    return Outcome(draft.state, migrations=shortened(state, tuple(draft.moves)))
