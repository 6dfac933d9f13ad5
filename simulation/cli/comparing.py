"""`compass-sim run` and `compass-sim compare`: a trace replayed under one scheduler, or under several side by side."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from compass_core import CompassError
from oracle.cli.command import Command, Outcome, UsageError
from oracle.cli.tables import Screen
from oracle.cli.values import positive_number, seconds, whole_number
from oracle.safe_text import csv_text, json_text
from simulation.cli.options import EXIT_STATUS_HELP, add_trace_arguments, load, trace_lines
from simulation.cli.replays import ReplayArguments, compare
from simulation.cli.report import report
from simulation.schedulers.own.loading import find, is_own
from simulation.schedulers.registry import ALIASES, NAMES, SCHEDULERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.cli.command import Parser
    from simulation.cli.replays import Comparison
    from simulation.jobs import Trace
    from simulation.metrics import ReplayResult

# What the paper compares, and what is ours; the textbook rules are there on demand.
COMPARED = ("compass", "exact", "printed", "sifopt", "gfs", "fgd", "cafgd", "mcg", "fft", "drr")


def _outcome(options: ReplayArguments, *, single: bool) -> Outcome:
    if options.drr_policy is not None and "drr" not in options.schedulers:
        raise UsageError("compass-sim: --drr-policy: expected drr among the schedulers, which alone reads it")
    loaded, removed = load(options)
    comparison = compare(loaded.trace, options)
    lines = trace_lines(loaded, removed, verbose=options.verbose)
    if options.output == "table":
        return Outcome(text=report(comparison, lines, Screen.of_stdout()))
    entries = [_entry(result, comparison, loaded.trace, options) for result in comparison.results]
    text = _csv(entries) if options.output == "csv" else json_text(entries[0] if single else entries)
    # A bad row is said without asking: what is printed is not about the whole trace.
    notes = lines if options.verbose or loaded.report.bad else []
    return Outcome(text=text, notes=tuple(notes), for_machines=True)


def _entry(result: ReplayResult, comparison: Comparison, trace: Trace, options: ReplayArguments) -> dict[str, object]:
    """Return one result as data, with what it was replayed from and what was assumed."""
    return result.to_json() | {
        "trace": trace.source,
        "instances_rule": trace.rule,
        "peak_demand_gpus": comparison.peak_demand,
        "eta": comparison.eta,
        "queue": options.queue,
        "migration_cost_s": options.migration_cost,
        "cost_per_instance": options.cost_per_instance,
        "seed": options.seed,
        "drr_policy": None if options.drr_policy is None else str(options.drr_policy),
    }


def _csv(entries: Sequence[dict[str, object]]) -> str:
    names = [name for name in entries[0] if name != "schema"]
    return csv_text([names, *([entry[name] for name in names] for entry in entries)])


def scheduler_names(text: str) -> tuple[str, ...]:
    """Return names of schedulers from a text such as gfs,exact,mine:BestFit."""
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in SCHEDULERS and name not in ALIASES and not is_own(name)]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected names out of {NAMES}, got {unknown[0]!r}")
    try:
        for own in filter(is_own, names):
            find(own)
    except CompassError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if len({ALIASES.get(name, name) for name in names}) < len(names):
        raise argparse.ArgumentTypeError(f"expected each scheduler once, got {text!r}")
    return names


def share(text: str) -> float:
    """Return η."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1000:
        raise argparse.ArgumentTypeError(f"expected a share above 0, such as 0.9, got {text!r}")
    return value


def _add_arguments(parser: Parser, schedulers: tuple[str, ...]) -> None:
    add_trace_arguments(parser)
    cluster = parser.add_argument_group("cluster and scheduling")
    size = cluster.add_mutually_exclusive_group()
    size.add_argument("--nodes", metavar="N", type=positive_number, help="number of 8-GPU nodes")
    size.add_argument(
        "--eta",
        metavar="X",
        type=share,
        help="as many nodes as hold X times the peak demand of the chosen jobs (default: 0.9)",
    )
    cluster.add_argument(
        "--schedulers",
        metavar="A,B,...",
        type=scheduler_names,
        default=schedulers,
        help=f"out of {NAMES} (default: {','.join(schedulers)})",
    )
    cluster.add_argument(
        "--migration-cost", metavar="C", type=seconds, default=0.0, help="seconds a job pauses when it is moved"
    )
    cluster.add_argument(
        "--cost-per-instance", action="store_true", help="pause once for every instance that moves, not once an event"
    )
    cluster.add_argument(
        "--queue",
        choices=("fifo", "backfill", "largest-first"),
        default="fifo",
        help="order of waiting jobs; the first blocks those behind it; with backfill those pass that end before enough "
        "GPUs can be free for it, as far as is known (they may delay it by migrations that cost time)",
    )
    cluster.add_argument("--seed", metavar="S", type=whole_number, default=0, help="seed of random placement")
    cluster.add_argument(
        "--drr-policy",
        metavar="WEIGHTS",
        type=Path,
        help="place under drr by these weights (python -m simulation.schedulers.drr_training makes them; needs the "
        "extra [learn]); by best fit, its teacher, if left out",
    )
    parser.add_argument(
        "-o", "--output", choices=("table", "json", "csv"), default="table", help="form of the output (default: table)"
    )


def _add_run_arguments(parser: Parser) -> None:
    _add_arguments(parser, ("exact",))


def _add_compare_arguments(parser: Parser) -> None:
    _add_arguments(parser, COMPARED)


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    options = parser.parse_intermixed_args(arguments, namespace=ReplayArguments())
    if len(options.schedulers) > 1:
        raise UsageError(f"{parser.prog}: expected one scheduler, got {','.join(options.schedulers)} (use compare)")
    return _outcome(options, single=True)


def _compare(parser: Parser, arguments: Sequence[str]) -> Outcome:
    return _outcome(parser.parse_intermixed_args(arguments, namespace=ReplayArguments()), single=False)


_REPLAY_DESCRIPTION = """Jobs arrive as in the trace, run for the time it records, and wait first come,
first served where the scheduler has no place for them. Fragmentation is measured
exactly at every event: SIF counts the partial nodes that another placement of the
same instances would not have. Without --pool all jobs share one cluster."""

RUN = Command(
    name="run",
    help="replay a trace under one scheduler",
    description=f"Replay a trace under one scheduler.\n\n{_REPLAY_DESCRIPTION}",
    epilog="example:\n  compass-sim run helios_venus.csv.gz --eta 0.9 --schedulers exact\n\n" + EXIT_STATUS_HELP,
    add_arguments=_add_run_arguments,
    run=_run,
)

COMPARE = Command(
    name="compare",
    help="replay a trace under several schedulers",
    description=f"Replay a trace under several schedulers and set the results side by side.\n\n{_REPLAY_DESCRIPTION}",
    epilog="example:\n  compass-sim compare helios_venus.csv.gz --days 168-174 --nodes 105 --schedulers gfs,exact\n\n"
    + EXIT_STATUS_HELP,
    add_arguments=_add_compare_arguments,
    run=_compare,
)
