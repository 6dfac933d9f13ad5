"""Events a second of the SIFOpt scheduler, which reaches Φ* after each; run with ``make bench``.

``python -m benchmarks.bench_sifopt`` prints a table against EXACT on the same kind of events.

Clusters are filled to nine tenths and kept there: an arrival below that, otherwise the departure of a random job. "jobs
of a trace" have one instance of up to 8 GPUs, or several of 8; "gangs" have 1 to 8 instances of any demand.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from compass_core import ClusterState, Job, Variant, arrive, depart
from oracle import sifopt
from oracle.optimum.closed_form import fewest_partial_nodes

if TYPE_CHECKING:
    from benchmarks.typed_fixture import Benchmark

SIZES = (59, 105, 1_000)
KINDS = ("jobs of a trace", "gangs")
DEMANDS = (0.35, 0.2, 0.04, 0.2, 0.03, 0.05, 0.03, 0.1)
EVENTS = 1_000
EXACT = Variant.EXACT


@dataclass
class Stream:
    """A seeded stream of events on one cluster, played by SIFOpt or by EXACT."""

    kind: str
    state: ClusterState
    exact: bool = False
    random: random.Random = field(default_factory=lambda: random.Random(1))
    running: list[str] = field(default_factory=list[str])
    arrived: int = 0
    moves: int = 0
    moving: int = 0

    @classmethod
    def filled(cls, kind: str, nodes: int, *, exact: bool = False) -> Stream:
        made = cls(kind, ClusterState.empty(nodes), exact)
        while made.has_room():
            made.event()
        made.moves = made.moving = 0
        return made

    def has_room(self) -> bool:
        return self.state.used_gpus <= 0.9 * self.state.total_gpus

    def job(self) -> Job:
        self.arrived += 1
        gpus = self.random.choices(range(1, 9), DEMANDS)[0]
        gang = gpus == 8 or self.kind == "gangs"
        return Job(f"j{self.arrived}", self.random.choice((1, 1, 1, 1, 2, 4, 8)) if gang else 1, gpus)

    def event(self) -> None:
        if self.running and not (self.has_room() and self.random.random() < 0.7):
            name = self.running.pop(self.random.randrange(len(self.running)))
            outcome = depart(self.state, name, variant=EXACT) if self.exact else sifopt.depart(self.state, name)
        else:
            job = self.job()
            outcome = arrive(self.state, job, variant=EXACT) if self.exact else sifopt.arrive(self.state, job)
            self.running += [job.name] * outcome.admitted
        self.state = outcome.state
        self.moves += len(outcome.migrations)
        self.moving += bool(outcome.migrations)

    def times(self, events: int) -> list[float]:
        """Return the seconds that each of so many events takes."""
        found: list[float] = []
        for _ in range(events):
            started = time.perf_counter()
            self.event()
            found.append(time.perf_counter() - started)
        return found


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def bench_events(benchmark: Benchmark, kind: str, nodes: int) -> None:
    stream = Stream.filled(kind, nodes)
    benchmark.pedantic(lambda: stream.times(100), rounds=3)
    assert stream.state.partial_nodes == fewest_partial_nodes(stream.state.counts)


def main() -> None:
    print(
        "| jobs | nodes | times EXACT | events a second | median, ms | most, ms | moves an event | events that move |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for kind in KINDS:
        for nodes in SIZES:
            stream = Stream.filled(kind, nodes)
            times, exact = stream.times(EVENTS), Stream.filled(kind, nodes, exact=True).times(EVENTS)
            print(
                f"| {kind} | {nodes:,} | {sum(times) / sum(exact):.1f} | {EVENTS / sum(times):,.0f} "
                f"| {1e3 * statistics.median(times):.2f} | {1e3 * max(times):.0f} "
                f"| {stream.moves / EVENTS:.2f} | {100 * stream.moving / EVENTS:.0f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
