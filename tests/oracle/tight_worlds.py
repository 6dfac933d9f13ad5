"""How often the rules of thumb about moves miss what there is, in small worlds with little room: judged by trying all.

`python -m tests.oracle.tight_worlds` prints the figures that `docs/plan.md` and `docs/admit.md` give. In pools as small
as these the oracle would try everything itself; that is switched off here, as it is in large pools.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import TYPE_CHECKING
from unittest.mock import patch

import oracle.admission.jobs
import oracle.moves.sequence
import oracle.planning.planner
from oracle.admission.answer import Verdict
from oracle.admission.jobs import admit
from oracle.moves.move import Move
from oracle.moves.ordering import order_moves
from oracle.planning.planner import plan
from tests.oracle import brute_moves
from tests.oracle.brute_moves import Instance, Node, World

if TYPE_CHECKING:
    from tests.oracle.brute_moves import Places

WORLDS = 1_500


def tight_world(rng: random.Random) -> World:
    """Return two to four nodes of one pool, full but for 0 to 2 GPUs each, some GPU being free."""
    gpus = rng.choice([4, 6, 8, 8])
    while True:
        nodes = tuple(Node(gpus) for _ in range(rng.randint(2, 4)))
        instances: list[Instance] = []
        for n in range(len(nodes)):
            left = gpus - rng.choice([0, 1, 1, 2])
            while left:
                demand = rng.randint(1, min(left, 5))
                instances.append(Instance(n, demand, rng.randrange(3)))
                left -= demand
        world = World(nodes, tuple(instances))
        if len(instances) <= 8 and any(world.free(world.start)):
            return world


def random_goal(rng: random.Random, world: World, most_moves: int = 6) -> Places | None:
    """Return a placement that takes as many moves as any, at most so many."""
    goals = [(moves, places) for places, moves in brute_moves.placements(world) if 0 < moves <= most_moves]
    most = max((moves for moves, _ in goals), default=0)
    return rng.choice([places for moves, places in goals if moves == most]) if goals else None


def relocations(world: World, goal: Places) -> list[Move]:
    return [
        Move(0, *world.key(i), world.instances[i].gpus, f"n{home}", f"n{target}")
        for i, (home, target) in enumerate(zip(world.start, goal, strict=True))
        if home != target
    ]


def figures(seed: int, worlds: int) -> Counter[str]:
    """Return how many plans and admissions there were, and how many of them missed something."""
    rng = random.Random(seed)
    found = Counter[str]()

    def no_search(*_: object) -> None:
        """Stand in for a search that too many placements end."""

    with (
        patch.object(oracle.moves.sequence, "MAX_SEARCHED", 0),
        patch.object(oracle.planning.planner, "shortest_live", no_search),
        patch.object(oracle.admission.jobs, "shortest_live", no_search),
    ):
        for _ in range(worlds):
            world = tight_world(rng)
            goal = random_goal(rng, world)
            if goal is not None:
                _count_stops(world, goal, found)
            _count_live(rng, world, found)
    return found


def _count_stops(world: World, goal: Places, found: Counter[str]) -> None:
    fewest = brute_moves.fewest_stops_and_steps(world, goal)
    order = order_moves(world.snapshot(), relocations(world, goal))
    brute_moves.play(world.snapshot(), order.moves, order.stops)
    assert fewest is not None
    assert len(order.stops) >= fewest[0]
    found["orders"] += 1
    found["orders that stop any"] += fewest[0] > 0
    found["orders that stop more than the fewest"] += len(order.stops) > fewest[0]


def _count_live(rng: random.Random, world: World, found: Counter[str]) -> None:
    reached = brute_moves.distances(world)
    fewest = min(map(world.partial, reached))
    planned = plan(world.snapshot(), moves="live")
    brute_moves.play(world.snapshot(), planned.moves)
    assert planned.partial_nodes_after >= fewest
    if fewest < world.partial(world.start):
        found["live plans"] += 1
        found["live plans that leave more partial nodes than need be"] += planned.partial_nodes_after > fewest
    instances, gpus = brute_moves.random_job(rng, world)
    possible = any(sum(free // gpus for free in world.free(places)) >= instances for places in reached)
    answer = admit(world.snapshot(), instances=instances, gpus=gpus, moves="live")
    assert possible or answer.verdict in {Verdict.CANNOT, Verdict.UNKNOWN}
    assert not possible or answer.verdict is not Verdict.CANNOT
    if possible and answer.verdict is not Verdict.FITS_NOW:
        found["admissions after live moves"] += 1
        found["admissions after live moves that are not found"] += answer.verdict is Verdict.UNKNOWN


if __name__ == "__main__":
    for what, number in figures(1, int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS).items():
        print(f"{number:6,}  {what}")  # noqa: T201 - that is what it is for
