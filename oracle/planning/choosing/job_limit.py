"""Plans that disturb few jobs: exact on small clusters, else by asking for less or letting fewer jobs move."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.optimum.solver import Deadline
from oracle.planning.choosing.choice_search import choose_within
from oracle.planning.choosing.disturbance import Selection

if TYPE_CHECKING:
    from oracle.planning.choosing.choice import Choice
    from oracle.planning.choosing.relocation_search import RelocationSearch

# How many of the plans that disturb too many jobs are tried again with only their busiest jobs allowed to move.
_RESTRICTED_TRIALS = 3


def disturb_fewer(
    search: RelocationSearch, first: Choice, goal: int, most_migrations: int | None, most_jobs: int
) -> Choice:
    """Return the best choice found that disturbs at most so many jobs.

    Fewest partial nodes first, but no fewer than the goal; then fewest migrations; then the least weight of jobs.

    Parameters
    ----------
    search
        The cluster.
    first
        The best choice without a limit on jobs. It disturbs too many.
    goal
        Partial nodes that will do.
    most_migrations, most_jobs
        The limits.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    left = search.deadline.seconds_left
    half = Deadline(None if left is None else left / 2)
    exact = choose_within(search, most_jobs, most_migrations, goal, half)
    if exact is not None and exact.is_settled:
        return exact
    within = [search.adopt(Selection(())), *([] if exact is None else [exact])]
    beyond = [first]
    low, high = first.partial_nodes + 1, min(choice.partial_nodes for choice in within)
    while low < high and search.deadline.is_open():
        choice = search.best((low + high) // 2, most_migrations)
        if len(choice.selection.jobs) <= most_jobs:
            within.append(choice)
            high = (low + high) // 2
        else:
            beyond.append(choice)
            low = (low + high) // 2 + 1
    for choice in beyond[:_RESTRICTED_TRIALS]:
        busiest = _busiest(choice, search)[:most_jobs]
        within.append(search.adopt(search.only(busiest).best(goal, most_migrations).selection))
    best = min(
        within, key=lambda choice: (max(choice.partial_nodes, goal), choice.selection.migrations, *search.cost(choice))
    )
    lower = _fewest_partial_nodes(search, most_migrations, most_jobs)
    return replace(best, partial_lower_bound=max(goal, lower, 0 if exact is None else exact.partial_lower_bound))


def _busiest(choice: Choice, search: RelocationSearch) -> list[str]:
    """Return the jobs disturbed, those first of which most instances move for their weight."""
    moved = Counter(resident.job for change in choice.selection.changes for resident in change.leaving)
    return sorted(moved, key=lambda job: (search.weights[job] / moved[job], job))


def _fewest_partial_nodes(search: RelocationSearch, most_migrations: int | None, most_jobs: int) -> int:
    """Return the partial nodes left at least: so few jobs have only so many instances that can move."""
    movable = sum(count for _, count in search.jobs.most_common(most_jobs))
    most = movable if most_migrations is None else min(movable, most_migrations)
    return search.pools.fewest_partial_nodes(most).lower_bound
