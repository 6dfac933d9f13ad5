"""Plans that stop instances, taken up wherever they may be seen: nothing is lost, doubled or over-booked."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.oracle.stopping_worlds import (
    Operator,
    Plan,
    indexed_job,
    indexes,
    lasting_names,
    new_names,
    replica_set,
    stateful_set,
    tight_world,
    without_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.stopping_worlds import Cluster, Look

LOOKS = (without_names, new_names, lasting_names, indexes, indexed_job, replica_set, stateful_set)


def plans_with_stops(look: Look, rng: random.Random, count: int) -> Iterator[tuple[Cluster, Plan]]:
    while count:
        cluster, goal = tight_world(rng)
        plan = Plan(cluster, goal, look, rng)
        if plan.stops:
            yield cluster, plan
            count -= 1


def played(look: Look, rng: random.Random, count: int) -> tuple[int, int]:
    """Take plans up in every state that can be seen; return the states and the looks at them and at what came after."""
    states = looks = 0
    for cluster, plan in plans_with_stops(look, rng, count):
        for state in plan.states(cluster):
            states += 1
            looks += Operator(plan, look, rng).carry_out(state)
            assert state.places() == plan.after
    return states, looks


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_that_a_plan_stops_is_lost(look: Look) -> None:
    states, looks = played(look, random.Random(11), 12)
    assert states > 60
    assert looks > states


@pytest.mark.slow
@pytest.mark.parametrize("look", LOOKS)
def test_nothing_that_many_plans_stop_is_lost(look: Look) -> None:
    played(look, random.Random(12), 300)
