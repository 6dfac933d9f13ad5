"""A sweep in one row a scheduler, η and cost: averages over windows, sums, and how often it was the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simulation.sweep.frames import polars as pl

if TYPE_CHECKING:
    from simulation.sweep.cells import Row

# Sums of the same seconds in another order differ in the last digits; such schedulers are equally good.
_DIGITS = 9
_SAME_GROUP = ("first_day", "last_day", "eta", "cost_s")

SUMMARY_COLUMNS = (
    "scheduler",
    "eta",
    "cost_s",
    "cells",
    "ajct_s",
    "afr",
    "agu",
    "max_avoidable_partial_nodes",
    "fragmentation_blocked_s",
    "capacity_blocked_s",
    "migrations",
    "wcc_coverage",
    "best_afr",
    "best_ajct",
    "best_agu",
    "refused_jobs",
    "unstarted_jobs",
    "undefined",
)
"""What `summarised` returns, in this order."""


def summarised(cells: pl.DataFrame) -> list[Row]:
    """Return one row a scheduler, η and cost, in the order in which they first appear.

    Parameters
    ----------
    cells
        Rows of cells (`store.Store.read`).

    Returns
    -------
    list[Row]
        `SUMMARY_COLUMNS`: the mean over windows of AJCT, AFR, AGU and ρ; the most avoidable partial nodes; sums of the
        rest. `best_afr`, `best_ajct`, `best_agu`: in how many windows no other scheduler was better; who shares a best
        value counts as best. A replay in which jobs never started is no candidate: its figures are about other jobs.
    """
    marked = cells.with_columns(
        _is_best("afr", highest=False).alias("best_afr"),
        _is_best("ajct_s", highest=False).alias("best_ajct"),
        _is_best("agu", highest=True).alias("best_agu"),
        (pl.col("undefined_arrivals") + pl.col("undefined_departures")).alias("undefined"),
    )
    means = [pl.col(name).mean() for name in ("ajct_s", "afr", "agu", "wcc_coverage")]
    sums = ("fragmentation_blocked_s", "capacity_blocked_s", "migrations", "best_afr", "best_ajct", "best_agu")
    grouped = marked.group_by("scheduler", "eta", "cost_s", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("cells"),
        *means,
        pl.col("max_avoidable_partial_nodes").max(),
        *[pl.col(name).sum() for name in (*sums, "refused_jobs", "unstarted_jobs", "undefined")],
    )
    return cast("list[Row]", grouped.select(SUMMARY_COLUMNS).to_dicts())


def _is_best(column: str, *, highest: bool) -> pl.Expr:
    candidate = pl.col("unstarted_jobs") == 0
    value = pl.when(candidate).then(pl.col(column).round_sig_figs(_DIGITS))
    best = value.max() if highest else value.min()
    return (value == best.over(_SAME_GROUP)).fill_null(value=False).cast(pl.Int64)
