"""`sifopt admit`: whether a waiting job can start now, after which moves, or what keeps it from starting."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING

from oracle.cli.command import Command, ExitStatus, Outcome, add_snapshot_arguments, printable, skipped_notes
from oracle.cli.moves import MoveOptions, add_move_arguments, count, listed
from oracle.snapshots.loader import load_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.admission import Admission
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

    job: tuple[int, int]
    pool: str | None


def admit_job(options: AdmitOptions) -> Outcome:
    """Return the verdict in the form asked for."""
    from oracle.admission import admit  # noqa: PLC0415 - numpy and the searches are for those who ask

    snapshot = load_snapshot(
        *options.snapshots, format=options.format, resources=options.resources, pool_label=options.pool_label
    )
    instances, gpus = options.job
    protected = sorted(set(options.protected or ()))
    found = admit(
        snapshot,
        instances=instances,
        gpus=gpus,
        pool=options.pool,
        moves=options.moves,
        time_limit=options.time_limit,
        protected=protected,
    )
    status = _STATUS[found.verdict.value]
    if options.output == "table":
        return Outcome(text=_table(found, snapshot, options), status=status)
    asked: dict[str, object] = {"instances": instances, "gpus_per_instance": gpus, "pool": options.pool}
    data = {**found.to_dict(), "job": asked, "mode": options.moves, "protected": protected}
    notes = skipped_notes(snapshot.skipped, verbose=True) if options.verbose else ()
    return Outcome(text=json.dumps(data, indent=2) + "\n", notes=tuple(notes), status=status, for_machines=True)


def _table(found: Admission, snapshot: Snapshot, options: AdmitOptions) -> str:
    from oracle.cli.move_table import move_columns, move_sentences  # noqa: PLC0415 - rich is for those who want a table
    from oracle.cli.tables import Screen, draw  # noqa: PLC0415 - as above

    text = draw(move_columns(found.moves, found.stops), Screen.of_stdout()) + "\n" if found.moves else ""
    sentences = [
        *_verdict(found, options),
        *move_sentences(found.moves, found.stops, verbose=options.verbose),
        *_placements(found, verbose=options.verbose),
        *_proof(found),
        *skipped_notes(snapshot.skipped, verbose=options.verbose),
    ]
    return text + "".join(f"{printable(line)}\n" for line in sentences)


def _verdict(found: Admission, options: AdmitOptions) -> Iterator[str]:
    instances, gpus = options.job
    job = f"{instances}x{gpus} GPUs"
    match found.verdict.value:
        case "fits_now":
            yield f"{job} can start now: {found.reason}."
        case "fits_after":
            yield f"{job} can start after {count(len(found.moves), 'move')}: {found.reason}."
        case "cannot":
            yield f"{job} cannot start: {found.reason}."
        case _:
            yield f"Not settled whether {job} can start: {found.reason}."
    if found.blockers:
        yield "What stands in its way:"
        yield from (f"  {blocker}" for blocker in found.blockers)


def _placements(found: Admission, *, verbose: bool) -> Iterator[str]:
    if found.placements:
        names = [f"{placement.instance} on {placement.node}" for placement in found.placements]
        yield f"Then its instances go to: {listed(names, verbose=verbose)}."


def _proof(found: Admission) -> Iterator[str]:
    if found.verdict.value == "fits_after":
        if found.status == "optimal":
            yield "Proved: it takes no fewer moves."
        else:
            yield f"Not proved to be the fewest moves: it takes at least {found.lower_bound}."
    elif found.verdict.value == "cannot" and found.proof:
        yield f"Proof: {found.proof}."


def _job(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9][0-9]{0,8})[xX]([1-9][0-9]{0,8})", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"expected instances x GPUs of each, both at least 1, such as 2x4, got {text!r}"
        )
    return int(match[1]), int(match[2])


def _add_arguments(parser: Parser) -> None:
    add_snapshot_arguments(parser)
    parser.add_argument(
        "--job",
        metavar="WxG",
        type=_job,
        required=True,
        help="the waiting job: W instances of G GPUs each, such as 2x4",
    )
    parser.add_argument("--pool", metavar="NAME", help="the pool it must run in (default: any one pool)")
    add_move_arguments(parser)


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    return admit_job(parser.parse_intermixed_args(arguments, namespace=AdmitOptions()))


_DESCRIPTION = """Say whether a waiting job can start: now, after the fewest moves that make room for it,
or not at all, and then what stands in its way."""

_EPILOG = """examples:
  kubectl get nodes,pods -A -o json | sifopt admit - --job 2x8
  sifopt admit cluster.json --job 1x4 --pool h100 --moves live -o json

exit status:
  0  it fits now, or after the moves printed
  1  it cannot fit
  2  bad input or bad usage; one line says where and what was expected
  3  not settled within --time-limit"""

ADMIT = Command(
    name="admit",
    help="say whether a waiting job can start, and after which moves",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    add_arguments=_add_arguments,
    run=_run,
)
