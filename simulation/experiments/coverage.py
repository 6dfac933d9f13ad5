"""All days at all η: by how long the composition condition holds, and who is best how often (paper, §6.4 and Table 3).

ρ, the share of the time in which the condition holds, depends a little on when jobs run, so on the scheduler. A day is
put into a bucket by ρ under COMPASS, or under the first scheduler where COMPASS is not among them. The bounds of the
paper's buckets are not known here.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from simulation.experiments.frame import Finding, number
from simulation.plots.model import Bars, Figure
from simulation.sweep.cells import grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from simulation.experiments.frame import Lab
    from simulation.sweep.cells import Row

BUCKETS = ("ρ = 1", "0.99 ≤ ρ < 1", "0.9 ≤ ρ < 0.99", "ρ < 0.9")
BUCKET_COLUMNS = (
    "bucket",
    "replays",
    "scheduler",
    "mean_afr",
    "mean_ajct_s",
    "mean_agu",
    "max_avoidable_partial_nodes",
    "fragmentation_blocked_s",
)
TOP_COLUMNS = ("scheduler", "replays", "best_afr", "best_ajct", "best_agu", "alone_afr", "alone_ajct", "alone_agu")

# Sums of the same seconds in another order differ in the last digits; such schedulers are equally good.
_RELATIVE = 1e-9


def coverage(lab: Lab) -> Iterator[Finding]:
    """Yield the buckets, then how often each scheduler is best."""
    cells = grid(lab.daily, lab.etas, lab.schedulers)
    rows = iter(lab.results(cells))
    groups = [{name: next(rows) for name in lab.schedulers} for _ in product(lab.daily, lab.etas)]
    scope = f"{len(lab.daily):,} days at η = {', '.join(f'{eta:g}' for eta in lab.etas)}: {len(groups):,} replays"
    yield _buckets(lab, groups, scope)
    yield _top(lab, groups, scope)


def bucket_of(coverage: float) -> str:
    """Return the bucket of ρ."""
    if coverage >= 1 - _RELATIVE:
        return BUCKETS[0]
    return BUCKETS[1] if coverage >= 0.99 else BUCKETS[2] if coverage >= 0.9 else BUCKETS[3]


def best(group: Mapping[str, Row], column: str, *, highest: bool) -> list[str]:
    """Return the schedulers that no other one beats; one that left jobs unstarted is no candidate."""
    values = {name: number(row, column) for name, row in group.items() if not row["unstarted_jobs"]}
    if not values:
        return []
    goal = (max if highest else min)(values.values())
    return [name for name, value in values.items() if abs(value - goal) <= _RELATIVE * abs(goal)]


def _buckets(lab: Lab, groups: Sequence[dict[str, Row]], scope: str) -> Finding:
    judge = "compass" if "compass" in lab.schedulers else lab.schedulers[0]
    found: dict[str, list[dict[str, Row]]] = {bucket: [] for bucket in BUCKETS}
    for group in groups:
        found[bucket_of(number(group[judge], "wcc_coverage"))].append(group)
    rows = tuple(
        (
            bucket,
            len(of),
            name,
            _mean(number(group[name], "afr") for group in of),
            _mean(number(group[name], "ajct_s") for group in of),
            _mean(number(group[name], "agu") for group in of),
            int(max(number(group[name], "max_avoidable_partial_nodes") for group in of)),
            sum(number(group[name], "fragmentation_blocked_s") for group in of),
        )
        for bucket, of in found.items()
        if of
        for name in lab.schedulers
    )
    most = max(100 * row[3] for row in rows)
    panels = [
        Bars(
            title=f"{bucket}: {len(of):,}",
            names=lab.schedulers,
            values=[100 * row[3] for row in rows if row[0] == bucket],
            texts=[f"{100 * row[3]:.2f}" for row in rows if row[0] == bucket],
            most=most,
        )
        for bucket, of in found.items()
        if of
    ]
    return Finding(
        name="coverage-buckets",
        title="Fragmentation by how long the composition condition holds.",
        paper="Counterpart of §6.4 of the paper",
        columns=BUCKET_COLUMNS,
        rows=rows,
        figure=Figure(title="Mean AFR (%) by ρ, the share of time in which the condition holds", rows=[panels]),
        notes=(f"{scope} of a day each.", f"ρ is that under {judge}."),
    )


def _top(lab: Lab, groups: Sequence[dict[str, Row]], scope: str) -> Finding:
    measures = (("afr", False), ("ajct_s", False), ("agu", True))
    winners = [[best(group, column, highest=highest) for group in groups] for column, highest in measures]
    counts = {
        name: [sum(name in of for of in found) for found in winners]
        + [sum(of == [name] for of in found) for found in winners]
        for name in lab.schedulers
    }
    titles = ("lowest AFR", "lowest mean completion time", "most GPUs in use")
    panels = [
        Bars(
            title=title,
            names=lab.schedulers,
            values=[counts[name][place] for name in lab.schedulers],
            texts=[f"{counts[name][place]:,}" for name in lab.schedulers],
            most=len(groups),
        )
        for place, title in enumerate(titles)
    ]
    return Finding(
        name="top-1",
        title="How often no other scheduler is better.",
        paper="Counterpart of Table 3 of the paper",
        columns=TOP_COLUMNS,
        rows=tuple((name, len(groups), *counts[name]) for name in lab.schedulers),
        figure=Figure(title=f"Best or equal to the best in so many of {len(groups):,} replays", rows=[panels]),
        notes=(
            f"{scope} of a day each.",
            "Who shares the best value counts as best; columns `alone_*` count days on which nobody shares it.",
            "mcg serves the queue in an order of its own, all others first come, first served.",
        ),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
