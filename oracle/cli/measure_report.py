"""What `sifopt measure` tells people: a table, then in sentences what could be gained and what to know about it.

With --hierarchical a table of the domains follows, and the best of both tiers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.sentences import bounded, lines, listed, overlooked_notes, skipped_notes
from oracle.cli.tables import Column, draw
from oracle.optimum.certificate import Status
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.measurement.domains import DomainMeasurement
    from oracle.measurement.measure import Figures, Measurement
    from oracle.snapshots.model import PendingJob, Snapshot


def report(measurement: Measurement, snapshot: Snapshot, *, verbose: bool) -> str:
    """Return the table and the sentences about it."""
    wcc = [pool.wcc for pool in measurement.pools]
    sentences = [
        _gain(measurement),
        *_bounds(measurement),
        *overlooked_notes(measurement.not_looked_at, verbose=verbose),
        *_constraints(measurement, verbose=verbose),
        *_overcommitted(measurement, snapshot, verbose=verbose),
        *_waiting(measurement, snapshot, verbose=verbose),
        *skipped_notes(snapshot.skipped, verbose=verbose),
    ]
    return f"{_table(measurement, ('nodes', 'GPUs', 'used'), [*wcc, measurement.wcc])}\n{lines(sentences)}"


def domain_report(domains: DomainMeasurement) -> str:
    """Return the table of the domains and the sentences about them."""
    measurement = domains.measurement
    if not measurement.nodes:
        return "\nNo node names a domain.\n"
    wcc = [domains.wcc[pool.pool] for pool in measurement.pools]
    table = _table(measurement, ("domains", "panels", "in use"), [*wcc, None if None in wcc else all(wcc)])
    return f"\n{table}\n{lines([*_together(domains), *_without(domains)])}"


def _table(measurement: Measurement, counted: tuple[str, str, str], wcc: Sequence[bool | None]) -> str:
    """Return the table of what is counted: nodes, their GPUs and those used, or what these are one tier up.

    The WCC is that of each pool and of all, None where it is not defined.
    """

    def column(heading: str, show: Callable[[Figures], str], *, attention: bool = False) -> Column:
        return Column(heading, [show(pool) for pool in measurement.pools], show(measurement), attention=attention)

    nodes, gpus, used = counted
    avoidable = measurement.avoidable_partial_nodes > 0
    *each, of_all = ("-" if value is None else "yes" if value else "no" for value in wcc)
    columns = [
        Column("pool", [pool.pool for pool in measurement.pools], "total"),
        column(nodes, lambda of: f"{of.nodes}"),
        column(gpus, lambda of: f"{of.gpus}"),
        column(used, lambda of: f"{of.used_gpus}"),
        column("partial\nΦ", lambda of: f"{of.partial_nodes}"),
        column("inherent\nΦ*", _inherent),
        column("avoidable\nΦ-Φ*", lambda of: f"{_at_least(of)}{of.avoidable_partial_nodes}", attention=avoidable),
        column("SIF", lambda of: f"{_at_least(of)}{of.sif:.3f}", attention=avoidable),
        Column("WCC", each, of_all),
        column(f"empty\n{nodes}", lambda of: f"{of.empty_nodes}"),
        column("largest\nfree block", lambda of: f"{of.largest_free_block}"),
    ]
    return draw(columns)


def _inherent(figures: Figures) -> str:
    """Return Φ*, or the proved bound and the best arrangement found where they do not meet."""
    return bounded(figures.inherent_lower_bound, figures.inherent_partial_nodes)


def _at_least(figures: Figures) -> str:
    """Return ``>=``, to stand before what is avoidable and before SIF, while Φ* is not settled; else nothing."""
    return "" if figures.inherent_lower_bound == figures.inherent_partial_nodes else ">="


def _gain(measurement: Measurement) -> str:
    partial, avoidable = measurement.partial_nodes, measurement.avoidable_partial_nodes
    if measurement.nodes == 0:
        return "The snapshot has no GPU nodes."
    if measurement.gpus == 0:
        return "No node of the snapshot offers a GPU."
    if partial == 0:
        return "No node is partly used."
    if avoidable == 0:
        return f"No partial node is {'known to be ' if _at_least(measurement) else ''}avoidable."
    return (
        f"{_at_least(measurement)}{avoidable} of the {count(partial, 'partial node')} could be avoided: "
        "moving running instances can leave "
        f"{measurement.inherent_partial_nodes} partial and {measurement.empty_nodes_after} empty "
        f"({measurement.empty_nodes} empty now)."
    )


def _bounds(measurement: Measurement) -> Iterator[str]:
    if measurement.status is not Status.OPTIMAL:
        lowest, attained = measurement.inherent_lower_bound, measurement.inherent_partial_nodes
        yield f"Not settled within the time limit: between {lowest} and {attained} partial nodes are inherent."


def _constraints(measurement: Measurement, *, verbose: bool) -> Iterator[str]:
    if measurement.ideal_partial_nodes < measurement.inherent_lower_bound:
        yield (
            f"If everything could move everywhere, {measurement.ideal_partial_nodes} partial would do, "
            f"instead of {_inherent(measurement)}."
        )
    for pool in measurement.pools:
        costs = [
            f"{cost.constraint} {bounded(cost.partial_nodes, cost.partial_nodes_at_most)}"
            for cost in pool.constraints
            if cost.partial_nodes_at_most
        ]
        if costs:
            yield f"Pool {pool.pool}: partial nodes that one constraint alone costs: {listed(costs, verbose=verbose)}."
    if measurement.unschedulable_nodes:
        closed = count(measurement.unschedulable_nodes, "node")
        yield f"Closed to new instances, counted as found: {closed}."


def _overcommitted(measurement: Measurement, snapshot: Snapshot, *, verbose: bool) -> Iterator[str]:
    if measurement.overcommitted:
        used = snapshot.used_gpus()
        gpus = {node.name: node.gpus for node in snapshot.nodes}
        names = [f"{name} ({used[name]} in use, {gpus[name]} offered)" for name in measurement.overcommitted]
        yield f"Overcommitted, counted as full: {listed(names, verbose=verbose)}."


def _waiting(measurement: Measurement, snapshot: Snapshot, *, verbose: bool) -> Iterator[str]:
    measured = {pool.pool for pool in measurement.pools}
    others = set(snapshot.pools) - measured
    jobs = [job for job in snapshot.pending if job.pool not in others]
    if jobs:
        yield f"Waiting: {count(len(jobs), 'job')}: {listed([_demand(job) for job in jobs], verbose=verbose)}."


def _demand(job: PendingJob) -> str:
    where = "any pool" if job.pool is None else job.pool
    return f"{job.name} ({job.instances}x{job.gpus_per_instance} GPUs, {where})"


def _together(domains: DomainMeasurement) -> Iterator[str]:
    for pool, found in domains.joint.items():
        if found is not None:
            yield (
                f"Pool {pool}: panels that no job holds whole opened and closed as well, "
                f"{count(found.partial_panels, 'partial panel')} and then "
                f"{count(found.partial_domains, 'partial domain')} are the fewest."
            )


def _without(domains: DomainMeasurement) -> Iterator[str]:
    if domains.nodes_without_domain:
        yield f"Nodes that name no domain, left out here: {domains.nodes_without_domain}."
