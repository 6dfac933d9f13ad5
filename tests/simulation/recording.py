"""An observer that writes down what the engine did, and random traces with many ties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from simulation.jobs import TraceJob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_core import Migration
    from simulation.schedulers.protocol import Left, Placed
    from tests.simulation.slow_engine import Move


def as_moves(migrations: Sequence[Migration]) -> list[Move]:
    return [(m.instance.job, m.instance.index, m.source, m.destination) for m in migrations]


@dataclass
class Recorder:
    """Everything the engine said it did."""

    starts: list[tuple[str, tuple[int, ...]]] = field(default_factory=list[tuple[str, tuple[int, ...]]])
    times: dict[str, float] = field(default_factory=dict[str, float])
    ends: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    moves: list[Move] = field(default_factory=list["Move"])
    rounds: list[list[Move]] = field(default_factory=list[list["Move"]])

    def started(self, job: TraceJob, now: float, placed: Placed) -> None:
        self.starts.append((job.name, placed.nodes))
        self.times[job.name] = now
        self.moves += as_moves(placed.migrations)

    def departed(self, job: TraceJob, now: float, left: Left) -> None:
        self.ends.append((job.name, now))
        self.moves += as_moves(left.migrations)

    def round_started(self, now: float, migrations: Sequence[Migration]) -> None:
        del now
        self.rounds.append(as_moves(migrations))
        self.moves += as_moves(migrations)


def jobs_of(*rows: tuple[float, float, int, int]) -> list[TraceJob]:
    """Return jobs a, b, c, ... of rows (submission, duration, instances, GPUs)."""
    return [TraceJob(chr(ord("a") + i), *row) for i, row in enumerate(rows)]


@st.composite
def traces(draw: st.DrawFn, *, most_jobs: int = 12, scale: int = 1) -> list[TraceJob]:
    """Jobs at whole seconds, so that many things happen at one time and floats are exact."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 3), st.integers(0, 12), st.sampled_from((1, 1, 1, 1, 2, 2, 3, 5)), st.integers(1, 9)
            ),
            min_size=1,
            max_size=most_jobs,
        )
    )
    jobs: list[TraceJob] = []
    clock = 0
    for i, (gap, duration, instances, gpus) in enumerate(rows):
        clock += gap * scale
        jobs.append(TraceJob(f"j{i:03}", float(clock), float(duration * scale), instances, gpus))
    return jobs
