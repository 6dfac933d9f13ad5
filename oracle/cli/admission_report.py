"""What `sifopt admit` tells people of one job: the moves, the verdict, where it goes, what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.command import skipped_notes
from oracle.cli.move_table import move_columns, move_sentences
from oracle.cli.tables import draw
from oracle.cli.words import listed
from oracle.safe_text import printable
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.admission.answer import Admission
    from oracle.cli.tables import Screen
    from oracle.snapshots.model import Snapshot


def report(found: Admission, job: str, snapshot: Snapshot, screen: Screen, *, verbose: bool) -> str:
    """Return the table of moves and the sentences about them."""
    live = found.question.mode.value == "live"
    text = draw(move_columns(found.moves, found.stops), screen) + "\n" if found.moves else ""
    sentences = [
        *verdict(found, job),
        *move_sentences(found.moves, found.stops, live=live, verbose=verbose),
        *_placements(found, verbose=verbose),
        *proof(found),
        *skipped_notes(snapshot.skipped, verbose=verbose),
    ]
    return text + "".join(f"{printable(line)}\n" for line in sentences)


def verdict(found: Admission, job: str) -> Iterator[str]:
    """Yield whether the job can start, and what stands in its way."""
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


def proof(found: Admission) -> Iterator[str]:
    """Yield what is proved about the moves, or about the impossibility."""
    if found.verdict.value == "fits_after":
        if found.status == "optimal":
            yield "Proved: it takes no fewer moves."
        else:
            yield f"Not proved to be the fewest moves: it takes at least {found.lower_bound}."
    elif found.verdict.value == "cannot" and found.proof:
        yield f"Proof: {found.proof}."
