"""`sifopt verify`: what a stored result claims, checked again without a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from oracle.cli.command import Command, ExitStatus, Outcome
from oracle.cli.options import (
    SnapshotOptions,
    add_domain_argument,
    add_output_argument,
    add_reader_arguments,
    add_time_argument,
)
from oracle.cli.sentences import data_outcome, lines, skipped_notes
from oracle.cli.solving import solve
from oracle.safe_text import json_text
from oracle.snapshots.document import decode_json
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.cli.command import Parser
    from oracle.snapshots.model import Snapshot
    from oracle.verification import Check

SCHEMA = "compass-abs/verify/1"

# Results of the largest clusters take some seconds; certificates can be forged that take years.
_TIME_LIMIT = 60


class VerifyOptions(SnapshotOptions):
    """The options of `sifopt verify`."""

    result: str
    output: Literal["table", "json"]
    time_limit: float


def verify_result(options: VerifyOptions) -> Outcome:
    """Return what holds of a stored result."""
    from oracle.verification import ResultError  # noqa: PLC0415 - numpy and the certificates are for those who ask

    document = options.read_result(options.result)
    data = decode_json(document, object)
    snapshot = options.load() if options.snapshots else None
    try:
        checks = solve(lambda tell: _rechecked(data, snapshot, options, tell)).value
    except ResultError as error:
        raise document.error("", str(error)) from error
    skipped = snapshot.skipped if snapshot is not None else ()
    fell = any(check.holds is False for check in checks)
    finished = all(check.finished for check in checks)
    status = ExitStatus.ASKED_FOR if fell else ExitStatus.DONE if finished else ExitStatus.UNSETTLED
    if options.output == "json":
        found: dict[str, object] = {
            "schema": SCHEMA,
            "holds": finished and not fell,
            "finished": finished,
            "complete": all(check.holds for check in checks),
            "checks": [check.to_json() for check in checks],
        }
        return data_outcome(json_text(found), skipped, verbose=options.verbose, status=status)
    sentences = [*_sentences(checks), *skipped_notes(skipped, verbose=options.verbose)]
    return Outcome(text=lines(sentences), status=status)


def _rechecked(
    data: object, snapshot: Snapshot | None, options: VerifyOptions, tell: Callable[[str], None]
) -> tuple[Check, ...]:
    from oracle.verification import verify  # noqa: PLC0415 - numpy and the certificates are for those who ask

    tell("checking the claims")
    return verify(data, snapshot, time_limit=options.time_limit)


def _sentences(checks: Sequence[Check]) -> Iterator[str]:
    width = max(len(check.result) for check in checks)
    for check in checks:
        yield f"{check.result:<{width}}  {check.claim}{f': {check.detail}' if check.detail else ''}"
    fallen = sum(check.holds is False for check in checks)
    unchecked = sum(check.holds is None for check in checks)
    of_all = f"of {count(len(checks), 'claim')}"
    if fallen:
        yield f"{fallen} {of_all} {'does' if fallen == 1 else 'do'} not hold."
    elif not all(check.finished for check in checks):
        are = "is" if unchecked == 1 else "are"
        yield f"Not finished: what was checked holds; {unchecked} {of_all} {are} open."
    elif unchecked:
        yield f"What could be checked holds; {unchecked} {of_all} could not be."
    else:
        yield "Everything holds."


def _add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "result",
        metavar="RESULT",
        help="file with the JSON of sifopt plan, admit or measure, or with one certificate; - for standard input",
    )
    parser.add_argument(
        "--snapshot",
        dest="snapshots",
        metavar="SNAPSHOT",
        nargs="+",
        action="extend",
        default=[],
        help="the snapshot it was made from; without it only what the file itself proves is checked",
    )
    add_reader_arguments(parser)
    add_domain_argument(parser)
    told = f"end after S seconds (default: {_TIME_LIMIT}); what is not checked by then is named as not rechecked"
    add_time_argument(parser, told, default=_TIME_LIMIT)
    add_output_argument(parser)


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    options, more = parser.parse_known_args(arguments, namespace=VerifyOptions())
    if more and not any(word.startswith("-") for word in more):
        parser.error(
            f"expected one result, and {more[0]!r} is there too; for the snapshot say --snapshot {' '.join(more)}"
        )
    return verify_result(parser.parse_args(arguments, namespace=VerifyOptions()) if more else options)


_DESCRIPTION = """Check a stored result again from its certificates and its snapshot, without a solver: every
bound is recomputed, every move is played; in small clusters what a search found is
tried again. What rests on the word of a solver, or on a larger search, is named as not
rechecked."""

_EPILOG = """examples:
  sifopt plan cluster.json -o json > plan.json; sifopt verify plan.json --snapshot cluster.json
  sifopt measure cluster.json -o json | sifopt verify - --snapshot cluster.json

exit status:
  0  nothing that was checked fails
  1  a claim does not hold
  2  bad input or bad usage; one line says where and what was expected
  3  not finished within --time-limit, or interrupted; nothing that was checked fails"""

VERIFY = Command(
    name="verify",
    help="check a stored result again, without a solver",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    add_arguments=_add_arguments,
    run=_run,
)
