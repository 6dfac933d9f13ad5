"""How many moves it takes at least to make room for new instances, and why: dual weights.

Give every running instance of demand d a value y_d, every new one a value w ≥ 0, and every move the price 1. Whatever
leaves one node arrives at another, so k new instances take at least

    w·k + Σ_nodes min over what a node may hold of [arrivals - y·(held then - held now) - w·new instances]

moves. That holds for all values; the linear program only proposes good ones. So the bound can be checked without a
solver, in integers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.rooms.bound import DENOMINATORS
from oracle.rooms.model import Group, RoomModel
from oracle.solver import Row, solve_relaxation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.solver import Deadline

# Steps of the dynamic programs of one bound: beyond it, on nodes of hundreds of GPUs, weights are not worth their time.
MAX_STEPS = 5_000_000


@dataclass(frozen=True, slots=True)
class MoveWeights:
    """Values of instances: integers over one denominator, which is the price of a move.

    Attributes
    ----------
    denominator
        At least 1.
    new
        Value of a new instance, at least 0.
    values
        Pairs of a demand in GPUs and the value of a running instance of it. Demands without one are worth nothing.
    """

    denominator: int
    new: int
    values: tuple[tuple[int, int], ...] = ()

    def bound(self, nodes: Mapping[Group, int], instances: int, gpus: int) -> int | None:
        """Return how many moves it takes at least before so many new instances fit; None if that is too much work.

        Parameters
        ----------
        nodes
            The nodes of the pool that take instances, by group.
        instances, gpus
            What is waiting.

        Raises
        ------
        ValueError
            The denominator is below 1, the new instances have a negative value, or a demand has two values.
        """
        values = dict(self.values)
        if self.denominator < 1 or self.new < 0 or len(values) != len(self.values):
            raise ValueError("the weights are none")
        demands = sorted({demand for group in nodes for demand in group.own}, reverse=True)
        if sum(len(demands) * (group.room + 1) ** 2 for group in nodes) > MAX_STEPS:
            return None
        total = self.new * instances
        total += sum(count * self._least(group, demands, values, gpus) for group, count in nodes.items())
        return max(0, -(-total // self.denominator))

    def _least(self, group: Group, demands: Sequence[int], values: Mapping[int, int], gpus: int) -> int:
        """Return the least price of a node of a group, whatever it is to hold."""
        held = Counter(group.own)
        prices: dict[int, int] = {0: 0}
        for demand in demands:
            after: dict[int, int] = {}
            value = values.get(demand, 0)
            for load, price in prices.items():
                for k in range((group.room - load) // demand + 1):
                    more = k - held[demand]
                    total = price + self.denominator * max(more, 0) - value * more
                    after[load + k * demand] = min(total, after.get(load + k * demand, total))
            prices = after
        return min(price - self.new * ((group.room - load) // gpus) for load, price in prices.items())


def weigh_moves(
    nodes: Mapping[Group, int], instances: int, gpus: int, moves: int, deadline: Deadline
) -> MoveWeights | None:
    """Return weights that prove that making room takes so many moves; None if none were found.

    Parameters
    ----------
    nodes
        The nodes of the pool that take instances, by group.
    instances, gpus
        What is waiting.
    moves
        The bound that is to be proved.
    deadline
        When to give up.
    """
    model = RoomModel(nodes, {gpus: instances})
    goal = Row(instances, instances, model.placed(gpus))
    relaxation = solve_relaxation(model.program(model.moves, [goal]), deadline)
    if relaxation is None:
        return None
    for denominator in DENOMINATORS:
        values = ((d, round(dual * denominator)) for d, dual in zip(model.demands, relaxation.duals, strict=False))
        new = max(0, round(relaxation.duals[-1] * denominator))
        weights = MoveWeights(denominator, new, tuple(sorted((d, value) for d, value in values if value)))
        bound = weights.bound(nodes, instances, gpus)
        if bound is None or bound >= moves:
            return None if bound is None else weights
    return None
