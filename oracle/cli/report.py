"""What `sifopt measure` tells people: a table, then in sentences what could be gained and what to know about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.command import skipped_notes
from oracle.cli.tables import Column, Screen, draw
from oracle.cli.words import at_least, inherent, listed
from oracle.optimum.certificate import Status
from oracle.safe_text import printable
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oracle.measurement.measure import Figures, Measurement
    from oracle.snapshots.model import PendingJob, Snapshot


def report(measurement: Measurement, snapshot: Snapshot, screen: Screen, *, verbose: bool) -> str:
    """Return the table and the sentences about it."""
    sentences = [
        _gain(measurement),
        *_bounds(measurement),
        *_fixed(measurement),
        *_overcommitted(measurement, snapshot, verbose=verbose),
        *_waiting(measurement, snapshot, verbose=verbose),
        *skipped_notes(snapshot.skipped, verbose=verbose),
    ]
    return draw(_columns(measurement), screen) + "\n" + "".join(f"{printable(line)}\n" for line in sentences)


def _columns(measurement: Measurement) -> list[Column]:
    def column(heading: str, show: Callable[[Figures], str], *, attention: bool = False) -> Column:
        return Column(heading, [show(pool) for pool in measurement.pools], show(measurement), attention=attention)

    avoidable = measurement.avoidable_partial_nodes > 0
    return [
        Column("pool", [pool.pool for pool in measurement.pools], "total"),
        column("nodes", lambda of: f"{of.nodes}"),
        column("GPUs", lambda of: f"{of.gpus}"),
        column("used", lambda of: f"{of.used_gpus}"),
        column("partial\nΦ", lambda of: f"{of.partial_nodes}"),
        column("inherent\nΦ*", inherent),
        column("avoidable\nΦ-Φ*", lambda of: f"{at_least(of)}{of.avoidable_partial_nodes}", attention=avoidable),
        column("SIF", lambda of: f"{at_least(of)}{of.sif:.3f}", attention=avoidable),
        column("WCC", lambda of: "yes" if of.wcc else "no"),
        column("empty\nnodes", lambda of: f"{of.empty_nodes}"),
        column("largest\nfree block", lambda of: f"{of.largest_free_block}"),
    ]


def _gain(measurement: Measurement) -> str:
    partial, avoidable = measurement.partial_nodes, measurement.avoidable_partial_nodes
    if measurement.nodes == 0:
        return "The snapshot has no GPU nodes."
    if measurement.gpus == 0:
        return "No node of the snapshot offers a GPU."
    if partial == 0:
        return "No node is partly used."
    if avoidable == 0:
        return f"No partial node is {'known to be ' if at_least(measurement) else ''}avoidable."
    return (
        f"{at_least(measurement)}{avoidable} of the {count(partial, 'partial node')} could be avoided: "
        "moving running instances can leave "
        f"{measurement.inherent_partial_nodes} partial and {measurement.empty_nodes_after} empty "
        f"({measurement.empty_nodes} empty now)."
    )


def _bounds(measurement: Measurement) -> Iterator[str]:
    if measurement.status is not Status.OPTIMAL:
        lowest, attained = measurement.inherent_lower_bound, measurement.inherent_partial_nodes
        yield f"Not settled within the time limit: between {lowest} and {attained} partial nodes are inherent."


def _fixed(measurement: Measurement) -> Iterator[str]:
    if measurement.ideal_partial_nodes < measurement.inherent_lower_bound:
        yield (
            f"Without closed nodes and immovable instances {measurement.ideal_partial_nodes} partial would do, "
            f"instead of {inherent(measurement)}."
        )
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
