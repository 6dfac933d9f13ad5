"""Which jobs of a trace to replay: by pool, by day, by demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.snapshots.model import shown
from simulation.jobs import Trace, TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.jobs import TraceJob

DAY_S = 86_400
# Enough to see how pools are named; a trace may have thousands.
_MAX_NAMED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The jobs that are wanted; None means all.

    Attributes
    ----------
    pools
        Jobs of these pools.
    days
        Jobs submitted on days from the first to the last, both included; day d goes from d·86,400 s to (d+1)·86,400 s.
    demands
        Jobs whose instances have one of these numbers of GPUs.
    max_total_gpus
        Jobs of at most so many GPUs.
    """

    pools: frozenset[str] | None = None
    days: tuple[int, int] | None = None
    demands: frozenset[int] | None = None
    max_total_gpus: int | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """The jobs that are left, and how many each filter took away, in the order pool, days, demand, size."""

    trace: Trace
    removed: dict[str, int]


def select(trace: Trace, selection: Selection) -> Selected:
    """Return the jobs that are wanted; times stay as they are.

    Raises
    ------
    TraceError
        A pool that no job of the trace asks for, or days that run backwards.
    """
    jobs = trace.jobs
    removed: dict[str, int] = {}
    for name, keep in _filters(trace, selection):
        kept = tuple(job for job in jobs if keep(job))
        removed[name] = len(jobs) - len(kept)
        jobs = kept
    return Selected(Trace(jobs, source=trace.source, rule=trace.rule) if removed else trace, removed)


def _filters(trace: Trace, selection: Selection) -> list[tuple[str, Callable[[TraceJob], bool]]]:
    filters: list[tuple[str, Callable[[TraceJob], bool]]] = []
    pools, days, demands, most = selection.pools, selection.days, selection.demands, selection.max_total_gpus
    if pools is not None:
        _check_pools(trace, pools)
        filters.append(("pool", lambda job: job.pool in pools))
    if days is not None:
        first, last = days
        if last < first:
            raise TraceError(f"expected days from the first to the last, got {first}-{last}")
        filters.append(("days", lambda job: first <= job.submit_s // DAY_S <= last))
    if demands is not None:
        filters.append(("demand", lambda job: job.gpus in demands))
    if most is not None:
        filters.append(("size", lambda job: job.total_gpus <= most))
    return filters


def _check_pools(trace: Trace, pools: frozenset[str]) -> None:
    there = {job.pool for job in trace if job.pool is not None}
    unknown = sorted(pools - there)
    if unknown:
        names = ", ".join(sorted(there)[:_MAX_NAMED]) + (", ..." if len(there) > _MAX_NAMED else "")
        raise TraceError(f"no job asks for pool {shown(unknown[0])}; expected one of: {names or 'the trace has none'}")
