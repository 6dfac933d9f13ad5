"""`sifopt verify`: what a stored result claims, checked again without a solver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from oracle.cli.command import (
    Command,
    ExitStatus,
    Outcome,
    SnapshotOptions,
    add_domain_argument,
    add_reader_arguments,
    printable,
)
from oracle.snapshots.document import decode_json, read_document
from oracle.snapshots.loader import load_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.cli.command import Parser
    from oracle.rechecking import Check
    from oracle.snapshots.document import Document

SCHEMA = "compass-abs/verify/1"


class VerifyOptions(SnapshotOptions):
    """The options of `sifopt verify`."""

    result: str
    domain_label: str | None
    output: Literal["table", "json"]


def verify_result(options: VerifyOptions) -> Outcome:
    """Return what holds of a stored result."""
    from oracle.rechecking import ResultError, recheck  # noqa: PLC0415 - numpy and the certificates are for those who ask

    document = read_document(options.result)
    data = decode_json(document, object)
    _check_keys(document)
    snapshot = None
    if options.snapshots:
        snapshot = load_snapshot(
            *options.snapshots,
            format=options.format,
            resources=options.resources,
            pool_label=options.pool_label,
            domain_label=options.domain_label,
        )
    try:
        checks = recheck(data, snapshot)
    except ResultError as error:
        raise document.error("", str(error)) from error
    fell = any(check.holds is False for check in checks)
    status = ExitStatus.ASKED_FOR if fell else ExitStatus.DONE
    if options.output == "json":
        found: dict[str, object] = {
            "schema": SCHEMA,
            "holds": not fell,
            "complete": all(check.holds for check in checks),
            "checks": [check.to_json() for check in checks],
        }
        return Outcome(text=json.dumps(found, indent=2) + "\n", status=status, for_machines=True)
    return Outcome(text=_text(checks), status=status)


def _check_keys(document: Document) -> None:
    """Refuse JSON in which a key is there twice: programs differ in which of the two they read."""

    def unique(pairs: list[tuple[str, object]]) -> None:
        if len(dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise document.error("", f"the key {twice!r} is there twice in one object")

    try:
        json.loads(document.content, object_pairs_hook=unique, parse_int=str, parse_float=str)
    except RecursionError as error:
        raise document.error("", "nested too deep to be a result") from error


def _text(checks: Sequence[Check]) -> str:
    width = max(len(check.result) for check in checks)
    lines = [f"{check.result:<{width}}  {check.claim}{f': {check.detail}' if check.detail else ''}" for check in checks]
    fallen = sum(check.holds is False for check in checks)
    unchecked = sum(check.holds is None for check in checks)
    if fallen:
        lines.append(f"{fallen} of {len(checks)} claims do not hold.")
    elif unchecked:
        lines.append(f"What could be checked holds; {unchecked} of {len(checks)} claims could not be.")
    else:
        lines.append("Everything holds.")
    return "".join(f"{printable(line)}\n" for line in lines)


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
        default=[],
        help="the snapshot it was made from; without it only what the file itself proves is checked",
    )
    add_reader_arguments(parser)
    add_domain_argument(parser)
    parser.add_argument(
        "-o", "--output", choices=("table", "json"), default="table", help="form of the output (default: table)"
    )


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    return verify_result(parser.parse_args(arguments, namespace=VerifyOptions()))


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
  2  bad input or bad usage; one line says where and what was expected"""

VERIFY = Command(
    name="verify",
    help="check a stored result again, without a solver",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    add_arguments=_add_arguments,
    run=_run,
)
