"""`sifopt admit`: whether a waiting job can start now, after which moves, or what keeps it from starting.

Without a job the question is asked of all that wait in the snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.admission_report import job_report, queue_report
from oracle.cli.command import Command, ExitStatus, Outcome
from oracle.cli.options import MoveOptions, add_move_arguments, add_snapshot_arguments
from oracle.cli.sentences import data_outcome
from oracle.cli.solving import solve
from oracle.cli.values import Once, demand
from oracle.safe_text import json_text
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.admission.answer import Admission, QueueAdmission
    from oracle.cli.command import Parser
    from oracle.snapshots.model import Snapshot

_STATUS = {
    "fits_now": ExitStatus.DONE,
    "fits_after": ExitStatus.DONE,
    "cannot": ExitStatus.ASKED_FOR,
    "unknown": ExitStatus.UNSETTLED,
}


class AdmitOptions(MoveOptions):
    """The options of `sifopt admit`."""

    job: tuple[int, int] | None
    waiting: str | None
    within: list[str] | None
    within_one_of: list[str] | None
    distinct_nodes: bool


def admit_from(options: AdmitOptions) -> Outcome:
    """Return the verdict on one job, or on those that wait, in the form asked for."""
    snapshot = options.load()
    return _queue(snapshot, options) if options.job is None and options.waiting is None else _job(snapshot, options)


def _job(snapshot: Snapshot, options: AdmitOptions) -> Outcome:
    instances, gpus = options.job or (None, None)
    name = options.waiting or f"{instances}x{gpus} GPUs"

    def admitted(tell: Callable[[str], None]) -> Admission:
        from oracle.admission.jobs import admit  # noqa: PLC0415 - numpy and the searches are for those who ask

        tell(f"fewest moves that make room for {name}")
        return admit(
            snapshot,
            instances=instances,
            gpus=gpus,
            job=options.waiting,
            pool=options.pool,
            within=options.within or (),
            within_one_of=options.within_one_of or (),
            distinct_nodes=options.distinct_nodes,
            moves=options.moves,
            time_limit=options.time_limit,
            protected=options.protected or (),
            max_per_job_at_once=options.max_per_job_at_once,
            max_per_budget=options.max_per_budget,
            max_priority=options.max_priority,
        )

    found = solve(admitted).value
    known = {"unknown": "whether it can start is not known", "cannot": "that it cannot start is proved already"}
    best = f"the best way found so far takes {count(len(found.moves), 'move')} (at least {found.lower_bound})"
    return _outcome(
        found,
        snapshot,
        options,
        status=_STATUS[found.verdict.value],
        known=known.get(found.verdict.value, best),
        report=lambda: job_report(found, _called(options.waiting, found), snapshot, verbose=options.verbose),
    )


def _called(name: str | None, found: Admission) -> str:
    gpus = f"{found.job.called} GPUs"
    return gpus if name is None else f"{name} ({gpus})"


def _queue(snapshot: Snapshot, options: AdmitOptions) -> Outcome:
    def admitted(tell: Callable[[str], None]) -> QueueAdmission:
        from oracle.admission.queues import admit_queue  # noqa: PLC0415 - numpy and the searches are for those who ask

        tell("which waiting jobs can start")
        return admit_queue(
            snapshot,
            pool=options.pool,
            moves=options.moves,
            time_limit=options.time_limit,
            protected=options.protected or (),
            max_per_job_at_once=options.max_per_job_at_once,
            max_per_budget=options.max_per_budget,
            max_priority=options.max_priority,
        )

    found = solve(admitted).value
    together = found.together
    most = (
        f"the most found so far to start together: {count(len(together.jobs), 'job')} (at most {together.most}), "
        f"{count(len(together.order.moves), 'move')} (at least {together.moves_lower_bound})"
    )
    return _outcome(
        found,
        snapshot,
        options,
        status=_queue_status(found),
        known=most if together.jobs else "no job is known to be able to start",
        report=lambda: queue_report(found, snapshot, verbose=options.verbose),
    )


def _queue_status(found: QueueAdmission) -> ExitStatus:
    """Return DONE if a job can start or none waits, ASKED_FOR if none can."""
    if found.first is not None or found.together.jobs or not found.passed_over:
        return ExitStatus.DONE
    settled = all(admission.verdict == "cannot" for _, admission in found.passed_over)
    return ExitStatus.ASKED_FOR if settled else ExitStatus.UNSETTLED


def _outcome(
    found: Admission | QueueAdmission,
    snapshot: Snapshot,
    options: AdmitOptions,
    *,
    status: ExitStatus,
    known: str,
    report: Callable[[], str],
) -> Outcome:
    """Return the answer in the form asked for; of an interrupted search the status is another, and `known` is said."""
    status = ExitStatus.UNSETTLED if found.interrupted else status
    notes = (f"sifopt admit: interrupted; {known}",) if found.interrupted else ()
    if options.output == "json":
        text = json_text(found.to_dict())
        return data_outcome(
            text,
            snapshot.skipped,
            verbose=options.verbose,
            overlooked=found.not_looked_at,
            notes=notes,
            status=status,
        )
    return Outcome(text=report(), notes=notes, status=status)


def _add_arguments(parser: Parser) -> None:
    add_snapshot_arguments(parser)
    parser.add_argument(
        "--job",
        metavar="WxG",
        type=demand,
        action=Once,
        help="a waiting job: W instances of G GPUs each, such as 2x4 (default: all jobs that wait in the snapshot)",
    )
    parser.add_argument(
        "--waiting",
        metavar="NAME",
        action=Once,
        help="a job that waits in the snapshot, with all that it asks for",
    )
    parser.add_argument(
        "--within",
        metavar="SET",
        action="append",
        help="with --job: the instances may not leave this node set of the snapshot, such as a partition; may be given "
        "several times",
    )
    parser.add_argument(
        "--within-one-of",
        metavar="SET",
        action="append",
        help="with --job: all instances have to be in one of the node sets named so, whichever, such as racks; given "
        "once for each",
    )
    parser.add_argument("--distinct-nodes", action="store_true", help="with --job: no two instances may be on one node")
    parser.add_argument(
        "--pool",
        metavar="NAME",
        help="the pool it must run in, such as h100 (default: any one pool); without --job, ask only about jobs for it",
    )
    add_move_arguments(parser)


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    options = parser.parse_intermixed_args(arguments, namespace=AdmitOptions())
    if options.job is not None and options.waiting is not None:
        parser.error("argument --waiting: not allowed with argument --job")
    asked = {
        "--within": options.within,
        "--within-one-of": options.within_one_of,
        "--distinct-nodes": options.distinct_nodes,
    }
    lone = next((name for name, value in asked.items() if value), None)
    if options.job is None and lone is not None:
        parser.error(f"argument {lone}: expected with --job")
    return admit_from(options)


_DESCRIPTION = """Say whether a waiting job can start: now, after the fewest moves that make room for it,
or not at all, and then what stands in its way. Without --job, say of the jobs that wait
in the snapshot which is the first in queue order that can start, and the most that can
start together."""

_EPILOG = """examples:
  kubectl get nodes,pods -A -o json | sifopt admit - --job 2x8
  sifopt admit cluster.json --job 1x4 --pool h100 --moves live -o json
  sifopt admit cluster.json --job 1x8 --protect team-a --max-per-job-at-once 1
  sifopt admit nodes.txt jobs.txt --job 2x4 --within "partition gpu" --distinct-nodes
  sifopt admit cluster.json --waiting team-a/train
  sifopt admit cluster.json

exit status:
  0  it, or some of what starts one by one, fits now, or after the moves printed; of a queue:
     at least one job does, or none waits
  1  it cannot fit; of a queue: none can
  2  bad input or bad usage; one line says where and what was expected
  3  not settled within --time-limit, or interrupted"""

ADMIT = Command(
    name="admit",
    help="say whether a waiting job can start, and after which moves",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    add_arguments=_add_arguments,
    run=_run,
)
