"""The SIFOpt scheduler: after every event the fewest partial nodes there can be, with the fewest migrations.

Where COMPASS and EXACT keep a structure that makes good placements cheap to find, SIFOpt has no structure: it asks for
the optimum each time, for any workload. Φ* comes from the closed form, and most events reach it without a move; for the
others the program gives the fewest migrations with a proof. A job is refused only if no re-placement of what
runs makes room for it.

As with `compass_core.scheduler`, nothing is mutated: an event returns a new state and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compass_core.errors import PlacementError
from compass_core.refusal import Refusal
from compass_core.steps import Migration, MoveReason, Placement
from oracle.sifopt.carrying_out import carry_out
from oracle.sifopt.few_moves import with_few_moves
from oracle.sifopt.many_moves import inherent, inherent_partial_nodes, with_many_moves
from oracle.sifopt.unmoved import place_unmoved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_core.model import Instance, Job
    from compass_core.state import ClusterState
    from oracle.optimum.migration_certificate import MigrationCertificate

# Migrations up to which all are tried before a solver is asked. Four take longer to try than to solve for.
MAX_TRIED_MOVES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SifOptOutcome:
    """What an event did.

    To carry it out on a real cluster: on a departure stop the job; stop what is in `stopped`; then carry out
    `migrations` one by one, none of which over-books a node; then start the new instances where `placements` says.

    Attributes
    ----------
    state
        The new state; the old one itself where the event was refused.
    admitted
        Whether the job was placed, or the node drained.
    placements
        The new instances.
    migrations
        The fewest that reach Φ*, in executable order. One on a drained node counts as well.
    stopped
        Instances that have to be stopped before the first migration; their own migration restarts them. Empty if these
        migrations can be made into free space one after the other, as far as that was found out.
    lost
        Instances that vanished with a failed node.
    certificate
        Why fewer migrations do not suffice; None where all fewer were tried (`prove` makes one then), or none are made.
        Its migrations count the new instances as well.
    reason
        Why a job was refused: whatever is moved, there is no room.
    """

    state: ClusterState
    admitted: bool = True
    placements: tuple[Placement, ...] = ()
    migrations: tuple[Migration, ...] = ()
    stopped: tuple[Instance, ...] = ()
    lost: tuple[Instance, ...] = ()
    certificate: MigrationCertificate | None = None
    reason: Refusal | None = None


def arrive(state: ClusterState, job: Job) -> SifOptOutcome:
    """Place a job, all of its instances or none, and reach Φ*.

    It is admitted exactly if its instances and those that run fit the nodes together, in whatever placement.

    Raises
    ------
    DuplicateJobError
        A running job has that name.
    InvalidJobError
        An instance demands more than a node has.
    SolverError
        A solver returned nonsense.
    """
    known = state.with_job(job)
    new = job.all_instances()
    counts = tuple(n + job.instances * (gpus == job.gpus) for gpus, n in enumerate(state.counts, start=1))
    fewest = None
    if job.total_gpus <= state.free_gpus:
        fewest = inherent_partial_nodes(counts, state.node_count, state.capacity)
    if fewest is not None:
        where = place_unmoved(state, job.gpus, job.instances, fewest - state.partial_nodes)
        if where is not None:
            places = (index for index, count in where.items() for _ in range(count))
            return _outcome(known, placements=tuple(map(Placement, new, places)))
        found = _rearranged(known, counts, MoveReason.EXCHANGE, new=new)
        if found is not None:
            return found
    return SifOptOutcome(state=state, admitted=False, reason=Refusal.of(state, job))


def depart(state: ClusterState, name: str) -> SifOptOutcome:
    """Remove a job, and reach Φ*.

    Raises
    ------
    UnknownJobError
        No running job has that name.
    SolverError
        A solver returned nonsense.
    """
    return settle(state.without_job(name))


def settle(state: ClusterState) -> SifOptOutcome:
    """Reach Φ* from any placement.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    fewest = inherent_partial_nodes(state.counts, state.node_count, state.capacity)
    found = None if state.partial_nodes == fewest else _rearranged(state, state.counts, MoveReason.MERGE)
    return SifOptOutcome(state=state) if found is None else found


def prove(before: ClusterState, outcome: SifOptOutcome) -> MigrationCertificate:
    """Return why an event could not do with fewer migrations, in a form that can be checked without a solver.

    Its migrations count the new instances as well.

    Parameters
    ----------
    before
        The state in which the migrations begin: without the job that departed, or before the new job arrived.
    outcome
        What the event did: an arrival, a departure or `settle`.

    Raises
    ------
    ValueError
        The job was refused: nothing moved.
    SolverError
        A solver returned nonsense.
    """
    if outcome.certificate is not None:
        return outcome.certificate
    after = outcome.state
    best = inherent(after.counts, after.node_count, after.capacity)
    if best is None or not outcome.admitted:
        raise ValueError("the event was refused")
    return with_many_moves(before, tuple(placement.instance.gpus for placement in outcome.placements), None, best)


def fail_node(state: ClusterState, index: int) -> SifOptOutcome:
    """Take a node off together with its instances, and reach Φ*.

    Raises
    ------
    PlacementError
        No online node has that index.
    SolverError
        A solver returned nonsense.
    """
    _check_online(state, index)
    lost = state.nodes[index].instances
    rest = state
    for instance in lost:
        rest = rest.remove(instance)
    return replace(settle(rest.with_node_offline(index)), lost=lost)


def drain_node(state: ClusterState, index: int) -> SifOptOutcome:
    """Move everything off a node, take it offline and reach Φ* of the others; or refuse, if those cannot hold it all.

    Raises
    ------
    PlacementError
        No online node has that index.
    SolverError
        A solver returned nonsense.
    """
    _check_online(state, index)
    if not state.nodes[index].instances:
        return settle(state.with_node_offline(index))
    found = _rearranged(state, state.counts, MoveReason.MERGE, drained=index)
    if found is None:
        return SifOptOutcome(state=state, admitted=False)
    return replace(found, state=found.state.with_node_offline(index))


def add_node(state: ClusterState) -> SifOptOutcome:
    """Add an idle node under a new index, and reach Φ*.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    return settle(state.with_node()[0])


def return_node(state: ClusterState, index: int) -> SifOptOutcome:
    """Bring a drained or failed node back, idle, and reach Φ*.

    Raises
    ------
    PlacementError
        No offline node has that index.
    SolverError
        A solver returned nonsense.
    """
    return settle(state.with_node_online(index))


def _rearranged(
    state: ClusterState,
    counts: tuple[int, ...],
    reason: MoveReason,
    *,
    new: Sequence[Instance] = (),
    drained: int | None = None,
) -> SifOptOutcome | None:
    """Return the outcome with the fewest migrations, or None if the instances do not fit, however they are placed."""
    best = inherent(counts, state.node_count - (drained is not None), state.capacity)
    if best is None:
        return None
    demands = tuple(instance.gpus for instance in new)
    found, changed = None, None
    if drained is None:
        changed = with_few_moves(state, demands, best.partial_nodes - state.partial_nodes, MAX_TRIED_MOVES)
    if changed is None:
        found = with_many_moves(state, demands, drained, best)
        changed = found.by_kind()
    transfers, stopped = carry_out(state, changed, new, drained)
    migrations = tuple(
        Migration(instance, source, destination, MoveReason.DRAIN if source == drained else reason)
        for instance, source, destination in transfers
        if source is not None
    )
    places = {instance: destination for instance, source, destination in transfers if source is None}
    placements = tuple(Placement(instance, places[instance]) for instance in new)
    return _outcome(state, placements, migrations, stopped, found)


def _outcome(
    state: ClusterState,
    placements: tuple[Placement, ...],
    migrations: tuple[Migration, ...] = (),
    stopped: tuple[Instance, ...] = (),
    certificate: MigrationCertificate | None = None,
) -> SifOptOutcome:
    for instance in stopped:
        state = state.remove(instance)
    for migration in migrations:
        move = state.add if migration.instance in stopped else state.move
        state = move(migration.instance, migration.destination)
    for placement in placements:
        state = state.add(placement.instance, placement.node)
    return SifOptOutcome(
        state=state, placements=placements, migrations=migrations, stopped=stopped, certificate=certificate
    )


def _check_online(state: ClusterState, index: int) -> None:
    if not state.is_online(index):
        raise PlacementError(f"no online node has the index {index}")
