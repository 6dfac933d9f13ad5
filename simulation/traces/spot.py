"""Alibaba spot GPU trace of 2026 (Duan et al., ASPLOS'26, the paper's GFS trace): the only one with w and g.

`gpu_request` is the demand of one worker: the file has jobs of 94 workers and a request of 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.traces.formats import CsvFormat
from simulation.traces.rows import (
    MAX_GPUS,
    Draft,
    Exclusion,
    RowProblem,
    instances,
    is_blank,
    is_mig,
    name_of,
    number,
    seconds,
    whole_gpus,
)
from simulation.traces.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulation.traces.formats import ReadOptions
    from simulation.traces.rows import Reading, RowReader
    from simulation.traces.table import Columns

_FULL = ("job_name", "submit_time", "duration", "worker_num", "gpu_request", "gpu_model", "job_type")
_SAMPLE = ("job_name", "submit_s", "duration_s", "w", "g", "job_type")


def _reader(names: Sequence[str], model_column: str) -> Callable[[Columns, ReadOptions], RowReader]:
    job_name, submit_name, duration_name, workers_name, request_name = names[:5]

    def make(columns: Columns, options: ReadOptions) -> RowReader:
        job, submit, duration, workers, request = (columns[name] for name in names[:5])
        kind, model = columns["job_type"], columns.get(model_column)

        def read(fields: Sequence[str]) -> Reading:
            name = name_of(fields[job], job_name)
            submit_s = number(fields[submit], submit_name)
            share = number(fields[request], request_name)
            pool = None if model is None or is_blank(fields[model]) else fields[model]
            if not 0 <= share <= MAX_GPUS:
                raise RowProblem(f"{request_name}: expected 0 to {MAX_GPUS} GPUs, got {fields[request]!r}")
            if pool is not None and is_mig(pool):
                return Exclusion.MIG
            count = instances(fields[workers], workers_name)
            if is_blank(fields[duration]):
                return Exclusion.NOT_FINISHED
            ran_s = seconds(fields[duration], duration_name)
            demand = whole_gpus(share, options.fractions)
            if isinstance(demand, Exclusion):
                return demand
            return Draft(name, submit_s, ran_s, count, demand[0], pool, Shape.GIVEN, fields[kind], demand[1])

        return read

    return make


SPOT = CsvFormat(
    name="alibaba-spot",
    title="Alibaba spot GPU trace 2026, job_info_df.csv",
    columns=_FULL,
    reader=_reader(_FULL, "gpu_model"),
)
SPOT_SAMPLE = CsvFormat(
    name="alibaba-spot-sample",
    title="Alibaba spot GPU trace 2026, sample with w and g",
    columns=_SAMPLE,
    reader=_reader(_SAMPLE, "gpu_model"),
)
