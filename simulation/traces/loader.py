"""From files to one trace: read, tell the format, hand each row to its reader, and account for every one of them."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from oracle.snapshots.model import shown
from oracle.snapshots.source import MAX_INPUT
from simulation.jobs import Trace, TraceError, TraceJob
from simulation.traces.detection import FORMAT_NAMES
from simulation.traces.formats import ReadOptions
from simulation.traces.pai import JOB_COLUMNS, PAI, submission, submitted
from simulation.traces.parts import CsvJobs, sort_parts
from simulation.traces.philly import JSON_NAME, JSON_TITLE, json_items, json_reader
from simulation.traces.report import BadRow, LoadReport, Place, Tally
from simulation.traces.rows import Draft, Exclusion, RowProblem
from simulation.traces.table import Columns, Table, check_header, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from oracle.snapshots.document import Document
    from simulation.traces.nodes import NodeGroup
    from simulation.traces.rows import Reading

T = TypeVar("T")

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class LoadedTrace:
    """A trace, what became of the rows of its files, and the cluster it comes from where a file lists its nodes."""

    trace: Trace
    report: LoadReport
    nodes: tuple[NodeGroup, ...] = ()


def load_trace(
    *sources: str | Path,
    format: str | None = None,  # noqa: A002 - as `oracle.load_snapshot` calls it
    options: ReadOptions | None = None,
    strict: bool = False,
    max_input: int = MAX_INPUT,
) -> LoadedTrace:
    """Return the trace that the given files make up together.

    Parameters
    ----------
    *sources
        Files, or ``-`` for standard input; gzip is unpacked. Besides the jobs there may be a list of nodes (OpenB, spot
        trace) and, for PAI, the job table with the times of submission.
    format
        One of `FORMAT_NAMES`; told from the header if left out.
    options
        How (w, g) is told and what becomes of parts of a GPU.
    strict
        Refuse the first bad row, instead of listing it in the report. Rows left out by a rule are not bad.
    max_input
        Bytes at most of each file, unpacked.

    Raises
    ------
    TraceError
        A file cannot be read or is in no known format; with `strict`, a bad row. The message is one line that names
        the file and the line, what stood there and what was expected.
    """
    if format is not None and format not in FORMAT_NAMES:
        raise TraceError(f"no trace format {format!r}; expected one of {', '.join(FORMAT_NAMES)}")
    if sum(source == "-" for source in sources) > 1:
        raise TraceError("standard input can be only one of the files of a trace")
    parts = sort_parts([read_source(source, max_input) for source in sources], format)
    rows = _Rows(strict=strict)
    reading = options or ReadOptions()
    if isinstance(parts.jobs, CsvJobs):
        format_ = parts.jobs.format
        name, title, calendar = format_.name, format_.title, format_.calendar
        drafts = _csv_drafts(parts.jobs, parts.submissions, rows, reading)
    else:
        name, title, calendar = JSON_NAME, JSON_TITLE, True
        drafts = _json_drafts(parts.jobs, rows, reading)
    day_zero_s = _day_zero(drafts) if calendar else 0.0
    report = rows.tally.report(
        format_=name, title=title, sources=parts.names, day_zero=_date(day_zero_s) if calendar and drafts else None
    )
    trace = Trace(tuple(_jobs(drafts, day_zero_s)), source=", ".join(parts.names), rule=report.rule)
    return LoadedTrace(trace, report, parts.nodes)


class _Rows:
    """Judges rows: calls a reader, turns problems into bad rows, and finds names that are taken."""

    def __init__(self, *, strict: bool) -> None:
        self.tally = Tally()
        self._strict = strict

    def bad(self, place: Place, problem: RowProblem) -> None:
        """Note a bad row, or refuse the trace for it."""
        row = BadRow(place, str(problem))
        if self._strict:
            raise TraceError(str(row)) from problem
        self.tally.bad(row)

    def drafts(
        self, place: Callable[[int], Place], rows: Iterable[tuple[int, T]], read: Callable[[T], Reading]
    ) -> list[Draft]:
        """Return the jobs of the rows; the others are counted as left out or bad."""
        # One flat loop without a call that is not needed: it runs for every row of a long trace.
        drafts: list[Draft] = []
        names: dict[str, int] = {}
        number = 0
        for number, row in rows:
            self.tally.rows += 1
            try:
                reading = read(row)
            except RowProblem as problem:
                self.bad(place(number), problem)
                continue
            if isinstance(reading, Exclusion):
                self.tally.exclude(reading, place(number))
                continue
            if not reading.name:
                reading = reading._replace(name=f"{place(number).unit}-{number}")
            taken = names.setdefault(reading.name, number)
            if taken == number:
                drafts.append(reading)
            else:
                why = f"the name {shown(reading.name)} is that of {place(taken)}, expected one that is not taken"
                self.bad(place(number), RowProblem(why))
        self.tally.jobs(drafts)
        return drafts


def _json_drafts(document: Document, rows: _Rows, options: ReadOptions) -> list[Draft]:
    return rows.drafts(lambda item: Place(document.name, item, "item"), json_items(document), json_reader(options))


def _csv_drafts(jobs: CsvJobs, submissions: Table | None, rows: _Rows, options: ReadOptions) -> list[Draft]:
    table, format_ = jobs.table, jobs.format
    columns = _columns(table, format_.columns)
    width, read = columns.width, format_.reader(columns, options)
    if format_ is PAI:
        times = None if submissions is None else _submission_times(submissions, rows)
        read = _with_submission(read, columns["job_name"], times)

    def read_whole(fields: list[str]) -> Reading:
        if len(fields) != width:
            raise RowProblem(_width_problem(fields, columns))
        return read(fields)

    return rows.drafts(lambda line: Place(table.name, line), table.rows(), read_whole)


def _with_submission(
    read: Callable[[Sequence[str]], Reading], job: int, times: dict[str, float] | None
) -> Callable[[Sequence[str]], Reading]:
    def read_submitted(fields: Sequence[str]) -> Reading:
        reading = read(fields)
        return reading if isinstance(reading, Exclusion) else submitted(reading, fields[job], times)

    return read_submitted


def _columns(table: Table, expected: Sequence[str]) -> Columns:
    if table.header is None:
        return Columns(expected)
    check_header(table, expected)
    return Columns(table.header)


def _width_problem(fields: Sequence[str], columns: Columns) -> str:
    if not fields:
        return f"a stray quote or a field of over {csv.field_size_limit()} characters, expected fields of a CSV file"
    return f"{len(fields)} fields, expected {columns.width}"


def _submission_times(table: Table, rows: _Rows) -> dict[str, float]:
    columns = _columns(table, JOB_COLUMNS)
    times: dict[str, float] = {}

    def read(fields: Sequence[str]) -> tuple[str, float]:
        if len(fields) != columns.width:
            raise RowProblem(_width_problem(fields, columns))
        name, time_s = submission(fields, columns)
        if name in times:
            raise RowProblem(f"job_name: a second row of {shown(name)}, expected one a job")
        return name, time_s

    for line, fields in table.rows():
        try:
            name, time_s = read(fields)
        except RowProblem as problem:
            rows.bad(Place(table.name, line), problem)
        else:
            times[name] = time_s
    return times


def _day_zero(drafts: Iterable[Draft]) -> float:
    first = min((draft.submit_s for draft in drafts), default=0.0)
    return math.floor(first / DAY_S) * DAY_S


def _date(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, tz=UTC).date().isoformat()


def _jobs(drafts: Sequence[Draft], day_zero_s: float) -> Iterable[TraceJob]:
    # A stable sort: jobs of one instant stay in the order of the file.
    for draft in sorted(drafts, key=lambda draft: draft.submit_s):
        yield TraceJob(
            draft.name, draft.submit_s - day_zero_s, draft.duration_s, draft.instances, draft.gpus, draft.pool
        )
