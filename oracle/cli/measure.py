"""`sifopt measure`: how fragmented a cluster is and how much of that could be avoided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from oracle.cli.command import Command, ExitStatus, Outcome
from oracle.cli.measure_report import domain_report, report
from oracle.cli.options import (
    SnapshotOptions,
    add_domain_argument,
    add_output_argument,
    add_snapshot_arguments,
    add_time_argument,
)
from oracle.cli.sentences import data_outcome
from oracle.cli.solving import solve
from oracle.measurement.domains import measure_domains
from oracle.measurement.measure import measure
from oracle.optimum.certificate import Status
from oracle.optimum.solver import Deadline
from oracle.safe_text import csv_text, json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.cli.command import Parser
    from oracle.measurement.domains import DomainMeasurement
    from oracle.measurement.measure import Figures, Measurement
    from oracle.snapshots.model import Snapshot

# The columns of `-o csv` after scope and pool; programs rely on their names and their order, so add at the end only.
CSV_FIGURES = (
    "nodes",
    "gpus",
    "used_gpus",
    "partial_nodes",
    "inherent_partial_nodes",
    "ideal_partial_nodes",
    "avoidable_partial_nodes",
    "sif",
    "empty_nodes",
    "largest_free_block",
    "overcommitted",
    "wcc",
    "wcc_supply",
    "wcc_need",
    "status",
    "inherent_lower_bound",
    "ideal_lower_bound",
)


class MeasureOptions(SnapshotOptions):
    """The options of `sifopt measure`."""

    output: Literal["table", "json", "csv"]
    pool: str | None
    exit_code: bool
    time_limit: float | None
    hierarchical: bool


def measure_snapshot(options: MeasureOptions) -> Outcome:
    """Return the measurement in the form asked for."""
    snapshot = options.load()
    solved = solve(lambda tell: _measured(snapshot, options, tell))
    measurement, domains = solved.value
    measured = [measurement] if domains is None else [measurement, domains.measurement]
    status = ExitStatus.UNSETTLED if solved.interrupted else _status(measured, exit_code=options.exit_code)
    notes = tuple(_notes(measured, status, interrupted=solved.interrupted))
    if options.output == "table":
        text = report(measurement, snapshot, verbose=options.verbose)
        text += "" if domains is None else domain_report(domains)
        return Outcome(text=text, notes=notes, status=status)
    text = _json(measurement, domains) if options.output == "json" else _csv(measurement)
    return data_outcome(
        text,
        snapshot.skipped,
        verbose=options.verbose,
        overlooked=measurement.not_looked_at,
        notes=notes,
        status=status,
    )


def _notes(measured: Sequence[Measurement], status: ExitStatus, *, interrupted: bool) -> Iterator[str]:
    if interrupted:
        yield "sifopt measure: interrupted; what is known by now is printed"
    if status is ExitStatus.BAD_INPUT:
        what = "GPUs" if measured[0].gpus == 0 else "domains"
        yield f"sifopt measure: --exit-code: there are no {what}, so that nothing can be said of them"


def _measured(
    snapshot: Snapshot, options: MeasureOptions, tell: Callable[[str], None]
) -> tuple[Measurement, DomainMeasurement | None]:
    tell("fewest partial nodes")
    deadline = Deadline(options.time_limit)
    measurement = measure(snapshot, time_limit=deadline.seconds_left, pool=options.pool)
    if not options.hierarchical:
        return measurement, None
    tell("fewest partial domains")
    return measurement, measure_domains(snapshot, time_limit=deadline.seconds_left, pool=options.pool)


def _status(measured: Sequence[Measurement], *, exit_code: bool) -> ExitStatus:
    if exit_code and any(measurement.gpus == 0 for measurement in measured):
        return ExitStatus.BAD_INPUT  # SIF is 0 there by definition: a check that passes would have checked nothing
    if any(measurement.status is not Status.OPTIMAL for measurement in measured):
        return ExitStatus.UNSETTLED
    return ExitStatus.ASKED_FOR if exit_code and any(of.sif > 0 for of in measured) else ExitStatus.DONE


def _json(measurement: Measurement, domains: DomainMeasurement | None) -> str:
    data = measurement.to_dict()
    if domains is not None:
        data["domains"] = domains.to_dict()
    return json_text(data)


def _csv(measurement: Measurement) -> str:
    pools = (("pool", pool.pool, *_csv_values(pool)) for pool in measurement.pools)
    return csv_text([("scope", "pool", *CSV_FIGURES), *pools, ("total", "", *_csv_values(measurement))])


def _csv_values(figures: Figures) -> list[object]:
    data = figures.to_dict() | {"overcommitted": len(figures.overcommitted)}
    return [data[name] for name in CSV_FIGURES]


def _add_arguments(parser: Parser) -> None:
    add_snapshot_arguments(parser)
    add_output_argument(parser, "csv")
    parser.add_argument("--pool", metavar="NAME", help="measure this pool only")
    parser.add_argument(
        "--hierarchical",
        action="store_true",
        help="measure NVLink domains too, of which the nodes are the panels (docs/hierarchy.md); not with -o csv",
    )
    add_domain_argument(parser)
    parser.add_argument(
        "--exit-code",
        action="store_true",
        help="exit with status 1 if SIF is above 0, with --hierarchical also that of the domains (3 comes first: not "
        "settled in time), and with status 2 if there are no GPUs, or no domains, to measure",
    )
    add_time_argument(parser, "give up after S seconds; what is known is printed (0: bounds only, no solver)")


def _run(parser: Parser, arguments: Sequence[str]) -> Outcome:
    options = parser.parse_intermixed_args(arguments, namespace=MeasureOptions())
    if options.hierarchical and options.output == "csv":
        parser.error("--hierarchical has a table and JSON only")
    return measure_snapshot(options)


_DESCRIPTION = """Measure a cluster snapshot: nodes in use in part (partial), the fewest of them that
any arrangement of the same instances could have (inherent), the difference
(avoidable), and SIF, the avoidable ones as a share of all nodes. The optimum is
exact. Instances stay in their pool, what cannot move stays where it is, and
cordoned nodes take nothing new."""

_EPILOG = """examples:
  kubectl get nodes,pods -A -o json | sifopt measure -
  sifopt measure nodes.json pods.json --pool-label example.com/gpu-pool
  scontrol show nodes --json > nodes.json; squeue --json > jobs.json
  sifopt measure nodes.json jobs.json
  sifopt measure cluster.json.gz -o json --exit-code

exit status:
  0  done
  1  only with --exit-code: SIF is above 0
  2  bad input or bad usage, or with --exit-code nothing to measure; one line says which
  3  not settled within --time-limit, or interrupted"""

MEASURE = Command(
    name="measure",
    help="measure the fragmentation of a snapshot",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    add_arguments=_add_arguments,
    run=_run,
)
