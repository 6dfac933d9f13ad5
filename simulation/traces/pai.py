"""Alibaba PAI 2020 (Weng et al., NSDI'22): `pai_task_table`, with `pai_job_table` for the times of submission.

A job of PAI has tasks of different roles, and a gang here has instances of one demand, so that each task with whole
GPUs becomes a job of its own, named ``job/task``. `plan_gpu` is the demand of one instance in hundredths of a GPU.
Upstream the tables come without a header line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.traces.formats import CsvFormat
from simulation.traces.rows import (
    MAX_GPUS,
    Draft,
    Exclusion,
    Note,
    RowProblem,
    instances,
    is_blank,
    is_mig,
    name_of,
    number,
    span,
    whole_gpus,
)
from simulation.traces.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.traces.formats import ReadOptions
    from simulation.traces.rows import Reading, RowReader
    from simulation.traces.table import Columns

TASK_COLUMNS = (
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
)
JOB_COLUMNS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
STATUSES = frozenset({"Running", "Terminated", "Failed", "Waiting", "Interrupted"})
_UNFINISHED = frozenset({"Running", "Waiting"})
_WHOLE = 100  # plan_gpu of one GPU


def _task_reader(columns: Columns, options: ReadOptions) -> RowReader:
    places = {name: columns[name] for name in TASK_COLUMNS if columns.get(name) is not None}
    job, task, count, status = (places[name] for name in TASK_COLUMNS[:4])
    start, end, plan, model = (places[name] for name in ("start_time", "end_time", "plan_gpu", "gpu_type"))

    def read(fields: Sequence[str]) -> Reading:
        name = f"{name_of(fields[job], 'job_name')}/{name_of(fields[task], 'task_name')}"
        device = fields[model]
        share = 0.0 if is_blank(fields[plan]) else number(fields[plan], "plan_gpu") / _WHOLE
        if not 0 <= share <= MAX_GPUS:
            raise RowProblem(f"plan_gpu: expected 0 to {MAX_GPUS * _WHOLE}, got {fields[plan]!r}")
        demand = Exclusion.MIG if is_mig(device) else whole_gpus(share, options.fractions)
        if isinstance(demand, Exclusion):
            return demand
        if is_blank(fields[start]):
            return Exclusion.NEVER_STARTED
        if is_blank(fields[end]) or fields[status] in _UNFINISHED:
            return Exclusion.NOT_FINISHED
        start_s = number(fields[start], "start_time")
        ran_s = span(start_s, number(fields[end], "end_time"), "end_time")
        pool = None if is_blank(device) else device
        workers = instances(fields[count], "inst_num")
        return Draft(name, start_s, ran_s, workers, demand[0], pool, Shape.GIVEN, fields[status], demand[1])

    return read


def submission(fields: Sequence[str], columns: Columns) -> tuple[str, float]:
    """Return the name of a job and when it was submitted, from a row of the job table."""
    name = name_of(fields[columns["job_name"]], "job_name")
    return name, number(fields[columns["start_time"]], "start_time")


def submitted(draft: Draft, job: str, times: dict[str, float] | None) -> Draft:
    """Return a task of `job` with its time of submission; without a job table that of the launch, with a note.

    Raises
    ------
    RowProblem
        The job table does not know the job.
    """
    if times is None:
        return draft._replace(notes=(*draft.notes, Note.LAUNCH_TIME))
    if job not in times:
        raise RowProblem(f"job_name: expected a job of the job table with a start_time, got {job!r}")
    return draft._replace(submit_s=times[job])


PAI = CsvFormat(
    name="alibaba-pai",
    title="Alibaba PAI 2020, pai_task_table",
    columns=TASK_COLUMNS,
    reader=_task_reader,
    headerless=True,
)
