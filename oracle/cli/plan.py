"""`sifopt plan`: the fewest moves that leave few partial nodes; with --resume, what of a stored plan still holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oracle.cli.command import Command, ExitStatus, Outcome
from oracle.cli.options import MoveOptions, add_move_arguments, add_snapshot_arguments
from oracle.cli.plan_report import report
from oracle.cli.resume import resume_plan
from oracle.cli.sentences import data_outcome
from oracle.cli.solving import solve
from oracle.cli.values import weight, whole_number
from oracle.optimum.exact import UndecidedError
from oracle.optimum.solver import Deadline
from oracle.safe_text import json_text
from oracle.snapshots.overlooked import overlooked
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.cli.command import Parser
    from oracle.planning.frontier import PlanFrontier
    from oracle.planning.result import Plan
    from oracle.snapshots.model import Snapshot


class PlanOptions(MoveOptions):
    """The options of `sifopt plan`."""

    resume: str | None
    snapshots_now: list[str]
    max_partial_nodes: int | None
    max_migrations: int | None
    max_jobs: int | None
    weights: list[tuple[str, int]] | None
    frontier: bool
    plot: str | None


def plan_snapshot(options: PlanOptions) -> Outcome:
    """Return the plan in the form asked for."""
    snapshot = options.load()
    try:
        solved = solve(lambda tell: _found(snapshot, options, tell))
    except UndecidedError as error:
        return Outcome(text="", notes=(f"sifopt plan: {error}",), status=ExitStatus.UNSETTLED)
    found, frontier = solved.value
    if solved.interrupted:
        found = replace(found, interrupted=True)
    settled = found.status == "optimal" and all(point.status == "optimal" for point in frontier or ())
    status = ExitStatus.DONE if settled and not found.interrupted else ExitStatus.UNSETTLED
    notes = (_interrupted(found),) if found.interrupted else ()
    if options.output == "json":
        text = json_text(found.to_dict(frontier))
        outcome = data_outcome(
            text,
            snapshot.skipped,
            verbose=options.verbose,
            overlooked=overlooked(snapshot, options.pool),
            notes=notes,
            status=status,
        )
    else:
        text = report(found, frontier, snapshot, verbose=options.verbose)
        outcome = Outcome(text=text, notes=notes, status=status)
    return outcome if options.plot is None else _with_picture(outcome, found, frontier, options.plot)


def _found(snapshot: Snapshot, options: PlanOptions, tell: Callable[[str], None]) -> tuple[Plan, PlanFrontier | None]:
    from oracle.planning.planner import plan  # noqa: PLC0415 - numpy and the searches are for those who plan

    deadline = Deadline(options.time_limit)
    found = plan(
        snapshot,
        max_partial_nodes=options.max_partial_nodes,
        max_migrations=options.max_migrations,
        max_jobs_disturbed=options.max_jobs,
        max_per_job_at_once=options.max_per_job_at_once,
        max_per_budget=options.max_per_budget,
        max_priority=options.max_priority,
        moves=options.moves,
        protected=options.protected or (),
        weights=dict(options.weights or ()),
        pool=options.pool,
        # A frontier gets what is left, and at least half.
        time_limit=options.time_limit if not options.frontier or options.time_limit is None else options.time_limit / 2,
        on_progress=tell,
    )
    if not options.frontier:
        return found, None
    tell("the fewest migrations for every number of partial nodes")
    return found, found.frontier(time_limit=deadline.seconds_left)


def _interrupted(found: Plan) -> str:
    return (
        "sifopt plan: interrupted; this is the best plan found so far: "
        f"{count(found.partial_nodes_after, 'partial node')} "
        f"(at least {min(found.partial_nodes_lower_bound, found.partial_nodes_after)}), "
        f"{count(found.migrations, 'move')} (at least {found.migrations_lower_bound})"
    )


def _with_picture(outcome: Outcome, found: Plan, frontier: PlanFrontier | None, name: str) -> Outcome:
    """Return the outcome once the picture is written; if it cannot be, the output is there all the same."""
    from oracle.plots import plot_frontier, plot_plan  # noqa: PLC0415 - for those who want a picture

    try:
        if frontier is None:
            plot_plan(found.snapshot, found.moves, Path(name), pool=found.asked.pool)
        else:
            plot_frontier(frontier, Path(name))
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        note = f"sifopt plan: cannot write the picture to {name!r}: {reason}"
        return replace(outcome, notes=(*outcome.notes, note), status=ExitStatus.BAD_INPUT)
    return outcome


def _add_arguments(parser: Parser) -> None:
    add_snapshot_arguments(parser, optional=True)
    add_move_arguments(parser)
    parser.add_argument(
        "--pool", metavar="NAME", help="plan this pool only, such as h100; limits and figures are about its nodes"
    )
    parser.add_argument(
        "--max-partial-nodes",
        metavar="K",
        type=whole_number,
        help="leave at most K partial nodes (default: as few as there can be)",
    )
    parser.add_argument(
        "--max-migrations", metavar="M", type=whole_number, help="move at most M times, and leave few partial nodes"
    )
    parser.add_argument(
        "--max-jobs",
        metavar="D",
        type=whole_number,
        help="move instances of at most D jobs, and leave few partial nodes",
    )
    parser.add_argument(
        "--weight",
        dest="weights",
        metavar="JOB=W",
        type=weight,
        action="append",
        help="of plans with as few moves prefer those that spare this job: disturbing it counts as W jobs (default 1), "
        "such as team/train=5; may be given several times",
    )
    parser.add_argument(
        "--frontier",
        action="store_true",
        help="add the fewest migrations for every number of partial nodes; they may stop instances first (--moves "
        "checkpoint), with --moves live too",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the nodes before and after as SVG, such as plan.svg; with --frontier, partial nodes over migrations",
    )
    parser.add_argument(
        "--resume",
        metavar="PLAN",
        help="make no plan, but say what of this stored one (-o json) is done, and whether the rest can be carried "
        "out. What it protects and how many instances of a job it lets move at a time is read from it",
    )
    parser.add_argument(
        "--snapshot",
        dest="snapshots_now",
        metavar="NOW",
        action="append",
        default=[],
        help="one more file of the snapshot, for those who rather name it so beside --resume",
    )


# Options that make a plan, and have no meaning where it is made already.
_MAKING = ("max_partial_nodes", "max_migrations", "max_jobs", "weights", "pool", "plot")


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    options = parser.parse_intermixed_args(arguments, namespace=PlanOptions())
    options.snapshots = [*options.snapshots, *options.snapshots_now]
    if not options.snapshots:
        parser.error("the following arguments are required: SNAPSHOT")
    weighed = [job for job, _ in options.weights or ()]
    if twice := next((job for job in weighed if weighed.count(job) > 1), None):
        parser.error(f"argument --weight: expected one weight a job, and {twice!r} is given two")
    if options.plot is not None and Path(options.plot).suffix.lower() not in {"", ".svg"}:
        parser.error(f"argument --plot: expected a name such as plan.svg, because SVG is written, got {options.plot!r}")
    if options.resume is None:
        return plan_snapshot(options)
    if options.frontier or any(getattr(options, name) is not None for name in _MAKING):
        parser.error("--resume takes no limits, weights or pool, no --frontier and no --plot: the plan is made already")
    return resume_plan(options, options.resume)


_DESCRIPTION = """Plan the fewest moves that leave the fewest partial nodes, in steps: what moves from
where to where, which jobs pause, how many empty nodes are gained. Played in order no
node is ever over-booked. Instances stay in their pool, what cannot move stays where
it is, and cordoned nodes take nothing new. Ctrl-C prints the best plan found so far."""

_EPILOG = """examples:
  kubectl get nodes,pods -A -o json | sifopt plan -
  sifopt plan cluster.json --max-migrations 10 --protect team-a --weight team-b/train=5
  sifopt plan cluster.json --pool h100 --max-jobs 3 --max-per-job-at-once 1
  sifopt plan cluster.json --moves live -o json > plan.json
  sifopt plan cluster.json --plot plan.svg
  sifopt plan cluster.json --frontier --plot frontier.svg
  sifopt plan --resume plan.json --snapshot now.json

exit status:
  0  done
  1  only with --resume: the rest of the plan cannot be carried out
  2  bad input or bad usage, or a limit that no plan can keep; one line says which
  3  not proved to be the best, or nothing found, within --time-limit; or interrupted"""

PLAN = Command(
    name="plan",
    help="plan the fewest moves that mend a snapshot",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    add_arguments=_add_arguments,
    run=_run,
)
