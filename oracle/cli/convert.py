"""`sifopt convert` and `sifopt schema`: the native format, written and described."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.command import Command, Outcome
from oracle.cli.options import SnapshotOptions, add_domain_argument, add_snapshot_arguments
from oracle.cli.sentences import skipped_notes
from oracle.safe_text import json_text
from oracle.snapshots.native import native_json_schema, write_native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.cli.command import Parser


def convert(options: SnapshotOptions) -> Outcome:
    """Return the snapshot in the native format; what its reader left out goes to the notes."""
    snapshot = options.load()
    notes = skipped_notes(snapshot.skipped, verbose=options.verbose)
    return Outcome(text=write_native(snapshot), notes=tuple(notes), for_machines=True)


def _run_convert(parser: Parser, arguments: Sequence[str]) -> Outcome:
    return convert(parser.parse_intermixed_args(arguments, namespace=SnapshotOptions()))


def _run_schema(parser: Parser, arguments: Sequence[str]) -> Outcome:
    parser.parse_args(arguments)
    return Outcome(text=json_text(native_json_schema()), for_machines=True)


def _convert_arguments(parser: Parser) -> None:
    add_snapshot_arguments(parser)
    add_domain_argument(parser)


def _no_arguments(_: Parser) -> None:
    pass


CONVERT = Command(
    name="convert",
    help="write a snapshot in the native format",
    description="Read a snapshot in any format and write it in the native one.",
    epilog="example:\n  kubectl get nodes,pods -A -o json | sifopt convert - > native.json",
    add_arguments=_convert_arguments,
    run=_run_convert,
)

SCHEMA = Command(
    name="schema",
    help="print the JSON Schema of the native format",
    description="Print the JSON Schema of the native snapshot format.",
    epilog="example:\n  sifopt schema > snapshot.schema.json",
    add_arguments=_no_arguments,
    run=_run_schema,
)
