"""What commands that read a trace share: their options, and the trace these make."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from oracle.cli.options import add_input_argument
from simulation.jobs import TraceError
from simulation.traces.detection import FORMAT_NAMES
from simulation.traces.formats import ReadOptions
from simulation.traces.loader import LoadedTrace, load_trace
from simulation.traces.rows import Fractions
from simulation.traces.selection import Selection, select
from simulation.traces.shapes import ShapeRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.cli.command import Parser

EXIT_STATUS_HELP = """exit status:
  0  done
  2  bad input or bad usage; one line says where and what was expected"""

_DAYS = re.compile(r"(?P<first>-?[0-9]{1,9})(?:-(?P<last>-?[0-9]{1,9}))?", re.ASCII)


class TraceOptions(argparse.Namespace):
    """The options of every command that reads a trace."""

    traces: list[str]
    trace_format: str | None
    shape: str
    fractions: str
    strict: bool
    max_input: int
    pool: list[str] | None
    days: tuple[int, int] | None
    demand: frozenset[int] | None
    verbose: bool


def add_trace_arguments(parser: Parser) -> None:
    """Declare the arguments of `TraceOptions`."""
    parser.add_argument(
        "traces",
        metavar="TRACE",
        nargs="+",
        help="file with the trace, or - for standard input; gzip is unpacked. Files that go with it may be named too: "
        "a list of nodes (OpenB, Alibaba spot), the job table (Alibaba PAI)",
    )
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--trace-format",
        metavar="F",
        choices=FORMAT_NAMES,
        help=f"format of the trace, told from its header if left out: {', '.join(FORMAT_NAMES)}",
    )
    reading.add_argument(
        "--shape",
        choices=[rule.label for rule in ShapeRule],
        default=ShapeRule.RECORDED.label,
        help="how instances and their GPUs are told: from nodes or servers where the trace records them (recorded, the "
        "default), or from the total of GPUs alone (total)",
    )
    reading.add_argument(
        "--fractions",
        choices=[rule.value for rule in Fractions],
        default=Fractions.LEAVE_OUT.value,
        help="what becomes of jobs that ask for a part of a GPU (default: leave-out)",
    )
    reading.add_argument("--strict", action="store_true", help="refuse a trace with a bad row, instead of listing it")
    add_input_argument(parser)
    choosing = parser.add_argument_group("choosing jobs")
    choosing.add_argument("--pool", metavar="P", action="append", help="jobs of this pool; may be given several times")
    choosing.add_argument("--days", metavar="A-B", type=_days, help="jobs submitted on days A to B, counted from 0")
    choosing.add_argument(
        "--demand", metavar="G,G,...", type=_demands, help="jobs whose instances have one of these numbers of GPUs"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name every row that gave no job")


def load(options: TraceOptions, *, all_days: bool = False) -> tuple[LoadedTrace, dict[str, int]]:
    """Return the trace of the options with the jobs they choose, and how many jobs each filter took away.

    With `all_days` the days are left to the caller.

    Raises
    ------
    TraceError
        The trace cannot be read, or no job is left.
    """
    reading = ReadOptions(
        shape=next(rule for rule in ShapeRule if rule.label == options.shape), fractions=Fractions(options.fractions)
    )
    loaded = load_trace(
        *options.traces,
        format=options.trace_format,
        options=reading,
        strict=options.strict,
        max_input=options.max_input,
    )
    selection = Selection(
        pools=None if options.pool is None else frozenset(options.pool),
        days=None if all_days else options.days,
        demands=options.demand,
    )
    selected = select(loaded.trace, selection)
    if not selected.trace.jobs:
        raise TraceError(f"{loaded.trace.source}: no job to replay, expected at least one: {_why_none(loaded)}")
    return LoadedTrace(selected.trace, loaded.report, loaded.nodes), selected.removed


def trace_lines(loaded: LoadedTrace, removed: dict[str, int], *, verbose: bool) -> list[str]:
    """Return what is to be known of the trace, in sentences."""
    lines = loaded.report.lines(verbose=verbose)
    if removed:
        chosen = ", ".join(f"{count:,} by {name}" for name, count in removed.items())
        lines.append(f"Chosen: {len(loaded.trace):,} of these jobs; taken away: {chosen}.")
    if loaded.nodes:
        groups = ", ".join(f"{group.nodes:,} x {group.gpus} {group.model}".rstrip() for group in loaded.nodes)
        lines.append(f"The cluster of the trace (nodes x GPUs): {groups}.")
    return lines


def _why_none(loaded: LoadedTrace) -> str:
    report = loaded.report
    days = sorted({int(job.submit_s // 86_400) for job in loaded.trace})
    if not days:
        left_out = sum(map(len, report.excluded.values()))
        return f"of {report.rows} rows {left_out} were left out and {len(report.bad)} are bad"
    return f"the {report.jobs} jobs read are of days {days[0]} to {days[-1]}, and none of them was chosen"


def _days(text: str) -> tuple[int, int]:
    match = _DAYS.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a day or two, such as 168-174, got {text!r}")
    first = int(match["first"])
    last = first if match["last"] is None else int(match["last"])
    if last < first:
        raise argparse.ArgumentTypeError(f"expected the first day before the last, got {text!r}")
    return first, last


def _demands(text: str) -> frozenset[int]:
    numbers: Sequence[str] = text.split(",")
    if not all(number.isascii() and number.isdigit() and 0 < len(number) < 5 and int(number) > 0 for number in numbers):
        raise argparse.ArgumentTypeError(f"expected numbers of GPUs, such as 1,2,4, got {text!r}")
    return frozenset(map(int, numbers))
