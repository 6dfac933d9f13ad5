"""A week of a production cluster (Helios, Venus): every event under a referee, first come first served.

Days 168 to 174 of the repackaged trace, 6,506 jobs. Instances and GPUs an instance follow from the total by the rule of
the data's README, which is an assumption: up to 8, one instance; a multiple of 8, instances of 8; otherwise instances
of the largest divisor up to 8. Nothing pauses. The figures are recorded as properties of the tests.
"""

from __future__ import annotations

import csv
import gzip
from collections import deque
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import pytest

from compass_core import Job, Variant
from oracle import inherent_partial_nodes
from tests.core.referee import PrintedReferee, Referee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

DAY_S = 86_400
WEEK = range(168, 175)

pytestmark = pytest.mark.real_data


@dataclass(frozen=True)
class Request:
    """A job of the trace: when it comes, how long it runs, both in seconds."""

    job: Job
    submit_s: float
    service_s: float


def instances_and_gpus(total: int) -> tuple[int, int]:
    if total <= 8:
        return 1, total
    gpus = max(g for g in range(1, 9) if total % g == 0)
    return total // gpus, gpus


@cache
def week_of_venus(data: Path) -> tuple[Request, ...]:
    """Return the jobs of the week, in order of arrival."""
    found: list[Request] = []
    with gzip.open(data / "traces" / "helios_venus.csv.gz", mode="rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            arrival = float(row["arrival_s"])
            if int(arrival // DAY_S) in WEEK:
                job = Job(f"{len(found):05}", *instances_and_gpus(int(row["gpu_count"])))
                found.append(Request(job, arrival, float(row["service_sec"])))
    return tuple(sorted(found, key=lambda request: request.submit_s))


@dataclass
class Figures:
    """Measures of one replay."""

    events: int = 0
    above_the_bound: int = 0
    """Events under the condition with more avoidable partial nodes than the variant promises."""
    most_avoidable: int = 0
    """Partial nodes above Φ*, at most, with the condition or without."""
    mean_sif: float = 0.0
    """Time average of SIF, from the first submission to the last completion."""
    mean_jct_s: float = 0.0
    wcc_share: float = 0.0
    """Share of the time in which the condition holds."""
    fragmentation_blocked_s: float = 0.0
    """Time in which the first job of the queue waits although as many GPUs are free as it demands."""
    migrations: int = 0
    undefined: int = 0

    def record(self, prefix: str, record_property: Callable[[str, object], None]) -> None:
        for name, value in vars(self).items():
            record_property(f"{prefix}_{name}", value)


@cache
def inherent(counts: tuple[int, ...], nodes: int) -> int:
    return inherent_partial_nodes(counts, nodes=nodes)


class Replay:
    """First come, first served; the head of the queue blocks all behind it."""

    def __init__(self, referee: Referee, nodes: int) -> None:
        self.referee = referee
        self.nodes = nodes
        self.figures = Figures()
        self.queue: deque[Request] = deque()
        self.running: list[tuple[float, str]] = []  # a heap of completions
        self.submitted: dict[str, float] = {}
        self.stuck: list[str] = []  # completed, but the print has no rule for their departure (P5)
        self.completed = 0

    def run(self, requests: Sequence[Request]) -> Figures:
        clock = requests[0].submit_s
        start = clock
        for moment, arriving in self.moments(requests):
            self.measure(moment - clock)
            clock = moment
            self.complete(moment)
            self.queue.extend(arriving)
            self.admit(moment)
        assert not self.queue
        assert not self.referee.model.jobs
        for name in ("mean_sif", "wcc_share"):
            setattr(self.figures, name, getattr(self.figures, name) / (clock - start))
        self.figures.mean_jct_s /= len(requests)
        self.figures.migrations, self.figures.undefined = self.referee.migrations, self.referee.undefined
        return self.figures

    def moments(self, requests: Sequence[Request]) -> Iterator[tuple[float, list[Request]]]:
        """Yield each time at which something happens, with the jobs that arrive at that time."""
        coming = deque(requests)
        while coming or self.running:
            moment = min(
                coming[0].submit_s if coming else float("inf"), self.running[0][0] if self.running else float("inf")
            )
            arriving: list[Request] = []
            while coming and coming[0].submit_s == moment:
                arriving.append(coming.popleft())
            yield moment, arriving

    def complete(self, moment: float) -> None:
        while self.running and self.running[0][0] == moment:
            _, name = heappop(self.running)
            self.figures.mean_jct_s += moment - self.submitted[name]
            self.depart([name])
        self.depart(self.stuck)

    def depart(self, names: list[str]) -> None:
        for name in list(names):
            if self.referee.depart(name):
                if name in self.stuck:
                    self.stuck.remove(name)
                self.check()
            elif name not in self.stuck:
                self.stuck.append(name)

    def admit(self, moment: float) -> None:
        while self.queue and self.referee.arrive(self.queue[0].job):
            request = self.queue.popleft()
            self.submitted[request.job.name] = request.submit_s
            heappush(self.running, (moment + request.service_s, request.job.name))
            self.check()
            self.depart(self.stuck)

    def check(self) -> None:
        """Check the state after an event, and the bound of the variant."""
        self.referee.check()
        self.figures.events += 1
        avoidable = self.avoidable()
        assert avoidable >= 0
        self.figures.most_avoidable = max(self.figures.most_avoidable, avoidable)
        promised = 0 if self.referee.variant is Variant.EXACT else 2
        self.figures.above_the_bound += self.referee.model.wcc and avoidable > promised

    def avoidable(self) -> int:
        return self.referee.model.partial_nodes - inherent(self.referee.model.counts, self.nodes)

    def measure(self, seconds: float) -> None:
        self.figures.mean_sif += self.avoidable() / self.nodes * seconds
        self.figures.wcc_share += self.referee.model.wcc * seconds
        if self.queue and self.queue[0].job.total_gpus <= self.referee.model.free:
            self.figures.fragmentation_blocked_s += seconds


def replayed(requests: Sequence[Request], variant: Variant, nodes: int) -> Figures:
    referee = PrintedReferee(nodes) if variant is Variant.PRINTED else Referee(variant, nodes)
    return Replay(referee, nodes).run(requests)


def test_the_week_is_the_one_others_measured(real_data: Path) -> None:
    week = week_of_venus(real_data)
    assert len(week) == 6_506
    changes = sorted(
        change
        for request in week
        for change in (
            (request.submit_s, request.job.total_gpus),
            (request.submit_s + request.service_s, -request.job.total_gpus),
        )
    )
    demand = peak = 0
    for _, gpus in changes:
        demand += gpus
        peak = max(peak, demand)
    assert peak == 929


@pytest.mark.parametrize("nodes", [20, 45])
@pytest.mark.parametrize("variant", Variant)
def test_a_slice(real_data: Path, variant: Variant, nodes: int) -> None:
    """The first jobs of the week on few nodes, so that they wait."""
    jobs = [request for request in week_of_venus(real_data)[:250] if request.job.total_gpus <= 8 * nodes]
    figures = replayed(jobs, variant, nodes)
    assert figures.above_the_bound == 0 or variant is Variant.PRINTED


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [105, 59])
@pytest.mark.parametrize("variant", Variant)
def test_the_week(
    real_data: Path, variant: Variant, nodes: int, record_property: Callable[[str, object], None]
) -> None:
    figures = replayed(week_of_venus(real_data), variant, nodes)
    figures.record(f"{variant.value}_{nodes}", record_property)
    if variant is not Variant.PRINTED:
        assert figures.events == 2 * 6_506
        assert figures.above_the_bound == 0
        assert figures.undefined == 0
