"""What `sifopt admit` tells people of a queue: each job, the first that can start, the most that can together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli import admission_report
from oracle.cli.admission_report import proof, verdict
from oracle.cli.command import skipped_notes
from oracle.cli.move_table import move_columns, move_sentences
from oracle.cli.tables import Column, draw
from oracle.cli.words import listed
from oracle.safe_text import printable
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.admission.answer import Admission, QueueAdmission, Together
    from oracle.cli.tables import Screen
    from oracle.snapshots.model import PendingJob, Snapshot


def report(found: QueueAdmission, snapshot: Snapshot, screen: Screen, *, verbose: bool) -> str:
    """Return the tables and the sentences about them."""
    jobs = found.jobs
    if not jobs:
        return _lines(["No job waits.", *skipped_notes(snapshot.skipped, verbose=verbose)])
    alone = [*found.passed_over, *([] if found.first is None else [found.first])]
    if len(jobs) == 1:  # then to start alone and to start together is the same
        return admission_report.report(alone[0][1], printable(_demand(jobs[0])), snapshot, screen, verbose=verbose)
    parts = [draw(_columns(found, jobs), screen), _lines(_first(found, verbose=verbose))]
    together, live = found.together, found.question.mode.value == "live"
    if together.order.moves:
        parts.append(draw(move_columns(together.order.moves, together.order.stops), screen))
    sentences = [
        *_together(together, len(jobs), verbose=verbose),
        *move_sentences(together.order.moves, together.order.stops, live=live, verbose=verbose),
        *_placements(together, verbose=verbose),
        *skipped_notes(snapshot.skipped, verbose=verbose),
    ]
    return "\n".join([*parts, _lines(sentences)])


def _lines(sentences: Iterator[str] | Sequence[str]) -> str:
    return "".join(f"{printable(line)}\n" for line in sentences)


def _columns(found: QueueAdmission, jobs: Sequence[PendingJob]) -> list[Column]:
    asked = [admission for _, admission in found.passed_over]
    asked += [] if found.first is None else [found.first[1]]
    starting = list(found.together.jobs)
    return [
        Column("job", [job.name for job in jobs], count(len(jobs), "job")),
        Column("GPUs", [f"{job.instances}x{job.gpus_per_instance}" for job in jobs], f"{sum(map(_gpus, jobs))}"),
        Column("pool", ["any" if job.pool is None else job.pool for job in jobs], ""),
        Column("alone", [_alone(asked[k]) if k < len(asked) else "not asked" for k in range(len(jobs))], ""),
        Column("together", [_taken(job.name, starting) for job in jobs], f"{len(found.together.jobs)} start"),
    ]


def _demand(job: PendingJob) -> str:
    return f"{job.name} ({job.instances}x{job.gpus_per_instance} GPUs)"


def _gpus(job: PendingJob) -> int:
    return job.instances * job.gpus_per_instance


def _alone(admission: Admission) -> str:
    if admission.verdict.value == "fits_after":
        return f"after {count(len(admission.moves), 'move')}"
    return {"fits_now": "fits now", "cannot": "cannot", "unknown": "unknown"}[admission.verdict.value]


def _taken(name: str, starting: list[str]) -> str:
    """Say whether a job starts; several may have one name, so each start is taken off the list."""
    if name in starting:
        starting.remove(name)
        return "starts"
    return "waits"


def _first(found: QueueAdmission, *, verbose: bool) -> Iterator[str]:
    for name, admission in found.passed_over:
        yield from verdict(admission, name)
    if found.first is None:
        yield "No job is known to be able to start."
        return
    name, admission = found.first
    yield f"First in queue order: {next(verdict(admission, name))}"
    yield from proof(admission)
    if admission.moves:
        moves = [f"{move.called} from {move.source} to {move.destination}" for move in admission.moves]
        yield f"To make room for it alone: {listed(moves, verbose=verbose)}."


def _together(together: Together, jobs: int, *, verbose: bool) -> Iterator[str]:
    if not together.jobs:
        return
    moves = count(len(together.order.moves), "move")
    when = f"after {moves}" if together.order.moves else "as it is"
    started = count(len(together.jobs), "job")
    yield f"Most that can start together: {started} of {jobs} {when}: {listed(together.jobs, verbose=verbose)}."
    if together.status == "optimal":
        yield "Proved: no more can, and no other set as large takes fewer moves."
    else:
        yield (
            f"Not proved to be best: at most {count(together.most, 'job')} can start together; so many as here take at "
            f"least {count(together.moves_lower_bound, 'move')}."
        )


def _placements(together: Together, *, verbose: bool) -> Iterator[str]:
    names = [
        f"{job}[{placement.instance}] on {placement.node}"
        for job, placements in zip(together.jobs, together.placements, strict=True)
        for placement in placements
    ]
    if names:
        yield f"Then their instances go to: {listed(names, verbose=verbose)}."
