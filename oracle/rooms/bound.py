"""How many instances of one demand fit at most, however the running ones are moved, and why: dual weights.

Give every running instance of demand d a value y_d, and every new one the value 1. Then all instances together are
worth no more than the most valuable contents of every node: k + Σ_d y_d n_d ≤ Σ_n max y(contents of n). This holds for
all values; the linear program only proposes good ones. So the bound can be checked without a solver, in integers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.interruption import break_off_if_requested
from oracle.rooms.model import Group, RoomModel
from oracle.solver import solve_relaxation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.solver import Deadline

# The dual values of these programs are fractions with small denominators; the first that settles the question is taken.
DENOMINATORS = (*range(1, 13), 24, 60, 840)


@dataclass(frozen=True, slots=True)
class RoomWeights:
    """Values of running instances: integers over one denominator, which is the value of a new instance.

    Attributes
    ----------
    denominator
        At least 1.
    values
        Pairs of a demand in GPUs and its value. Demands without one are worth nothing.
    """

    denominator: int
    values: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        values = ", ".join(f"{value} for {demand} GPUs" for demand, value in self.values if value)
        return f"weights {self.denominator} for a new instance" + (f", {values}" if values else "")

    def bound(self, rooms: Mapping[int, int], instances: Mapping[int, int], gpus: int) -> int:
        """Return how many new instances fit at most.

        Parameters
        ----------
        rooms
            Nodes that take instances, by their GPUs beside what cannot move.
        instances
            Movable instances on them, by demand.
        gpus
            Demand of the new instances.
        """
        items = [(demand, value) for demand, value in self.values if value > 0]
        items.append((gpus, self.denominator))
        most = [0]
        for room in range(1, max(rooms, default=0) + 1):
            break_off_if_requested()
            most.append(max([most[-1], *(most[room - demand] + value for demand, value in items if demand <= room)]))
        worth = sum(most[room] * nodes for room, nodes in rooms.items())
        worth -= sum(value * instances.get(demand, 0) for demand, value in self.values)
        return max(0, worth // self.denominator)


def rooms_of(groups: Mapping[Group, Iterable[str]]) -> tuple[Counter[int], Counter[int]]:
    """Return how many nodes have so much room beside what cannot move, and the movable instances by demand."""
    rooms: Counter[int] = Counter()
    instances: Counter[int] = Counter()
    for group, names in groups.items():
        nodes = len(list(names))
        rooms[group.room] += nodes
        for demand in group.own:
            instances[demand] += nodes
    return rooms, instances


def most_new(
    groups: Mapping[Group, Iterable[str]], gpus: int, wanted: int, deadline: Deadline
) -> tuple[int, RoomWeights]:
    """Return a number of new instances that is not exceeded however instances are moved, with its reason.

    The search for better weights stops once the bound is below `wanted`.
    """
    rooms, instances = rooms_of(groups)
    plain = RoomWeights(1)
    by_total = RoomWeights(gpus, tuple(sorted((demand, demand) for demand in instances)))
    candidates = [(weights.bound(rooms, instances, gpus), weights) for weights in (by_total, plain)]
    if min(bound for bound, _ in candidates) >= wanted:
        candidates += _from_duals(rooms, instances, gpus, wanted, deadline)
    return min(candidates, key=lambda candidate: candidate[0])


def _from_duals(
    rooms: Mapping[int, int], instances: Mapping[int, int], gpus: int, wanted: int, deadline: Deadline
) -> list[tuple[int, RoomWeights]]:
    bare = {Group(room, ()): nodes for room, nodes in rooms.items()}
    model = RoomModel(bare, {gpus: wanted}, instances=instances)
    program = model.program((column, -count) for column, count in model.placed(gpus))
    relaxation = solve_relaxation(program, deadline)
    if relaxation is None:
        return []
    found: list[tuple[int, RoomWeights]] = []
    for denominator in DENOMINATORS:
        values = ((d, round(dual * denominator)) for d, dual in zip(model.demands, relaxation.duals, strict=False))
        weights = RoomWeights(denominator, tuple(sorted(values)))
        found.append((weights.bound(rooms, instances, gpus), weights))
        if found[-1][0] < wanted:
            break
    return found
