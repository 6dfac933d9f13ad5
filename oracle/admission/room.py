"""Room for waiting instances in one pool by few moves, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.admission.fitting import most_fitting, plain_weights, waiting_pool, weights_in_words
from oracle.optimum.model import Model
from oracle.optimum.proof import NEVER
from oracle.optimum.proving import Prover, Question
from oracle.optimum.solver import Outcome, solve_integers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.admission.question import AskedJob
    from oracle.optimum.model import Change, NodeKind
    from oracle.optimum.solver import Deadline
    from oracle.optimum.weights import Weights

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


def make_room(nodes: Mapping[NodeKind, int], job: AskedJob, deadline: Deadline) -> Room:
    """Return the fewest moves inside a pool after which a waiting job fits.

    Parameters
    ----------
    nodes
        The pool's nodes that take instances.
    job
        The job; its pool does not matter.
    deadline
        When to give up. Bounds that need no solver are tried all the same.
    """
    instances, pool = job.instances, waiting_pool(nodes, job)
    for weights in plain_weights(pool, job.gpus_per_instance):
        most = most_fitting(pool, job, weights)
        if most < instances:
            return Room(outcome=Outcome.INFEASIBLE, most=most, weights=weights, proof=weights_in_words(pool, weights))
    model = Model([pool])
    prover = Prover(pool, model)
    answer = solve_integers(model.program(model.moves), deadline)
    if answer.outcome is Outcome.INFEASIBLE:
        found = prover.no_arrangement(_ARRIVALS, deadline)
        most = instances if found is None else most_fitting(pool, job, found)
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
