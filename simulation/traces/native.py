"""Our own trace format: CSV with `job_id, submit_s, duration_s, instances, gpus_per_instance, pool`.

Times are seconds, submissions from any origin (day 0 starts at 0). `pool` may be left empty, or the whole column out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.safe_text import csv_name, csv_text
from simulation.jobs import TraceError
from simulation.traces.formats import CsvFormat
from simulation.traces.rows import MAX_GPUS, Draft, Exclusion, instances, name_of, number, seconds, whole
from simulation.traces.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.jobs import Trace
    from simulation.traces.formats import ReadOptions
    from simulation.traces.rows import Reading, RowReader
    from simulation.traces.table import Columns

COLUMNS = ("job_id", "submit_s", "duration_s", "instances", "gpus_per_instance")
POOL = "pool"


def _reader(columns: Columns, _: ReadOptions) -> RowReader:
    job, submit, duration, count, gpus = (columns[name] for name in COLUMNS)
    pool = columns.get(POOL)

    def read(fields: Sequence[str]) -> Reading:
        name = name_of(fields[job], "job_id")
        demand = whole(fields[gpus], "gpus_per_instance", MAX_GPUS)
        draft = Draft(
            name,
            number(fields[submit], "submit_s"),
            seconds(fields[duration], "duration_s"),
            instances(fields[count], "instances"),
            demand,
            (fields[pool] or None) if pool is not None else None,
            Shape.GIVEN,
        )
        return draft if demand else Exclusion.NO_GPU

    return read


def write_trace(trace: Trace) -> str:
    """Return the trace in the format of this module; reading it gives the same jobs again.

    Names come back as `csv_name` shows them: what steers a terminal as an escape, a formula behind an apostrophe.

    Raises
    ------
    TraceError
        A name of a job or a pool that is empty or has line ends in it, which the format cannot hold, or two that are
        shown alike.
    """
    rows: list[tuple[object, ...]] = [(*COLUMNS, POOL)]
    shown_as: dict[str, str] = {}
    for job in trace:
        for name in (job.name, "none" if job.pool is None else job.pool):
            if not name or "\n" in name or "\r" in name:
                raise TraceError(f"job {job.name!r}: expected the name of a job or a pool on one line, got {name!r}")
        if (other := shown_as.setdefault(csv_name(job.name), job.name)) != job.name:
            raise TraceError(f"job {job.name!r}: expected a name that is written unlike that of job {other!r}")
        rows.append((job.name, _shown(job.submit_s), _shown(job.duration_s), job.instances, job.gpus, job.pool))
    return csv_text(rows)


def _shown(time_s: float) -> float:
    # Written as the shortest text that reads back as the same float.
    return int(time_s) if time_s == int(time_s) else float(time_s)


NATIVE = CsvFormat(name="native", title="the format of compass-abs", columns=COLUMNS, reader=_reader)
