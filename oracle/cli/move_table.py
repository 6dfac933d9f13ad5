"""Moves for people: a table of what goes where in which step, and sentences about which jobs pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.sentences import listed
from oracle.cli.tables import Column, draw
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.moves.move import Move, Stop


def move_table(moves: Sequence[Move], stops: Sequence[Stop], stopped: Sequence[Stop] = ()) -> str:
    """Return the table and an empty line, nothing if nothing moves; what is in `stopped` has stopped already."""
    if not moves:
        return ""
    when = {(stop.job, stop.instance): f"before step {stop.before_step}" for stop in stops}
    when |= {(stop.job, stop.instance): "is stopped" for stop in stopped}
    jobs = len({move.job for move in moves})
    columns = [
        Column("step", [f"{move.step}" for move in moves], "total"),
        Column("job", [move.job for move in moves], count(jobs, "job")),
        Column("instance", [f"{move.instance}" for move in moves], count(len(moves), "move")),
        *([Column("name", [move.name or "" for move in moves])] if any(move.name for move in moves) else []),
        Column("GPUs", [f"{move.gpus}" for move in moves], f"{sum(move.gpus for move in moves)}"),
        Column("from", [move.source for move in moves]),
        Column("to", [move.destination for move in moves]),
    ]
    if when:
        cells = [when.get((move.job, move.instance), "") for move in moves]
        columns.append(Column("stop it", cells, f"{len(when)} stopped", attention=True))
    return draw(columns) + "\n"


def move_sentences(moves: Sequence[Move], stops: Sequence[Stop], *, live: bool, verbose: bool) -> Iterator[str]:
    """Yield what moves mean for the jobs; `live` if they were asked to be live."""
    if not moves:
        return
    jobs = list(dict.fromkeys(move.job for move in sorted(moves)))
    what = "will be moved live" if live else "will pause"
    yield f"{count(len(jobs), 'job')} {what}: {listed(jobs, verbose=verbose)}."
    if stops:
        names = [f"{stop.called} on {stop.node} before step {stop.before_step}" for stop in stops]
        yield f"To be stopped before their destination is free: {listed(names, verbose=verbose)}."
    else:
        yield "Every move goes into space that is free before its step."
    yield "Moves of one step may run at the same time; the next step begins when all of them are done."
