"""Events a second on a steady 80 % load, by variant and number of nodes, and the memory of kept states.

An event is one arrival or one departure of a single-instance job. Rows of one variant are to be compared with one
another: time per event must not grow with the cluster.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from compass_core import ClusterState, CompassError, Job, Variant, arrive, depart

if TYPE_CHECKING:
    from benchmarks.typed_fixture import Benchmark

SIZES = (100, 1_000, 10_000, 100_000)
LOAD = 0.8
EVENTS_A_ROUND = 500
# Satisfies WCC in the mean, and no more: four in ten demands are 1 GPU, and slots ask for 0.4 fillers a job.
DEMANDS = (1, 1, 1, 1, 2, 3, 4, 6, 7, 8)


@dataclass
class Workload:
    """A seeded stream of single-instance jobs: one arrives and, above the load, a random one departs."""

    state: ClusterState
    variant: Variant
    random: random.Random = field(default_factory=lambda: random.Random(1))
    running: list[str] = field(default_factory=list[str])
    arrived: int = 0
    migrations: int = 0
    undefined: int = 0

    def step(self) -> None:
        """Play one event."""
        busy = self.state.used_gpus > LOAD * self.state.total_gpus
        try:
            if busy:
                at = self.random.randrange(len(self.running))
                self.running[at], self.running[-1] = self.running[-1], self.running[at]
                outcome = depart(self.state, self.running.pop(), variant=self.variant)
            else:
                self.arrived += 1
                job = Job(f"j{self.arrived}", 1, self.random.choice(DEMANDS))
                outcome = arrive(self.state, job, variant=self.variant)
                if outcome.admitted:
                    self.running.append(job.name)
        except CompassError:
            self.undefined += 1
            return
        self.state = outcome.state
        self.migrations += len(outcome.migrations)


def loaded(nodes: int, variant: Variant) -> Workload:
    """Return a cluster under that load, built directly: full nodes first, then played into its steady state."""
    rng = random.Random(0)
    jobs: list[tuple[Job, list[int]]] = []
    for index in range(int(nodes * LOAD)):
        kind = rng.choice(((8,), (4, 2, 2), (7, 1), (6, 1, 1), (4, 3, 1), (1,) * 8))
        jobs += [(Job(f"s{index}-{i}", 1, gpus), [index]) for i, gpus in enumerate(kind)]
    workload = Workload(ClusterState.from_placement(jobs, nodes=nodes), variant)
    workload.running = [job.name for job, _ in jobs]
    for _ in range(2_000):
        workload.step()
    return workload


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("variant", list(Variant), ids=lambda v: v.value)
@pytest.mark.benchmark(group=f"{EVENTS_A_ROUND} single-instance events at 80 % load")
def bench_events(benchmark: Benchmark, variant: Variant, nodes: int) -> None:
    workload = loaded(nodes, variant)

    def events() -> None:
        for _ in range(EVENTS_A_ROUND):
            workload.step()

    benchmark.pedantic(events, rounds=5)
    events_played = 5 * EVENTS_A_ROUND
    benchmark.extra_info["migrations_per_event"] = round(workload.migrations / (2_000 + events_played), 3)


def memory_of_kept_states(nodes: int, states: int) -> int:
    """Return the bytes that `states` successive states of one cluster take, all kept alive."""
    workload = loaded(nodes, Variant.COMPASS)
    tracemalloc.start()
    kept: deque[ClusterState] = deque()
    for _ in range(states):
        workload.step()
        kept.append(workload.state)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == states
    return taken


if __name__ == "__main__":
    for size in SIZES:
        taken = memory_of_kept_states(size, 10_000)
        sys.stdout.write(
            f"{size:>7} nodes, 10,000 states kept: {taken / 2**20:8.1f} MiB, {taken / 10_000:8.0f} B each\n"
        )
