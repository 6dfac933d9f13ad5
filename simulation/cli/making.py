"""`compass-sim synthesize` and `compass-sim convert`: traces in our own format, made up or translated."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from oracle.cli.command import Command, Outcome
from oracle.cli.values import positive_number, seconds, whole_number
from simulation.cli.options import TraceOptions, add_trace_arguments, load, trace_lines
from simulation.traces.marginals import (
    DAILY_SWING,
    FRIENDLY_DEMANDS,
    LOG_DEVIATION,
    LOG_MEAN_S,
    MAX_DURATION_S,
    PEAK_HOUR,
)
from simulation.traces.native import write_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.cli.command import Parser


class SynthesizeOptions(argparse.Namespace):
    """The options of `compass-sim synthesize`."""

    jobs: int
    days: float | None
    arrivals: str
    daily_swing: float
    peak_hour: float
    demands: dict[int, float]
    wcc_margin: float | None
    max_total_gpus: int | None
    median_duration: float
    log_deviation: float
    max_duration: float
    seed: int


def synthesize_trace(options: SynthesizeOptions) -> Outcome:
    """Return a made-up trace in our own format, with a note on the share of time in which the condition holds."""
    # NumPy takes a while to load, and no other command needs it.
    from simulation.traces.synthetic import (  # noqa: PLC0415
        Arrivals,
        SyntheticError,
        SyntheticSpec,
        synthesize,
        wcc_share,
    )

    if options.median_duration <= 0:
        raise SyntheticError(f"expected a median duration above 0 s, got {options.median_duration:g}")
    spec = SyntheticSpec(
        jobs=options.jobs,
        days=options.days,
        arrivals=Arrivals(options.arrivals),
        daily_swing=options.daily_swing,
        peak_hour=options.peak_hour,
        demands=options.demands,
        wcc_margin=options.wcc_margin,
        max_total_gpus=options.max_total_gpus,
        log_mean_s=math.log(options.median_duration),
        log_deviation=options.log_deviation,
        max_duration_s=options.max_duration,
    )
    trace = synthesize(spec, options.seed)
    share = f"{wcc_share(trace):.1%} of the time"
    note = f"{len(trace):,} jobs; if none waits, the workload composition condition holds for {share}."
    return Outcome(text=write_trace(trace), notes=(note,), for_machines=True)


def convert(options: TraceOptions) -> Outcome:
    """Return the trace in our own format; what its reader assumed and left out goes to the notes."""
    loaded, removed = load(options)
    notes = trace_lines(loaded, removed, verbose=options.verbose)
    return Outcome(text=write_trace(loaded.trace), notes=tuple(notes), for_machines=True)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}")
    return value


def _weights(text: str) -> dict[int, float]:
    weights: dict[int, float] = {}
    for item in text.split(","):
        gpus, colon, weight = item.partition(":")
        if not (colon and gpus.isascii() and gpus.isdigit() and len(gpus) < 5 and int(gpus) not in weights):
            raise argparse.ArgumentTypeError(f"expected GPUs and weights such as 1:0.35,8:0.5, got {text!r}")
        weights[int(gpus)] = _number(weight)
    return weights


def _add_synthesize_arguments(parser: Parser) -> None:
    demands = ",".join(f"{gpus}:{weight:g}" for gpus, weight in FRIENDLY_DEMANDS.items())
    parser.add_argument("--jobs", metavar="N", type=positive_number, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--seed", metavar="S", type=whole_number, default=0, help="the same seed, the same trace")
    parser.add_argument("--days", metavar="D", type=_number, help="over how many days (default: at the rate of Venus)")
    parser.add_argument(
        "--arrivals", choices=("diurnal", "poisson"), default="diurnal", help="law of submissions (default: diurnal)"
    )
    parser.add_argument(
        "--daily-swing", metavar="X", type=_number, default=DAILY_SWING, help=f"0 to 1 (default: {DAILY_SWING:g})"
    )
    parser.add_argument(
        "--peak-hour", metavar="H", type=_number, default=PEAK_HOUR, help=f"of the day (default: {PEAK_HOUR:g})"
    )
    parser.add_argument(
        "--demands",
        metavar="G:W,...",
        type=_weights,
        default=dict(FRIENDLY_DEMANDS),
        help=f"GPUs an instance and their weights (default: {demands})",
    )
    parser.add_argument(
        "--wcc-margin",
        metavar="X",
        type=_number,
        help="1-GPU instances X times as many as the composition condition asks for on average",
    )
    parser.add_argument("--max-total-gpus", metavar="N", type=positive_number, help="no job of more GPUs")
    parser.add_argument(
        "--median-duration",
        metavar="S",
        type=seconds,
        default=round(math.exp(LOG_MEAN_S)),
        help=f"seconds (default: {math.exp(LOG_MEAN_S):.0f})",
    )
    parser.add_argument(
        "--log-deviation",
        metavar="X",
        type=_number,
        default=LOG_DEVIATION,
        help=f"standard deviation of the logarithm of durations (default: {LOG_DEVIATION:g})",
    )
    parser.add_argument(
        "--max-duration",
        metavar="S",
        type=seconds,
        default=MAX_DURATION_S,
        help=f"longer ones are cut to it (default: {MAX_DURATION_S:.0f})",
    )


def _run_synthesize(parser: Parser, arguments: Sequence[str]) -> Outcome:
    return synthesize_trace(parser.parse_args(arguments, namespace=SynthesizeOptions()))


def _run_convert(parser: Parser, arguments: Sequence[str]) -> Outcome:
    return convert(parser.parse_intermixed_args(arguments, namespace=TraceOptions()))


SYNTHESIZE = Command(
    name="synthesize",
    help="make up a trace from published figures",
    description="Make up a trace from published figures of production clusters and write it in our own\n"
    "format. Arrivals, durations, GPUs and numbers of instances are drawn independently.",
    epilog="example:\n  compass-sim synthesize --jobs 5000 --demands 1:0.4,3:0.1,8:0.5 --wcc-margin 1.5 > trace.csv",
    add_arguments=_add_synthesize_arguments,
    run=_run_synthesize,
)

CONVERT = Command(
    name="convert",
    help="write a trace in our own format",
    description="Read a trace in any format and write the chosen jobs in our own: a CSV with the columns\n"
    "job_id, submit_s, duration_s, instances, gpus_per_instance, pool.",
    epilog="example:\n  compass-sim convert cluster_log.csv.gz --days 0-6 > week.csv",
    add_arguments=add_trace_arguments,
    run=_run_convert,
)
