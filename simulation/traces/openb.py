"""Alibaba OpenB (Weng et al., ATC'23): pods of a Kubernetes cluster that shares GPUs; one pod is one instance.

A pod of several GPUs has whole ones; a pod of one may have a part of it (`gpu_milli` below 1000). Most pods are
recorded as running and yet have a deletion time, a few of them the end of the trace: they are kept, with the time up
to it.
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
    is_blank,
    is_mig,
    name_of,
    number,
    span,
    whole,
    whole_gpus,
)
from simulation.traces.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.traces.formats import ReadOptions
    from simulation.traces.rows import Reading, RowReader
    from simulation.traces.table import Columns

_COLUMNS = ("name", "num_gpu", "gpu_milli", "pod_phase", "creation_time", "deletion_time", "scheduled_time")
_WHOLE = 1000  # gpu_milli of one GPU


def _reader(columns: Columns, options: ReadOptions) -> RowReader:
    pod, count, milli, phase, created, deleted, scheduled = (columns[name] for name in _COLUMNS)
    model = columns.get("gpu_spec")

    def read(fields: Sequence[str]) -> Reading:
        name = name_of(fields[pod], "name")
        submit_s = number(fields[created], "creation_time")
        pool = None if model is None or is_blank(fields[model]) else fields[model]
        demand = _demand(fields[count], fields[milli], pool, options)
        if isinstance(demand, Exclusion):
            return demand
        if is_blank(fields[scheduled]):
            return Exclusion.NEVER_STARTED
        if is_blank(fields[deleted]):
            return Exclusion.NOT_FINISHED
        start, end = number(fields[scheduled], "scheduled_time"), number(fields[deleted], "deletion_time")
        gpus, notes = demand
        ran_s = span(start, end, "deletion_time")
        if fields[phase] == "Running":
            notes += (Note.STILL_RUNNING,)
        return Draft(name, submit_s, ran_s, 1, gpus, pool, Shape.GIVEN, fields[phase], notes)

    return read


def _demand(
    count: str, milli: str, model: str | None, options: ReadOptions
) -> tuple[int, tuple[Note, ...]] | Exclusion:
    gpus = whole(count, "num_gpu", MAX_GPUS)
    if gpus == 0:
        return Exclusion.NO_GPU
    share = number(milli, "gpu_milli")
    if not 0 < share <= _WHOLE:
        raise RowProblem(f"gpu_milli: expected more than 0 and at most {_WHOLE} of each GPU, got {milli!r}")
    if model is not None and is_mig(model):
        return Exclusion.MIG
    return whole_gpus(gpus * share / _WHOLE, options.fractions)


OPENB = CsvFormat(name="openb", title="Alibaba OpenB, pods", columns=_COLUMNS, reader=_reader)
