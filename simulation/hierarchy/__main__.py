"""The command behind the figures of docs/hierarchy.md."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import TYPE_CHECKING

from compass_core import Variant
from simulation.hierarchy.replaying import DomainReplay, replay_domains
from simulation.hierarchy.schedulers import BestFitDomains, TieredScheduler
from simulation.hierarchy.traces import PanelSpec, panel_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.hierarchy.schedulers import DomainScheduler


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of docs/hierarchy.md; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m simulation.hierarchy", description=main.__doc__)
    parser.add_argument("--jobs", type=int, default=4_000)
    parser.add_argument("--domains", type=int, default=12)
    parser.add_argument("--panels", type=int, default=9, help="panels a domain")
    parser.add_argument("--gap", type=float, default=60.0, help="mean seconds between submissions")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    trace = panel_trace(PanelSpec(jobs=given.jobs, gap_s=given.gap), given.seed)
    schedulers: list[DomainScheduler] = [
        TieredScheduler(given.domains, given.panels, variant=Variant.EXACT),
        TieredScheduler(given.domains, given.panels, variant=Variant.COMPASS),
        BestFitDomains(given.domains, given.panels),
    ]
    names = [field.name for field in fields(DomainReplay)]
    sys.stdout.write("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|\n")
    for scheduler in schedulers:
        found = replay_domains(trace, scheduler)
        cells = [getattr(found, name) for name in names]
        sys.stdout.write("| " + " | ".join(f"{c:.5g}" if isinstance(c, float) else str(c) for c in cells) + " |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
