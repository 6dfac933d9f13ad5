"""Arrivals and departures: Algorithm 1 of the paper, with gangs admitted whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import printed
from compass_core.compact import settle
from compass_core.draft import Draft, every_move_counts_one
from compass_core.outcome import Outcome
from compass_core.place import NoHostError, put_all
from compass_core.refusal import Refusal
from compass_core.steps import Placement, shortened
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_core.model import Instance, Job
    from compass_core.state import ClusterState


def arrive(
    state: ClusterState,
    job: Job,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> Outcome:
    """Place a job, all of its instances or none, and compact.

    COMPASS admits what slots and ones on nodes of their own can hold. EXACT admits whenever the reserved GPUs of all
    instances, the new ones included, fit the cluster: under WCC exactly when ``job.total_gpus <= state.free_gpus``.

    Parameters
    ----------
    migration_cost
        What moving an instance costs, 1 by default. Merges prefer the cheaper side; the number of partial nodes comes
        first all the same. PRINTED knows no such thing and takes the default only.

    Raises
    ------
    DuplicateJobError
        A running job has that name.
    InvalidJobError
        An instance demands more than a node has.
    PrintedUndefinedError
        Under PRINTED, where the print does not say what to do.
    """
    known = state.with_job(job)
    if job.total_gpus > state.free_gpus:
        return Outcome(state, admitted=False, reason=Refusal.of(state, job))
    if variant is Variant.PRINTED:
        draft = printed.place_job(known, job)
    else:
        draft = Draft(known, variant, migration_cost, own_job=job.name)
        try:
            put_all(draft, job.all_instances())
        except NoHostError:
            return Outcome(state, admitted=False, reason=Refusal.of(state, job))
    placements = tuple(Placement(instance, draft.state.node_of(instance)) for instance in job.all_instances())
    return Outcome(draft.state, placements=placements, migrations=shortened(state, tuple(draft.moves)))


def depart(
    state: ClusterState,
    name: str,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> Outcome:
    """Remove a job, refill the vacancies it leaves, and compact.

    Raises
    ------
    UnknownJobError
        No running job has that name.
    PrintedUndefinedError
        Under PRINTED, where an orphaned filler has no legal home.
    """
    without = state.without_job(name)
    if variant is Variant.PRINTED:
        draft = printed.remove_job(state, name)
    else:
        draft = Draft(without, variant, migration_cost)
        settle(draft)
    return Outcome(draft.state, migrations=shortened(without, tuple(draft.moves)))
