"""The way into `compass-sim`: its commands, and what its help says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.program import Program
from simulation.cli.comparing import COMPARE, RUN
from simulation.cli.making import CONVERT, SYNTHESIZE
from simulation.cli.options import EXIT_STATUS_HELP
from simulation.cli.plotting import PLOT
from simulation.cli.sweeping import SWEEP

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = "Replay a trace of GPU jobs under one scheduler or many, with exact fragmentation at every event."

_EPILOG = f"""examples:
  compass-sim compare helios_venus.csv.gz --days 168-174 --nodes 105
  compass-sim run cluster_log.csv --pool vcJkd --eta 0.85 --schedulers compass -o json
  compass-sim synthesize --jobs 5000 --seed 7 | compass-sim compare - --eta 0.9

{EXIT_STATUS_HELP}"""

COMPASS_SIM = Program(
    name="compass-sim",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    commands=(RUN, COMPARE, SWEEP, PLOT, SYNTHESIZE, CONVERT),
    subject="trace",
    extras={"polars": "simulation", "matplotlib": "simulation", "distributed": "cluster", "torch": "learn"},
)


def entry_point() -> None:
    """Run `compass-sim` on the process's arguments and exit with its status."""
    COMPASS_SIM.enter()


def main(arguments: Sequence[str]) -> int:
    """Run `compass-sim` on `arguments` and return its exit status; nothing is raised."""
    return COMPASS_SIM.main(arguments)
