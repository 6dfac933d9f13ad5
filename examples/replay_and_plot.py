"""Replay a trace under three schedulers, and draw how many nodes each leaves in use in part that need not be.

The trace is made up, so that this runs anywhere; `load_trace("cluster_log.csv")` reads a real one (docs/traces.md).
Needs the extra `simulation`.

    $ python examples/replay_and_plot.py avoidable.svg
    gfs: 5.91 avoidable partial nodes on average, at most 20; 0 moves; jobs wait 3.7 min
    compass: 0.72 avoidable partial nodes on average, at most 5; 1008 moves; jobs wait 0.7 min
    exact: 0.02 avoidable partial nodes on average, at most 6; 1169 moves; jobs wait 0.5 min
"""

# Matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from simulation.engine import ReplayOptions, replay
from simulation.schedulers.registry import make_scheduler
from simulation.traces import SyntheticSpec, synthesize

NODES = 32
SPEC = SyntheticSpec(
    jobs=600,
    days=1,
    demands={1: 1, 2: 3, 3: 1, 4: 2, 6: 1, 8: 2},
    wcc_margin=3,
    workers=((1, 4, 1),),
    log_mean_s=7.5,
    log_deviation=1,
)


def main(picture: str) -> int:
    """Return the status."""
    trace = synthesize(SPEC, seed=7)
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="hours", ylabel="avoidable partial nodes")
    for name in ("gfs", "compass", "exact"):
        done = replay(trace, make_scheduler(name, NODES, trace.jobs), ReplayOptions(series=True))
        hours = [sample.time_s / 3600 for sample in done.series]
        axes.step(hours, [sample.avoidable_partial_nodes for sample in done.series], where="post", label=name)
        avoidable, most = done.result.afr * NODES, done.result.max_avoidable_partial_nodes
        print(f"{name}: {avoidable:.2f} avoidable partial nodes on average, at most {most}", end="; ")
        print(f"{done.result.migrations} moves; jobs wait {done.result.delay_s.mean / 60:.1f} min")
    axes.legend()
    figure.savefig(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
