"""Hypothesis strategies for jobs, event lists and cluster states: test a scheduler of your own against the same laws.

Nothing here runs an operator or asks a state a question: jobs and states are made by their plain constructors, widths
are computed afresh. So a fault in the code under test cannot hide in its inputs.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job
from proofs.events import Arrival, Departure, NodeEvent, NodeEventKind

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    from oracle.cli.program import missing_extra

    if (missing := missing_extra(error, {"hypothesis": "proofs"})) is None:
        raise
    raise ModuleNotFoundError(missing, name=error.name) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.events import Event

CAPACITIES = (2, 4, 8, 16)
"""GPUs a node, of the clusters for which all claims are stated."""

Placement = tuple[tuple[Job, tuple[int, ...]], ...]
"""Jobs, each with the node index of every instance: what `ClusterState.from_placement` takes."""


class Region(Enum):
    """Which nodes a generated state may have (theory §3)."""

    ABS = "abs"  # Σ: empty, slotted or pool
    EXTENDED = "extended"  # Σ⁺: slots and ones may share a node, and reserve no more than it has
    ANY = "any"  # whatever over-books no node, say {3, 3, 2}, whose slots ask for 10 GPUs


def demands(capacity: int = 8) -> st.SearchStrategy[int]:
    """Return a strategy for GPUs an instance, 1 to `capacity`; every other one is 1, so that vacancies find fillers."""
    return st.one_of(st.just(1), st.integers(1, capacity))


def jobs(
    name: str, *, capacity: int = 8, max_instances: int = 4, gpus: st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[Job]:
    """Return a strategy for jobs of that name.

    Parameters
    ----------
    capacity
        GPUs a node: the largest demand.
    max_instances
        The most instances in a gang.
    gpus
        Demands to draw from; `demands` by default. Pass ``st.sampled_from([2, 4, 8])`` for friendly ones only.
    """
    return st.builds(Job, st.just(name), st.integers(1, max_instances), demands(capacity) if gpus is None else gpus)


@st.composite
def event_lists(
    draw: st.DrawFn,
    *,
    capacity: int = 8,
    max_events: int = 30,
    max_instances: int = 4,
    gpus: st.SearchStrategy[int] | None = None,
    nodes: int | None = None,
) -> tuple[Event, ...]:
    """Return a strategy for lists of events, in which a job departs at most once and after its arrival.

    Parameters
    ----------
    capacity, max_instances, gpus
        As for `jobs`.
    max_events
        The most events in a list.
    nodes
        Nodes at the start; where it is given, nodes are added, drained, fail and return too.
    """
    events: list[Event] = []
    present: list[str] = []
    arrived = 0
    kinds = [Arrival, Arrival, Departure] if nodes is None else [Arrival, Arrival, Departure, NodeEvent]
    known = 0 if nodes is None else nodes
    for _ in range(draw(st.integers(0, max_events))):
        kind = draw(st.sampled_from(kinds))
        if kind is NodeEvent:
            what = draw(st.sampled_from(NodeEventKind))
            known += what is NodeEventKind.ADD
            if known:
                events.append(NodeEvent(what, draw(st.integers(0, known - 1))))
        elif kind is Departure and present:
            events.append(Departure(present.pop(draw(st.integers(0, len(present) - 1)))))
        else:
            arrived += 1
            job = draw(jobs(str(arrived), capacity=capacity, max_instances=max_instances, gpus=gpus))
            present.append(job.name)
            events.append(Arrival(job))
    return tuple(events)


def node_contents(*, capacity: int = 8, region: Region = Region.EXTENDED) -> st.SearchStrategy[tuple[int, ...]]:
    """Return a strategy for the demands on one node, descending."""
    return st.lists(demands(capacity), max_size=capacity).map(
        lambda wanted: _what_fits(wanted, capacity=capacity, region=region)
    )


def _what_fits(wanted: Sequence[int], *, capacity: int, region: Region) -> tuple[int, ...]:
    taken: tuple[int, ...] = ()
    for gpus in wanted:
        larger = tuple(sorted((*taken, gpus), reverse=True))
        if _belongs(larger, capacity, region):
            taken = larger
    return taken


def _belongs(content: Sequence[int], capacity: int, region: Region) -> bool:
    anchors = [gpus for gpus in content if gpus > 1]
    widths = sum(next(w for w in _widths(capacity) if w >= gpus) for gpus in anchors)
    ones = max(0, sum(content) - widths)  # 1-GPU instances that no vacancy takes
    if region is Region.ABS and anchors and ones:
        return False
    return sum(content) <= capacity and (region is Region.ANY or widths + ones <= capacity)


def _widths(capacity: int) -> list[int]:
    return [w for w in (2, 4, 8, 16) if w < capacity] + [capacity]


@st.composite
def placements(
    draw: st.DrawFn,
    *,
    capacity: int = 8,
    min_nodes: int = 1,
    max_nodes: int = 4,
    max_instances: int = 4,
    region: Region = Region.EXTENDED,
) -> tuple[int, Placement]:
    """Return a strategy for a number of nodes and a placement on them.

    The nodes are filled first; the instances of one demand are then dealt out to jobs of at most `max_instances`.
    """
    contents = draw(st.lists(node_contents(capacity=capacity, region=region), min_size=min_nodes, max_size=max_nodes))
    placement: list[tuple[Job, tuple[int, ...]]] = []
    for gpus in range(1, capacity + 1):
        homes = [index for index, content in enumerate(contents) for g in content if g == gpus]
        left = draw(st.permutations(homes))
        while left:
            size = draw(st.integers(1, min(max_instances, len(left))))
            placement.append((Job(f"j{len(placement) + 1}", size, gpus), tuple(left[:size])))
            left = left[size:]
    return len(contents), tuple(placement)


@st.composite
def cluster_states(
    draw: st.DrawFn,
    *,
    capacity: int = 8,
    min_nodes: int = 1,
    max_nodes: int = 4,
    max_instances: int = 4,
    region: Region = Region.EXTENDED,
) -> ClusterState:
    """Return a strategy for cluster states, as no scheduler need have left them.

    Vacancies may stand beside ones, and any number of nodes may be open. One `compact` brings them in order.
    """
    nodes, placement = draw(
        placements(
            capacity=capacity, min_nodes=min_nodes, max_nodes=max_nodes, max_instances=max_instances, region=region
        )
    )
    return ClusterState.from_placement(placement, nodes=nodes, capacity=capacity)
