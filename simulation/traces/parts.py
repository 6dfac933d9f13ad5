"""Which of the files of a trace is what: one has the jobs, others may go with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from oracle.snapshots.document import Document
from simulation.jobs import TraceError
from simulation.traces.detection import CSV_FORMATS, NODE_LIST, PAI_JOBS, is_json, kind_of
from simulation.traces.nodes import NodeGroup, read_nodes
from simulation.traces.pai import JOB_COLUMNS, PAI
from simulation.traces.philly import JSON_NAME
from simulation.traces.table import Table, first_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.traces.formats import CsvFormat


@dataclass(frozen=True, slots=True)
class CsvJobs:
    """A CSV file of jobs."""

    table: Table
    format: CsvFormat


@dataclass(frozen=True, slots=True)
class _Submissions:
    table: Table


_Part: TypeAlias = CsvJobs | Document | _Submissions | tuple[NodeGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The files of one trace.

    Attributes
    ----------
    names
        All of them, in the order given.
    jobs
        The one with the jobs: a CSV file, or the JSON log of Philly.
    submissions
        The job table of PAI, if given.
    nodes
        The nodes that lists of them name.
    """

    names: tuple[str, ...]
    jobs: CsvJobs | Document
    submissions: Table | None
    nodes: tuple[NodeGroup, ...]


def sort_parts(documents: Sequence[Document], forced: str | None) -> Parts:
    """Return the files by what they are; `forced` names the format of the one with the jobs.

    Raises
    ------
    TraceError
        No file with jobs or two of them, an unknown format, or a job table of PAI beside another trace.
    """
    parts = [(document.name, _part(document, forced)) for document in documents]
    jobs = [(name, part) for name, part in parts if isinstance(part, CsvJobs | Document)]
    submissions = [part.table for _, part in parts if isinstance(part, _Submissions)]
    if not jobs:
        names = ", ".join(name for name, _ in parts) or "no file"
        raise TraceError(f"{names}: no jobs with their GPUs in it, expected a file of a trace that has them")
    if len(jobs) > 1:
        raise TraceError(f"{jobs[1][0]}: a second file of jobs, expected one; {jobs[0][0]} is it already")
    main = jobs[0][1]
    if len(submissions) > 1:
        raise TraceError(f"{submissions[1].name}: a second job table, expected one at most")
    if submissions and not (isinstance(main, CsvJobs) and main.format is PAI):
        raise TraceError(f"{submissions[0].name}: a job table of PAI, expected beside its task table only")
    return Parts(
        names=tuple(name for name, _ in parts),
        jobs=main,
        submissions=submissions[0] if submissions else None,
        nodes=tuple(group for _, part in parts if isinstance(part, tuple) for group in part),
    )


def _part(document: Document, forced: str | None) -> _Part:
    if forced == JSON_NAME or (forced is None and is_json(document.content)):
        return document
    text, first = first_row(document)
    kind = _kind(document.name, first, forced)
    if kind == NODE_LIST:
        return read_nodes(Table(document.name, first, text))
    if kind == PAI_JOBS:
        return _Submissions(Table(document.name, first if set(first) >= set(JOB_COLUMNS) else None, text))
    format_ = CSV_FORMATS[kind]
    # A file is taken for one without a header only if nothing in its first row speaks against it.
    headerless = format_.headerless and len(first) == len(format_.columns) and set(first).isdisjoint(format_.columns)
    return CsvJobs(Table(document.name, None if headerless else first, text), format_)


def _kind(name: str, first: Sequence[str], forced: str | None) -> str:
    if forced is None:
        return kind_of(name, first)
    # Only the file with the jobs is in the format that was named.
    try:
        kind = kind_of(name, first)
    except TraceError:
        return forced
    return kind if kind in {NODE_LIST, PAI_JOBS} else forced
