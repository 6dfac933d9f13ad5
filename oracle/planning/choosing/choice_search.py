"""The search for the choice that disturbs jobs of the least weight, quick ways first.

How patterns change and whose instances move belong together: of the many plans with the fewest migrations some disturb
half as many jobs as others. A linear program over both bounds the weight and names promising jobs; a plan that moves
those only is found at pattern level; integer programs then improve on it, or prove that it is best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.planning.choosing.choice import Choice
from oracle.planning.choosing.disturbance import PoolLimit, counting_bound, leavers
from oracle.planning.choosing.disturbance_model import MAX_NODES, SelectionModel
from oracle.planning.choosing.few_jobs import choose_with_few_jobs, drop_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.optimum.solver import Deadline
    from oracle.optimum.split import SplitPlan
    from oracle.planning.choosing.disturbance_model import Terms
    from oracle.planning.choosing.relocation_search import RelocationSearch

# Columns of the largest linear program that is solved: 12,500 nodes with 8,000 jobs make 70,000, which takes 10 s.
MAX_COLUMNS = 100_000

# Columns of the largest integer program. SCIP needs half a minute and 0.7 GB for 70,000.
MAX_INTEGER_COLUMNS = 30_000

# The same where no time limit stops the search: then its size has to, or some snapshots would take minutes. The integer
# programs are for the weight of the jobs, and for the GPUs copied, which is the harder question and the less important.
MAX_COLUMNS_AT_LEISURE = 20_000
MAX_INTEGER_COLUMNS_AT_LEISURE = 1_500
MAX_GPU_COLUMNS_AT_LEISURE = 500

# Columns of the largest integer program that is searched to the end.
MAX_PROVED_COLUMNS = 6_000

# Columns, without a time limit, of the largest program with every pattern of every node: 80 nodes of 8 GPUs make 5,000,
# which take up to half a minute.
MAX_WHOLE_COLUMNS_AT_LEISURE = 6_000

# Most programs are settled at the root of the search tree, the others seldom soon after.
_FEW_NODES = 3


def choose_lightest(search: RelocationSearch, plan: SplitPlan) -> Choice:
    """Return whose instances move to carry out a plan, or one as good: few jobs by weight, then few GPUs copied.

    Parameters
    ----------
    search
        The cluster.
    plan
        Partial nodes and migrations of each pool, which are kept.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    limits = [PoolLimit(one.max_partial_nodes, one.migrations) for one in plan.plans]
    affordable = [search.pools.affordable(p, one) for p, one in enumerate(plan.plans)]
    complete = None not in affordable
    used = search.used(plan.plans)
    question = search.question([every or own for every, own in zip(affordable, used, strict=True)], limits)
    gives = leavers(question) if complete else search.jobs
    choice = Choice(
        selection=search.choose_quickly(plan.plans),
        plans=plan.plans,
        partial_lower_bound=0,
        migrations_lower_bound=plan.lower_bound,
        jobs_lower_bound=counting_bound(gives, dict.fromkeys(search.jobs, 1), plan.migrations),
        weight_lower_bound=counting_bound(gives, search.weights, plan.migrations),
    )
    if not plan.migrations or not search.deadline.is_open():
        return choice
    promising = sorted(gives, key=lambda job: (search.weights[job] / max(gives[job], 1), job))
    model = SelectionModel(question)
    at_leisure = search.deadline.seconds_left is None
    if model.size > MAX_COLUMNS_AT_LEISURE and at_leisure:
        return choice
    if model.size > MAX_COLUMNS:
        return search.lighter(choice, choose_with_few_jobs(search, plan, promising, choice.jobs_lower_bound))
    if (relaxed := model.relax(search.deadline)) is not None:
        weight, moving = relaxed
        choice = search.bounded(choice, weight) if complete else choice
        promising.sort(key=lambda job: job not in moving)
        choice = search.lighter(choice, choose_with_few_jobs(search, plan, promising, len(moving)))
    return _improved(search, choice, model, exact=complete)


def choose_within(
    search: RelocationSearch, most_jobs: int, most_migrations: int | None, goal: int, deadline: Deadline
) -> Choice | None:
    """Return the best choice that disturbs at most so many jobs, or None if there is too much to be searched whole.

    Fewest partial nodes first, but no fewer than the goal; then fewest migrations; then as `choose_lightest`.

    Raises
    ------
    SolverError
        A solver returned nonsense.
    """
    every = [search.pools.every_choice(p) for p in range(len(search.names))]
    if None in every or not deadline.is_open():
        return None
    question = search.question([choices or () for choices in every], [PoolLimit(None, None) for _ in every])
    model = SelectionModel(question)
    most_columns = MAX_WHOLE_COLUMNS_AT_LEISURE if deadline.seconds_left is None else MAX_INTEGER_COLUMNS
    if model.size > most_columns:
        return None
    within: list[tuple[Terms, int]] = [(model.disturbed, most_jobs)]
    if most_migrations is not None:
        within.append((model.migrations, most_migrations))
    partial = model.solve(model.partial, within, deadline)
    if partial.value is None or partial.bound is None:
        return None
    rest = search.partial_outside(question)
    within.append((model.partial, max(partial.value, goal - rest)))
    fewest = model.solve(model.migrations, within, deadline)
    if fewest.selection is None or fewest.value is None or fewest.bound is None:
        return None
    choice = Choice(
        selection=fewest.selection,
        plans=search.carried_out(fewest.selection),
        partial_lower_bound=max(goal, partial.bound + rest),
        migrations_lower_bound=fewest.bound,
        jobs_lower_bound=0,
        weight_lower_bound=0,
    )
    within.append((model.migrations, fewest.value))
    choice = _solved(search, choice, model, within, exact=True, most_columns=most_columns)
    return _fewest_gpus(search, choice, model, within, most_columns=most_columns)


def _improved(search: RelocationSearch, choice: Choice, model: SelectionModel, *, exact: bool) -> Choice:
    """Return the choice after integer programs have looked for a better one; its bounds too, if that is `exact`."""
    at_leisure = search.deadline.seconds_left is None
    most = MAX_INTEGER_COLUMNS_AT_LEISURE if at_leisure else MAX_INTEGER_COLUMNS
    choice = _solved(search, choice, model, exact=exact, most_columns=most, max_nodes=_FEW_NODES)
    if not _is_lightest(search, choice):
        choice = search.lighter(choice, drop_jobs(search, choice))
        own = SelectionModel(search.question(search.used(choice.plans), _kept(choice)))
        choice = _solved(search, choice, own, exact=False, most_columns=most)
    if not _is_lightest(search, choice) and model.size <= MAX_PROVED_COLUMNS:
        choice = _solved(search, choice, model, exact=exact, most_columns=most)
    return _fewest_gpus(search, choice, model, most_columns=MAX_GPU_COLUMNS_AT_LEISURE if at_leisure else most)


def _kept(choice: Choice) -> list[PoolLimit]:
    return [PoolLimit(plan.max_partial_nodes, plan.migrations) for plan in choice.plans]


def _is_lightest(search: RelocationSearch, choice: Choice) -> bool:
    return search.cost(choice)[0] == choice.weight_lower_bound


def _solved(
    search: RelocationSearch,
    choice: Choice,
    model: SelectionModel,
    within: Sequence[tuple[Terms, int]] = (),
    *,
    exact: bool,
    most_columns: int,
    max_nodes: int = MAX_NODES,
) -> Choice:
    """Return the choice after one integer program for the weight."""
    weight, _ = search.cost(choice)
    if weight == choice.weight_lower_bound or model.size > most_columns:
        return choice
    answer = model.solve(model.weight, [*within, (model.weight, weight)], search.deadline, max_nodes=max_nodes)
    choice = search.lighter(choice, answer.selection)
    return search.bounded(choice, answer.bound) if exact and answer.bound is not None else choice


def _fewest_gpus(
    search: RelocationSearch,
    choice: Choice,
    model: SelectionModel,
    within: Sequence[tuple[Terms, int]] = (),
    *,
    most_columns: int,
) -> Choice:
    """Return a choice of the same weight that copies as few GPUs as can be found."""
    if model.size > most_columns:
        return choice
    weight, _ = search.cost(choice)
    answer = model.solve(model.gpus, [*within, (model.weight, weight)], search.deadline, max_nodes=_FEW_NODES)
    return search.lighter(choice, answer.selection)
