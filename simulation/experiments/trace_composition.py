"""What a trace is made of, by GPUs an instance (paper, Table 1)."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from simulation.experiments.demand_classes import CLASSES, class_of
from simulation.experiments.frame import Finding
from simulation.plots.model import Figure, Stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulation.experiments.frame import Lab
    from simulation.jobs import TraceJob

COLUMNS = (
    "gpus_per_instance",
    "class",
    "jobs",
    "instances",
    "share_of_jobs",
    "share_of_instances",
    "share_of_gpu_s",
    "median_duration_s",
    "largest_job_gpus",
)


def trace_composition(lab: Lab) -> Iterator[Finding]:
    """Yield the composition by demand."""
    jobs = lab.trace.jobs
    by_demand = {gpus: [job for job in jobs if job.gpus == gpus] for gpus in sorted({job.gpus for job in jobs})}
    instances, gpu_s = _sum(jobs, _instances), _sum(jobs, _gpu_s) or 1.0
    rows = tuple(
        (
            gpus,
            class_of(gpus),
            len(of),
            int(_sum(of, _instances)),
            len(of) / len(jobs),
            _sum(of, _instances) / instances,
            _sum(of, _gpu_s) / gpu_s,
            median(job.duration_s for job in of),
            max(job.total_gpus for job in of),
        )
        for gpus, of in by_demand.items()
    )

    def shares(column: str) -> list[float]:
        index = COLUMNS.index(column)
        return [float(row[index]) for row in rows]

    measures = ("share_of_jobs", "share_of_instances", "share_of_gpu_s")
    measured = [shares(column) for column in measures]
    yield Finding(
        name="trace-composition",
        title=f"{len(jobs):,} jobs by GPUs an instance.",
        paper="Counterpart of Table 1 of the paper",
        columns=COLUMNS,
        rows=rows,
        figure=Figure(
            title=f"What {len(jobs):,} jobs are made of",
            rows=[
                [
                    Stack(
                        title="by GPUs an instance",
                        names=("jobs", "instances", "GPU-hours"),
                        parts=[
                            (f"{gpus} GPU{'s' if gpus > 1 else ''}", [of[number] for of in measured])
                            for number, gpus in enumerate(by_demand)
                        ],
                    )
                ]
            ],
        ),
        notes=(f"Classes: {'; '.join(CLASSES)}. GPU-seconds are duration times all GPUs of the job.",),
    )


def _sum(jobs: Sequence[TraceJob], value: Callable[[TraceJob], float]) -> float:
    return sum(map(value, jobs))


def _instances(job: TraceJob) -> float:
    return job.instances


def _gpu_s(job: TraceJob) -> float:
    return job.total_gpus * job.duration_s
