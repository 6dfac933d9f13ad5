"""Traces with multi-panel jobs, made up: no published trace of NVLink domains gives instances above 8 GPUs."""

from __future__ import annotations

import random
from dataclasses import dataclass

from simulation.jobs import Trace, TraceJob


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSpec:
    """What the trace is like; all draws are independent, and the same seed gives the same trace.

    Attributes
    ----------
    jobs
        How many.
    gap_s
        Mean seconds between submissions, exponential.
    duration_s
        Mean seconds a job runs, exponential, at least 1.
    inside
        Demands of jobs inside panels, one weight a GPU count 1..7.
    panels
        Weights of 1, 2, ... whole panels an instance.
    multi_panel
        Share of jobs that ask for whole panels.
    most_instances
        Instances of a job inside panels are 1 to this, uniformly; jobs of whole panels have 1 instance.
    """

    jobs: int = 2_000
    gap_s: float = 60.0
    duration_s: float = 3_600.0
    inside: tuple[float, ...] = (8, 3, 1, 3, 0.5, 0.5, 0.5)
    panels: tuple[float, ...] = (4, 4, 1, 3, 0.5, 0.5, 0.5, 3, 1)
    multi_panel: float = 0.3
    most_instances: int = 4


def panel_trace(spec: PanelSpec, seed: int) -> Trace:
    """Return a trace of that specification."""
    rng = random.Random(seed)  # noqa: S311 - a seeded draw, not a secret
    clock = 0.0
    jobs: list[TraceJob] = []
    for number in range(spec.jobs):
        clock += rng.expovariate(1 / spec.gap_s)
        duration = max(1.0, rng.expovariate(1 / spec.duration_s))
        if rng.random() < spec.multi_panel:
            instances, gpus = 1, 8 * rng.choices(range(1, len(spec.panels) + 1), spec.panels)[0]
        else:
            instances = rng.randint(1, spec.most_instances)
            gpus = rng.choices(range(1, len(spec.inside) + 1), spec.inside)[0]
        jobs.append(TraceJob(f"d{number:05}", round(clock, 3), round(duration, 3), instances, gpus))
    return Trace(tuple(jobs), source=f"panels, seed {seed}")
