"""What `sifopt admit` tells people: of one job the moves, the verdict, where it goes, what is proved.

Of a queue: each job, the first that can start, the most that can together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.move_table import move_sentences, move_table
from oracle.cli.sentences import lines, listed, overlooked_notes, skipped_notes
from oracle.cli.tables import Column, draw
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.admission.answer import Admission, QueueAdmission, Together
    from oracle.admission.question import AskedJob
    from oracle.snapshots.model import Snapshot


# A job that may be in many racks has as many times the same in its way.
_MAX_BLOCKERS = 24


def job_report(found: Admission, job: str, snapshot: Snapshot, *, verbose: bool) -> str:
    """Return the table of moves and the sentences about them."""
    live = found.question.mode.value == "live"
    places = [f"{placement.instance} on {placement.node}" for placement in found.placements]
    sentences = [
        *_verdict(found, job, verbose=verbose),
        *move_sentences(found.moves, found.stops, live=live, verbose=verbose),
        *([f"Then its instances go to: {listed(places, verbose=verbose)}."] if places else []),
        *_proof(found),
        *overlooked_notes(found.not_looked_at, verbose=verbose),
        *skipped_notes(snapshot.skipped, verbose=verbose),
    ]
    return move_table(found.moves, found.stops) + lines(sentences)


def queue_report(found: QueueAdmission, snapshot: Snapshot, *, verbose: bool) -> str:
    """Return the tables and the sentences about them."""
    jobs, together = found.jobs, found.together
    skipped = skipped_notes(snapshot.skipped, verbose=verbose)
    if not jobs:
        return lines(["The snapshot has no waiting job.", *skipped])
    alone = [admission for _, admission in found.passed_over]
    alone += [] if found.first is None else [found.first[1]]
    if len(jobs) == 1:  # then to start alone and to start together is the same
        (name, job), *_ = jobs
        return job_report(alone[0], f"{name} ({job.called} GPUs)", snapshot, verbose=verbose)
    moves, stops, live = together.order.moves, together.order.stops, found.question.mode.value == "live"
    sentences = [
        *_together(together, len(jobs), verbose=verbose),
        *move_sentences(moves, stops, live=live, verbose=verbose),
        *overlooked_notes(found.not_looked_at, verbose=verbose),
        *_placements(together, verbose=verbose),
        *skipped,
    ]
    first = lines(_first(found, verbose=verbose))
    return f"{draw(_columns(jobs, alone, together))}\n{first}\n{move_table(moves, stops)}{lines(sentences)}"


def _verdict(found: Admission, job: str, *, verbose: bool) -> Iterator[str]:
    """Yield whether the job can start, and what stands in its way."""
    starting = len(found.placements)
    if starting and starting < found.job.size:
        job = f"{starting} of {count(found.job.size, 'instance')} of {job}"
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
        told = [f"  {blocker}" for blocker in found.blockers]
        yield from told if verbose else told[:_MAX_BLOCKERS]
        if len(told) > _MAX_BLOCKERS and not verbose:
            yield f"  and {len(told) - _MAX_BLOCKERS} more (-v lists them)"


def _proof(found: Admission) -> Iterator[str]:
    """Yield what is proved about the moves, or about the impossibility."""
    if found.verdict.value == "fits_after":
        if found.status == "optimal":
            yield "Proved: it takes no fewer moves."
        elif found.most > len(found.placements):
            yield f"Not proved to be the most that can start: it is at most {found.most}."
        else:
            yield f"Not proved to be the fewest moves: it takes at least {found.lower_bound}."
    elif found.verdict.value == "fits_now" and found.most > len(found.placements):
        yield f"Not proved to be the most that can start: it is at most {found.most}."
    elif found.verdict.value == "cannot" and found.proof:
        yield f"Proof: {found.proof}."


def _columns(jobs: Sequence[tuple[str, AskedJob]], alone: Sequence[Admission], together: Together) -> list[Column]:
    """Return the columns of a queue, of which the first jobs were asked about alone."""
    answers = [*map(_alone, alone), *["not asked"] * (len(jobs) - len(alone))]
    starting = {name: len(placements) for name, placements in zip(together.jobs, together.placements, strict=True)}
    gpus = sum(job.total_gpus for _, job in jobs)
    return [
        Column("job", [name for name, _ in jobs], count(len(jobs), "job")),
        Column("GPUs", [job.called for _, job in jobs], f"{gpus}"),
        Column("pool", ["any" if job.pool is None else job.pool for _, job in jobs]),
        Column("alone", answers),
        Column("together", [_taken(job, starting.get(name, 0)) for name, job in jobs], f"{len(together.jobs)} start"),
    ]


def _alone(admission: Admission) -> str:
    after = f"after {count(len(admission.moves), 'move')}"
    return {"fits_now": "fits now", "fits_after": after, "cannot": "cannot", "unknown": "unknown"}[admission.verdict]


def _taken(job: AskedJob, starting: int) -> str:
    """Say whether a job starts, or how much of it."""
    if 0 < starting < job.size:
        return f"{starting} of {job.size}"
    return "starts" if starting else "waits"


def _first(found: QueueAdmission, *, verbose: bool) -> Iterator[str]:
    for name, admission in found.passed_over:
        yield from _verdict(admission, name, verbose=verbose)
    if found.first is None:
        yield "No job is known to be able to start."
        return
    name, admission = found.first
    yield f"First in queue order: {next(_verdict(admission, name, verbose=verbose))}"
    yield from _proof(admission)
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
