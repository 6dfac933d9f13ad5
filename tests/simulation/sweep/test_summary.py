"""The summary of a sweep, against sums in plain Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import polars as pl
import pytest

from simulation.sweep.summary import SUMMARY_COLUMNS, summarised

if TYPE_CHECKING:
    from simulation.sweep.cells import Row

close = pytest.approx
MEANS = ("ajct_s", "afr", "agu", "wcc_coverage")
SUMS = ("fragmentation_blocked_s", "capacity_blocked_s", "migrations", "refused_jobs", "unstarted_jobs")


def made_up_rows(seed: int) -> list[Row]:
    """Return rows whose values coincide often, so that there are ties, and whose jobs sometimes never started."""
    rng = random.Random(seed)
    return [
        {
            "first_day": day,
            "last_day": day,
            "eta": eta,
            "cost_s": cost,
            "scheduler": scheduler,
            "max_avoidable_partial_nodes": rng.randrange(9),
            "undefined_arrivals": rng.randrange(3),
            "undefined_departures": rng.randrange(3),
            "migrations": rng.randrange(50),
            "refused_jobs": rng.randrange(3),
            "unstarted_jobs": rng.choice([0, 0, 0, 2]),
            **{name: rng.choice([0.0, 0.25, 0.5, 1.0]) for name in (*MEANS, *SUMS[:2])},
        }
        for day in range(5)
        for eta in (0.8, 0.9)
        for cost in (0.0, 1.0)
        for scheduler in ("a", "b", "c")
    ]


def times_best(rows: list[Row], of: list[Row], column: str, sign: int) -> int:
    """Count the rows of `of` that no candidate of the same day, η and cost beats."""
    best = 0
    for row in of:
        group = [r for r in rows if all(r[key] == row[key] for key in ("first_day", "eta", "cost_s"))]
        values = [sign * float(r[column]) for r in group if not r["unstarted_jobs"]]
        best += not row["unstarted_jobs"] and sign * float(row[column]) == max(values)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_against_plain_python(seed: int) -> None:
    rows = made_up_rows(seed)
    summary = summarised(pl.DataFrame(rows))
    groups = list(dict.fromkeys((row["scheduler"], row["eta"], row["cost_s"]) for row in rows))
    assert [(row["scheduler"], row["eta"], row["cost_s"]) for row in summary] == groups
    for group, found in zip(groups, summary, strict=True):
        of = [row for row in rows if (row["scheduler"], row["eta"], row["cost_s"]) == group]
        assert tuple(found) == SUMMARY_COLUMNS
        assert found["cells"] == len(of) == 5
        for name in MEANS:
            assert found[name] == close(sum(float(row[name]) for row in of) / len(of))
        for name in SUMS:
            assert found[name] == close(sum(float(row[name]) for row in of))
        assert found["undefined"] == sum(int(r["undefined_arrivals"]) + int(r["undefined_departures"]) for r in of)
        assert found["max_avoidable_partial_nodes"] == max(int(r["max_avoidable_partial_nodes"]) for r in of)
        assert found["best_afr"] == times_best(rows, of, "afr", -1)
        assert found["best_ajct"] == times_best(rows, of, "ajct_s", -1)
        assert found["best_agu"] == times_best(rows, of, "agu", 1)


def test_the_last_digits_decide_nothing() -> None:
    rows = [row for row in made_up_rows(0) if row["first_day"] == 0 and row["eta"] == 0.8 and row["cost_s"] == 0]
    values = iter((0.3, 0.1 + 0.2, 0.4))
    even = [row | {"unstarted_jobs": 0, "afr": next(values)} for row in rows]
    assert [row["best_afr"] for row in summarised(pl.DataFrame(even))] == [1, 1, 0]
