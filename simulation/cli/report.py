"""What a comparison or a sweep tells people: one row a scheduler, then in sentences what to know about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.tables import Column, Screen, draw
from oracle.safe_text import printable
from oracle.words import count
from simulation.demand import nodes_by_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulation.cli.replays import Comparison
    from simulation.metrics import ReplayResult
    from simulation.sweep.cells import Row

_HOUR_S = 3600.0


def report(comparison: Comparison, trace_lines: Sequence[str], screen: Screen) -> str:
    """Return the table and the sentences about it; those about the trace come last."""
    lines = [*_cluster(comparison), *_shortcomings(comparison), *trace_lines]
    table = draw(_columns(comparison), screen, total=False)
    return table + "\n" + "".join(f"{printable(line)}\n" for line in lines)


def _columns(comparison: Comparison) -> list[Column]:
    def column(heading: str, show: Callable[[ReplayResult], str]) -> Column:
        return Column(heading, [show(result) for result in comparison.results])

    return [
        column("scheduler", lambda of: of.scheduler),
        column("AJCT\nh", lambda of: f"{of.jct_s.mean / _HOUR_S:.3f}"),
        column("delay p95\nh", lambda of: f"{of.delay_s.p95 / _HOUR_S:.3f}"),
        column("AFR", lambda of: f"{of.afr:.4f}"),
        column("AGU", lambda of: f"{of.agu:.3f}"),
        column("avoidable\nat most", lambda of: f"{of.max_avoidable_partial_nodes}"),
        column("blocked by\nfragmentation h", lambda of: f"{of.fragmentation_blocked_s / _HOUR_S:.1f}"),
        column("blocked by\ncapacity h", lambda of: f"{of.capacity_blocked_s / _HOUR_S:.1f}"),
        column("migrations", lambda of: f"{of.migrations}"),
        column("WCC\nρ", lambda of: f"{of.wcc_coverage:.3f}"),
        column("jobs\na second", lambda of: f"{of.jobs / of.wall_s:,.0f}" if of.wall_s > 0 else "-"),
    ]


def _cluster(comparison: Comparison) -> Iterator[str]:
    size = f"{comparison.nodes:,} nodes of 8 GPUs"
    peak = f"peak demand: {comparison.peak_demand:,} GPUs"
    eta, nodes = comparison.eta, comparison.nodes
    if eta is None:
        yield f"{size} ({peak})."
    elif (by_share := nodes_by_share(comparison.peak_demand, eta)) < nodes:
        yield f"{size}, which the largest job needs: η = {eta:g} would be {by_share:,} ({peak})."
    else:
        yield f"{size}: η = {eta:g} ({peak})."
    refused = comparison.results[0].refused_jobs
    if refused:
        asked = refused + comparison.results[0].jobs
        yield f"Not even the idle cluster has room, refused: {refused:,} of {asked:,} jobs."


def _shortcomings(comparison: Comparison) -> Iterator[str]:
    for result in comparison.results:
        undefined = result.undefined_arrivals + result.undefined_departures
        if undefined:
            yield f"{result.scheduler}: its rules say nothing about {undefined:,} arrivals and departures."
        if result.unstarted_jobs:
            yield (
                f"{result.scheduler}: {result.unstarted_jobs:,} of {result.jobs:,} jobs never started; its figures are "
                "about the others."
            )


def sweep_report(summary: Sequence[Row], lines: Sequence[str], screen: Screen) -> str:
    """Return the summary of a sweep as a table, and the sentences about it."""

    def column(heading: str, name: str, form: str, scale: float = 1.0) -> Column:
        return Column(heading, [format(row[name] if scale == 1 else float(row[name]) / scale, form) for row in summary])

    columns = [
        column("scheduler", "scheduler", ""),
        column("η", "eta", "g"),
        *([column("cost\ns", "cost_s", "g")] if len({row["cost_s"] for row in summary}) > 1 else []),
        column("cells", "cells", "d"),
        column("AJCT\nh", "ajct_s", ".3f", _HOUR_S),
        column("AFR", "afr", ".4f"),
        column("AGU", "agu", ".3f"),
        column("avoidable\nat most", "max_avoidable_partial_nodes", "d"),
        column("blocked by\nfragmentation h", "fragmentation_blocked_s", ".1f", _HOUR_S),
        column("migrations", "migrations", ",d"),
        column("WCC\nρ", "wcc_coverage", ".3f"),
        column("best\nAFR", "best_afr", "d"),
        column("best\nAJCT", "best_ajct", "d"),
        column("best\nAGU", "best_agu", "d"),
    ]
    table = draw(columns, screen, total=False)
    known = [*lines, *_unfinished(summary)]
    return table + "\n" + "".join(f"{printable(line)}\n" for line in known)


def _unfinished(summary: Sequence[Row]) -> Iterator[str]:
    # The same jobs are refused under every scheduler: the cluster is as large.
    for eta, refused in dict.fromkeys((row["eta"], row["refused_jobs"]) for row in summary):
        if refused:
            jobs = count(int(refused), "job", form=",")
            yield f"η = {eta:g}: refused {jobs} for which the idle cluster of the window has no room."
    for row in summary:
        where = f"{row['scheduler']} at η = {row['eta']:g}"
        if row["undefined"]:
            yield f"{where}: its rules say nothing about {row['undefined']:,} arrivals and departures."
        if row["unstarted_jobs"]:
            yield f"{where}: {row['unstarted_jobs']:,} jobs never started; its figures are about the others."
