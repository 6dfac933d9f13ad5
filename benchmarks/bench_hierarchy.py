"""Events of a hierarchy at 80 % load, by number of domains: what an event touches must not grow with the cluster.

Counted is what the tiers do (instances moved, hosts opened and closed, moves at each tier), which is the same on every
machine; times are for comparing the rows with one another.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from compass_core import Job, Variant
from compass_core.hierarchy import (
    NVL72,
    NVL576_FLAT,
    Closing,
    HierarchicalState,
    Opening,
    Tiers,
    arrive,
    depart,
)

if TYPE_CHECKING:
    from benchmarks.typed_fixture import Benchmark

DOMAINS = (10, 100, 1_000)
LOAD = 0.8
EVENTS_A_ROUND = 200
DEMANDS = (1, 1, 1, 1, 2, 2, 3, 4, 6, 8, 8, 16, 16, 32, 64)


@dataclass
class Workload:
    """A seeded stream of jobs: one arrives and, above the load, a random one departs."""

    state: HierarchicalState
    random: random.Random = field(default_factory=lambda: random.Random(1))
    running: list[str] = field(default_factory=list[str])
    arrived: int = 0
    counted: Counter[str] = field(default_factory=Counter[str])

    def step(self) -> None:
        """Play one event and count what it does."""
        if self.state.used_gpus > LOAD * self.state.total_gpus:
            at = self.random.randrange(len(self.running))
            self.running[at], self.running[-1] = self.running[-1], self.running[at]
            outcome = depart(self.state, self.running.pop(), variant=Variant.EXACT)
        else:
            self.arrived += 1
            job = Job(f"j{self.arrived}", 1, self.random.choice(DEMANDS))
            outcome = arrive(self.state, job, variant=Variant.EXACT)
            if outcome.admitted:
                self.running.append(job.name)
        self.state = outcome.state
        self.counted["events"] += 1
        self.counted["instances moved"] += outcome.instances_moved
        for migration in outcome.migrations:
            self.counted[f"moves in tier {migration.tier}"] += 1
        self.counted["hosts opened or closed"] += sum(isinstance(step, Opening | Closing) for step in outcome.steps)


def loaded(domains: int, tiers: Tiers = NVL72) -> Workload:
    """Return a hierarchy played up to its load and 500 events beyond."""
    workload = Workload(HierarchicalState.empty(domains, tiers))
    while workload.state.used_gpus <= LOAD * workload.state.total_gpus:
        workload.step()
    for _ in range(500):
        workload.step()
    workload.counted.clear()
    return workload


@pytest.mark.parametrize("domains", DOMAINS)
@pytest.mark.benchmark(group=f"{EVENTS_A_ROUND} events on domains of 9 panels at 80 % load")
def bench_events(benchmark: Benchmark, domains: int) -> None:
    workload = loaded(domains)

    def events() -> None:
        for _ in range(EVENTS_A_ROUND):
            workload.step()

    benchmark.pedantic(events, rounds=3)
    for name, count in workload.counted.items():
        benchmark.extra_info[name] = count


if __name__ == "__main__":
    import time

    for kind, number in (*((NVL72, number) for number in DOMAINS), (NVL576_FLAT, 10), (NVL576_FLAT, 100)):
        measured = loaded(number, kind)
        began = time.perf_counter()
        for _ in range(1_000):
            measured.step()
        spent = time.perf_counter() - began
        counts = ", ".join(f"{name} {count / 1_000:.3f}" for name, count in sorted(measured.counted.items()))
        sys.stdout.write(
            f"{number:>6} domains of {kind.sizes[1]} panels: {spent:6.2f} ms an event; an event: {counts}\n"
        )
