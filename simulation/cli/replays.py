"""The replays that `compass-sim run` and `compass-sim compare` ask for: one trace on one cluster, by scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from simulation.cli.options import TraceOptions
from simulation.demand import nodes_for, peak_demand
from simulation.engine import QueueOrder, ReplayOptions, replay
from simulation.pauses import Pauses
from simulation.schedulers.registry import make_scheduler

if TYPE_CHECKING:
    from pathlib import Path

    from simulation.jobs import Trace
    from simulation.metrics import ReplayResult
    from simulation.schedulers.protocol import Scheduler

_DEFAULT_ETA = 0.9


class ReplayArguments(TraceOptions):
    """The options of `compass-sim run` and `compass-sim compare`."""

    nodes: int | None
    eta: float | None
    schedulers: tuple[str, ...]
    migration_cost: float
    cost_per_instance: bool
    queue: Literal["fifo", "backfill", "largest-first"]
    seed: int
    drr_policy: Path | None
    output: Literal["table", "json", "csv"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Replays of one trace on one cluster.

    Attributes
    ----------
    results
        One a scheduler, in the order asked for.
    peak_demand
        D, in GPUs.
    eta
        η that gave the number of nodes; None where that was given.
    """

    results: tuple[ReplayResult, ...]
    peak_demand: int
    eta: float | None

    @property
    def nodes(self) -> int:
        """N."""
        return self.results[0].nodes


def compare(trace: Trace, options: ReplayArguments) -> Comparison:
    """Return the replays that the options ask for."""
    eta = options.eta if options.eta is not None or options.nodes is not None else _DEFAULT_ETA
    nodes = options.nodes if eta is None else nodes_for(trace, eta)
    assumed = ReplayOptions(
        pauses=Pauses(seconds=options.migration_cost, per_instance=options.cost_per_instance),
        queue=QueueOrder.LARGEST_FIRST if options.queue == "largest-first" else QueueOrder.FIFO,
        backfill=options.queue == "backfill",
    )
    # All are made first: weights that cannot be read are said before a long replay, not after it.
    made = [
        make_scheduler(name, nodes or 1, trace.jobs, seed=options.seed, drr_policy=options.drr_policy)
        for name in options.schedulers
    ]
    results = tuple(_replayed(trace, scheduler, assumed) for scheduler in made)
    return Comparison(results=results, peak_demand=peak_demand(trace), eta=eta)


def _replayed(trace: Trace, scheduler: Scheduler, assumed: ReplayOptions) -> ReplayResult:
    from simulation.cli.progress import ReplayProgress  # noqa: PLC0415 - rich is slow to load, and help needs none

    with ReplayProgress(scheduler.name, len(trace)) as progress:
        return replay(trace, scheduler, assumed, observer=progress).result
