"""`compass-sim plot`: the experiments, each as a table, a picture for a talk and a caption with the command."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from oracle.cli.command import Command, Outcome
from simulation.cli.comparing import share
from simulation.cli.options import EXIT_STATUS_HELP
from simulation.cli.sweeping import GridArguments, add_grid_arguments, load_all_days, run_cells, windows
from simulation.experiments.frame import Lab, make_folder, publish
from simulation.experiments.registry import EXPERIMENTS
from simulation.sweep.cells import Assumptions, fingerprint, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.cli.command import Parser
    from simulation.jobs import Trace
    from simulation.sweep.cells import Cell, Row

_ALL = "all"


class PlotArguments(GridArguments):
    """The options of `compass-sim plot`."""

    experiments: tuple[str, ...]
    at: float
    out: Path
    cells: Path | None


def plot(options: PlotArguments, command: str) -> Outcome:
    """Make the experiments and return which files were written."""
    loaded, lines = load_all_days(options)
    make_folder(options.out)
    written: list[str] = []
    with ExitStack() as stack:
        cells = options.cells or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        lab = _lab(options, loaded.trace, cells)
        sources = _sources(loaded.trace, lab)
        for name in options.experiments:
            for finding in EXPERIMENTS[name](lab):
                paths = publish(finding, options.out, command, sources)
                written.append(f"{finding.title} {' '.join(map(str, paths))}\n")
    # A bad row is said without asking: what is drawn is not about the whole trace.
    notes = tuple(lines) if options.verbose or loaded.report.bad else ()
    return Outcome(text="".join(written), notes=notes, for_machines=True)


def _lab(options: PlotArguments, trace: Trace, folder: Path) -> Lab:
    from simulation.sweep.store import open_store  # noqa: PLC0415 - of the extra [simulation]

    every = windows(trace, options.days, 1)
    daily = {days: every[days] for days in sampled(list(every), options.sample, options.seed)}
    first, last = options.days or (min(every)[0], max(every)[1])
    ((days, whole),) = windows(trace, (first, last), last - first + 1).items()
    traces = {**daily, days: whole}
    assumptions = Assumptions(seed=options.seed)
    store = open_store(folder, fingerprint(trace), assumptions)

    def results(cells: Sequence[Cell]) -> list[Row]:
        run_cells(options, store, cells, traces, assumptions, lasting=options.cells is not None)
        return store.rows(cells)

    return Lab(
        days=days,
        trace=whole,
        daily=daily,
        etas=options.eta,
        at=options.at,
        schedulers=options.schedulers,
        seed=options.seed,
        results=results,
    )


def _sources(trace: Trace, lab: Lab) -> list[str]:
    first, last = lab.days
    lines = [f"Trace: {trace.source}, days {first} to {last}, {len(lab.trace):,} jobs."]
    if trace.rule:
        lines.append(f"Instances and GPUs: {trace.rule}.")
    return lines


def _names(text: str) -> tuple[str, ...]:
    names = tuple(EXPERIMENTS) if text == _ALL else tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected {_ALL} or some of {', '.join(EXPERIMENTS)}, got {unknown[0]!r}")
    return names


def _add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "experiments", metavar="EXPERIMENT", type=_names, help=f"{_ALL}, or some of {', '.join(EXPERIMENTS)}"
    )
    add_grid_arguments(parser)
    parser.add_argument("--at", metavar="X", type=share, default=0.9, help="η of experiments on one size (default: .9)")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder for tables, pictures, captions")
    parser.add_argument(
        "--cells",
        metavar="DIR",
        type=Path,
        help="folder of a sweep: replays found there are not run again, others kept",
    )


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    command = shlex.join([*parser.prog.split(), *arguments])
    return plot(parser.parse_intermixed_args(arguments, namespace=PlotArguments()), command)


PLOT = Command(
    name="plot",
    help="make the tables and figures of an evaluation",
    description="Make experiments on a trace: those of the paper's evaluation, and some of ours. Each gives\n"
    "a table (CSV), a picture (SVG and PNG) and a caption with the command that made it.\n"
    "Experiments on one replay take all days asked for; those on many take each day by itself.",
    epilog="example:\n  compass-sim plot overall,eta helios_venus.csv.gz --days 168-174 --out results\n\n"
    + EXIT_STATUS_HELP,
    add_arguments=_add_arguments,
    run=_run,
)
