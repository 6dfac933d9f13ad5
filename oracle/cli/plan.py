"""`sifopt plan`: the fewest moves that leave few partial nodes; and whether a stored plan still holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from oracle.cli.command import Command, ExitStatus, Outcome, add_snapshot_arguments, printable, skipped_notes
from oracle.cli.moves import MoveOptions, add_move_arguments, count, whole_number
from oracle.snapshots.document import decode_json, read_document
from oracle.snapshots.loader import load_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.cli.command import Parser
    from oracle.planning import Plan, PlanFrontierPoint
    from oracle.resumption import Resumption
    from oracle.snapshots.model import Snapshot


SCHEMA_OF_RESUMPTION = "compass-abs/resume/1"


class PlanOptions(MoveOptions):
    """The options of `sifopt plan`."""

    resume: str | None
    snapshots_now: list[str]
    max_partial_nodes: int | None
    max_migrations: int | None
    frontier: bool


def plan_snapshot(options: PlanOptions) -> Outcome:
    """Return the plan in the form asked for."""
    from oracle.exact import UndecidedError  # noqa: PLC0415 - numpy and the searches are for those who plan
    from oracle.planning import plan  # noqa: PLC0415 - as above
    from oracle.solver import Deadline  # noqa: PLC0415 - as above

    snapshot = load_snapshot(
        *options.snapshots, format=options.format, resources=options.resources, pool_label=options.pool_label
    )
    deadline = Deadline(options.time_limit)
    try:
        found = plan(
            snapshot,
            max_partial_nodes=options.max_partial_nodes,
            max_migrations=options.max_migrations,
            moves=options.moves,
            protected=options.protected or (),
            time_limit=options.time_limit,
        )
    except UndecidedError as error:
        return Outcome(text="", notes=(f"sifopt plan: {error}",), status=ExitStatus.UNSETTLED)
    frontier = found.frontier(time_limit=deadline.seconds_left) if options.frontier else None
    settled = found.status == "optimal" and all(point.status == "optimal" for point in frontier or ())
    status = ExitStatus.DONE if settled else ExitStatus.UNSETTLED
    if options.output == "json":
        notes = skipped_notes(snapshot.skipped, verbose=True) if options.verbose else ()
        text = json.dumps(found.to_dict(frontier), indent=2) + "\n"
        return Outcome(text=text, notes=tuple(notes), status=status, for_machines=True)
    return Outcome(text=_table(found, frontier, snapshot, verbose=options.verbose), status=status)


def resume_plan(options: PlanOptions) -> Outcome:
    """Return what is left of a stored plan, and whether it can still be carried out."""
    from oracle.moves import MoveError, protect  # noqa: PLC0415 - numpy and the searches are for those who plan
    from oracle.resumption import read_moves, resume  # noqa: PLC0415 - as above

    document = read_document(options.resume or "")
    data = decode_json(document, object)
    try:
        moves, stops = read_moves(data)
    except MoveError as error:
        raise document.error("", str(error)) from error
    snapshot = load_snapshot(
        *options.snapshots, format=options.format, resources=options.resources, pool_label=options.pool_label
    )
    left = resume(protect(snapshot, options.protected or ()), moves, stops)
    status = ExitStatus.DONE if left.holds else ExitStatus.ASKED_FOR
    if options.output == "table":
        return Outcome(text=_left(left, verbose=options.verbose), status=status)
    failure = None if left.failure is None else {"step": left.failure.step, "reason": left.failure.reason}
    found: dict[str, object] = {
        "schema": SCHEMA_OF_RESUMPTION,
        "holds": left.holds,
        "failure": failure,
        "moves": [move.to_json() for move in left.remaining],
        "stopped_first": [stop.to_json() for stop in left.remaining_stops],
        "done": [move.to_json() for move in left.done],
        "gone": [move.to_json() for move in left.gone],
    }
    return Outcome(text=json.dumps(found, indent=2) + "\n", status=status, for_machines=True)


def _left(left: Resumption, *, verbose: bool) -> str:
    from oracle.cli.move_table import move_columns, move_sentences  # noqa: PLC0415 - rich is for those who want a table
    from oracle.cli.tables import Screen, draw  # noqa: PLC0415 - as above

    text = draw(move_columns(left.remaining, left.remaining_stops), Screen.of_stdout()) + "\n" if left.remaining else ""
    gone = f", {count(len(left.gone), 'move')} of instances that no longer run" if left.gone else ""
    lines = [f"{count(len(left.done), 'move')} done, {count(len(left.remaining), 'move')} left{gone}."]
    if left.failure is not None:
        lines.append(f"The rest does not hold: {left.failure.reason}.")
    elif left.remaining:
        lines += ["The rest can be carried out as planned."]
        lines += move_sentences(left.remaining, left.remaining_stops, verbose=verbose)
    return text + "".join(f"{printable(line)}\n" for line in lines)


def _table(found: Plan, frontier: Sequence[PlanFrontierPoint] | None, snapshot: Snapshot, *, verbose: bool) -> str:
    from oracle.cli.move_table import move_columns, move_sentences  # noqa: PLC0415 - rich is for those who want a table
    from oracle.cli.tables import Column, Screen, draw  # noqa: PLC0415 - as above

    screen = Screen.of_stdout()
    text = draw(move_columns(found.moves, found.stops), screen) + "\n" if found.moves else ""
    sentences = [
        *_gain(found),
        *move_sentences(found.moves, found.stops, verbose=verbose),
        *_proof(found),
        *skipped_notes(snapshot.skipped, verbose=verbose),
    ]
    text += "".join(f"{printable(line)}\n" for line in sentences)
    if frontier is not None:
        columns = [
            Column(
                "partial nodes",
                [f"{point.partial_nodes}" for point in frontier],
                f"{frontier[-1].partial_nodes} at least",
            ),
            Column(
                "fewest migrations",
                [_between(point.lower_bound, point.migrations) for point in frontier],
                f"{frontier[-1].migrations} at most",
            ),
        ]
        text += "\n" + draw(columns, screen)
    return text


def _gain(found: Plan) -> Iterator[str]:
    before, after = found.partial_nodes_before, found.partial_nodes_after
    if not found.moves:
        yield f"Nothing to move: {count(before, 'partial node')}, {found.empty_nodes_before} empty."
        return
    gained = found.empty_nodes_after - found.empty_nodes_before
    yield (
        f"{count(found.migrations, 'move')} in {count(found.steps, 'step')}: partial nodes {before} -> {after}, "
        f"empty nodes {found.empty_nodes_before} -> {found.empty_nodes_after} ({gained:+d})."
    )


def _proof(found: Plan) -> Iterator[str]:
    kind = "live plan" if found.mode == "live" else "plan"
    fewest, after = found.partial_nodes_lower_bound, found.partial_nodes_after
    if found.status == "optimal":
        limits = "" if found.max_partial_nodes is None and found.max_migrations is None else " within the limits"
        yield f"Proved: no {kind}{limits} is better."
    else:
        yield (
            f"Not proved to be the best: every {kind} within the limits leaves at least {min(fewest, after)} "
            f"partial nodes ({after} here); so few take at least {count(found.migrations_lower_bound, 'move')} "
            f"({found.migrations} here)."
        )
    inherent = sum(pool.inherent.partial_nodes for pool in found.evidence)
    if found.mode == "live" and found.max_migrations is None and after > max(inherent, found.max_partial_nodes or 0):
        yield f"If instances may be stopped first (--moves checkpoint), {inherent} partial would do."


def _between(lowest: int, attained: int) -> str:
    return f"{attained}" if lowest == attained else f"{lowest}..{attained}"


def _add_arguments(parser: Parser) -> None:
    add_snapshot_arguments(parser, optional=True)
    add_move_arguments(parser)
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
        "--frontier", action="store_true", help="add the fewest migrations for every number of partial nodes"
    )
    parser.add_argument(
        "--resume",
        metavar="PLAN",
        help="make no plan, but say what of this stored one is done, and whether the rest can be carried out",
    )
    parser.add_argument(
        "--snapshot",
        dest="snapshots_now",
        metavar="NOW",
        action="append",
        default=[],
        help="one more file of the snapshot, for those who rather name it so beside --resume",
    )


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    options = parser.parse_intermixed_args(arguments, namespace=PlanOptions())
    options.snapshots = [*options.snapshots, *options.snapshots_now]
    if not options.snapshots:
        parser.error("the following arguments are required: SNAPSHOT")
    if options.resume is None:
        return plan_snapshot(options)
    if options.max_partial_nodes is not None or options.max_migrations is not None or options.frontier:
        parser.error("--resume takes no limits and no --frontier: the plan is made already")
    return resume_plan(options)


_DESCRIPTION = """Plan the fewest moves that leave the fewest partial nodes, in steps: what moves from
where to where, which jobs pause, how many empty nodes are gained. Played in order no
node is ever over-booked. Instances stay in their pool, what cannot move stays where
it is, and cordoned nodes take nothing new."""

_EPILOG = """examples:
  kubectl get nodes,pods -A -o json | sifopt plan -
  sifopt plan cluster.json --max-migrations 10 --protect team-a
  sifopt plan cluster.json --moves live -o json > plan.json
  sifopt plan cluster.json --frontier
  sifopt plan --resume plan.json --snapshot now.json

exit status:
  0  done
  1  only with --resume: the rest of the plan cannot be carried out
  2  bad input or bad usage, or a limit that no plan can keep; one line says which
  3  not proved to be the best, or nothing found, within --time-limit"""

PLAN = Command(
    name="plan",
    help="plan the fewest moves that mend a snapshot",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    add_arguments=_add_arguments,
    run=_run,
)
