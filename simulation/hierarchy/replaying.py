"""Replay of a trace on domains of panels, first come, first served: the fragmentation of each tier over time."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from compass_core.hierarchy import tier_condition
from oracle import inherent_partial_nodes
from simulation.hierarchy.schedulers import GPUS_PER_PANEL
from simulation.schedulers.protocol import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simulation.hierarchy.schedulers import DomainScheduler
    from simulation.jobs import TraceJob


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainReplay:
    """The figures of one replay; means are over the time from the first submission to the last completion.

    Attributes
    ----------
    scheduler
        Its name.
    jobs, refused
        Jobs that ran, and those larger than any domain or the cluster.
    ajct_s
        Mean seconds from submission to completion.
    agu
        Mean share of GPUs in use.
    panel_afr, domain_afr
        Mean of avoidable partial panels over all panels, and of avoidable partial domains over domains: Φ less the
        fewest for the same instances, for domains with as many panels open.
    panel_wcc, domain_wcc
        Share of the time in which the condition of the tier held.
    capacity_blocked_s, fragmentation_blocked_s
        Seconds in which the head of the queue waited: for GPUs, or although enough were free.
    moved
        Running instances moved, dragged ones included.
    events
        Starts and ends.
    """

    scheduler: str
    jobs: int
    refused: int
    ajct_s: float
    agu: float
    panel_afr: float
    domain_afr: float
    panel_wcc: float
    domain_wcc: float
    capacity_blocked_s: float
    fragmentation_blocked_s: float
    moved: int
    events: int


@cache
def _inherent(counts: tuple[int, ...], nodes: int) -> tuple[int, bool]:
    condition = tier_condition(counts)
    if condition.holds:
        return condition.inherent, True
    return inherent_partial_nodes(counts, capacity=len(counts), nodes=nodes), False


def replay_domains(jobs: Iterable[TraceJob], scheduler: DomainScheduler) -> DomainReplay:
    """Replay jobs in order of submission; the head of the queue holds up those behind it."""
    replaying = _Replaying(scheduler)
    refused = 0
    for job in jobs:
        if not _fits(job, scheduler):
            refused += 1
            continue
        replaying.advance(job.submit_s)
        replaying.queue.append(job)
        replaying.drain()
    replaying.advance(float("inf"))
    return replaying.figures(refused)


def _fits(job: TraceJob, scheduler: DomainScheduler) -> bool:
    """Whether the job runs on an idle cluster."""
    panels, rest = divmod(job.gpus, GPUS_PER_PANEL)
    if not rest:
        domain = scheduler.panels_per_domain // panels if panels <= scheduler.panels_per_domain else 0
        return job.instances <= domain * scheduler.domains
    inside = scheduler.panels_per_domain * scheduler.domains * (GPUS_PER_PANEL // job.gpus)
    return not panels and job.instances <= inside


class _Replaying:
    def __init__(self, scheduler: DomainScheduler) -> None:
        self.scheduler = scheduler
        self.queue: deque[TraceJob] = deque()
        self.running: list[tuple[float, int, TraceJob]] = []
        self.clock: float | None = None
        self.began = 0.0
        self.blocked: Cause | None = None
        self.used = 0
        self.inside: Counter[int] = Counter()
        self.whole: Counter[int] = Counter()
        self.sums: Counter[str] = Counter()
        self.started = 0
        self.ended = 0
        self.waited_s = 0.0

    def advance(self, until: float) -> None:
        """Carry out all completions up to a time."""
        while self.running and self.running[0][0] <= until:
            finish, _, job = heappop(self.running)
            self.pass_time(finish)
            self.scheduler.end(job)
            self.count(job, -1)
            self.ended += 1
            self.waited_s += finish - job.submit_s
            self.drain()
        if until != float("inf"):
            self.pass_time(until)

    def drain(self) -> None:
        """Start the head of the queue until it has to wait."""
        self.blocked = None
        while self.queue:
            job = self.queue[0]
            self.blocked = self.scheduler.start(job)
            if self.blocked is not None:
                return
            self.queue.popleft()
            self.started += 1
            self.count(job, +1)
            heappush(self.running, (self.clock_now + job.duration_s, self.started, job))

    @property
    def clock_now(self) -> float:
        return self.clock or 0.0

    def count(self, job: TraceJob, sign: int) -> None:
        self.used += sign * job.total_gpus
        panels, rest = divmod(job.gpus, GPUS_PER_PANEL)
        if rest:
            self.inside[job.gpus] += sign * job.instances
        else:
            self.whole[panels] += sign * job.instances

    def pass_time(self, now: float) -> None:
        """Add up what held since the last event."""
        if self.clock is None:
            self.clock = self.began = now
        span, self.clock = now - self.clock, now
        if not span:
            return
        size, domains = self.scheduler.panels_per_domain, self.scheduler.domains
        opened = self.scheduler.open_panels
        whole = [self.whole[panels] for panels in range(1, size + 1)]
        left = size * domains - sum(panels * n for panels, n in enumerate(whole, start=1))
        whole[0] += opened
        panel_best, panel_wcc = _inherent(tuple(self.inside[g] for g in range(1, GPUS_PER_PANEL + 1)), left)
        domain_best, domain_wcc = _inherent(tuple(whole), domains)
        panels, partial_domains = self.scheduler.partial
        self.sums.update(
            {
                "used": span * self.used,
                "panels": span * (panels - panel_best),
                "domains": span * (partial_domains - domain_best),
                "panel_wcc": span * panel_wcc,
                "domain_wcc": span * domain_wcc,
                "capacity": span * (self.blocked is Cause.CAPACITY),
                "fragmentation": span * (self.blocked not in {None, Cause.CAPACITY}),
            }
        )

    def figures(self, refused: int) -> DomainReplay:
        size, domains = self.scheduler.panels_per_domain, self.scheduler.domains
        span = self.clock_now - self.began or 1.0
        mean = {name: total / span for name, total in self.sums.items()}
        return DomainReplay(
            scheduler=self.scheduler.name,
            jobs=self.ended,
            refused=refused,
            ajct_s=self.waited_s / max(1, self.ended),
            agu=mean.get("used", 0.0) / (GPUS_PER_PANEL * size * domains),
            panel_afr=mean.get("panels", 0.0) / (size * domains),
            domain_afr=mean.get("domains", 0.0) / domains,
            panel_wcc=mean.get("panel_wcc", 0.0),
            domain_wcc=mean.get("domain_wcc", 0.0),
            capacity_blocked_s=self.sums["capacity"],
            fragmentation_blocked_s=self.sums["fragmentation"],
            moved=self.scheduler.moved,
            events=self.started + self.ended,
        )
