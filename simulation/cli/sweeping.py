"""`compass-sim sweep`: a grid of replays, run by processes or on a cluster, which may be stopped and gone on with."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from oracle.cli.command import Command, Outcome, UsageError
from oracle.cli.tables import Screen
from oracle.cli.values import positive_number, seconds, whole_number
from oracle.safe_text import csv_text, json_text
from simulation.cli.comparing import COMPARED, scheduler_names, share
from simulation.cli.options import EXIT_STATUS_HELP, TraceOptions, add_trace_arguments, load, trace_lines
from simulation.cli.report import sweep_report
from simulation.demand import nodes_by_share, nodes_of_largest, peak_demand
from simulation.schedulers.registry import ALIASES, NAMES
from simulation.sweep.cells import Assumptions, fingerprint, grid, sampled, windows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.cli.command import Parser
    from simulation.jobs import Trace
    from simulation.sweep.cells import Cell, Days, Row
    from simulation.sweep.store import Store
    from simulation.traces.loader import LoadedTrace

ETAS = (0.85, 0.9, 0.95)
"""η of the paper's evaluation."""


class GridArguments(TraceOptions):
    """The options of commands that run a grid of cells."""

    window: int
    sample: int | None
    eta: tuple[float, ...]
    schedulers: tuple[str, ...]
    seed: int
    processes: int
    dask: str | None


class SweepArguments(GridArguments):
    """The options of `compass-sim sweep`."""

    out: Path
    migration_cost: tuple[float, ...]
    queue: Literal["fifo", "backfill", "largest-first"]
    output: Literal["table", "json", "csv"]


def load_all_days(options: TraceOptions) -> tuple[LoadedTrace, list[str]]:
    """Return the trace with the jobs of all days, and what is to be known of it.

    The days are chosen afterwards, window by window: cells are told from those of another trace by all of its jobs, so
    that days can be added to a sweep later.
    """
    loaded, removed = load(options, all_days=True)
    return loaded, trace_lines(loaded, removed, verbose=options.verbose)


def windows(trace: Trace, days: Days | None, length: int) -> dict[Days, Trace]:
    """Return the jobs of those days by window.

    Raises
    ------
    UsageError
        There are none.
    """
    found = windows_of(trace, days, length=length)
    if not found:
        asked = "any day" if days is None else "days {}-{}".format(*days)
        problem = f"no job to replay on {asked}, expected at least one that runs for more than 0 s"
        raise UsageError(f"compass-sim: {trace.source}: {problem}")
    return found


def run_cells(
    options: GridArguments,
    store: Store,
    cells: Sequence[Cell],
    traces: Mapping[Days, Trace],
    assumptions: Assumptions,
    *,
    lasting: bool = True,
) -> int:
    """Complete the cells in a store and return how many were run.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted; where the store is lasting, it says how many cells are kept.
    """
    from simulation.cli.progress import CellProgress  # noqa: PLC0415 - rich is slow to load, and help needs none
    from simulation.sweep.running import complete  # noqa: PLC0415 - of the extra [simulation]

    try:
        with CellProgress(sum(not store.has(cell) for cell in cells)) as progress:
            return complete(
                store,
                cells,
                traces,
                assumptions,
                processes=options.processes,
                dask=options.dask,
                done=progress.done,
            )
    except KeyboardInterrupt:
        if not lasting:
            raise
        kept = f"{sum(map(store.has, cells)):,} of {len(cells):,} cells are kept in {store.folder}"
        raise KeyboardInterrupt(f"{kept}; the same command goes on with the others") from None


def sweep(options: SweepArguments) -> Outcome:
    """Run what is missing of the grid and return its summary."""
    from simulation.sweep.store import open_store  # noqa: PLC0415 - of the extra [simulation]

    loaded, lines = load_all_days(options)
    every = windows(loaded.trace, options.days, options.window)
    traces = {days: every[days] for days in sampled(list(every), options.sample, options.seed)}
    cells = grid(traces, options.eta, options.schedulers, options.migration_cost)
    assumptions = Assumptions(queue=options.queue, seed=options.seed)
    store = open_store(options.out, fingerprint(loaded.trace), assumptions)
    ran = run_cells(options, store, cells, traces, assumptions)
    counted = (
        f"{len(cells):,} cells: {len(traces):,} windows of up to {options.window} days x {len(options.eta)} η x "
        f"{len(options.migration_cost)} costs x {len(options.schedulers)} schedulers; {ran:,} run now, "
        f"{len(cells) - ran:,} were finished. One Parquet file each: {options.out / 'cells'}."
    )
    return _outcome(options, store, cells, loaded, [counted, *_enlarged(traces, options.eta), *lines])


def _enlarged(traces: Mapping[Days, Trace], etas: Sequence[float]) -> Iterator[str]:
    """Yield at which η there are windows whose largest job needs more nodes than η gives."""
    needed = [(nodes_of_largest(trace), peak_demand(trace)) for trace in traces.values()]
    for eta in etas:
        larger = sum(nodes_by_share(peak, eta) < nodes for nodes, peak in needed)
        if larger:
            yield f"η = {eta:g}: as many nodes as the largest job needs, more than η gives, in {larger:,} windows."


def _outcome(
    options: SweepArguments, store: Store, cells: Sequence[Cell], loaded: LoadedTrace, lines: list[str]
) -> Outcome:
    from simulation.sweep.summary import summarised  # noqa: PLC0415 - of the extra [simulation]

    # A bad row is said without asking: what is printed is not about the whole trace.
    notes = tuple(lines) if options.verbose or loaded.report.bad else ()
    if options.output == "csv":
        return Outcome(text=_csv(store.rows(cells)), notes=notes, for_machines=True)
    summary = summarised(store.read(cells))
    if options.output == "json":
        data = {
            "schema": "compass-abs/sweep/1",
            "trace": loaded.trace.source,
            "instances_rule": loaded.trace.rule,
            "windows": [list(days) for days in dict.fromkeys(cell.days for cell in cells)],
            "queue": options.queue,
            "seed": options.seed,
            "schedulers": summary,
        }
        return Outcome(text=json_text(data), notes=notes, for_machines=True)
    return Outcome(text=sweep_report(summary, lines, Screen.of_stdout()))


def _csv(rows: list[Row]) -> str:
    names = list(rows[0])
    return csv_text([names, *([row[name] for name in names] for row in rows)])


def _schedulers(text: str) -> tuple[str, ...]:
    """Return names of schedulers; cells know each by one name only."""
    return tuple(ALIASES.get(name, name) for name in scheduler_names(text))


def _etas(text: str) -> tuple[float, ...]:
    return _distinct(text, tuple(share(item) for item in text.split(",")))


def _costs(text: str) -> tuple[float, ...]:
    return _distinct(text, tuple(seconds(item) for item in text.split(",")))


def _distinct(text: str, values: tuple[float, ...]) -> tuple[float, ...]:
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"expected each value once, got {text!r}")
    return values


def _parser_of_costs(parser: Parser) -> None:
    parser.add_argument(
        "--migration-cost",
        metavar="C,C,...",
        type=_costs,
        default=(0.0,),
        help="seconds a job pauses when it is moved (default: 0)",
    )


def add_grid_arguments(parser: Parser, schedulers: tuple[str, ...] = COMPARED) -> None:
    """Declare the arguments of `GridArguments`."""
    add_trace_arguments(parser)
    cells = parser.add_argument_group("cells")
    cells.add_argument("--sample", metavar="K", type=positive_number, help="only K windows, drawn with the seed")
    cells.add_argument(
        "--eta",
        metavar="X,X,...",
        type=_etas,
        default=ETAS,
        help="as many nodes as hold X times the peak demand of a window (default: .85,.9,.95)",
    )
    cells.add_argument(
        "--schedulers",
        metavar="A,B,...",
        type=_schedulers,
        default=schedulers,
        help=f"out of {NAMES} (default: {','.join(schedulers)})",
    )
    cells.add_argument("--seed", metavar="S", type=whole_number, default=0, help="of the sample and random placement")
    running = parser.add_argument_group("running")
    running.add_argument(
        "--processes",
        metavar="P",
        type=positive_number,
        default=os.cpu_count() or 1,
        help="on this machine (default: one a core)",
    )
    running.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or local",
    )


def _add_arguments(parser: Parser) -> None:
    add_grid_arguments(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder in which cells are kept")
    parser.add_argument(
        "--window", metavar="D", type=positive_number, default=1, help="days replayed at a time (default: 1)"
    )
    _parser_of_costs(parser)
    parser.add_argument(
        "--queue", choices=("fifo", "backfill", "largest-first"), default="fifo", help="order of waiting jobs"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "csv"),
        default="table",
        help="the summary as a table (default) or JSON, or all cells as CSV",
    )


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    return sweep(parser.parse_intermixed_args(arguments, namespace=SweepArguments()))


SWEEP = Command(
    name="sweep",
    help="replay many windows of a trace under many schedulers",
    description="Replay each window of a trace at each η under each scheduler. A finished cell is kept in\n"
    "a file of its own: a sweep that was stopped, or killed, goes on where it was, and a grid\n"
    "that has grown runs what is new.",
    epilog="example:\n  compass-sim sweep helios_venus.csv.gz --days 100-129 --eta .85,.9,.95 --out venus\n\n"
    + EXIT_STATUS_HELP,
    add_arguments=_add_arguments,
    run=_run,
)
