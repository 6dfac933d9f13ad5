"""Room for waiting instances in one pool by few moves, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracle.admission.fitting import most_fitting, plain_weights, running_on, waiting_pool, weights_in_words
from oracle.optimum.model import Model, Pool
from oracle.optimum.proof import NEVER
from oracle.optimum.proving import Prover, Question
from oracle.optimum.solver import Outcome, Row, solve_integers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.admission.question import Waiting
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
    starting
        Instances of the job that have room after the changes: all of them if they start together.
    most
        Instances of the job that fit at most, however others are moved.
    weights
        Why none fits, or not all that start together; or why it takes so many moves. None where that rests on a
        solver's word.
    no_more
        Why no more than those that start fit, if that are fewer than wait; None where that rests on a solver's word.
    proof
        Who says that there is no way, or none with fewer moves.
    """

    outcome: Outcome
    changes: Mapping[Change, int] | None = None
    lower_bound: int = 0
    starting: int = 0
    most: int
    weights: Weights | None = None
    no_more: Weights | None = None
    proof: str = ""


def make_room(nodes: Mapping[NodeKind, int], job: Waiting, deadline: Deadline) -> Room:
    """Return the fewest moves among nodes after which a waiting job fits, or as much of it as can start.

    Parameters
    ----------
    nodes
        The nodes that take instances.
    job
        The job.
    deadline
        When to give up. Bounds that need no solver are tried all the same.
    """
    return _for_all(nodes, job, deadline) if job.together or job.size == 1 else _for_most(nodes, job, deadline)


def _for_all(nodes: Mapping[NodeKind, int], job: Waiting, deadline: Deadline) -> Room:
    instances, pool = job.size, waiting_pool(nodes, job)
    for weights in plain_weights(pool, job):
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
    return Room(
        outcome=answer.outcome,
        changes=model.decode(answer.values)[0] if answer.values else None,
        lower_bound=bound,
        starting=instances,
        most=instances,
        weights=_of_moves(prover, bound, instances, deadline),
        proof=answer.solver,
    )


def _of_moves(prover: Prover, bound: int, instances: int, deadline: Deadline) -> Weights | None:
    """Return weights that show that so many instances take several moves."""
    proposed = prover.weights(_ARRIVALS, bound + instances, deadline) if bound > 1 else None
    if proposed is None or not bound + instances <= proposed[1].arrivals(0) < NEVER:
        return None
    return proposed[0]


def _for_most(nodes: Mapping[NodeKind, int], job: Waiting, deadline: Deadline) -> Room:
    """Return the fewest moves after which as many instances as possible fit."""
    alone = replace(job, instances=1, together=True)
    if not job.further_parts and (none := _for_all(nodes, alone, deadline)).outcome is Outcome.INFEASIBLE:
        return replace(none, most=0)
    pool = Pool(nodes, running_on(nodes), job.wanted)
    model = Model([pool])
    placed = tuple(term for kind in job.wanted for term in model.placed(0, kind))
    first = solve_integers(model.program((column, -1) for column, _ in placed), deadline)
    most = job.size if first.bound is None else min(job.size, -first.bound)
    if not most:
        return Room(outcome=Outcome.INFEASIBLE, most=0, proof=first.solver)
    if not first.values:
        return Room(outcome=Outcome.GAVE_UP, most=most)
    starting = sum(first.values[column] for column, _ in placed)
    second = solve_integers(model.program(model.moves, [Row(starting, starting, placed)]), deadline)
    bound = max(0, (second.bound or 0) - starting) if starting == most else 0
    weights = no_more = None
    if not job.further_parts and starting == most:
        some = waiting_pool(nodes, replace(job, instances=starting))
        weights = _of_moves(Prover(some, Model([some])), bound, starting, deadline)
        if starting < job.size:
            further = waiting_pool(nodes, replace(job, instances=starting + 1))
            no_more = Prover(further, Model([further])).no_arrangement(_ARRIVALS, deadline)
    return Room(
        outcome=second.outcome if starting == most else Outcome.FOUND,
        changes=model.decode(second.values or first.values)[0],
        lower_bound=bound,
        starting=starting,
        most=most,
        weights=weights,
        no_more=no_more,
        proof=first.solver,
    )
