"""Microsoft Philly (Jeon et al., ATC'19): the JSON `cluster_job_log`, and a CSV in which others repackaged it.

The JSON lists every attempt to run a job, with the servers and their GPUs. A job here runs for the sum of its attempts,
on what its last attempt held. The CSV has a total of GPUs, no names (rows are named by their line) and, for pool, the
virtual cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from simulation.jobs import TraceError
from simulation.traces.formats import CsvFormat
from simulation.traces.rows import (
    Clock,
    Draft,
    Exclusion,
    Note,
    RowProblem,
    is_blank,
    name_of,
    seconds,
    span,
    total_gpus,
)
from simulation.traces.shapes import Shape, ShapeRule, by_total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.snapshots.document import Document
    from simulation.traces.formats import ReadOptions
    from simulation.traces.rows import Reading, RowReader
    from simulation.traces.table import Columns

_REPACKAGED = ("timestamp", "duration", "num_gpus", "cluster")

JSON_NAME = "philly"
JSON_TITLE = "Philly, cluster_job_log (JSON)"


class _Server(msgspec.Struct):
    ip: str
    gpus: list[str]


class _Attempt(msgspec.Struct):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[_Server] = msgspec.field(default_factory=list[_Server])


class _Job(msgspec.Struct):
    jobid: str
    status: str
    submitted_time: str | None
    vc: str = ""
    attempts: list[_Attempt] = msgspec.field(default_factory=list[_Attempt])


def json_items(document: Document) -> Iterator[tuple[int, msgspec.Raw]]:
    """Yield the items of the log, counted from 1, not yet decoded: one that is wrong does not spoil the others.

    Raises
    ------
    TraceError
        No JSON, or no array at the top.
    """
    try:
        items = msgspec.json.decode(document.content, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"expected a JSON array of jobs, as in Philly's cluster_job_log ({error})"
        raise TraceError(f"{document.name}: {problem}") from error
    yield from enumerate(items, start=1)


def json_reader(options: ReadOptions) -> Callable[[msgspec.Raw], Reading]:
    """Return the reader of one item of the log."""
    decoder = msgspec.json.Decoder(_Job)
    clock = Clock()

    def read(item: msgspec.Raw) -> Reading:
        try:
            job = decoder.decode(item)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RowProblem(f"expected a job of cluster_job_log: {error}") from error
        return _read_job(job, clock, options)

    return read


def _read_job(job: _Job, clock: Clock, options: ReadOptions) -> Reading:
    name = name_of(job.jobid, "jobid")
    submit_s = clock.read(job.submitted_time or "", "submitted_time")
    if not job.attempts:
        return Exclusion.NEVER_STARTED
    last = job.attempts[-1]
    if is_blank(last.end_time or "") and not is_blank(last.start_time or ""):
        return Exclusion.NOT_FINISHED
    spans = [_span(attempt, clock) for attempt in job.attempts]
    known = [ran_s for ran_s in spans if ran_s is not None]
    held = [attempt.detail for attempt in job.attempts if attempt.detail]
    shares = [len(server.gpus) for server in held[-1] if server.gpus] if held else []
    if not known:
        return Exclusion.NEVER_STARTED
    if not shares:
        return Exclusion.NO_GPU
    instances, gpus, shape = _told(shares, options.shape)
    notes = () if len(known) == len(spans) else (Note.OPEN_ATTEMPT,)
    return Draft(name, submit_s, sum(known), instances, gpus, job.vc or None, shape, job.status, notes)


def _span(attempt: _Attempt, clock: Clock) -> float | None:
    start, end = attempt.start_time or "", attempt.end_time or ""
    if is_blank(start) or is_blank(end):
        return None
    return span(clock.read(start, "start_time"), clock.read(end, "end_time"), "end_time")


def _told(shares: Sequence[int], rule: ShapeRule) -> tuple[int, int, Shape]:
    if rule is ShapeRule.RECORDED and min(shares) == max(shares):
        return len(shares), shares[0], Shape.BY_SERVERS
    # Unequal shares are where the scheduler found room, not what the job asked for.
    return *by_total(sum(shares)), Shape.BY_TOTAL


def _repackaged_reader(columns: Columns, _: ReadOptions) -> RowReader:
    submit, duration, count, cluster = (columns[name] for name in _REPACKAGED)
    clock = Clock()

    def read(fields: Sequence[str]) -> Reading:
        submit_s = clock.read(fields[submit], "timestamp")
        ran_s = seconds(fields[duration], "duration")
        total = total_gpus(fields[count], "num_gpus")
        if total == 0:
            return Exclusion.NO_GPU
        return Draft("", submit_s, ran_s, *by_total(total), fields[cluster] or None, Shape.BY_TOTAL)

    return read


PHILLY_REPACKAGED = CsvFormat(
    name="philly-repackaged",
    title="Philly as repackaged in a CSV with a total of GPUs",
    columns=_REPACKAGED,
    reader=_repackaged_reader,
    calendar=True,
)
