"""CaFGD: FGD whose typical tasks follow the workload, the more slowly the longer the job to be placed runs.

Published: the gradient of FGD under p = ω(d)·L + (1 − ω(d))·S, d being the runtime of the job. L: the most popular
demands, up to 95 %, of the last 10,000 arrivals. S: the last 400 arrivals, 50 for jobs under 500 s, newer ones up to
three times as heavy. ω is 0 below 500 s, 1 from 50,000 s, logarithmic in between. Best fit before 400 arrivals.

Inferred: an arrival is a job, counted once when it is submitted, the one to be placed included; the weights of S rise
linearly. Waiting for the peak is a stand-in, and can be switched off: where the first instance would raise F on every
node (least ΔF above 0), the job waits if a running job that is known to end within min(0.1·d, 600 s) would leave a node
on which ΔF is lower, until then at the latest, and at most once a job. Runtimes are known exactly.
"""

from __future__ import annotations

from functools import partial
from heapq import heappop, heappush
from math import log
from typing import TYPE_CHECKING

from simulation.demand import GPUS_PER_NODE
from simulation.schedulers.arrivals import Window
from simulation.schedulers.gradient import (
    TIE,
    cheapest_node,
    fragmentation,
    gradient,
    least_cost,
    mixed,
    most_popular,
    normalised,
)
from simulation.schedulers.greedy import best_fit, place_gang
from simulation.schedulers.holding import OnCluster
from simulation.schedulers.protocol import LEFT, Answer, Cause, Farewell, Placed, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulation.cluster import Cluster
    from simulation.jobs import TraceJob
    from simulation.schedulers.gradient import Row

SHORT_S = 500.0
LONG_S = 50_000.0
LONG_WINDOW = 10_000
SHORT_WINDOW = 400
SHORTEST_WINDOW = 50
WAIT_SHARE = 0.1
WAIT_MOST_S = 600.0

_HELD = Refused(Cause.HELD)


def long_share(duration_s: float) -> float:
    """Return ω(d), the weight of the long window."""
    if duration_s < SHORT_S:
        return 0.0
    if duration_s >= LONG_S:
        return 1.0
    return log(duration_s / SHORT_S) / log(LONG_S / SHORT_S)


class CafgdScheduler(OnCluster):
    """The scheduler; `wait_for_peak` switches the stand-in."""

    name = "cafgd"

    def __init__(self, nodes: int, *, wait_for_peak: bool = True) -> None:
        super().__init__(nodes)
        self._wait_for_peak = wait_for_peak
        self._long, self._short, self._shortest = Window(LONG_WINDOW), Window(SHORT_WINDOW), Window(SHORTEST_WINDOW)
        self._of_windows: tuple[Row, Row, Row] | None = None  # F under each window alone; None after an arrival
        self._ends: list[tuple[float, str]] = []  # a heap of when running jobs end
        self._held: dict[str, float] = {}  # jobs that wait or have waited, and until when

    def submitted(self, job: TraceJob, now: float) -> None:
        """Count an arrival."""
        del now
        for window in (self._long, self._short, self._shortest):
            window.add(job.gpus)
        self._of_windows = None

    def fragments(self, duration_s: float) -> Row:
        """Return F(f) for f = 0..8 under the p of a job of that runtime, from the arrivals so far."""
        if self._of_windows is None:
            self._of_windows = (
                fragmentation(normalised(most_popular(self._long.counts))),
                fragmentation(normalised(self._short.favouring_newer())),
                fragmentation(normalised(self._shortest.favouring_newer())),
            )
        long, short, shortest = self._of_windows
        if duration_s < SHORT_S:
            return shortest
        return mixed(long, short, long_share(duration_s))

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, or hold it for a better place."""
        choose: Callable[[Cluster, int], int] = best_fit
        if len(self._short) == SHORT_WINDOW:
            row = gradient(self.fragments(job.duration_s), job.gpus)
            if self._wait_for_peak and self._holds(job, now, row):
                return _HELD
            choose = partial(cheapest_node, row=row)
        answer = place_gang(self.cluster, job, choose)
        if isinstance(answer, Placed):
            self._held.pop(job.name, None)
            heappush(self._ends, (now + job.duration_s, job.name))
        return answer

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a job."""
        del now
        self.cluster.end(job.name)
        while self._ends and self._ends[0][1] not in self.cluster.jobs:
            heappop(self._ends)
        return LEFT

    def _holds(self, job: TraceJob, now: float, row: Row) -> bool:
        """Whether the job, all of which would fit, waits for a better place."""
        least = least_cost(self.cluster, job.gpus, row)
        if least is None or least <= TIE or self.cluster.room_for(job.gpus) < job.instances:
            return False
        if job.name not in self._held:
            until = self._better_place(job, now + min(WAIT_SHARE * job.duration_s, WAIT_MOST_S), row, least)
            if until is None:
                return False
            self._held[job.name] = until
        return now < self._held[job.name]

    def _better_place(self, job: TraceJob, latest: float, row: Row, least: float) -> float | None:
        """Return when a running job is known to end that leaves a node on which ΔF is lower, if in time."""
        free: dict[int, int] = {}
        for end, name in sorted(_until(self._ends, latest)):
            running = self.cluster.jobs.get(name)
            if running is None:
                continue
            for index in self.cluster.where[name]:
                free[index] = free.get(index, self.cluster.free[index]) + running.gpus
            if any(
                job.gpus <= free[index] <= GPUS_PER_NODE and row[free[index]] < least - TIE
                for index in self.cluster.where[name]
            ):
                return end
        return None


def _until(heap: list[tuple[float, str]], latest: float, at: int = 0) -> Iterator[tuple[float, str]]:
    """Yield the entries of a heap that are not later; looks at these and their children only."""
    if at < len(heap) and heap[at][0] <= latest:
        yield heap[at]
        yield from _until(heap, latest, 2 * at + 1)
        yield from _until(heap, latest, 2 * at + 2)
