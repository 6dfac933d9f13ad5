"""What a replay measures: integrals over time between events, extremes at events, figures of each job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simulation.demand import GPUS_PER_NODE
from simulation.schedulers.protocol import Cause


class Sample(NamedTuple):
    """The cluster from `time_s` until the time of the next sample.

    Attributes
    ----------
    time_s
        Time of the trace, in seconds.
    partial_nodes, inherent_partial_nodes
        Φ and Φ*; their difference is N·SIF.
    used_gpus
        GPUs held.
    empty_nodes
        Nodes that hold nothing.
    waiting
        Jobs in the queue.
    """

    time_s: float
    partial_nodes: int
    inherent_partial_nodes: int
    used_gpus: int
    empty_nodes: int
    waiting: int

    @property
    def avoidable_partial_nodes(self) -> int:
        """N·SIF = Φ − Φ*."""
        return self.partial_nodes - self.inherent_partial_nodes


class JobRecord(NamedTuple):
    """One job that has completed; times in seconds.

    It ran for ``finish_s - start_s``: its duration and, on top, `paused_s`.
    """

    name: str
    submit_s: float
    start_s: float
    finish_s: float
    paused_s: float
    total_gpus: int


class Quantiles(NamedTuple):
    """Mean and percentiles, in seconds. Percentiles between two values are interpolated linearly; 0 of no values."""

    mean: float
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: list[float]) -> Quantiles:
        """Return those of some values."""
        if not values:
            return cls(0.0, 0.0, 0.0, 0.0)
        ordered = sorted(values)
        return cls(sum(ordered) / len(ordered), *(_percentile(ordered, share) for share in (50, 95, 99)))


def _percentile(ordered: list[float], percent: int) -> float:
    whole, part = divmod((len(ordered) - 1) * percent, 100)
    if not part:
        return ordered[whole]
    return ordered[whole] + (ordered[whole + 1] - ordered[whole]) * part / 100


@dataclass(slots=True)
class Integrals:
    """Time integrals since the first submission; values are piecewise constant, so they are exact but for rounding.

    Seconds, node-seconds or GPU-seconds, as the names say.
    """

    avoidable_node_s: float = 0.0
    partial_node_s: float = 0.0
    inherent_node_s: float = 0.0
    empty_node_s: float = 0.0
    used_gpu_s: float = 0.0
    stuck_gpu_s: float = 0.0
    wcc_s: float = 0.0
    blocked_s: dict[Cause, float] = field(default_factory=lambda: dict.fromkeys(Cause, 0.0))


class Level(NamedTuple):
    """What is integrated: the values that hold until the next event."""

    partial_nodes: int
    inherent_partial_nodes: int
    empty_nodes: int
    used_gpus: int
    stuck_gpus: int
    wcc: bool
    blocked: Cause | None


class Meter:
    """Adds up integrals as time goes on.

    Attributes
    ----------
    clock
        The time up to which everything has been added up.
    totals
        The integrals up to then.
    """

    __slots__ = ("clock", "totals")

    def __init__(self, start_s: float) -> None:
        self.clock = start_s
        self.totals = Integrals()

    def advance(self, now: float, level: Level) -> None:
        """Go on to `now`; `level` has held since the clock's time."""
        seconds = now - self.clock
        if seconds <= 0:
            return
        self.clock = now
        totals = self.totals
        partial, inherent, empty, used, stuck, wcc, blocked = level
        totals.avoidable_node_s += (partial - inherent) * seconds
        totals.partial_node_s += partial * seconds
        totals.inherent_node_s += inherent * seconds
        totals.empty_node_s += empty * seconds
        totals.used_gpu_s += (used - stuck) * seconds
        totals.stuck_gpu_s += stuck * seconds
        if wcc:
            totals.wcc_s += seconds
        if blocked is not None:
            totals.blocked_s[blocked] += seconds


@dataclass(slots=True)
class Counters:
    """Events and jobs, counted.

    Attributes
    ----------
    events
        Arrivals and departures carried out.
    migrations
        Instances that changed their node, but for those of jobs that depart at the same instant.
    pauses, paused_s, paused_gpu_s
        Times a running job was paused, seconds of these, and the same weighted by the GPUs the jobs held meanwhile.
    max_avoidable
        Most avoidable partial nodes after any event.
    blocked_jobs
        By cause, the jobs that were kept at the head of the queue by it at least once.
    feasible_blocked_jobs
        The jobs that were kept there at least once although as many GPUs were free as they demand.
    undefined_departures
        Jobs that ended, but whose departure was undefined at that moment.
    rounds
        Rounds of a scheduler that works by the clock.
    """

    events: int = 0
    migrations: int = 0
    pauses: int = 0
    paused_s: float = 0.0
    paused_gpu_s: float = 0.0
    max_avoidable: int = 0
    blocked_jobs: dict[Cause, int] = field(default_factory=lambda: dict.fromkeys(Cause, 0))
    feasible_blocked_jobs: int = 0
    undefined_departures: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What one replay of a trace under one scheduler gave.

    "The time" is that from the first submission to the last completion; where jobs never start, to the last submission
    if that comes later. Jobs that no idle cluster of this size holds are in `refused_jobs` only.

    Attributes
    ----------
    scheduler, nodes, jobs
        Name of the scheduler, N, and jobs that were queued.
    completed_jobs, refused_jobs, unstarted_jobs
        Jobs that ran to their end; jobs that not even the idle cluster has room for, refused up front; jobs that never
        started because the scheduler had no place for them although nothing else was to come (possible under PRINTED
        only).
    events
        Arrivals and departures carried out.
    span_s, submission_span_s
        Seconds of the time, and from the first submission to the last.
    afr
        Time average of SIF = (Φ − Φ*)/N.
    partial_share, inherent_share
        Time averages of F = Φ/N and F* = Φ*/N.
    agu, agu_submission
        Time average of the share of GPUs that jobs hold, over the time, and until the last submission.
    jct_s, delay_s
        Completion − submission (its mean is AJCT), and start − submission, of jobs that completed.
    max_avoidable_partial_nodes
        Most avoidable partial nodes, N·SIF, after any event.
    mean_empty_nodes
        Time average of nodes that hold nothing.
    wcc_coverage
        ρ: share of the time in which the workload composition condition holds.
    fragmentation_blocked_s, capacity_blocked_s
        Time in which the head of the queue waits although as many GPUs are free as it demands, or because fewer are.
    structure_blocked_s, held_s, undefined_blocked_s
        Parts of `fragmentation_blocked_s`: the free GPUs lie well, but the algorithm asks for slots that do not fit;
        the scheduler waits for a better place; the algorithm is undefined.
    fragmentation_blocked_jobs, structure_blocked_jobs, held_jobs, undefined_arrivals, capacity_blocked_jobs
        Jobs that were kept waiting at the head at least once, by cause. Here `fragmentation_blocked_jobs` counts those
        for which the free GPUs lay badly, and no others.
    feasible_blocked_jobs
        Jobs that were kept waiting at the head at least once by any cause but capacity: as many GPUs were free as they
        demand. A job may have met several causes; here it counts once.
    undefined_departures, stuck_gpu_s
        Jobs whose departure was undefined when they ended, and the GPU-seconds held after the end.
    migrations, pauses, paused_s, paused_gpu_s
        Instances that changed their node, but for those of jobs that depart at the same instant; pauses of jobs, their
        seconds, and GPU-seconds held meanwhile.
    rounds
        Rounds of a scheduler that works by the clock.
    wall_s
        Seconds the replay took. Not part of the value.
    """

    scheduler: str
    nodes: int
    jobs: int
    completed_jobs: int
    refused_jobs: int
    unstarted_jobs: int
    events: int
    span_s: float
    submission_span_s: float
    afr: float
    partial_share: float
    inherent_share: float
    agu: float
    agu_submission: float
    jct_s: Quantiles
    delay_s: Quantiles
    max_avoidable_partial_nodes: int
    mean_empty_nodes: float
    wcc_coverage: float
    fragmentation_blocked_s: float
    capacity_blocked_s: float
    structure_blocked_s: float
    held_s: float
    undefined_blocked_s: float
    fragmentation_blocked_jobs: int
    capacity_blocked_jobs: int
    structure_blocked_jobs: int
    held_jobs: int
    undefined_arrivals: int
    feasible_blocked_jobs: int
    undefined_departures: int
    stuck_gpu_s: float
    migrations: int
    pauses: int
    paused_s: float
    paused_gpu_s: float
    rounds: int
    wall_s: float = field(default=0.0, compare=False)

    def to_json(self) -> dict[str, object]:
        """Return the result as data for JSON; quantiles of `jct_s` and `delay_s` get keys of their own."""
        data: dict[str, object] = {"schema": "compass-abs/replay/1"}
        for name in self.__dataclass_fields__:
            value: object = getattr(self, name)
            if isinstance(value, Quantiles):
                stem = name.removesuffix("_s")
                data["ajct_s" if stem == "jct" else f"{stem}_mean_s"] = value.mean
                data |= {f"{stem}_{p}_s": getattr(value, p) for p in ("p50", "p95", "p99")}
            else:
                data[name] = value
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """When a replay began, saw its last submission and ended, with the GPU-seconds held until that submission."""

    first_submission_s: float
    last_submission_s: float
    end_s: float
    used_gpu_s_at_last_submission: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Which replay a result is of."""

    scheduler: str
    nodes: int
    jobs: int
    refused_jobs: int
    unstarted_jobs: int


def summarise(
    head: Head, span: Span, totals: Integrals, counters: Counters, records: list[JobRecord], *, wall_s: float
) -> ReplayResult:
    """Return the result of a replay; every average over no time is 0."""
    seconds = span.end_s - span.first_submission_s
    submitting = span.last_submission_s - span.first_submission_s
    nodes, gpus = head.nodes, head.nodes * GPUS_PER_NODE
    blocked = totals.blocked_s
    special = blocked[Cause.STRUCTURE] + blocked[Cause.HELD] + blocked[Cause.UNDEFINED]
    return ReplayResult(
        scheduler=head.scheduler,
        nodes=nodes,
        jobs=head.jobs,
        completed_jobs=len(records),
        refused_jobs=head.refused_jobs,
        unstarted_jobs=head.unstarted_jobs,
        events=counters.events,
        span_s=seconds,
        submission_span_s=submitting,
        afr=_share(totals.avoidable_node_s, nodes * seconds),
        partial_share=_share(totals.partial_node_s, nodes * seconds),
        inherent_share=_share(totals.inherent_node_s, nodes * seconds),
        agu=_share(totals.used_gpu_s, gpus * seconds),
        agu_submission=_share(span.used_gpu_s_at_last_submission, gpus * submitting),
        jct_s=Quantiles.of([job.finish_s - job.submit_s for job in records]),
        delay_s=Quantiles.of([job.start_s - job.submit_s for job in records]),
        max_avoidable_partial_nodes=counters.max_avoidable,
        mean_empty_nodes=_share(totals.empty_node_s, seconds),
        wcc_coverage=_share(totals.wcc_s, seconds),
        fragmentation_blocked_s=blocked[Cause.FRAGMENTATION] + special,
        capacity_blocked_s=blocked[Cause.CAPACITY],
        structure_blocked_s=blocked[Cause.STRUCTURE],
        held_s=blocked[Cause.HELD],
        undefined_blocked_s=blocked[Cause.UNDEFINED],
        fragmentation_blocked_jobs=counters.blocked_jobs[Cause.FRAGMENTATION],
        capacity_blocked_jobs=counters.blocked_jobs[Cause.CAPACITY],
        structure_blocked_jobs=counters.blocked_jobs[Cause.STRUCTURE],
        held_jobs=counters.blocked_jobs[Cause.HELD],
        undefined_arrivals=counters.blocked_jobs[Cause.UNDEFINED],
        feasible_blocked_jobs=counters.feasible_blocked_jobs,
        undefined_departures=counters.undefined_departures,
        stuck_gpu_s=totals.stuck_gpu_s,
        migrations=counters.migrations,
        pauses=counters.pauses,
        paused_s=counters.paused_s,
        paused_gpu_s=counters.paused_gpu_s,
        rounds=counters.rounds,
        wall_s=wall_s,
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
