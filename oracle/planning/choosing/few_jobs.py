"""Plans in which only some jobs may move: as few as still allow a plan as good as without that restriction.

Which jobs move and how patterns change have to be decided together, yet whether a plan as good exists if only certain
jobs move is answered at pattern level in a moment. So more and more jobs are allowed, promising ones first, until there
is one; then those that move least are forbidden again, one after the other, as long as there still is one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.split import SplitPlan
    from oracle.planning.choosing.choice import Choice
    from oracle.planning.choosing.disturbance import Selection
    from oracle.planning.choosing.relocation_search import RelocationSearch

# From one trial to the next so many times as many jobs are allowed.
_GROWTH = 1.25

# Jobs are forbidden on trial, so many times nodes; 1,000 nodes take 0.05 s a trial. Fewer where no time limit stops
# them.
_MAX_TRIAL_NODES = 300_000
_MAX_TRIAL_NODES_AT_LEISURE = 6_000


def choose_with_few_jobs(
    search: RelocationSearch, plan: SplitPlan, promising: Sequence[str], start: int
) -> Selection | None:
    """Return a selection as good as the plan that only moves instances of promising jobs, or None if none is found.

    Parameters
    ----------
    search
        The cluster.
    plan
        Partial nodes and migrations of each pool, which are to be kept.
    promising
        Jobs in the order in which they are allowed to move.
    start
        How many are allowed at first.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    allowed = max(1, start)
    while search.deadline.is_open():
        found = _with_jobs(search, plan.plans, promising[:allowed])
        if found is not None or allowed >= len(promising):
            return found
        allowed = int(allowed * _GROWTH) + 1
    return None


def drop_jobs(search: RelocationSearch, choice: Choice) -> Selection:
    """Return a selection as good as the choice that moves instances of fewer of its jobs, if one is found.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    selection = choice.selection
    moved = Counter(resident.job for change in selection.changes for resident in change.leaving)
    dearest = sorted(moved, key=lambda job: (-search.weights[job] / moved[job], job))
    trials = _MAX_TRIAL_NODES_AT_LEISURE if search.deadline.seconds_left is None else _MAX_TRIAL_NODES
    for job in dearest[: trials // max(1, search.size)]:
        if not search.deadline.is_open():
            break
        if job in selection.jobs:
            found = _with_jobs(search, choice.plans, selection.jobs - {job})
            selection = selection if found is None else found
    return selection


def _with_jobs(
    search: RelocationSearch, plans: Sequence[MigrationCertificate], jobs: Collection[str]
) -> Selection | None:
    """Return a selection as good as the plans that moves instances of these jobs only, or None if none is found."""
    restricted = search.only(jobs)
    found = [restricted.pools.settle(p, plan.max_partial_nodes, plan.migrations) for p, plan in enumerate(plans)]
    kept = [plan for plan in found if plan is not None]
    return search.translate(restricted.choose_quickly(kept)) if len(kept) == len(plans) else None
