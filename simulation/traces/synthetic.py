"""Traces made up from published marginals: arrivals, durations, demands, numbers of instances and WCC margin.

The marginals are drawn independently of one another, which real workloads are not (many instances and 8 GPUs go
together, and so do long and large). Where results depend on that, replay a real trace.

The law of each figure is stated in `SyntheticSpec`. The same specification and seed give the same trace, with the same
version of NumPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from compass_core.errors import CompassError
from simulation.jobs import Trace, TraceJob
from simulation.traces.marginals import (
    DAILY_SWING,
    FRIENDLY_DEMANDS,
    JOBS_A_DAY,
    LOG_DEVIATION,
    LOG_MEAN_S,
    MAX_DURATION_S,
    PEAK_HOUR,
    WORKER_COUNTS,
)
from simulation.traces.rows import MAX_INSTANCES, MAX_NUMBER
from simulation.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

_DAY_S = 86_400.0
# e to this power is more seconds than any trace has; a little further exp overflows.
_MAX_LOG = 30
# Theory §1: GPUs of fillers that an instance of each unfriendly demand asks for.
_VACANCY = {3: 1, 5: 3, 6: 2, 7: 1}


class SyntheticError(CompassError):
    """A specification that no trace can have; the message says which figure and what was expected."""


class Arrivals(Enum):
    """How submissions are spread over time."""

    POISSON = "poisson"
    """A Poisson process of constant rate, given the number of jobs: independent and uniform over the days."""

    DIURNAL = "diurnal"
    """The same with the rate 1 + swing · cos(2π (hour − peak) / 24)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticSpec:
    """What the trace is like.

    Attributes
    ----------
    jobs
        How many.
    days
        Over how many days they are submitted; at the rate of Venus if left out.
    arrivals, daily_swing, peak_hour
        The law of submissions; swing from 0 to 1.
    demands
        Weights of the numbers of GPUs an instance.
    wcc_margin
        If given, the weight of demand 1 is replaced so that the expected number of 1-GPU instances is this times what
        the condition n3 + 3·n5 + 2·n6 + n7 ≤ n1 asks for: with 1 it holds about half of the time, with 2 nearly
        always, with 0.5 hardly ever. `wcc_share` measures it.
    workers
        Weights of the numbers of instances, as (least, most, weight).
    max_total_gpus
        Jobs of more GPUs are drawn anew; as many as published if left out.
    log_mean_s, log_deviation, max_duration_s
        Durations are log-normal, clamped from 1 s to the maximum.
    """

    jobs: int = 10_000
    days: float | None = None
    arrivals: Arrivals = Arrivals.DIURNAL
    daily_swing: float = DAILY_SWING
    peak_hour: float = PEAK_HOUR
    demands: Mapping[int, float] = field(default_factory=lambda: dict(FRIENDLY_DEMANDS))
    wcc_margin: float | None = None
    workers: Sequence[tuple[int, int, float]] = WORKER_COUNTS
    max_total_gpus: int | None = None
    log_mean_s: float = LOG_MEAN_S
    log_deviation: float = LOG_DEVIATION
    max_duration_s: float = MAX_DURATION_S


def synthesize(spec: SyntheticSpec, seed: int) -> Trace:
    """Return a trace of that specification.

    Raises
    ------
    SyntheticError
        A figure out of its range, or a limit on size that no job keeps.
    """
    _check(spec)
    random = np.random.default_rng(seed)
    submit_s = np.sort(_arrivals(spec, random))
    durations = np.exp(random.normal(spec.log_mean_s, spec.log_deviation, spec.jobs))
    durations = np.clip(durations, 1.0, spec.max_duration_s)
    gpus, instances = _shapes(spec, random)
    width = len(str(spec.jobs - 1)) if spec.jobs else 1
    jobs = tuple(
        # Whole milliseconds: what is written out is short and reads back the same.
        TraceJob(f"s{i:0{width}}", round(submit, 3), round(duration, 3), count, demand)
        for i, (submit, duration, count, demand) in enumerate(
            zip(submit_s.tolist(), durations.tolist(), instances.tolist(), gpus.tolist(), strict=True)
        )
    )
    return Trace(jobs, source=f"synthetic, seed {seed}")


def demand_weights(spec: SyntheticSpec) -> dict[int, float]:
    """Return the shares of the demands, adding up to 1, with the WCC margin applied."""
    weights = {gpus: weight for gpus, weight in spec.demands.items() if weight > 0}
    if spec.wcc_margin is not None:
        need = sum(weights.get(gpus, 0.0) * vacancy for gpus, vacancy in _VACANCY.items())
        weights[1] = spec.wcc_margin * need
    total = sum(weights.values())
    return {gpus: weights[gpus] / total for gpus in sorted(weights)}


def wcc_share(jobs: Iterable[TraceJob]) -> float:
    """Return the share of time in which the workload composition condition holds if no job ever waits; 1 of no time.

    From the first submission to the last completion.
    """
    changes = [(job.submit_s, job.gpus, job.instances) for job in jobs if job.duration_s > 0]
    changes += [(job.submit_s + job.duration_s, job.gpus, -job.instances) for job in jobs if job.duration_s > 0]
    changes.sort(key=lambda change: change[0])
    workload = Workload()
    held_s, before = 0.0, changes[0][0] if changes else 0.0
    first = before
    for now, gpus, instances in changes:
        held_s += (now - before) * workload.wcc
        before = now
        workload.change(gpus, instances)
    return held_s / (before - first) if before > first else 1.0


def _arrivals(spec: SyntheticSpec, random: np.random.Generator) -> NDArray[np.float64]:
    days = spec.jobs / JOBS_A_DAY if spec.days is None else spec.days
    found = np.empty(0)
    while len(found) < spec.jobs:
        # Rejection: uniform times, each kept with a chance proportional to the rate then.
        times = random.uniform(0.0, days * _DAY_S, spec.jobs)
        swing = spec.daily_swing if spec.arrivals is Arrivals.DIURNAL else 0.0
        rate = 1.0 + swing * np.cos(2 * math.pi * (times / _DAY_S - spec.peak_hour / 24))
        kept = times[random.uniform(0.0, 1.0 + swing, spec.jobs) < rate]
        found = np.concatenate((found, kept))
    return found[: spec.jobs]


def _shapes(spec: SyntheticSpec, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    gpus, instances = np.empty(spec.jobs, np.int64), np.empty(spec.jobs, np.int64)
    wanted = np.arange(spec.jobs)
    most = spec.max_total_gpus
    while len(wanted):
        gpus[wanted] = _demands(spec, random, len(wanted))
        instances[wanted] = _instances(spec, random, len(wanted))
        wanted = np.empty(0, np.intp) if most is None else np.flatnonzero(gpus * instances > most)
    return gpus, instances


def _demands(spec: SyntheticSpec, random: np.random.Generator, number: int) -> NDArray[np.int64]:
    shares = demand_weights(spec)
    return random.choice(np.array(list(shares), np.int64), number, p=np.array(list(shares.values())))


def _instances(spec: SyntheticSpec, random: np.random.Generator, number: int) -> NDArray[np.int64]:
    least, most, weights = (np.array(column) for column in zip(*spec.workers, strict=True))
    row = random.choice(len(weights), number, p=weights / weights.sum())
    return random.integers(least[row], most[row], endpoint=True)


def _check(spec: SyntheticSpec) -> None:
    _expect(spec.jobs >= 0, f"at least 0 jobs, got {spec.jobs}")
    most_days = MAX_NUMBER / _DAY_S
    _expect(spec.days is None or 0 < spec.days <= most_days, f"days above 0, up to {most_days:g}, got {spec.days}")
    _expect(0 <= spec.daily_swing <= 1, f"a daily swing from 0 to 1, got {spec.daily_swing}")
    _expect(math.isfinite(spec.peak_hour), f"a peak hour, got {spec.peak_hour}")
    _expect(abs(spec.log_mean_s) <= _MAX_LOG, f"a mean of log durations within ±{_MAX_LOG}, got {spec.log_mean_s}")
    _expect(0 <= spec.log_deviation <= _MAX_LOG, f"a deviation from 0 to {_MAX_LOG}, got {spec.log_deviation}")
    longest = spec.max_duration_s
    _expect(1 <= longest <= MAX_NUMBER, f"a longest duration from 1 s to {MAX_NUMBER:g} s, got {longest}")
    _expect(
        all(gpus >= 1 and 0 <= weight < math.inf for gpus, weight in spec.demands.items()),
        f"demands of 1 GPU or more with weights of 0 or more, got {dict(spec.demands)}",
    )
    _expect(
        all(1 <= a <= b <= MAX_INSTANCES and 0 <= weight < math.inf for a, b, weight in spec.workers)
        and any(weight for *_, weight in spec.workers),
        "ranges of 1 instance or more with weights of 0 or more",
    )
    margin = spec.wcc_margin
    _expect(margin is None or 0 <= margin < math.inf, f"a WCC margin of 0 or more, got {margin}")
    if margin is not None:
        unfriendly = any(spec.demands.get(gpus, 0) > 0 for gpus in _VACANCY)
        _expect(unfriendly, "a demand of 3, 5, 6 or 7 GPUs with a WCC margin: without one the condition always holds")
    _expect(any(weight > 0 for weight in spec.demands.values()), "a demand with a weight above 0")
    smallest = min((gpus for gpus, share in demand_weights(spec).items() if share > 0), default=1)
    fewest = min(a for a, _, weight in spec.workers if weight > 0)
    most = spec.max_total_gpus
    _expect(most is None or most >= smallest * fewest, f"a limit of {smallest * fewest} GPUs or more, got {most}")


def _expect(holds: bool, expected: str) -> None:
    if not holds:
        raise SyntheticError(f"expected {expected}")
