"""Moves for people: a table of what goes where in which step, and sentences about which jobs pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.tables import Column
from oracle.cli.words import count, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.moves import Move, Stop


def move_columns(moves: Sequence[Move], stops: Sequence[Stop]) -> list[Column]:
    """Return the columns of a table of moves."""
    stopped = {(stop.job, stop.instance): stop.before_step for stop in stops}
    jobs = len({move.job for move in moves})
    columns = [
        Column("step", [f"{move.step}" for move in moves], "total"),
        Column("job", [move.job for move in moves], count(jobs, "job")),
        Column("instance", [f"{move.instance}" for move in moves], count(len(moves), "move")),
        Column("GPUs", [f"{move.gpus}" for move in moves], f"{sum(move.gpus for move in moves)}"),
        Column("from", [move.source for move in moves], ""),
        Column("to", [move.destination for move in moves], ""),
    ]
    if stops:
        when = [stopped.get((move.job, move.instance)) for move in moves]
        cells = ["" if step is None else f"before step {step}" for step in when]
        columns.append(Column("stop it", cells, f"{len(stops)} stopped", attention=True))
    return columns


def move_sentences(moves: Sequence[Move], stops: Sequence[Stop], *, live: bool, verbose: bool) -> Iterator[str]:
    """Yield what moves mean for the jobs; `live` if they were asked to be live."""
    if not moves:
        return
    jobs = list(dict.fromkeys(move.job for move in sorted(moves)))
    what = "will be moved live" if live else "will pause"
    yield f"{count(len(jobs), 'job')} {what}: {listed(jobs, verbose=verbose)}."
    if stops:
        names = [f"{stop.job}[{stop.instance}] on {stop.node} before step {stop.before_step}" for stop in stops]
        yield f"To be stopped before their destination is free: {listed(names, verbose=verbose)}."
    else:
        yield "Every move goes into space that is free before its step."
    yield "Moves of one step may run at the same time; the next step begins when all of them are done."
