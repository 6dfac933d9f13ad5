"""The table of each experiment, against replays and sums that do not go through it."""

from __future__ import annotations

import csv
import io
from itertools import product
from typing import TYPE_CHECKING

import pytest

from simulation.experiments.blocked import CAUSES, blocked
from simulation.experiments.composition_days import choose_days, composition_days
from simulation.experiments.composition_days import what_is_seen as days_seen
from simulation.experiments.coverage import best, bucket_of, coverage
from simulation.experiments.etas import etas
from simulation.experiments.etas import what_is_seen as etas_seen
from simulation.experiments.frame import ExperimentError, table_of
from simulation.experiments.migration_cost import COSTS_S, migration_cost
from simulation.experiments.overall import overall
from simulation.experiments.trace_composition import trace_composition
from simulation.experiments.variants import variants
from tests.simulation.experiments.naive import DAYS, ETAS, JOBS, SCHEDULERS, WHOLE, lab, of_days, replayed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simulation.experiments.frame import Finding
    from simulation.sweep.cells import Row

close = pytest.approx
Table = list[dict[str, str]]


def tables(findings: Iterable[Finding]) -> dict[str, Table]:
    return {of.name: list(csv.DictReader(io.StringIO(table_of(of)))) for of in findings}


def test_overall() -> None:
    table = tables(overall(lab()))["overall"]
    assert {row["scheduler"] for row in table} == set(SCHEDULERS)
    assert [float(row["afr"]) for row in table] == sorted(float(row["afr"]) for row in table)
    for row in table:
        result = replayed(WHOLE, 0.6, row["scheduler"])
        assert float(row["afr"]) == close(result.afr)
        assert float(row["ajct_s"]) == close(result.jct_s.mean)
        assert float(row["agu"]) == close(result.agu)
        assert int(row["migrations"]) == result.migrations
        assert int(row["nodes"]) == result.nodes


def test_etas() -> None:
    table = tables(etas(lab()))["eta"]
    assert [(float(row["eta"]), row["scheduler"]) for row in table] == [*product(sorted(ETAS)[::-1], SCHEDULERS)]
    for row in table:
        result = replayed(WHOLE, float(row["eta"]), row["scheduler"])
        assert float(row["afr"]) == close(result.afr)
        assert float(row["fragmentation_blocked_s"]) == close(result.fragmentation_blocked_s)


@pytest.mark.parametrize(
    ("blocked", "seen"),
    [
        ({"a": [0.0, 1.0, 5.0], "b": [2.0, 2.0, 3.0]}, "the longer fragmentation blocks 2 of 2 schedulers"),
        ({"a": [0.0, 1.0, 5.0], "b": [0.0, 0.0, 0.0], "c": [1.0, 0.5, 2.0]}, "blocks 1 of 3 schedulers"),
        ({"a": [5.0, 1.0], "b": [0.0, 0.0]}, "Fragmentation on clusters of several sizes"),
        ({"a": [5.0]}, "Fragmentation on clusters of several sizes"),
    ],
)
def test_what_a_tighter_cluster_does_is_read_off_the_data(blocked: dict[str, list[float]], seen: str) -> None:
    assert etas_seen(blocked).endswith(seen)


@pytest.mark.parametrize(
    ("afr", "seen"),
    [
        ([[0.0, 1.0], [0.0, 9.5], [0.2, 3.0]], "AFR differs most between the days under gfs: 1.0 to 9.5 %"),
        ([[7.0, 1.0], [0.0, 2.0]], "AFR differs most between the days under exact: 0.0 to 7.0 %"),
        ([[7.0, 1.0]], "AFR on days of different composition"),
        ([[0.0, 1.0], [0.0, 1.0]], "AFR on days of different composition"),
    ],
)
def test_what_composition_does_is_read_off_the_data(afr: list[list[float]], seen: str) -> None:
    assert days_seen(("exact", "gfs"), afr) == seen


def test_trace_composition() -> None:
    table = tables(trace_composition(lab()))["trace-composition"]
    assert sum(int(row["jobs"]) for row in table) == len(JOBS)
    for share in ("share_of_jobs", "share_of_instances", "share_of_gpu_s"):
        assert sum(float(row[share]) for row in table) == close(1)
    work = sum(job.gpus * job.instances * job.duration_s for job in JOBS)
    for row in table:
        of = [job for job in JOBS if job.gpus == int(row["gpus_per_instance"])]
        assert int(row["jobs"]) == len(of)
        assert int(row["instances"]) == sum(job.instances for job in of)
        assert int(row["largest_job_gpus"]) == max(job.gpus * job.instances for job in of)
        assert float(row["share_of_gpu_s"]) == close(
            sum(job.gpus * job.instances * job.duration_s for job in of) / work
        )
        ordered = sorted(job.duration_s for job in of)
        assert ordered[(len(of) - 1) // 2] - 1e-2 <= float(row["median_duration_s"]) <= ordered[len(of) // 2] + 1e-2


def share(day: int, demands: set[int]) -> float:
    of = [JOBS[i] for i in of_days(day, day)]
    whole = sum(job.total_gpus * job.duration_s for job in of)
    return sum(job.total_gpus * job.duration_s for job in of if job.gpus in demands) / whole


def test_composition_days() -> None:
    experiment = lab()
    chosen = choose_days(experiment.daily)
    days = range(DAYS)
    assert chosen["most 1 GPU"][0] == max(days, key=lambda day: share(day, {1}))
    assert len(set(chosen.values())) == len(chosen)
    if "most 3, 5, 6, 7 GPUs" in chosen:
        assert chosen["most 3, 5, 6, 7 GPUs"][0] == max(days, key=lambda day: share(day, {3, 5, 6, 7}))
    table = tables(composition_days(experiment))["composition-days"]
    assert len(table) == len(chosen) * len(SCHEDULERS)
    for row in table:
        day = int(row["day"])
        assert float(row["share_of_gpu_s_1"]) == close(share(day, {1}), rel=1e-6)
        assert float(row["share_of_gpu_s_2_4_8"]) == close(share(day, {2, 4, 8}), rel=1e-6)
        assert float(row["share_of_gpu_s_3_5_6_7"]) == close(share(day, {3, 5, 6, 7}), rel=1e-6)
        result = replayed((day, day), 0.6, row["scheduler"])
        assert float(row["afr"]) == close(result.afr)
        assert int(row["nodes"]) == result.nodes


def test_coverage() -> None:
    found = tables(coverage(lab()))
    results = {
        (day, eta, name): replayed((day, day), eta, name) for day, eta, name in product(range(DAYS), ETAS, SCHEDULERS)
    }
    groups = [*product(range(DAYS), ETAS)]
    assert sum(int(row["replays"]) for row in found["coverage-buckets"] if row["scheduler"] == "gfs") == len(groups)
    for row in found["coverage-buckets"]:
        members = [
            results[day, eta, row["scheduler"]]
            for day, eta in groups
            if bucket_of(results[day, eta, "compass"].wcc_coverage) == row["bucket"]
        ]
        assert int(row["replays"]) == len(members)
        assert float(row["mean_afr"]) == close(sum(r.afr for r in members) / len(members))
        assert float(row["mean_ajct_s"]) == close(sum(r.jct_s.mean for r in members) / len(members))
        assert int(row["max_avoidable_partial_nodes"]) == max(r.max_avoidable_partial_nodes for r in members)
    for row in found["top-1"]:
        best_here = [
            results[day, eta, row["scheduler"]].afr <= min(results[day, eta, name].afr for name in SCHEDULERS) + 1e-12
            for day, eta in groups
        ]
        assert int(row["best_afr"]) == sum(best_here)
        assert int(row["alone_afr"]) <= int(row["best_afr"])
    for measure in ("afr", "ajct", "agu"):
        assert sum(int(row[f"alone_{measure}"]) for row in found["top-1"]) <= len(groups)
        assert sum(int(row[f"best_{measure}"]) for row in found["top-1"]) >= len(groups)


@pytest.mark.parametrize(
    ("coverage_", "bucket"),
    [(1.0, "ρ = 1"), (0.9999, "0.99 ≤ ρ < 1"), (0.99, "0.99 ≤ ρ < 1"), (0.98, "0.9 ≤ ρ < 0.99"), (0.5, "ρ < 0.9")],
)
def test_buckets(coverage_: float, bucket: str) -> None:
    assert bucket_of(coverage_) == bucket


def test_who_is_best() -> None:
    group: dict[str, Row] = {
        "a": {"afr": 0.3, "unstarted_jobs": 0},
        "b": {"afr": 0.1 + 0.2, "unstarted_jobs": 0},
        "c": {"afr": 0.0, "unstarted_jobs": 1},
        "d": {"afr": 0.9, "unstarted_jobs": 0},
    }
    assert best(group, "afr", highest=False) == ["a", "b"]
    assert best(group, "afr", highest=True) == ["d"]
    assert best({"c": group["c"]}, "afr", highest=False) == []


def test_migration_cost() -> None:
    table = tables(migration_cost(lab()))["migration-cost"]
    movers = [name for name in SCHEDULERS if replayed(WHOLE, 0.6, name).migrations]
    assert "gfs" not in movers
    assert [(row["scheduler"], float(row["cost_s"])) for row in table] == [*product(movers, COSTS_S)]
    for row in table:
        result = replayed(WHOLE, 0.6, row["scheduler"], float(row["cost_s"]))
        free = replayed(WHOLE, 0.6, row["scheduler"])
        assert float(row["ajct_s"]) == close(result.jct_s.mean)
        assert float(row["added_ajct_s"]) == close(result.jct_s.mean - free.jct_s.mean, abs=1e-3)
        assert float(row["paused_gpu_s"]) == close(result.paused_gpu_s)


def test_migration_cost_where_nothing_moves() -> None:
    table = tables(migration_cost(lab(("gfs",))))["migration-cost"]
    assert [row["scheduler"] for row in table] == ["gfs"] * len(COSTS_S)
    assert {row["added_ajct_s"] for row in table} == {"0"}


def test_variants() -> None:
    table = tables(variants(lab()))["variants"]
    assert [(float(row["eta"]), row["scheduler"]) for row in table] == [
        *product(sorted(ETAS), ("printed", "compass", "exact"))
    ]
    for row in table:
        result = replayed(WHOLE, float(row["eta"]), row["scheduler"])
        assert int(row["undefined_arrivals"]) == result.undefined_arrivals
        assert int(row["max_avoidable_partial_nodes"]) == result.max_avoidable_partial_nodes
        assert float(row["structure_blocked_s"]) == close(result.structure_blocked_s)
    with pytest.raises(ExperimentError, match="expected some of printed, compass, exact, sifopt"):
        tables(variants(lab(("gfs", "drr"))))


def test_blocked() -> None:
    table = tables(blocked(lab()))["blocked"]
    counts = [int(row["feasible_blocked_jobs"]) for row in table]
    assert counts == sorted(counts)
    for row in table:
        result = replayed(WHOLE, 0.6, row["scheduler"])
        assert int(row["feasible_blocked_jobs"]) == result.feasible_blocked_jobs
        by_cause = [int(row[column]) for column in CAUSES.values()]
        assert max(by_cause) <= result.feasible_blocked_jobs <= sum(by_cause)
        assert int(row["fragmentation_blocked_jobs"]) == result.fragmentation_blocked_jobs
        assert int(row["structure_blocked_jobs"]) == result.structure_blocked_jobs
        assert int(row["capacity_blocked_jobs"]) == result.capacity_blocked_jobs
