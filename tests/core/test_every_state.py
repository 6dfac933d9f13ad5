"""Every state COMPASS can reach on a few nodes, breadth first, and every event in each of them.

A state is what its nodes hold, in descending order: which jobs the instances belong to matters only for who leaves
together, and every set of instances of one demand is let leave. Arrivals are gangs of every size and demand.
"""

from __future__ import annotations

from collections import deque
from itertools import product
from typing import TYPE_CHECKING

import pytest

from compass_core import ClusterState, Job, Variant, apply, arrive, depart
from tests.core.naive import Cluster
from tests.core.referee import placement_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_core import Outcome

Contents = tuple[tuple[int, ...], ...]
"""The demands on each node, descending."""

COMPASS = Variant.COMPASS


def contents_of(state: ClusterState) -> Contents:
    return tuple(sorted((node.shape.demands for node in state.nodes), reverse=True))


def cluster(contents: Contents, leaving: tuple[int, ...] = (), gpus: int = 1) -> ClusterState:
    """Return a cluster of one-instance jobs, but for the gang "x": so many instances of that demand of each node."""
    homes = [at for at, count in enumerate(leaving) for _ in range(count)]
    rest = [(at, g) for at, demands in enumerate(contents) for g in demands]
    for at in homes:
        rest.remove((at, gpus))
    placement = [(Job(f"j{number:02}", 1, g), [at]) for number, (at, g) in enumerate(rest)]
    placement += [(Job("x", len(homes), gpus), homes)] if homes else []
    return ClusterState.from_placement(placement, nodes=len(contents))


def model_of(state: ClusterState) -> Cluster:
    jobs = {name: (job.instances, job.gpus) for name, job in state.jobs_by_name.items()}
    return Cluster(state.capacity, set(range(state.node_count)), jobs=jobs, where=placement_of(state))


def arrivals(contents: Contents) -> Iterator[Outcome]:
    """Yield what every arrival does, having checked the answer (C1) and the moves."""
    state = cluster(contents)
    model = model_of(state)
    for gpus in range(1, 9):
        for instances in range(1, model.free // gpus + 1):
            out = arrive(state, Job("x", instances, gpus), variant=COMPASS)
            assert out.admitted == model.fits_apart(instances, gpus)
            moved = placement_of(apply(state, out.migrations))
            assert moved.items() <= placement_of(out.state).items()
            yield out


def departures(contents: Contents) -> Iterator[Outcome]:
    for gpus in range(1, 9):
        for leaving in product(*(range(demands.count(gpus) + 1) for demands in contents)):
            if any(leaving):
                state = cluster(contents, leaving, gpus)
                out = depart(state, "x", variant=COMPASS)
                assert apply(state.without_job("x"), out.migrations) == out.state
                yield out


def explore(nodes: int) -> tuple[int, int, int, int]:
    """Return the number of states, of those with a mixed node, of events, and the most migrations in one."""
    seen: set[Contents] = {((),) * nodes}
    queue = deque(seen)
    events = mixed = most = 0
    while queue:
        contents = queue.popleft()
        for outcomes in (arrivals(contents), departures(contents)):
            for out in outcomes:
                events += 1
                most = max(most, len(out.migrations))
                after = contents_of(out.state)
                if after in seen:
                    continue
                out.state.check()
                model = model_of(out.state)
                assert model.broken_laws(shared=False) == []
                mixed += model.has_mixed_node
                seen.add(after)
                queue.append(after)
    return len(seen), mixed, events, most


@pytest.mark.parametrize(("nodes", "found"), [(1, (42, 4, 297, 0)), (2, (616, 44, 9_416, 4))])
def test_one_and_two_nodes(nodes: int, found: tuple[int, int, int, int]) -> None:
    """The numbers are recorded, so that a change of the algorithm shows."""
    assert explore(nodes) == found


@pytest.mark.slow
def test_three_nodes() -> None:
    assert explore(3) == (5_410, 264, 145_803, 6)
