"""Room for waiting instances in one pool by few moves, or why there is none.

Nodes that take nothing are left out: to empty them makes no room that could be used.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from oracle.optimum.model import Model, NodeKind, Pool
from oracle.optimum.proof import NEVER, line_of
from oracle.optimum.proving import Prover, Question
from oracle.optimum.solver import Outcome, solve_integers
from oracle.optimum.weights import Weights
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.optimum.model import Change
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import NodeContent

_ARRIVALS = Question(arrivals=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How room can be made in one pool.

    Attributes
    ----------
    outcome
        OPTIMAL: the moves are fewest. FOUND: there may be a way with fewer. INFEASIBLE: there is no way. GAVE_UP: time
        ran out before anything was known.
    changes
        What becomes of the nodes; None unless a way was found.
    lower_bound
        Moves that every way has at least.
    most
        New instances of the demand that fit at most, however instances are moved.
    weights
        Why no more than `most` fit, if that is fewer than are waiting, or why it takes so many moves; None where that
        rests on a solver's word.
    proof
        Who says that there is no way, or none with fewer moves.
    """

    outcome: Outcome
    changes: Mapping[Change, int] | None = None
    lower_bound: int = 0
    most: int
    weights: Weights | None = None
    proof: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvidence:
    """Weights about one pool, the instances that wait counted among those that run there.

    Attributes
    ----------
    pool
        Its name.
    argument
        Why the job does not fit, however instances are moved, or why it takes several moves before it fits; None if
        neither is so, or if that rests on a solver's word.
    """

    pool: str
    argument: Weights | None = None

    def to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, object])


def open_nodes(contents: Iterable[NodeContent]) -> Counter[NodeKind]:
    """Return how many nodes take instances, by kind."""
    return Counter(NodeKind.of(content) for content in contents if content.takes_instances)


def waiting_pool(nodes: Mapping[NodeKind, int], instances: int, gpus: int) -> Pool:
    """Return a pool in which so many instances of one demand wait beside those that run."""
    return Pool(nodes, running_on(nodes) + Counter({gpus: instances}))


def running_on(nodes: Mapping[NodeKind, int]) -> Counter[int]:
    """Return how many movable instances nodes hold, by demand."""
    running: Counter[int] = Counter()
    for kind, number in nodes.items():
        for demand in kind.holds:
            running[demand] += number
    return running


def plain_weights(pool: Pool, gpus: int) -> tuple[Weights, Weights]:
    """Return the weights that need no search: what an instance weighs is its GPUs, or 1 if it has the demand."""
    by_total, alone = tuple(pool.demands), tuple(int(demand == gpus) for demand in pool.demands)
    return Weights(0, 0, by_total), Weights(0, 0, alone)


def count_fitting(nodes: Mapping[NodeKind, int], gpus: int) -> int:
    """Return how many new instances of one demand have room without a move."""
    return sum(number * ((kind.node_class.room - sum(kind.holds)) // gpus) for kind, number in nodes.items())


def most_fitting(pool: Pool, instances: int, gpus: int, weights: Weights) -> int:
    """Return how many of the waiting instances fit at most, as far as weights without a price for moves say.

    An instance less that waits makes what is missing smaller by its own weight.
    """
    value = dict(zip(pool.demands, weights.demands, strict=True))[gpus]
    missing = line_of(pool, weights).least
    if missing <= 0 or value <= 0 or weights.arrival or weights.partial:
        return instances
    return max(0, instances + -missing // value)


def make_room(nodes: Mapping[NodeKind, int], instances: int, gpus: int, deadline: Deadline) -> Room:
    """Return the fewest moves inside a pool after which so many new instances of one demand fit.

    Parameters
    ----------
    nodes
        The pool's nodes that take instances.
    instances, gpus
        What is waiting.
    deadline
        When to give up. Bounds that need no solver are tried all the same.
    """
    pool = waiting_pool(nodes, instances, gpus)
    for weights in plain_weights(pool, gpus):
        most = most_fitting(pool, instances, gpus, weights)
        if most < instances:
            return Room(outcome=Outcome.INFEASIBLE, most=most, weights=weights, proof=weights_in_words(pool, weights))
    model = Model([pool])
    prover = Prover(pool, model)
    answer = solve_integers(model.program(model.moves), deadline)
    if answer.outcome is Outcome.INFEASIBLE:
        found = prover.no_arrangement(_ARRIVALS, deadline)
        most = instances if found is None else most_fitting(pool, instances, gpus, found)
        if found is None or most >= instances:
            return Room(outcome=Outcome.INFEASIBLE, most=instances - 1, proof=answer.solver)
        return Room(outcome=Outcome.INFEASIBLE, most=most, weights=found, proof=weights_in_words(pool, found))
    bound = max(0, (answer.bound or 0) - instances)
    changes = model.decode(answer.values)[0] if answer.values else None
    proposed = prover.weights(_ARRIVALS, bound + instances, deadline) if bound > 1 else None
    proved = proposed is not None and bound + instances <= proposed[1].arrivals(0) < NEVER
    return Room(
        outcome=answer.outcome,
        changes=changes,
        lower_bound=bound,
        most=instances,
        weights=proposed[0] if proposed is not None and proved else None,
        proof=answer.solver,
    )


def weights_in_words(pool: Pool, weights: Weights) -> str:
    """Return weights as they stand in the proof of a verdict."""
    values = zip(pool.demands, weights.demands, strict=True)
    return "weights " + ", ".join(f"{value} for {count(demand, 'GPU')}" for demand, value in values if value)
