"""Helios (Hu et al., SC'21) and Acme (Hu et al., NSDI'24): logs of Slurm and of a container platform, one row a job.

Both record the total of GPUs and the number of nodes. Every state a job can end in (completed, cancelled, failed, timed
out, node failed) held its GPUs from start to end, so all are kept and counted by state; a row without a start or
without an end gives no job.

The time a job ran is end minus start. The column `duration` should be the same and is not trusted: in the published
Acme file of cluster Kalos it holds end minus submission.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.traces.formats import CsvFormat
from simulation.traces.rows import (
    MAX_INSTANCES,
    Clock,
    Draft,
    Exclusion,
    Note,
    is_blank,
    name_of,
    number,
    seconds,
    span,
    total_gpus,
    whole,
)
from simulation.traces.shapes import Shape, by_nodes, by_total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulation.traces.formats import ReadOptions
    from simulation.traces.rows import Reading, RowReader
    from simulation.traces.table import Columns

_LOG = ("job_id", "gpu_num", "node_num", "state", "submit_time", "start_time", "end_time", "duration")
_REPACKAGED = ("job_id", "arrival_s", "service_sec", "gpu_count")
_UNFINISHED = frozenset({"RUNNING", "PENDING", "SUSPENDED", "COMPLETING", "WAITING"})
# Times are whole seconds, so that a difference can be off by rounding at both ends.
_ROUNDING_S = 1.0


def _log_reader(pool_column: str | None) -> Callable[[Columns, ReadOptions], RowReader]:
    def make(columns: Columns, options: ReadOptions) -> RowReader:
        job, gpus, nodes, state, submit, start, end, duration = (columns[name] for name in _LOG)
        pool = None if pool_column is None else columns[pool_column]
        clock = Clock()

        def read(fields: Sequence[str]) -> Reading:
            name = name_of(fields[job], "job_id")
            total = total_gpus(fields[gpus], "gpu_num")
            submit_s = clock.read(fields[submit], "submit_time")
            left_out = Exclusion.NO_GPU if total == 0 else _missing(fields[state], fields[start], fields[end])
            if left_out is not None:
                return left_out
            ran_s = span(clock.read(fields[start], "start_time"), clock.read(fields[end], "end_time"), "end_time")
            recorded = None if is_blank(fields[duration]) else number(fields[duration], "duration")
            off = recorded is not None and abs(recorded - ran_s) > _ROUNDING_S
            told = by_nodes(total, whole(fields[nodes], "node_num", MAX_INSTANCES), options.shape)
            vc = None if pool is None else fields[pool] or None
            notes = (Note.OTHER_DURATION,) if off else ()
            return Draft(name, submit_s, ran_s, *told[:2], vc, told[2], fields[state], notes)

        return read

    return make


def _missing(state: str, start: str, end: str) -> Exclusion | None:
    if is_blank(start):
        return Exclusion.NEVER_STARTED
    if is_blank(end) or state.upper() in _UNFINISHED:
        return Exclusion.NOT_FINISHED
    return None


def _repackaged_reader(columns: Columns, _: ReadOptions) -> RowReader:
    job, arrival, service, count = (columns[name] for name in _REPACKAGED)

    def read(fields: Sequence[str]) -> Reading:
        name = name_of(fields[job], "job_id")
        submit_s = number(fields[arrival], "arrival_s")
        ran_s = seconds(fields[service], "service_sec")
        total = total_gpus(fields[count], "gpu_count")
        if total == 0:
            return Exclusion.NO_GPU
        return Draft(name, submit_s, ran_s, *by_total(total), None, Shape.BY_TOTAL)

    return read


HELIOS = CsvFormat(
    name="helios",
    title="Helios, cluster_log.csv",
    columns=(*_LOG, "vc"),
    reader=_log_reader("vc"),
    calendar=True,
)
ACME = CsvFormat(
    name="acme",
    title="Acme, trace_seren.csv or trace_kalos.csv",
    columns=(*_LOG, "type"),
    reader=_log_reader(None),
    calendar=True,
)
HELIOS_REPACKAGED = CsvFormat(
    name="helios-repackaged",
    title="Helios as repackaged with seconds and a total of GPUs",
    columns=_REPACKAGED,
    reader=_repackaged_reader,
)
